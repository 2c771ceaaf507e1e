"""Answering what browsers ask of the dashboard."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.reporting.dashboard.layout import Assets, Place, notice_page, page
from resay.reporting.dashboard.pages import (
    DONE,
    Listing,
    figures_parts,
    home_page,
    list_part,
    row_name,
)
from resay.reporting.dashboard.query import BadQueryError, FiguresDesk, Wanted, wanted_of
from resay.reporting.dashboard.texts import duration, stamp, time_tag
from resay.reporting.journal import Content, Entry, Journal, JournalError
from resay.reporting.render.html import Html, Reported, tag, verdict_section
from resay.reporting.render.html.markup import badge, definition, score_text
from resay.reporting.render.html.section import kept
from resay.reporting.render.texts import cost

_KEEPS = {
    "none": "The journal keeps the words of no answer (content: none)",
    "flagged": "The journal keeps the words of answers that were flagged, blocked or regenerated"
    " (content: flagged)",
    "all": "The journal keeps all words now (content: all), but did not when this was written",
}
_CHANGE = {
    "none": ". To see those of new answers, set content to flagged or to all in the settings of"
    " the journal.",
    "flagged": ". To see those of all new answers, set content to all in the settings of the"
    " journal.",
    "all": ".",
}


def verdict_page(place: Place, wanted: Wanted, entry: Entry, content: Content) -> str:
    """Return the page of a verdict.

    Args:
        place: Where the pages are.
        wanted: What the list shows that the reader came from.
        entry: The entry.
        content: Whose words the journal keeps.
    """
    verdict = _verdict_of(entry)
    title = stamp(entry.time)
    back = place.home(wanted) + f"#{quote(row_name(entry.id), safe='')}"
    trail = tag("nav", tag("a", "← All verdicts", href=back), aria_label="Back", class_="trail")
    if verdict is None:
        body = _unreadable(entry, title)
    else:
        total = entry.usage + entry.check_usage
        shown = Reported(verdict, entry.id, action=entry.action, usage=total)
        body = verdict_section(shown, key="verdict", title=title)
    words = verdict is not None and kept(verdict)
    without = verdict is not None and bool(verdict.sentences or verdict.unscored) and not words
    note = tag("p", _KEEPS[content] + _CHANGE[content], class_="notice") if without else None
    heading = tag("h1", "Verdict")
    return page(place, title, trail, note, body, _request(entry), heading=heading)


def _verdict_of(entry: Entry) -> Verdict | None:
    try:
        return Verdict.from_dict(entry.verdict)
    except ConfigurationError:
        return None


def _unreadable(entry: Entry, title: str) -> Html:
    facts = [
        definition("Score", score_text(entry.score)),
        definition("Action", DONE[entry.action]),
        definition("Flagged", f"{entry.flagged:,} of {entry.sentences:,}"),
    ]
    return tag(
        "article",
        tag("h2", badge(entry.decision), " ", title, id="verdict"),
        tag("p", entry.reason, class_="reason"),
        tag("dl", *facts, class_="facts"),
        tag("p", "What else was written is no verdict that this Resay can read.", class_="note"),
        class_="verdict",
        aria_labelledby="verdict",
    )


def _request(entry: Entry) -> Html:
    question = None
    if entry.question:
        asked = tag("div", entry.question, class_="quote", dir="auto")
        question = tag("section", tag("h3", "What was asked"), asked)
    rows = [
        definition("Time", time_tag(entry.time), " UTC"),
        definition("Request", _name(entry.request_id)),
        definition("Model", _name(entry.model)),
        definition("Policy", _name(entry.policy)),
        definition("Tenant", _name(entry.tenant)),
        definition("API", entry.api),
        definition("Latency", duration(entry.latency_s)),
        definition("Check time", duration(entry.check_s)),
        definition("Main call", cost(entry.usage)),
        definition("Check", cost(entry.check_usage)),
        definition("Verdict", tag("code", entry.id)),
    ]
    return tag(
        "section",
        tag("h2", "The request", id="request"),
        tag("dl", *rows, class_="facts"),
        question,
        class_="panel",
        aria_labelledby="request",
    )


def _name(name: str | None) -> Html:
    return tag("bdi", name) if name else tag("span", "none", class_="nothing")


_PAGE = 50
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS = {
    "content-security-policy": _POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_PAGE_HEADERS = {
    **_ALWAYS,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
_FILE_HEADERS = {**_ALWAYS, "cache-control": "max-age=31536000, immutable"}


class Dashboard:
    """The pages of one journal.

    Args:
        journal: The journal.
        prefix: The path that the pages begin with in the application.
    """

    def __init__(self, journal: Journal, prefix: str) -> None:
        self._journal = journal
        self._prefix = prefix
        self._desk = FiguresDesk(journal)
        self._assets = Assets()

    async def home(self, request: Request) -> Response:
        """Answer with the list and the figures."""
        return await self._guarded(request, self._home)

    async def live(self, request: Request) -> Response:
        """Answer with the list alone, where it is not what the reader has."""
        return await self._guarded(request, self._live)

    async def figures(self, request: Request) -> Response:
        """Answer with the figures alone."""
        return await self._guarded(request, self._figures)

    async def verdict(self, request: Request) -> Response:
        """Answer with the page of one verdict."""
        return await self._guarded(request, self._verdict)

    async def static(self, request: Request) -> Response:
        """Answer with a file."""
        asset = self._assets.get(request.path_params["name"])
        if asset is None:
            return await self.missing(request)
        return Response(asset.content, media_type=asset.kind, headers=_FILE_HEADERS)

    async def missing(self, request: Request) -> Response:
        """Say that there is no such page."""
        place = self._place(request)
        return _html(notice_page(place, "Not found", "There is no such page here."), 404)

    async def _guarded(
        self, request: Request, answer: Callable[[Request, Place, Wanted], Awaitable[Response]]
    ) -> Response:
        place = self._place(request)
        try:
            return await answer(request, place, wanted_of(request.query_params))
        except BadQueryError as error:
            return _html(notice_page(place, "This cannot be shown", f"{error}."), 400)
        except JournalError as error:
            said = "Verdicts that are given meanwhile wait to be written. Try again in a moment."
            page = notice_page(place, "The journal cannot be read", f"{error}.", said)
            return _html(page, 503, {"retry-after": "5"})

    async def _home(self, request: Request, place: Place, wanted: Wanted) -> Response:
        del request
        listing = await self._listing(wanted)
        figures = await self._desk.get(wanted.span, wanted.by)
        lost = self._journal.lost
        return _html(await _rendered(lambda: home_page(place, wanted, listing, figures, lost)))

    async def _live(self, request: Request, place: Place, wanted: Wanted) -> Response:
        listing = await self._listing(wanted)
        part = await _rendered(lambda: list_part(place, wanted, listing))
        known = f'"{hashlib.sha256(part.encode()).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == known:
            return Response(status_code=304, headers={**_PAGE_HEADERS, "etag": known})
        return _html(part, headers={"etag": known})

    async def _figures(self, request: Request, place: Place, wanted: Wanted) -> Response:
        del request
        figures = await self._desk.get(wanted.span, wanted.by)
        lost = self._journal.lost
        return _html(await _rendered(lambda: figures_parts(place, wanted, figures, lost)))

    async def _verdict(self, request: Request, place: Place, wanted: Wanted) -> Response:
        entry = await self._journal.get(request.path_params["entry_id"])
        if entry is None:
            said = "The journal has no such verdict. It may have been removed, as old ones are."
            return _html(notice_page(place, "Not found", said), 404)
        content = self._journal.content
        return _html(await _rendered(lambda: verdict_page(place, wanted, entry, content)))

    async def _listing(self, wanted: Wanted) -> Listing:
        # One more tells whether there are older ones.
        found = await self._journal.recent(_PAGE + 1, wanted.before, **wanted.filters)
        return Listing(tuple(found[:_PAGE]), more=len(found) > _PAGE, limit=_PAGE)

    def _place(self, request: Request) -> Place:
        # Where an application is mounted in another, or behind a proxy that takes a prefix away.
        return Place(request.scope.get("root_path", "") + self._prefix, self._assets)


async def _rendered(render: Callable[[], str]) -> str:
    # A long answer makes a long page, and the event loop may have a gateway to run.
    return await anyio.to_thread.run_sync(render)


def _html(page: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        page.encode("utf-8", "replace"),
        status_code=status,
        media_type="text/html; charset=utf-8",
        headers={**_PAGE_HEADERS, **(headers or {})},
    )
