"""How fast the neural methods are on this machine, as ratios measured in one run.

The models have the shapes of real ones and random weights (`performance.shapes`), the texts
are those of WikiBio.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Literal, get_args

from performance.bertscore_speed import measure_bertscore
from performance.gpu_checks import measure_checks
from performance.memory import Run, measure_memory
from performance.nli_speed import measure_nli
from performance.readings import COLUMNS, Part, Reading, evenly, row_of
from performance.shapes import DEBERTA
from performance.skipping import SkippedError
from performance.stalls import measure_concurrency
from performance.workshop import Workshop
from resay import Passage
from resay.adapters import load_optional
from resay.errors import ConfigurationError, MissingDependencyError
from resay.models import Pair
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import ResultTable, Row

__all__ = ["PARTS", "SHAPES", "Effort", "PartName", "run"]

PartName = Literal["nli", "premise", "bertscore", "checks", "memory", "concurrency"]

PARTS: tuple[PartName, ...] = get_args(PartName)
"""What can be measured."""

SHAPES: tuple[str, ...] = tuple(DEBERTA)
"""The shapes of DeBERTa that `nli` can be measured with."""

_NOTES: Mapping[PartName, str] = {
    "nli": (
        "evenly spaced ones of all pairs of a sentence and a sample, all ways by turns, the best"
        " time of each; largest_difference in the JSON is that of the scores to those of the"
        " released procedure."
    ),
    "premise": (
        "all pairs of evenly spaced passages with all their samples; tokens are what goes through"
        " the model, padding included."
    ),
    "bertscore": (
        "one passage with its samples; the released procedure loads the model again for each"
        " sample, from a file that the system has in memory. Ours is loaded before."
    ),
    "checks": (
        "whole checks with tiny networks, and the same batches through the networks alone: the rest"
        " is what a check takes beside its network, on a GPU too; grounded: 3,250 tokens of"
        " documents."
    ),
    "memory": (
        "a process of its own; the pairs all wait at the same time, and those scored in the time"
        " given are counted. The memory of a batch is the same for all."
    ),
    "concurrency": (
        "two sentences and a sample each; a task on the same event loop sleeps for 5 ms again and"
        " again, and a stall is by how much later it wakes."
    ),
}

# After which layer BERTScore takes embeddings, as published, and for tests.
_LAYERS = {"tiny": 2, "base": 10, "large": 17}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        pairs: Pairs that each way to run `nli` scores.
        repeats: How often; the best time counts.
        counted: Passages whose tokens are counted, with all their samples.
        timed: Passages that premises are timed with, each with three samples.
        checks: Checks at the same time.
        bertscore: The shape of RoBERTa that `bertscore` is measured with.
        samples: Samples of a check by `bertscore`.
        waiting: Pairs that wait when memory is measured.
        memory: The shape of DeBERTa that memory is measured with.
        memory_s: For how many seconds they are scored.
        small: The shape of DeBERTa for what does not depend on it: time saved by premises, and
            many checks at once.
    """

    pairs: int = 24
    repeats: int = 2
    counted: int = 24
    timed: int = 3
    checks: int = 64
    bertscore: str = "large"
    samples: int = 20
    waiting: int = 1000
    memory: str = "base"
    memory_s: float = 15.0
    small: str = "xsmall"


def run(
    data: Path | None,
    rows: slice = slice(None),
    *,
    shapes: Sequence[str] = ("xsmall", "base"),
    parts: Sequence[PartName] = PARTS,
    effort: Effort | None = None,
) -> ResultTable:
    """Measure everything that can be measured here.

    Args:
        data: The folder with the WikiBio data.
        rows: Which rows of it to take.
        shapes: Which shapes of DeBERTa `nli` is measured with.
        parts: What is measured.
        effort: How much is measured.

    Returns:
        At least one row for each part; one that could not be measured says why.
    """
    effort = effort or Effort()
    try:
        items = _items(data, rows)
        texts = [text for item in items for text in (item.passage.text, *item.samples)]
        with tempfile.TemporaryDirectory() as folder:
            bench = _Bench(items, Workshop(Path(folder), texts), shapes, effort)
            found = [row for part in parts for row in bench.measure(part)]
            notes = tuple(bench.notes(parts))
    except (SkippedError, MissingDependencyError) as error:
        found = [_skipped(part, error) for part in parts]
        notes = ()
    return ResultTable("inference", COLUMNS, tuple(found), notes)


