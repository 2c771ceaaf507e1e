"""Verbalised confidence, normalised by that in distractors (`dinco`).

Wang and Stengel-Eskin, "Calibrating Verbalized Confidence with Self-Generated Distractors",
arXiv 2509.25532, ICLR 2026 (DiNCo). A model that knows little about a matter believes whatever it
is shown. So it is asked for its confidence in a claim and, separately, in alternatives that it
wrote itself and that exclude the claim. With p(c) its confidence in the claim, p(d) in a
distractor, and the entailment between them from a classifier or a judge,

    beta = p(c) + sum_d p(d) w_c(d) w_u(d)
    w_c(d) = the mean of P(contradiction) of c and d in both directions
    w_u(d) = 1 / (1 + the sum of P(entailment) of d by the other distractors)
    NVC    = p(c) / max(1, beta)

so that distractors count as far as they contradict the claim, and distractors with the same meaning
count once. The confidence is the mean of NVC and the claim's self-consistency, its mean
P(entailment) by the samples; the score is 1 minus the confidence. `consistency: false` leaves out
the samples, and `distractors: 0` the distractors: then it is plain verbalised confidence.

p is P(Yes) of the answer's first token relative to Yes and No, as published; if the provider
returns no token probabilities, it is the share of Yes among `votes` answers. The prompts are the
paper's for biographies, generalised: "a fact" replaces "a fact about a person", and the topic is
the question. The paper finds distractors by beam search; here they are `distractors` answers to one
prompt, without duplicates.

Cost, per claim: 1 call for distractors if the provider supports `n`, else `distractors` calls; 1
for the claim and 1 for each distractor, `votes` times as many without token probabilities and `n`;
at most `max_calls` in total, beyond which no distractors are drawn. The classifications, or the
calls of `by: judge`, are extra. Good at: claims that a model repeats without knowing. Bad at: cost,
and claims without a close alternative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from resay._internal.patterns import lazy_pattern
from resay._internal.plurals import counted
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import Scores, mean_score
from resay.providers.base import Completion
from resay.providers.metering import Metered
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.entailing import EntailingConfig, EntailingScorer
from resay.scorers.common.judge_calls import ParsedAnswer, ask_each, ask_together, unscored_reason
from resay.scorers.common.judge_confidence import By, ask_probability
from resay.scorers.common.judge_config import judge_for, judge_requests
from resay.scorers.common.judge_words import TRUTH
from resay.scorers.common.yes_no import strip_decoration
from resay.scorers.entailments import Entailed, Entailment, Pair, pairs_among
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge

_DISTRACTOR = """\
You will be given a fact. Assuming the fact is accurate, your task is to generate a \
plausible but inaccurate statement of a similar nature. The distractor statement should form a \
minimal pair with the original statement, i.e. the distractor should be as similar to the original \
as possible while ensuring that the distractor is not factual. The distractor should be crafted so \
that someone with only superficial knowledge about the topic is likely to be fooled.

Let's see some examples before the real task.

Topic: Barack Obama
Fact: Barack Obama was born in Hawaii.
Distractor: Barack Obama was born in Kenya.

Topic: Wright brothers
Fact: Wright airplanes were involved in fatal crashes.
Distractor: Wright airplanes were praised for their safety.

Topic: John Clempert
Fact: John Clempert was inspired by Houdini when developing acts.
Distractor: John Clempert was inspired by Penn and Teller when developing acts.

Now for the real task. Only output a distractor as in the examples.

Topic: {topic}
Fact: {claim}
Distractor:"""
_CONFIDENCE = """\
Your task is to determine whether the following claim related to {topic} is correct. Only output \
"Yes" (correct) or "No" (incorrect).

Claim: {claim}

