"""Measures of semantic uncertainty (`semantic`) on one matrix of entailments.

The response and the samples are n texts that answer the same question. A classifier, or a judge,
estimates the probabilities that text i entails text j (e_ij), contradicts it (c_ij), or does
neither (u_ij). All methods and measures of a check share this matrix.

Of the whole response:

    entropy       Kuhn, Gal and Farquhar, "Semantic Uncertainty", ICLR 2023; Farquhar, Kossen, Kuhn
                  and Gal, Nature 630, 2024. Texts that entail each other are one meaning. With p_k
                  the share of the texts with meaning k, H = -sum_k p_k log p_k. `weighted: true`
                  takes for p_k the sum of the texts' probabilities, exp of the mean log-probability
                  of their tokens, divided by the sum over all. Score: H / log n.
    sets          Lin, Trivedi and Sun, "Generating with Confidence", TMLR 2024: the number of
                  meanings m. Score: (m - 1) / (n - 1).
    eigenvalues   The same. W_ij = (a_ij + a_ji) / 2 with a = e, or 1 - c; L = I - D^-1/2 W D^-1/2;
                  U = sum_k max(0, 1 - lambda_k), which is 1 for one meaning and n for n. Score:
                  (U - 1) / (n - 1).
    degree        The same. U = trace(n I - D) / n^2. Score: U n / (n - 1), the mean of 1 - W_ij.
    eccentricity  The same. U = ||(v_1 - v, ..., v_n - v)||, with v_j the entries for text j of the
                  eigenvectors of L with eigenvalues under `cutoff`, and v their mean. Score:
                  U / sqrt(n - 1).
    kernel        Nikitin, Kossen, Gal and Marttinen, "Kernel Language Entropy", NeurIPS 2024. W_ij
                  counts 1 for each direction with entailment, 1/2 for each that is neutral;
                  K = exp(-t (D - W)), scaled to K_ii = 1/n; the von Neumann entropy
                  -tr(K log K). Score: divided by log n.
    density       Qiu and Miikkulainen, "Semantic Density", NeurIPS 2024. The density of the
                  samples at the response, sum_i p_i k_i / sum_i p_i, with the kernel
                  k_i = 1 - (c_0i + u_0i / 2), and p_i as above with `weighted: true`, as published,
                  else 1. Score: 1 - density.

Of each sentence or claim s of the response; the passage score is the mean but for `luq`:

    luq           Zhang, Liu, Basaldella and Collier, "LUQ", EMNLP 2024. With P(s | j) =
                  e / (e + c) of text j and s, the confidence of text i is the mean of P over its
                  sentences and all other texts; a sentence's score is 1 - its mean P, and the
                  passage score is 1 - the mean confidence of all n texts.
    luq_atomic    The same of claims in place of sentences.
    entailment    Bouchard et al., arXiv 2602.17431, claim-response entailment: 1 - the mean of
                  P(entailment) over the samples.
    closeness     Jiang, Ruan, Sattigeri, Roukos and Hashimoto, "Graph-based Uncertainty Metrics",
                  NeurIPS 2024. Claims and texts are a graph with an edge where the text entails the
                  claim with at least `edge`. Score: 1 - the closeness centrality of the claim.

`luq` and `closeness` also include the samples' own sentences or claims, as published: the claims of
all texts are nodes, without duplicates, where the paper has a model merge them. `units: response`
leaves the samples' own units out, which is n times cheaper; the passage score of `luq` is then
1 - the confidence of the response alone.

An answer of the judge that cannot be parsed counts as neutral in the measures of whole texts, as in
the code released with semantic entropy, and is left out of means. If a call failed, the affected
sample is left out; if half of the texts are lost, the result is inconclusive.

Cost: n (n - 1) classifications for the measures of whole texts, at most as many for `entropy` and
`sets`, n - 1 for `density`, N |R| for `entailment`, n^2 |R| for `luq` and `closeness`; with
`by: judge` one call for each premise, n in all, or one for each pair with `form: published`. Good
at: short answers that are worded differently. Bad at: long answers, which hardly ever entail each
other as a whole: use the measures of claims for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log, sqrt
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from resay._internal.event_loops import compute
from resay._internal.plurals import counted
from resay.core.claims import Rules
from resay.core.failures import tally
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.scores import Scores, mean_score
from resay.scorers.base import TEXTS_COMPARED, Need, ScorerTraits
from resay.scorers.common.entailing import EntailingConfig, EntailingScorer
from resay.scorers.common.semantic_measures import (
    Affinity,
    Equivalence,
    Matrix,
    affinities,
    are_equivalent,
    closeness,
    degree,
    density,
    eccentricity,
    eigenvalues,
    entropy,
    kernel_entropy,
    meanings,
)
from resay.scorers.entailments import Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.samples import SPLITTING

Measure = Literal[
    "entropy",
    "sets",
    "eigenvalues",
    "degree",
    "eccentricity",
    "kernel",
    "density",
    "luq",
    "luq_atomic",
    "entailment",
    "closeness",
]
_OF_CLAIMS = frozenset({"luq", "luq_atomic", "entailment", "closeness"})
_WEIGHABLE = frozenset({"entropy", "density"})


class Semantic(EntailingScorer):
    """Measures how far the response and the samples have the same meaning."""

    name: ClassVar[str] = "semantic"

    class Config(EntailingConfig):
        """Settings of `semantic`."""

        method: Literal["semantic"] = "semantic"
        measure: Measure = Field(
            default="entailment",
            description="What to measure. For claims: entailment, closeness, luq_atomic; for"
            " sentences: luq; for the whole response: entropy, sets, eigenvalues, degree,"
            " eccentricity, kernel, density.",
        )
        weighted: bool = Field(
            default=False,
            description="For entropy and density: whether to weight texts by the probabilities of"
            " their tokens, which the provider must return for the samples too.",
        )
        equivalence: Equivalence = Field(
            default="both",
            description="For entropy and sets: which texts mean the same: two that entail each"
            " other (both), two of which one entails the other and neither contradicts the other"
            " (lax), or two of which one entails the other (either).",
        )
        affinity: Affinity = Field(
            default="entailment",
            description="For eigenvalues, degree and eccentricity: the similarity of two texts: the"
            " probability of entailment, or 1 minus that of contradiction.",
        )
        cutoff: float = Field(
            default=0.9,
            gt=0,
            le=2,
            description="For eccentricity: use only eigenvectors with eigenvalues below this.",
        )
        heat: float = Field(default=0.3, gt=0, description="For kernel: t of the heat kernel.")
        edge: float = Field(
            default=0.5,
            gt=0,
            le=1,
            description="For closeness: the minimum probability of entailment for an edge between a"
            " text and a claim.",
        )
        units: Literal["all", "response"] = Field(
            default="all",
            description="For luq, luq_atomic and closeness: compare the statements of the samples"
            " with all texts too, as published (all), or only those of the response (response).",
        )
        question: bool = Field(
            default=True,
            description="With `by: nli`, for the measures of whole texts: whether to put the"
            " question before each text, as published.",
        )

        @model_validator(mode="after")
        def _must_be_weighable(self) -> Semantic.Config:
            if self.weighted and self.measure not in _WEIGHABLE:
                raise ValueError(
                    f"`weighted` has no meaning for `measure: {self.measure}`; omit it, or use"
                    " entropy or density"
                )
            return self

    def __init__(self, config: Semantic.Config | None = None) -> None:
        self.config = config or self.Config()
        super().__init__(self.config)
        self.traits = ScorerTraits(
            by_text=self.config.measure not in _OF_CLAIMS,
            by_sentence=self.config.measure == "entailment",
        )
        needs: set[Need] = {"samples", *self._entailing.needs}
        if self.config.weighted:
            needs |= {"logprobs", "sample_logprobs"}
        self.needs = frozenset(needs)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compute the measure.

        Args:
            passage: The response; its `sentences` are scored by the measures of claims.
            evidence: The samples, the entailments, and the judge's provider.

        Returns:
            A passage score, or sentence scores; the measure's own value in `raw_passage`.

        Raises:
            ConfigurationError: The model cannot be loaded, or has the wrong labels.
            ScorerError: The model failed, or no judge is available.
        """
        await evidence.samples.all()
        if not len(evidence.samples):
            return Scores(error="there are no samples to compare with")
        if self.config.measure in _OF_CLAIMS:
            return await self._of_claims(passage, evidence)
        return await self._of_texts(passage, evidence)

    async def _of_texts(self, passage: Passage, evidence: Evidence) -> Scores:
        """Return the score of the whole response."""
        config = self.config
        weights = self._weights(evidence) if config.weighted else None
        if config.weighted and weights is None:
            return Scores(
                error="the response or a sample came without the probabilities of its"
                " tokens, which `weighted` needs"
            )
        texts = [passage.text, *(sample.text for sample in evidence.samples.arrived)]
        question = evidence.request.question if config.question else ""
        if question and config.by == "nli":
            texts = [f"{question}\n{text}" for text in texts]
        pairs, entailed = await self._entailments_among(texts, evidence)
        complete = entailed.complete(texts, pairs)
        lost = len(texts) - len(complete)
        problem = entailed.missing_reason(pairs)
        if problem is None and 2 * len(complete) <= len(texts):
            failed = tally(entailed.failures)
            problem = f"comparisons with {lost} of {len(texts)} answers failed ({failed})"
        if problem is not None:
            return Scores(
                failures=entailed.failures,
                undetermined=entailed.undetermined(pairs),
                error=problem,
            )
        weights = weights and [weights[i] for i in complete]
        texts = [texts[i] for i in complete]
        matrix = [[entailed.relation(text, other) for other in texts] for text in texts]
        # Each sweep of rotations takes time cubic in their number.
        measure = partial(self._measured, matrix, weights)
        measured = await compute(measure, chars=50 * len(texts) ** 3)
        return Scores(
            passage=min(max(measured.score, 0.0), 1.0),
            raw_passage=measured.value,
            passage_reason=measured.reason,
            failures=entailed.failures,
            undetermined=entailed.undetermined(pairs),
        )

    async def _entailments_among(
        self, texts: Sequence[str], evidence: Evidence
    ) -> tuple[list[Pair], Entailed]:
        """Compute the entries that the measure needs; return their pairs, and all entries."""
        config, n = self.config, range(len(texts))
        is_together = config.by == "judge" and config.form == "together"
        if config.measure not in {"entropy", "sets"} or is_together:
            premises = [0] if config.measure == "density" else n
            pairs = [(texts[i], texts[j]) for i in premises for j in n if i != j]
            return pairs, await self._entailing.find(pairs, evidence)
        # Until a text has a meaning, it is compared only with the first text of each meaning.
        pairs, failures, entailed = list[Pair](), tuple[str, ...](), Entailed({})
        open_texts = list(texts)
        while len(open_texts) > 1:
            first, *others = open_texts
            missing: list[Pair] = []
            for text in others:
                missing += [(first, text), (text, first)]
            pairs += missing
            entailed = await self._entailing.find(missing, evidence)
            failures += entailed.failures
            open_texts = list[str]()
            for text in others:
                there, back = entailed.relation(first, text), entailed.relation(text, first)
                if not are_equivalent(there, back, config.equivalence):
                    open_texts.append(text)
        return pairs, Entailed(entailed.by_pair, failures)

    def _measured(self, matrix: Matrix, weights: Sequence[float] | None) -> _Measured:
        config, n = self.config, len(matrix)
        measure = config.measure
        if measure == "density":
            value = density(matrix[0][1:], weights and weights[1:])
            return _Measured(
                value, 1.0 - value, f"density {value:.2f} among {counted(n - 1, 'sample')}"
            )
        if measure in {"entropy", "sets"}:
            meaning_of_each = meanings(matrix, config.equivalence)
            count = len(set(meaning_of_each))
            explanation = f"{counted(count, 'meaning')} in {n} answers"
            if measure == "sets":
                return _Measured(count, (count - 1) / (n - 1), explanation)
            value = entropy(meaning_of_each, weights)
            return _Measured(value, value / log(n), f"{explanation}, entropy {value:.2f}")
        if measure == "kernel":
            value = kernel_entropy(matrix, config.heat)
            return _Measured(value, value / log(n), f"entropy {value:.2f} of {n} answers")
        w = affinities(matrix, config.affinity)
        if measure == "eigenvalues":
            value = eigenvalues(w)
            score = (value - 1) / (n - 1)
        elif measure == "degree":
            value = degree(w)
            score = value * n / (n - 1)
        else:
            value = eccentricity(w, config.cutoff)
            score = value / sqrt(n - 1)
        return _Measured(value, score, f"{measure} {value:.2f} of {n} answers")

    def _weights(self, evidence: Evidence) -> list[float] | None:
        """Return the probability of the response and of each sample; None if one is unknown."""
        weights: list[float] = []
        for tokens in (evidence.logprobs, *(s.logprobs for s in evidence.samples.arrived)):
            weight = _probability(tokens)
            if weight is None:
                return None
            weights.append(weight)
        return weights

    async def _of_claims(self, passage: Passage, evidence: Evidence) -> Scores:
        """Return the scores of sentences or claims."""
        config, samples = self.config, evidence.samples.arrived
        includes_samples = config.units == "all" and config.measure != "entailment"
        question = evidence.request.question
        is_atomic = config.measure != "luq"

        def read() -> list[list[str]]:
            if is_atomic:
                own = [sentence.standalone for sentence in passage.sentences]
            else:
                own = _sentences(passage)
            of_samples: list[list[str]] = []
            if includes_samples:
                of_samples = [_units(sample.passage, question, is_atomic) for sample in samples]
            return [own, *of_samples]

        chars = SPLITTING * (len(passage.text) + includes_samples * evidence.samples.chars)
        units_by_text = await compute(read, chars=chars)
        texts = [passage.text, *(sample.text for sample in samples)]
        if config.measure == "closeness":
            return await self._closeness(units_by_text, texts, evidence)
        # Each unit is compared with every text but its own.
        pairs_by_text: list[list[list[Pair]]] = []
        for number, units in enumerate(units_by_text):
            others = [text for other, text in enumerate(texts) if other != number]
            pairs_by_text.append([[(text, unit) for text in others] for unit in units])
        pairs = [pair for of_text in pairs_by_text for of_unit in of_text for pair in of_unit]
        entailed = await self._entailing.find(pairs, evidence)
        trust = _support if config.measure == "entailment" else _contrasted
        means_by_text: list[list[float | None]] = []
        for of_text in pairs_by_text:
            means = [
                mean_score([trust(entailed.by_pair.get(pair)) for pair in of_unit])
                for of_unit in of_text
            ]
            means_by_text.append(means)
        passage_score = None
        if config.measure != "entailment":
            # The mean over the units of each text, then over the texts.
            confidences: list[float | None] = []
            for units, means in zip(units_by_text, means_by_text, strict=True):
                # `luq` asks once about a sentence with several claims.
                mean_by_unit = dict(zip(units, means, strict=True))
                confidences.append(mean_score(list(mean_by_unit.values())))
            confidence = mean_score(confidences)
            passage_score = None if confidence is None else 1.0 - confidence
        scores = [None if mean is None else 1.0 - mean for mean in means_by_text[0]]
        return _of_units(scores, passage_score, pairs, entailed, len(samples))

    async def _closeness(
        self, claims_by_text: Sequence[Sequence[str]], texts: Sequence[str], evidence: Evidence
    ) -> Scores:
        own, *of_samples = claims_by_text
        claims = list(own)
        forms = {_folded(claim) for claim in claims}
        for claim in (claim for of_sample in of_samples for claim in of_sample):
            if _folded(claim) not in forms:
                forms.add(_folded(claim))
                claims.append(claim)
        pairs = [(text, claim) for claim in claims for text in texts]
        entailed = await self._entailing.find(pairs, evidence)
        by_pair = entailed.by_pair
        # A text with an unknown entry is not a node.
        nodes = [text for text in texts if all((text, claim) in by_pair for claim in claims)]

        def measure() -> list[float]:
            edge = self.config.edge
            return closeness(
                [[_has_edge(by_pair[text, claim], edge) for text in nodes] for claim in claims]
            )

        centralities = await compute(measure, chars=10 * len(claims) ** 2 * len(texts))
        scores: list[float | None] = []
        for claim, centrality in zip(own, centralities, strict=False):
            is_known = any(by_pair[text, claim] for text in nodes)
            has_enough = 2 * len(nodes) > len(texts)
            scores.append(1.0 - centrality if has_enough and is_known else None)
        return _of_units(scores, None, pairs, entailed, len(texts) - 1)


