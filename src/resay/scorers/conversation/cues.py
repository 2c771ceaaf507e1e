"""The words by which a conversation corrects, changes or supposes something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.lang.tables import table

_NEVER: Final = lazy_pattern(r"(?!)")
# Scripts whose words have no spaces between them.
_UNSPACED: Final = frozenset({"ja", "zh", "ko"})


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of a language, for texts in lower case.

    Attributes:
        corrects: By which a model takes back what it said.
        objects: By which users say that something is wrong.
        changes: By which users ask for something else.
        situation: By which users say what they are, which values may depend on.
        supposes: Of what is not claimed, such as a condition or an example.
        current: Of what changes from turn to turn.
        repeats: By which a model refers to what it said.
        attributes: Of what somebody else says.
        unique: Before a name, where there is only one: "the capital is".
        unique_after: The same behind a name.
    """

    corrects: re.Pattern[str]
    objects: re.Pattern[str]
    changes: re.Pattern[str]
    situation: re.Pattern[str]
    supposes: re.Pattern[str]
    current: re.Pattern[str]
    repeats: re.Pattern[str]
    attributes: re.Pattern[str]
    unique: re.Pattern[str]
    unique_after: re.Pattern[str]


@cache
def cues_of(code: str) -> Cues:
    """Return the cues of a language.

    Args:
        code: Its code (ISO 639-1).
    """
    fields = table(code, "conversation")

    def words(name: str) -> re.Pattern[str]:
        if name not in fields:
            return _NEVER
        alternatives = f"(?:{fields[name]})"
        return re.compile(alternatives if code in _UNSPACED else rf"(?<!\w){alternatives}(?!\w)")

    def pattern(name: str) -> re.Pattern[str]:
        return re.compile(fields[name]) if name in fields else _NEVER

    return Cues(
        corrects=words("corrects"),
        objects=words("objects"),
        changes=words("changes"),
        situation=words("situation"),
        supposes=words("supposes"),
        current=words("current"),
        repeats=words("repeats"),
        attributes=words("attributes"),
        unique=pattern("unique"),
        unique_after=pattern("unique_after"),
    )
