"""The dashboard's pages: the list of verdicts with its filters, and answering browsers."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from resay._internal._version import __version__
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.reporting.dashboard.plots import checks_share, cost_of, plots
from resay.reporting.dashboard.query import (
    BYS,
    DECISIONS,
    SPANS,
    BadQueryError,
    Figures,
    FiguresDesk,
    Wanted,
    checked,
    flag_rate,
    wanted_of,
)
from resay.reporting.dashboard.texts import (
    counted,
    day,
    dollars,
    duration,
    moment,
    percent,
    share,
    stamp,
    time_tag,
)
from resay.reporting.journal import By, Content, Entry, Journal, JournalError, Slice
from resay.reporting.render.html import (
    Html,
    Reported,
    joined,
    kept,
    stylesheet,
    tag,
    verdict_section,
)
from resay.reporting.render.html.markup import badge, chip, definition, score_text, scrolling
from resay.reporting.render.texts import cost


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that is served.

    Attributes:
        name: Its name, which changes with what is in it.
        kind: Its media type.
        content: What is in it.
    """

    name: str
    kind: str
    content: bytes = field(repr=False)


class Assets:
    """The files, read once."""

    def __init__(self) -> None:
        self.style = _asset("dashboard", "css", "text/css", stylesheet() + _read("dashboard.css"))
        self.script = _asset("dashboard", "js", "text/javascript", _read("dashboard.js"))
        self.icon = _asset("icon", "svg", "image/svg+xml", _read("icon.svg"))
        self._named = {asset.name: asset for asset in (self.style, self.script, self.icon)}

    def get(self, name: str) -> Asset | None:
        """Return the file of a name, or None."""
        return self._named.get(name)


def _read(name: str) -> str:
    file = resources.files("resay.reporting.dashboard") / "static" / name
    return file.read_text(encoding="utf-8")


def _asset(name: str, suffix: str, kind: str, text: str) -> Asset:
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(f"{name}-{digest}.{suffix}", f"{kind}; charset=utf-8", content)


