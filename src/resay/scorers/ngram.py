"""SelfCheckGPT with n-gram (`ngram`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.3, equations 7 and 8, Table 7.

An n-gram model is counted over the response and its samples, lower-cased, with left padding at the
start of each sentence; a token the samples do not repeat is improbable under it. With p the
relative frequency of an n-gram among all n-grams counted, a sentence of J tokens has

    average   -1/J sum_j log p_ij        (Eq. 7)
    maximum    max_j (-log p_ij)         (Eq. 8)

and the passage has the average over all its tokens, or the mean of its sentences' maxima.

Those values grow with the amount of text counted. `raw` keeps them; the score places them between
two fixed points of the same check, which keeps their order: 1 at log T, the value of an n-gram that
stands once among the T counted and so only in the response itself; and 0 at log T - log(N + 1), the
value of one that stands once in each of the N samples too (for `average`, which common words pull
down, 0 at the value 0).

Cost: no calls. Good at: speed, names and numbers that no sample repeats. Bad at: paraphrase, and
texts of rare words; of all methods it needs the most samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field

from resay.evidence import Evidence, Sample
from resay.passage import Passage
from resay.scorers.base import Need, SampleConfig
from resay.tasks import compute, stop_if_abandoned
from resay.tokens import count_tokens, tokenize
from resay.verdict import Scores

__all__ = ["Ngram"]

_START = "\x02"


@dataclass(frozen=True, slots=True)
class _Model:
    """Counts of n-grams; an n-gram is its tokens joined by spaces."""

    n: int
    counts: Counter[str]
    total: int

    @classmethod
    def over(cls, n: int, passage: Passage, samples: Sequence[Sample]) -> _Model:
        if n == 1:
            # Only the padding of longer n-grams depends on where sentences begin.
            counts = Counter[str]()
            for text in (passage.text, *(s.text for s in samples)):
                stop_if_abandoned()
                counts.update(count_tokens(text))
        else:
            passages = (passage, *(s.passage for s in samples))
            counts = Counter(
                gram
                for p in passages
                for piece in p.pieces
                for gram in _grams(_tokens(piece.text), n)
            )
        return cls(n, counts, sum(counts.values()))

    def surprise(self, tokens: Sequence[str]) -> list[float]:
        """Return -log p of each token's n-gram."""
        bound = log(self.total)
        # A sentence split elsewhere can begin with an n-gram that was never counted.
        return [bound - log(self.counts[gram] or 1) for gram in _grams(tokens, self.n)]


def _tokens(text: str) -> list[str]:
    stop_if_abandoned()
    return tokenize(text)


def _grams(tokens: Sequence[str], n: int) -> Sequence[str]:
    if n == 1:
        return tokens
    padded = [_START] * (n - 1) + list(tokens)
    return [" ".join(padded[i : i + n]) for i in range(len(tokens))]


class Ngram:
    """Scores sentences by their n-grams' probability under the samples."""

    name: ClassVar[str] = "ngram"
    by_sentence: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"samples"})

    class Config(SampleConfig):
        """Settings of `ngram`."""

        method: Literal["ngram"] = "ngram"
        n: int = Field(default=1, ge=1, le=5, description="Tokens in an n-gram.")
        pool: Literal["maximum", "average"] = Field(
            default="maximum", description="How a sentence's tokens are pooled: Eq. 8 or Eq. 7."
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage; see the module's text for the equations.

        Args:
            passage: The text; all of it is counted, its `sentences` are scored.
            evidence: The samples. With none, every n-gram is as improbable as can be.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`, in nats.
        """
        samples = await evidence.samples.all()
        chars = len(passage.text) + sum(len(sample.text) for sample in samples)
        return await compute(partial(self._score, passage, samples), chars=chars)

    def _score(self, passage: Passage, samples: Sequence[Sample]) -> Scores:
        tokens = [_tokens(sentence.text) for sentence in passage.sentences]
        if not any(tokens):
            return Scores(sentences=(None,) * len(tokens))
        model = _Model.over(self.config.n, passage, samples)
        surprises = [model.surprise(t) for t in tokens]
        place = _Scale(model.total, len(samples), self.config.pool)
        if self.config.pool == "average":
            raw = [fmean(s) if s else 0.0 for s in surprises]
            raw_passage = fmean(value for s in surprises for value in s)
        else:
            raw = [max(s, default=0.0) for s in surprises]
            raw_passage = fmean(raw)
        scores = tuple(map(place.score, raw))
        return Scores(
            sentences=scores,
            passage=place.score(raw_passage) if self.config.pool == "average" else fmean(scores),
            raw=tuple(raw),
            raw_passage=raw_passage,
            why=tuple(_why(_grams(t, self.config.n), model, len(samples)) for t in tokens),
        )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Places a raw value in [0, 1]."""

    total: int
    samples: int
    pool: str

    def score(self, raw: float) -> float:
        highest = log(self.total)
        lowest = highest - log(self.samples + 1) if self.pool == "maximum" else 0.0
        if highest <= lowest:
            return 1.0
        return min(max((raw - lowest) / (highest - lowest), 0.0), 1.0)


def _why(grams: Sequence[str], model: _Model, samples: int) -> str | None:
    if not grams:
        return None
    rarest = min(grams, key=lambda gram: model.counts[gram])
    words = rarest.replace(_START, "").strip()
    times = max(model.counts[rarest] - 1, 0)
    again = "nowhere else" if times == 0 else f"only {times} more times"
    return f"{words!r} stands {again} in the response and {samples} texts compared"
