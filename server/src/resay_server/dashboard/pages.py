"""The dashboard's home page: statistics, and the list of verdicts with its filters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from urllib.parse import quote

from resay import __version__
from resay.adapters.pages import Html, badge, chip, joined, scrolling, stylesheet, tag
from resay_server.dashboard.figures import Figures, checked, flag_rate
from resay_server.dashboard.frequent_findings import FrequentFindings
from resay_server.dashboard.plots import checks_share, cost_of, plots, trend
from resay_server.dashboard.query import BYS, DECISIONS, SPANS, DashboardQuery
from resay_server.dashboard.texts import (
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
from resay_server.journal import By, Entry, Slice
from resay_server.journal.export import answer_of


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
        self.icon = _asset("icon", "svg", "image/svg+xml", _read("icon.svg"))
        self._named = {asset.name: asset for asset in (self.style, self.script, self.icon)}

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


_MEANING = (
    "Scores lie between 0, supported, and 1. Consistent does not mean true: a model"
    " that is wrong the same way every time agrees with itself. All times are UTC."
)


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

    def part(self, name: str, query: DashboardQuery) -> str:
        """Return the address of a part of the home page, or of its data."""
        return f"{self.base}/{name}{query.query_string()}"

    def verdict(self, entry_id: str, query: DashboardQuery) -> str:
        """Return the address of a verdict, with the query that leads back to the list."""
        return f"{self.base}/verdicts/{quote(entry_id, safe='')}{query.query_string()}"

    def file(self, name: str) -> str:
        """Return the address of a static file."""
        return f"{self.base}/static/{name}"


def page(
    site: Site,
    title: str,
    *body: Html | None,
    heading: Html | None = None,
    skip: tuple[str, str] | None = None,
    scripted: bool = False,
) -> str:
    """Render a whole page.

    Args:
        site: The location of the pages.
        title: The page's title in the browser.
        body: The children of `main`.
        heading: The `h1`, if it is not part of the body.
        skip: The id and the name of the target of a skip link.
        scripted: Whether the page updates itself with the script.
    """
    brand = tag("a", tag("b", "Resay", class_="brand"), href=site.home(), class_="home")
    top = tag("header", tag("p", brand), heading, class_="top")
    whole = [
        tag("a", f"Skip to {skip[1]}", href=f"#{skip[0]}", class_="skip") if skip else None,
        top,
        tag("main", *body),
        tag("footer", tag("p", _MEANING), tag("p", f"Resay {__version__}")),
    ]
    head = _head(site, title, scripted)
    html = tag(
        "html",
        head,
        tag("body", *whole, class_=f"dashboard{'' if scripted else ' single'}"),
        lang="en",
    )
    return f"<!doctype html>\n{html}\n"


def notice_page(site: Site, title: str, *texts: str) -> str:
    """Render a page with nothing but a message."""
    card = tag(
        "section",
        tag("h1", title),
        *(tag("p", line) for line in texts),
        tag("p", tag("a", "All verdicts", href=site.home())),
        class_="panel",
    )
    return page(site, title, card)


def _head(site: Site, title: str, scripted: bool) -> Html:
    files = site.assets
    script = tag("script", src=site.file(files.script.name), type="module")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{title} – Resay"),
        tag("link", rel="stylesheet", href=site.file(files.style.name)),
        tag("link", rel="icon", type="image/svg+xml", href=site.file(files.icon.name)),
        script if scripted else None,
    )


DONE = {
    "allow": "allowed",
    "annotate": "annotated",
    "block": "blocked",
    "regenerate": "regenerated",
}
"""The past participle of each action."""
_TEXT = ("Question and answer", "words")
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
from resay import Guard
from resay_server.journal import JournalSink, open_journal

guard = Guard(sinks=[JournalSink(open_journal())])"""


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


def row_name(entry_id: str) -> str:
    """Return the id of a verdict's row on the page."""
    return f"row-{entry_id}"


