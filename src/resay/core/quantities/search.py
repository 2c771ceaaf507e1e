"""Finds the quantities of a text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from resay.core.quantities.quantity import Quantity


def quantities(text: str, *, parts_of_months: bool = False) -> tuple[Quantity, ...]:
    """Find the numbers, measures, ranges and dates of a text, in order.

    Number words and single ordinals up to ten count too, "one" only before a unit or a scale ("one
    million"); Roman numerals next to words such as "chapter", and after a name; TeX as displayed.

    Args:
        text: Any text.
        parts_of_months: Whether "the end of March" is a date.
    """
    return _reader()(text, parts_of_months)


@cache
def _reader() -> Callable[[str, bool], tuple[Quantity, ...]]:
    # The words of all languages are read when the first text is.
    from resay.core.quantities.reader import read_quantities

    return read_quantities
