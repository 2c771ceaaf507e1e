"""The dashboard's addresses, its static files, and what its home page lists."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any
from urllib.parse import quote, urlencode

from resay.adapters.pages import stylesheet
from resay_server.dashboard.query import BYS, SPANS, DashboardQuery
from resay_server.journal import By, Entry


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file.

    Attributes:
        name: The file's name, which contains a hash of its content.
        kind: The media type.
        content: The content.
    """

    name: str
    kind: str
    content: bytes = field(repr=False)


class Assets:
    """The static files, read once."""

    def __init__(self) -> None:
        self.style = _asset("dashboard", "css", "text/css", stylesheet() + _read("dashboard.css"))
        self.script = _asset("dashboard", "js", "text/javascript", _read("dashboard.js"))
        self.label_script = _asset("label", "js", "text/javascript", _read("label.js"))
        self.icon = _asset("icon", "svg", "image/svg+xml", _read("icon.svg"))
        self._named = {
            asset.name: asset for asset in (self.style, self.script, self.label_script, self.icon)
        }

    def get(self, name: str) -> Asset | None:
        """Return the file with a name, or None."""
        return self._named.get(name)


def _read(name: str) -> str:
    file = resources.files("resay_server.dashboard") / "static" / name
    return file.read_text(encoding="utf-8")


def _asset(name: str, suffix: str, kind: str, text: str) -> Asset:
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(f"{name}-{digest}.{suffix}", f"{kind}; charset=utf-8", content)


_VIEWS: Mapping[str, dict[str, str]] = {
    "All": {},
    "Flagged": {"decision": "flagged"},
    "Inconclusive": {"decision": "inconclusive"},
    "Highest score": {"sort": "score"},
    "Slowest": {"sort": "latency"},
    "Most expensive": {"sort": "cost"},
}
_GROUPINGS: Mapping[By, str] = {
    "model": "Model",
    "policy": "Policy",
    "tenant": "Tenant",
    "api": "API",
}
# A text, an address, and whether it is the one that is shown.
Choice = tuple[str, str, bool]


@dataclass(frozen=True, slots=True)
class Site:
    """The location of the pages, which builds their addresses.

    Attributes:
        base: The path that all of them begin with.
        assets: The static files.
    """

    base: str
    assets: Assets

    def home(self, query: DashboardQuery | None = None, **changes: object) -> str:
        """Return the address of the home page."""
        return f"{self.base or '/'}{(query or DashboardQuery()).query_string(**changes)}"

    def part(self, name: str, query: DashboardQuery, **changes: object) -> str:
        """Return the address of a part of the home page, or of its data."""
        return f"{self.base}/{name}{query.query_string(**changes)}"

    def verdict(self, entry_id: str, query: DashboardQuery) -> str:
        """Return the address of a verdict, with the query that leads back to the list."""
        return f"{self.base}/verdicts/{quote(entry_id, safe='')}{query.query_string()}"

    def label(self, query: DashboardQuery, **parameters: str) -> str:
        """Return the address of the page that labels answers."""
        address = self.part("label", query, before=None)
        separator = "&" if "?" in address else "?"
        return f"{address}{separator}{urlencode(parameters)}" if parameters else address

    def row(self, entry_id: str, query: DashboardQuery) -> str:
        """Return the address of a verdict's row in the list."""
        return f"{self.home(query)}#row-{quote(entry_id, safe='')}"

    def file(self, name: str) -> str:
        """Return the address of a static file."""
        return f"{self.base}/static/{name}"

    def views(self, query: DashboardQuery) -> list[Choice]:
        """Return the links to common filters and orders."""
        shown = replace(query, before=None)
        links: list[Choice] = []
        for name, changes in _VIEWS.items():
            changed: Any = changes
            view = replace(query.unfiltered, **changed)
            links.append((name, self.home(view), view == shown))
        return links

    def spans(self, query: DashboardQuery) -> list[Choice]:
        """Return the links to the spans of the figures."""
        chosen = None if query.since or query.until else query.span
        return [
            (span.title, self.home(query, span=span, since=None, until=None), span is chosen)
            for span in SPANS.values()
        ]

    def groupings(self, query: DashboardQuery, shown: By) -> list[Choice]:
        """Return the links to the fields that figures can be grouped by."""
        return [(_GROUPINGS[by], self.home(query, by=by), by == shown) for by in BYS]

    def only(self, query: DashboardQuery, by: By, name: str) -> str:
        """Return the address of the home page with only the entries of a model or the like."""
        return self.home(query, before=None, **{by: name})

    def request(self, request_id: str) -> str:
        """Return the address of the home page with only the entries of a request."""
        return self.home(DashboardQuery(request=request_id))


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the list.

    Attributes:
        entries: The entries on it, in the list's order.
        has_next: Whether further pages follow.
        limit: The maximum number of entries on a page.
        has_text: Whether to show a column for the text of questions and answers.
    """

    entries: tuple[Entry, ...]
    has_next: bool
    limit: int
    has_text: bool = False
