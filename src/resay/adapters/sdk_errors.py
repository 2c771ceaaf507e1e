"""Errors that are Resay's and an SDK's at once, so that a program catches them as either."""

from __future__ import annotations

from typing import Any, TypeVar

from resay.errors import ResayError

E = TypeVar("E", bound=ResayError)


def as_kind(kind: type[E], error: ResayError, **attributes: Any) -> E:
    """Return an error as one of a class that derives from its own class and from an SDK's.

    Args:
        kind: The class. Its constructor is not called, because the two bases take other arguments.
        error: The error.
        **attributes: What the SDK's class would have set.
    """
    both = kind.__new__(kind, *error.args)
    vars(both).update(vars(error))
    vars(both).update(attributes)
    return both
