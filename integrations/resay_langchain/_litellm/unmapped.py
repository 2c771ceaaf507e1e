"""Why a model, or one request to it, cannot go through litellm."""

from __future__ import annotations

from resay.errors import ResayError

__all__ = ["UnmappedError"]


class UnmappedError(ResayError):
    """litellm would not send quite what LangChain's own model sends.

    The message is a short reason. It holds no content and no key.
    """
