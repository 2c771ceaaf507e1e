"""Elements whose text cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from resay.reporting.render.texts import clean

__all__ = ["Html", "joined", "link", "tag", "words"]

_VOID = frozenset({"br", "input", "link", "meta"})
_NEWLINE = re.compile(r"\r\n?")
# JSON can hold halves of a character, which no file can.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
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
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Html(opening)
    return Html(f"{opening}{joined(children)}</{name}>")


def joined(parts: Iterable[str | None]) -> Html:
    """Return what follows each other as one piece, `Html` as it is and other strings escaped."""
    return Html("".join(_escaped(part) for part in parts if part is not None))


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
    return part if isinstance(part, Html) else escape(words(part))


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(words(str(value)))}"'