def list_part(site: Site, query: DashboardQuery, listing: Listing) -> Html:
    """Render the list, with links to its other pages.

    Args:
        site: The location of the pages.
        query: The reader's query.
        listing: The entries to list.
    """
    if listing.entries:
        body = _table(site, query, listing)
    elif query.before:
        body = tag("p", "There are no older verdicts.", class_="empty")
    elif query.filtered:
        body = tag("p", "No matching verdicts.", class_="empty")
    else:
        body = _first_steps()
    return tag("div", body, _paging(site, query, listing), id="list")


def filter_form(site: Site, query: DashboardQuery, seen: Sequence[Entry]) -> Html:
    """Render the form that filters verdicts, by a GET request.

    Args:
        site: The location of the pages.
        query: The reader's query.
        seen: Entries whose names are suggested.
    """
    hidden_inputs = [
        tag("input", type="hidden", name_=name, value=value)
        for name, value, default in (
            ("span", query.span.name, DashboardQuery().span.name),
            ("by", query.by, DashboardQuery().by),
        )
        if value != default
    ]
    decisions = {"": "any"} | {decision: decision for decision in DECISIONS}
    clear = tag("a", "Show all", href=site.home(query.unfiltered)) if query.filtered else None
    more_fields = (
        _field("request", "Request ID", _input("request", query.request)),
        _names("policy", "Policy", query.policy, (entry.policy for entry in seen)),
        _names("tenant", "Tenant", query.tenant, (entry.tenant for entry in seen)),
        _field("since", "From (UTC)", _input("since", query.since, placeholder=_TIME)),
        _field("until", "Until (UTC)", _input("until", query.until, placeholder=_TIME)),
        _field("sort", "Order", _select("sort", _ORDERS, query.sort)),
    )
    chosen = (query.request, query.policy, query.tenant, query.since, query.until)
    return tag(
        "form",
        *hidden_inputs,
        _field("words", "Words", _input("words", query.words, type="search")),
        _field("decision", "Decision", _select("decision", decisions, query.decision or "")),
        _names("model", "Model", query.model, (entry.model for entry in seen)),
        tag(
            "details",
            tag("summary", "More filters and order"),
            tag("div", *more_fields),
            open=any(chosen) or query.sort != "newest",
        ),
        tag("p", tag("button", "Filter", type="submit"), clear, class_="send"),
        action=site.home(),
        method="get",
        class_="filters",
        role="search",
        aria_label="Verdicts",
    )


_TIME = "2026-01-31, or 7d for 7 days ago"
_ORDERS = {
    "newest": "newest first",
    "score": "highest score first",
    "cost": "highest cost first",
    "latency": "longest latency first",
}
_VIEWS: Mapping[str, dict[str, str]] = {
    "All": {},
    "Flagged": {"decision": "flagged"},
    "Inconclusive": {"decision": "inconclusive"},
    "Highest score": {"sort": "score"},
    "Slowest": {"sort": "latency"},
    "Most expensive": {"sort": "cost"},
}


def _views(site: Site, query: DashboardQuery) -> Html:
    here = replace(query, before=None)
    links = [
        (name, site.home(query.unfiltered, **view), replace(query.unfiltered, **view) == here)
        for name, view in _VIEWS.items()
    ]
    return _choice("Views", links)


def _exports(site: Site, query: DashboardQuery) -> Html:
    shown = replace(query, before=None)
    links = [
        tag("a", name, href=site.part(f"api/export.{name.lower()}", shown), download=True)
        for name in ("JSONL", "CSV", "Parquet")
    ]
    return tag("nav", "Export: ", joined(links), aria_label="Export", class_="exports")


def _select(name: str, options: Mapping[str, str], chosen: str) -> Html:
    default = next(iter(options))
    shown = [
        tag("option", text, value=value, selected=value == chosen != default)
        for value, text in options.items()
    ]
    return tag("select", *shown, name_=name, id=name)


