"""The page of one verdict."""

from __future__ import annotations

from urllib.parse import quote

from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.reporting.dashboard.asking import Wanted
from resay.reporting.dashboard.layout import Place, page
from resay.reporting.dashboard.listing import DONE, row_name
from resay.reporting.dashboard.texts import duration, stamp, time_tag
from resay.reporting.journal import Content, Entry
from resay.reporting.render.html import Html, Reported, tag, verdict_section
from resay.reporting.render.html.answer import kept
from resay.reporting.render.html.figures import badge, definition, score_text
from resay.reporting.render.texts import cost

__all__ = ["verdict_page"]

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
