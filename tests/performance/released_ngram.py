"""SelfCheckGPT's n-gram scorer as published, to compare ours with.

Written from the published description, with the libraries the authors used: for each check a spaCy
pipeline is built; each text is split into sentences and each sentence tokenized by it, lower-cased
and counted; each sentence under examination is tokenized again. Nothing is smoothed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import inf, log
from statistics import fmean
from typing import Any

from resay.adapters import load_optional

__all__ = ["ReferenceScores", "build_pipeline", "score_plainly", "tokenize_plainly"]

_START = "<s>"

ReferenceScores = tuple[list[float], list[float]]
"""Per sentence the average (Eq. 7) and the maximum (Eq. 8) of -log p."""


def tokenize_plainly(text: str) -> list[str]:
    """Return spaCy's English tokens, lower-cased.

    Raises:
        MissingDependencyError: spaCy is not installed.
    """
    return _tokens(_cached_pipeline(), text)


def build_pipeline() -> Any:
    """Return a new spaCy pipeline that tokenizes English and splits sentences at their marks.

    Raises:
        MissingDependencyError: spaCy is not installed.
    """
    nlp = _load("spacy").blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


_cached_pipeline = cache(build_pipeline)


def score_plainly(
    sentences: Sequence[str], passage: str, samples: Iterable[str], n: int = 1
) -> ReferenceScores:
    """Score sentences as the published procedure does, everything made anew.

    Args:
        sentences: The sentences of the passage.
        passage: The passage, which is counted too.
        samples: Other responses to the same query.
        n: Tokens in an n-gram.

    Returns:
        Averages and maxima, in nats; infinite where an n-gram was never counted.

    Raises:
        MissingDependencyError: spaCy, or NLTK for n > 1, is not installed.
    """
    nlp = build_pipeline()
    counts: dict[tuple[str, ...], int] = {}
    for text in (passage, *samples):
        for sentence in nlp(text).sents:
            for gram in _grams(_tokens(nlp, sentence.text.strip()), n):
                counts[gram] = counts.get(gram, 0) + 1
    total = sum(counts.values())
    averages: list[float] = []
    maxima: list[float] = []
    for sentence in sentences:
        grams = _grams(_tokens(nlp, sentence), n)
        surprises = [-log(counts[gram] / total) if gram in counts else inf for gram in grams]
        averages.append(fmean(surprises))
        maxima.append(max(surprises))
    return averages, maxima


def _tokens(nlp: Any, text: str) -> list[str]:
    return [token.text.lower() for token in nlp(text)]


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    if n == 1:
        return [(token,) for token in tokens]
    ngrams = _load("nltk.util").ngrams
    return list(ngrams(tokens, n, pad_left=True, left_pad_symbol=_START))


def _load(module: str) -> Any:
    package = module.partition(".")[0]
    return load_optional(module, package=package, extra="dev", purpose="the speed bench")
