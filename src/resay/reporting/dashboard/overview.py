"""The first page: figures, charts, the list, and what tells models apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resay.reporting.dashboard.asking import BYS, SPANS, Wanted
from resay.reporting.dashboard.figures import Figures, checked, flag_rate
from resay.reporting.dashboard.layout import Place, page
from resay.reporting.dashboard.listing import Listing, filter_form, list_part
from resay.reporting.dashboard.plots import checks_share, cost_of, plots
from resay.reporting.dashboard.texts import counted, duration, percent, share, stamp
from resay.reporting.journal import By, Slice
from resay.reporting.render.html import Html, tag
from resay.reporting.render.html.figures import scrolling

__all__ = ["figures_parts", "home_page"]

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
        said = f"No answer was checked in this time. {_longer(wanted)}".rstrip()
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
    said = f"{counted(lost, 'entry', 'entries')} could not be written, and will never be here."
    return tag("p", said, " The log of the process says why.", class_="notice")


def _longer(wanted: Wanted) -> str:
    longest = list(SPANS.values())[-1]
    return "" if wanted.span is longest else "Choose a longer one to look further back."


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