def _items(data: Path | None, rows: slice) -> tuple[Item, ...]:
    if data is None:
        raise SkippedError("no data; pass --data or set RESAY_DATA")
    for module in ("torch", "transformers"):
        load_optional(module, package=module, extra="nli", purpose="the inference bench")
    # Its bars would run through the table.
    load_optional(
        "transformers.utils.logging", package="transformers", extra="nli", purpose="the bench"
    ).disable_progress_bar()
    try:
        return wikibio.load(data, rows).items
    except ConfigurationError as error:
        raise SkippedError(str(error)) from error


def _skipped(part: PartName, error: Exception) -> Row:
    def read() -> Reading:
        raise SkippedError(str(error))

    return row_of(Part(part, "nothing", ""), read)


class _Bench:
    """What the parts share: the texts, the models, and how much is measured."""

    def __init__(
        self, items: Sequence[Item], workshop: Workshop, shapes: Sequence[str], effort: Effort
    ) -> None:
        self._items = items
        self._workshop = workshop
        self._shapes = shapes
        self._effort = effort

    def measure(self, part: PartName) -> list[Row]:
        """Return the rows of a part."""
        measures: dict[PartName, Callable[[], list[Row]]] = {
            "nli": self._nli,
            "premise": self._premise,
            "bertscore": self._bertscore,
            "checks": self._checks,
            "memory": self._memory,
            "concurrency": self._concurrency,
        }
        return measures[part]()

    def notes(self, parts: Sequence[PartName]) -> Iterator[str]:
        """Yield what a reader must know of the rows."""
        texts = [item.passage.text for item in self._items]
        tokens = sum(map(len, self._workshop.words().encode_batch(texts, add_special_tokens=False)))
        words = sum(len(text.split()) for text in texts)
        yield (
            "Models have random weights and published shapes; their tokenizers are trained on the"
            f" texts that are measured ({tokens / words:.2f} tokens a word)."
        )
        for part in parts:
            yield f"{part}: {_NOTES[part]}"

    def _nli(self) -> list[Row]:
        pairs = _pairs(self._items, self._effort.pairs)
        return [
            row
            for shape in self._shapes
            for row in measure_nli(shape, self._workshop, pairs, self._effort.repeats)
        ]

    def _premise(self) -> list[Row]:
        from performance.premises import measure_premises

        model = self._workshop.deberta(self._effort.small)
        timed = [_part_of(item, samples=3) for item in self._some(self._effort.timed)]
        counted = self._some(self._effort.counted)
        return measure_premises(
            counted, timed, self._workshop.words(), str(model), self._effort.repeats
        )

    def _bertscore(self) -> list[Row]:
        shape = self._effort.bertscore
        items = [_part_of(item, samples=self._effort.samples) for item in self._some(1)]
        return measure_bertscore(shape, self._workshop, _LAYERS[shape], items)

    def _checks(self) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            checks = measure_checks(Path(folder), ["tiny"], "cpu", seconds=inf)
        rows: list[Row] = []
        for check in checks:
            reading = Reading(
                value=check["check_ms"],
                beside="its network",
                limit=check["network_ms"],
                details={"checks": check["checks"], "slowest_ms": check["slowest_check_ms"]},
            )
            what = f"{check['part']}, {check['model']}"
            part = Part("checks", what, "ms", most_times=check["goal"])
            rows.append(row_of(part, lambda reading=reading: reading))
        return rows

    def _memory(self) -> list[Row]:
        shape, workshop = self._effort.memory, self._workshop
        measure = partial(
            measure_memory, shape, pairs=self._effort.waiting, seconds=self._effort.memory_s
        )
        return [
            measure(Run("torch", "fp32"), lambda: workshop.deberta(shape)),
            measure(Run("onnx", "fp32"), lambda: workshop.exported(workshop.deberta(shape))),
            measure(Run("onnx", "int8"), lambda: workshop.exported(workshop.deberta(shape))),
        ]

    def _concurrency(self) -> list[Row]:
        items = [_part_of(item, sentences=2, samples=1) for item in self._some(self._effort.checks)]
        return measure_concurrency(items, str(self._workshop.deberta(self._effort.small)))

    def _some(self, most: int) -> list[Item]:
        return [self._items[i] for i in evenly(len(self._items), most)]


def _pairs(items: Sequence[Item], most: int) -> list[Pair]:
    """Return evenly spaced ones of all pairs of a sentence and a sample."""
    pairs = [
        (sentence.text, sample)
        for item in items
        for sentence in item.passage.sentences
        for sample in item.samples
    ]
    return [pairs[i] for i in evenly(len(pairs), most)]


def _part_of(item: Item, *, samples: int, sentences: int | None = None) -> Item:
    passage = Passage.from_sentences([s.text for s in item.passage.sentences[:sentences]])
    return Item(item.index, passage, item.samples[:samples])
