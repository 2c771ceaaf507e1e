"""Build HTML elements with escaped text, including those for scores and decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from html import escape

from resay.core.decision import Decision
from resay.reporting.render.texts import CONTROL, clean

_VOID = frozenset({"br", "input", "link", "meta"})
_NEWLINE = re.compile(r"\r\n?")
# JSON can hold lone surrogates, which cannot be encoded as UTF-8.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Characters that `words` or `escape` would change: a fast path for the many texts without any.
_UNSAFE = re.compile(rf"""[&<>"'\r\ud800-\udfff]|{CONTROL.pattern}""")
# Every browser treats URLs that begin like this as web addresses.
_WEB = re.compile(r"https?://[^\s\x00-\x20\x7f]+", re.IGNORECASE)


class Html(str):
    """A piece of HTML that can be inserted without escaping.

    Only `tag`, `joined` and constants create it. Formatting or concatenating it gives a plain
    string, which is escaped: a mistake shows up as visible markup, never as an element.
    """

    __slots__ = ()


def words(text: str) -> str:
    """Replace control characters, direction overrides and lone surrogates in a text."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", clean(_NEWLINE.sub("\n", text)))


def tag(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Build an element.

    Args:
        name: Its name.
        children: Its children: `Html` unchanged, any other string escaped; None is ignored.
        attributes: Its attributes, with `class_` for `class` and `aria_label` for `aria-label`.
            True gives an attribute without a value; None and False omit it.
    """
    opening = f"<{name}"
    for key, value in attributes.items():
        if value is not None and value is not False:
            opening += _attribute(key, value)
    if name in _VOID:
        return Html(opening + ">")
    body = "".join([_escaped(child) for child in children if child is not None])
    return Html(f"{opening}>{body}</{name}>")


def joined(parts: Iterable[str | None]) -> Html:
    """Concatenate pieces: `Html` unchanged, other strings escaped."""
    return Html("".join([_escaped(part) for part in parts if part is not None]))


def link(text: str, url: object) -> Html:
    """Build a link to a web page, or just the text if the URL is anything else.

    Args:
        text: The text to show.
        url: The URL. Schemes that run code, open files or send mail are not linked.
    """
    if not isinstance(url, str) or not _WEB.fullmatch(url):
        return tag("bdi", text)
    return tag("a", tag("bdi", text), href=url, rel="noopener noreferrer nofollow")


def _escaped(part: str) -> str:
    if isinstance(part, Html) or not _UNSAFE.search(part):
        return part
    return escape(words(part))


def _attribute(key: str, value: str | int) -> str:
    name = _attribute_name(key)
    # `str` drops the `Html` type: markup for an element must be escaped in an attribute.
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


# An unbounded cache is fine: the keys come from the code, not from data.
@cache
def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


LEVELS = 5
"""The number of colours for scores."""
_MARKS = {"consistent": "✓", "flagged": "!", "inconclusive": "?", "skipped": "–"}


def score_text(score: float | None) -> str:
    """Format a score with two decimals, or `?` for None."""
    known = _known(score)
    return "?" if known is None else f"{known:.2f}"


def level(score: float | None) -> str:
    """Return the CSS class that colours a score."""
    known = _known(score)
    return "none" if known is None else f"l{min(LEVELS - 1, int(known * LEVELS))}"


def chip(score: float | None, *, flagged: bool = False) -> Html:
    """Build a coloured score, with a mark if it is flagged."""
    return _chip(score_text(score), level(score), flagged)


# There are only about a hundred formatted scores, and a page repeats each many times.
@cache
def _chip(text: str, colour: str, flagged: bool) -> Html:
    mark = joined([tag("b", "!", aria_hidden="true"), hidden(" flagged")]) if flagged else None
    return tag("span", hidden("score "), text, mark, class_=f"chip {colour}", dir="ltr")


@cache
def badge(decision: Decision) -> Html:
    """Build a decision with its own symbol."""
    mark = tag("span", _MARKS[decision], aria_hidden="true", class_="sign")
    return tag("span", mark, decision, class_=f"badge {decision}")


def meter(score: float | None) -> Html | None:
    """Build a bar for a score, or None without a score."""
    if _known(score) is None:
        return None
    return _meter(score_text(score))


@cache
def _meter(text: str) -> Html:
    limits = {"min": "0", "low": "0.25", "high": "0.5", "max": "1", "optimum": "0"}
    # The number appears beside it, so screen readers can skip it.
    return tag("meter", text, value=text, aria_hidden="true", **limits)


def seconds(elapsed_s: float) -> str:
    """Format a duration."""
    return f"{elapsed_s:.1f} s"


def hidden(text: str) -> Html:
    """Build text for screen readers only."""
    return tag("span", text, class_="sr")


def definition(term: str, *contents: str | None) -> Html:
    """Build a term of a `dl` with its description."""
    return tag("div", tag("dt", term), tag("dd", *contents))


def scrolling(table: Html, label: str) -> Html:
    """Wrap a table so that it scrolls by itself if it is wider than the screen."""
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)


def _known(score: float | None) -> float | None:
    # Files may contain scores that no scorer returns.
    if score is None or not math.isfinite(score):
        return None
    return min(1.0, max(0.0, score))
