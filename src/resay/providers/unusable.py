"""Tell callers of a check that no model could be asked at all, apart from the verdict's reason."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from resay.errors import ProviderError

_errors: ContextVar[list[ProviderError] | None] = ContextVar("resay_unusable", default=None)


@contextmanager
def collecting_unusable() -> Generator[list[ProviderError]]:
    """Collect the errors of the checks in this context in which no model could be asked.

    Yields:
        A list to which the error of each such check is appended.
    """
    errors: list[ProviderError] = []
    token = _errors.set(errors)
    try:
        yield errors
    finally:
        _errors.reset(token)


def report_unusable(error: ProviderError) -> None:
    """Report that a check could ask no model.

    Args:
        error: Why; its `unusable` is set.
    """
    errors = _errors.get()
    if errors is not None:
        errors.append(error)
