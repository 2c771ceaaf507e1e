"""The page of one verdict: its claims with their evidence, and the feedback on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from resay import ClaimVerdict, Verdict
from resay.adapters.pages import (
    Html,
    Reported,
    badge,
    chip,
    cost,
    definition,
    has_text,
    hidden,
    joined,
    pieces,
    score_text,
    tag,
    verdict_section,
)
from resay.adapters.settings import JournalContent
from resay.errors import ConfigurationError
from resay.plugins import Grounds
from resay_server.dashboard.pages import DONE, Site, page, row_name
from resay_server.dashboard.query import DashboardQuery
from resay_server.dashboard.texts import counted, duration, stamp, time_tag
from resay_server.journal import Entry, Feedback

_STORED = {
    "none": "The journal does not store the text of answers (content: none)",
    "flagged": "The journal stores only the text of answers that were flagged, blocked or"
    " regenerated (content: flagged)",
    "all": (
        "The journal stores all text now (content: all), but did not when this entry was written"
    ),
}
_REMEDY = {
    "none": ". To see those of new answers, set content to flagged or to all in the settings of"
    " the journal.",
    "flagged": ". To see those of all new answers, set content to all in the settings of the"
    " journal.",
    "all": ".",
}


@dataclass(frozen=True, slots=True)
class Review:
    """The feedback on an entry, and its reader.

    Attributes:
        feedback: The feedback, oldest first.
        rater: The reader's name; empty if unknown.
        waiting: The ids of the sampled entries that the reader has yet to label.
    """

    feedback: Sequence[Feedback]
    rater: str
    waiting: Sequence[str]


def verdict_page(
    site: Site, query: DashboardQuery, entry: Entry, content: JournalContent, review: Review
) -> str:
    """Render the page of a verdict.

    Args:
        site: The location of the pages.
        query: The query of the list that the reader came from.
        entry: The entry.
        content: The entries whose text the journal stores.
        review: The feedback on it.
    """
    verdict = _verdict_of(entry)
    title = stamp(entry.time)
    back = site.home(query) + f"#{quote(row_name(entry.id), safe='')}"
    trail = tag("nav", tag("a", "← All verdicts", href=back), aria_label="Back", class_="trail")
    if verdict is None:
        body = _unreadable(entry, title)
    else:
        total = entry.usage + entry.check_usage
        shown = Reported(verdict, entry.id, action=entry.action, usage=total)
        body = verdict_section(shown, key="verdict", title=title)
    words = verdict is not None and has_text(verdict)
    without = verdict is not None and bool(verdict.sentences or verdict.unscored) and not words
    note = tag("p", _STORED[content] + _REMEDY[content], class_="notice") if without else None
    parts = (
        None if verdict is None else _claims(verdict),
        _feedback(site, query, entry, review),
        _request(site, entry),
    )
    heading = tag("h1", "Verdict")
    return page(site, title, trail, note, body, *parts, heading=heading)


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


def _claims(verdict: Verdict) -> Html | None:
    """Render each claim beside the evidence for and against it."""
    if not verdict.claims or not has_text(verdict):
        return None
    rows = [_claim(verdict, i, claim) for i, claim in enumerate(verdict.claims)]
    return tag(
        "section",
        tag("h2", f"Claims and evidence ({len(rows)})", id="claims"),
        tag("ol", *rows, class_="claims"),
        class_="panel",
        aria_labelledby="claims",
    )


def _claim(verdict: Verdict, i: int, claim: ClaimVerdict) -> Html:
    supports = [_ground(verdict, ground) for ground in claim.grounds if ground.supports]
    opposes = [_ground(verdict, ground) for ground in claim.grounds if not ground.supports]
    if 0 <= claim.sentence < len(verdict.sentences) and verdict.regeneration:
        cited = verdict.sentences[claim.sentence].citations
        supports += [
            tag("li", tag("bdi", source.title), ": ", tag("q", source.text, dir="auto"))
            for source in verdict.regeneration.sources
            if source.id in cited and source.text
        ]
    if against := claim.contradicted_by:
        source = f"{against.source.capitalize()} {against.index + 1}: "
        words = _marked(against.text, 0, [against.evidence_span] if against.evidence_span else [])
        opposes.append(tag("li", source, tag("q", words, dir="auto")))
    buttons = [
        tag(
            "button",
            text,
            hidden(f", claim {i + 1}"),
            form="feedback-form",
            name_="rating",
            value=f"{rating}:{i}",
        )
        for rating, text in _RATINGS.items()
    ]
    summary = tag(
        "div",
        tag("p", chip(claim.score, flagged=claim.flagged), " ", _in_place(verdict, claim)),
        tag("p", claim.reason, class_="score-reason", dir="auto") if claim.reason else None,
        tag("p", hidden("The verdict on this claim is "), joined(buttons), class_="rate"),
    )
    sides = tag("dl", _side("For", supports), _side("Against", opposes))
    return tag("li", summary, sides, class_="flagged-claim" if claim.flagged else None)


def _side(name: str, items: Sequence[Html]) -> Html:
    return definition(
        name, tag("ul", *items) if items else tag("span", "nothing", class_="nothing")
    )


def _ground(verdict: Verdict, ground: Grounds) -> Html:
    span = None if ground.start is None else f", characters {ground.start}–{ground.end}"
    if not 0 <= ground.reference < len(verdict.references):
        return tag("li", f"reference {ground.reference + 1}", span)
    reference = verdict.references[ground.reference]
    name = reference.id or reference.label
    return tag(
        "li",
        tag("bdi", name) if name else None,
        " " if name else None,
        tag("code", reference.source),
        span,
    )


def _in_place(verdict: Verdict, claim: ClaimVerdict) -> Html:
    """Render the claim's sentence with the claim, or what of it is in doubt, marked.

    If the text of the sentence was not stored, just the claim's text.
    """
    if 0 <= claim.sentence < len(verdict.sentences):
        sentence = verdict.sentences[claim.sentence]
        spans = claim.spans_in_doubt or [(claim.start, claim.end)]
        if sentence.has_text:
            return tag("span", _marked(sentence.text, sentence.start, spans), dir="auto")
    return tag("span", claim.text, dir="auto")


def _marked(text: str, start: int, spans: Sequence[tuple[int, int]]) -> Html:
    return joined(
        tag("mark", piece) if is_marked else piece
        for piece, is_marked in pieces(text, start, spans)
    )


_RATINGS = {"right": "Right", "wrong": "Wrong", "unsure": "Unsure"}
_SOURCES = {"dashboard": "here", "api": "API", "terminal": "terminal", "csv": "CSV", "code": "code"}


def _feedback(site: Site, query: DashboardQuery, entry: Entry, review: Review) -> Html:
    buttons = [
        tag("button", text, name_="rating", value=rating, class_=rating)
        for rating, text in _RATINGS.items()
    ]
    about = tag(
        "select",
        tag("option", "The verdict is", value="verdict"),
        tag("option", "The answer is", value="answer"),
        name_="about",
        id="about",
    )
    given = {"type": "text", "maxlength": 256, "autocomplete": "off"}
    form = tag(
        "form",
        tag("input", type="hidden", name_="entry", value=entry.id),
        tag(
            "p",
            tag("label", "Your name", for_="rater"),
            tag("input", name_="rater", id="rater", value=review.rater, **given),
        ),
        tag(
            "p",
            tag("label", "Note", for_="note"),
            tag("input", name_="note", id="note", **{**given, "maxlength": 2000}),
        ),
        tag("p", tag("label", "What you judge", for_="about"), about),
        tag("p", *buttons, class_="send rate"),
        id="feedback-form",
        action=site.part("feedback", query),
        method="post",
        class_="filters",
    )
    items = [_rating_line(feedback) for feedback in review.feedback]
    others = [entry_id for entry_id in review.waiting if entry_id != entry.id]
    queue = None
    if others:
        left = f" ({counted(len(others), 'other', 'others')} drawn for you to label)"
        queue = tag("p", tag("a", "Next to label", href=site.verdict(others[0], query)), left)
    return tag(
        "section",
        tag("h2", "Feedback", id="feedback"),
        form,
        tag("ul", *items, class_="said")
        if items
        else tag("p", "Nobody has judged it yet.", class_="note"),
        queue,
        class_="panel",
        aria_labelledby="feedback",
    )


def _rating_line(feedback: Feedback) -> Html:
    where = "" if feedback.claim is None else f", claim {feedback.claim + 1}"
    what = "unsure" if feedback.rating == "unsure" else f"the {feedback.about} is {feedback.rating}"
    return tag(
        "li",
        tag("b", tag("bdi", feedback.rater or "somebody")),
        f": {what}{where} ",
        tag("q", feedback.note, dir="auto") if feedback.note else None,
        tag("span", " ", time_tag(feedback.time), f", by {_SOURCES[feedback.source]}", class_="by"),
    )


def _request(site: Site, entry: Entry) -> Html:
    question = None
    if entry.question:
        text = tag("div", entry.question, class_="quote", dir="auto")
        question = tag("section", tag("h3", "Query"), text)
    rows = [
        definition("Time", time_tag(entry.time), " UTC"),
        definition("Request", _request_link(site, entry.request_id)),
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


def _request_link(site: Site, request: str | None) -> Html:
    if not request:
        return _name(None)
    return tag(
        "a", tag("bdi", request), href=site.home(DashboardQuery(request=request)) + "#verdicts"
    )
