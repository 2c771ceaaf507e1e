"""The seam to the databases: sessions, entries as rows, and the SQL statements."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, cast

from pydantic import TypeAdapter, ValidationError

from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError, ResayError
from resay.reporting.journal.entry import Content, Entry

Row = tuple[Any, ...]
_log = logging.getLogger(__name__)


class Bare(str):
    """A verdict without words as JSON: names of fields above all, and the same in every entry."""

    __slots__ = ()


class JournalError(ResayError):
    """The journal cannot be read or written. The message holds neither content nor a password."""


class RefusedError(JournalError):
    """The database is there and will not take these rows, now or later."""


class Session(Protocol):
    """What one event loop has open of a database. The tables are there before it is used."""

    async def insert(self, rows: Sequence[Row]) -> None:
        """Write entries, all or none of them; those whose ids exist already are left as is.

        Raises:
            RefusedError: It takes other rows, but not these.
            JournalError: The database cannot be written.
        """
        ...

    async def change(self, sql: str, row: Row) -> int:
        """Run one statement that writes or deletes.

        Returns:
            How many rows it wrote or deleted.

        Raises:
            RefusedError: It takes other rows, but not this.
            JournalError: The database cannot be written.
        """
        ...

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query, beside what is being written.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def roll_up(self, now: float) -> bool:
        """Make some of the rollups that are missing of what lies before a moment, if any are kept.

        Returns:
            Whether there may be more to make.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def summed_up(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return what the query of a summary does, from rollups; None where they cannot say.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def forget(self) -> None:
        """See that what was deleted leaves the disk, as far as that is ours to do.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open, after what is being done."""
        ...


class Store(Protocol):
    """A database that several event loops, threads and processes may share.

    Statements are the same for all, with `?` where values go, but for what `whole` gives.
    """

    def open(self) -> Session:
        """Return a session for the running event loop; nothing is connected to before its use."""
        ...

    def whole(self, sql: str) -> str:
        """Return the expression for the whole part of a number that is not negative."""
        ...


COLUMNS = (
    *("id", "time", "request_id", "model", "policy", "tenant", "api", "action", "decision"),
    *("score", "reason", "flagged", "sentences", "latency_s", "check_s"),
    *("main_calls", "main_prompt_tokens", "main_completion_tokens", "main_cost_usd"),
    *("main_cancelled", "check_calls", "check_prompt_tokens", "check_completion_tokens"),
    *("check_cost_usd", "check_cancelled", "verdict", "question"),
)
_MAIN = COLUMNS.index("main_calls")
_CHECK = COLUMNS.index("check_calls")
_VERDICT = COLUMNS.index("verdict")
# Long enough for any name, short enough for any index.
_NAME_CHARS = 256
_REASON_CHARS = 2000
# What a row takes besides its texts, roughly.
_ROW_BYTES = 1000


def row_of(entry: Entry, content: Content) -> Row:
    """Return an entry as the values of `COLUMNS`, with the words that may be kept.

    Raises:
        ConfigurationError: Its verdict is none.
    """
    whole = content == "all" or (content == "flagged" and _is_notable(entry))
    verdict = dict(entry.verdict) if whole else _without_content(entry.verdict)
    question = entry.question if whole else None
    return (
        entry.id,
        entry.time,
        named(entry.request_id),
        named(entry.model),
        named(entry.policy),
        named(entry.tenant),
        entry.api,
        entry.action,
        entry.decision,
        entry.score,
        clean(entry.reason)[:_REASON_CHARS],
        entry.flagged,
        entry.sentences,
        entry.latency_s,
        entry.check_s,
        *_costs(entry.usage),
        *_costs(entry.check_usage),
        # JSON's escapes carry what the databases do not take as it is: NUL and lone surrogates.
        (str if whole else Bare)(json.dumps(verdict, separators=(",", ":"))),
        None if question is None else json.dumps(question),
    )


def entry_of(row: Row) -> Entry:
    """Return the entry that was written as these values."""
    given = dict(zip(COLUMNS[:_MAIN], row, strict=False))
    verdict, question = row[_VERDICT:]
    return Entry(
        **given,
        usage=Usage(*row[_MAIN:_CHECK]),
        check_usage=Usage(*row[_CHECK:_VERDICT]),
        verdict=json.loads(verdict),
        question=None if question is None else json.loads(question),
    )


def size_of(row: Row) -> int:
    """Return how many bytes of memory a row takes, roughly."""
    return _ROW_BYTES + len(row[_VERDICT]) + len(row[_VERDICT + 1] or "")


def named(name: str | None) -> str | None:
    """Return a name as it is written."""
    return None if name is None else clean(name[:_NAME_CHARS])


def clean(text: str) -> str:
    """Return a text as the databases take it."""
    text = text.replace("\0", "\ufffd")
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _costs(usage: Usage) -> Row:
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens)
    return (*counts, usage.cost_usd, usage.cancelled)


