"""How an answer was mended: what was searched, found, changed and cited."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.verdict import Attempt, Document, Edit, Regeneration, Verdict
from resay.reporting.render.html.answer import citation_marks
from resay.reporting.render.html.figures import badge, chip, definition, hidden, seconds
from resay.reporting.render.html.markup import Html, joined, link, tag
from resay.reporting.render.texts import cost

__all__ = ["headline", "regeneration_parts"]

_NOT_KEPT = "words not kept"


def headline(regeneration: Regeneration) -> str:
    """Return what became of the first answer."""
    if regeneration.adopted is None:
        return "Not mended"
    return "Repaired" if regeneration.mode == "repair" else "Rewritten"


def regeneration_parts(verdict: Verdict, key: str, heading: str) -> Html:
    """Return what was tried, what was changed, and by which documents.

    Args:
        verdict: What was found of the answer.
        key: What the ids of the verdict's elements begin with.
        heading: The element of its headings: `h4`.
    """
    told = verdict.regeneration
    if told is None:
        return Html()
    attempts = [
        _attempt(i, attempt, i == told.adopted, heading) for i, attempt in enumerate(told.attempts)
    ]
    return joined(
        [
            tag("p", "The first answer: ", chip(told.score), " ", told.reason),
            *_listed("Edits", [_edit(verdict, edit, key) for edit in told.edits], heading, "edits"),
            *_listed("Attempts", attempts, None, "attempts"),
            *_listed("Sources", _sources(told.sources, key), heading, "sources"),
            _folded("The first answer", told.draft) if told.draft else None,
        ]
    )


def _listed(title: str, items: Sequence[Html], heading: str | None, kind: str) -> list[Html]:
    if not items:
        return []
    head = [tag(heading, title)] if heading else []
    return [*head, tag("ol", *items, class_=kind)]


def _edit(verdict: Verdict, edit: Edit, key: str) -> Html:
    place = f"characters {edit.start}–{edit.end} of the first answer"
    known = citation_marks(verdict, edit.sources, key)
    sources = joined(["; from ", known or ", ".join(edit.sources)]) if edit.sources else None
    if edit.before or edit.after:
        before = tag("del", edit.before, dir="auto")
        after = tag("ins", edit.after, dir="auto") if edit.after else tag("em", "removed")
        pair = tag("dl", definition("Before", before), definition("After", after), class_="pair")
    else:
        pair = tag("p", tag("em", _NOT_KEPT))
    return tag("li", pair, tag("p", place, sources, class_="by"), class_="card")


def _attempt(index: int, attempt: Attempt, adopted: bool, heading: str) -> Html:
    title = f"Attempt {index + 1}{', adopted' if adopted else ''}"
    change = [chip(attempt.score_before), hidden(" before, then"), " → ", chip(attempt.score_after)]
    found = [" ", badge(attempt.decision)] if attempt.decision else []
    rows = [
        definition("Why", attempt.why),
        definition("Searched for", _bullets(attempt.queries) or tag("em", _NOT_KEPT)),
        definition("Found", _bullets(attempt.documents) or "nothing"),
        definition("Score", *change, *found),
        definition("Note", attempt.note) if attempt.note else None,
        definition("Cost", f"{cost(attempt.usage)}, {seconds(attempt.elapsed_s)}"),
    ]
    return tag("li", tag(heading, title), tag("dl", *rows, class_="rows"))


def _bullets(texts: Sequence[str]) -> Html | None:
    return tag("ul", *(tag("li", text, dir="auto") for text in texts)) if texts else None


def _sources(sources: Sequence[Document], key: str) -> list[Html]:
    return [_source(source, f"{key}-d{number}") for number, source in enumerate(sources, 1)]


def _source(source: Document, name: str) -> Html:
    named = link(source.title, source.metadata.get("url"))
    other = None if source.title == source.id else tag("code", source.id)
    text = _folded("Its text", source.text) if source.text else tag("p", tag("em", _NOT_KEPT))
    return tag("li", named, " ", other, text, id=name)


def _folded(title: str, text: str) -> Html:
    words = tag("div", text, class_="quote", dir="auto")
    return tag("details", tag("summary", title), words)
