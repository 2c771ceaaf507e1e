"""The stored state of a run.

Next to the output, the folder `OUT.run` holds

- `manifest.json`: fingerprints that identify the run, and its totals once it has finished;
- `journal.rows`: finished rows in order of completion, appended as they arrive;
- `part-*.rows`: the rows of a journal, in the order of the input, written atomically.

A line of the last two is a finished row: its number, decision, calls, cost and error type,
separated by tabs, and then the row itself as JSON.
"""

from __future__ import annotations

import heapq
import json
import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from resay.errors import ConfigurationError
from resay_lab.batch.progress import Tally
from resay_lab.batch.results import sync_folder
from resay_lab.batch.scoring import Scored

PART_BYTES = 32_000_000
_WRITTEN_AT_ONCE = 1_000_000
_SYNC_S = 1.0
# Windows would write a line end as two bytes.
_NEW_FILE = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_BINARY", 0)


_Position = tuple[int, int, int]
"""A row in the journal: its number, and the offset and the length of its line."""


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    first: int
    path: Path

    def rows(self) -> Iterator[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            for line in file:
                number, _, remainder = line.partition(b"\t")
                yield int(number), remainder


class RunFolder:
    """The stored state of a run.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._manifest = path / "manifest.json"
        self._journal = path / "journal.rows"
        # A bit for each row of the input that is finished.
        self._finished_rows = bytearray()
        self._file = -1
        self._size = 0
        self._synced = time.monotonic()
        self._parts: list[_Part] = []
        self.tally = Tally()
        self.finished: Tally | None = None

    @classmethod
    @contextmanager
    def of(
        cls, out: Path, manifest: dict[str, Any], *, resume: bool
    ) -> Generator[RunFolder, None, None]:
        """Begin or resume a run, and keep others from doing the same meanwhile."""
        folder = cls(out.with_name(f"{out.name}.run"))
        folder._path.mkdir(parents=True, exist_ok=True)
        # SQLite's locks end with the process that holds them, on every system.
        lock = sqlite3.connect(folder._path / "lock", timeout=0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                raise ConfigurationError(f"another run is writing {str(out)!r}") from None
            folder._open(out, manifest, resume=resume)
            yield folder
        finally:
            if folder._file >= 0:
                os.close(folder._file)
            lock.close()

    def _open(self, out: Path, manifest: dict[str, Any], *, resume: bool) -> None:
        stored = self._read_manifest()
        if not resume:
            self._refuse_existing(out, stored)
        if stored is None:
            if out.exists():
                raise ConfigurationError(
                    f"nothing to resume for {str(out)!r}; pass another file, or remove this one"
                )
            _write_whole(self._manifest, [json.dumps(manifest, indent=1).encode()])
        else:
            self._compare(stored, manifest)
            totals = stored.get("finished")
            if totals is not None and out.exists():
                self.finished = Tally.from_dict(totals)
                self._clear()
                return
        self._recover()
        self._begin_journal()

    def _refuse_existing(self, out: Path, stored: Mapping[str, Any] | None) -> None:
        """Raise an error if a new run would overwrite an output or an earlier run."""
        folder = str(self._path)
        if stored is None:
            if out.exists():
                raise ConfigurationError(
                    f"{str(out)!r} exists; choose another output, or delete it"
                )
        elif out.exists():
            raise ConfigurationError(
                f"{str(out)!r} exists; use --resume, choose another output, or delete both it and"
                f" {folder!r}"
            )
        else:
            raise ConfigurationError(
                f"an unfinished run exists in {folder!r}; use --resume, choose another output, or"
                " delete that folder"
            )

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            return cast("dict[str, Any]", json.loads(self._manifest.read_bytes()))
        except FileNotFoundError:
            return None
        except ValueError:
            raise ConfigurationError(
                f"{str(self._manifest)!r} was not written by a batch run"
            ) from None

    def _compare(self, stored: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
        for key, value in manifest.items():
            if stored.get(key) != value:
                raise ConfigurationError(
                    f"the run in {str(self._path)!r} was started with a different {key}; results"
                    f" would be mixed. Rerun with the original {key}, or start a new run"
                )

    def has(self, number: int) -> bool:
        """Return whether a row is finished."""
        index, bit = divmod(number, 8)
        rows = self._finished_rows
        return index < len(rows) and bool(rows[index] & 1 << bit)

    def _add(self, number: int, decision: str, calls: int, cost_usd: float, error: str) -> bool:
        """Count a finished row; return False if it was counted before."""
        if self.has(number):
            return False
        index, bit = divmod(number, 8)
        rows = self._finished_rows
        if index >= len(rows):
            rows.extend(bytes(index + 1 - len(rows)))
        rows[index] |= 1 << bit
        self.tally.add(decision, calls, cost_usd, error)
        return True

    def append(self, batch: Sequence[Scored]) -> None:
        """Append finished rows to the journal."""
        lines: list[bytes] = []
        for scored in batch:
            new = self._add(
                scored.number, scored.decision, scored.calls, scored.cost_usd, scored.error
            )
            if new:
                lines.append(_line_of(scored))
        data = b"".join(lines)
        _write_all(self._file, data)
        self._size += len(data)
        if time.monotonic() - self._synced > _SYNC_S:
            self.sync()
        if self._size > PART_BYTES:
            self.seal()
            self._begin_journal()

    def sync(self) -> None:
        """Make sure that the journal survives a power failure."""
        os.fsync(self._file)
        self._synced = time.monotonic()

    def _begin_journal(self) -> None:
        self._file = os.open(self._journal, _NEW_FILE | os.O_APPEND, 0o644)
        self._size = 0

    def _recover(self) -> None:
        """Load the rows finished in earlier sessions."""
        for path in self._path.glob("*.part-new"):
            path.unlink()
        self._parts = sorted(
            _Part(int(path.name.split("-")[1]), path) for path in self._path.glob("part-*.rows")
        )
        for part in self._parts:
            with part.path.open("rb") as file:
                for line in file:
                    self._add(*_head_of(line))
        # A crash may have left a journal whose part was already written.
        positions: list[_Position] = []
        for number, start, line in self._journal_lines():
            if not self.has(number):
                self._add(*_head_of(line))
                positions.append((number, start, len(line)))
        self._make_part(positions)

    def seal(self) -> None:
        """Turn the journal into a part."""
        os.close(self._file)
        self._file = -1
        self._make_part(
            [(number, start, len(line)) for number, start, line in self._journal_lines()]
        )

    def _journal_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the rows in the journal: number, offset of the line, and the line itself."""
        if not self._journal.exists():
            return
        start = 0
        with self._journal.open("rb") as file:
            for line in file:
                # After a process was killed, the last line may be incomplete.
                if line.endswith(b"\n"):
                    yield int(line.partition(b"\t")[0]), start, line
                start += len(line)

    def _make_part(self, positions: list[_Position]) -> None:
        """Write a part from rows of the journal."""
        if positions:
            positions.sort()
            first = positions[0][0]
            path = self._path / f"part-{first:015d}-{len(self._parts):06d}.rows"
            with self._journal.open("rb") as file:
                _write_whole(path, _read_each(file, positions))
            self._parts.append(_Part(first, path))
        self._journal.unlink(missing_ok=True)

    def lines(self) -> Iterator[bytes]:
        """Yield the finished rows in the order of the input, as JSON."""
        waiting = sorted(self._parts)
        opened: list[tuple[int, int, bytes, Iterator[tuple[int, bytes]]]] = []
        while waiting or opened:
            # Parts overlap a little; open only those that may contain the next row.
            while waiting and (not opened or waiting[0].first <= opened[0][0]):
                part = waiting.pop(0)
                rows = part.rows()
                number, remainder = next(rows)
                heapq.heappush(opened, (number, id(rows), remainder, rows))
            number, key, remainder, rows = heapq.heappop(opened)
            yield remainder.split(b"\t", 4)[4].rstrip(b"\n")
            following = next(rows, None)
            if following is not None:
                heapq.heappush(opened, (following[0], key, following[1], rows))

    def finish(self) -> None:
        """Record in the manifest that the output exists, and delete its sources."""
        manifest = self._read_manifest() or {}
        finished = {**manifest, "finished": self.tally.to_dict()}
        _write_whole(self._manifest, [json.dumps(finished, indent=1).encode()])
        self._clear()

    def _clear(self) -> None:
        for path in chain(self._path.glob("part-*.rows"), [self._journal]):
            path.unlink(missing_ok=True)


def _line_of(scored: Scored) -> bytes:
    head = (
        f"{scored.number}\t{scored.decision}\t{scored.calls}\t{scored.cost_usd!r}\t{scored.error}\t"
    )
    return head.encode() + scored.line + b"\n"


def _head_of(line: bytes) -> tuple[int, str, int, float, str]:
    number, decision, calls, cost_usd, error, _ = line.split(b"\t", 5)
    return int(number), decision.decode(), int(calls), float(cost_usd), error.decode()


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _read_each(file: IO[bytes], positions: Sequence[_Position]) -> Iterator[bytes]:
    """Yield lines of a file, several at once."""
    lines: list[bytes] = []
    size = 0
    for _, start, length in positions:
        file.seek(start)
        lines.append(file.read(length))
        size += length
        if size > _WRITTEN_AT_ONCE:
            yield b"".join(lines)
            lines, size = [], 0
    yield b"".join(lines)


def _write_whole(path: Path, data: Iterable[bytes]) -> None:
    """Write a file atomically."""
    new = path.with_name(f"{path.name}.part-new")
    file = os.open(new, _NEW_FILE, 0o644)
    try:
        for piece in data:
            _write_all(file, piece)
        os.fsync(file)
    finally:
        os.close(file)
    new.replace(path)
    sync_folder(path.parent)
