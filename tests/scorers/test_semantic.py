"""`semantic` against the papers' definitions, written out here with numpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio.lowlevel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import (
    ConfigurationError,
    Guard,
    Passage,
    Policy,
    PolicyError,
    ProviderTimeoutError,
    Request,
    TokenLogprob,
    Verdict,
)
from resay.adapters import GuardRuntime
from resay.plugins import Completion, Completions, Evidence
from resay.scorers.common import semantic_measures as measures
from resay.scorers.common.eigen import eigen
from resay.scorers.common.entailing import render_pair
from resay.scorers.entailments import Entailment
from resay.scorers.samples import Samples
from resay.scorers.semantic import Semantic
from support.later import LazyImport
from support.tiny_models import make_deberta, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]
Probabilities = np.ndarray[Any, Any]
"""Of shape (texts, texts, 3): contradiction, neutral, entailment, as the papers' models have it."""


# The papers, plainly.


def p_meanings(p: Probabilities, rule: str = "both") -> list[int]:
    """Kuhn et al., algorithm 1."""
    said = p.argmax(axis=2)
    classes: list[list[int]] = []
    for i in range(len(p)):
        for members in classes:
            one, other = said[members[0], i], said[i, members[0]]
            both = one == other == 2
            either = 2 in (one, other)
            if {"both": both, "lax": either and 0 not in (one, other), "either": either}[rule]:
                members.append(i)
                break
        else:
            classes.append([i])
    return [next(k for k, members in enumerate(classes) if i in members) for i in range(len(p))]


def p_entropy(found: Sequence[int], weights: Sequence[float] | None = None) -> float:
    mass = np.bincount(found, weights=weights) / (len(found) if weights is None else sum(weights))
    return float(-(mass * np.log(mass)).sum())


def p_affinities(p: Probabilities, affinity: str) -> Any:
    w = p[:, :, 2] if affinity == "entailment" else 1 - p[:, :, 0]
    w = (w + w.T) / 2
    np.fill_diagonal(w, 1)
    return w


def p_laplacian(w: Any) -> Any:
    d = np.diag(1 / np.sqrt(w.sum(axis=1)))
    return np.eye(len(w)) - d @ w @ d


def p_eigenvalues(w: Any) -> float:
    return float((1 - np.linalg.eigvalsh(p_laplacian(w))).clip(0).sum())


def p_degree(w: Any) -> float:
    n = len(w)
    return float(np.trace(n * np.eye(n) - np.diag(w.sum(axis=1))) / n**2)


def p_eccentricity(w: Any, cutoff: float = 0.9) -> float:
    values, vectors = np.linalg.eigh(p_laplacian(w))
    v = vectors[:, values < cutoff]
    return float(np.linalg.norm(v - v.mean(axis=0)))


def p_kernel(p: Probabilities, t: float = 0.3) -> float:
    one_hot = np.eye(3)[p.argmax(axis=2)] @ np.array([0, 0.5, 1])
    w = one_hot + one_hot.T
    np.fill_diagonal(w, 0)
    values, vectors = np.linalg.eigh(np.diag(w.sum(axis=1)) - w)
    k = vectors @ np.diag(np.exp(-t * values)) @ vectors.T
    k = k / np.sqrt(np.outer(np.diag(k), np.diag(k))) / len(k)
    mass = np.linalg.eigvalsh(k)
    mass = mass[mass > 1e-12]
    return float(-(mass * np.log(mass)).sum())


def p_density(row: Any, weights: Any = None) -> float:
    squared = row[:, 0] + row[:, 1] / 2
    return float(np.average((1 - squared) * (squared <= 1), weights=weights))


def p_luq(e: Any, c: Any) -> Any:
    return e / (e + c)