def _is_notable(entry: Entry) -> bool:
    if entry.decision == "flagged" or entry.action in {"block", "regenerate"}:
        return True
    # One that was written again and came out inconclusive may have been given as it is.
    regeneration = entry.verdict.get("regeneration")
    return isinstance(regeneration, Mapping) and (
        cast("Mapping[str, Any]", regeneration).get("adopted") is not None
    )


def _without_content(verdict: Mapping[str, Any]) -> dict[str, Any]:
    # Read and written as a verdict, so that nothing stays of which the verdict does not know.
    try:
        return _reader().validate_python(verdict).to_dict(content=False)
    except ValidationError as error:
        places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
    # Outside of the handler, whose exception holds the words of the response.
    raise ConfigurationError(
        "the entry's verdict is not a verdict; pass the result of Verdict.to_dict(), and check"
        f" {', '.join(places)}"
    )


# Made once: to make it takes longer than to read a thousand verdicts with it.
@cache
def _reader() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)


VERSIONS_TABLE = "resay_journal_version"
READ_VERSION = "SELECT version FROM resay_journal_version"
FORGET_VERSION = "DELETE FROM resay_journal_version"
SET_VERSION = "INSERT INTO resay_journal_version (version) VALUES (?)"
# Each leads from one version of the tables to the next. What was released is never changed; a new
# one is added at the end.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE resay_journal_version (version INTEGER NOT NULL)",
        "CREATE TABLE resay_journal_entries ("
        " id TEXT NOT NULL PRIMARY KEY,"
        " time DOUBLE PRECISION NOT NULL,"
        " request_id TEXT,"
        " model TEXT NOT NULL,"
        " policy TEXT NOT NULL,"
        " tenant TEXT,"
        " api TEXT NOT NULL,"
        " action TEXT NOT NULL,"
        " decision TEXT NOT NULL,"
        " score DOUBLE PRECISION,"
        " reason TEXT NOT NULL,"
        " flagged BIGINT NOT NULL,"
        " sentences BIGINT NOT NULL,"
        " latency_s DOUBLE PRECISION NOT NULL,"
        " check_s DOUBLE PRECISION NOT NULL,"
        " main_calls BIGINT NOT NULL,"
        " main_prompt_tokens BIGINT NOT NULL,"
        " main_completion_tokens BIGINT NOT NULL,"
        " main_cost_usd DOUBLE PRECISION,"
        " main_cancelled BIGINT NOT NULL,"
        " check_calls BIGINT NOT NULL,"
        " check_prompt_tokens BIGINT NOT NULL,"
        " check_completion_tokens BIGINT NOT NULL,"
        " check_cost_usd DOUBLE PRECISION,"
        " check_cancelled BIGINT NOT NULL,"
        " verdict TEXT NOT NULL,"
        " question TEXT)",
        "CREATE INDEX resay_journal_by_time ON resay_journal_entries (time, id)",
        "CREATE INDEX resay_journal_by_decision ON resay_journal_entries (decision, time, id)",
    ),
    (
        "CREATE INDEX resay_journal_by_tenant ON resay_journal_entries (tenant, time, id)"
        " WHERE tenant IS NOT NULL",
    ),
    (
        "CREATE INDEX resay_journal_by_request ON resay_journal_entries (request_id, time)"
        " WHERE request_id IS NOT NULL",
        # What people say of entries goes when the entries go.
        "CREATE TABLE resay_journal_feedback ("
        " entry_id TEXT NOT NULL REFERENCES resay_journal_entries (id) ON DELETE CASCADE,"
        " claim BIGINT NOT NULL,"
        " rater TEXT NOT NULL,"
        " time DOUBLE PRECISION NOT NULL,"
        " rating TEXT NOT NULL,"
        " about TEXT NOT NULL,"
        " source TEXT NOT NULL,"
        " note TEXT,"
        " PRIMARY KEY (entry_id, claim, rater))",
        "CREATE TABLE resay_journal_draws ("
        " entry_id TEXT NOT NULL PRIMARY KEY"
        " REFERENCES resay_journal_entries (id) ON DELETE CASCADE,"
        " time DOUBLE PRECISION NOT NULL,"
        " method TEXT NOT NULL,"
        " weight DOUBLE PRECISION NOT NULL)",
    ),
)
LATEST = len(MIGRATIONS)
_NAMES = ", ".join(COLUMNS)
GET = f"SELECT {_NAMES} FROM resay_journal_entries WHERE id = ?"  # noqa: S608 - our own names
PRUNE_OLD = (
    "DELETE FROM resay_journal_entries WHERE id IN"
    " (SELECT id FROM resay_journal_entries WHERE time < ? ORDER BY time LIMIT ?)"
)
PRUNE_SURPLUS = (
    "DELETE FROM resay_journal_entries WHERE id IN (SELECT id FROM resay_journal_entries"
    " ORDER BY time DESC, id DESC LIMIT ? OFFSET ?)"
)


