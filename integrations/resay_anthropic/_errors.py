"""Errors of guarded clients that are errors of Anthropic's SDK too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anthropic import AnthropicError, APIConnectionError, APIError

from resay.adapters.sdk_errors import as_sdk_error
from resay.adapters.upstream import BrokenAnswerError
from resay.errors import DeadlineExceededError, ResayError, UncheckableError


class AnthropicBrokenAnswerError(BrokenAnswerError, APIConnectionError):
    """A stream ended before its last event."""


# No APITimeoutError: the SDK sends a request again if its middleware raises that.
class AnthropicDeadlineExceededError(DeadlineExceededError, APIError):
    """No answer is available within `limits.deadline_s`."""


class AnthropicUncheckableError(UncheckableError, AnthropicError):
    """The answer to a request could not be checked, and the policy refuses such requests."""


_KINDS: Mapping[type[ResayError], type[ResayError]] = {
    BrokenAnswerError: AnthropicBrokenAnswerError,
    DeadlineExceededError: AnthropicDeadlineExceededError,
    UncheckableError: AnthropicUncheckableError,
}


def sdk_error(error: ResayError, request: Any) -> ResayError:
    """Return an error as one of the SDK's too, if it is no outcome that the policy asks for.

    Args:
        error: The error.
        request: The HTTP request that it is about.
    """
    return as_sdk_error(error, _KINDS, message=str(error), request=request, body=None)
