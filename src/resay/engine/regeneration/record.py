"""The record of a regeneration in the verdict: edits, citations and sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from resay._internal.telemetry import AttributeValue
from resay.core.documents import Document
from resay.core.passage import Passage
from resay.core.regeneration import Edit, Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine.regeneration.candidate import Candidate
from resay.engine.regeneration.rechecking import sources_of


def final_verdict(
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
        first: The first check's verdict on it.
        documents: All documents found, by id.
        regeneration: The record of the attempts, without the edits and the sources.
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
            sources=tuple(_serializable(documents[name]) for name in cited),
            removed=share_of(draft.passage, best.removed),
            abstains=best.is_abstention,
            conflicts=_conflicts(verdict),
        ),
    )


def share_of(passage: Passage, indices: Collection[int]) -> float:
    """Return the share of a passage's sentences that the given ones make up, by characters."""
    lengths = [len(sentence.text) for sentence in passage.sentences]
    return sum(lengths[i] for i in indices) / sum(lengths) if indices else 0.0


def _conflicts(verdict: Verdict) -> tuple[str, ...]:
    """Return the ids of the documents that contradict each other about a claim."""
    disputed = [c.grounds for c in verdict.claims if len({g.supports for g in c.grounds}) > 1]
    indices = dict.fromkeys(ground.reference for grounds in disputed for ground in grounds)
    return tuple(verdict.references[index].source for index in indices)


def _serializable(document: Document) -> Document:
    """Return a document with metadata that can be serialized in a verdict."""
    # Retrievers may add anything: vectors, dates, objects of their own.
    plain = {k: v for k, v in document.metadata.items() if isinstance(v, (str, int, float))}
    return replace(document, metadata=plain)


def _cited(best: Candidate, documents: Sequence[Document]) -> Verdict:
    """Return the verdict with the sources of the sentences that were written from documents."""
    sentences: list[SentenceVerdict] = []
    for i, sentence in enumerate(best.verdict.sentences):
        ids = best.citations_by_sentence.get(i)
        if ids is not None and not sentence.flagged and i not in best.abstains:
            sentence = replace(sentence, citations=sources_of(sentence.text, ids, documents))
        sentences.append(sentence)
    return replace(best.verdict, sentences=tuple(sentences))


def _edits(best: Candidate, draft: Candidate, verdict: Verdict) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for i, new in sorted(best.repairs.items()):
        old = draft.passage.sentences[i]
        if old.text == new.text:
            continue
        start, end = best.spans[i]
        sources: dict[str, None] = {}
        for sentence in verdict.sentences:
            if sentence.start < end and sentence.end > start:
                sources |= dict.fromkeys(sentence.citations)
        edits.append(
            Edit(
                before=old.text,
                after=new.text,
                start=old.start,
                end=old.end,
                sources=tuple(sources),
            )
        )
    return tuple(edits)


def attributes_of(verdict: Verdict) -> dict[str, AttributeValue]:
    """Return a span's attributes for a regeneration."""
    attempts = verdict.regeneration.attempts if verdict.regeneration else ()
    usage = sum((attempt.usage for attempt in attempts), Usage())
    return {
        "resay.regenerate.attempts": len(attempts),
        "resay.regenerate.adopted": verdict.regenerated,
        "resay.decision": verdict.decision,
        "resay.score": verdict.score,
        "resay.calls": usage.calls,
        "resay.cost_usd": usage.cost_usd,
    }