def p_closeness(edges: Any) -> list[float]:
    """Shortest paths by Floyd and Warshall; (m + 2 (k - 1)) / sum, times the share reached."""
    k, m = edges.shape
    far = np.full((k + m, k + m), np.inf)
    np.fill_diagonal(far, 0)
    far[:k, k:][edges], far[k:, :k][edges.T] = 1, 1
    for via in range(k + m):
        far = np.minimum(far, far[:, [via]] + far[[via]])
    found: list[float] = []
    for row in far[:k]:
        near = row[np.isfinite(row)]
        total = near.sum()
        share = (len(near) - 1) / (k + m - 1)
        found.append(min((m + 2 * (k - 1)) / total * share, 1.0) if total else 0.0)
    return found


# Random matrices.


@st.composite
def matrices(draw: st.DrawFn, most: int = 7) -> Probabilities:
    n, seed = draw(st.integers(2, most)), draw(st.integers(0, 2**32 - 1))
    raw = np.random.default_rng(seed).dirichlet([0.4, 0.4, 0.4], size=(n, n))
    raw[np.arange(n), np.arange(n)] = (0, 0, 1)
    return raw


def entailments(p: Probabilities) -> list[list[Entailment]]:
    return [[Entailment(float(e), float(u), float(c)) for c, u, e in row] for row in p]


@given(matrices(), st.sampled_from(["both", "lax", "either"]), st.integers(0, 1000))
def test_meanings_and_their_entropy(p: Probabilities, rule: Any, seed: int) -> None:
    found = measures.meanings(entailments(p), rule)
    assert found == p_meanings(p, rule)
    weights = np.random.default_rng(seed).uniform(0.01, 1, len(p)).tolist()
    assert measures.entropy(found) == pytest.approx(p_entropy(found), abs=1e-9)
    assert measures.entropy(found, weights) == pytest.approx(p_entropy(found, weights), abs=1e-9)


@given(matrices(), st.sampled_from(["entailment", "contradiction"]))
def test_spectral_measures(p: Probabilities, affinity: Any) -> None:
    w, plain = measures.affinities(entailments(p), affinity), p_affinities(p, affinity)
    assert w == pytest.approx(plain)
    n = len(p)
    assert measures.eigenvalues(w) == pytest.approx(p_eigenvalues(plain), abs=1e-9)
    assert measures.degree(w) == pytest.approx(p_degree(plain), abs=1e-9)
    values = np.linalg.eigvalsh(p_laplacian(plain))
    # Rounding decides on which side of the cutoff an eigenvalue is that equals it.
    if np.abs(values - 0.9).min() > 1e-9:
        assert measures.eccentricity(w) == pytest.approx(p_eccentricity(plain), abs=1e-9)
    assert measures.eccentricity(w) <= np.sqrt(n - 1) + 1e-9
    assert measures.kernel_entropy(entailments(p)) == pytest.approx(p_kernel(p), abs=1e-9)


@given(matrices(), st.integers(0, 1000))
def test_density(p: Probabilities, seed: int) -> None:
    weights = np.random.default_rng(seed).uniform(0.01, 1, len(p) - 1)
    row = entailments(p)[0][1:]
    assert measures.density(row) == pytest.approx(p_density(p[0, 1:]))
    assert measures.density(row, weights.tolist()) == pytest.approx(p_density(p[0, 1:], weights))


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0, 1), st.integers(0, 1000))
def test_closeness(claims: int, texts: int, filled: float, seed: int) -> None:
    edges = np.random.default_rng(seed).uniform(size=(claims, texts)) < filled
    assert measures.closeness(edges.tolist()) == pytest.approx(p_closeness(edges))


def test_closeness_reads_each_edge_once() -> None:
    class Row(list[bool]):
        reads = 0

        def __getitem__(self, at: Any) -> Any:
            Row.reads += 1
            return super().__getitem__(at)

    edges = [Row((i + j) % 3 > 0 for j in range(5)) for i in range(40)]
    assert measures.closeness(edges) == pytest.approx(p_closeness(np.array(edges, bool)))
    assert Row.reads == 200