def _input(name: str, value: str | None, **attributes: str) -> Html:
    defaults = {"type": "text", "placeholder": "any", "autocomplete": "off", "spellcheck": "false"}
    all_attributes = {**defaults, **attributes}
    return tag("input", name_=name, id=name, value=value, maxlength=256, **all_attributes)


def _field(name: str, label: str, *parts: Html | None) -> Html:
    return tag("p", tag("label", label, for_=name), *parts)


def _names(name: str, label: str, value: str | None, seen: Iterable[str | None]) -> Html:
    names = sorted({value for value in seen if value})
    choices = tag("datalist", *(tag("option", value=each) for each in names), id=f"{name}-names")
    return _field(name, label, _input(name, value, list_=f"{name}-names"), choices)


def _table(site: Site, query: DashboardQuery, listing: Listing) -> Html:
    columns = (*_COLUMNS, _TEXT) if listing.has_text else _COLUMNS
    # Small windows hide some columns, so each cell carries its column index.
    heads = [
        tag("th", name, scope="col", class_=kind or None, role="columnheader", aria_colindex=i)
        for i, (name, kind) in enumerate(columns, 1)
    ]
    rows = [_row(site, query, entry, listing.has_text) for entry in listing.entries]
    # Small windows show the rows as cards; the roles keep it a table for screen readers.
    return tag(
        "table",
        tag("caption", f"Verdicts, {_ORDERS[query.sort]}", class_="sr"),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        tag("tbody", *rows, role="rowgroup", data_limit=listing.limit),
        class_="log",
        role="table",
    )


def _row(site: Site, query: DashboardQuery, entry: Entry, has_text: bool) -> Html:
    link = tag("a", _when(entry), href=site.verdict(entry.id, query))
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
        tag("td", cell, class_=kind or None, role="cell", data_label=name, aria_colindex=i)
        for i, (cell, (name, kind)) in enumerate(zip(cells, _COLUMNS[1:], strict=True), 2)
    ]
    if has_text:
        name, kind = _TEXT
        attributes = {"role": "cell", "data_label": name, "aria_colindex": len(_COLUMNS) + 1}
        shown.append(tag("td", *_text(entry), class_=kind, **attributes))
    first = tag("th", link, scope="row", role="rowheader", class_="when", aria_colindex=1)
    flagged = "flagged-row" if entry.decision == "flagged" else None
    return tag("tr", first, *shown, id=row_name(entry.id), role="row", class_=flagged)


_LINE_CHARS = 160


def _text(entry: Entry) -> list[Html]:
    lines = [("asked", entry.question), ("said", answer_of(entry))]
    shown = [tag("p", _line(text), class_=kind, dir="auto") for kind, text in lines if text]
    return shown or [tag("span", "not stored", class_="nothing")]


def _line(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "").strip()
    cut = first if len(first) <= _LINE_CHARS else f"{first[: _LINE_CHARS - 1].rstrip()}…"
    return cut if cut != first or first == text.strip() else f"{cut} …"


def _when(entry: Entry) -> Html:
    when = moment(entry.time)
    return time_tag(entry.time, f"{day(when)}, {when:%H:%M:%S}" if when else None)


def _paging(site: Site, query: DashboardQuery, listing: Listing) -> Html | None:
    links: list[Html] = []
    if query.before:
        first = "← Newest" if query.sort == "newest" else "← First"
        links.append(tag("a", first, href=site.home(query, before=None)))
    if listing.has_next:
        older = site.home(query, before=listing.entries[-1].id)
        more = "Older →" if query.sort == "newest" else "More →"
        links.append(tag("a", more, href=f"{older}#verdicts", rel="next"))
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
    *("Trend", "Answers", "Flagged", "Inconclusive", "Blocked", "Regenerated"),
    *("Latency, median", "Latency, p95", "Check, median", "Check, p95", "Cost", "For checks"),
)


