"""Answering what browsers ask of the dashboard."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from resay.reporting.dashboard.asking import BadQueryError, Wanted, wanted_of
from resay.reporting.dashboard.assets import Assets
from resay.reporting.dashboard.detail import verdict_page
from resay.reporting.dashboard.figures import FiguresDesk
from resay.reporting.dashboard.layout import Place, notice_page
from resay.reporting.dashboard.listing import Listing, list_part
from resay.reporting.dashboard.overview import figures_parts, home_page
from resay.reporting.journal import Journal, JournalError

__all__ = ["Dashboard"]

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
