"""How an answer was repaired."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.documents import Document
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.core.verdict import Verdict
from resay.reporting.render.html.answer import citation_marks
from resay.reporting.render.html.markup import (
    Html,
    badge,
    chip,
    definition,
    hidden,
    joined,
    link,
    seconds,
    tag,
)
from resay.reporting.render.texts import cost

_NOT_STORED = "text not stored"


def headline(regeneration: Regeneration) -> str:
    """Return the outcome of a repair as a headline."""
    if regeneration.adopted is None:
        return "Not repaired"
    return "Rewritten" if regeneration.mode == "rewrite" else "Repaired"


def regeneration_parts(verdict: Verdict, key: str, heading: str) -> Html:
    """Render the attempts, edits and sources of a repair.

    Args:
        verdict: The verdict on the answer.
        key: The prefix of the ids of the verdict's elements.
        heading: The element of its headings: `h4`.
    """
    regeneration = verdict.regeneration
    if regeneration is None:
        return Html()
    searches = regeneration.by == "documents"
    attempts = [
        _attempt(i, attempt, i == regeneration.adopted, heading, searches=searches)
        for i, attempt in enumerate(regeneration.attempts)
    ]
    return joined(
        [
            tag("p", "The first answer: ", chip(regeneration.score), " ", regeneration.reason),
            *_listed(
                "Edits",
                [_edit(verdict, edit, key) for edit in regeneration.edits],
                heading,
                "edits",
            ),
            *_listed("Attempts", attempts, None, "attempts"),
            *_listed("Sources", _sources(regeneration.sources, key), heading, "sources"),
            _quote("The first answer", regeneration.draft) if regeneration.draft else None,
        ]
    )


def _listed(title: str, items: Sequence[Html], heading: str | None, kind: str) -> list[Html]:
    if not items:
        return []
    head = [tag(heading, title)] if heading else []
    return [*head, tag("ol", *items, class_=kind)]


def _edit(verdict: Verdict, edit: Edit, key: str) -> Html:
    position = f"characters {edit.start}–{edit.end} of the first answer"
    marks = citation_marks(verdict, edit.sources, key)
    sources = joined(["; from ", marks or ", ".join(edit.sources)]) if edit.sources else None
    if edit.before or edit.after:
        before = tag("del", edit.before, dir="auto")
        after = tag("ins", edit.after, dir="auto") if edit.after else tag("em", "removed")
        pair = tag("dl", definition("Before", before), definition("After", after), class_="pair")
    else:
        pair = tag("p", tag("em", _NOT_STORED))
    return tag("li", pair, tag("p", position, sources, class_="by"), class_="card")


def _attempt(index: int, attempt: Attempt, adopted: bool, heading: str, *, searches: bool) -> Html:
    title = f"Attempt {index + 1}{', adopted' if adopted else ''}"
    change = [chip(attempt.score_before), hidden(" before, then"), " → ", chip(attempt.score_after)]
    decision = [" ", badge(attempt.decision)] if attempt.decision else []
    searched = [
        definition("Searched for", _bullets(attempt.queries) or tag("em", _NOT_STORED)),
        definition("Found", _bullets(attempt.documents) or "nothing"),
    ]
    rows = [
        definition("Reason", attempt.reason),
        *(searched if searches else ()),
        definition("Score", *change, *decision),
        definition("Error", attempt.error) if attempt.error else None,
        definition("Cost", f"{cost(attempt.usage)}, {seconds(attempt.elapsed_s)}"),
    ]
    return tag("li", tag(heading, title), tag("dl", *rows, class_="rows"))


def _bullets(texts: Sequence[str]) -> Html | None:
    return tag("ul", *(tag("li", text, dir="auto") for text in texts)) if texts else None


def _sources(sources: Sequence[Document], key: str) -> list[Html]:
    return [_source(source, f"{key}-d{number}") for number, source in enumerate(sources, 1)]


def _source(source: Document, name: str) -> Html:
    title = link(source.title, source.metadata.get("url"))
    id_ = None if source.title == source.id else tag("code", source.id)
    text = _quote("Its text", source.text) if source.text else tag("p", tag("em", _NOT_STORED))
    return tag("li", title, " ", id_, text, id=name)


def _quote(title: str, text: str) -> Html:
    words = tag("div", text, class_="quote", dir="auto")
    return tag("details", tag("summary", title), words)
