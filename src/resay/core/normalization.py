"""The form in which texts are compared: what looks or means the same is written the same.

Models write "10‑12" with a hyphen that does not break, "CO₂" with a subscript, "é" as one character
or as two, and put soft hyphens and thin spaces where nobody sees them. Every comparison of words,
numbers, names, values and links uses this form. It is NFKC, except where NFKC changes a meaning
(10² is not 102, 2½ is not 21⁄2), with one form also of what Unicode keeps apart: hyphens and
dashes, quotation marks and apostrophes, the digits of all scripts. Invisible characters, and the
short vowels that Arabic and Hebrew may omit, are dropped. Upper and lower case stay.

The form serves comparison only. What users see, and the offsets they get, are of the text itself:
`NormalizedText` knows where each of its characters comes from.

Everything takes time linear in the length of the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from unicodedata import category, combining, decimal, decomposition, normalize

from resay._internal.patterns import lazy_pattern

_APOSTROPHES: Final = (
    "\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u02c8\u2032\u2035\u00b4\u055a\ua78c"
)
_QUOTES: Final = (
    "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u02ba\u2033\u2036\u301d\u301e\u301f"
    "\u300c\u300d\u300e\u300f\ufe41\ufe42\ufe43\ufe44"
)
# A dash between clauses, which may have no spaces around it.
_DASHES: Final = "\u2014\u2015\u2e3a\u2e3b\ufe31\ufe58"
_SLASHES: Final = ("/", "\u2044", "\u2215")
_EQUIVALENTS: Final = {
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys(_QUOTES, '"'),
    **dict.fromkeys("\u2212\u02d7", "-"),
    **dict.fromkeys(_SLASHES, "/"),
    "\u2236": ":",
    "\u301c": "~",
    "\u060c": ",",
    "\u061b": ";",
    "\u066a": "%",
    "\u066b": ".",
    "\u066c": ",",
    # A mark of ownership, not part of the name.
    **dict.fromkeys("\u2122\u2120\u00ae", ""),
}
# What nobody sees, or may be left out in writing: soft hyphens, joiners, directional marks and what
# chooses a glyph; the short vowels of Arabic and Hebrew, and the stroke that lengthens an Arabic
# word.
_OPTIONAL: Final = lazy_pattern(
    "[\u00ad\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u061c\u0640\u064b-\u0652\u0670\u115f\u1160"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
# Scripts without spaces between words: there a zero-width space separates two words.
_UNSPACED: Final = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
)
_PERSIAN: Final = lazy_pattern("[\u0620-\u06ff]")
_ZERO_WIDTH_SPACE, _NON_JOINER = "\u200b", "\u200c"
# Full-width punctuation includes the space that follows it.
_WIDE_PUNCTUATION: Final = frozenset("！，：；？")
# Raised characters that do not mean a power: "¹⁄₂", "19ᵗʰ", "Ca²⁺", "¹⁴C".
_RAISED: Final = lazy_pattern(
    "[⁰¹²³⁴-⁹]{1,3}(?=[\u2044/][₀-₉0-9])|(?<=[0-9])(?:ᵗʰ|ˢᵗ|ⁿᵈ|ʳᵈ|ᵉʳ|ʳᵉ|ᵈᵉ|ᵉ)"
    "|(?<=[A-Za-z₀-₉])[¹²³⁴-⁹]?[⁺⁻](?![⁰¹²³⁴-⁹])|(?<![^\\s(/-])[⁰¹²³⁴-⁹]{1,3}(?=[A-Z][a-z]?(?![a-z]))"
)
_RAISED_STARTS: Final = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵗˢⁿʳᵉᵈ")
# Few characters are found fastest one after the other.
_MAX_SEARCHED_CHARS: Final = 8
# Longer sequences of accents are no writing, and would take quadratic time.
_MAX_SIGNS: Final = 30


@dataclass(frozen=True, slots=True)
class _Change:
    """A part of a text that is written differently in its normal form.

    Attributes:
        start: Its start in the normal form.
        end: Its end in the normal form (exclusive); equal to `start` if it is dropped.
        written_start: Its start in the text.
        written_end: Its end in the text (exclusive).
    """

    start: int
    end: int
    written_start: int
    written_end: int


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """The normal form of a text, and where its characters come from.

    Attributes:
        written: The text.
        text: Its normal form.
    """

    written: str
    text: str
    _changes: tuple[_Change, ...] = ()

    @classmethod
    def of(cls, text: str) -> NormalizedText:
        """Return the normal form of a text."""
        if text.isascii():
            return cls(text, text)
        parts: list[str] = []
        changes: list[_Change] = []
        end = length = 0
        for start, stop, replacement in _replacements(text):
            parts += (text[end:start], replacement)
            length += start - end
            changes.append(_Change(length, length + len(replacement), start, stop))
            length += len(replacement)
            end = stop
        if not changes:
            return cls(text, text)
        parts.append(text[end:])
        return cls(text, "".join(parts), tuple(changes))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the text of a part of its normal form."""
        if not self._changes:
            return start, end
        return self._written_offset(start, is_end=False), self._written_offset(end, is_end=True)

    def as_written(self, start: int, end: int) -> str:
        """Return a part of the normal form as it is written in the text."""
        written_start, written_end = self.span(start, end)
        return self.written[written_start:written_end]

    def _written_offset(self, offset: int, *, is_end: bool) -> int:
        if is_end:
            index = bisect_right(self._changes, offset - 1, key=_start) - 1
        else:
            index = bisect_right(self._changes, offset, key=_start) - 1
        if index < 0:
            return offset
        change = self._changes[index]
        if offset < change.end:
            return change.written_end if is_end else change.written_start
        return change.written_end + offset - change.end


