"""Puts together what several checks of an answer found, and how the answer came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from resay.core.verdict import Document, Edit, Regeneration, SentenceVerdict, Verdict
from resay.engine.regeneration.candidates import Candidate
from resay.engine.regeneration.citing import sources_of

__all__ = ["combined", "finished"]

_WORST = {"consistent": 0, "skipped": 1, "inconclusive": 2, "flagged": 3}


def combined(first: Verdict, second: Verdict | None) -> Verdict:
    """Return what two checks of the same answer say together: of each sentence, the worse.

    Args:
        first: What one found.
        second: What the other found; None where there was none.
    """
    if second is None:
        return first
    worse = max(first, second, key=lambda verdict: _WORST[verdict.decision])
    scores = [score for score in (first.score, second.score) if score is not None]
    return replace(
        worse,
        score=max(scores, default=None),
        sentences=tuple(map(_worse, first.sentences, second.sentences)),
        samples=max(first.samples, second.samples),
        steps=(*first.steps, *second.steps),
        unscored=tuple(stretch for stretch in first.unscored if stretch in second.unscored),
    )


def _worse(first: SentenceVerdict, second: SentenceVerdict) -> SentenceVerdict:
    return max(first, second, key=lambda s: (s.flagged, -1.0 if s.score is None else s.score))


def finished(
    best: Candidate,
    draft: Candidate,
    first: Verdict,
    documents: Mapping[str, Document],
    regeneration: Regeneration,
) -> Verdict:
    """Return the verdict on the best answer.

    Args:
        best: The answer.
        draft: The model's first answer.
        first: What the first check found of it.
        documents: All documents that were found, by their ids.
        regeneration: How it came about, without the edits and the sources.
    """
    verdict = _cited(best, list(documents.values()))
    cited = dict.fromkeys(chain.from_iterable(s.citations for s in verdict.sentences))
    steps = first.steps if best.verdict is first else (*first.steps, *verdict.steps)
    return replace(
        verdict,
        samples=max(first.samples, verdict.samples),
        steps=steps,
        via=first.via,
        regeneration=replace(
            regeneration,
            adopted=best.attempt,
            edits=_edits(best, draft, verdict),
            sources=tuple(_told(documents[name]) for name in cited),
        ),
    )


def _told(document: Document) -> Document:
    """Return a document as a verdict can be written down with it."""
    # Whatever a retriever keeps beside its texts: vectors, dates, objects of its own.
    plain = {k: v for k, v in document.metadata.items() if isinstance(v, (str, int, float))}
    return replace(document, metadata=plain)


def _cited(best: Candidate, documents: Sequence[Document]) -> Verdict:
    sentences = tuple(
        replace(sentence, citations=sources_of(sentence.text, best.named[i], documents))
        if i in best.named and not sentence.flagged
        else sentence
        for i, sentence in enumerate(best.verdict.sentences)
    )
    return replace(best.verdict, sentences=sentences)


def _edits(best: Candidate, draft: Candidate, verdict: Verdict) -> tuple[Edit, ...]:
    return tuple(
        Edit(old.text, new.text, old.start, old.end, _within(verdict, *best.places[i]))
        for i, new in sorted(best.repairs.items())
        if (old := draft.passage.sentences[i]).text != new.text
    )


def _within(verdict: Verdict, start: int, end: int) -> tuple[str, ...]:
    inside = (s.citations for s in verdict.sentences if s.start < end and s.end > start)
    return tuple(dict.fromkeys(chain.from_iterable(inside)))
