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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, fsum, hypot, log, sqrt
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.claims import Rules
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.verdict import Scores, mean_score, tally
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.entailments import NEUTRAL, Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.nli import Entailing, EntailingConfig, why_unknown
from resay.scorers.samples import SPLITTING

Equivalence = Literal["both", "lax", "either"]
Affinity = Literal["entailment", "contradiction"]
Matrix = Sequence[Sequence[Entailment]]
"""The relation of text i to text j, by i and j."""
Grid = list[list[float]]


def meanings(matrix: Matrix, equivalence: Equivalence = "both") -> list[int]:
    """Return the meaning of each text, numbered from 0 (Kuhn et al., algorithm 1).

    A text has the meaning of the first earlier text that began a meaning and is equivalent to it.

    Args:
        matrix: The entailments between the texts.
        equivalence: Which texts mean the same: those that entail each other (`both`); pairs in
            which one entails the other and neither contradicts (`lax`, Farquhar et al. for short
            answers about long texts); or pairs in which one entails the other (`either`, uqlm).
    """
    found: list[int] = []
    firsts: list[int] = []
    for i in range(len(matrix)):
        same = (
            k for k, j in enumerate(firsts) if _equivalent(matrix[i][j], matrix[j][i], equivalence)
        )
        meaning = next(same, len(firsts))
        if meaning == len(firsts):
            firsts.append(i)
        found.append(meaning)
    return found


def _equivalent(one: Entailment, other: Entailment, equivalence: Equivalence) -> bool:
    labels = {label(one), label(other)}
    if equivalence == "both":
        return labels == {"entails"}
    return "entails" in labels and (equivalence == "either" or "contradicts" not in labels)


def label(entailment: Entailment) -> Literal["contradicts", "neutral", "entails"]:
    """Return the most probable class; of equal ones, the one further from entailment."""
    entails, neutral = entailment.entails, entailment.neutral
    if entails > max(neutral, entailment.contradicts):
        return "entails"
    return "neutral" if neutral > entailment.contradicts else "contradicts"


def entropy(found: Sequence[int], weights: Sequence[float] | None = None) -> float:
    """Return the entropy of meanings, in nats.

    Args:
        found: The meaning of each text.
        weights: The probability of each text; None for equal weights.
    """
    shares: dict[int, float] = {}
    for meaning, weight in zip(found, weights or [1.0] * len(found), strict=True):
        shares[meaning] = shares.get(meaning, 0.0) + weight
    total = fsum(shares.values())
    return max(-fsum(w / total * log(w / total) for w in shares.values() if w), 0.0)


def affinities(matrix: Matrix, affinity: Affinity = "entailment") -> Grid:
    """Return W of Lin et al., symmetric and with 1 on the diagonal."""

    def like(i: int, j: int) -> float:
        one = matrix[i][j]
        return one.entails if affinity == "entailment" else 1.0 - one.contradicts

    n = range(len(matrix))
    return [[1.0 if i == j else (like(i, j) + like(j, i)) / 2 for j in n] for i in n]


def _laplacian(w: Grid) -> Grid:
    roots = [sqrt(fsum(row)) for row in w]
    n = range(len(w))
    return [[float(i == j) - w[i][j] / (roots[i] * roots[j]) for j in n] for i in n]


def eigenvalues(w: Grid) -> float:
    """Return the sum of eigenvalues of Lin et al., in [1, n]."""
    values, _ = eigen(_laplacian(w))
    return fsum(max(0.0, 1.0 - value) for value in values)


def degree(w: Grid) -> float:
    """Return the degree measure of Lin et al., in [0, 1 - 1/n]."""
    n = len(w)
    return fsum(n - fsum(row) for row in w) / n**2


def eccentricity(w: Grid, cutoff: float = 0.9) -> float:
    """Return the eccentricity of Lin et al., in [0, sqrt(n - 1)]."""
    values, vectors = eigen(_laplacian(w))
    kept = [vector for value, vector in zip(values, vectors, strict=True) if value < cutoff]
    return sqrt(fsum((x - fmean(vector)) ** 2 for vector in kept for x in vector))


_WEIGHTS = {"contradicts": 0.0, "neutral": 0.5, "entails": 1.0}


