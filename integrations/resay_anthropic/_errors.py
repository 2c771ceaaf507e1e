"""Errors of guarded clients that are errors of Anthropic's SDK too."""

from __future__ import annotations

from typing import Any

from anthropic import AnthropicError, APIConnectionError, APIError

from resay.adapters.sdk_errors import as_kind
from resay.adapters.upstream import BrokenAnswerError
from resay.errors import DeadlineExceededError, ResayError, UncheckableError


class AnthropicBrokenAnswerError(BrokenAnswerError, APIConnectionError):
    """A stream ended before its last event."""


# No APITimeoutError: the SDK sends a request again if its middleware raises that.
class AnthropicDeadlineExceededError(DeadlineExceededError, APIError):
    """No answer is available within `limits.deadline_s`."""


class AnthropicUncheckableError(UncheckableError, AnthropicError):
    """The answer to a request could not be checked, and the policy refuses such requests."""


def sdk_error(error: ResayError, request: Any) -> ResayError:
    """Return an error as one of the SDK's too, if it is no outcome that the policy asks for.

    Args:
        error: The error.
        request: The HTTP request that it is about.
    """
    if isinstance(error, UncheckableError):
        return as_kind(AnthropicUncheckableError, error)
    kind: type[AnthropicBrokenAnswerError | AnthropicDeadlineExceededError]
    if isinstance(error, BrokenAnswerError):
        kind = AnthropicBrokenAnswerError
    elif isinstance(error, DeadlineExceededError):
        kind = AnthropicDeadlineExceededError
    else:
        return error
    return as_kind(kind, error, message=str(error), request=request, body=None)
