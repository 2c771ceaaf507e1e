"""Compares claims with what the model said in earlier turns of the conversation."""

from resay.scorers.conversation.scorer import Conversation

__all__ = ["Conversation"]
