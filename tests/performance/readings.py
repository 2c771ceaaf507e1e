"""What benches of speed have in common: a reading, what is wanted of it, and its row."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import resay
from performance.skipping import SkippedError
from resay_lab.benchmarks.table import Column, Row

__all__ = [
    "COLUMNS",
    "Part",
    "Reading",
    "best_s",
    "environment",
    "evenly",
    "row_of",
]

COLUMNS = (
    Column("part", "part"),
    Column("what", "what"),
    Column("value", "measured", 2),
    Column("unit", "unit"),
    Column("beside", "beside it"),
    Column("limit", "of that", 2),
    Column("ratio", "ratio", 2),
    Column("target", "target"),
    Column("met", "met"),
    Column("remark", "remark"),
)
"""What readers see of a row."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a bench measures, and what is wanted of it.

    Attributes:
        name: What it is called.
        what: What is measured.
        unit: In what.
        least: How much it should be at least, if anything is wanted.
        most: How much at most.
        most_times: How many times what it is compared with at most.
    """

    name: str
    what: str
    unit: str
    least: float | None = None
    most: float | None = None
    most_times: float | None = None

    @property
    def target(self) -> str | None:
        """What is wanted, as text; None where nothing is."""
        if self.least is not None:
            return f">= {self.least:g}"
        if self.most_times is not None:
            return f"<= {self.most_times:g} x"
        return None if self.most is None else f"<= {self.most:g}"

    def met(self, value: float, ratio: float | None = None) -> bool | None:
        """Return whether a value is what is wanted; None where nothing is.

        Args:
            value: The value.
            ratio: What it is of what it is compared with.
        """
        if self.least is not None:
            return value >= self.least
        if self.most_times is not None:
            return ratio is not None and ratio <= self.most_times
        return None if self.most is None else value <= self.most


@dataclass(frozen=True, slots=True)
class Reading:
    """What was measured.

    Attributes:
        value: In the part's unit.
        remark: What a reader should know beside it.
        details: Further figures, for the JSON document.
        beside: What it is compared with.
        limit: What that takes, in the part's unit.
        ratio: What ours takes by what the other takes; worked out of both where it is left out.
    """

    value: float
    remark: str | None = None
    details: Mapping[str, float | int] = field(default_factory=dict[str, "float | int"])
    beside: str | None = None
    limit: float | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        if self.ratio is None and self.limit:
            object.__setattr__(self, "ratio", self.value / self.limit)


def row_of(part: Part, measure: Callable[[], Reading], digits: int = 3) -> Row:
    """Measure a part.

    Args:
        part: The part.
        measure: Measures it.
        digits: Decimals of the value.

    Returns:
        Its row. Where it cannot be measured here, `skipped` and `remark` say why.
    """
    about = {"part": part.name, "what": part.what, "unit": part.unit, "target": part.target}
    try:
        reading = measure()
    except SkippedError as reason:
        skipped = f"skipped: {reason}"
        nothing = dict.fromkeys(("value", "beside", "limit", "ratio", "met", "details"))
        return {**about, **nothing, "remark": skipped, "skipped": skipped}
    return {
        **about,
        "value": round(reading.value, digits),
        "beside": reading.beside,
        "limit": None if reading.limit is None else round(reading.limit, 3),
        "ratio": None if reading.ratio is None else round(reading.ratio, 4),
        "met": part.met(reading.value, reading.ratio),
        "remark": reading.remark,
        "details": dict(reading.details),
        "skipped": None,
    }


def best_s(work: Callable[[], object], repeats: int) -> float:
    """Return the seconds that work takes at best.

    Args:
        work: What is timed.
        repeats: How often.
    """
    best = inf
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def evenly(count: int, most: int) -> list[int]:
    """Return at most so many evenly spaced numbers under `count`, the first of them 0."""
    return sorted({i * count // most for i in range(most)}) if count else []


def environment() -> dict[str, str]:
    """Return the environment for an interpreter that imports the same modules as this one."""
    homes = (Path(resay.__file__).parents[1], Path(__file__).resolve().parents[1])
    paths = [*map(str, homes), os.environ.get("PYTHONPATH")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
