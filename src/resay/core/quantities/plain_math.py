"""Math in plain text: TeX, powers of ten and grouped digits, with offsets in the original."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from resay._internal.patterns import lazy_pattern
from resay.core.quantities.quantity import Quantity

# TeX is expanded, so that its numbers and units can be parsed: `$5.2$ kg`, `\(5{,}200\,\text{g}\)`
# and `$5.2 \times 10^{3}$ g` are read like "5.2 kg" is. Dollar signs around math are not money:
# they enclose text without spaces at its ends and without words.
_MATH: Final = lazy_pattern(
    r"\$\$(?P<display>(?:[^$\\]|\\.){1,400})\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$])(?P<inline>(?:[^$\n\\]|\\.){1,200})(?<=\S)\$(?![\d$])"
    r"|\\\((?P<round>(?:[^\\\n]|\\[^)\n]){1,200})\\\)"
    r"|\\\[(?P<square>(?:[^\\]|\\[^\]]){1,400})\\\]",
    re.DOTALL,
)
_POWER: Final = (
    r"(?:(?P<factor>(?<![\w.])\d{1,12}(?:\.\d{1,12})?)\s{0,4}(?:\\times|\\cdot|[×·xX*])\s{0,4}"
    r"|(?<![\w.,]))10\s?(?:\^|\*\*)?"
)
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_TOKEN: Final = lazy_pattern(
    rf"""
    {_POWER}(?:\{{\s?(?P<braced>[-+−]?\d{{1,2}})\s?\}}|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,2}})
                |(?<=[\^*])\(?(?P<bare>-?\d{{1,2}})\)?)
  | (?P<grouped>\d{{1,3}}(?:\{{,\}}\d{{3}}){{1,6}})
  | \\(?:text|textrm|mathrm|mathbf|mathit|mathsf|operatorname|mbox|unit|si)\s?
    \{{(?P<text>[^{{}}]{{0,60}})\}}
  | (?P<square>\^(?:2|\{{2\}})) | (?P<cube>\^(?:3|\{{3\}}))
  | (?P<degrees>\^\{{?\\circ\}}?|\\degree\b)
  | (?P<sign>\\(?:approx|sim|simeq|pm|mu|Omega|%|\$|times|cdot|leq?|geq?)(?![A-Za-z]))
  | (?P<space>\\[,;:!>\s]|~|\\q?quad\b|\\[A-Za-z]+|[{{}}]|\s+)
    """,
    re.VERBOSE,
)
# "1.6e-19", but not an identifier such as "12e4f".
_SCIENTIFIC: Final = lazy_pattern(
    r"(?<![\w.])(?P<mantissa>\d{1,12}(?:\.\d{1,12})?)[eE](?P<exponent>[-+]?\d{1,2})(?![\w.]\w|\w)"
)
_OUTSIDE: Final = lazy_pattern(
    rf"{_SCIENTIFIC.pattern}|{_POWER}(?:(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,2}})|(?<=[\^*])\(?(?P<bare>-?\d{{1,2}})\)?(?![\w]))"
    r"|(?<![\w.,'])(?P<parted>\d{1,3}(?:'\d{3}){1,6}|\d{1,3}(?:_\d{3}){1,6})(?![\w'])"
)
# Each match of it has one of these; most texts have none.
_MAY_BE_OUTSIDE: Final = lazy_pattern(r"[\d^*⁰¹²³⁴⁵⁶⁷⁸⁹](?:(?<!\d)|[eE][-+]?\d|['_]\d)")
_SIGNS: Final = {
    r"\approx": "≈",
    r"\sim": "≈",
    r"\simeq": "≈",
    r"\pm": "±",
    r"\mu": "µ",
    r"\Omega": "Ω",
    r"\%": "%",
    r"\$": "$",
    r"\times": "×",
    r"\cdot": "·",
}
_COMMAND: Final = lazy_pattern(r"\\[A-Za-z]+\s?(?:\{[^{}]{0,60}\})?")
_WORD: Final = lazy_pattern(r"[^\W\d_]{3}")


def read_plainly(text: str, read: Callable[[str], Iterable[Quantity]]) -> tuple[Quantity, ...]:
    """Parse a text as if its math were written in plain text.

    Args:
        text: The text.
        read: Finds the quantities in a text without math.

    Returns:
        The quantities; their offsets refer to the original text.
    """
    if "$" not in text and "\\" not in text and not _MAY_BE_OUTSIDE.search(text):
        return tuple(read(text))
    parts = list(_parts(text))
    if len(parts) == 1:
        return tuple(read(text))
    # For each character of the plain text, the start and end of its original.
    starts: list[int] = []
    ends: list[int] = []
    for part in parts:
        length = len(part.plain)
        if length == part.end - part.start:
            starts += range(part.start, part.end)
            ends += range(part.start + 1, part.end + 1)
        else:
            starts += [part.start] * length
            ends += [part.end] * length
    quantities: list[Quantity] = []
    for quantity in read("".join(part.plain for part in parts)):
        start, end = starts[quantity.start], ends[quantity.end - 1]
        quantities.append(quantity._replace(start=start, end=end))
    return tuple(quantities)


class _Part(NamedTuple):
    """A part of a text.

    Attributes:
        plain: The part in plain text.
        start: Its start in the original.
        end: Its end (exclusive).
    """

    plain: str
    start: int
    end: int


def _parts(text: str) -> Iterator[_Part]:
    """Yield the parts of a text, with its math in plain text."""
    position = 0
    for match in _MATH.finditer(text):
        delimiter = str(match.lastgroup)
        start, end = match.span(delimiter)
        if delimiter == "inline" and _WORD.search(_COMMAND.sub("", match[delimiter])):
            continue
        yield from _replaced(text, position, match.start(), _OUTSIDE)
        yield from _replaced(text, start, end, _TOKEN)
        position = match.end()
    yield from _replaced(text, position, len(text), _OUTSIDE)


def _replaced(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[_Part]:
    """Yield the parts of a span of a text, with the matches of a pattern in plain text."""
    position = start
    for match in pattern.finditer(text, start, end):
        yield _Part(text[position : match.start()], position, match.start())
        yield _Part(_in_plain_text(match), match.start(), match.end())
        position = match.end()
    yield _Part(text[position:end], position, end)


def _in_plain_text(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("mantissa") is not None:
        return f"{Decimal(match['mantissa']).scaleb(int(match['exponent'])):f}"
    exponent = groups.get("braced") or groups.get("raised") or groups.get("bare")
    if exponent is not None:
        power = int(exponent.translate(_SUPERSCRIPTS))
        return f"{Decimal(match['factor'] or 1).scaleb(power):f}"
    if groups.get("parted") is not None:
        return match["parted"].replace("'", "").replace("_", "")
    if groups["grouped"] is not None:
        return groups["grouped"].replace("{,}", ",")
    if groups["text"] is not None:
        return groups["text"]
    if groups["square"] or groups["cube"]:
        return "²" if groups["square"] else "³"
    if groups["degrees"] is not None:
        return "°"
    return _SIGNS.get(groups["sign"] or "", " ")
