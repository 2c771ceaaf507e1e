"""Compare the ratios of the fast benches with stored ones, to notice what became slower.

Times differ between machines; ratios are nearly the same. A ratio that seems worse is measured
again, and the smallest one counts: other work on a machine makes ratios larger more often than
smaller.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from performance import clients_many, disk, folder, gateway_cpu, growth
from performance.check_speed import measure_checks
from performance.skipping import SkippedError
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import DataOption, MarkdownOption, format_of, print_result
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["STORED", "Ratios", "compared", "ratios", "smallest_ratios"]

STORED = Path(__file__).with_name("ratios.json")
"""Where the ratios are that `make compare-performance` compares with."""

_TOLERANCE = 1.3
_PASSES = 3
_WORSE = "WORSE"
_COLUMNS = (
    Column("name", "ratio"),
    Column("stored", "stored", 3),
    Column("measured", "measured", 3),
    Column("change", "measured / stored", 2),
    Column("outcome", "outcome"),
)


@dataclass(frozen=True, slots=True)
class Ratios:
    """Ratios as they are stored.

    Attributes:
        date: When they were measured.
        machine: The machine.
        ratios: The cost of ours by that of what it is compared with, by name; less is better.
    """

    date: str
    machine: str
    ratios: Mapping[str, float]


def ratios(
    data: DataOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Store what is measured, in place of comparing it.")
    ] = False,
    file: Annotated[Path, typer.Option(help="Where the ratios are stored.")] = STORED,
    tolerance: Annotated[
        float, typer.Option(min=1.0, help="By how much larger a ratio may be than the stored one.")
    ] = _TOLERANCE,
    passes: Annotated[
        int,
        typer.Option(
            min=1, help="How often what seems worse is measured, or all that is stored (median)."
        ),
    ] = _PASSES,
    only: Annotated[
        str | None, typer.Option(help="Programs, separated by commas.", show_default="all of them")
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure the fast programs and compare their ratios with the stored ones."""
    form = format_of(as_json, as_markdown)
    chosen = list(_PROGRAMS) if only is None else only.split(",")
    if unknown := set(chosen).difference(_PROGRAMS):
        raise typer.BadParameter(f"no program is called {min(unknown)!r}", param_hint="--only")
    stored = _read(file)

    def measure(names: Iterable[str]) -> dict[str, float]:
        result: dict[str, float] = {}
        for program in names:
            result |= _measured_ratios(program, data)
        return result

    if write:
        measured: dict[str, list[float]] = {}
        for _ in range(passes):
            for name, ratio in measure(chosen).items():
                measured.setdefault(name, []).append(ratio)
        new = {name: round(median(values), 4) for name, values in measured.items()}
        # A ratio that could not be measured here stays as it was.
        merged = {**(stored.ratios if stored else {}), **new}
        ratios = Ratios(date.today().isoformat(), _machine(), dict(sorted(merged.items())))
        file.write_text(json.dumps(asdict(ratios), indent=2) + "\n", encoding="utf-8")
        typer.echo(f"{len(new)} ratios are in {file}")
        return
    if stored is None:
        raise typer.BadParameter(f"there is no {str(file)!r}; make it with --write")
    before = {name: r for name, r in stored.ratios.items() if _program_of(name) in chosen}
    now = smallest_ratios(before, measure, chosen, tolerance=tolerance, passes=passes)
    rows = compared(before, now, tolerance)
    notes = (
        f"stored: {stored.date}, {stored.machine}. Worse: more than {tolerance:g} times the stored"
        f" ratio, {passes} times over; better: less than the stored one by {tolerance:g}.",
    )
    print_result(ResultTable("ratios", _COLUMNS, tuple(rows), notes), form)
    if any(row["outcome"] == _WORSE for row in rows):
        raise typer.Exit(1)