def newer(version: int) -> JournalError:
    """Return what to say of tables that a newer Resay made."""
    return JournalError(
        f"the journal's tables have version {version!r}, but this Resay supports at most {LATEST};"
        " upgrade Resay, or use another journal"
    )


def insert(rows: int) -> str:
    """Return the statement that writes so many entries, but those that are there already."""
    values = ", ".join(["?"] * len(COLUMNS))
    return (
        f"INSERT INTO resay_journal_entries ({_NAMES})"  # noqa: S608 - our own names
        f" VALUES {', '.join([f'({values})'] * rows)} ON CONFLICT (id) DO NOTHING"
    )


def forget(column: str) -> str:
    """Return the statement that deletes so many entries at most whose column holds a value."""
    return (
        "DELETE FROM resay_journal_entries WHERE id IN"  # noqa: S608 - our own names
        f" (SELECT id FROM resay_journal_entries WHERE {column} = ? LIMIT ?)"
    )


def recent(
    limit: int,
    before: str | None,
    equal: Mapping[str, str | None],
    *,
    since: float | None = None,
    until: float | None = None,
    words: Sequence[str] = (),
) -> tuple[str, Row]:
    """Return the query for the newest entries.

    Args:
        limit: How many.
        before: The id of an entry; only what is older is wanted.
        equal: What columns must hold; None for whatever.
        since: The least time, in seconds since the epoch.
        until: The time before which they are.
        words: What must occur in the JSON of what is kept. That has keys, too: see `has_words`.
    """
    wanted = {column: value for column, value in equal.items() if value is not None}
    conditions = [f"{column} = ?" for column in wanted]
    values: list[str | float] = list(wanted.values())
    if since is not None:
        conditions.append("time >= ?")
        values.append(float(since))
    if until is not None:
        conditions.append("time < ?")
        values.append(float(until))
    for word in words:
        held = "lower({}) LIKE ? ESCAPE '!'"
        conditions.append(f"({held.format('verdict')} OR {held.format('question')})")
        values += [_pattern(word)] * 2
    if before is not None:
        conditions.append(
            "(time, id) < (SELECT time, id FROM resay_journal_entries WHERE id = ?)",
        )
        values.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return (
        f"SELECT {_NAMES} FROM resay_journal_entries{where}"  # noqa: S608 - our own names
        " ORDER BY time DESC, id DESC LIMIT ?",
        (*values, limit),
    )


