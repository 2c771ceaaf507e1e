"""SelfCheckGPT with n-gram (`ngram`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.3, equations 7 and 8, Table 7.

An n-gram model is counted over the response and its samples, lower-cased, with left padding at the
start of each sentence; a token that the samples do not repeat is improbable under it. With p the
relative frequency of an n-gram among all n-grams counted, a sentence of J tokens has

    average   -1/J sum_j log p_ij        (Eq. 7)
    maximum    max_j (-log p_ij)         (Eq. 8)

and the passage has the average over all its tokens, or the mean of its sentences' maxima.

Counted this way, an answer supports itself: anything it says twice becomes less improbable. So by
default (`counted: sentence`, which is ours) each sentence has its own model, over the samples and
the sentence, in which each of its n-grams counts once: its score depends on nothing else in the
response, and the passage has the mean of its sentences' scores. Citation marks are left out.
`counted: response` is the published form, which also compares characters as they are written.

These values grow with the amount of text counted. `raw` keeps them; the score scales them between
two fixed points of the same model: 1 at log T, the value of an n-gram that appears once among the T
counted and so only in the response itself; and 0 at log T - log(N + 1), the value of one that also
appears once in each of the N samples (for `average`, which common words pull down, 0 at the value
0).

Cost: no calls. Good at: speed, names and numbers that no sample repeats. Bad at: paraphrase, and
texts of rare words; of all methods it needs the most samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from resay._internal.event_loops import compute, stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.core.tokens import CachedTokenizer
from resay.scorers import common
from resay.scorers.base import TEXTS_COMPARED, Need, SampleConfig, ScorerTraits

if TYPE_CHECKING:
    from resay.scorers.evidence import Evidence
    from resay.scorers.samples import Sample

_START = "\x02"
_WORD = lazy_pattern(r"\w")


@dataclass(frozen=True, slots=True)
class _Counting:
    """Counts the n-grams of texts."""

    n: int
    runs: CachedTokenizer

    def __call__(self, texts: Sequence[Passage | Sample]) -> _Model:
        if self.n == 1:
            # Only the padding of longer n-grams depends on where sentences begin.
            counts = self.runs.count(_read(texts))
        else:
            counts: Counter[str] = Counter()
            for text in texts:
                passage = text if isinstance(text, Passage) else text.passage
                for piece in passage.pieces:
                    counts.update(_grams(_tokens(piece.text, self.runs), self.n))
        return _Model(self.n, counts, sum(counts.values()))


@dataclass(frozen=True, slots=True)
class _CountingEach:
    """Counts the n-grams of each text separately, adding the response if that counts too."""

    n: int
    response: Passage | None
    runs: CachedTokenizer

    def __call__(self, texts: Sequence[Sample]) -> list[_Model]:
        count = _Counting(self.n, self.runs)
        if self.response is None:
            return [count([text]) for text in texts]
        return [count([self.response, text]) for text in texts]


@dataclass(frozen=True, slots=True)
class _Model:
    """Counts of n-grams; an n-gram is a string of its tokens joined by spaces."""

    n: int
    counts: Counter[str]
    total: int

    def look_up(self, tokens: Sequence[str], *, adds: bool) -> _Counted:
        """Look up the counts of a sentence's n-grams.

        Args:
            tokens: Its tokens.
            adds: Whether the sentence is not yet counted, so that each of its n-grams adds one.
        """
        grams = _grams(tokens, self.n)
        if adds:
            counts = [self.counts.get(gram, 0) + 1 for gram in grams]
            return _Counted(grams, counts, self.total + len(set(grams)))
        # A sentence split differently can begin with an n-gram that was never counted.
        return _Counted(grams, [self.counts.get(gram, 0) or 1 for gram in grams], self.total)


@dataclass(frozen=True, slots=True)
class _Counted:
    """A sentence's n-grams, the count of each, and the total number of n-grams counted."""

    grams: Sequence[str]
    counts: Sequence[int]
    total: int

    @property
    def surprises(self) -> list[float]:
        """-log p of each n-gram."""
        bound = log(self.total)
        return [bound - log(count) for count in self.counts]


def _read(texts: Sequence[Passage | Sample]) -> Iterator[str]:
    for text in texts:
        stop_if_abandoned()
        yield text.text


def _tokens(text: str, runs: CachedTokenizer) -> list[str]:
    stop_if_abandoned()
    return runs.tokenize(text)


def _grams(tokens: Sequence[str], n: int) -> Sequence[str]:
    if n == 1:
        return tokens
    padded = [_START] * (n - 1) + list(tokens)
    return [" ".join(padded[i : i + n]) for i in range(len(tokens))]


