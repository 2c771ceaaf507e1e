"""The sentences of an answer without the marks by which they cite documents."""

from __future__ import annotations

from resay._internal.patterns import lazy_pattern
from resay.core.citation_marks import citation_marks, marks_within, without_marks
from resay.core.passage import Passage

_ALPHANUMERIC = lazy_pattern(r"[^\W_]")
# A list of sources and a mark begin this close to the sentences in question. In a stream, each
# sentence comes alone, with all of the text before it.
_NEARBY = 2_000


def uncited_sentences(passage: Passage) -> list[str | None]:
    """Return each sentence with blanks for its citation marks; None if it is nothing else.

    Args:
        passage: The answer; marks may go on from one sentence to the next, like a list of sources.
    """
    offset, nearby = nearby_text(passage)
    nearby_marks = citation_marks(nearby)
    texts: list[str | None] = []
    for sentence in passage.sentences:
        start, end = sentence.start - offset, sentence.end - offset
        marks = marks_within(nearby_marks, start, end)
        if any(mark.kind == "source" for mark in marks):
            texts.append(None)
            continue
        if nearby[start:end] != sentence.text:
            # Written out from its context.
            marks = citation_marks(sentence.text)
        text = without_marks(sentence.text, marks)
        texts.append(text if not marks or _ALPHANUMERIC.search(text) else None)
    return texts


def nearby_text(passage: Passage) -> tuple[int, str]:
    """Return the text in which the citation marks of the sentences are, with its offset."""
    if not passage.sentences:
        return 0, ""
    start = max(passage.sentences[0].start - _NEARBY, 0)
    return start, passage.excerpt(start, passage.sentences[-1].end + _NEARBY)