def normalized(text: str) -> str:
    """Return the form of a text in which it is compared with others."""
    return text if text.isascii() else NormalizedText.of(text).text


def without_optional(text: str) -> str:
    """Return a text without what nobody sees and what may be left out, otherwise as it is written.

    Accents are part of their letters (NFC).
    """
    return text if text.isascii() else normalize("NFC", _OPTIONAL.sub("", text))


def _start(change: _Change) -> int:
    return change.start


def _replacements(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of what is written differently, and its normal form."""
    changing = {char for char in set(text) if _may_change(char)}
    if not changing:
        return
    end = 0
    for index in _positions(text, changing):
        if index < end:
            continue
        # A sign belongs to the character before it.
        start = index - 1 if _is_sign(text[index]) and index > end else index
        raised = _RAISED.match(text, start) if text[start] in _RAISED_STARTS else None
        if raised is not None:
            end = raised.end()
            replacement = normalize("NFKC", raised[0]).replace("\u2212", "-")
            if replacement.isdecimal() and text[start - 1 : start].isdecimal():
                replacement = f" {replacement}"
        else:
            end = _cluster_end(text, start)
            replacement = _of_cluster(text[start:end])
            replacement = _in_context(
                text[start],
                replacement,
                previous=text[start - 1 : start],
                following=text[end : end + 1],
            )
        if replacement != text[start:end]:
            yield start, end, replacement


def _positions(text: str, chars: set[str]) -> list[int]:
    """Return where any of the characters is, in order."""
    if len(chars) > _MAX_SEARCHED_CHARS:
        return [index for index, char in enumerate(text) if char in chars]
    positions: list[int] = []
    for char in chars:
        index = text.find(char)
        while index >= 0:
            positions.append(index)
            index = text.find(char, index + 1)
    return sorted(positions)


@lru_cache(16_384)
def _may_change(char: str) -> bool:
    return not char.isascii() and (
        char in _RAISED_STARTS or _is_sign(char) or _of_cluster(char) != char
    )


def _cluster_end(text: str, start: int) -> int:
    """Return the end of a character with the signs that belong to it."""
    end = start + 1
    limit = min(len(text), end + _MAX_SIGNS)
    while end < limit and _is_sign(text[end]):
        end += 1
    return end


@lru_cache(4_096)
def _is_sign(char: str) -> bool:
    """Whether a character may form one with the character before it."""
    return combining(normalize("NFKD", char)[0]) != 0 or "\u1161" <= char <= "\u11ff"


def _of_cluster(cluster: str) -> str:
    replacement = _of_char(cluster) if len(cluster) == 1 else "".join(map(_of_char, cluster))
    return replacement if replacement.isascii() else normalize("NFC", replacement)


@lru_cache(16_384)
def _of_char(char: str) -> str:
    """Return what a character is compared as, whatever is next to it."""
    equivalent = _EQUIVALENTS.get(char)
    if equivalent is not None:
        return equivalent
    if _OPTIONAL.match(char):
        return ""
    kind = category(char)
    if kind == "Zs":
        return " "
    if kind in ("Zl", "Zp") or char == "\x85":
        return "\n"
    if kind == "Pd":
        return "-"
    if kind == "Nd":
        return str(decimal(char))
    mapping, _, codes = decomposition(char).rpartition("> ")
    if not mapping or mapping in ("<super", "<circle") or codes.startswith("0020"):
        return char
    return "".join(_of_char(chr(int(code, 16))) for code in codes.split())


def _in_context(char: str, replacement: str, *, previous: str, following: str) -> str:
    """Return what a character is compared as between its neighbours."""
    if char == _ZERO_WIDTH_SPACE:
        return " " if _UNSPACED.match(following) else ""
    if char == _NON_JOINER:
        return " " if _PERSIAN.match(previous) else ""
    if char in _DASHES:
        left, right = _space_beside(previous), _space_beside(following)
        return f"{left}-{right}"
    if char in _WIDE_PUNCTUATION:
        between_digits = previous.isdecimal() and following.isdecimal()
        return replacement if between_digits else replacement + _space_beside(following)
    if "/" in replacement and len(replacement) > 1:
        return _apart(replacement, previous, following)
    if replacement == "~" and previous.isdecimal() and following.isdecimal():
        return "-"
    return replacement


def _space_beside(neighbour: str) -> str:
    return " " if neighbour.strip() else ""


def _apart(fraction: str, previous: str, following: str) -> str:
    """Return a fraction that no other number touches: "2½" is two and a half."""
    left = " " if previous.isdecimal() or previous in _SLASHES else ""
    right = " " if following.isdecimal() or following in _SLASHES else ""
    return f"{left}{fraction}{right}"
