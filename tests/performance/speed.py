"""How fast Resay is, as ratios measured in one run on one machine.

Absolute times say more about the machine than about the program; a ratio to something measured
beside it, or to what cannot be beaten, holds elsewhere too.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import correlation, fmean, median
from typing import Any

from performance.check_speed import measure_checks
from performance.readings import COLUMNS, Part, Reading, best_s, environment, evenly, row_of
from performance.released_ngram import build_pipeline, score_plainly, tokenize_plainly
from performance.serving import simulated_elsewhere
from performance.skipping import SkippedError
from resay import Guard, Passage
from resay.adapters import run_sync
from resay.core.tokens import tokenize
from resay.errors import ConfigurationError, ResayError
from resay.plugins import Evidence, Samples, Scores, build
from resay.scorers.ngram import Ngram
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import ResultTable, Row

__all__ = ["measure_import", "measure_latency", "measure_ngram", "run"]

_PLAIN_ROWS = 24
_REPEATS = 3


_NGRAM = Part("ngram", "one check by the plain procedure / one check by ours", "x", least=40)
_LATENCY = Part("latency", "a judged check / the time its calls must take", "x", most=1.3)
_IMPORT = Part("import", "`import resay` beyond an empty interpreter", "ms", most=150)


def run(data: Path | None, rows: slice = slice(None)) -> ResultTable:
    """Measure everything that can be measured here.

    Args:
        data: The folder with the WikiBio data, for the n-gram part.
        rows: Which rows of it to take.

    Returns:
        One row for each part; one that could not be measured says why.
    """
    results = measure_checks(data, rows)
    results += [measure_ngram(data, rows), measure_latency(), measure_import()]
    return ResultTable("speed", COLUMNS, tuple(results), _NOTES)


_NOTES = (
    "down to help: processor time, the best of several turns, in which ours and what it is compared"
    " with are measured one after the other.",
    f"ngram: the mean over at most {_PLAIN_ROWS} evenly spaced rows of those selected, each checked"
    f" both ways side by side, best of {_REPEATS}; ours_all_ms in the JSON is one pass over all of"
    " them. The plain procedure builds spaCy's pipeline for each check, as the released code does,"
    " and takes one sentence at a time.",
    "latency: `prompt`, per_pair, over HTTP to a simulated provider in another"
    " process; the calls must take ceil(calls / concurrency) times the provider's latency.",
    "import: best of several interpreters, each timed from start to end.",
)


def measure_ngram(data: Path | None, rows: slice = slice(None)) -> Row:
    """Measure n-gram scoring against the plain procedure.

    Args:
        data: The folder with the WikiBio data.
        rows: Which rows of it to take.

    Returns:
        How many times as long the plain procedure takes, and how well both agree.
    """
    return row_of(_NGRAM, partial(_ngram, data, rows))


def _ngram(data: Path | None, rows: slice) -> Reading:
    if data is None:
        raise SkippedError("no data; pass --data or set RESAY_DATA")
    try:
        items = wikibio.load(data, rows).items
        chosen = [items[i] for i in evenly(len(items), _PLAIN_ROWS)]
        checks = run_sync(_race, chosen)
    except ConfigurationError as error:
        raise SkippedError(str(error)) from error
    everything_s = run_sync(_time_ours, items)
    ours_s, plain_s = fmean(c.ours_s for c in checks), fmean(c.plain_s for c in checks)
    pipeline_s = fmean(c.pipeline_s for c in checks)
    bare = max(plain_s - pipeline_s, 0.0) / ours_s
    return Reading(
        plain_s / ours_s,
        f"{bare:.1f} x without building the pipeline",
        {
            "plain_ms": round(1000 * plain_s, 3),
            "plain_pipeline_ms": round(1000 * pipeline_s, 3),
            "ratio_without_pipeline": round(bare, 3),
            "ours_ms": round(1000 * ours_s, 3),
            "checks": len(checks),
            "ours_all_ms": round(1000 * everything_s / len(items), 3),
            "ours_all_checks": len(items),
            **_agreement(checks),
        },
        "the plain procedure",
        ratio=ours_s / plain_s,
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """One passage scored both ways, with the time each took in seconds.

    Attributes:
        sentences: Its sentences.
        ours: Our values for them.
        plain: The plain procedure's.
        ours_s: How long we took.
        plain_s: How long the plain procedure took, building its pipeline included.
        pipeline_s: How long building a pipeline took by itself.
    """

    sentences: tuple[str, ...]
    ours: Sequence[float]
    plain: Sequence[float]
    ours_s: float
    plain_s: float
    pipeline_s: float


async def _race(items: Sequence[Item]) -> list[_Check]:
    # The first check loads libraries and starts threads; it is made twice.
    return [await _score_both(item) for item in (items[0], *items)][1:]


async def _score_both(item: Item) -> _Check:
    """Score both ways, one right after the other, so that a busy machine slows both."""
    sentences = tuple(sentence.text for sentence in item.passage.sentences)
    plainly = partial(score_plainly, sentences, item.passage.text, item.samples)
    plain_s, pipeline_s = best_s(plainly, _REPEATS), best_s(build_pipeline, _REPEATS)
    ours_s = math.inf
    for _ in range(_REPEATS):
        started = time.perf_counter()
        await _score(item)
        ours_s = min(ours_s, time.perf_counter() - started)
    ours, plain = (await _score(item)).raw, plainly()[1]
    return _Check(sentences, ours, plain, ours_s, plain_s, pipeline_s)


async def _score(item: Item) -> Scores:
    texts = [sentence.text for sentence in item.passage.sentences]
    passage = Passage.from_sentences(texts, text=item.passage.text)
    return await build(Ngram.Config(counted="response")).score(
        passage, Evidence(samples=Samples(item.samples))
    )


async def _time_ours(items: Sequence[Item]) -> float:
    started = time.perf_counter()
    for item in items:
        await _score(item)
    return time.perf_counter() - started


def _agreement(checks: Sequence[_Check]) -> dict[str, float | int]:
    """Compare the scores of all sentences, and of those that both split into the same tokens."""
    rows = [
        (text, ours, plain)
        for c in checks
        for text, ours, plain in zip(c.sentences, c.ours, c.plain, strict=True)
        if math.isfinite(plain)
    ]
    alike = [abs(a - b) for text, a, b in rows if tokenize(text) == tokenize_plainly(text)]
    figures: dict[str, float | int] = {"sentences": len(rows), "same_tokens": len(alike)}
    if len({a for _, a, _ in rows}) > 1 and len({b for _, _, b in rows}) > 1:
        figures["correlation"] = round(
            correlation([a for _, a, _ in rows], [b for *_, b in rows]), 5
        )
    if alike:
        figures["median_difference_same_tokens"] = round(median(alike), 5)
        figures["largest_difference_same_tokens"] = round(max(alike), 5)
    return figures


_SENTENCE = "The bridge over the harbour was opened in {}."


def measure_latency(
    *,
    sentences: int = 8,
    samples: int = 10,
    concurrency: int = 16,
    latency_s: float = 0.3,
    runs: int = 3,
) -> Row:
    """Measure a judged check over HTTP against the time its calls must take.

    Args:
        sentences: Sentences of the response.
        samples: Samples it is compared with.
        concurrency: Calls at once.
        latency_s: How long the simulated provider takes to answer, in seconds.
        runs: How many checks to take the median of, after one to warm up.

    Returns:
        The check's time as a multiple of the shortest possible.
    """
    return row_of(
        _LATENCY, partial(_latency, sentences, samples, concurrency, latency_s, max(runs, 1))
    )


def _latency(
    sentences: int, samples: int, concurrency: int, latency_s: float, runs: int
) -> Reading:
    limits = {"concurrency": concurrency, "deadline_s": None}
    try:
        policy = {
            "chain": [{"method": "prompt", "mode": "per_pair"}],
            "sampling": {"confidence": None},
            "cache": {"store": "none"},
            "limits": limits,
        }
        guard = Guard(policy, model="openai/simulated")
        with simulated_elsewhere(latency_s=latency_s) as params:
            check = partial(_check_s, guard, sentences, samples, params)
            check()
            seconds = [check() for _ in range(runs)]
    except ResayError as error:
        raise SkippedError(str(error)) from error
    ideal = math.ceil(sentences * samples / concurrency) * latency_s
    return Reading(
        median(seconds) / ideal,
        f"{median(seconds):.2f} s for {sentences * samples} calls, {concurrency} at once",
        {
            "seconds": round(median(seconds), 4),
            "ideal_seconds": round(ideal, 4),
            "calls": sentences * samples,
            "concurrency": concurrency,
            "latency_s": latency_s,
            "runs": runs,
        },
        "the time its calls must take",
        1.0,
    )


def _check_s(guard: Guard, sentences: int, samples: int, params: Mapping[str, Any]) -> float:
    response = " ".join(_SENTENCE.format(1900 + i) for i in range(sentences))
    others = [f"{response} Sample {i} says so too." for i in range(samples)]
    verdict = guard.check(response, samples=others, params=params)
    if verdict.inconclusive or verdict.usage.calls != sentences * samples:
        raise SkippedError(f"{verdict.usage.calls} calls were made; {verdict.reason}")
    return verdict.elapsed_s


def measure_import(*, runs: int = 7) -> Row:
    """Measure what `import resay` adds to an empty interpreter.

    Args:
        runs: How many interpreters of each kind to take the best of.

    Returns:
        Milliseconds; the details have the same for what a first use loads.
    """
    return row_of(_IMPORT, partial(_import, max(runs, 1)))


def _import(runs: int) -> Reading:
    programs = ("pass", "import resay", "from resay import Guard")
    best = dict.fromkeys(programs, math.inf)
    for _ in range(runs):
        for program in programs:
            best[program] = min(best[program], _interpreter_s(program))
    empty, imported, used = (1000 * best[program] for program in programs)
    return Reading(
        max(imported - empty, 0.0),
        f"{used - empty:.0f} ms with `Guard`",
        {"empty_ms": round(empty, 2), "with_guard_ms": round(used - empty, 2), "runs": runs},
        "an empty interpreter",
        empty,
    )


def _interpreter_s(program: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=environment())
    return time.perf_counter() - started
