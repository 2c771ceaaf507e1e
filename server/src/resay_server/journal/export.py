"""Export entries as JSON, CSV and Parquet; parse and format times."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, Literal, cast

from resay.errors import ConfigurationError
from resay.plugins import RecordedEvidence
from resay_server.journal.entry import Entry, Slice
from resay_server.journal.evidence import evidence_dict
from resay_server.journal.feedback import Feedback
from resay_server.journal.threads import in_thread

if TYPE_CHECKING:
    from resay_server.journal.journal import Journal

Format = Literal["jsonl", "csv", "parquet"]
# The evidence of an entry may be long.
_EVIDENCE_AT_ONCE = 20
# Spreadsheets run cells that begin with these as formulas; some accept the full-width forms too.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
COLUMNS: Mapping[str, type[Any]] = {
    "id": str,
    "time": str,
    "request_id": str,
    "model": str,
    "policy": str,
    "tenant": str,
    "api": str,
    "action": str,
    "decision": str,
    "score": float,
    "reason": str,
    "flagged": int,
    "sentences": int,
    "latency_s": float,
    "check_s": float,
    "main_calls": int,
    "main_prompt_tokens": int,
    "main_completion_tokens": int,
    "main_cost_usd": float,
    "check_calls": int,
    "check_prompt_tokens": int,
    "check_completion_tokens": int,
    "check_cost_usd": float,
    "rating": str,
    "rater": str,
    "question": str,
    "answer": str,
}
"""The columns of a table of entries, with their types."""


def entry_dict(entry: Entry, feedback: Sequence[Feedback] = ()) -> dict[str, Any]:
    """Return an entry as JSON-ready values, with the feedback on it and without its evidence.

    Args:
        entry: The entry.
        feedback: The feedback on it.
    """
    fields = asdict(replace(entry, evidence=None))
    del fields["evidence"]
    return {
        **fields,
        "verdict": dict(entry.verdict),
        "time": timestamp(entry.time),
        "feedback": [{**asdict(rating), "time": timestamp(rating.time)} for rating in feedback],
    }


def whole_entry_dict(
    entry: Entry, feedback: Sequence[Feedback], evidence: RecordedEvidence | None
) -> dict[str, Any]:
    """Return all of an entry as JSON-ready values.

    Args:
        entry: The entry.
        feedback: The feedback on it.
        evidence: The texts that the answer was checked with; None if they are not stored.
    """
    return entry_dict(entry, feedback) | {"evidence": evidence_dict(evidence)}


def entry_cells(entry: Entry, feedback: Sequence[Feedback] = ()) -> dict[str, Any]:
    """Return an entry as a row of a table, with the last feedback on the entry as a whole.

    Args:
        entry: The entry.
        feedback: The feedback on it, oldest first.
    """
    cells = {name: getattr(entry, name, None) for name in COLUMNS}
    for call, usage in (("main", entry.usage), ("check", entry.check_usage)):
        cells[f"{call}_calls"] = usage.calls
        cells[f"{call}_prompt_tokens"] = usage.prompt_tokens
        cells[f"{call}_completion_tokens"] = usage.completion_tokens
        cells[f"{call}_cost_usd"] = usage.cost_usd
    cells["time"] = timestamp(entry.time)
    cells["answer"] = answer_of(entry)
    for rating in feedback:
        if rating.claim is None:
            cells["rating"], cells["rater"] = rating.rating, rating.rater
    return cells


def answer_of(entry: Entry) -> str | None:
    """Return the stored text of the answer, or None.

    The text between sentences is not stored; a space or a line break replaces it.
    """
    verdict = entry.verdict
    parts: list[Mapping[str, Any]] = []
    for name in ("sentences", "unscored"):
        units = cast("Sequence[object]", verdict.get(name) or ())
        parts += [cast("Mapping[str, Any]", unit) for unit in units if isinstance(unit, Mapping)]
    texts: list[str] = []
    end = 0
    for part in sorted(parts, key=lambda part: part.get("start") or 0):
        text = part.get("text")
        start = part.get("start") or 0
        if not text or (texts and start < end):
            continue
        if texts:
            texts.append("\n" if start > end + 1 else " " * (start > end))
        texts.append(text)
        end = part.get("end") or start + len(text)
    return "".join(texts) or None


def timestamp(seconds: float) -> str:
    """Format a time as ISO 8601, in UTC."""
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Return rows as CSV (RFC 4180) with a header, with spreadsheet formulas disarmed.

    Args:
        rows: The rows, as mappings from columns to values.
        columns: The columns to write, in order.
    """
    out = StringIO()
    writer = csv.DictWriter(out, list(columns), lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(FORMULAS):
        return f"'{value}"
    return value


async def json_lines(
    journal: Journal, entries: Sequence[tuple[Entry, Sequence[Feedback]]]
) -> AsyncGenerator[str]:
    """Yield entries as JSON Lines, each with the texts that its answer was checked with.

    Args:
        journal: The journal that has them.
        entries: The entries, each with the feedback on it.

    Yields:
        The lines of some of the entries.

    Raises:
        JournalError: The journal cannot be read.
    """
    for start in range(0, len(entries), _EVIDENCE_AT_ONCE):
        chunk = entries[start : start + _EVIDENCE_AT_ONCE]
        evidence = await journal.evidence(*(entry.id for entry, _ in chunk))
        yield await in_thread(partial(_json_lines, chunk, evidence))


def _json_lines(
    entries: Sequence[tuple[Entry, Sequence[Feedback]]], evidence: Mapping[str, RecordedEvidence]
) -> str:
    lines: list[str] = []
    for entry, feedback in entries:
        fields = whole_entry_dict(entry, feedback, evidence.get(entry.id))
        lines.append(json.dumps(fields, ensure_ascii=False) + "\n")
    return "".join(lines)


def entries_csv(entries: Iterable[tuple[Entry, Sequence[Feedback]]]) -> str:
    """Return entries as a table in CSV.

    Args:
        entries: The entries, each with the feedback on it.
    """
    return csv_text([entry_cells(entry, feedback) for entry, feedback in entries], COLUMNS)


def write_parquet(rows: Sequence[Mapping[str, Any]], out: str | BytesIO) -> None:
    """Write rows of a table of entries as Parquet.

    Args:
        rows: The rows, as returned by `entry_cells`.
        out: The file to write.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError(
            "Parquet needs pyarrow, which is not installed; run `pip install pyarrow`, or export"
            " to .jsonl or .csv"
        ) from error
    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), out)


def slice_dict(part: Slice) -> dict[str, Any]:
    """Return the statistics of a slice as JSON-ready values, without its time and name.

    Args:
        part: The slice.
    """
    return {
        "entries": part.entries,
        "decisions": dict(part.decisions),
        "blocked": part.blocked,
        "regenerated": part.regenerated,
        "latency_p50_s": part.latency_p50_s,
        "latency_p95_s": part.latency_p95_s,
        "cost_usd": part.cost_usd,
        "check_cost_usd": part.check_cost_usd,
        "unpriced": part.unpriced,
    }


_SPAN = re.compile(r"(\d+(?:\.\d+)?)(m|h|d|w)")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment_of(option: str, text: str | None, now: float) -> float | None:
    """Parse a time to seconds since the epoch; None stays None.

    Args:
        option: The option's name, for error messages.
        text: A date, a time, or a span before now.
        now: Seconds since the epoch.

    Raises:
        ConfigurationError: The text is none of these.
    """
    if text is None:
        return None
    span = _SPAN.fullmatch(text)
    if span:
        return max(0.0, now - float(span[1]) * _SECONDS[span[2]])
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return max(0.0, moment.timestamp())
    raise ConfigurationError(
        f"{option} must be a date (2026-01-31), a time (2026-01-31T12:00) or a span (24h, 7d), not"
        f" {text!r}"
    )
