"""What is said of requests whose deadline came while Resay and its clients were still imported."""

from __future__ import annotations

from resay.errors import DeadlineExceededError

_REMEDY = "use `with guard:` to load it when the application starts"


def not_asked_error(model: str | None, deadline_s: float | None) -> DeadlineExceededError:
    """Return the error of a request that was not sent.

    Args:
        model: The model, if known.
        deadline_s: The policy's `limits.deadline_s`.
    """
    within = f"within {deadline_s:g} s (`limits.deadline_s`)"
    return DeadlineExceededError(
        f"{model or 'the model'} was not asked {within}, because what calls it was still loading;"
        f" {_REMEDY}"
    )


def not_checked_reason(deadline_s: float | None) -> str:
    """Return the reason of the verdict on a response whose check did not begin.

    Args:
        deadline_s: The policy's `limits.deadline_s`.
    """
    within = f"within {deadline_s:g} s (`limits.deadline_s`)"
    return f"the check did not begin {within}, because what checks was still loading; {_REMEDY}"
