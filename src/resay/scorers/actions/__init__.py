"""What an agent says it did, compared with its tool calls (`actions`)."""

from resay.scorers.actions.scorer import Actions

__all__ = ["Actions"]
