"""The errors of responses that have no answer in them."""

from __future__ import annotations

from resay.errors import ProviderError


def no_choice(model: str) -> ProviderError:
    """Return the error of a response without a choice.

    Args:
        model: The model as the user named it.
    """
    return ProviderError(
        f"{model!r} answered without a choice; check that it is a chat model, and see the server's"
        " log",
        retryable=True,
        detail="no choice in the response",
    )


def no_answer(model: str) -> ProviderError:
    """Return the error of a stream that ended without an answer.

    Args:
        model: The model as the user named it.
    """
    return ProviderError(
        f"{model!r} streamed no answer; check that it is a chat model, and see the server's log",
        retryable=True,
        detail="nothing in the stream",
    )
