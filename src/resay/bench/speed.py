"""How fast Resay is, as ratios measured in one run on one machine.

Absolute times say more about the machine than about the program; a ratio to something measured
beside it, or to what cannot be beaten, holds elsewhere too.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import correlation, fmean, median
from typing import Any

from resay.bench import wikibio
from resay.bench.measuring import Item
from resay.bench.released_ngram import build_pipeline, score_plainly, tokenize_plainly
from resay.bench.table import Column, ResultTable, Row
from resay.errors import ConfigurationError, ResayError
from resay.evidence import Evidence, Samples
from resay.guard import Guard
from resay.passage import Passage
from resay.scorers import Ngram, build
from resay.sync import run_sync
from resay.tokens import tokenize
from resay.verdict import Scores

__all__ = ["measure_import", "measure_latency", "measure_ngram", "run"]

_COLUMNS = (
    Column("part", "part"),
    Column("what", "what"),
    Column("value", "measured", 2),
    Column("unit", "unit"),
    Column("target", "target"),
    Column("met", "met"),
    Column("remark", "remark"),
)
_PLAIN_ROWS = 24
_REPEATS = 3


class _SkippedError(Exception):
    """A part cannot be measured here; says why."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What one part of the bench measures, and what is wanted of it."""

    name: str
    what: str
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def target(self) -> str:
        return f">= {self.least:g}" if self.most is None else f"<= {self.most:g}"

    def met(self, value: float) -> bool:
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was measured."""

    value: float
    remark: str | None
    details: Mapping[str, float | int] = field(default_factory=dict[str, "float | int"])


_NGRAM = _Part("ngram", "one check by the plain procedure / one check by ours", "x", least=40)
_LATENCY = _Part("latency", "a judged check / the time its calls must take", "x", most=1.3)
_IMPORT = _Part("import", "`import resay` beyond an empty interpreter", "ms", most=150)


def run(data: Path | None, rows: slice = slice(None)) -> ResultTable:
    """Measure everything that can be measured here.

    Args:
        data: The folder with the WikiBio data, for the n-gram part.
        rows: Which rows of it to take.

    Returns:
        One row for each part; one that could not be measured says why.
    """
    results = [measure_ngram(data, rows), measure_latency(), measure_import()]
    return ResultTable("speed", _COLUMNS, tuple(results), _NOTES)


_NOTES = (
    f"ngram: the mean over at most {_PLAIN_ROWS} evenly spaced rows of those selected, each checked"
    f" both ways side by side, best of {_REPEATS}; ours_all_ms in the JSON is one pass over all of"
    " them. The plain procedure builds spaCy's pipeline for each check, as the released code does,"
    " and takes one sentence at a time.",
    "latency: `prompt`, per_pair, through litellm and HTTP to a simulated provider in another"
    " process; the calls must take ceil(calls / concurrency) times the provider's latency.",
    "import: best of several interpreters, each timed from start to end.",
)


def _row(part: _Part, measure: Callable[[], _Reading]) -> Row:
    about = {"part": part.name, "what": part.what, "unit": part.unit, "target": part.target}
    try:
        reading = measure()
    except _SkippedError as reason:
        skipped = f"skipped: {reason}"
        nothing = dict.fromkeys(("value", "met", "details"))
        return {**about, **nothing, "remark": skipped, "skipped": skipped}
    return {
        **about,
        "value": round(reading.value, 3),
        "met": part.met(reading.value),
        "remark": reading.remark,
        "details": dict(reading.details),
        "skipped": None,
    }


def measure_ngram(data: Path | None, rows: slice = slice(None)) -> Row:
    """Measure n-gram scoring against the plain procedure.

    Args:
        data: The folder with the WikiBio data.
        rows: Which rows of it to take.

    Returns:
        How many times as long the plain procedure takes, and how well both agree.
    """
    return _row(_NGRAM, partial(_ngram, data, rows))


def _ngram(data: Path | None, rows: slice) -> _Reading:
    if data is None:
        raise _SkippedError("no data; pass --data or set RESAY_DATA")
    try:
        items = wikibio.load(data, rows).items
        chosen = [items[i] for i in _evenly(len(items), _PLAIN_ROWS)]
        checks = run_sync(_race, chosen)
    except ConfigurationError as error:
        raise _SkippedError(str(error)) from error
    everything_s = run_sync(_time_ours, items)
    ours_s, plain_s = fmean(c.ours_s for c in checks), fmean(c.plain_s for c in checks)
    pipeline_s = fmean(c.pipeline_s for c in checks)
    bare = max(plain_s - pipeline_s, 0.0) / ours_s
    return _Reading(
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
    plain_s, pipeline_s = _best_s(plainly), _best_s(build_pipeline)
    ours_s = math.inf
    for _ in range(_REPEATS):
        started = time.perf_counter()
        await _score(item)
        ours_s = min(ours_s, time.perf_counter() - started)
    ours, plain = (await _score(item)).raw, plainly()[1]
    return _Check(sentences, ours, plain, ours_s, plain_s, pipeline_s)


def _best_s(work: Callable[[], object]) -> float:
    best = math.inf
    for _ in range(_REPEATS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


async def _score(item: Item) -> Scores:
    texts = [sentence.text for sentence in item.passage.sentences]
    passage = Passage.from_sentences(texts, text=item.passage.text)
    return await build(Ngram.Config()).score(passage, Evidence(samples=Samples(item.samples)))


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


def _evenly(count: int, most: int) -> list[int]:
    return sorted({i * count // most for i in range(most)})


# Serves until its standard input is closed, in a process of its own so that its work is not ours.
_SERVER = """\
import json, sys
from resay.testing import SimulatedProvider
with SimulatedProvider(latency_s=float(sys.argv[1])) as provider:
    print(json.dumps(provider.params), flush=True)
    sys.stdin.read()
