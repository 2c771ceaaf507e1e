"""Errors of guarded clients that are errors of OpenAI's SDK too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openai import APIConnectionError, APITimeoutError, OpenAIError

from resay.adapters.sdk_errors import as_sdk_error
from resay.adapters.upstream import BrokenAnswerError
from resay.errors import DeadlineExceededError, ResayError, UncheckableError


class OpenAIBrokenAnswerError(BrokenAnswerError, APIConnectionError):
    """A stream ended before its last event."""


class OpenAIDeadlineExceededError(DeadlineExceededError, APITimeoutError):
    """No answer is available within `limits.deadline_s`."""


class OpenAIUncheckableError(UncheckableError, OpenAIError):
    """The answer to a request could not be checked, and the policy refuses such requests."""


_KINDS: Mapping[type[ResayError], type[ResayError]] = {
    BrokenAnswerError: OpenAIBrokenAnswerError,
    DeadlineExceededError: OpenAIDeadlineExceededError,
    UncheckableError: OpenAIUncheckableError,
}


def sdk_error(error: ResayError, request: Any) -> ResayError:
    """Return an error as one of the SDK's too, if it is no outcome that the policy asks for.

    Args:
        error: The error.
        request: The HTTP request that it is about.
    """
    return as_sdk_error(
        error,
        _KINDS,
        message=str(error),
        request=request,
        body=None,
        code=None,
        param=None,
        type=None,
    )
