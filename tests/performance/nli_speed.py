"""Pairs per second of `nli`: the released procedure and our back ends, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Literal, TypeAlias

from performance.readings import Part, Reading, row_of
from performance.released_nli import PlainClassifier
from performance.skipping import SkippedError
from performance.workshop import Workshop
from resay.adapters import run_sync
from resay.errors import ResayError
from resay.models import Pair, PairClassifier, pair_classifier
from resay.plugins import ModelConfig
from resay_lab.benchmarks.table import Row

__all__ = ["measure_nli"]

_Score: TypeAlias = "Callable[[Sequence[Pair]], list[float]]"
"""Gives the probability of contradiction of sentences and samples."""

_Precision: TypeAlias = Literal["fp32", "int8"]

_PLAIN = "one pair at a time, as released"
_INT8 = "onnx int8"
_WARM_UP = 2
# How many times as many pairs a second int8 should score as one pair at a time.
_INT8_GOAL = 3


class _Way:
    """A way to score pairs, with the best time it took.

    Args:
        name: What it is called.
        make: Loads what scores them.
    """

    def __init__(self, name: str, make: Callable[[], _Score]) -> None:
        self.name = name
        self.seconds = inf
        self.scores: list[float] = []
        self.why_not = ""
        self._score = self._made(make)

    def _made(self, make: Callable[[], _Score]) -> _Score | None:
        try:
            return make()
        except (SkippedError, ResayError) as error:
            self.why_not = str(error)
            return None

    def time(self, pairs: Sequence[Pair]) -> None:
        """Score pairs, and keep the time if it is the best so far."""
        if self._score is None:
            return
        started = time.perf_counter()
        self.scores = self._score(pairs)
        self.seconds = min(self.seconds, time.perf_counter() - started)

    def forget(self) -> None:
        """Forget the time of a first use, which loads and sets up."""
        self.seconds = inf


def measure_nli(shape: str, workshop: Workshop, pairs: Sequence[Pair], repeats: int) -> list[Row]:
    """Measure how many pairs each way scores in a second.

    Args:
        shape: The shape of the model.
        workshop: Makes it.
        pairs: Sentences and samples.
        repeats: How often all of them are scored; the best time counts.

    Returns:
        One row for each way.
    """
    model = workshop.deberta(shape)
    ways = [
        _Way(_PLAIN, lambda: PlainClassifier(model).score),
        _Way("torch", lambda: _ours(ModelConfig(name=str(model), backend="torch", cache_mb=0))),
        _Way("onnx fp32", lambda: _onnx(workshop, shape, "fp32")),
        _Way(_INT8, lambda: _onnx(workshop, shape, "int8")),
    ]
    _race(ways, pairs, repeats)
    plain = ways[0]
    goal = _INT8_GOAL * len(pairs) / plain.seconds
    rows: list[Row] = []
    for way in ways:
        least = round(goal, 2) if way.name == _INT8 else None
        part = Part("nli", f"{shape}, {way.name}", "pairs/s", least=least)
        rows.append(row_of(part, partial(_read, way, plain, len(pairs))))
    return rows


def _race(ways: Sequence[_Way], pairs: Sequence[Pair], repeats: int) -> None:
    for way in ways:
        way.time(pairs[:_WARM_UP])
        way.forget()
    # By turns, so that a machine that is busy for a while slows all of them.
    for _ in range(repeats):
        for way in ways:
            way.time(pairs)


def _onnx(workshop: Workshop, shape: str, precision: _Precision) -> _Score:
    folder = workshop.exported(workshop.deberta(shape))
    return _ours(ModelConfig(name=str(folder), backend="onnx", precision=precision, cache_mb=0))


def _ours(config: ModelConfig) -> _Score:
    model = pair_classifier(config)
    run_sync(model.prepare)
    return partial(_contradicted, model)


def _contradicted(model: PairClassifier, pairs: Sequence[Pair]) -> list[float]:
    return [float(value) for value in run_sync(model.classify, pairs)[:, 1]]


def _read(way: _Way, plain: _Way, pairs: int) -> Reading:
    if way.why_not:
        raise SkippedError(way.why_not)
    details: Mapping[str, float] = {
        "pairs": pairs,
        "seconds": round(way.seconds, 4),
        "ratio": round(plain.seconds / way.seconds, 3),
        "largest_difference": _largest_difference(way, plain),
    }
    remark = None if way is plain else f"{details['ratio']:.2f} x as released"
    return Reading(
        pairs / way.seconds,
        remark,
        details,
        None if way is plain else "as released",
        None if way is plain else pairs / plain.seconds,
        None if way is plain else way.seconds / plain.seconds,
    )


def _largest_difference(way: _Way, plain: _Way) -> float:
    return max(abs(a - b) for a, b in zip(way.scores, plain.scores, strict=True))
