"""The dashboard's request handlers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any, cast
from urllib.parse import parse_qs, quote, unquote, urlsplit

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from resay import Guard
from resay.errors import ConfigurationError, ResayError
from resay_server.dashboard.evidence import ShownEvidence, shown_evidence
from resay_server.dashboard.figures import Figures, FiguresCache
from resay_server.dashboard.hosts import is_trusted_host
from resay_server.dashboard.labels import draw, labels_of_form, read_queue
from resay_server.dashboard.pages import Assets, Listing, Site
from resay_server.dashboard.query import (
    PARAMETERS,
    BadQueryError,
    DashboardQuery,
    parse_query,
)
from resay_server.dashboard.rendering import render
from resay_server.dashboard.texts import stamp
from resay_server.dashboard.verdict import Review, reported_entry
from resay_server.journal import (
    About,
    Entry,
    Feedback,
    Journal,
    JournalError,
    Rating,
    UnknownEntryError,
)
from resay_server.journal.export import (
    answer_of,
    entries_csv,
    entry_cells,
    entry_dict,
    json_lines,
    slice_dict,
    timestamp,
    whole_entry_dict,
    write_parquet,
)
from resay_server.journal.feedback import feedback_by_entry
from resay_server.rechecks import (
    ComparedAnswer,
    Rechecker,
    calls_reason,
    recorded_verdict,
)

_PAGE_ENTRIES = 50
_RatedEntry = tuple[Entry, list[Feedback]]
# The maximum number of ratings to show for an entry, the newest.
_MAX_FEEDBACK = 200
# The number of bytes of verdicts to read at once: pages of long verdicts are shorter.
_MAX_READ_BYTES = 8_000_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_COMMON_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_PAGE_HEADERS = {
    **_COMMON_HEADERS,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
# For pages with a form: `no-referrer` makes browsers send `Origin: null` with it.
_FORM_HEADERS = {**_PAGE_HEADERS, "referrer-policy": "same-origin"}
_FILE_HEADERS = {**_COMMON_HEADERS, "cache-control": "max-age=31536000, immutable"}


class Dashboard:
    """Serves the pages of one journal.

    Args:
        journal: The journal.
        prefix: The path in the application that the pages begin with.
        hosts: The accepted host names, besides `localhost` and IP addresses; None for any.
        policies: The policies by which answers can be checked again, by name.
    """

    def __init__(
        self,
        journal: Journal,
        prefix: str,
        hosts: Collection[str] | None,
        policies: Mapping[str, Guard],
    ) -> None:
        self._hosts = hosts if hosts is None else frozenset(host.lower() for host in hosts)
        self._journal = journal
        self._policies = policies
        self._prefix = prefix
        self._figures_cache = FiguresCache(journal)
        self._assets = Assets()

    async def home(self, request: Request) -> Response:
        """Respond with the home page."""
        return await self._respond_with_page(request, self._home)

    async def live(self, request: Request) -> Response:
        """Respond with the list alone, or 304 if the reader has it already."""
        return await self._respond_with_page(request, self._live)

    async def figures(self, request: Request) -> Response:
        """Respond with the figures alone."""
        return await self._respond_with_page(request, self._figures)

    async def verdict(self, request: Request) -> Response:
        """Respond with the page of one verdict."""
        return await self._respond_with_page(request, self._verdict)

    async def feedback(self, request: Request) -> Response:
        """Record feedback from the dashboard's form."""
        return await self._respond_with_page(request, self._feedback)

    async def recheck(self, request: Request) -> Response:
        """Check an answer again by a policy, and respond with both verdicts."""
        return await self._respond_with_page(request, self._recheck)

    async def label(self, request: Request) -> Response:
        """Respond with the next answer to label, or record the labels of one."""
        answer = self._record_labels if request.method == "POST" else self._label
        return await self._respond_with_page(request, answer)

    async def draw(self, request: Request) -> Response:
        """Draw answers to label."""
        return await self._respond_with_page(request, self._draw)

    async def entries(self, request: Request) -> Response:
        """Respond with a page of entries as JSON."""
        return await self._respond_with_json(request, self._entries, has_limit=True)

    async def entry(self, request: Request) -> Response:
        """Respond with one entry as JSON."""
        return await self._respond_with_json(request, self._entry)

    async def summary(self, request: Request) -> Response:
        """Respond with the figures as JSON."""
        return await self._respond_with_json(request, self._summary)

    async def export(self, request: Request) -> Response:
        """Respond with entries as a file."""
        return await self._respond_with_json(request, self._export, has_limit=True)

    async def static(self, request: Request) -> Response:
        """Respond with a static file."""
        asset = self._assets.get(request.path_params["name"])
        if asset is None:
            return await self.missing(request)
        return Response(asset.content, media_type=asset.kind, headers=_FILE_HEADERS)

    async def missing(self, request: Request) -> Response:
        """Respond that the page does not exist."""
        site = self._site(request)
        return _html(_notice(site, "Not found", "This page does not exist."), 404)

    async def _respond_with_page(
        self,
        request: Request,
        answer: Callable[[Request, Site, DashboardQuery], Awaitable[Response]],
    ) -> Response:
        site = self._site(request)
        if refused := self._unknown_host(request):
            return _html(_notice(site, "Not accepted", refused), 403)
        try:
            return await answer(request, site, parse_query(request.query_params))
        except BadQueryError as error:
            return _html(_notice(site, "Cannot show this page", f"{error}."), 400)
        except ForeignFormError:
            note = "Feedback is only taken from the dashboard's own pages. Open the page again."
            return _html(_notice(site, "Not accepted", note), 403)
        except UnknownEntryError:
            return _html(_notice(site, "Not found", _UNKNOWN_BEFORE), 404)
        except JournalError as error:
            note = "New verdicts are queued until the journal works again. Try again in a moment."
            page = _notice(site, "Cannot read the journal", f"{error}.", note)
            return _html(page, 503, {"retry-after": "5"})

    async def _home(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        del request
        listing = await self._listing(query)
        figures = await self._figures_cache.get(query)
        html = await _rendered(
            "home",
            site,
            query=query,
            title="Verdicts",
            listing=listing,
            figures=figures,
            lost=self._journal.lost,
        )
        return _html(html)

    async def _live(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        listing = await self._listing(query)
        part = await _rendered("list", site, query=query, listing=listing)
        etag = f'"{hashlib.sha256(part.encode()).hexdigest()[:32]}"'
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={**_PAGE_HEADERS, "etag": etag})
        return _html(part, headers={"etag": etag})

    async def _figures(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        del request
        figures = await self._figures_cache.get(query)
        lost = self._journal.lost
        return _html(await _rendered("figures", site, query=query, figures=figures, lost=lost))

    async def _verdict(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        entry = await self._journal.find(request.path_params["entry_id"])
        if entry is None:
            return _html(_notice(site, "Not found", _UNKNOWN), 404)
        rater = _rater(request)
        reported = await anyio.to_thread.run_sync(reported_entry, entry)
        shown: ShownEvidence | None = None
        if reported is not None:
            evidence = (await self._journal.evidence(entry.id)).get(entry.id)
            shown = shown_evidence(evidence, reported.verdict, self._journal)
        feedback = await self._journal.feedback(entry.id, limit=_MAX_FEEDBACK)
        unrated = await self._journal.sampled(unrated_by=rater)
        review = Review(feedback, rater, [entry.entry_id for entry in unrated])
        html = await _rendered(
            "verdict",
            site,
            query=query,
            title=stamp(entry.time),
            entry=entry,
            reported=reported,
            shown=shown,
            policies=[
                (name, calls_reason(guard) is not None) for name, guard in self._policies.items()
            ],
            content=self._journal.content,
            review=review,
            back=site.row(entry.id, query),
        )
        return _html(html, headers=_FORM_HEADERS)

    async def _feedback(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        fields = await _form(request)
        rating, _, claim = fields.get("rating", "").partition(":")
        try:
            feedback = Feedback(
                entry_id=fields.get("entry", ""),
                rating=cast("Rating", rating),
                about=cast("About", fields.get("about", "verdict")),
                claim=int(claim) if claim else None,
                note=fields.get("note") or None,
                rater=fields.get("rater", ""),
                source="dashboard",
            )
            await self._journal.rate(feedback)
        except (ValueError, ConfigurationError) as error:
            raise BadQueryError(str(error)[:300]) from None
        back = f"{site.verdict(feedback.entry_id, query)}#feedback"
        return _redirect(request, site, back, feedback.rater)

    async def _recheck(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        fields = await _form(request)
        entry = await self._journal.get(fields.get("entry", ""))
        name = fields.get("policy", "")
        guard = self._policies.get(name)
        if entry is None:
            return _html(_notice(site, "Not found", _UNKNOWN), 404)
        if guard is None:
            raise BadQueryError(f"there is no policy {name[:80]!r}")
        evidence = (await self._journal.evidence(entry.id)).get(entry.id)
        try:
            rechecker = Rechecker(guard, calls=fields.get("calls") == "yes")
            verdict = await rechecker.check(entry, evidence)
        except JournalError:
            raise
        # Such as a judge's client that is not installed.
        except ResayError as error:
            return _html(_notice(site, "Cannot check it again", f"{error}."), 400)
        html = await _rendered(
            "recheck",
            site,
            query=query,
            title="Checked again",
            entry=entry,
            policy=name,
            answer=ComparedAnswer(entry, recorded_verdict(entry), verdict),
        )
        return _html(html)

    async def _label(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        parameters = request.query_params
        queue = await read_queue(
            self._journal,
            _rater(request),
            entry_id=parameters.get("entry"),
            after=parameters.get("after"),
            labelled=parameters.get("labelled"),
        )
        html = await _rendered("label", site, query=query, title="Label answers", queue=queue)
        return _html(html, headers=_FORM_HEADERS)

    async def _record_labels(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        fields = await _form(request, _MAX_LABELS)
        try:
            feedback = await labels_of_form(self._journal, fields)
            for rating in feedback:
                await self._journal.rate(rating)
        except (ValueError, ConfigurationError) as error:
            raise BadQueryError(str(error)[:300]) from None
        labelled = feedback[-1]
        address = site.label(query, labelled=labelled.entry_id)
        return _redirect(request, site, address, labelled.rater)

    async def _draw(self, request: Request, site: Site, query: DashboardQuery) -> Response:
        fields = await _form(request)
        try:
            await draw(self._journal, fields.get("count", ""), query)
        except ConfigurationError as error:
            raise BadQueryError(str(error)[:300]) from None
        return _redirect(request, site, site.label(query), fields.get("rater", ""))

    async def _listing(self, query: DashboardQuery) -> Listing:
        entries, has_next = await self._page(query, _PAGE_ENTRIES)
        has_text = self._journal.content != "none"
        has_text = has_text or await anyio.to_thread.run_sync(_have_text, entries)
        return Listing(tuple(entries), has_next=has_next, limit=_PAGE_ENTRIES, has_text=has_text)

    async def _page(self, query: DashboardQuery, limit: int) -> tuple[list[Entry], bool]:
        """Return a page of entries, and whether there are more."""
        recent, list_arguments = self._journal.recent, query.list_arguments(time.time())
        entries = await recent(limit, query.before, max_bytes=_MAX_READ_BYTES, **list_arguments)
        if not entries:
            return [], False
        return entries, bool(await recent(1, entries[-1], **list_arguments))

    async def _respond_with_json(
        self,
        request: Request,
        answer: Callable[[Request, DashboardQuery], Awaitable[Response]],
        *,
        has_limit: bool = False,
    ) -> Response:
        if refused := self._unknown_host(request):
            return _json({"error": {"message": refused}}, 403)
        try:
            _check_parameters(request, (*PARAMETERS, "limit") if has_limit else PARAMETERS)
            return await answer(request, parse_query(request.query_params))
        except (BadQueryError, ConfigurationError) as error:
            return _json({"error": {"message": f"{error}."}}, 400)
        except UnknownEntryError:
            return _json({"error": {"message": _UNKNOWN_BEFORE}}, 404)
        except JournalError as error:
            return _json({"error": {"message": f"{error}."}}, 503, {"retry-after": "5"})

    async def _entries(self, request: Request, query: DashboardQuery) -> Response:
        limit = _limit(request, default=_PAGE_ENTRIES, maximum=500)
        entries, has_next = await self._page(query, limit)
        rated = await self._rated(entries)
        before = entries[-1].id if has_next else None

        def respond() -> Response:
            return _json({"entries": [entry_dict(*pair) for pair in rated], "before": before})

        return await anyio.to_thread.run_sync(respond)

    async def _entry(self, request: Request, query: DashboardQuery) -> Response:
        del query
        entry = await self._journal.find(request.path_params["entry_id"])
        if entry is None:
            return _json({"error": {"message": _UNKNOWN}}, 404)
        feedback = await self._journal.feedback(entry.id, limit=_MAX_FEEDBACK)
        evidence = await self._journal.evidence(entry.id)
        return _json(whole_entry_dict(entry, feedback, evidence.get(entry.id)))

    async def _rated(self, entries: Sequence[Entry]) -> list[_RatedEntry]:
        """Return entries, each with the newest feedback on it."""
        ids = [entry.id for entry in entries]
        by_entry = feedback_by_entry(await self._journal.feedback(ids, limit=_MAX_FEEDBACK))
        return [(entry, by_entry.get(entry.id, [])) for entry in entries]

    async def _summary(self, request: Request, query: DashboardQuery) -> Response:
        del request
        return _json(summary_dict(await self._figures_cache.get(query)))

    async def _export(self, request: Request, query: DashboardQuery) -> Response:
        kind = request.path_params["kind"]
        if kind not in ("jsonl", "csv", "parquet"):
            return _json({"error": {"message": "Export to jsonl, csv or parquet."}}, 404)
        limit = _limit(request, default=_EXPORTED, maximum=_MAX_EXPORTED)
        pages = self._exported(query, limit)
        headers = {
            **_PAGE_HEADERS,
            "content-disposition": f'attachment; filename="resay-verdicts.{kind}"',
        }
        if kind == "parquet":
            rows = [entry_cells(*pair) async for page in pages for pair in page]
            out = BytesIO()
            await anyio.to_thread.run_sync(write_parquet, rows, out)
            return Response(out.getvalue(), media_type=_KINDS[kind], headers=headers)
        # Read before the response starts, so that an error can still set its status.
        no_entries: list[_RatedEntry] = []
        first = await anext(pages, no_entries)

        texts = self._json_lines(first, pages) if kind == "jsonl" else _csv(first, pages)
        return StreamingResponse(texts, media_type=_KINDS[kind], headers=headers)

    async def _json_lines(
        self, first: list[_RatedEntry], pages: AsyncGenerator[list[_RatedEntry]]
    ) -> AsyncGenerator[str]:
        async for lines in json_lines(self._journal, first):
            yield lines
        async for page in pages:
            async for lines in json_lines(self._journal, page):
                yield lines

    async def _exported(
        self, query: DashboardQuery, limit: int
    ) -> AsyncGenerator[list[_RatedEntry]]:
        before: Entry | str | None
        list_arguments, before, remaining = query.list_arguments(time.time()), query.before, limit
        while remaining > 0:
            page = await self._journal.recent(
                min(remaining, 500), before, max_bytes=_MAX_READ_BYTES, **list_arguments
            )
            if not page:
                return
            yield await self._rated(page)
            before, remaining = page[-1], remaining - len(page)

    def _unknown_host(self, request: Request) -> str | None:
        """Return why the request's host is not accepted, or None if it is."""
        header = request.headers.get("host", "")
        if self._hosts is None or is_trusted_host(_host_name(header), self._hosts):
            return None
        return f"The dashboard does not accept the host {header[:80]!r}. Add it: routes(hosts=[…])."

    def _site(self, request: Request) -> Site:
        # `root_path` is set if the application is mounted in another or a proxy strips a prefix.
        return Site(request.scope.get("root_path", "") + self._prefix, self._assets)


async def _rendered(template: str, site: Site, **values: Any) -> str:
    # In a thread: long answers make long pages, and the event loop may be running a gateway.
    return await anyio.to_thread.run_sync(partial(render, template, site, **values))


def _notice(site: Site, title: str, *texts: str) -> str:
    return render("notice", site, title=title, texts=texts)


def _html(page: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        page.encode("utf-8", "replace"),
        status_code=status,
        media_type="text/html; charset=utf-8",
        headers={**_PAGE_HEADERS, **(headers or {})},
    )


def _json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        json.dumps(content).encode(),
        status_code=status,
        media_type="application/json",
        headers={**_PAGE_HEADERS, **(headers or {})},
    )


_UNKNOWN = (
    "The journal does not contain this verdict. It may have been deleted with other old ones."
)
_UNKNOWN_BEFORE = (
    "The verdict after which this page begins has been deleted. Begin with the newest again."
)
_EXPORTED, _MAX_EXPORTED = 10_000, 100_000
_KINDS = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


def summary_dict(figures: Figures) -> dict[str, Any]:
    """Return figures as JSON-ready values."""
    return {
        "since": timestamp(figures.since),
        "until": timestamp(figures.until),
        "step_s": figures.span.step_s,
        "whole": None if figures.whole is None else slice_dict(figures.whole),
        "slices": [{"start": timestamp(part.start), **slice_dict(part)} for part in figures.slices],
        "by": figures.by,
        "parts": [{"name": part.name, **slice_dict(part)} for part in figures.parts],
        "left_out": figures.left_out,
        "frequent": {
            "methods": _counts(figures.frequent.methods),
            "contradictions": _counts(figures.frequent.contradictions),
            "claims": _counts(figures.frequent.claims),
            "reasons": _counts(figures.frequent.reasons),
        },
    }


def _counts(findings: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"text": text, "count": count} for text, count in findings]


async def _csv(
    first: list[_RatedEntry], pages: AsyncGenerator[list[_RatedEntry]]
) -> AsyncGenerator[str]:
    yield await anyio.to_thread.run_sync(entries_csv, first)
    async for page in pages:
        text = await anyio.to_thread.run_sync(entries_csv, page)
        yield text.partition("\r\n")[2]


def _host_name(header: str) -> str:
    """Return the name or address in a `Host` header."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _check_parameters(request: Request, allowed: Sequence[str]) -> None:
    for name in request.query_params:
        if name not in allowed:
            raise BadQueryError(
                f"there is no parameter {name[:80]!r}; there are {', '.join(allowed)}"
            )


def _limit(request: Request, *, default: int, maximum: int) -> int:
    text = request.query_params.get("limit") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= maximum):
        raise BadQueryError(f"limit must be a number from 1 to {maximum}, not {text[:80]!r}")
    return int(text)


def _have_text(entries: list[Entry]) -> bool:
    return any(entry.question or answer_of(entry) is not None for entry in entries)


_COOKIE = "resay_rater"
_COOKIE_S = 90 * 86_400
_MAX_BODY_BYTES = 50_000
# The label of every claim is a field.
_MAX_LABELS = 5000


class ForeignFormError(Exception):
    """A form was not sent from the dashboard's own pages."""


async def _form(request: Request, max_fields: int = 20) -> dict[str, str]:
    """Return the fields of a form from the dashboard's own pages.

    Args:
        request: The request.
        max_fields: The maximum number of fields.

    Raises:
        ForeignFormError: It was sent from elsewhere.
        BadQueryError: It is too large.
    """
    if not _is_same_origin(request):
        raise ForeignFormError
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY_BYTES:
            raise BadQueryError(f"feedback has at most {_MAX_BODY_BYTES} bytes")
    try:
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=max_fields)
    except ValueError:
        raise BadQueryError(f"feedback has at most {max_fields} fields") from None
    return {name: values[0].strip() for name, values in form.items()}


def _redirect(request: Request, site: Site, address: str, rater: str) -> Response:
    """Return the response to a form, which remembers the reader's name."""
    response = Response(status_code=303, headers={**_FORM_HEADERS, "location": address})
    response.set_cookie(
        _COOKIE,
        quote(rater[:256]),
        max_age=_COOKIE_S,
        path=site.base or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _is_same_origin(request: Request) -> bool:
    """Return whether a form was sent from the dashboard itself (CSRF protection)."""
    fetch_site = request.headers.get("sec-fetch-site")
    if fetch_site is not None:
        return fetch_site == "same-origin"
    # Browsers omit that header on unencrypted connections.
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host")


def _rater(request: Request) -> str:
    """Return the reader's name: the last one they entered, or that of their login."""
    if name := request.cookies.get(_COOKIE):
        return unquote(name)
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""