def _pattern(word: str) -> str:
    # As JSON has it: other letters than ASCII's are escaped, and found as they are written.
    held = json.dumps(word)[1:-1].lower()
    for special in "!%_":
        held = held.replace(special, f"!{special}")
    return f"%{held}%"


def has_words(entry: Entry, words: Sequence[str]) -> bool:
    """Return whether each of some words occurs in the words that are kept of an entry."""
    held = [text.lower() for text in _words_of(entry)]
    return all(any(word.lower() in text for text in held) for word in words)


def _words_of(entry: Entry) -> Iterator[str]:
    if entry.question:
        yield entry.question
    try:
        bare = _without_content(entry.verdict)
    # Of a newer Resay, say.
    except ConfigurationError:
        return
    yield from words_beside(entry.verdict, bare)


# What tells of words, and is none.
_NO_WORDS = frozenset({"by", "band", "kind", "mode", "source", "unit", "via"})


def words_beside(full: object, bare: object) -> Iterator[str]:
    """Yield the texts of a verdict that it has not without content."""
    if isinstance(full, str):
        if full and full != bare:
            yield full
    elif isinstance(full, Mapping):
        empty: Mapping[str, object] = {}
        known = cast("Mapping[str, object]", bare) if isinstance(bare, Mapping) else empty
        for key, value in cast("Mapping[str, object]", full).items():
            if key not in _NO_WORDS:
                yield from words_beside(value, known.get(key))
    elif isinstance(full, (list, tuple)):
        values = cast("Sequence[object]", full)
        others = cast("Sequence[object]", bare) if isinstance(bare, (list, tuple)) else ()
        for i, value in enumerate(values):
            yield from words_beside(value, others[i] if i < len(others) else None)


def redacted(row: Row, redact: Callable[[str], str]) -> Row:
    """Return a row with its words gone through a function; without words where that fails."""
    verdict, question = row[_VERDICT:]
    if isinstance(verdict, Bare) and question is None:
        return row
    full = json.loads(verdict)
    bare = _without_content(full)
    try:
        clean = _redacted(full, bare, redact)
        # It may have made something of it that is none.
        _without_content(clean)
        asked = None if question is None else json.dumps(_one(json.loads(question), redact))
        return (*row[:_VERDICT], json.dumps(clean, separators=(",", ":")), asked)
    # Whatever a function of somebody else's raises; its message may hold words.
    except Exception as error:
        _log.warning("`redact` failed with %s; the text is not stored", type(error).__name__)
    return (*row[:_VERDICT], Bare(json.dumps(bare, separators=(",", ":"))), None)


def _redacted(full: Any, bare: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(full, str):
        return full if not full or full == bare else _one(full, redact)
    if isinstance(full, dict):
        empty = dict[str, Any]()
        known = cast("dict[str, Any]", bare) if isinstance(bare, dict) else empty
        return {
            key: value if key in _NO_WORDS else _redacted(value, known.get(key), redact)
            for key, value in cast("dict[str, Any]", full).items()
        }
    if isinstance(full, list):
        values = cast("list[Any]", full)
        others = cast("list[Any]", bare) if isinstance(bare, list) else []
        return [
            _redacted(value, others[i] if i < len(others) else None, redact)
            for i, value in enumerate(values)
        ]
    return full


def _one(text: str, redact: Callable[[str], str]) -> str:
    changed: Any = redact(text)
    if isinstance(changed, str):
        return changed
    raise TypeError
