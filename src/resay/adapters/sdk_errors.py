"""Errors that are Resay's and an SDK's at once, so that a program catches them as either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resay.errors import ResayError


def as_sdk_error(
    error: ResayError, kinds: Mapping[type[ResayError], type[ResayError]], **attributes: Any
) -> ResayError:
    """Return an error as one of an SDK's too, if it is no outcome that the policy asks for.

    Args:
        error: The error.
        kinds: For each class of ours, one that derives from it and from a class of the SDK. Its
            constructor is not called, because the two bases take other arguments.
        **attributes: What the SDK's class would have set.
    """
    for kind, sdk_kind in kinds.items():
        if isinstance(error, kind):
            converted = sdk_kind.__new__(sdk_kind, *error.args)
            vars(converted).update(vars(error))
            vars(converted).update(attributes)
            return converted
    return error
