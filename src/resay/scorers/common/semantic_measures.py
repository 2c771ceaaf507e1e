"""Measures on a matrix of entailments; `resay.scorers.semantic` has their equations."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt
from statistics import fmean
from typing import Literal

from resay._internal.event_loops import stop_if_abandoned
from resay.scorers.common.eigen import Grid, eigen
from resay.scorers.entailments import Entailment

Equivalence = Literal["both", "lax", "either"]
Affinity = Literal["entailment", "contradiction"]
Matrix = Sequence[Sequence[Entailment]]
"""The relation of text i to text j, by i and j."""


def meanings(matrix: Matrix, equivalence: Equivalence = "both") -> list[int]:
    """Return the meaning of each text, numbered from 0 (Kuhn et al., algorithm 1).

    A text has the meaning of the first earlier text that began a meaning and is equivalent to it.

    Args:
        matrix: The entailments between the texts.
        equivalence: Which texts mean the same: those that entail each other (`both`); pairs in
            which one entails the other and neither contradicts (`lax`, Farquhar et al. for short
            answers about long texts); or pairs in which one entails the other (`either`, uqlm).
    """
    meaning_of_each: list[int] = []
    firsts: list[int] = []
    for text in range(len(matrix)):
        for meaning, first in enumerate(firsts):
            if are_equivalent(matrix[text][first], matrix[first][text], equivalence):
                meaning_of_each.append(meaning)
                break
        else:
            meaning_of_each.append(len(firsts))
            firsts.append(text)
    return meaning_of_each


def are_equivalent(forward: Entailment, backward: Entailment, equivalence: Equivalence) -> bool:
    """Return whether two texts have the same meaning.

    Args:
        forward: The relation of one to the other.
        backward: The relation of the other to the one.
        equivalence: As for `meanings`.
    """
    labels = {label(forward), label(backward)}
    if equivalence == "both":
        return labels == {"entails"}
    return "entails" in labels and (equivalence == "either" or "contradicts" not in labels)


def label(entailment: Entailment) -> Literal["contradicts", "neutral", "entails"]:
    """Return the most probable class; of equal ones, the one further from entailment."""
    entails, neutral = entailment.entails, entailment.neutral
    if entails > max(neutral, entailment.contradicts):
        return "entails"
    return "neutral" if neutral > entailment.contradicts else "contradicts"


def entropy(meaning_of_each: Sequence[int], weights: Sequence[float] | None = None) -> float:
    """Return the entropy of meanings, in nats.

    Args:
        meaning_of_each: The meaning of each text.
        weights: The probability of each text; None for equal weights.
    """
    shares: dict[int, float] = {}
    weights = weights or [1.0] * len(meaning_of_each)
    for meaning, weight in zip(meaning_of_each, weights, strict=True):
        shares[meaning] = shares.get(meaning, 0.0) + weight
    total = fsum(shares.values())
    return max(-fsum(w / total * log(w / total) for w in shares.values() if w), 0.0)


def affinities(matrix: Matrix, affinity: Affinity = "entailment") -> Grid:
    """Return W of Lin et al., symmetric and with 1 on the diagonal."""

    def a(i: int, j: int) -> float:
        relation = matrix[i][j]
        return relation.entails if affinity == "entailment" else 1.0 - relation.contradicts

    n = range(len(matrix))
    return [[1.0 if i == j else (a(i, j) + a(j, i)) / 2 for j in n] for i in n]


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
    squares: list[float] = []
    for value, vector in zip(values, vectors, strict=True):
        if value < cutoff:
            mean = fmean(vector)
            squares += [(x - mean) ** 2 for x in vector]
    return sqrt(fsum(squares))


# Eigenvalues up to this are 0.
_NO_SHARE = 1e-12
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

    def k(i: int, j: int) -> float:
        return fsum(h * v[i] * v[j] for h, v in zip(heats, vectors, strict=True))

    kernel = [[k(i, j) for j in n] for i in n]
    scaled = [[kernel[i][j] / sqrt(kernel[i][i] * kernel[j][j]) / len(n) for j in n] for i in n]
    return max(-fsum(x * log(x) for x in eigen(scaled)[0] if x > _NO_SHARE), 0.0)


def density(row: Sequence[Entailment], weights: Sequence[float] | None = None) -> float:
    """Return the semantic density of a response, in [0, 1].

    Args:
        row: The relation of the response to each sample.
        weights: The probability of each sample; None for equal weights.
    """
    weights = weights or [1.0] * len(row)
    kernels = [1.0 - (relation.contradicts + relation.neutral / 2) for relation in row]
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
    centralities: list[float] = []
    for start in claims:
        stop_if_abandoned()
        distance, summed, unseen = 0, 0, entailed
        near = seen = 1 << start
        while near:
            # From claims to the texts that entail them, and on to other claims of these.
            next_texts = [text for text in unseen if text & near]
            unseen = [text for text in unseen if not text & near]
            near = 0
            for text in next_texts:
                near |= text
            near &= ~seen
            seen |= near
            summed += (distance + 1) * len(next_texts) + (distance + 2) * near.bit_count()
            distance += 2
        reached = seen.bit_count() + len(texts) - len(unseen) - 1
        best = len(texts) + 2 * (len(claims) - 1)
        centrality = best / summed * reached / (total - 1) if summed else 0.0
        centralities.append(min(centrality, 1.0))
    return centralities