def home_page(
    site: Site, query: DashboardQuery, listing: Listing, figures: Figures, lost: int
) -> str:
    """Render the home page.

    Args:
        site: The location of the pages.
        query: The reader's query.
        listing: The verdicts to list.
        figures: The figures of the span.
        lost: The number of entries that the journal could not write.
    """
    return page(
        site,
        "Verdicts",
        figures_parts(site, query, figures, lost),
        _verdicts(site, query, listing),
        heading=tag("h1", "Verdicts"),
        skip=("verdicts", "the list"),
        scripted=True,
    )


def figures_parts(site: Site, query: DashboardQuery, figures: Figures, lost: int) -> Html:
    """Render the section of the page with the figures."""
    head = tag("div", tag("h2", "Figures", id="figures-title"), _spans(site, query), class_="bar")
    span = f"{stamp(figures.since)} to {stamp(figures.until)}"
    parts: list[Html | None]
    if figures.whole is None:
        matching = " match the filters" if query.filtered else " were checked"
        text = f"No answers{matching} in this span. {_longer_span_hint(query)}".rstrip()
        parts = [tag("p", text, class_="empty")]
    else:
        parts = [
            _tiles(figures.whole),
            tag("p", _SAVINGS_UNKNOWN, class_="note"),
            plots(figures),
            _parts(site, query, figures),
            _frequent(figures.frequent),
        ]
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


def _verdicts(site: Site, query: DashboardQuery, listing: Listing) -> Html:
    follows = query.before is None and query.sort == "newest" and not query.until
    live = _live(site, query) if follows else _newest_link(site, query)
    titles = {"newest": "Newest" if query.before is None else "Older"}
    title = titles.get(query.sort) or _ORDERS[query.sort].capitalize()
    return tag(
        "section",
        tag("div", tag("h2", title), live, class_="bar"),
        _views(site, query),
        filter_form(site, query, listing.entries),
        list_part(site, query, listing),
        _exports(site, query) if listing.entries else None,
        id="verdicts",
        class_="panel",
        aria_label="List of verdicts",
        tabindex=-1,
    )


def _live(site: Site, query: DashboardQuery) -> Html:
    refresh = tag("a", "Refresh", href=site.home(query), id="refresh")
    button = tag("button", "Pause", type="button", id="pause")
    state = tag("span", id="state", class_="state")
    return tag(
        "div",
        refresh,
        tag("p", state, " ", button, hidden=True, id="controls"),
        tag("p", role="status", id="news", class_="sr"),
        id="live",
        class_="live",
        data_list=site.part("live", query),
        data_list_ms=_LIST_EVERY_MS,
        data_figures=site.part("figures", query),
        data_figures_ms=_FIGURES_EVERY_MS,
    )


def _newest_link(site: Site, query: DashboardQuery) -> Html:
    newest = tag("a", "Go to the newest", href=site.home(query, before=None, sort="newest"))
    return tag("p", "This part of the list does not change. ", newest, class_="live")