"""
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
    return _row(
        _LATENCY, partial(_latency, sentences, samples, concurrency, latency_s, max(runs, 1))
    )


def _latency(
    sentences: int, samples: int, concurrency: int, latency_s: float, runs: int
) -> _Reading:
    limits = {"concurrency": concurrency, "deadline_s": None}
    try:
        guard = Guard({"chain": [{"method": "prompt"}], "limits": limits}, model="openai/simulated")
        with _server(latency_s) as params:
            check = partial(_check_s, guard, sentences, samples, params)
            check()
            seconds = [check() for _ in range(runs)]
    except ResayError as error:
        raise _SkippedError(str(error)) from error
    ideal = math.ceil(sentences * samples / concurrency) * latency_s
    return _Reading(
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
    )


def _check_s(guard: Guard, sentences: int, samples: int, params: Mapping[str, Any]) -> float:
    response = " ".join(_SENTENCE.format(1900 + i) for i in range(sentences))
    others = [f"{response} Sample {i} says so too." for i in range(samples)]
    verdict = guard.check(response, samples=others, **params)
    if verdict.inconclusive or verdict.usage.calls != sentences * samples:
        raise _SkippedError(f"{verdict.usage.calls} calls were made; {verdict.reason}")
    return verdict.elapsed_s


@contextmanager
def _server(latency_s: float) -> Generator[dict[str, str], None, None]:
    process = subprocess.Popen(  # noqa: S603 - our own program above
        [sys.executable, "-c", _SERVER, str(latency_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    with process:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            _, error = process.communicate()
            last = error.decode(errors="replace").strip().rpartition("\n")[2]
            raise _SkippedError(f"the simulated provider did not start: {last}")
        try:
            yield json.loads(line)
        finally:
            process.communicate()


def measure_import(*, runs: int = 7) -> Row:
    """Measure what `import resay` adds to an empty interpreter.

    Args:
        runs: How many interpreters of each kind to take the best of.

    Returns:
        Milliseconds; the details have the same for what a first use loads.
    """
    return _row(_IMPORT, partial(_import, max(runs, 1)))


def _import(runs: int) -> _Reading:
    programs = ("pass", "import resay", "from resay import Guard")
    best = dict.fromkeys(programs, math.inf)
    for _ in range(runs):
        for program in programs:
            best[program] = min(best[program], _interpreter_s(program))
    empty, imported, used = (1000 * best[program] for program in programs)
    return _Reading(
        max(imported - empty, 0.0),
        f"{used - empty:.0f} ms with `Guard`",
        {"empty_ms": round(empty, 2), "with_guard_ms": round(used - empty, 2), "runs": runs},
    )


def _interpreter_s(program: str) -> float:
    started = time.perf_counter()
    subprocess.run(  # noqa: S603 - one of our own programs above
        [sys.executable, "-c", program], check=True, env=_environment()
    )
    return time.perf_counter() - started


def _environment() -> dict[str, str]:
    # The same `resay` as here, however it came onto the path.
    home = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (home, inherited)))}