def kernel_entropy(matrix: Matrix, heat: float = 0.3) -> float:
    """Return the kernel language entropy with the heat kernel, in nats.

    Args:
        matrix: The entailments between the texts.
        heat: t.
    """
    n = range(len(matrix))
    w = [[_WEIGHTS[label(matrix[i][j])] + _WEIGHTS[label(matrix[j][i])] for j in n] for i in n]
    laplacian = [[fsum(w[i][k] for k in n if k != i) if i == j else -w[i][j] for j in n] for i in n]
    values, vectors = eigen(laplacian)
    heats = [exp(-heat * value) for value in values]
    kernel = [
        [fsum(h * v[i] * v[j] for h, v in zip(heats, vectors, strict=True)) for j in n] for i in n
    ]
    scaled = [[kernel[i][j] / sqrt(kernel[i][i] * kernel[j][j]) / len(n) for j in n] for i in n]
    return max(-fsum(x * log(x) for x in eigen(scaled)[0] if x > _ZERO), 0.0)


def density(row: Sequence[Entailment], weights: Sequence[float] | None = None) -> float:
    """Return the semantic density of a response, in [0, 1].

    Args:
        row: The relation of the response to each sample.
        weights: The probability of each sample; None for equal weights.
    """
    weights = weights or [1.0] * len(row)
    kernels = [1.0 - (one.contradicts + one.neutral / 2) for one in row]
    return fsum(w * k for w, k in zip(weights, kernels, strict=True)) / fsum(weights)


def closeness(edges: Sequence[Sequence[bool]]) -> list[float]:
    """Return the closeness centrality of claims among claims and texts, in [0, 1].

    With m texts and k claims it is (m + 2 (k - 1)) over the sum of the distances to all nodes that
    can be reached, times their share of all nodes.

    Args:
        edges: By claim and text, whether the text entails the claim.
    """
    claims, texts = range(len(edges)), range(len(edges[0]) if edges else 0)
    total = len(claims) + len(texts)
    # The claims of each text as a bit mask: sets would be too slow.
    entailed = [sum(1 << i for i in claims if edges[i][j]) for j in texts]
    found: list[float] = []
    for start in claims:
        stop_if_abandoned()
        distance, summed, unseen = 0, 0, entailed
        near = seen = 1 << start
        while near:
            there = [text for text in unseen if text & near]
            unseen = [text for text in unseen if not text & near]
            near = 0
            for text in there:
                near |= text
            near &= ~seen
            seen |= near
            summed += (distance + 1) * len(there) + (distance + 2) * near.bit_count()
            distance += 2
        reached = seen.bit_count() + len(texts) - len(unseen) - 1
        best = len(texts) + 2 * (len(claims) - 1)
        found.append(min(best / summed * reached / (total - 1), 1.0) if summed else 0.0)
    return found


_ZERO = 1e-12
_SWEEPS = 60


def eigen(matrix: Grid) -> tuple[list[float], Grid]:
    """Return eigenvalues and unit eigenvectors of a symmetric matrix, by Jacobi rotations."""
    n = len(matrix)
    a = [list(row) for row in matrix]
    vectors = [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(_SWEEPS):
        stop_if_abandoned()
        if fsum(a[i][j] ** 2 for i in range(n) for j in range(i)) < _ZERO**2:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q]:
                    _rotate(a, vectors, p, q)
    return [a[i][i] for i in range(n)], vectors


def _rotate(a: Grid, vectors: Grid, p: int, q: int) -> None:
    """Make one off-diagonal entry 0."""
    theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = (1.0 if theta >= 0 else -1.0) / (abs(theta) + hypot(theta, 1.0))
    c = 1.0 / hypot(t, 1.0)
    s = t * c
    for row in a:
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    for rows in (a, vectors):
        one, other = rows[p], rows[q]
        rows[p] = [c * x - s * y for x, y in zip(one, other, strict=True)]
        rows[q] = [s * x + c * y for x, y in zip(one, other, strict=True)]


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