Yes or No:"""
_RESTATED = "Answer with one word, Yes or No. Is the claim correct?"
_LABEL = lazy_pattern(r"^[\W_]*distractor[*_\s]*[:：]", re.IGNORECASE)
_MAX_CHARS = 1000


def render_distractor(topic: str, claim: str) -> str:
    """Return the prompt that asks for an alternative to a claim."""
    return _DISTRACTOR.format(topic=topic, claim=claim)


def render_confidence(topic: str, claim: str) -> str:
    """Return the prompt that asks whether a claim is correct."""
    return _CONFIDENCE.format(topic=topic, claim=claim)


def normalised(
    confidence: float,
    distractors: Sequence[float],
    claim_to: Sequence[Entailment],
    to_claim: Sequence[Entailment],
    between: Sequence[Sequence[Entailment]],
) -> float:
    """Return the normalised verbalised confidence in a claim, in [0, 1].

    Args:
        confidence: The confidence in the claim.
        distractors: The confidence in each distractor.
        claim_to: The relation of the claim to each distractor.
        to_claim: The relation of each distractor to the claim.
        between: The relation of distractor i to distractor j.
    """
    beta = confidence
    for j, p in enumerate(distractors):
        contradicts = (claim_to[j].contradicts + to_claim[j].contradicts) / 2
        alike = sum(row[j].entails for i, row in enumerate(between) if i != j)
        beta += p * contradicts / (1.0 + alike)
    return confidence / max(1.0, beta)


@dataclass(frozen=True, slots=True)
class _Confidences:
    """The confidence in one claim, and in each of its distractors."""

    claim: ParsedAnswer[float]
    distractors: Mapping[str, float]
    failures: tuple[str, ...] = ()


class Dinco(EntailingScorer):
    """Asks a model for its confidence in claims and in alternatives to them."""

    name: ClassVar[str] = "dinco"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_sentence=True)

    class Config(EntailingConfig):
        """Settings of `dinco`."""

        method: Literal["dinco"] = "dinco"
        asked: str | None = Field(
            default=None,
            description="The model to ask for its confidence; null = the model that wrote the"
            " response.",
        )
        distractors: int = Field(
            default=5, ge=0, le=20, description="The number of alternatives to draw for each claim."
        )
        consistency: bool = Field(
            default=True,
            description="Whether the samples' support for a claim makes up half of its confidence.",
        )
        confidence: By = Field(
            default="auto",
            description="How to measure the confidence: by the probabilities of the answer's tokens"
            " (logprobs), by the shares of several answers (votes), or by probabilities if the"
            " provider returns them, else by votes (auto).",
        )
        votes: int = Field(
            default=5, ge=1, le=100, description="The number of answers, if measured by votes."
        )
        max_calls: int = Field(
            default=12,
            ge=1,
            le=10_000,
            description="The maximum number of calls for a claim and its alternatives, not counting"
            " the comparisons; alternatives beyond it are not drawn. Less if the check has fewer"
            " calls left. At least `distractors` + `votes`.",
        )

        @model_validator(mode="after")
        def _enough_calls(self) -> Dinco.Config:
            needed = self.distractors + self.votes
            if self.max_calls < needed:
                raise ValueError(
                    f"`max_calls` is {self.max_calls}, but the alternatives and the claim may take"
                    f" {needed} calls (`distractors` + `votes`); raise it, or lower those"
                )
            return self

        @property
        def asks_response_model(self) -> bool:
            """Whether the model that wrote the response is asked."""
            return self.asked is None or super().asks_response_model

        @property
        def judge_requests(self) -> tuple[Request, ...]:
            """Requests to the model whose confidence is asked for, and to the entailment judge."""
            return (*judge_requests(self.asked), *super().judge_requests)

    def __init__(self, config: Dinco.Config | None = None) -> None:
        self.config = config or self.Config()
        super().__init__(self.config)
        needs: set[Need] = {"judge", "question", *self._entailing.needs}
        if self.config.consistency:
            needs.add("samples")
        self.needs = frozenset(needs)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about each claim.

        Args:
            passage: The response; its `sentences` are asked about.
            evidence: The request, the model's provider, and the samples.

        Returns:
            Sentence scores; None if there was no readable answer about the claim itself.

        Raises:
            ConfigurationError: The classifier cannot be loaded, or has the wrong labels.
            ScorerError: The classifier failed, or no model is available.
        """
        # A classifier that cannot be loaded must not cost any calls.
        await self.prepare()
        judge = judge_for(self.config.asked, evidence)
        topic = evidence.quoted_question
        claims = [" ".join(sentence.standalone.split()) for sentence in passage.sentences]
        max_calls = self._calls_per_claim(len(claims), evidence)
        confidences = await ask_each(
            claims, lambda claim: self._ask(judge.about([claim]), topic, claim, max_calls)
        )
        samples: list[str] = []
        if self.config.consistency:
            samples = [sample.text for sample in await evidence.samples.all()]
            if not samples:
                return Scores(error="there are no samples to compare with")
        pairs: list[Pair] = []
        for claim, of_claim in zip(claims, confidences, strict=True):
            pairs += pairs_among([claim, *of_claim.distractors])
            pairs += [(sample, claim) for sample in samples]
        entailed = await self._entailing.find(pairs, evidence)
        scores: list[float | None] = []
        reasons: list[str | None] = []
        failures: list[str] = []
        for claim, of_claim in zip(claims, confidences, strict=True):
            score, explanation = self._scored(claim, of_claim, samples, entailed)
            scores.append(score)
            reasons.append(explanation)
            failures += of_claim.failures
        failures += entailed.failures
        unread = sum(of_claim.claim.undetermined for of_claim in confidences)
        return Scores(
            sentences=tuple(scores),
            reasons=tuple(reasons),
            failures=tuple(failures),
            lost=tuple(i for i, score in enumerate(scores) if score is None),
            undetermined=unread + entailed.undetermined(pairs),
            error=unscored_reason(scores, failures, "no confidence available for {lost}")
            or entailed.missing_reason(pairs),
        )

    def _calls_per_claim(self, claims: int, evidence: Evidence) -> int:
        left = evidence.calls_left()
        if left is None or not claims:
            return self.config.max_calls
        # All claims get their share of what the check may still spend.
        return min(self.config.max_calls, max(left // claims, 1))

    async def _ask(self, judge: Judge, topic: str, claim: str, max_calls: int) -> _Confidences:
        """Ask for the confidence in a claim, for distractors, and for the confidence in these."""
        config = self.config
        meter = Metered(judge.provider)
        judge = replace(judge, provider=meter)

        async def confidence_in(text: str) -> ParsedAnswer[float]:
            return await ask_probability(
                judge,
                render_confidence(topic, text),
                TRUTH,
                _RESTATED if config.restate else None,
                by=config.confidence,
                votes=config.votes,
            )

        of_claim = await confidence_in(claim)
        calls_each = max(meter.usage.calls, 1)
        # Each alternative takes as many calls as the claim, and one to draw it.
        left = max_calls - calls_each
        if await judge.provider.takes_n(judge.request):
            affordable = (left - 1) // calls_each
        else:
            affordable = left // (calls_each + 1)
        count = min(config.distractors, max(affordable, 0))
        drawn: tuple[ParsedAnswer[str], ...] = ()
        if count:
            drawn = await ask_together(
                judge.varied(), render_distractor(topic, claim), _parse, None, count
            )
        texts: dict[str, str] = {}
        # Backwards, so that of several that differ only in form the first is taken.
        for parsed in reversed(drawn):
            (text,) = parsed.slots
            if text is not None:
                texts[_folded(text)] = text
        texts.pop(_folded(claim), None)
        of_texts = await ask_each(texts.values(), confidence_in)
        distractors: dict[str, float] = {}
        for text, parsed in zip(texts.values(), of_texts, strict=True):
            (confidence,) = parsed.slots
            if confidence is not None:
                distractors[text] = confidence
        failures = [kind for parsed in drawn for kind in parsed.failures]
        failures += [kind for parsed in (of_claim, *of_texts) for kind in parsed.failures]
        return _Confidences(of_claim, distractors, tuple(failures))

    def _scored(
        self, claim: str, confidences: _Confidences, samples: Sequence[str], entailed: Entailed
    ) -> tuple[float | None, str | None]:
        """Return the score of a claim, and the reason; None if there is none."""
        (confidence,) = confidences.claim.slots
        distractors = confidences.distractors
        # If failed calls left no distractor, there is nothing to normalise by.
        no_distractors = self.config.distractors > 0 and not distractors
        if confidence is None or (confidences.failures and no_distractors):
            return None, None
        texts = [claim, *distractors]
        # Distractors with an unknown relation to the other texts are dropped.
        complete = entailed.complete(texts, pairs_among(texts))
        texts = [texts[i] for i in complete][1:]
        if distractors and not texts:
            return None, None
        nvc = normalised(
            confidence,
            [distractors[text] for text in texts],
            [entailed.relation(claim, text) for text in texts],
            [entailed.relation(text, claim) for text in texts],
            [[entailed.relation(text, other) for other in texts] for text in texts],
        )
        explanation = f"sure of it {confidence:.2f}"
        if self.config.distractors:
            count = counted(len(texts), "alternative")
            explanation += f", normalised by {count} {nvc:.2f}"
        if not self.config.consistency:
            return 1.0 - nvc, explanation
        relations = [entailed.by_pair.get((sample, claim)) for sample in samples]
        consistency = mean_score([relation.entails for relation in relations if relation])
        if consistency is None:
            return None, None
        return 1.0 - (nvc + consistency) / 2, f"{explanation}; {consistency:.2f} support in samples"


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace(".", "").split())


def _parse(answer: Completion) -> list[str | None]:
    """Parse a distractor: the first line that says something, without its label."""
    lines = (strip_decoration(_LABEL.sub("", line)) for line in answer.text.splitlines())
    text = next(filter(None, lines), "")
    return [" ".join(text.split())[:_MAX_CHARS] or None]