def compared(
    stored: Mapping[str, float], measured: Mapping[str, float], tolerance: float
) -> list[Row]:
    """Compare ratios with stored ones.

    Args:
        stored: The stored ones, by name.
        measured: Those measured now.
        tolerance: By how much larger a ratio may be than the stored one.

    Returns:
        A row for each name of either, those that are stored first.
    """
    rows: list[Row] = []
    for name in dict.fromkeys([*stored, *measured]):
        before, now = stored.get(name), measured.get(name)
        change = None if before is None or now is None else now / before
        if change is None:
            outcome = "new" if before is None else "not measured"
        elif change > tolerance:
            outcome = _WORSE
        else:
            outcome = "better" if change < 1 / tolerance else "as stored"
        rows.append(
            {"name": name, "stored": before, "measured": now, "change": change, "outcome": outcome}
        )
    return rows


def smallest_ratios(
    stored: Mapping[str, float],
    measure: Callable[[Sequence[str]], Mapping[str, float]],
    programs: Sequence[str],
    *,
    tolerance: float,
    passes: int,
) -> dict[str, float]:
    """Measure benches, and again those with a ratio that seems worse.

    Args:
        stored: The stored ratios, by name.
        measure: Measures some benches, and returns their ratios by name.
        programs: The names of the benches.
        tolerance: By how much larger a ratio may be than the stored one.
        passes: How often a program is measured at most.

    Returns:
        The smallest ratio of each name.
    """
    smallest: dict[str, float] = {}
    for _ in range(passes):
        for name, ratio in measure(programs).items():
            smallest[name] = min(ratio, smallest.get(name, ratio))
        rows = compared(stored, smallest, tolerance)
        worse = {_program_of(row["name"]) for row in rows if row["outcome"] == _WORSE}
        programs = [program for program in programs if program in worse]
        if not programs:
            break
    return smallest


def _program_of(name: str) -> str:
    return name.partition(": ")[0]


def _read(file: Path) -> Ratios | None:
    if not file.is_file():
        return None
    return Ratios(**json.loads(file.read_text(encoding="utf-8")))


def _measured_ratios(program: str, data: Path | None) -> dict[str, float]:
    try:
        ratios = _PROGRAMS[program](data)
    except SkippedError as error:
        typer.echo(f"{program} skipped: {error}", err=True)
        return {}
    return {f"{program}: {name}": ratio for name, ratio in ratios.items()}


def _speed(data: Path | None) -> dict[str, float]:
    return {row["part"]: row["ratio"] for row in measure_checks(data) if row["ratio"] is not None}


def _growth(_: Path | None) -> dict[str, float]:
    """Return by how much each part grows with a doubling, the mean of the last four."""
    milliseconds: dict[str, list[float]] = {}
    for row in growth.run(doublings=8).rows:
        milliseconds.setdefault(row["part"], []).append(row["milliseconds"])
    return {part: (ms[-1] / ms[-5]) ** 0.25 for part, ms in milliseconds.items()}


def _folder(_: Path | None) -> dict[str, float]:
    # The bench makes each index once, so the best of three runs counts.
    best: dict[str, float] = {}
    for _turn in range(3):
        for row in folder.run(2000).rows:
            name = f"{row['part']}, {row['documents']}"
            best[name] = min(row["ratio"], best.get(name, row["ratio"]))
    return best


def _disk(_: Path | None) -> dict[str, float]:
    rows = disk.run(entries=20_000, verdicts=300, turns=5).rows
    return {row["part"]: row["ratio"] for row in rows if row["ratio"] is not None}


def _gateway(_: Path | None) -> dict[str, float]:
    rows = gateway_cpu.run(16, rounds=4, requests=60).rows
    return {
        f"{row['subject']}, {row['answer']}": row["ratio"]
        for row in rows
        if not row["subject"].startswith("bare proxy")
    }


def _clients(_: Path | None) -> dict[str, float]:
    rows = clients_many.run(concurrency=8, rounds=3, latency_s=0.1).rows
    return {row["client"]: row["cpu_ratio"] for row in rows if row["met"] is not None}


# Their ratios are of processor time, but for those of the folder's searches and of the cache.
_PROGRAMS: Mapping[str, Callable[[Path | None], dict[str, float]]] = {
    "speed": _speed,
    "growth": _growth,
    "folder": _folder,
    "disk": _disk,
    "gateway-cpu": _gateway,
    "clients-at-once": _clients,
}


def _machine() -> str:
    try:
        names = re.findall(
            r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
        )
    except OSError:
        names = []
    model = names[0] if names else platform.machine()
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"