class Semantic:
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

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self._entailing = Entailing(self.config)
        self.traits = ScorerTraits(
            by_text=self.config.measure not in _OF_CLAIMS,
            by_sentence=self.config.measure == "entailment",
        )
        wanted: set[Need] = {"samples", *self._entailing.needs}
        if self.config.weighted:
            wanted |= {"logprobs", "sample_logprobs"}
        self.needs = frozenset(wanted)

    async def prepare(self) -> None:
        """Load the classifier, if one is used.

        Raises:
            ConfigurationError: It cannot be loaded, or lacks labels for both classes.
            ScorerError: Its server does not respond.
        """
        await self._entailing.prepare()

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
        config = self.config
        weights = self._weights(evidence)
        if config.weighted and weights is None:
            return Scores(
                error="the response or a sample came without the probabilities of its"
                " tokens, which `weighted` needs"
            )
        asked = evidence.query.question if evidence.query and config.question else ""
        before = f"{asked}\n" if asked and config.by == "nli" else ""
        texts = [f"{before}{t}" for t in (passage.text, *_texts(evidence))]
        pairs, entailed = await self._found(texts, evidence)
        unknown = why_unknown(pairs, entailed)
        if unknown is not None:
            return Scores(
                failures=entailed.failures,
                undetermined=entailed.undetermined(pairs),
                error=unknown,
            )
        kept = complete(texts, pairs, entailed)
        if 2 * len(kept) <= len(texts):
            lost = len(texts) - len(kept)
            return Scores(
                failures=entailed.failures,
                undetermined=entailed.undetermined(pairs),
                error=f"comparisons with {lost} of {len(texts)} answers failed"
                f" ({tally(entailed.failures)})",
            )
        weights = weights and [weights[i] for i in kept]
        texts = [texts[i] for i in kept]
        rows = [[entailed.by_pair.get((a, b)) or NEUTRAL for b in texts] for a in texts]
        # Each sweep of rotations takes time cubic in their number.
        found = await compute(partial(self._measured, rows, weights), chars=50 * len(texts) ** 3)
        return Scores(
            passage=min(max(found.score, 0.0), 1.0),
            raw_passage=found.value,
            passage_reason=found.reason,
            failures=entailed.failures,
            undetermined=entailed.undetermined(pairs),
        )

    async def _found(self, texts: Sequence[str], evidence: Evidence) -> tuple[list[Pair], Entailed]:
        """Compute the entries that the measure needs; return their pairs, and all entries."""
        config, n = self.config, range(len(texts))
        together = config.by == "judge" and config.form == "together"
        if config.measure not in {"entropy", "sets"} or together:
            places = [0] if config.measure == "density" else n
            pairs = [(texts[i], texts[j]) for i in places for j in n if i != j]
            return pairs, await self._entailing.find(pairs, evidence)
        # Until a text has a meaning, it is compared only with the first text of each meaning.
        pairs, failures, left, found = list[Pair](), tuple[str, ...](), list(n), Entailed({})
        while len(left) > 1:
            first, *others = (texts[i] for i in left)
            wanted = [pair for text in others for pair in ((first, text), (text, first))]
            pairs += wanted
            found = await self._entailing.find(wanted, evidence)
            failures += found.failures

            def is_other(i: int, first: str = first, found: Entailed = found) -> bool:
                one, other = (
                    found.by_pair.get((first, texts[i])),
                    found.by_pair.get((texts[i], first)),
                )
                return not _equivalent(one or NEUTRAL, other or NEUTRAL, config.equivalence)

            left = [i for i in left[1:] if is_other(i)]
        return pairs, Entailed(found.by_pair, failures)

    def _measured(self, matrix: Matrix, weights: Sequence[float] | None) -> _Measured:
        config, n = self.config, len(matrix)
        measure = config.measure
        if measure == "density":
            value = density(matrix[0][1:], weights and weights[1:])
            return _Measured(value, 1.0 - value, f"density {value:.2f} among {n - 1} samples")
        if measure in {"entropy", "sets"}:
            found = meanings(matrix, config.equivalence)
            count = len(set(found))
            explanation = f"{count} meaning{'' if count == 1 else 's'} in {n} answers"
            if measure == "sets":
                return _Measured(count, (count - 1) / (n - 1), explanation)
            value = entropy(found, weights)
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
        if not self.config.weighted:
            return None
        tokens = (evidence.logprobs, *(s.logprobs for s in evidence.samples.arrived))
        found = [_probability(of) for of in tokens]
        known = [weight for weight in found if weight is not None]
        return known if len(known) == len(found) else None

    async def _of_claims(self, passage: Passage, evidence: Evidence) -> Scores:
        config, samples = self.config, evidence.samples.arrived
        everything = config.units == "all" and config.measure != "entailment"
        asked = evidence.query.question if evidence.query else ""
        atomic = config.measure != "luq"

        def read() -> list[list[str]]:
            mine = [s.standalone for s in passage.sentences] if atomic else _sentences(passage)
            others = [_units(s.passage, asked, atomic) for s in samples] if everything else []
            return [mine, *others]

        chars = SPLITTING * (len(passage.text) + everything * evidence.samples.chars)
        claims_by_text = await compute(read, chars=chars)
        texts = [passage.text, *(sample.text for sample in samples)]
        if config.measure == "closeness":
            return await self._closeness(claims_by_text, texts, evidence)
        # For each unit, its relation to every text but its own.
        pairs = [
            [(text, unit) for j, text in enumerate(texts) if j != i]
            for i, units in enumerate(claims_by_text)
            for unit in units
        ]
        flat = [pair for row in pairs for pair in row]
        entailed = await self._entailing.find(flat, evidence)
        trust = _support if config.measure == "entailment" else _contrasted
        means = [mean_score([trust(entailed.by_pair.get(pair)) for pair in row]) for row in pairs]
        passage_score = None
        if config.measure != "entailment":
            # Average over the units of each text, then over the texts.
            starts, of_texts = 0, list[float | None]()
            for units in claims_by_text:
                # `luq` asks once about a sentence with several claims.
                own = dict(zip(units, means[starts : starts + len(units)], strict=True))
                of_texts.append(mean_score([*own.values()]))
                starts += len(units)
            confidence = mean_score(of_texts)
            passage_score = None if confidence is None else 1.0 - confidence
        scores = [None if mean is None else 1.0 - mean for mean in means[: len(claims_by_text[0])]]
        return _of_units(scores, passage_score, flat, entailed, len(samples))

    async def _closeness(
        self, claims_by_text: Sequence[Sequence[str]], texts: Sequence[str], evidence: Evidence
    ) -> Scores:
        claims = [*claims_by_text[0]]
        known = {_folded(claim) for claim in claims}
        for claim in (claim for of_sample in claims_by_text[1:] for claim in of_sample):
            if _folded(claim) not in known:
                known.add(_folded(claim))
                claims.append(claim)
        pairs = [(text, claim) for claim in claims for text in texts]
        entailed = await self._entailing.find(pairs, evidence)

        # A text with an unknown entry is not a node.
        kept = [
            text for text in texts if all((text, claim) in entailed.by_pair for claim in claims)
        ]

        def measured() -> list[float]:
            edges = [
                [_over(entailed.by_pair.get((text, claim)), self.config.edge) for text in kept]
                for claim in claims
            ]
            return closeness(edges)

        found = await compute(measured, chars=10 * len(claims) ** 2 * len(texts))
        scores = [
            1.0 - near
            if 2 * len(kept) > len(texts) and any(entailed.by_pair[t, claim] for t in kept)
            else None
            for near, claim in zip(found, claims_by_text[0], strict=False)
        ]
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
    return Scores(
        sentences=tuple(None if s is None else min(max(s, 0.0), 1.0) for s in scores),
        passage=passage,
        reasons=tuple(
            None if s is None else f"support {1 - s:.2f} in {samples} texts compared"
            for s in scores
        ),
        failures=entailed.failures,
        lost=tuple(i for i, s in enumerate(scores) if s is None),
        undetermined=entailed.undetermined(pairs),
        error=why_unknown(pairs, entailed),
    )