def test_tiny_worked_examples() -> None:
    yes, no = Entailment(1, 0, 0), Entailment(0, 0, 1)
    same, other = [[yes] * 3] * 3, [[yes if i == j else no for j in range(3)] for i in range(3)]
    split = [[yes, yes, no], [yes, yes, no], [no, no, yes]]
    assert measures.meanings(split) == [0, 0, 1]
    assert measures.entropy([0, 0, 1]) == pytest.approx(log(3) - 2 / 3 * log(2))
    for matrix, count in ((same, 1), (split, 2), (other, 3)):
        assert measures.eigenvalues(measures.affinities(matrix)) == pytest.approx(count)
    assert measures.degree(measures.affinities(split)) == pytest.approx(4 / 9)
    assert measures.eccentricity(measures.affinities(other)) == pytest.approx(2**0.5)
    assert measures.eccentricity(measures.affinities(same)) == pytest.approx(0)
    assert measures.kernel_entropy(other) == pytest.approx(log(3))
    assert measures.density([yes, Entailment(0, 1, 0), no]) == pytest.approx(0.5)
    # One claim in both texts, one in the second alone: distances 1, 1, 2 and 1, 2, 3.
    assert measures.closeness([[True, True], [False, True]]) == pytest.approx([1.0, 4 / 6])


def test_the_eigenvectors_of_a_large_matrix() -> None:
    raw = np.random.default_rng(3).normal(size=(24, 24))
    values, vectors = eigen((raw + raw.T).tolist())
    back = np.array(vectors).T @ np.diag(values) @ np.array(vectors)
    assert back == pytest.approx(raw + raw.T, abs=1e-9)


# Through the guard, with a classifier.

QUESTION = "Who was the king?"
RESPONSE = " ".join(sentences(3, seed=1, longest=7))
SAMPLES = [" ".join(sentences(2, seed=seed, longest=7)) for seed in range(2, 6)]


