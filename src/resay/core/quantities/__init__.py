"""Extract comparable numbers, dates and measures from a text, and find negations.

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

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from resay.core.normalization import NormalizedText
from resay.core.quantities.negation import may_negate, negations
from resay.core.quantities.quantity import MONEY, Quantity

__all__ = [
    "MONEY",
    "Quantity",
    "may_negate",
    "negations",
    "quantities",
]

# TeX is expanded, so that its numbers and units can be parsed: `$5.2$ kg`, `\(5{,}200\,\text{g}\)`
# and `$5.2 \times 10^{3}$ g` are read like "5.2 kg" is. Dollar signs around math are not money:
# they enclose text without spaces at its ends and without words.
_MATH = re.compile(
    r"\$\$(?P<display>(?:[^$\\]|\\.){1,400})\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$])(?P<inline>(?:[^$\n\\]|\\.){1,200})(?<=\S)\$(?![\d$])"
    r"|\\\((?P<round>(?:[^\\\n]|\\[^)\n]){1,200})\\\)"
    r"|\\\[(?P<square>(?:[^\\]|\\[^\]]){1,400})\\\]",
    re.DOTALL,
)
_POWER = (
    r"(?:(?P<factor>(?<![\w.])\d{1,12}(?:\.\d{1,12})?)\s{0,4}(?:\\times|\\cdot|[×·xX*])\s{0,4}"
    r"|(?<![\w.,]))10\s?(?:\^|\*\*)?"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_TOKEN = re.compile(
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
_SCIENTIFIC = re.compile(
    r"(?<![\w.])(?P<mantissa>\d{1,12}(?:\.\d{1,12})?)[eE](?P<exponent>[-+]?\d{1,2})(?![\w.]\w|\w)"
)
_OUTSIDE = re.compile(
    rf"{_SCIENTIFIC.pattern}|{_POWER}(?:(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,2}})|(?<=[\^*])\(?(?P<bare>-?\d{{1,2}})\)?(?![\w]))"
    r"|(?<![\w.,'])(?P<parted>\d{1,3}(?:'\d{3}){1,6}|\d{1,3}(?:_\d{3}){1,6})(?![\w'])"
)
_SIGNS = {
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
_COMMAND = re.compile(r"\\[A-Za-z]+\s?(?:\{[^{}]{0,60}\})?")
_WORDS = re.compile(r"[^\W\d_]{3}")


def read_plainly(text: str, read: Callable[[str], Iterable[Quantity]]) -> tuple[Quantity, ...]:
    """Parse a text as if its math were written in plain text.

    Args:
        text: The text.
        read: Finds the quantities in a text without math.

    Returns:
        The quantities; their offsets refer to the original text.
    """
    if "$" not in text and "\\" not in text and not _OUTSIDE.search(text):
        return tuple(read(text))
    parts = list(_parts(text))
    if len(parts) == 1:
        return tuple(read(text))
    # For each character of the plain text, the start and end of its original.
    starts: list[int] = []
    ends: list[int] = []
    for out, start, end in parts:
        is_same = len(out) == end - start
        starts += range(start, end) if is_same else [start] * len(out)
        ends += range(start + 1, end + 1) if is_same else [end] * len(out)
    found = read("".join(out for out, _, _ in parts))
    return tuple(replace(q, start=starts[q.start], end=ends[q.end - 1]) for q in found)


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the parts of the text in plain text, with their start and end."""
    at = 0
    for match in _MATH.finditer(text):
        name = str(match.lastgroup)
        inner = match[name]
        if name == "inline" and _WORDS.search(_COMMAND.sub("", inner)):
            continue
        yield from _replaced(text, at, match.start(name), _OUTSIDE, match.start())
        yield from _replaced(text, match.start(name), match.end(name), _TOKEN, match.end(name))
        at = match.end()
    yield from _replaced(text, at, len(text), _OUTSIDE, len(text))


def _replaced(
    text: str, start: int, end: int, tokens: re.Pattern[str], stop: int
) -> Iterator[tuple[str, int, int]]:
    at = start
    for match in tokens.finditer(text, start, min(end, stop)):
        yield text[at : match.start()], at, match.start()
        yield _out(match), match.start(), match.end()
        at = match.end()
    yield text[at : min(end, stop)], at, min(end, stop)


def _out(match: re.Match[str]) -> str:
    found = match.groupdict()
    if found.get("mantissa") is not None:
        return f"{Decimal(match['mantissa']).scaleb(int(match['exponent'])):f}"
    exponent = found.get("braced") or found.get("raised") or found.get("bare")
    if exponent is not None:
        power = int(exponent.translate(_SUPERSCRIPTS))
        return f"{Decimal(match['factor'] or 1).scaleb(power):f}"
    if found.get("parted") is not None:
        return match["parted"].replace("'", "").replace("_", "")
    if found["grouped"] is not None:
        return found["grouped"].replace("{,}", ",")
    if found["text"] is not None:
        return found["text"]
    if found["square"] or found["cube"]:
        return "²" if found["square"] else "³"
    if found["degrees"] is not None:
        return "°"
    return _SIGNS.get(found["sign"] or "", " ")


def quantities(text: str) -> tuple[Quantity, ...]:
    """Find the numbers, measures, ranges and dates of a text, in order.

    Number words and single ordinals up to ten count too, "one" only before a unit or a scale ("one
    million"); Roman numerals next to words such as "chapter", and after a name; TeX as displayed.

    Args:
        text: Any text.
    """
    # The words of all languages are read when the first text is.
    from resay.core.quantities.reader import Reader
    from resay.core.quantities.words import may_contain_quantity

    if not may_contain_quantity(text.lower()):
        return ()
    comparable = NormalizedText.of(text)
    found = read_plainly(comparable.text, lambda plain: Reader(plain).read())
    if comparable.text == text:
        return found
    placed: list[Quantity] = []
    end = 0
    for quantity in found:
        start, stop = comparable.span(quantity.start, quantity.end)
        # Two may come from one character.
        if max(start, end) < stop:
            placed.append(replace(quantity, start=max(start, end), end=stop))
            end = stop
    return tuple(placed)
