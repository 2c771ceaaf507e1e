"""Marks in the text of a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resay.core.decision import Band
from resay.core.documents import Document
from resay.core.verdict import Verdict


def annotated(response: str, verdict: Verdict, *, marker: str | None, unscored: str) -> str:
    """Return a response with marks after everything that is flagged or was not scored.

    Args:
        response: The response.
        verdict: The verdict on it.
        marker: As for `Answer.annotated`.
        unscored: Mark after each span that was not scored; empty for none.
    """
    marks = [*_flagged_marks(verdict, marker), *_name_marks(response, verdict, marker)]
    if unscored:
        marks += _unscored_marks(verdict, unscored)
    return _with_marks(response, sorted(marks))


def _flagged_marks(verdict: Verdict, marker: str | None) -> Iterator[tuple[int, str]]:
    """Yield where to mark sentences, and in a table cells, and the marks."""
    rows: set[int] = set()
    for claim in verdict.flagged_claims:
        if claim.unit == "row":
            rows.add(claim.sentence)
            yield claim.end, _mark(claim.band, marker)
    for index, sentence in enumerate(verdict.sentences):
        if sentence.flagged and index not in rows:
            yield sentence.end, _mark(sentence.band, marker)


def _name_marks(response: str, verdict: Verdict, marker: str | None) -> Iterator[tuple[int, str]]:
    """Yield the lines below blocks of code, one for each flagged name in them."""
    for name in verdict.flagged_names:
        if name.sentence >= 0:
            continue
        for block in verdict.unscored:
            if block.start <= name.start < block.end:
                words = response[name.start : name.end]
                yield block.end, f"\n\n`{words}`{_mark(name.band, marker)}"


def _unscored_marks(verdict: Verdict, mark: str) -> Iterator[tuple[int, str]]:
    for span in verdict.unscored:
        if span.kind in {"sentence", "prose"}:
            yield span.end, mark
        elif span.kind != "reasoning":
            yield span.end, f"\n\n{mark.strip()}"


def _mark(band: Band | None, marker: str | None) -> str:
    if marker is not None:
        return marker
    return " [contradicted]" if band == "contradicted" else " [unsupported]"


def _with_marks(text: str, marks: Iterable[tuple[int, str]]) -> str:
    parts: list[str] = []
    position = 0
    for end, mark in marks:
        parts += [text[position:end], mark]
        position = end
    return "".join(parts) + text[position:]


def cited(response: str, verdict: Verdict) -> str:
    """Return a response with marks such as [1] after its sentences, and a list of its sources.

    Args:
        response: The response.
        verdict: The verdict on it.

    Returns:
        The marked text; the bare text if it cites nothing.
    """
    sources = verdict.regeneration.sources if verdict.regeneration else ()
    if not sources:
        return response
    numbers = {source.id: number for number, source in enumerate(sources, 1)}
    marks: list[tuple[int, str]] = []
    for sentence in verdict.sentences:
        mark = "".join(f"[{numbers[id_]}]" for id_ in sentence.citations if id_ in numbers)
        if mark:
            marks.append((sentence.end, f" {mark}"))
    lines = [f"[{numbers[source.id]}] {_describe(source)}" for source in sources]
    return "\n".join([f"{_with_marks(response, marks).rstrip()}\n\nSources:", *lines])


def _describe(source: Document) -> str:
    url = source.metadata.get("url")
    location = url if isinstance(url, str) and url.strip() else source.id
    description = source.title if source.title == location else f"{source.title} ({location})"
    return " ".join(description.split())
