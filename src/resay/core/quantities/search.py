"""Finds the quantities of a text."""

from __future__ import annotations

from resay.core.normalization import NormalizedText
from resay.core.quantities.plain_math import read_plainly
from resay.core.quantities.quantity import Quantity


def quantities(text: str, *, parts_of_months: bool = False) -> tuple[Quantity, ...]:
    """Find the numbers, measures, ranges and dates of a text, in order.

    Number words and single ordinals up to ten count too, "one" only before a unit or a scale ("one
    million"); Roman numerals next to words such as "chapter", and after a name; TeX as displayed.

    Args:
        text: Any text.
        parts_of_months: Whether "the end of March" is a date.
    """
    # The words of all languages are read when the first text is.
    from resay.core.quantities.reader import Reader, may_contain_quantity, number_after_words

    number = number_after_words(text)
    if number is not None:
        return (number,)
    if not may_contain_quantity(text.lower()):
        return ()
    normalized = NormalizedText.of(text)
    in_normalized = read_plainly(
        normalized.text, lambda plain: Reader(plain, parts_of_months=parts_of_months).read()
    )
    if normalized.text == text:
        return in_normalized
    in_text: list[Quantity] = []
    last_end = 0
    for quantity in in_normalized:
        start, end = normalized.span(quantity.start, quantity.end)
        # Two may come from one character.
        start = max(start, last_end)
        if start < end:
            in_text.append(quantity._replace(start=start, end=end))
            last_end = end
    return tuple(in_text)
