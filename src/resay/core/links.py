"""One form for the addresses of one page, which are written in several ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from resay._internal.patterns import lazy_pattern

_LINK = lazy_pattern(r"(?:https?://|www\.)[^\s<>()\[\]\"'“”«»|\\^`{}]{3,400}", re.IGNORECASE)
_HOST = (
    r"(?<![\w@./-])(?!\d+\.[a-z])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}[a-z]{2,24}"
    r"(?![\w@-])"
)
_PATH = r"/[^\s<>()\[\]\"'“”«»|\\^`{}]{0,400}"
_BARE = lazy_pattern(rf"{_HOST}(?:{_PATH})?", re.IGNORECASE)
# A host alone may be a file or a name with a full stop in it, such as "Node.js".
_WITH_PATH = lazy_pattern(rf"{_LINK.pattern}|{_HOST}{_PATH}", re.IGNORECASE)
_SCHEME = lazy_pattern(r"^https?://", re.IGNORECASE)
_AROUND = ".,;:!?*_`~"
_DEFAULT_PORT = lazy_pattern(r":(?:80|443)$")
# Fields that only say where a visitor comes from.
_TRACKING = lazy_pattern(r"(?:utm_\w{1,40}|gclid|fbclid|msclkid|mc_[ce]id)=", re.IGNORECASE)


def link_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each link in a text: with a scheme, "www." or a path.

    Args:
        text: The text.
    """
    if "/" not in text and "www." not in text.lower():
        return
    for match in _WITH_PATH.finditer(text):
        yield match.start(), match.start() + len(match[0].rstrip(_AROUND))


def links_in(text: str) -> Iterator[str]:
    """Yield the links in a text, as written.

    Args:
        text: The text.
    """
    for start, end in link_spans(text):
        yield text[start:end]


def addresses_in(text: str) -> frozenset[str]:
    """Return the normal forms of all links in a text, also of those without a scheme.

    Args:
        text: The text.
    """
    addresses = {normal_link(link) for link in links_in(text)}
    for match in _BARE.finditer(text):
        addresses.add(normal_link(match[0].rstrip(_AROUND)))
    return frozenset(addresses)


def normal_link(link: str) -> str:
    """Return the form in which links to the same page are equal.

    Scheme, `www.`, the case of the host, a closing slash, the fragment, the order of the query's
    fields, those for tracking, and needless percent-encoding do not matter; path and query do.

    Args:
        link: A link.
    """
    address = _SCHEME.sub("", link.strip().rstrip(_AROUND))
    address = address.partition("#")[0]
    address, _, query = address.partition("?")
    host, slash, path = address.partition("/")
    host = _DEFAULT_PORT.sub("", host.casefold()).rstrip(".").removeprefix("www.")
    path = unquote(f"{slash}{path}").rstrip("/")
    fields = [field for field in unquote(query).split("&") if field and not _TRACKING.match(field)]
    normal_query = "&".join(sorted(fields))
    return f"{host}{path}?{normal_query}" if fields else f"{host}{path}"
