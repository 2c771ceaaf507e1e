"""Elements whose text cannot become markup, and scores, decisions and costs as such elements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from html import escape

from resay.core.verdict import Decision
from resay.reporting.render.texts import CONTROL, clean

_VOID = frozenset({"br", "input", "link", "meta"})
_NEWLINE = re.compile(r"\r\n?")
# JSON can hold halves of a character, which no file can.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# What `words` or `escape` would change; most texts hold none of it, and one look says so.
_UNSAFE = re.compile(rf"""[&<>"'\r\ud800-\udfff]|{CONTROL.pattern}""")
# Whatever begins like this is read as an address of the web, by every browser.
_WEB = re.compile(r"https?://[^\s\x00-\x20\x7f]+", re.IGNORECASE)


class Html(str):
    """A piece of HTML that can be put into a page as it is.

    Only `tag`, `joined` and constants make one. Formatting or adding to one gives a plain string,
    which is escaped: a mistake shows up as visible markup, never as an element.
    """

    __slots__ = ()


def words(text: str) -> str:
    """Return a text without control characters, direction overrides and halves of characters."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", clean(_NEWLINE.sub("\n", text)))


def tag(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return an element.

    Args:
        name: Its name.
        children: What is in it: `Html` as it is, any other string escaped; None for nothing.
        attributes: Its attributes, `class_` for `class` and `aria_label` for `aria-label`. True
            gives one without a value; None and False leave it out.
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
    """Return what follows each other as one piece, `Html` as it is and other strings escaped."""
    return Html("".join([_escaped(part) for part in parts if part is not None]))


def link(text: str, url: object) -> Html:
    """Return a link to a page of the web, or the bare text where the address is anything else.

    Args:
        text: What to show.
        url: Where it leads. Addresses that run code, read files or mail somebody are left out.
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
    # The escaping of `Html` is that of an element, not of an attribute.
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


# Those that the code names, so there are few.
@cache
def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


LEVELS = 5
"""How many colours scores have."""
_MARKS = {"consistent": "✓", "flagged": "!", "inconclusive": "?", "skipped": "–"}


def score_text(score: float | None) -> str:
    """Return a score with two digits, or `?` where there is none."""
    known = _known(score)
    return "?" if known is None else f"{known:.2f}"


def level(score: float | None) -> str:
    """Return the class that colours a score."""
    known = _known(score)
    return "none" if known is None else f"l{min(LEVELS - 1, int(known * LEVELS))}"


def chip(score: float | None, *, flagged: bool = False) -> Html:
    """Return a coloured score, with a mark where it is flagged."""
    return _chip(score_text(score), level(score), flagged)


# A hundred scores with two digits, and each is on a page many times.
@cache
def _chip(text: str, colour: str, flagged: bool) -> Html:
    mark = joined([tag("b", "!", aria_hidden="true"), hidden(" flagged")]) if flagged else None
    return tag("span", hidden("score "), text, mark, class_=f"chip {colour}", dir="ltr")


@cache
def badge(decision: Decision) -> Html:
    """Return a decision, with a sign of its own."""
    mark = tag("span", _MARKS[decision], aria_hidden="true", class_="sign")
    return tag("span", mark, decision, class_=f"badge {decision}")


def meter(score: float | None) -> Html | None:
    """Return a bar as long as a score, or None where there is none."""
    if _known(score) is None:
        return None
    return _meter(score_text(score))


@cache
def _meter(text: str) -> Html:
    limits = {"min": "0", "low": "0.25", "high": "0.5", "max": "1", "optimum": "0"}
    # The number appears beside it, so it need not be read out.
    return tag("meter", text, value=text, aria_hidden="true", **limits)


def seconds(elapsed_s: float) -> str:
    """Return a time in words."""
    return f"{elapsed_s:.1f} s"


def hidden(text: str) -> Html:
    """Return words for those who listen to the page."""
    return tag("span", text, class_="sr")


def definition(term: str, *said: str | None) -> Html:
    """Return a term of a `dl` with what is said of it."""
    return tag("div", tag("dt", term), tag("dd", *said))


def scrolling(table: Html, label: str) -> Html:
    """Return a table that scrolls by itself where it is wider than the screen."""
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)


def _known(score: float | None) -> float | None:
    # Files may hold what no scorer gives.
    if score is None or not math.isfinite(score):
        return None
    return min(1.0, max(0.0, score))
