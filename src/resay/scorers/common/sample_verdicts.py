"""What a judge said about the claims of a passage and several samples, as scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from resay.core.contradiction import Contradiction
from resay.core.passage import Passage, Sentence
from resay.core.quotes import find_quote
from resay.core.scores import Scores, UnsupportedSpan, mean_score
from resay.scorers.base import TEXTS_COMPARED
from resay.scorers.common.comparing import Entries, best_scores, inconclusive_reason
from resay.scorers.common.document_verdicts import DocumentVerdict
from resay.scorers.common.judge_calls import ParsedAnswer
from resay.scorers.samples import Sample


@dataclass(frozen=True, slots=True)
class _JudgedSample:
    """A sample, and the answers of the calls that showed it.

    Attributes:
        sample: The sample.
        verdicts: The verdict on each claim that has one, on all samples of the same calls.
        unread: The claims whose verdict could not be parsed.
    """

    sample: Sample
    verdicts: dict[int, DocumentVerdict]
    unread: set[int]

    def supports(self, claim: int) -> bool:
        verdict = self.verdicts.get(claim)
        return verdict is not None and self.sample.index in verdict.supports

    def contradicts(self, claim: int) -> bool:
        verdict = self.verdicts.get(claim)
        return verdict is not None and self.sample.index in verdict.contradicts

    def is_silent(self, claim: int) -> bool:
        return claim in self.verdicts and not self.supports(claim) and not self.contradicts(claim)


@dataclass(slots=True)
class SampleVerdicts:
    """A judge's verdicts on the claims of a passage by its samples, call by call.

    Attributes:
        passage: The claims, as its `sentences`.
        contradicted: The entry of a sample that contradicts a claim.
        silent: The entry of a sample that does not speak of it.
        source: What the samples are.
    """

    passage: Passage
    contradicted: float
    silent: float
    source: Literal["sample", "reference"] = "sample"
    _judged: list[_JudgedSample] = field(default_factory=list[_JudgedSample])
    _failures: list[str] = field(default_factory=list[str])
    _undetermined: int = 0

    def __len__(self) -> int:
        """Return the number of samples compared so far."""
        return len(self._judged)

    def add(
        self,
        samples: Iterable[Sample],
        answers: Iterable[tuple[Sequence[int], ParsedAnswer[DocumentVerdict]]],
    ) -> None:
        """Add the answers of calls about the same samples.

        Args:
            samples: The samples that the judge was shown.
            answers: The indexes of the claims that it was asked about, and its verdicts on these.
        """
        verdicts: dict[int, DocumentVerdict] = {}
        unread: set[int] = set()
        for claims, parsed in answers:
            for claim, verdict in zip(claims, parsed.slots, strict=True):
                if verdict is None:
                    unread.add(claim)
                else:
                    verdicts[claim] = verdict
            self._failures += parsed.failures
            self._undetermined += parsed.undetermined
        for sample in samples:
            self._judged.append(_JudgedSample(sample, verdicts, unread))

    @property
    def columns(self) -> list[Entries]:
        """For each sample, the entry of each claim; None for a claim without a verdict."""
        columns: list[Entries] = []
        for judged in self._judged:
            column = (self._entry(judged, claim) for claim in range(len(self.passage.sentences)))
            columns.append(tuple(column))
        return columns

    def _entry(self, judged: _JudgedSample, claim: int) -> float | None:
        if claim not in judged.verdicts:
            return None
        # A judge may name a sample on both sides.
        if judged.supports(claim):
            return 0.0
        return self.contradicted if judged.contradicts(claim) else self.silent

    def scores(self, *, any_of: bool) -> Scores:
        """Return the scores so far.

        Args:
            any_of: Whether one supporting text is enough, as with documents.
        """
        columns = self.columns
        claims = range(len(self.passage.sentences))
        silent = tuple(self._silent_samples(claim) for claim in claims)
        rows = [[column[claim] for column in columns] for claim in claims]
        if any_of:
            scores = best_scores(columns, silent, len(claims))
        else:
            scores = [mean_score(row) for row in rows]
        unread = [judged.unread for judged in self._judged]
        lost = set[int]().union(*unread)
        return Scores(
            sentences=tuple(scores),
            columns=tuple(columns),
            silent=silent,
            reasons=tuple(self._reason(claim) for claim in claims),
            failures=tuple(self._failures),
            lost=tuple(claim for claim in claims if claim in lost and scores[claim] is None),
            undetermined=self._undetermined,
            error=inconclusive_reason(rows, self._failures, sum(map(len, unread))),
            spans=tuple(self._unsupported_spans(claim) for claim in claims),
            contradictions=tuple(self._contradiction(claim) for claim in claims),
            denied=tuple(bool(self._contradicting(claim)) for claim in claims),
        )

    def _silent_samples(self, claim: int) -> tuple[int, ...]:
        """Return the positions of the samples that do not mention a claim."""
        return tuple(
            position for position, judged in enumerate(self._judged) if judged.is_silent(claim)
        )

    def _contradicting(self, claim: int) -> list[_JudgedSample]:
        return [judged for judged in self._judged if judged.contradicts(claim)]

    def _reason(self, claim: int) -> str | None:
        """Return how many samples support and contradict a claim."""
        total = sum(claim in judged.verdicts for judged in self._judged)
        if not total:
            return None
        supporting = sum(judged.supports(claim) for judged in self._judged)
        contradicting = len(self._contradicting(claim))
        if not supporting and not contradicting:
            return f"not mentioned by any of {total} {TEXTS_COMPARED}"
        if not contradicting:
            return f"supported by {supporting} of {total} {TEXTS_COMPARED}"
        reason = f"contradicted by {contradicting} of {total} {TEXTS_COMPARED}"
        return f"{reason}, supported by {supporting}" if supporting else reason

    def _unsupported_spans(self, claim: int) -> tuple[UnsupportedSpan, ...]:
        """Return the spans of the words of a claim that the judge finds wrong."""
        sentence = self.passage.sentences[claim]
        spans: list[UnsupportedSpan] = []
        for judged in self._judged:
            verdict = judged.verdicts.get(claim)
            if verdict is None:
                continue
            score = 1.0 if verdict.contradicts else self.silent
            for start, end in verdict.spans_in(sentence.text):
                span = UnsupportedSpan(sentence.start + start, sentence.start + end, score)
                if span not in spans:
                    spans.append(span)
        return tuple(sorted(spans, key=lambda span: span.start))

    def _contradiction(self, claim: int) -> Contradiction | None:
        """Return the sentence of a sample that the judge quotes against a claim."""
        for judged in self._contradicting(claim):
            sample = judged.sample
            for quote in judged.verdicts[claim].quotes:
                span = find_quote(quote, sample.text)
                if span is None:
                    continue
                start, end = span
                sentence = _sentence_at(start, sample)
                wrong_words = self._unsupported_spans(claim)
                return Contradiction(
                    source=self.source,
                    index=sample.index,
                    text=sentence.text,
                    claim_span=(wrong_words[0].start, wrong_words[0].end) if wrong_words else None,
                    evidence_span=(
                        max(start - sentence.start, 0),
                        min(end, sentence.end) - sentence.start,
                    ),
                )
        return None


def _sentence_at(position: int, sample: Sample) -> Sentence:
    for sentence in sample.passage.sentences:
        if sentence.start <= position < sentence.end:
            return sentence
    return Sentence(sample.text, 0, len(sample.text))