@dataclass(frozen=True, slots=True)
class _Measured:
    value: float
    score: float
    reason: str


def _of_units(
    scores: Sequence[float | None],
    passage: float | None,
    pairs: Sequence[Pair],
    entailed: Entailed,
    samples: int,
) -> Scores:
    reasons: list[str | None] = []
    for score in scores:
        support = None if score is None else f"support {1 - score:.2f}"
        reasons.append(support and f"{support} in {samples} {TEXTS_COMPARED}")
    return Scores(
        sentences=tuple(None if score is None else min(max(score, 0.0), 1.0) for score in scores),
        passage=passage,
        reasons=tuple(reasons),
        failures=entailed.failures,
        lost=tuple(unit for unit, score in enumerate(scores) if score is None),
        undetermined=entailed.undetermined(pairs),
        error=entailed.missing_reason(pairs),
    )


def _sentences(passage: Passage) -> list[str]:
    """Return for each unit of a passage the sentence that contains it."""
    sentences = Passage.of(passage.text).sentences
    starts = [sentence.start for sentence in sentences]
    containing: list[str] = []
    for unit in passage.sentences:
        index = bisect_right(starts, unit.start) - 1
        is_inside = index >= 0 and unit.end <= sentences[index].end
        containing.append(sentences[index].text if is_inside else unit.standalone)
    return containing


def _units(passage: Passage, question: str, is_atomic: bool) -> list[str]:
    """Return the sentences of a sample, or its claims."""
    if not is_atomic:
        return [sentence.text for sentence in passage.sentences]
    rules = Rules(question)
    units: list[str] = []
    for index, sentence in enumerate(passage.sentences):
        units += [claim.standalone for claim in rules.read(sentence, index) if claim.is_checkable]
    return units


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _support(entailment: Entailment | None) -> float | None:
    return None if entailment is None else entailment.entails


def _contrasted(entailment: Entailment | None) -> float | None:
    """Return P(entailment) relative to contradiction; 1/2 if both are 0."""
    if entailment is None:
        return None
    either = entailment.entails + entailment.contradicts
    return entailment.entails / either if either else 0.5


def _has_edge(entailment: Entailment | None, edge: float) -> bool:
    return entailment is not None and entailment.entails >= edge


_LOWEST_LOGPROB = -100.0


def _probability(tokens: Sequence[TokenLogprob]) -> float | None:
    logprobs = [token.logprob for token in tokens if token.logprob is not None]
    return exp(max(fmean(logprobs), _LOWEST_LOGPROB)) if logprobs else None
