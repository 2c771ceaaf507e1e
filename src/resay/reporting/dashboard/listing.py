"""The list of verdicts, its filters and its pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from resay.reporting.dashboard.asking import DECISIONS, Wanted
from resay.reporting.dashboard.layout import Place
from resay.reporting.dashboard.texts import day, dollars, duration, moment, time_tag
from resay.reporting.journal import Entry
from resay.reporting.render.html import Html, joined, tag
from resay.reporting.render.html.figures import badge, chip

__all__ = ["DONE", "Listing", "filter_form", "list_part", "row_name"]

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
        body = tag("p", "No verdict is like that.", class_="empty")
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
        tag("h3", "Nothing was checked yet"),
        tag(
            "p",
            "As soon as an answer is checked its verdict appears here, by itself. Send one through"
            " the gateway: change the base URL of a client to the gateway's own.",
        ),
        tag("p", "Or write to the journal from your own application:"),
        tag("pre", tag("code", _START), class_="quote"),
        class_="empty",
    )
