"""The words that decide where sentences end, of all languages: `[sentence_ends]` in their files.

They are in lower case, without the final period.
"""

from __future__ import annotations

from typing import Final

from resay.lang.language import all_alternatives, all_words


def _words(name: str) -> frozenset[str]:
    return all_words("sentence_ends", name)


def _beginnings(name: str) -> tuple[str, ...]:
    return tuple(sorted(_words(name)))


TITLES: Final = _words("titles")
"""Before a name: never the end of a sentence if capitalised (5 ft. is a measure, Ft. a place)."""
NEVER_FINAL: Final = _words("never_final")
"""Always followed by more of the same sentence."""
RARELY_FINAL: Final = _words("rarely_final")
"""Only a following word that often opens a sentence shows that one ends here."""
COMPANIES: Final = _words("companies")
"""End a sentence before most capitals, but not before roles, CEO, CFO, etc."""
ROLES: Final = _words("roles")
BEFORE_LABEL: Final = _words("before_label")
"""With a period before a number, or before a label such as II or A."""
BEFORE_NUMBER: Final = BEFORE_LABEL | _words("before_number")
"""With a period before a number."""
CLOCK: Final = _words("clock")
"""Times. They end sentences, unless a time zone or day follows."""
BEFORE_CLOCK: Final = _words("before_clock")
"""Time zones, days and months."""
ERAS_AND_DEGREES: Final = _words("eras_and_degrees")
"""Letters with periods that end sentences."""
LABELLED: Final = _words("labelled")
"""Take a capital letter as a label: "vitamin C.", "Group B.", "World War I."."""
BEFORE_ORDINAL: Final = _words("before_ordinal")
"""Before "3." in languages that write ordinals with a period."""
ORDINAL_MONTHS: Final = all_alternatives("sentence_ends", "ordinal_months")
"""The alternatives of a pattern for months after such an ordinal."""
PRONOUNS: Final = _words("pronouns")
OPENERS: Final = PRONOUNS | _words("openers")
"""Closed-class words that open sentences and are seldom in a name after an abbreviation."""
ATTRIBUTIONS: Final = all_alternatives("sentence_ends", "attributions")
"""The alternatives of a pattern for verbs that attribute the quotation before them."""

# Thai and Lao end sentences with a space, but put spaces between phrases too.
CONTINUES: Final = _beginnings("continues")
"""Never follow the end of a sentence."""
AWAITS: Final = _beginnings("awaits")
"""Never precede the end of a sentence."""
BEGINS: Final = _beginnings("begins")
"""Begin a sentence if there is enough text before and after."""
POLITE_ENDS: Final = _beginnings("polite_ends")
"""End a sentence."""
SUBORDINATES: Final = _beginnings("subordinates")
"""Begin a clause that precedes its main clause."""
ABBREVIATIONS: Final = NEVER_FINAL | TITLES | RARELY_FINAL | BEFORE_LABEL | COMPANIES | CLOCK
"""Words whose period may not end a sentence."""
