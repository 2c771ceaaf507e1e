"""How much memory scoring takes beyond the model, measured in a process of its own.

That process is `python -m performance.memory FOLDER BACKEND PRECISION PAIRS SECONDS`, which scores
the pairs and prints its memory as JSON.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

import anyio

from performance.readings import Part, Reading, environment, row_of
from performance.skipping import SkippedError
from resay.models import Pair, PairClassifier, pair_classifier
from resay.models.config import Backend
from resay.plugins import ModelConfig
from resay_lab.benchmarks.table import Row

__all__ = ["Precision", "Run", "Used", "measure_memory", "use"]

_MOST_MB = 2000.0
_STATUS = Path("/proc/self/status")
_PEAK = Path("/proc/self/clear_refs")
_LETTERS = "aeioulmnrst"
_WORDS = 2000
_SENTENCE_WORDS = 24


Precision: TypeAlias = Literal["fp32", "int8"]


@dataclass(frozen=True, slots=True)
class Run:
    """What runs a model, and in which precision."""

    backend: Backend
    precision: Precision

    @property
    def called(self) -> str:
        """What the table calls it."""
        return f"{self.backend} {self.precision}"


@dataclass(frozen=True, slots=True)
class Used:
    """What a process used.

    Attributes:
        loaded_mb: Its resident memory when the model was loaded.
        peak_mb: The most resident memory after that.
        pairs: Pairs that were to be scored.
        done: Those that were, within the time.
        tokens: The mean length of a pair in tokens.
        seconds: How long that took.
    """

    loaded_mb: float
    peak_mb: float
    pairs: int
    done: int
    tokens: float
    seconds: float


def measure_memory(
    shape: str,
    run: Run,
    make: Callable[[], Path],
    *,
    pairs: int,
    seconds: float,
) -> Row:
    """Measure the memory that scoring long pairs takes.

    Args:
        shape: What the model's shape is called.
        run: What runs it.
        make: Gives the folder of a classifier.
        pairs: How many pairs wait to be scored at once.
        seconds: How long they are scored; the memory a batch takes is the same in all.

    Returns:
        The peak beyond what the process had with the model loaded.
    """
    what = f"{shape}, {run.called}: peak beyond the loaded model, {pairs} full pairs waiting"

    def read() -> Reading:
        used = _child(make(), run, pairs, seconds)
        return Reading(
            used.peak_mb - used.loaded_mb,
            f"{used.done} pairs of {used.tokens:.0f} tokens scored in {used.seconds:.0f} s",
            asdict(used),
        )

    return row_of(Part("memory", what, "MB", most=_MOST_MB), read, digits=1)


def _child(folder: Path, run: Run, pairs: int, seconds: float) -> Used:
    if not _PEAK.exists():
        raise SkippedError("there is no /proc/self/clear_refs here to reset the peak with")
    arguments = map(str, (folder, run.backend, run.precision, pairs, seconds))
    child = subprocess.run(
        [sys.executable, "-m", "performance.memory", *arguments],
        capture_output=True,
        env=environment(),
        check=False,
    )
    if child.returncode:
        last = child.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise SkippedError(f"the process that was to be measured failed: {last}")
    return Used(**json.loads(child.stdout))


async def use(folder: Path, run: Run, pairs: int, seconds: float) -> Used:
    """Score pairs that fill the model, and watch this process's memory.

    Args:
        folder: A classifier.
        run: What runs it.
        pairs: How many pairs.
        seconds: How long at most.
    """
    model = pair_classifier(
        ModelConfig(name=str(folder), backend=run.backend, precision=run.precision)
    )
    await model.prepare()
    work = await _full(model, pairs)
    loaded = _resident("VmRSS")
    _forget_peak()
    started = time.perf_counter()
    done = await _score(model, work, seconds)
    elapsed = time.perf_counter() - started
    peak = _resident("VmHWM")
    lengths = await model.lengths([text for pair in work[:20] for text in pair])
    # With the three special tokens of a pair.
    tokens = 3 + 2 * sum(lengths) / len(lengths)
    return Used(round(loaded, 1), round(peak, 1), pairs, done, round(tokens, 1), round(elapsed, 1))


async def _score(model: PairClassifier, work: list[Pair], seconds: float) -> int:
    done = 0

    async def classify(pair: Pair) -> None:
        nonlocal done
        await model.classify([pair])
        done += 1

    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as tasks:
            for pair in work:
                tasks.start_soon(classify, pair)
    return done


async def _full(model: PairClassifier, pairs: int) -> list[Pair]:
    """Return pairs of made-up words, each as long as the model reads."""
    rng = random.Random(0)
    words = ["".join(rng.choices(_LETTERS, k=rng.randint(2, 7))) for _ in range(_WORDS)]
    lengths = dict(zip(words, await model.lengths(words), strict=True))
    room = await model.max_input_tokens() or 0
    result: list[Pair] = []
    for _ in range(pairs):
        sentence = rng.choices(words, k=_SENTENCE_WORDS)
        left = room - sum(lengths[word] for word in sentence)
        result.append((" ".join(_filling(rng, lengths, left)), " ".join(sentence)))
    return result


def _filling(rng: random.Random, lengths: Mapping[str, int], room: int) -> Iterator[str]:
    """Yield words until no more fit."""
    words = list(lengths)
    while (left := room - lengths[word := rng.choice(words)]) >= 0:
        room = left
        yield word


def _forget_peak() -> None:
    """Have the kernel measure the peak anew; see proc(5)."""
    _PEAK.write_text("5")


def _resident(key: str) -> float:
    """Return a size in megabytes that the kernel knows of this process."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) * 1024 / 1e6


def _main() -> None:
    folder, backend, precision, pairs, seconds = sys.argv[1:]
    # Checked by the model's settings.
    run = Run(cast("Backend", backend), cast("Precision", precision))
    used = anyio.run(use, Path(folder), run, int(pairs), float(seconds))
    sys.stdout.write(json.dumps(asdict(used)) + "\n")


if __name__ == "__main__":
    _main()
