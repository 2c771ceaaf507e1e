"""Comparable numbers, dates and measures of a text, and its negations.

"5 km", "5,000 m" and "five kilometres" are the same quantity; "19 March 1932", "19.03.1932" and
"1932-03-19" the same date. Number words, months, units and words such as "about" are known in the
languages whose files have them (`resay.lang`); numerals and dates also in Chinese, Japanese and
Korean, and digits in every script.

pint, dateparser, babel and num2words were considered: each reads or writes one notation that must
be known in advance, in milliseconds. Here, free text in an unknown language must be searched in
microseconds, so a table of words works better, and the core needs no further dependency.

Everything takes time linear in the length of the text.
"""

from __future__ import annotations

from resay.core.quantities.negation import may_contain_negation, may_negate, negations
from resay.core.quantities.quantity import MONEY, Quantity
from resay.core.quantities.search import quantities

__all__ = [
    "MONEY",
    "Quantity",
    "may_contain_negation",
    "may_negate",
    "negations",
    "quantities",
]
