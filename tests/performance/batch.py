"""The overhead of `resay batch` over the checks: processor time, waiting for calls, memory.

Each turn runs in a process of its own. Its processor time is that of this process's children, so
that other work on the machine counts little.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from performance.readings import COLUMNS, Part, Reading, environment, row_of
from performance.skipping import SkippedError
from resay import Guard, Request, Usage, Verdict
from resay.plugins import Completion, Completions
from resay_lab.batch import Columns, Engine, Local, Ray, RowScorer, Scored, run_batch
from resay_lab.batch import Row as ScorerRow
from resay_lab.batch.json_text import json_bytes
from resay_lab.batch.scoring import columns_of
from resay_lab.benchmarks.table import ResultTable, Row

__all__ = ["run"]

_TURNS = 3
_CALL_S = 0.2
_AT_ONCE = 16
_FILE_ROW_BYTES = 4_300

_NOTES = (
    "ngram, facts: processor time of `run_batch` over a file (reading, names, checks, journal and"
    " output) / that of a `multiprocessing.Pool` that calls `Guard.check` of the same rows and"
    " keeps the decisions; the best of several turns, one after the other.",
    f"waiting: one call of {_CALL_S} s for each row, and a policy that allows {_AT_ONCE} at the"
    " same time; the time that these calls must take / the time they took.",
    "memory: the largest resident set of the process that runs the batch, over all rows / over a"
    " tenth of them, which are generated as they are taken; with an engine that checks nothing, as"
    " checks run in other processes, and again with these.",
    "file: the same over a JSON Lines file with a document of 4,000 characters in each row, read by"
    " an engine that checks nothing.",
    "neural: `nli` with a tiny model, pairs for each second of processor time, by `check_many`.",
    "ray: seconds with Ray in local mode / with local processes, its start included.",
)


def run(
    rows: int, memory_rows: int, checked_rows: int, calls: int, file_mb: int, ray_rows: int
) -> ResultTable:
    """Measure everything.

    Args:
        rows: How many rows are checked by each method.
        memory_rows: How many rows the memory is measured over with an engine that checks nothing.
        checked_rows: How many with the local engine.
        calls: How many calls are waited for.
        file_mb: The size of the file that the memory is measured over, in MB.
        ray_rows: How many rows the memory is measured over with Ray.
    """
    parts = [
        row_of(
            Part(method, f"processor time with {method} / a bare pool", "x", most=1.15),
            partial(_beside_a_pool, method, rows),
        )
        for method in ("ngram", "facts")
    ]
    waiting = Part("waiting", "the time calls must take / took", "x", least=0.95)
    memory = Part("memory", "memory over all rows / over a tenth", "x", most=1.1)
    checked = Part("checked memory", "the same with local processes that check", "x", most=1.1)
    file = Part("file", "memory over a file / over a tenth of it", "x", most=1.1)
    neural = Part("neural", "pairs a second of 64 rows at once / one by one", "x")
    ray = Part("ray", "seconds with Ray / with local processes", "x")
    ray_memory = Part("ray memory", "the memory of the checks, with Ray", "x", most=1.1)
    parts += [
        row_of(waiting, partial(_waiting, calls)),
        row_of(memory, partial(_memory, "unchecked", memory_rows)),
        row_of(checked, partial(_memory, "checked", checked_rows)),
        row_of(file, partial(_memory, "file", file_mb * 1_000_000 // _FILE_ROW_BYTES)),
        row_of(neural, partial(_neural, max(rows // 20, 10))),
        row_of(ray, partial(_ray, rows)),
        row_of(ray_memory, partial(_ray_memory, ray_rows)),
    ]
    return ResultTable("batch", COLUMNS, tuple[Row, ...](parts), _NOTES)


def rows_of(count: int, sentences: int = 3) -> Iterator[dict[str, Any]]:
    """Yield rows with three samples each."""
    facts = (
        "Bridge number {i} opened in {year}.",
        "It has {lamps} lamps.",
        "It is {metres} metres long and was built by the city of Lyon.",
    )
    template = " ".join(facts[:sentences])
    for i in range(count):
        texts: list[str] = []
        for n in range(4):
            # In every third row the samples differ.
            lamps = i % 700 + (n if i % 3 == 0 else 0)
            text = template.format(i=i, year=1900 + i % 90, lamps=lamps, metres=i % 80 + 20)
            texts.append(text)
        yield {"question": "What of it?", "response": texts[0], "samples": texts[1:]}


def _beside_a_pool(method: str, count: int) -> Reading:
    with TemporaryDirectory() as folder:
        source = _write_rows(Path(folder), rows_of(count))
        times: dict[str, list[tuple[float, float]]] = {"ours": [], "pool": []}
        for turn in range(_TURNS):
            out = Path(folder) / f"{turn}.jsonl"
            times["ours"].append(_run_timed("ours", method, source, out))
            times["pool"].append(_run_timed("pool", method, source, out))
    ours, pool = (min(cpu for cpu, _ in times[name]) for name in ("ours", "pool"))
    walls = {name: min(wall for _, wall in times[name]) for name in times}
    return Reading(
        ours / pool,
        f"{count / walls['ours']:,.0f} rows/s, the pool {count / walls['pool']:,.0f}",
        {
            "rows": count,
            "ours_cpu_s": round(ours, 3),
            "pool_cpu_s": round(pool, 3),
            "ours_rows_per_s": round(count / walls["ours"], 1),
            "pool_rows_per_s": round(count / walls["pool"], 1),
            "processes": _processes(),
        },
    )


def _write_rows(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    source = folder / "in.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return source


def _with_documents(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows of about `_FILE_ROW_BYTES` each, with a document that differs between them."""
    for i, row in enumerate(rows):
        sentence = f"Page {i} of the handbook describes bridge {i}. "
        yield {**row, "document": (sentence * 4_000)[:4_000]}


