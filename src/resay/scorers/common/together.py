"""Compares the claims of an answer with several samples in one call of a judge.

The judge sees the conversation, the numbered samples and the numbered claims, and names for each
claim the samples that support it, those that contradict it, the words of the claim that are wrong,
and the words of a sample against them. Words that stand in no claim and quotes that stand in no
sample are not believed.

The claims are the answer's sentences in their order, so that the answer is not shown again, unless
they leave out much of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from resay.core.contradiction import Contradiction
from resay.core.passage import Passage, Sentence
from resay.core.quotes import find_quote
from resay.core.quoting import LEFT_OUT, quotable
from resay.core.scores import Scores, UnsupportedSpan, mean_score
from resay.lang.language import load
from resay.lang.prompts import TogetherPrompt
from resay.providers.base import Completion
from resay.scorers.common.comparing import Row, best_scores, why_inconclusive
from resay.scorers.common.document_verdicts import DocumentVerdict, read_document_verdicts
from resay.scorers.common.fences import Fences
from resay.scorers.common.judging import ParsedAnswer, ask
from resay.scorers.judge import Judge
from resay.scorers.samples import Sample

# For a claim: two lists of numbers, two quotations, and a reason.
_TOKENS_OF_VERDICT = 120
# Claims that leave out more of an answer than this may refer to what they leave out.
_MOST_LEFT_OUT = 0.25
# Of the answer that is shown beside its claims.
_MAX_ANSWER_CHARS = 2_000

_NUMBERS: Final = {"type": "array", "items": {"type": "integer"}}
_VERDICT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "claim": {"type": "integer"},
        "supported_by": _NUMBERS,
        "contradicted_by": _NUMBERS,
        "words": {"type": "string"},
        "quote": {"type": "string"},
    },
    "required": ["claim", "supported_by", "contradicted_by"],
    "additionalProperties": False,
}


def render(
    claims: Sequence[str],
    samples: Sequence[Sample],
    conversation: str = "",
    *,
    answer: str = "",
    prompt: TogetherPrompt | None = None,
    brief: bool = False,
) -> str:
    """Return the prompt about the claims of an answer and several samples.

    Args:
        claims: The claims, to be numbered from 1.
        samples: The samples; the prompt shows the index of each plus 1.
        conversation: The conversation that all of them answer; empty if unknown.
        answer: The answer that the claims are from; empty if they tell enough of it.
        prompt: The wording; None for the English one.
        brief: Whether the judge is to give a short reason for each verdict.
    """
    wording = prompt or load("en").prompts.together
    listed = "\n".join(f"{i}. {' '.join(claim.split())}" for i, claim in enumerate(claims, 1))
    texts = [sample.derived(quotable).strip() for sample in samples]
    fences = Fences.around(conversation, answer, listed, *texts)
    shown = "\n".join(
        fences.enclose("sample", text, number=sample.index + 1)
        for sample, text in zip(samples, texts, strict=True)
    )
    instructions = (wording.about if conversation else "") + wording.rules
    parts = [
        wording.task,
        *([fences.enclose("conversation", conversation)] if conversation else []),
        *([fences.enclose("answer", answer)] if answer else []),
        fences.enclose("samples", shown),
        fences.enclose("claims", listed),
        f"{instructions} {wording.brief}" if brief else instructions,
        f"{wording.example}\n{_example(wording, brief=brief)}",
    ]
    return "\n\n".join(parts)


def _example(wording: TogetherPrompt, *, brief: bool) -> str:
    """Return the answer to the example of a prompt."""
    contradicted: dict[str, Any] = {
        "claim": 1,
        "supported_by": [],
        "contradicted_by": [1],
        "words": wording.words,
        "quote": wording.quote,
    }
    supported: dict[str, Any] = {"claim": 2, "supported_by": [1], "contradicted_by": []}
    verdicts = [contradicted, supported]
    if brief:
        reasons = zip(wording.reasons, verdicts, strict=True)
        verdicts = [{"reason": reason, **verdict} for reason, verdict in reasons]
    return _written(verdicts)


def _written(verdicts: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _schema(*, brief: bool) -> Mapping[str, Any]:
    """Return the JSON Schema of an answer."""
    verdict = _VERDICT
    if brief:
        # Models write the properties in this order, and the reason is to come before the verdict.
        verdict = {
            **_VERDICT,
            "properties": {"reason": {"type": "string"}, **_VERDICT["properties"]},
            "required": ["reason", *_VERDICT["required"]],
        }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": verdict}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def answer_beside(passage: Passage) -> str:
    """Return the answer to show beside its claims, or nothing if they tell enough of it.

    Args:
        passage: The answer, with the claims that are asked about as its `sentences`.
    """
    claims = passage.sentences
    told = sum(len(claim.text) for claim in claims)
    if told >= (1 - _MOST_LEFT_OUT) * len(passage.text.strip()):
        return ""
    if len(passage.text) <= _MAX_ANSWER_CHARS:
        return quotable(passage.text).strip()
    # What claims refer to usually comes before them.
    end = max(claims[-1].end, _MAX_ANSWER_CHARS)
    start = end - _MAX_ANSWER_CHARS
    told_there = sum(len(claim.text) for claim in claims if claim.start >= start)
    if told_there >= (1 - _MOST_LEFT_OUT) * _MAX_ANSWER_CHARS:
        end = claims[0].start
    shown = quotable(passage.text[max(end - _MAX_ANSWER_CHARS, 0) : end]).strip()
    if not shown:
        return ""
    return f"{LEFT_OUT} {shown} {LEFT_OUT}"


async def ask_about_samples(
    judge: Judge,
    passage: Passage,
    samples: Sequence[Sample],
    conversation: str = "",
    *,
    restate: bool,
    language: str = "en",
    brief: bool = False,
) -> ParsedAnswer[DocumentVerdict]:
    """Ask a judge which samples support and contradict which claims, in one call.

    Args:
        judge: The judge.
        passage: The answer, with the claims to ask about as its `sentences`.
        samples: The samples.
        conversation: The conversation that all of them answer; empty if unknown.
        restate: Whether to ask once more for an answer that cannot be parsed.
        language: The language of the prompt.
        brief: Whether the judge is to give a short reason for each verdict.

    Returns:
        The verdict on each claim, by the indexes of the samples.
    """
    claims = [sentence.standalone for sentence in passage.sentences]
    indexes = [sample.index for sample in samples]
    wording = load(language).prompts.together

    def parse(answer: Completion) -> list[DocumentVerdict | None]:
        return read_document_verdicts(answer.text, len(claims), indexes, was_cut=answer.was_cut)

    question = render(
        claims,
        samples,
        conversation,
        answer=answer_beside(passage),
        prompt=wording,
        brief=brief,
    )
    form = _example(wording, brief=brief)
    again = wording.again.format(count=len(claims), form=form)
    return await ask(
        judge,
        question,
        parse,
        again if restate else None,
        tokens=_TOKENS_OF_VERDICT,
        schema=_schema(brief=brief),
    )


@dataclass(slots=True)
class Comparison:
    """What a judge said about the claims of a passage and its samples, call by call.

    Attributes:
        passage: The claims, as its `sentences`.
        contradicted: The entry of a sample that contradicts a claim.
        silent: The entry of a sample that does not speak of it.
        source: What the samples are.
        samples: The samples compared so far.
    """

    passage: Passage
    contradicted: float
    silent: float
    source: Literal["sample", "reference"] = "sample"
    samples: list[Sample] = field(default_factory=list[Sample])
    _verdicts: list[dict[int, DocumentVerdict]] = field(
        default_factory=list[dict[int, DocumentVerdict]]
    )
    _unread: list[set[int]] = field(default_factory=list[set[int]])
    _failures: list[str] = field(default_factory=list[str])
    _undetermined: int = 0

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
            self.samples.append(sample)
            self._verdicts.append(verdicts)
            self._unread.append(unread)

    @property
    def columns(self) -> list[Row]:
        """For each sample, the entry of each claim; None for a claim without a verdict."""
        columns: list[Row] = []
        for sample, verdicts in zip(self.samples, self._verdicts, strict=True):
            column: list[float | None] = []
            for claim in range(len(self.passage.sentences)):
                verdict = verdicts.get(claim)
                column.append(None if verdict is None else self._entry(verdict, sample.index))
            columns.append(tuple(column))
        return columns

    def _entry(self, verdict: DocumentVerdict, sample: int) -> float:
        if sample in verdict.supports:
            return 0.0
        return self.contradicted if sample in verdict.contradicts else self.silent

    def scores(self, *, any_of: bool) -> Scores:
        """Return the scores so far.

        Args:
            any_of: Whether one supporting text is enough, as with documents.
        """
        columns = self.columns
        count = len(self.passage.sentences)
        silent = tuple(self._silent_samples(claim) for claim in range(count))
        rows = [[column[claim] for column in columns] for claim in range(count)]
        means = best_scores(columns, silent, count) if any_of else [mean_score(row) for row in rows]
        lost = [claim for claim in range(count) if any(claim in unread for unread in self._unread)]
        return Scores(
            sentences=tuple(means),
            columns=tuple(columns),
            silent=silent,
            reasons=tuple(self._why(claim) for claim in range(count)),
            failures=tuple(self._failures),
            lost=tuple(claim for claim in lost if means[claim] is None),
            undetermined=self._undetermined,
            error=why_inconclusive(rows, self._failures, sum(map(len, self._unread))),
            spans=tuple(self._unsupported_spans(claim) for claim in range(count)),
            contradictions=tuple(self._contradiction(claim) for claim in range(count)),
            denied=tuple(bool(self._against(claim)) for claim in range(count)),
        )

    def _verdicts_on(self, claim: int) -> list[tuple[Sample, DocumentVerdict]]:
        pairs = zip(self.samples, self._verdicts, strict=True)
        return [(sample, by_claim[claim]) for sample, by_claim in pairs if claim in by_claim]

    def _silent_samples(self, claim: int) -> tuple[int, ...]:
        places: list[int] = []
        for place, (sample, verdicts) in enumerate(zip(self.samples, self._verdicts, strict=True)):
            verdict = verdicts.get(claim)
            if verdict is not None and sample.index not in (
                *verdict.supports,
                *verdict.contradicts,
            ):
                places.append(place)
        return tuple(places)

    def _against(self, claim: int) -> list[tuple[Sample, DocumentVerdict]]:
        return [(s, v) for s, v in self._verdicts_on(claim) if s.index in v.contradicts]

    def _why(self, claim: int) -> str | None:
        """Explain a score: how many samples support and contradict the claim."""
        verdicts = self._verdicts_on(claim)
        if not verdicts:
            return None
        total = len(verdicts)
        supporting = sum(sample.index in verdict.supports for sample, verdict in verdicts)
        against = len(self._against(claim))
        if not supporting and not against:
            return f"not mentioned by any of {total} texts compared"
        if not against:
            return f"supported by {supporting} of {total} texts compared"
        contradicted = f"contradicted by {against} of {total} texts compared"
        return f"{contradicted}, supported by {supporting}" if supporting else contradicted

    def _unsupported_spans(self, claim: int) -> tuple[UnsupportedSpan, ...]:
        """Return the spans of the words of a claim that the judge finds wrong."""
        sentence = self.passage.sentences[claim]
        spans: list[UnsupportedSpan] = []
        for _, verdict in self._verdicts_on(claim):
            score = 1.0 if verdict.contradicts else self.silent
            for start, end in verdict.spans_in(sentence.text):
                span = UnsupportedSpan(sentence.start + start, sentence.start + end, score)
                if span not in spans:
                    spans.append(span)
        return tuple(sorted(spans, key=lambda span: span.start))

    def _contradiction(self, claim: int) -> Contradiction | None:
        """Return the sentence of a sample that the judge quotes against a claim."""
        for sample, verdict in self._against(claim):
            quotes = (find_quote(quote, sample.text) for quote in verdict.quotes)
            span = next((span for span in quotes if span is not None), None)
            if span is None:
                continue
            sentence = _sentence_at(span[0], sample)
            own = self._unsupported_spans(claim)
            return Contradiction(
                source=self.source,
                index=sample.index,
                text=sentence.text,
                claim_span=(own[0].start, own[0].end) if own else None,
                evidence_span=(
                    max(span[0] - sentence.start, 0),
                    min(span[1], sentence.end) - sentence.start,
                ),
            )
        return None


def _sentence_at(position: int, sample: Sample) -> Sentence:
    for sentence in sample.passage.sentences:
        if sentence.start <= position < sentence.end:
            return sentence
    return Sentence(sample.text, 0, len(sample.text))
