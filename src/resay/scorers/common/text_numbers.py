"""Reads which of several numbered texts a judge names: "1, 3", "samples 1 to 3", "all", "none"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.item_numbers import as_number, number_of

Numbers: TypeAlias = tuple[int, ...]
NONE: Final[Numbers] = ()
"""No text."""

_NOUN = (
    r"documents?|docs?|references?|refs?|samples?|sources?|texts?|passages?|answers?|numbers?|nos?\.?"
    r"|dokumente?n?|stichproben?|textes?|échantillons?|muestras?|textos?|campion[ei]|testi|amostras?"
    r"|样本|文本|サンプル"
)
_AND = r"(?:\s*[,;&、，+]\s*(?:(?:and|und|et|y|e)\s+)?|\s+(?:and|und|et|y|e|plus)\s+|和|と|及び)"
_TO = r"\s*(?:[-–—~〜]|\bto\b|\bthrough\b|\bbis\b|\bà\b|\ba\b|\bhasta\b|至|到|から)\s*"
_ONE = rf"(?:(?:{_NOUN}|s)?\s*[#]?\s*\d{{1,6}})"
_LISTED = rf"[\[({{]{{0,3}}\s{{0,3}}{_ONE}(?:(?:{_TO}|{_AND}){_ONE}){{0,60}}\s*[\])}}]*"
_WHOLE_SET = (
    r"(?:all|every(?:one|body)?|each|both|alle|beide|tous|toutes|todos|todas|tutti|tutte|ambos|entrambi|全部|所有"
    r"|すべて|全て)(?:\s+(?:of|the|these|other|given|two|three|four|five|six|\d{1,2}|die|den|les|las|los"
    rf"|i|le|as|os|的))*\s*(?:{_NOUN})?"
)
_EMPTY = (
    rf"(?:none|no|nobody|neither|nothing|null|n/?a|kein(?:e[rns]?)?|niemand|aucun(?:e)?|ningun[oa]"
    rf"|ningún|nessun[oa]?|nenhum(?:a)?|无|没有|なし|該当なし|-+|–|—|∅|\[\s*\])"
    rf"(?:\s+(?:of|the|them|other|these))*(?:\s*(?:{_NOUN}))?"
)
_EXCEPT = lazy_pattern(
    rf"(?:{_WHOLE_SET})\s*,?\s*(?:except(?:\s+for)?|but|save|außer|sauf|excepto|salvo|tranne|exceto)"
    rf"\s+(?P<others>{_LISTED})",
    re.IGNORECASE,
)
# An entry that goes on with what the text says: "1: born in 1921".
_WITH_WORDS = lazy_pattern(
    rf"\W*(?:(?:{_NOUN}|s)\s*#?)?(\d{{1,6}})\s*(?:[:：]|[–—-]\s)\s*[^\W\d]", re.I
)
_RANGE = lazy_pattern(rf"(\d{{1,6}}){_TO}(?:(?:{_NOUN})\s*)?(\d{{1,6}})", re.IGNORECASE)
_NUMBER = lazy_pattern(r"\d{1,6}")
_LISTED_ONLY = lazy_pattern(rf"\W*{_LISTED}\W*", re.IGNORECASE)
_SPACED = lazy_pattern(r"\s*\d{1,6}(?:\s+\d{1,6})+\s*")
_ALL_ONLY = lazy_pattern(rf"\W*(?:{_WHOLE_SET})\W*", re.IGNORECASE)
_EMPTY_ONLY = lazy_pattern(rf"\W*(?:{_EMPTY})?\W*", re.IGNORECASE)
_KEY_OF_NUMBER = lazy_pattern(rf"(?:{_NOUN})(?:[\s_](?:id|number|no))?", re.IGNORECASE)
# "2 of 3", "2/3", "2 samples" and "50 %" count texts, and name none.
_NO_COUNT = (
    rf"(?!\w)(?!\s*[/%])(?!\.\d)(?!\s+\d)(?!{_AND}{_ONE})(?!{_TO}{_ONE})"
    rf"(?!\s+(?:out\s+of|of|von|sur|de|su|da|em|{_NOUN})\b)"
)
_INNER = rf"\d{{1,6}}(?:(?:{_TO}|{_AND})(?:(?:{_NOUN}|s)\s*)?#?\d{{1,6}})*"
# Numbers of texts within a sentence need a noun before them or brackets around them.
_NAMED = lazy_pattern(
    rf"(?<!\w)(?:(?:{_NOUN})\s*[#:]?\s*(?P<plain>{_INNER}){_NO_COUNT}"
    rf"|[\[(]\s*#?(?P<enclosed>{_INNER})\s*[\])])",
    re.IGNORECASE,
)
_NEGATED = lazy_pattern(
    r"(?:\b(?:not|never|cannot|hardly|nicht|ne|pas|non|no|não)\b|n['’]t\b|\bun-?)[\s\w]{0,12}$",
    re.I,
)
_LINK = (
    r"[\s_*`\"'”’)]*(?:by|in|from|with|durch|von|par|por|da[il]?|dall[ae]|dagli|pel[oa]s?)?"
    r"(?:\s+(?:the|den|der|die|les|las|los|la|el|le|i|gli|as|os))?[\s_*`\"'“(:=：>-]*"
)
_NAMING = (
    rf"(?P<except>{_EXCEPT.pattern})|(?P<list>{_LISTED}{_NO_COUNT})|(?P<all>{_WHOLE_SET})"
    rf"|(?P<none>{_EMPTY})"
)


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """The texts that a sentence names as those that do what a verb says.

    Attributes:
        numbers: Their numbers.
        is_stated: Whether the sentence says which, if only that none does.
    """

    numbers: Numbers
    is_stated: bool


@dataclass(frozen=True, slots=True)
class TextNumbers:
    """Reads the numbers of texts.

    Attributes:
        shown: The numbers of the texts that the judge was shown.
    """

    shown: Numbers

    @property
    def only(self) -> int | None:
        """The number of the text, if only one was shown."""
        return self.shown[0] if len(self.shown) == 1 else None

    def of(self, value: Any) -> Numbers | None:
        """Return the numbers that a JSON value names; None if it cannot be read.

        Args:
            value: The value.
        """
        if value is None:
            return NONE
        if isinstance(value, (list, tuple)):
            return self._of_list(cast("Sequence[Any]", value))
        if isinstance(value, Mapping):
            return self._of_mapping(cast("Mapping[Any, Any]", value))
        number = as_number(value)
        if number is not None:
            return (number,)
        return self.whole(value) if isinstance(value, str) else None

    def _of_list(self, values: Sequence[Any]) -> Numbers | None:
        if values and all(isinstance(value, bool) for value in values):
            if len(values) != len(self.shown):
                return None
            return tuple(
                number for number, is_named in zip(self.shown, values, strict=True) if is_named
            )
        numbers: list[int] = []
        for value in values:
            match = _WITH_WORDS.match(value) if isinstance(value, str) else None
            entry_numbers = (int(match[1]),) if match else self.of(value)
            if entry_numbers is None:
                return None
            numbers += entry_numbers
        return tuple(numbers)

    def _of_mapping(self, fields: Mapping[Any, Any]) -> Numbers | None:
        if fields and all(isinstance(value, bool) for value in fields.values()):
            # {"1": true, "2": false}
            numbers: list[int] = []
            for key, is_named in fields.items():
                number = as_number(str(key).strip())
                if number is None:
                    return None
                if is_named:
                    numbers.append(number)
            return tuple(dict.fromkeys(numbers))
        values = [value for key, value in fields.items() if _KEY_OF_NUMBER.fullmatch(str(key))]
        for value in values:
            number = as_number(value)
            if number is not None:
                return (number,)
        if values and len(fields) == 1:
            return self.of(values[0])
        number = number_of({**fields, "claim": None})
        return None if number is None else (number,)

    def whole(self, text: str) -> Numbers | None:
        """Return the numbers that a text lists; None if it says anything else.

        Args:
            text: The text.
        """
        excepted = _EXCEPT.search(text)
        if excepted is not None:
            others = _listed_in(excepted["others"])
            return tuple(number for number in self.shown if number not in others)
        if _LISTED_ONLY.fullmatch(text) or _SPACED.fullmatch(text):
            return _listed_in(text)
        if _ALL_ONLY.fullmatch(text):
            return self.shown
        if _EMPTY_ONLY.fullmatch(text):
            return NONE
        return self.named_in(text) or None

    def named_with(self, text: str, verb: str) -> NamedTexts:
        """Return the texts that a sentence names with a verb, before or behind it.

        Args:
            text: The sentence.
            verb: A pattern of the verb's forms.
        """
        behind = re.compile(rf"(?<![\w-])(?:{verb})\b{_LINK}(?:{_NAMING})(?!\w)", re.IGNORECASE)
        before = re.compile(
            rf"(?<![\w.])(?:{_NAMING})\s+(?:\w+ly\s+|also\s+)?(?:{verb})\b", re.IGNORECASE
        )
        numbers: list[int] = []
        is_stated = False
        for pattern in (behind, before):
            for match in pattern.finditer(text):
                if _NEGATED.search(text[: match.start()]) and not match["none"]:
                    continue
                is_stated = True
                numbers += self._matched(match)
            text = pattern.sub(" ", text)
        if is_stated:
            return NamedTexts(tuple(dict.fromkeys(numbers)), is_stated=True)
        # The verb is somewhere else in the sentence: "By samples 1 and 2 it is supported".
        for match in re.finditer(rf"(?<![\w-])(?:{verb})\b", text, re.IGNORECASE):
            if not _NEGATED.search(text[: match.start()]):
                named = self.named_in(text)
                return NamedTexts(named, is_stated=bool(named))
        return NamedTexts(NONE, is_stated=False)

    def named_in(self, text: str) -> Numbers:
        """Return the numbers of texts that a sentence names."""
        numbers: list[int] = []
        for match in _NAMED.finditer(text):
            numbers += _listed_in(match["plain"] or match["enclosed"])
        return tuple(dict.fromkeys(numbers))

    def _matched(self, match: re.Match[str]) -> Numbers:
        if match["except"]:
            return self.whole(match["except"]) or NONE
        if match["list"]:
            return _listed_in(match["list"])
        return self.shown if match["all"] else NONE


def _listed_in(text: str) -> Numbers:
    """Return the numbers in a list, with those between the ends of ranges."""
    numbers: list[int] = []
    position = 0
    while match := _NUMBER.search(text, position):
        span = _RANGE.match(text, match.start())
        position = match.end()
        if span is not None and int(span[1]) < int(span[2]) <= int(span[1]) + 200:
            numbers += range(int(span[1]), int(span[2]) + 1)
            position = span.end()
        else:
            numbers.append(int(match[0]))
    return tuple(dict.fromkeys(numbers))