class Ngram:
    """Scores sentences by their n-grams' probability under the samples."""

    name: ClassVar[str] = "ngram"
    needs: ClassVar[frozenset[Need]] = frozenset({"samples"})

    class Config(SampleConfig):
        """Settings of `ngram`."""

        method: Literal["ngram"] = "ngram"
        n: int = Field(default=1, ge=1, le=5, description="The number of tokens in an n-gram.")
        pool: Literal["maximum", "average"] = Field(
            default="maximum",
            description="How to pool a sentence's tokens: Eq. 8 (maximum) or Eq. 7 (average).",
        )
        counted: Literal["sentence", "response"] = Field(
            default="sentence",
            description="What to count in addition to the samples: the sentence alone, so that an"
            " answer gains nothing by repeating itself, or the whole response, as published.",
        )

    def __init__(self, config: Ngram.Config | None = None) -> None:
        self.config = config or self.Config()
        self.traits = ScorerTraits(by_sentence=self.config.counted == "sentence")

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage; see the module docstring for the equations.

        Args:
            passage: The text; its `sentences` are scored. The published form counts all of it.
            evidence: The samples.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`, in nats; none
            without samples.
        """
        samples, runs = await evidence.samples.all(), evidence.samples.runs
        if not samples:
            return Scores(sentences=(None,) * len(passage.sentences))
        if not self.traits.by_sentence:
            runs = CachedTokenizer(as_published=True)
        counting = _Counting(self.config.n, runs)
        if self.config.replaces_samples and len(samples) > 1:
            chars = len(samples) * len(passage.text) + evidence.samples.chars
            each = _CountingEach(self.config.n, None if self.traits.by_sentence else passage, runs)
            models = await evidence.samples.derive(each, chars=chars)
            return await compute(partial(self._best, passage, models, runs), chars=chars)
        if self.traits.by_sentence:
            # Built once for all sentences of a streamed response, each of which is scored alone.
            model = await evidence.samples.derive(counting, chars=evidence.samples.chars)
        else:
            chars = len(passage.text) + evidence.samples.chars
            model = await compute(partial(counting, (passage, *samples)), chars=chars)
        sentences = sum(len(sentence.text) for sentence in passage.sentences)
        _, nearby = common.nearby_text(passage)
        chars = max(sentences, len(nearby))
        return await compute(partial(self._score, passage, model, len(samples), runs), chars=chars)

    def _score(
        self, passage: Passage, model: _Model, samples: int, runs: CachedTokenizer
    ) -> Scores:
        is_average, alone = self.config.pool == "average", self.traits.by_sentence
        texts = [sentence.text for sentence in passage.sentences]
        if alone:
            # Samples cite otherwise, or not at all.
            texts = [text or "" for text in common.uncited_sentences(passage)]
        tokens = [_tokens(text, runs) for text in texts]
        if not any(tokens):
            return Scores(sentences=(None,) * len(tokens))
        pooled = fmean if is_average else max
        raw: list[float] = []
        scores: list[float] = []
        reasons: list[str | None] = []
        surprises: list[float] = []
        for of_sentence in tokens:
            counted = model.look_up(of_sentence, adds=alone)
            of_grams = counted.surprises
            value = pooled(of_grams) if of_grams else 0.0
            raw.append(value)
            scores.append(self._scaled(value, counted.total, samples))
            reasons.append(_reason(counted, samples, alone=alone, is_average=is_average))
            if is_average:
                surprises += of_grams
        raw_passage, passage_score = fmean(raw), fmean(scores)
        if is_average and not alone:
            raw_passage = fmean(surprises)
            passage_score = self._scaled(raw_passage, model.total, samples)
        return Scores(
            sentences=tuple(scores),
            passage=passage_score,
            raw=tuple(raw),
            raw_passage=raw_passage,
            reasons=tuple(reasons),
        )

    def _best(self, passage: Passage, models: Sequence[_Model], runs: CachedTokenizer) -> Scores:
        """Score each sentence by the document nearest to it: one is enough."""
        by_document = [self._score(passage, model, 1, runs) for model in models]
        scores: list[float | None] = []
        raw: list[float] = []
        reasons: list[str | None] = []
        for sentence in range(len(passage.sentences)):
            best = min(by_document, key=lambda document: _score_or_one(document, sentence))
            scores.append(best.sentences[sentence])
            if best.raw:
                raw.append(best.raw[sentence])
                reasons.append(best.reasons[sentence])
        if not raw:
            return Scores(sentences=tuple(scores))
        return Scores(
            sentences=tuple(scores),
            passage=fmean(score for score in scores if score is not None),
            raw=tuple(raw),
            raw_passage=fmean(raw),
            reasons=tuple(reasons),
        )

    def _scaled(self, raw: float, total: int, samples: int) -> float:
        """Scale a raw value to a score in [0, 1]."""
        highest = log(total)
        lowest = highest - log(samples + 1) if self.config.pool == "maximum" else 0.0
        if highest <= lowest:
            return 1.0
        return min(max((raw - lowest) / (highest - lowest), 0.0), 1.0)


def _score_or_one(scores: Scores, sentence: int) -> float:
    score = scores.sentences[sentence]
    return 1.0 if score is None else score


def _reason(counted: _Counted, samples: int, *, alone: bool, is_average: bool) -> str | None:
    """Return how often the rarest words appear elsewhere."""
    # A full stop is no reason, unless there is nothing else.
    grams = [i for i, gram in enumerate(counted.grams) if _WORD.search(gram)]
    grams = grams or list(range(len(counted.grams)))
    if not grams:
        return None
    rarest = min(grams, key=lambda i: counted.counts[i])
    words = counted.grams[rarest].replace(_START, "").strip()
    elsewhere = counted.counts[rarest] - 1
    texts = f"{samples} {TEXTS_COMPARED}"
    if elsewhere >= samples > 0 and not is_average:
        # Nothing is rare, so there is nothing to doubt.
        unit = "sequence of its words" if " " in words else "word"
        where = f"the {texts}" if alone else f"the rest of the response and the {texts}"
        return f"every {unit} appears at least {_times(elsewhere)} in {where}"
    only = "" if elsewhere >= samples > 0 else "only "
    if alone:
        again = f"{only}{_times(elsewhere)}" if elsewhere else "nowhere"
        return f"{words!r} appears {again} in {texts}"
    again = f"{only}{_times(elsewhere)} elsewhere" if elsewhere else "nowhere else"
    return f"{words!r} appears {again} in the response and {texts}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
