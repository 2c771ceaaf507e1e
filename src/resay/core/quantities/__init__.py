"""Numbers, dates and measures in a text, made comparable, and negation.

"5 km", "5,000 m" and "five kilometres" are one quantity; "19 March 1932", "19.03.1932" and
"1932-03-19" one date. Number words, months, units and words such as "about" are known in English,
German, French, Spanish, Italian, Portuguese and Dutch; numerals and dates also in Chinese, Japanese
and Korean, and digits of every script.

pint, dateparser, babel and num2words were looked at: each reads or writes one notation that it is
told of, in milliseconds, where here free text in an unknown language is to be searched in
microseconds, so a table of words serves better and the core needs no further dependency.

Everything takes time linear in the length of the text.
"""

from resay.core.quantities.mathematics import read_plainly
from resay.core.quantities.quantity import Quantity
from resay.core.quantities.reader import Reader
from resay.core.quantities.words import (
    guess_language,
    may_hold_any,
    may_negate,
    negations,
    word_set,
)

__all__ = ["Quantity", "guess_language", "may_negate", "negations", "quantities", "word_set"]


def quantities(text: str) -> tuple[Quantity, ...]:
    """Find the numbers, measures, ranges and dates of a text, in order.

    Number words and lone ordinals up to ten count too, "one" only before a unit or a scale ("one
    million"); Roman numerals beside words such as "chapter", and after a name; TeX as it is read.

    Args:
        text: Any text.
    """
    may = may_hold_any(text.lower())
    return read_plainly(text, lambda plain: Reader(plain).read()) if may else ()