def complete(texts: Sequence[str], pairs: Iterable[Pair], entailed: Entailed) -> list[int]:
    """Return the indexes of texts with all entries between them known; the first is always kept.

    A failed call says nothing; as an entry of the matrix it would look like doubt.

    Args:
        texts: The texts.
        pairs: The wanted entries.
        entailed: The known entries.
    """
    failed = {pair for pair in pairs if pair not in entailed.by_pair}
    kept = list(range(len(texts)))
    while len(kept) > 1:
        missing = [
            sum((texts[i], texts[j]) in failed or (texts[j], texts[i]) in failed for j in kept)
            for i in kept
        ]
        if not any(missing):
            break
        kept.remove(max(kept[1:], key=lambda i: missing[kept.index(i)]))
    return kept


def _texts(evidence: Evidence) -> list[str]:
    return [sample.text for sample in evidence.samples.arrived]


def _sentences(passage: Passage) -> list[str]:
    """Return for each unit of a passage the sentence that contains it."""
    whole = Passage.of(passage.text).sentences
    starts = [sentence.start for sentence in whole]
    found: list[str] = []
    for unit in passage.sentences:
        place = bisect_right(starts, unit.start) - 1
        inside = place >= 0 and unit.end <= whole[place].end
        found.append(whole[place].text if inside else unit.standalone)
    return found


def _units(passage: Passage, question: str, atomic: bool) -> list[str]:
    """Return the sentences of a sample, or its claims."""
    if not atomic:
        return [sentence.text for sentence in passage.sentences]
    rules = Rules(question)
    read = (rules.read(sentence, i) for i, sentence in enumerate(passage.sentences))
    return [claim.standalone for claims in read for claim in claims if claim.is_checkable]


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


def _over(entailment: Entailment | None, edge: float) -> bool:
    return entailment is not None and entailment.entails >= edge


_LOWEST = -100.0


def _probability(tokens: Sequence[TokenLogprob]) -> float | None:
    known = [token.logprob for token in tokens if token.logprob is not None]
    return exp(max(fmean(known), _LOWEST)) if known else None