def _spans(site: Site, query: DashboardQuery) -> Html:
    chosen = bool(query.since or query.until)
    links = [
        (
            span.title,
            site.home(query, span=span, since=None, until=None),
            span is query.span and not chosen,
        )
        for span in SPANS.values()
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
    text = f"{counted(lost, 'entry', 'entries')} could not be written and are lost."
    return tag("p", text, " See the log of the process for the reason.", class_="notice")


def _longer_span_hint(query: DashboardQuery) -> str:
    longest = list(SPANS.values())[-1]
    return "" if query.span is longest else "Choose a longer span to look further back."


def _tiles(whole: Slice) -> Html:
    checked_count = checked(whole)
    skipped, inconclusive = whole.decisions["skipped"], whole.decisions["inconclusive"]
    tiles = [
        _tile("Answers", f"{whole.entries:,}", f"{checked_count:,} checked, {skipped:,} skipped"),
        _rate("Flagged", whole.decisions["flagged"], checked_count, "checked"),
        _tile(
            "No decision",
            percent(share(skipped + inconclusive, whole.entries)),
            f"{inconclusive:,} inconclusive, {skipped:,} skipped",
        ),
        _rate("Blocked", whole.blocked, whole.entries, "answers"),
        _rate("Regenerated", whole.regenerated, whole.entries, "answers"),
        _times("Latency", whole.latency_p50_s, whole.latency_p95_s),
        _times("Check time", whole.check_p50_s, whole.check_p95_s),
        _tile("Cost", cost_of(whole), _cost_note(whole)),
    ]
    return tag("dl", *tiles, class_="tiles")


_SAVINGS_UNKNOWN = (
    "Check time and the checks' part of the cost are what checking added. Calls that were saved (by"
    " the cache, by stopping early, samples that were not drawn) are not recorded, so savings are"
    " unknown."
)


def _tile(name: str, value: str, note: str) -> Html:
    return tag("div", tag("dt", name), tag("dd", tag("b", value), tag("span", note)))


def _rate(name: str, count: int, of: int, noun: str) -> Html:
    return _tile(name, percent(share(count, of)), f"{count:,} of {of:,} {noun}")


def _times(name: str, median: float, p95: float) -> Html:
    return _tile(name, duration(median), f"median; p95 {duration(p95)}")


def _cost_note(whole: Slice) -> str:
    if not whole.unpriced and not whole.cost_usd:
        return "nothing was charged"
    missing = f"; no price for {whole.unpriced:,} of {whole.entries:,}" if whole.unpriced else ""
    return f"checks: {checks_share(whole)}{missing}"


def _parts(site: Site, query: DashboardQuery, figures: Figures) -> Html:
    links = [(_TITLES[by], site.home(query, by=by), by == figures.by) for by in BYS]
    title = _TITLES[figures.by]
    head = tag("div", tag("h3", f"For each {_NOUNS[figures.by]}"), _choice("For each", links))
    columns = [tag("th", title, scope="col")]
    columns += [tag("th", name, scope="col", class_="number") for name in _HEADS]
    rows = [_part(site, query, figures, part) for part in figures.parts]
    table = tag("table", tag("thead", tag("tr", *columns)), tag("tbody", *rows))
    more = f"{counted(figures.left_out, 'more is', 'more are')} left out: those with fewer answers."
    return tag(
        "section",
        head,
        scrolling(table, f"Figures for each {_NOUNS[figures.by]}"),
        tag("p", more, class_="note") if figures.left_out else None,
        class_="parts",
    )


def _part(site: Site, query: DashboardQuery, figures: Figures, part: Slice) -> Html:
    by = figures.by
    name = tag("bdi", part.name) if part.name else tag("span", "none", class_="nothing")
    if by != "api" and part.name:
        name = tag("a", name, href=site.home(query, before=None, **{by: part.name}) + "#verdicts")
    drawn = tag("td", trend(figures, part.name), class_="drawn")
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
    return tag("tr", tag("th", name, scope="row"), drawn, *shown)


def _frequent(frequent: FrequentFindings) -> Html | None:
    if not frequent.entries:
        return None
    lists = [
        _counts("Methods that flagged", frequent.methods),
        _counts("What evidence differs in", frequent.contradictions),
        _counts("Claims", frequent.claims),
        _counts("Reasons", frequent.reasons),
    ]
    examined = counted(frequent.entries, "newest entry that was", "newest entries that were")
    text = f"In the {examined} flagged or inconclusive."
    without_text = " Claims and differences are only known where text was stored."
    return tag(
        "section",
        tag("h3", "Most frequent"),
        tag("p", text, None if frequent.claims else without_text, class_="note"),
        tag("div", *lists, class_="counts"),
        class_="frequent",
    )


def _counts(title: str, counts: Sequence[tuple[str, int]]) -> Html | None:
    if not counts:
        return None
    rows = [tag("li", tag("b", f"{count:,} ×"), " ", tag("bdi", text)) for text, count in counts]
    return tag("div", tag("h4", title), tag("ol", *rows))
