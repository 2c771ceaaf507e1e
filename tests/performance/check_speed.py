"""The processor time of a check without calls, beside a lower bound, in turns in one run.

Each time is the best of several turns, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import atexit
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from math import inf, log
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from performance.growth import Check, list_check, sentence_check
from performance.readings import Part, Reading, environment, evenly, row_of
from performance.serving import simulated_elsewhere
from performance.skipping import SkippedError
from resay import Guard, Passage
from resay.adapters import run_sync
from resay.errors import ConfigurationError
from resay.plugins import Evidence, Samples, registry
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Row
from support.claims import claims_of

__all__ = ["measure_checks"]

_ROWS = 24
_TURNS = 5
_WORD = re.compile(r"\w+")
_NGRAM = {"chain": [{"method": "ngram"}]}
_LIBRARIES = "import anyio, asyncio, pydantic, yaml"
_FIRST = f"from resay import Guard; Guard({_NGRAM!r})"

_PASSAGE = Part(
    "passage", "`Guard.check` by `ngram`, a WikiBio passage, 20 samples", "ms", most_times=5
)
_SCORER = Part("scorer", "`ngram` by itself, the same", "ms")
_FACTS = Part("facts", "`facts` by itself, the same", "ms", most_times=12)
_FLAGGED = Part("flagged", "43 kB, 3 samples as long, nearly all flagged: slope", "", most=1.1)
_ITEMS = Part("items", "an object of 1,000 items, 3 samples", "ms", most_times=15)
_GROWING = Part("growing items", "from 1,000 items to 4,000: slope", "", most=1.1)
_START = Part("first guard", "the first `Guard` of a process, with `ngram`", "ms", most=150)
_VERDICT = Part(
    "first verdict",
    "the first answer and verdict of a process, by the default policy",
    "x",
    most=1.2,
)
_HELP = Part("help", "`resay --help`", "ms", most=300)


def measure_checks(
    data: Path | None, rows: slice = slice(None), *, size: int = 1, turns: int = _TURNS
) -> list[Row]:
    """Measure checks that make no calls, and what comes before the first.

    Args:
        data: The folder with the WikiBio data.
        rows: Which rows of it to take.
        size: The divisor of the length of the long answers.
        turns: How often each side is measured.

    Returns:
        A row for each part; those that need data say so where there is none.
    """
    empty = partial(_process_s, "-c", "pass")
    return [
        row_of(_PASSAGE, partial(_on_passages, _check, data, rows, turns)),
        row_of(_SCORER, partial(_on_passages, _ngram, data, rows, turns)),
        row_of(_FACTS, partial(_on_passages, _facts, data, rows, turns)),
        row_of(_FLAGGED, partial(_slope, sentence_check, 480 // size, turns)),
        row_of(_ITEMS, partial(_object, 1000 // size, turns)),
        row_of(_GROWING, partial(_slope, list_check, 1000 // size, turns)),
        row_of(
            _START,
            partial(
                _beside,
                partial(_process_s, "-c", _FIRST),
                partial(_process_s, "-c", _LIBRARIES),
                "its libraries alone",
                turns,
            ),
        ),
        row_of(_VERDICT, partial(_first_verdict, turns)),
        row_of(
            _HELP,
            partial(
                _beside,
                partial(_process_s, "-m", "resay", "--help"),
                empty,
                "an empty Python",
                turns,
            ),
        ),
    ]


def _beside(
    ours: Callable[[], float], limit: Callable[[], float], what: str, turns: int, count: int = 1
) -> Reading:
    """Measure ours and its limit, in turns.

    Args:
        ours: Returns the seconds of ours.
        limit: Returns the seconds of what it is compared with.
        what: The name of what it is compared with.
        turns: How often each is measured.
        count: How many checks each does in a turn.
    """
    ours_s, limit_s = inf, inf
    for _ in range(turns):
        ours_s = min(ours_s, ours())
        limit_s = min(limit_s, limit())
    ours_ms, limit_ms = 1000 * ours_s / count, 1000 * limit_s / count
    return Reading(ours_ms, None, {"turns": turns}, what, limit_ms)


def _first_verdict(turns: int) -> Reading:
    """Measure a process that asks OpenAI through us, beside one that asks by the SDK as often."""
    requests, question = 3, "Who was Marie Curie?"
    ours = f"from resay import Guard; Guard(model='openai/gpt-4.1-mini').ask({question!r})"
    messages = [{"role": "user", "content": question}]
    sdk = (
        f"from openai import OpenAI; client = OpenAI(); [client.chat.completions.create("
        f"model='gpt-4.1-mini', messages={messages!r}) for _ in range({requests})]"
    )
    if find_spec("openai") is None:
        raise SkippedError("openai is not installed")
    with simulated_elsewhere(latency_s=0.0) as params:
        env = {"OPENAI_BASE_URL": params["api_base"], "OPENAI_API_KEY": "simulated"}
        reading = _beside(
            partial(_process_s, "-c", ours, env=env),
            partial(_process_s, "-c", sdk, env=env),
            f"OpenAI's SDK, {requests} requests",
            turns,
        )
    milliseconds = {"ms": round(reading.value, 3), "sdk_ms": round(reading.limit or 0.0, 3)}
    return Reading(
        reading.ratio or 0.0,
        f"{reading.value:.0f} ms, and {reading.limit:.0f} ms by the SDK",
        {**reading.details, **milliseconds},
        reading.beside,
        1.0,
    )


def _on_passages(
    work: Callable[[Sequence[Item]], Callable[[], object]],
    data: Path | None,
    rows: slice,
    turns: int,
) -> Reading:
    if data is None:
        raise SkippedError("no data; pass --data or set RESAY_DATA")
    try:
        all_items = wikibio.load(data, rows).items
    except ConfigurationError as error:
        raise SkippedError(str(error)) from error
    items = [all_items[i] for i in evenly(len(all_items), _ROWS)]
    run = work(items)
    run()
    count = partial(_count_words, items)
    return _beside(
        partial(_cpu_s, run), partial(_cpu_s, count), "counting their words", turns, len(items)
    )


def _check(items: Sequence[Item]) -> Callable[[], object]:
    guard = Guard(_NGRAM)
    return lambda: [guard.check(item.passage.text, samples=item.samples) for item in items]


def _ngram(items: Sequence[Item]) -> Callable[[], object]:
    return _scoring(items, "ngram", [item.passage for item in items])


def _facts(items: Sequence[Item]) -> Callable[[], object]:
    passages = [item.passage.with_sentences(claims_of(item.passage)) for item in items]
    return _scoring(items, "facts", passages)


def _scoring(
    items: Sequence[Item], method: str, passages: Sequence[Passage]
) -> Callable[[], object]:
    scorer = registry()[method]()

    async def score() -> None:
        for item, passage in zip(items, passages, strict=True):
            await scorer.score(passage, Evidence(samples=Samples(item.samples)))

    return lambda: run_sync(score)


def _count_words(items: Sequence[Item]) -> None:
    for item in items:
        Counter(word for text in item.samples for word in _WORD.findall(text.lower()))


def _slope(make_check: Callable[[int], Check], count: int, turns: int) -> Reading:
    """Measure checks of some length, and of four times that length."""
    short, long = make_check(count), make_check(4 * count)
    run_sync(short.check)
    run_sync(long.check)
    short_s, long_s = inf, inf
    for _ in range(turns):
        short_s = min(short_s, _cpu_s(partial(run_sync, short.check)))
        long_s = min(long_s, _cpu_s(partial(run_sync, long.check)))
    short_ms, long_ms = 1000 * short_s, 1000 * long_s
    return Reading(
        log(long_s / short_s) / log(4),
        f"{short_ms:.1f} ms, and {long_ms:.1f} ms for four times as much",
        {"ms": round(short_ms, 3), "four_times_ms": round(long_ms, 3), "turns": turns},
        "in proportion",
        1.0,
    )


def _object(count: int, turns: int) -> Reading:
    checked = list_check(count)
    run_sync(checked.check)
    text = " ".join((checked.response, *checked.others))
    check = partial(_cpu_s, partial(run_sync, checked.check))
    count_words = partial(_cpu_s, lambda: Counter[str](_WORD.findall(text)))
    return _beside(check, count_words, "counting its words", turns)


def _cpu_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


@cache
def _compiled_modules() -> str:
    """Return a folder for compiled modules, which the first turn fills."""
    folder = mkdtemp(prefix="resay-compiled-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def _process_s(*arguments: str, env: Mapping[str, str] | None = None) -> float:
    """Return the processor time of an interpreter that finds all modules compiled."""
    variables = {**environment(), "PYTHONPYCACHEPREFIX": _compiled_modules(), **(env or {})}
    # Set here and there, where only libraries would be found compiled.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], check=True, env=variables, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
