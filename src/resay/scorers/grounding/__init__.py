"""Scores claims by models trained to check answers against documents."""

from resay.scorers.grounding.scorer import Grounding

__all__ = ["Grounding"]