class Classifier:
    """A tiny model, asked one pair at a time."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        load = transformers.AutoModelForSequenceClassification.from_pretrained
        self._model = load(folder).eval()
        labels = {name: number for number, name in self._model.config.id2label.items()}
        self._order = [labels[name] for name in ("contradiction", "neutral", "entailment")]

    def __call__(self, premise: str, hypothesis: str) -> Any:
        with torch.inference_mode():
            given = self._tokenizer(premise, hypothesis, return_tensors="pt")
            logits = self._model(**given).logits[0].double()
        return logits.softmax(-1)[self._order].numpy()

    def matrix(self, texts: Sequence[str]) -> Probabilities:
        return np.array(
            [[(0, 0, 1) if a == b else self(a, b) for b in texts] for a in texts], dtype=float
        )


async def measured(folder: Path, **settings: Any) -> Verdict:
    step = {"method": "semantic", "model": str(folder), **settings}
    guard = Guard({"chain": [step], "non_claims": "score"})
    return await guard.acheck(RESPONSE, question=QUESTION, samples=SAMPLES)


async def test_measures_of_whole_texts_are_those_of_the_papers(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    said = Classifier(folder)
    n = len(SAMPLES) + 1
    p = said.matrix([f"{QUESTION}\n{text}" for text in (RESPONSE, *SAMPLES)])
    w, kinds = p_affinities(p, "entailment"), p_meanings(p, "either")
    expected = {
        "entropy": p_entropy(kinds) / log(n),
        "sets": (len(set(kinds)) - 1) / (n - 1),
        "eigenvalues": (p_eigenvalues(w) - 1) / (n - 1),
        "degree": p_degree(w) * n / (n - 1),
        "eccentricity": p_eccentricity(w) / (n - 1) ** 0.5,
        "kernel": p_kernel(p) / log(n),
        "density": 1 - p_density(p[0, 1:]),
    }
    for measure, score in expected.items():
        verdict = await measured(folder, measure=measure, equivalence="either")
        assert verdict.score == pytest.approx(score, abs=1e-5), measure
        assert verdict.inconclusive is False
        assert [claim.score for claim in verdict.claims] == [None] * 3


async def test_preparing_says_what_is_wrong_with_the_model(tmp_path: Path) -> None:
    guard = Guard({"chain": [{"method": "semantic", "model": str(tmp_path / "none")}]})
    with pytest.raises(ConfigurationError, match="none"):
        await GuardRuntime(guard).aprepare()


async def test_measures_of_sentences_are_those_of_the_papers(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    said, texts = Classifier(folder), [RESPONSE, *SAMPLES]
    units = [[s.text for s in Passage.of(text).sentences] for text in texts]

    def over(i: int, unit: str, value: Callable[[Any], float]) -> float:
        return fmean(value(said(text, unit)) for j, text in enumerate(texts) if j != i)

    def contrasted(p: Any) -> float:
        return float(p_luq(p[2], p[0]))

    verdict = await measured(folder, measure="entailment")
    supports = [over(0, unit, lambda p: float(p[2])) for unit in units[0]]
    assert [c.score for c in verdict.claims] == pytest.approx([1 - s for s in supports], abs=1e-5)
    # LUQ: the confidence of every text, by its sentences and the others.
    of_units = [[over(i, unit, contrasted) for unit in own] for i, own in enumerate(units)]
    for measure in ("luq", "luq_atomic"):
        verdict = await measured(folder, measure=measure)
        expected = [1 - value for value in of_units[0]]
        assert [c.score for c in verdict.claims] == pytest.approx(expected, abs=1e-5)
        if measure == "luq":
            whole = fmean(1 - fmean(own) for own in of_units)
            assert verdict.mean_score == pytest.approx(whole, abs=1e-5)
    alone = await measured(folder, measure="luq", units="response")
    assert alone.mean_score == pytest.approx(1 - fmean(of_units[0]), abs=1e-5)
    # An edge in the middle of what this model says.
    claims = [*dict.fromkeys(unit for own in units for unit in own)]
    p = np.array([[said(text, claim)[2] for text in texts] for claim in claims])
    edge = float(np.median(p))
    verdict = await measured(folder, measure="closeness", edge=edge)
    expected = [1 - near for near in p_closeness(p >= edge)[: len(units[0])]]
    assert [c.score for c in verdict.claims] == pytest.approx(expected, abs=1e-5)


# Through the guard, with a judge.

SHORT = "It opened in 1932."
OTHERS = ["In 1932 it was opened.", "It opened in 1923.", "It is red.", "In 1932 it opened to all."]
_CONTEXT = re.compile(r"<context-\w+>\n(.*)\n</context", re.DOTALL)
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class Model:
    """A judge that goes by years, and keeps what it was asked.

    Args:
        garbled: Whether nothing it says can be read.
        fails: Whether its calls fail.
        fails_on: The texts of which calls fail.
    """

    def __init__(
        self, *, garbled: bool = False, fails: bool = False, fails_on: Collection[str] = ()
    ) -> None:
        self._fails_on = fails_on
        self.asked: list[str] = []
        self._garbled = garbled
        self._fails = fails

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        prompt = request.question
        self.asked.append(prompt)
        if self._fails:
            raise ProviderTimeoutError("slow")
        if self._garbled:
            return Completions((Completion("Hm."),))
        if prompt.startswith("We are evaluating"):
            one, other = re.findall(r"Possible Answer \d: (.*)", prompt)
            return Completions((Completion(f"{_said(one, other)}."),))
        found = _CONTEXT.search(prompt)
        assert found
        if found[1] in self._fails_on:
            raise ProviderTimeoutError("slow")
        claims = prompt.partition("<claims-")[2]
        words = {"entailment": "supported", "contradiction": "contradicted"}
        lines = [
            f"{n}: {words.get(_said(found[1], claim), 'not_mentioned')}"
            for n, claim in _CLAIM.findall(claims)
        ]
        return Completions((Completion("\n".join(lines)),))


def _said(premise: str, hypothesis: str) -> str:
    """A year entails the same and contradicts another one; what has none says nothing of it."""
    years, theirs = (re.findall(r"\d{4}", text) for text in (premise, hypothesis))
    if not years or not theirs:
        return "neutral"
    return "entailment" if set(theirs) <= set(years) else "contradiction"


def steps(*measures: str, **settings: Any) -> list[dict[str, Any]]:
    return [{"method": "semantic", "by": "judge", "measure": m, **settings} for m in measures]


async def judged(model: Model, *measures: str, **settings: Any) -> Verdict:
    policy = {"chain": steps(*measures, **settings), "cache": {"store": "none"}}
    guard = Guard({**policy, "limits": {"retries": 0}}, provider=model, model="m")
    return await guard.acheck(SHORT, question="When did it open?", samples=OTHERS)


# 1932, 1932, 1923, none, 1932: what each says of each.
_LABELS = {"contradiction": 0, "neutral": 1, "entailment": 2}
TEXTS = [SHORT, *OTHERS]
JUDGED = np.eye(3)[[[_LABELS[_said(a, b)] if a != b else 2 for b in TEXTS] for a in TEXTS]]


async def test_a_judge_fills_the_matrix() -> None:
    kinds = p_meanings(JUDGED)
    assert kinds == [0, 0, 1, 2, 0]
    verdict = await judged(model := Model(), "entropy")
    assert verdict.score == pytest.approx(p_entropy(kinds) / log(5))
    assert verdict.steps[0].reason == "3 meanings in 5 answers, entropy 0.95"
    # One call for each text that the others are held against.
    assert (len(model.asked), verdict.steps[0].usage.calls) == (5, 5)
    published = await judged(model := Model(), "entropy", form="published")
    # Two questions for each pair that is needed: with the first text of each meaning.
    assert (published.score, len(model.asked)) == (verdict.score, 10)
    assert render_pair(SHORT, OTHERS[0], "When did it open?") in model.asked


async def test_luq_atomic_is_of_what_texts_claim() -> None:
    said = "Opened: 1932\nPainted: 1940"
    # What claims nothing is no claim of a sample.
    helpful = "Opened: 1923\nPainted: 1940\n\nI hope this helps!"
    others = ["It opened in 1932.", helpful, "It is red."]
    policy = {"chain": steps("luq_atomic"), "cache": {"store": "none"}}
    guard = Guard(policy, provider=Model(), model="m")
    verdict = await guard.acheck(said, question="When did it open?", samples=others)
    assert [claim.text for claim in verdict.claims] == ["Opened: 1932", "Painted: 1940"]
    # e / (e + c): supported 1, contradicted 0, not mentioned 1/2.
    assert [claim.score for claim in verdict.claims] == pytest.approx([1 - 0.5, 1 - 0.5])
    # Of the response 1/2 and 1/2; of the samples 1932 in the first text and not in the second;
    # 1923 in none of them, and 1940 in the first; and nothing of what is red.
    confidence = [0.5, fmean([1, 0, 0.5]), fmean([fmean([0, 0, 0.5]), fmean([1, 0, 0.5])]), 0.5]
    assert verdict.mean_score == pytest.approx(1 - fmean(confidence))


async def test_luq_is_of_whole_sentences() -> None:
    said = "Opened: 1932\nPainted: 1940"
    others = ["It opened in 1932.", "Opened: 1923\nPainted: 1940", "It is red."]
    policy = {"chain": steps("luq"), "cache": {"store": "none"}}
    guard = Guard(policy, provider=(model := Model()), model="m")
    verdict = await guard.acheck(said, question="When did it open?", samples=others)
    asked = {text for prompt in model.asked for _, text in _CLAIM.findall(prompt)}
    assert asked == {" ".join(text.split()) for text in (said, *others)}
    # No sample has both years: two contradict the sentence, and one says nothing of it.
    of_sentence = fmean([0, 0, 0.5])
    assert [claim.score for claim in verdict.claims] == pytest.approx([1 - of_sentence] * 2)
    confidence = [of_sentence, fmean([1, 0, 0.5]), fmean([0, 0, 0.5]), 0.5]
    assert verdict.mean_score == pytest.approx(1 - fmean(confidence))


async def test_luq_asks_about_what_no_single_sentence_contains() -> None:
    claim = "It opened in 1932. It is red."
    evidence = Evidence(Samples(OTHERS), judge_provider=(model := Model()))
    config = Semantic.Config(by="judge", measure="luq", units="response")
    await Semantic(config).score(Passage.from_sentences([claim]), evidence)
    assert {text for prompt in model.asked for _, text in _CLAIM.findall(prompt)} == {claim}


async def test_closeness_leaves_out_a_text_that_was_not_compared_with_every_claim() -> None:
    response, *samples = texts = [SHORT, OTHERS[1], "It opened in 1923 and in 1932.", OTHERS[2]]
    failing = f"1: {samples[-1]}\nPossible Answer 2: {samples[0]}\n"

    class Failing(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if failing in request.question:
                raise ProviderTimeoutError("slow")
            return await super().complete(request, n=n)

    policy = {"chain": steps("closeness", form="published"), "cache": {"store": "none"}}
    scores: list[float | None] = []
    for model, nodes in ((Model(), texts), (Failing(), texts[:-1])):
        guard = Guard({**policy, "limits": {"retries": 0}}, provider=model, model="m")
        verdict = await guard.acheck(response, question="When did it open?", samples=samples)
        entailed = [[a == b or _said(b, a) == "entailment" for b in nodes] for a in texts]
        scores.append(verdict.claims[0].score)
        assert scores[-1] == pytest.approx(1 - p_closeness(np.array(entailed))[0])
    assert scores == pytest.approx([0.206, 0.167], abs=1e-3)


async def test_the_matrix_is_found_once_whatever_a_chain_asks_of_it() -> None:
    whole = ["entropy", "sets", "eigenvalues", "degree", "eccentricity", "kernel", "density"]
    verdict = await judged(model := Model(), *whole)
    assert len(model.asked) == 5
    assert verdict.score == pytest.approx(1 - p_density(JUDGED[0, 1:]))
    # What one claims is the whole response here, so that its entailment by samples is known.
    verdict = await judged(model := Model(), *whole, "entailment")
    assert (len(model.asked), verdict.usage.calls) == (5, 5)
    assert verdict.claims[0].score == pytest.approx(0.5)
    assert verdict.claims[0].reason == "support 0.50 in 4 samples"


async def test_the_heat_of_the_kernel_is_a_setting() -> None:
    for heat in (0.1, 0.3, 2.0):
        verdict = await judged(Model(), "kernel", heat=heat)
        assert verdict.score == pytest.approx(p_kernel(JUDGED, heat) / log(5))


async def test_parts_that_run_together_share_it_too() -> None:
    chain = [{"method": "ensemble", "parts": [{"scorer": s} for s in steps("entropy", "degree")]}]
    guard = Guard({"chain": chain, "cache": {"store": "none"}}, provider=(model := Model()))
    await guard.acheck(SHORT, question="When?", samples=OTHERS, model="m")
    assert len(model.asked) == 5


async def test_failed_comparisons_are_inconclusive_with_a_reason() -> None:
    failed = await judged(Model(fails=True), "entropy")
    assert (failed.decision, failed.score) == ("inconclusive", None)
    late = "the judge 'm' did not answer in time"
    assert failed.reason == (
        f"semantic: 20 of 20 comparisons failed (ProviderTimeoutError x5); {late}"
    )
    for measure in ("entropy", "entailment", "luq", "closeness"):
        garbled = await judged(Model(garbled=True), measure)
        assert garbled.decision == "inconclusive"
        assert "comparisons could not be read" in garbled.reason
        assert garbled.steps[0].undetermined > 0
    published = await judged(Model(garbled=True), "entropy", form="published")
    assert "comparisons could not be read" in published.reason
    # A sample whose call failed is left out, and half of them decide nothing.
    one = await judged(Model(fails_on={OTHERS[2]}), "entropy")
    assert one.score == pytest.approx(p_entropy([0, 0, 1, 0]) / log(4))
    assert (one.steps[0].reason, one.steps[0].failures) == (
        "2 meanings in 4 answers, entropy 0.56",
        {"ProviderTimeoutError": 1},
    )
    half = await judged(Model(fails_on=set(OTHERS[:3])), "degree")
    assert half.reason == (
        f"semantic: 12 of 20 comparisons failed (ProviderTimeoutError x3); {late}"
    )
    itself = await judged(Model(fails_on={SHORT}), "degree")
    assert itself.reason == (
        f"semantic: comparisons with 4 of 5 answers failed (ProviderTimeoutError x1); {late}"
    )
    evidence = Evidence(Samples(OTHERS), judge_provider=Model(garbled=True))
    unread = await Semantic(Semantic.Config(by="judge", measure="entailment")).score(
        Passage.of(SHORT), evidence
    )
    assert (unread.sentences, unread.reasons, unread.lost) == ((None,), (None,), (0,))
    nothing = await Semantic().score(Passage.of(SHORT), Evidence())
    assert nothing.error == "there are no samples to compare with"


def tokens(text: str, logprob: float) -> tuple[TokenLogprob, ...]:
    words = [
        text[a:b] for a, b in pairwise([0, *(m.start() for m in re.finditer(" ", text)), None])
    ]
    return tuple(TokenLogprob(word, logprob) for word in words)


class Writer(Model):
    """Answers and samples with the probabilities of their tokens, where these are asked for."""

    def __init__(self, logprobs: Mapping[str, float]) -> None:
        super().__init__()
        self._logprobs = logprobs
        self._texts = [*logprobs]

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if request.question != "When did it open?":
            return await super().complete(request, n=n)
        text = self._texts[request.index + 1 if request.varied else 0]
        asked = tokens(text, self._logprobs[text]) if request.params.get("logprobs") else ()
        return Completions((Completion(text, logprobs=asked),))


async def test_texts_weigh_by_their_probabilities() -> None:
    logprobs = dict(zip(TEXTS, (-0.1, -0.4, -2.0, -3.0, -0.2), strict=True))
    sampling = {"max": 4, "start": "after"}
    weights = [exp(value) for value in logprobs.values()]
    expected = {
        "entropy": p_entropy(p_meanings(JUDGED), weights) / log(5),
        "density": 1 - p_density(JUDGED[0, 1:], weights[1:]),
    }
    for measure, score in expected.items():
        chain = steps(measure, weighted=True)
        guard = Guard({"chain": chain, "sampling": sampling}, provider=Writer(logprobs), model="m")
        answer = await guard.aask("When did it open?")
        assert answer.verdict.score == pytest.approx(score), measure
    # Texts that are next to impossible weigh the same.
    hardly = dict(zip(TEXTS, (-1000.0, -120.0, -160.0, -140.0, -200.0), strict=True))
    guard = Guard(
        {"chain": steps("entropy", weighted=True), "sampling": sampling},
        provider=Writer(hardly),
        model="m",
    )
    score = (await guard.aask("When did it open?")).verdict.score
    assert score == pytest.approx(p_entropy(p_meanings(JUDGED)) / log(5))
    # Samples as bare texts have none.
    guard = Guard({"chain": steps("entropy", weighted=True)}, provider=Model(), model="m")
    given = tokens(SHORT, -0.1)
    verdict = await guard.acheck(SHORT, question="When?", samples=OTHERS, logprobs=given)
    assert verdict.reason == (
        "semantic: the response or a sample came without the probabilities of its tokens, which"
        " `weighted` needs"
    )


def test_heat_is_above_zero() -> None:
    assert Semantic.Config(heat=0.1).heat == 0.1
    with pytest.raises(ValidationError, match="heat"):
        Semantic.Config(heat=0.0)


def test_weights_have_no_meaning_for_other_measures() -> None:
    with pytest.raises(PolicyError, match="`weighted` has no meaning for `measure: sets`"):
        Policy.of({"chain": steps("sets", weighted=True)})