_MEANING = (
    "Scores lie between 0 and 1; 1 = surely hallucinated. Consistent does not mean true: a model"
    " that is wrong the same way every time agrees with itself. All times are UTC."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pages are.

    Attributes:
        base: The path that all of them begin with.
        assets: The files beside them.
    """

    base: str
    assets: Assets

    def home(self, wanted: Wanted | None = None, **changes: object) -> str:
        """Return the address of the list and the figures."""
        return f"{self.base or '/'}{(wanted or Wanted()).query(**changes)}"

    def part(self, name: str, wanted: Wanted) -> str:
        """Return the address of a part of that page."""
        return f"{self.base}/{name}{wanted.query()}"

    def verdict(self, entry_id: str, wanted: Wanted) -> str:
        """Return the address of a verdict, which knows where the reader came from."""
        return f"{self.base}/verdicts/{quote(entry_id, safe='')}{wanted.query()}"

    def file(self, name: str) -> str:
        """Return the address of a file beside the pages."""
        return f"{self.base}/static/{name}"


def page(
    place: Place,
    title: str,
    *body: Html | None,
    heading: Html | None = None,
    skip: tuple[str, str] | None = None,
    scripted: bool = False,
) -> str:
    """Return a whole page.

    Args:
        place: Where it is.
        title: What it is called in the browser's title.
        body: What is in its `main`.
        heading: Its `h1`, where that is no part of the body.
        skip: A target on the page with its name, for a link in front of everything.
        scripted: Whether it follows what happens.
    """
    brand = tag("a", tag("b", "Resay", class_="brand"), href=place.home(), class_="home")
    top = tag("header", tag("p", brand), heading, class_="top")
    whole = [
        tag("a", f"Skip to {skip[1]}", href=f"#{skip[0]}", class_="skip") if skip else None,
        top,
        tag("main", *body),
        tag("footer", tag("p", _MEANING), tag("p", f"Resay {__version__}")),
    ]
    head = _head(place, title, scripted)
    html = tag(
        "html",
        head,
        tag("body", *whole, class_=f"dashboard{'' if scripted else ' single'}"),
        lang="en",
    )
    return f"<!doctype html>\n{html}\n"


def notice_page(place: Place, title: str, *said: str) -> str:
    """Return a page that says why there is nothing else on it."""
    card = tag(
        "section",
        tag("h1", title),
        *(tag("p", line) for line in said),
        tag("p", tag("a", "All verdicts", href=place.home())),
        class_="panel",
    )
    return page(place, title, card)


def _head(place: Place, title: str, scripted: bool) -> Html:
    files = place.assets
    script = tag("script", src=place.file(files.script.name), type="module")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{title} – Resay"),
        tag("link", rel="stylesheet", href=place.file(files.style.name)),
        tag("link", rel="icon", type="image/svg+xml", href=place.file(files.icon.name)),
        script if scripted else None,
    )


DONE = {
    "allow": "allowed",
    "annotate": "annotated",
    "block": "blocked",
    "regenerate": "regenerated",
}
"""What was done, by action."""
_COLUMNS = (
    ("Time", ""),
    ("Decision", ""),
    ("Score", ""),
    ("Flagged", "number"),
    ("Action", ""),
    ("Model", ""),
    ("Policy", ""),
    ("Tenant", ""),
    ("Latency", "number"),
    ("Cost", "number"),
)
_START = """\
from resay.reporting.journal import Entry, open_journal

journal = open_journal()
await journal.append(Entry.of(answer.verdict, model=…, policy=…, action=answer.action))"""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list.

    Attributes:
        entries: What is on it, newest first.
        more: Whether there are older ones.
        limit: How many a page holds.
    """

    entries: tuple[Entry, ...]
    more: bool
    limit: int


def row_name(entry_id: str) -> str:
    """Return the id of a verdict's row on the page."""
    return f"row-{entry_id}"


def list_part(place: Place, wanted: Wanted, listing: Listing) -> Html:
    """Return the list with the links to other pages of it.

    Args:
        place: Where the pages are.
        wanted: What the reader asks for.
        listing: What there is.
    """
    if listing.entries:
        body = _table(place, wanted, listing)
    elif wanted.before:
        body = tag("p", "There are no older verdicts.", class_="empty")
    elif wanted.filtered:
        body = tag("p", "No matching verdicts.", class_="empty")
    else:
        body = _first_steps()
    return tag("div", body, _paging(place, wanted, listing), id="list")


def filter_form(place: Place, wanted: Wanted, seen: Sequence[Entry]) -> Html:
    """Return the form that chooses verdicts; it works as a link does.

    Args:
        place: Where the pages are.
        wanted: What the reader asks for.
        seen: Entries whose names are proposed.
    """
    kept = [
        tag("input", type="hidden", name_=name, value=value)
        for name, value, usual in (
            ("span", wanted.span.name, Wanted().span.name),
            ("by", wanted.by, Wanted().by),
        )
        if value != usual
    ]
    options = [tag("option", "any", value="")] + [
        tag("option", one, value=one, selected=one == wanted.decision) for one in DECISIONS
    ]
    decision = tag("select", *options, name_="decision", id="decision")
    clear = tag("a", "Show all", href=place.home(wanted.unfiltered)) if wanted.filtered else None
    return tag(
        "form",
        *kept,
        _field("decision", "Decision", decision),
        _names("model", "Model", wanted.model, (entry.model for entry in seen)),
        _names("policy", "Policy", wanted.policy, (entry.policy for entry in seen)),
        _names("tenant", "Tenant", wanted.tenant, (entry.tenant for entry in seen)),
        tag("p", tag("button", "Filter", type="submit"), clear, class_="send"),
        action=place.home(),
        method="get",
        class_="filters",
        role="search",
        aria_label="Verdicts",
    )


def _field(name: str, label: str, *parts: Html | None) -> Html:
    return tag("p", tag("label", label, for_=name), *parts)


def _names(name: str, label: str, value: str | None, seen: Iterable[str | None]) -> Html:
    known = sorted({one for one in seen if one})
    choices = tag("datalist", *(tag("option", value=one) for one in known), id=f"{name}-names")
    given = {"maxlength": 256, "placeholder": "any", "autocomplete": "off", "spellcheck": "false"}
    entry = tag(
        "input", type="text", name_=name, id=name, value=value, list_=f"{name}-names", **given
    )
    return _field(name, label, entry, choices)


def _table(place: Place, wanted: Wanted, listing: Listing) -> Html:
    heads = [
        tag("th", name, scope="col", class_=kind or None, role="columnheader")
        for name, kind in _COLUMNS
    ]
    rows = [_row(place, wanted, entry) for entry in listing.entries]
    # Small windows show the rows as cards; the roles keep the table for those who listen to it.
    return tag(
        "table",
        tag("caption", "Verdicts, newest first", class_="sr"),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        tag("tbody", *rows, role="rowgroup", data_limit=listing.limit),
        class_="log",
        role="table",
    )


def _row(place: Place, wanted: Wanted, entry: Entry) -> Html:
    link = tag("a", _when(entry), href=place.verdict(entry.id, wanted))
    cost = (entry.usage + entry.check_usage).cost_usd
    cells: tuple[str | None, ...] = (
        badge(entry.decision),
        chip(entry.score),
        f"{entry.flagged:,} of {entry.sentences:,}",
        tag("span", DONE[entry.action], class_=f"action {entry.action}"),
        tag("bdi", entry.model),
        tag("bdi", entry.policy),
        tag("bdi", entry.tenant) if entry.tenant else tag("span", "none", class_="nothing"),
        duration(entry.latency_s),
        dollars(cost),
    )
    shown = [
        tag("td", cell, class_=kind or None, role="cell", data_label=name)
        for cell, (name, kind) in zip(cells, _COLUMNS[1:], strict=True)
    ]
    first = tag("th", link, scope="row", role="rowheader", class_="when")
    flagged = "flagged-row" if entry.decision == "flagged" else None
    return tag("tr", first, *shown, id=row_name(entry.id), role="row", class_=flagged)


def _when(entry: Entry) -> Html:
    when = moment(entry.time)
    return time_tag(entry.time, f"{day(when)}, {when:%H:%M:%S}" if when else None)


def _paging(place: Place, wanted: Wanted, listing: Listing) -> Html | None:
    links: list[Html] = []
    if wanted.before:
        links.append(tag("a", "← Newest", href=place.home(wanted, before=None)))
    if listing.more:
        older = place.home(wanted, before=listing.entries[-1].id)
        links.append(tag("a", "Older →", href=f"{older}#verdicts", rel="next"))
    if not links:
        return None
    return tag("nav", joined(links), aria_label="Pages of verdicts", class_="paging")


def _first_steps() -> Html:
    return tag(
        "div",
        tag("h3", "No verdicts yet"),
        tag(
            "p",
            "New verdicts appear here automatically. To check an answer, set a client's base URL"
            " to the gateway's.",
        ),
        tag("p", "Or record verdicts from your own application:"),
        tag("pre", tag("code", _START), class_="quote"),
        class_="empty",
    )


_LIST_EVERY_MS = 3000
_FIGURES_EVERY_MS = 30_000
_TITLES: Mapping[By, str] = {"model": "Model", "policy": "Policy", "tenant": "Tenant", "api": "API"}
_NOUNS: Mapping[By, str] = {"model": "model", "policy": "policy", "tenant": "tenant", "api": "API"}
_HEADS = (
    *("Answers", "Flagged", "Inconclusive", "Blocked", "Regenerated"),
    *("Latency, median", "Latency, p95", "Check, median", "Check, p95", "Cost", "For checks"),
)


def home_page(place: Place, wanted: Wanted, listing: Listing, figures: Figures, lost: int) -> str:
    """Return the first page.

    Args:
        place: Where the pages are.
        wanted: What the reader asks for.
        listing: The verdicts to list.
        figures: The figures of the span.
        lost: How many entries the journal could not write.
    """
    return page(
        place,
        "Verdicts",
        figures_parts(place, wanted, figures, lost),
        _verdicts(place, wanted, listing),
        heading=tag("h1", "Verdicts"),
        skip=("verdicts", "the list"),
        scripted=True,
    )


def figures_parts(place: Place, wanted: Wanted, figures: Figures, lost: int) -> Html:
    """Return what the figures say, in one part of the page."""
    head = tag("div", tag("h2", "Figures", id="figures-title"), _spans(place, wanted), class_="bar")
    span = f"{stamp(figures.since)} to {stamp(figures.until)}"
    parts: list[Html | None]
    if figures.whole is None:
        said = f"No answers were checked in this span. {_longer(wanted)}".rstrip()
        parts = [tag("p", said, class_="empty")]
    else:
        parts = [_tiles(figures.whole), plots(figures), _parts(place, wanted, figures)]
    return tag(
        "section",
        head,
        tag("p", span, class_="range"),
        _lost(lost),
        *parts,
        id="figures",
        class_="panel",
        aria_labelledby="figures-title",
    )


def _verdicts(place: Place, wanted: Wanted, listing: Listing) -> Html:
    live = _live(place, wanted) if wanted.before is None else _elsewhere(place, wanted)
    return tag(
        "section",
        tag("div", tag("h2", "Newest" if wanted.before is None else "Older"), live, class_="bar"),
        filter_form(place, wanted, listing.entries),
        list_part(place, wanted, listing),
        id="verdicts",
        class_="panel",
        aria_label="List of verdicts",
        tabindex=-1,
    )


def _live(place: Place, wanted: Wanted) -> Html:
    refresh = tag("a", "Refresh", href=place.home(wanted), id="refresh")
    button = tag("button", "Pause", type="button", id="pause")
    state = tag("span", id="state", class_="state")
    return tag(
        "div",
        refresh,
        tag("p", state, " ", button, hidden=True, id="controls"),
        tag("p", role="status", id="news", class_="sr"),
        id="live",
        class_="live",
        data_list=place.part("live", wanted),
        data_list_ms=_LIST_EVERY_MS,
        data_figures=place.part("figures", wanted),
        data_figures_ms=_FIGURES_EVERY_MS,
    )


def _elsewhere(place: Place, wanted: Wanted) -> Html:
    newest = tag("a", "Go to the newest", href=place.home(wanted, before=None))
    return tag("p", "This part of the list does not change. ", newest, class_="live")


def _spans(place: Place, wanted: Wanted) -> Html:
    links = [
        (span.title, place.home(wanted, span=span), span is wanted.span) for span in SPANS.values()
    ]
    return _choice("Span of the figures", links)


def _choice(name: str, links: Iterable[tuple[str, str, bool]]) -> Html:
    shown = [
        tag("a", text, href=href, aria_current="true" if current else None)
        for text, href, current in links
    ]
    return tag("nav", *shown, aria_label=name, class_="choice")


def _lost(lost: int) -> Html | None:
    if not lost:
        return None
    said = f"{counted(lost, 'entry', 'entries')} could not be written and are lost."
    return tag("p", said, " See the log of the process for the reason.", class_="notice")


def _longer(wanted: Wanted) -> str:
    longest = list(SPANS.values())[-1]
    return "" if wanted.span is longest else "Choose a longer span to look further back."


def _tiles(whole: Slice) -> Html:
    looked_at = checked(whole)
    skipped = whole.decisions["skipped"]
    tiles = [
        _tile("Answers", f"{whole.entries:,}", f"{looked_at:,} checked, {skipped:,} skipped"),
        _rate("Flagged", whole.decisions["flagged"], looked_at, "checked"),
        _rate("Inconclusive", whole.decisions["inconclusive"], looked_at, "checked"),
        _rate("Blocked", whole.blocked, whole.entries, "answers"),
        _rate("Regenerated", whole.regenerated, whole.entries, "answers"),
        _times("Latency", whole.latency_p50_s, whole.latency_p95_s),
        _times("Check time", whole.check_p50_s, whole.check_p95_s),
        _tile("Cost", cost_of(whole), _cost_note(whole)),
    ]
    return tag("dl", *tiles, class_="tiles")


def _tile(name: str, value: str, note: str) -> Html:
    return tag("div", tag("dt", name), tag("dd", tag("b", value), tag("span", note)))


def _rate(name: str, count: int, of: int, noun: str) -> Html:
    return _tile(name, percent(share(count, of)), f"{count:,} of {of:,} {noun}")


def _times(name: str, half: float, most: float) -> Html:
    return _tile(name, duration(half), f"median; p95 {duration(most)}")


def _cost_note(whole: Slice) -> str:
    if not whole.unpriced and not whole.cost_usd:
        return "nothing was charged"
    missing = f"; no price for {whole.unpriced:,} of {whole.entries:,}" if whole.unpriced else ""
    return f"checks: {checks_share(whole)}{missing}"


def _parts(place: Place, wanted: Wanted, figures: Figures) -> Html:
    links = [(_TITLES[by], place.home(wanted, by=by), by == figures.by) for by in BYS]
    title = _TITLES[figures.by]
    head = tag("div", tag("h3", f"For each {_NOUNS[figures.by]}"), _choice("For each", links))
    columns = [tag("th", title, scope="col")]
    columns += [tag("th", name, scope="col", class_="number") for name in _HEADS]
    rows = [_part(place, wanted, figures.by, part) for part in figures.parts]
    table = tag("table", tag("thead", tag("tr", *columns)), tag("tbody", *rows))
    more = f"{counted(figures.left_out, 'more is', 'more are')} left out: those with fewer answers."
    return tag(
        "section",
        head,
        scrolling(table, f"Figures for each {_NOUNS[figures.by]}"),
        tag("p", more, class_="note") if figures.left_out else None,
        class_="parts",
    )


def _part(place: Place, wanted: Wanted, by: By, part: Slice) -> Html:
    name = tag("bdi", part.name) if part.name else tag("span", "none", class_="nothing")
    if by != "api" and part.name:
        name = tag("a", name, href=place.home(wanted.unfiltered, **{by: part.name}) + "#verdicts")
    cells = (
        f"{part.entries:,}",
        percent(flag_rate(part)),
        percent(share(part.decisions["inconclusive"], checked(part))),
        percent(share(part.blocked, part.entries)),
        percent(share(part.regenerated, part.entries)),
        duration(part.latency_p50_s),
        duration(part.latency_p95_s),
        duration(part.check_p50_s),
        duration(part.check_p95_s),
        cost_of(part),
        checks_share(part),
    )
    shown = [tag("td", cell, class_="number") for cell in cells]
    return tag("tr", tag("th", name, scope="row"), *shown)


_KEEPS = {
    "none": "The journal does not store the text of answers (content: none)",
    "flagged": "The journal stores only the text of answers that were flagged, blocked or"
    " regenerated (content: flagged)",
    "all": (
        "The journal stores all text now (content: all), but did not when this entry was written"
    ),
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
        tag("p", "This version of Resay cannot read the rest of the entry.", class_="note"),
        class_="verdict",
        aria_labelledby="verdict",
    )


def _request(entry: Entry) -> Html:
    question = None
    if entry.question:
        asked = tag("div", entry.question, class_="quote", dir="auto")
        question = tag("section", tag("h3", "Query"), asked)
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
        return _html(notice_page(place, "Not found", "This page does not exist."), 404)

    async def _guarded(
        self, request: Request, answer: Callable[[Request, Place, Wanted], Awaitable[Response]]
    ) -> Response:
        place = self._place(request)
        try:
            return await answer(request, place, wanted_of(request.query_params))
        except BadQueryError as error:
            return _html(notice_page(place, "Cannot show this page", f"{error}."), 400)
        except JournalError as error:
            said = "New verdicts are queued until the journal works again. Try again in a moment."
            page = notice_page(place, "Cannot read the journal", f"{error}.", said)
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
            said = (
                "The journal does not contain this verdict. It may have been deleted with other"
                " old ones."
            )
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