def _processes() -> int:
    return len(os.sched_getaffinity(0))


def _run_timed(*words: str | Path) -> tuple[float, float]:
    """Run this module with arguments; return its processor time and its time, in seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run_module(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - started


def _run_module(*words: str | Path) -> str:
    command = [sys.executable, "-m", "performance.batch", *map(str, words)]
    completed = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment()
    )
    if completed.returncode:
        raise SkippedError(completed.stderr.strip().rpartition("\n")[2])
    return completed.stdout


class _SlowProvider:
    """A provider that answers after a while."""

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        import anyio

        await anyio.sleep(_CALL_S)
        return Completions((Completion("Yes"),), Usage(1, 10, 1, 0.0))


def _waiting(count: int) -> Reading:
    policy = {
        "chain": [{"method": "prompt", "judge": "any"}],
        "cache": {"store": "none"},
        "sampling": {"min": 1, "max": 1},
        "limits": {"process": {"concurrency": _AT_ONCE}},
    }
    rows = ({**row, "samples": row["samples"][:1]} for row in rows_of(count, sentences=1))
    with TemporaryDirectory() as folder:
        guard = Guard(policy, provider=_SlowProvider())
        summary = run_batch(guard, rows, Path(folder) / "out.jsonl")
    calls = summary.tally.calls
    must_s = math.ceil(calls / _AT_ONCE) * _CALL_S
    figures = {"calls": calls, "must_s": must_s, "took_s": round(summary.elapsed_s, 3)}
    return Reading(must_s / summary.elapsed_s, f"{calls / summary.elapsed_s:.1f} calls/s", figures)


def _memory(kind: str, count: int) -> Reading:
    tenth = max(count // 10, 1)
    few, most = (json.loads(_run_module("memory", kind, str(n))) for n in (tenth, count))
    return Reading(
        most["peak_mib"] / few["peak_mib"],
        f"{most['peak_mib']:.0f} MiB over {count:,} rows, {few['peak_mib']:.0f} MiB over a tenth",
        {**most, "tenth_peak_mib": few["peak_mib"]},
    )


def _neural(count: int) -> Reading:
    try:
        from support.tiny_models import make_deberta
    except ImportError as error:
        raise SkippedError(f"{error.name!r} is not installed") from None
    with TemporaryDirectory() as folder:
        make_deberta(Path(folder))
        model = {"name": folder, "cache_mb": 0}
        guard = Guard({"chain": [{"method": "nli", "model": model}]})
        items = [{"response": row["response"], "samples": row["samples"]} for row in rows_of(count)]
        with guard:
            pass
        took: dict[int, float] = {}
        for concurrency in (1, 64):
            started = time.process_time()
            pairs = sum(
                3 * len(one.verdict.claims)
                for one in guard.check_many(items, concurrency=concurrency)
                if one.verdict
            )
            took[concurrency] = time.process_time() - started
    each, together = (pairs / took[n] for n in (1, 64))
    figures = {"pairs": pairs, "alone_pairs_per_s": each, "together_pairs_per_s": together}
    return Reading(together / each, f"{together:,.0f} pairs/s, {each:,.0f} one by one", figures)


def _require_ray() -> None:
    try:
        import ray  # noqa: F401  # pyright: ignore[reportUnusedImport, reportMissingImports]
    except ImportError:
        raise SkippedError("Ray is not installed") from None


def _ray_memory(count: int) -> Reading:
    _require_ray()
    return _memory("ray", count)


def _ray(count: int) -> Reading:
    _require_ray()
    with TemporaryDirectory() as folder:
        source = _write_rows(Path(folder), rows_of(count))
        local_cpu, local_s = _run_timed("ours", "ngram", source, Path(folder) / "local.jsonl")
        ray_cpu, ray_s = _run_timed("ray", "ngram", source, Path(folder) / "ray.jsonl")
    figures = {"rows": count, "ray_s": round(ray_s, 2), "local_s": round(local_s, 2)}
    # What Ray starts is not all its child, so that its processor time is not known.
    del local_cpu, ray_cpu
    return Reading(ray_s / local_s, f"{ray_s:.1f} s, {local_s:.1f} s locally", figures)


_guard: Guard


def _begin(method: str) -> None:
    global _guard
    _guard = Guard({"chain": [{"method": method}]})


def _check(line: bytes) -> tuple[str, float | None]:
    row = json.loads(line)
    verdict = _guard.check(row["response"], question=row["question"], samples=row["samples"])
    return verdict.decision, verdict.score


def _by_pool(method: str, source: str) -> None:
    context = multiprocessing.get_context("spawn")
    with (
        Path(source).open("rb") as file,
        context.Pool(_processes(), _begin, (method,)) as pool,
    ):
        for _ in pool.imap_unordered(_check, file, chunksize=64):
            pass
        pool.close()
        pool.join()


def _by_batch(method: str, source: str, out: str, engine: Engine) -> None:
    guard = Guard({"chain": [{"method": method}]})
    run_batch(guard, source, out, columns=Columns(), engine=engine)


def _unchecked(_: RowScorer, rows: Iterator[ScorerRow]) -> Iterator[list[Scored]]:
    verdict = columns_of(Verdict("consistent", 0.0, "nothing was checked")) | {"claims": [{}] * 3}
    while chunk := list(islice(rows, 64)):
        yield [
            Scored(row.number, "consistent", 0, 0.0, "", json_bytes(json.loads(row.raw) | verdict))
            for row in chunk
        ]


def _peak(kind: str, count: int) -> None:
    guard = Guard({"chain": [{"method": "ngram"}]})
    engine = {"checked": Local(), "ray": Ray()}.get(kind, _unchecked)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        rows = rows_of(count, sentences=1)
        source = _write_rows(Path(folder), _with_documents(rows)) if kind == "file" else rows
        size = source.stat().st_size if isinstance(source, Path) else None
        summary = run_batch(guard, source, out, engine=engine)
    # `getrusage` would count what the process was a copy of before.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    rate = summary.new / summary.elapsed_s
    result = {"rows": summary.tally.rows, "bytes": size, "peak_mib": peak, "rows_per_s": rate}
    print(json.dumps(result))  # noqa: T201


def _main(kind: str, *words: str) -> None:
    if kind == "memory":
        _peak(words[0], int(words[1]))
    elif kind == "pool":
        _by_pool(words[0], words[1])
    else:
        _by_batch(words[0], words[1], words[2], Ray() if kind == "ray" else Local())


if __name__ == "__main__":
    _main(*sys.argv[1:])
