"""Why an LLM, or one request to it, cannot go through litellm."""

from __future__ import annotations

from resay.errors import ResayError

__all__ = ["UnmappedError"]


class UnmappedError(ResayError):
    """litellm would not send quite what the LLM itself sends.

    The message is a short reason. It holds no content and no key.
    """
