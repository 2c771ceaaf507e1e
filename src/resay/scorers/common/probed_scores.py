"""Scores of claims that samples leave out, by the answers to questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from resay.core.contradiction import Contradiction
from resay.core.passage import Passage, Sentence
from resay.core.scores import Scores, UnsupportedSpan, mean_score, over
from resay.scorers.common.probe_questions import span_of_answer
from resay.scorers.common.probing import ProbeResult

# Items of lists with more words are statements.
_MAX_NAME_WORDS = 4


def is_one_of_many(unit: Sentence) -> bool:
    """Return whether a unit is a name in a list: questions about it have several answers."""
    return unit.unit == "item" and len(unit.text.split()) <= _MAX_NAME_WORDS


def with_probe_results(
    scores: Scores,
    passage: Passage,
    results: Mapping[int, ProbeResult],
    *,
    contradicted: float,
    threshold: float,
) -> Scores:
    """Replace the scores of open claims by those that the answers about them give.

    The answers take the place of samples that do not mention the claim; an answer that says nothing
    counts as much as one of those samples. A claim that would be flagged has no score without an
    answer that says something, unless nobody can be asked about it.

    Args:
        scores: The scores by the samples.
        passage: The claims, as its `sentences`.
        results: The results of asking about open claims, by their indexes.
        contradicted: The entry of an answer that disagrees with a claim.
        threshold: The score above which a claim would be flagged.
    """
    if not results:
        return scores
    count = len(scores.sentences)
    sentences, reasons = list(scores.sentences), list(scores.reasons)
    contradictions = list(scores.contradictions or (None,) * count)
    denied = list(scores.denied or (False,) * count)
    spans = list(scores.spans or ((),) * count)
    shares: list[float | None] = [None] * count
    unanswered: list[str | None] = [None] * count
    for claim, result in results.items():
        silent = scores.silent[claim]
        entries = [column[claim] for column in scores.columns]
        compared = sum(entry is not None for entry in entries)
        reasons[claim] = f"{len(silent)} of {compared} samples do not mention it; {result.reason}"
        shares[claim] = result.score
        if result.score is None:
            if result.unanswered and over(sentences[claim], threshold):
                sentences[claim], unanswered[claim] = None, result.unanswered
            continue
        of_samples = [entry for sample, entry in enumerate(entries) if sample not in silent]
        of_answers = [0.0] * result.agree + [contradicted] * result.against
        entry_of_silence = scores.columns[silent[0]][claim]
        sentences[claim] = mean_score(
            [*of_samples, *of_answers, *[entry_of_silence] * result.unknown]
        )
        denied[claim] = result.against > 0
        if result.contrary is None:
            continue
        span = _span_in_response(result, passage.sentences[claim])
        contradictions[claim] = Contradiction(
            source="answer",
            index=0,
            text=result.contrary,
            claim_span=span,
            evidence_span=(0, len(result.contrary)),
        )
        if span is not None:
            unsupported = UnsupportedSpan(*span, score=sentences[claim] or 0.0)
            spans[claim] = (unsupported,)
    lost = {claim for claim, reason in enumerate(unanswered) if reason is not None}
    return replace(
        scores,
        sentences=tuple(sentences),
        reasons=tuple(reasons),
        parts={"probe": tuple(shares)},
        contradictions=tuple(contradictions),
        denied=tuple(denied),
        spans=tuple(spans),
        lost=tuple(sorted(lost.union(scores.undecided))),
        unanswered=tuple(unanswered),
    )


def _span_in_response(result: ProbeResult, claim: Sentence) -> tuple[int, int] | None:
    """Return where the response says what a question asks for."""
    if result.question is None:
        return None
    span = span_of_answer(result.question.value, claim.text)
    return span and (claim.start + span[0], claim.start + span[1])
