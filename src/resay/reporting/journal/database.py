"""The interface to the databases: sessions, entries as rows, and the SQL statements."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, Literal, Protocol, cast

from pydantic import TypeAdapter, ValidationError

from resay.core.usage import Usage
from resay.core.verdict import Decision, Verdict
from resay.errors import ConfigurationError, ResayError
from resay.reporting.journal.entry import By, Content, Entry, Slice, SortKey

Row = tuple[Any, ...]
_log = logging.getLogger(__name__)


class ContentFree(str):
    """A verdict without content as JSON: mostly field names, the same in every entry."""

    __slots__ = ()


class JournalError(ResayError):
    """The journal cannot be read or written. The message holds neither content nor a password."""


class UnknownEntryError(JournalError):
    """The journal has no entry with the id, or no longer has it."""


class TooManyError(JournalError):
    """An entry has the maximum amount of feedback from the API."""


class RefusedError(JournalError):
    """The database works but rejects these rows; a retry would not help."""


class Session(Protocol):
    """One event loop's connections to a database. They create the tables before the first use."""

    async def insert(self, rows: Sequence[Row], terms: Sequence[str | None]) -> None:
        """Write all entries or none; entries whose ids exist already are left unchanged.

        Args:
            rows: The entries.
            terms: The search terms of each entry, or None.

        Raises:
            RefusedError: The database works but rejects these rows.
            JournalError: The database cannot be written.
        """
        ...

    async def change(self, sql: str, row: Row) -> int:
        """Run one statement that writes or deletes.

        Returns:
            The number of rows written or deleted.

        Raises:
            RefusedError: The database works but rejects this row.
            JournalError: The database cannot be written.
        """
        ...

    async def read(self, sql: str, row: Row) -> list[Row]:
        """Run a query, concurrently with writes.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def roll_up(self, now: float) -> bool:
        """Build some of the missing rollups for the time before `now`.

        Returns:
            Whether there may be more to build.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def summed_up(
        self, since: float, until: float, step_s: float, by: str | None
    ) -> list[Row] | None:
        """Return the rows of a summary's query from rollups; None if they do not suffice.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def forget(self) -> bool:
        """Do part of the work that removes deleted data from the disk, if that is ours to do.

        Returns:
            Whether there is more to do.

        Raises:
            JournalError: The database cannot be written.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections after their pending work."""
        ...


class Store(Protocol):
    """A database that several event loops, threads and processes may share.

    All databases share the statements, with `?` as placeholder, except for the parts returned here.
    """

    def open(self) -> Session:
        """Return a session for the running event loop, which connects on first use."""
        ...

    def whole(self, sql: str) -> str:
        """Return the expression for the integer part of a non-negative number."""
        ...

    def percentile(self, name: str, percent: int) -> str:
        """Return the expression for a percentile of `{name}_s`, the nearest rank."""
        ...

    @property
    def ranks(self) -> bool:
        """Whether percentiles need `{name}_rank` and the count of `entries` in each row."""
        ...

    def search(self, terms: Sequence[str], since: float | None, until: float | None) -> Search:
        """Return the search for entries with all of some terms.

        Args:
            terms: The terms from `query_terms`, at least one.
            since: The earliest time, in seconds since the epoch.
            until: The end of the time (exclusive), in seconds since the epoch.
        """
        ...

    def newest(self, search: Search, before: SortKey | None, limit: int) -> tuple[str, Row]:
        """Return the query for the newest matching entries.

        Args:
            search: The search.
            before: The place of a matching entry; only older ones are returned.
            limit: The maximum number of entries.

        Returns:
            The query, which selects `entry_id` and the columns of the search's order; its values.
        """
        ...

    @property
    def index(self) -> str:
        """The statement that indexes an entry; its values are the entry's terms and id."""
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
# The approximate size of a row without its texts.
_ROW_BYTES = 1000


# `compute` weight of a sentence or a claim.
_UNIT_COST = 150


def row_cost(entry: Entry) -> int:
    """Return what `row_of` costs, in characters for `compute`."""
    units = 0
    for name in ("sentences", "claims", "unscored"):
        value: object = entry.verdict.get(name)
        units += len(cast("list[object]", value)) if isinstance(value, list) else 0
    return _UNIT_COST * units


def prepare_rows() -> None:
    """Import what `row_of` needs."""
    _reader()


def row_of(entry: Entry, content: Content) -> Row:
    """Return an entry as the values of `COLUMNS`, with the text that `content` allows.

    Raises:
        ConfigurationError: Its verdict is invalid.
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
        # JSON escapes the characters that the databases reject: NUL and lone surrogates.
        (str if whole else ContentFree)(json.dumps(verdict, separators=(",", ":"))),
        None if question is None else json.dumps(question),
    )


def entry_of(row: Row) -> Entry:
    """Return the entry for the values of `COLUMNS`."""
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
    """Return the approximate number of bytes that a row takes in memory."""
    return _ROW_BYTES + len(row[_VERDICT]) + len(row[_VERDICT + 1] or "")


def named(name: str | None) -> str | None:
    """Return a name in the form in which it is stored."""
    return None if name is None else clean(name[:_NAME_CHARS])


def clean(text: str) -> str:
    """Replace the characters in a text that the databases reject."""
    text = text.replace("\0", "\ufffd")
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _costs(usage: Usage) -> Row:
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens)
    return (*counts, usage.cost_usd, usage.cancelled)


def _is_notable(entry: Entry) -> bool:
    if entry.decision == "flagged" or entry.action in {"block", "regenerate"}:
        return True
    # A regenerated answer that came out inconclusive may have been passed on unchanged.
    regeneration = entry.verdict.get("regeneration")
    return isinstance(regeneration, Mapping) and (
        cast("Mapping[str, Any]", regeneration).get("adopted") is not None
    )


def _without_content(verdict: Mapping[str, Any]) -> dict[str, Any]:
    # Parsed and serialized as a verdict, so that unknown fields are dropped.
    try:
        return _reader().validate_python(verdict).to_dict(content=False)
    except ValidationError as error:
        places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
    # Raised outside the handler, whose exception contains the response's text.
    raise ConfigurationError(
        "the entry's verdict is not a verdict; pass the result of Verdict.to_dict(), and check"
        f" {', '.join(places)}"
    )


# Cached because building it takes longer than parsing a thousand verdicts.
@cache
def _reader() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)


_MOST_SLICES = 10_000
_DECISIONS: tuple[Decision, ...] = ("consistent", "flagged", "inconclusive", "skipped")
_GROUPS: Mapping[By | None, str] = {
    "model": "model",
    "policy": "policy",
    "tenant": "tenant",
    "api": "api",
    None: "''",
}


def check_span(since: float, until: float, step_s: float) -> None:
    """Check a span and its steps.

    Raises:
        ConfigurationError: The span is empty or has too many steps.
    """
    if not (since < until and step_s > 0 and ceil((until - since) / step_s) <= _MOST_SLICES):
        raise ConfigurationError(
            f"{since!r} to {until!r} in steps of {step_s!r} s does not give 1 to {_MOST_SLICES}"
            " slices; pass seconds since the epoch, and a longer step for a long span"
        )


def summed(store: Store, by: By | None, filters: SqlFilters) -> str:
    """Return the query for slices; its values are since, step and those of `filters`.

    Args:
        store: The database.
        by: The field to group by.
        filters: The filters.

    Raises:
        ConfigurationError: `by` is unknown.
    """
    if by not in _GROUPS:
        raise ConfigurationError(
            f"cannot group the journal by {by!r}; use one of"
            f" {', '.join(name for name in _GROUPS if name)}"
        )
    decisions = ", ".join(_count(f"decision = '{decision}'") for decision in _DECISIONS)
    blocked, regenerated = _count("action = 'block'"), _count("action = 'regenerate'")
    percentiles = [store.percentile(n, p) for n in ("latency", "check") for p in (50, 95)]
    ranks = ""
    if store.ranks:
        ranks = (
            f", {_rank('latency_s')} AS latency_rank, {_rank('check_s')} AS check_rank,"
            " count(*) OVER (PARTITION BY slot, name) AS entries"
        )
    slot = store.whole("(time - ?) / ?")
    return (
        f"WITH chosen AS (SELECT {slot} AS slot, {_GROUPS[by]} AS name, decision, action,"  # noqa: S608 - our own words
        " latency_s, check_s, main_cost_usd, check_cost_usd"
        f" FROM resay_journal_entries e{filters.where}),"
        f" ranked AS (SELECT *{ranks} FROM chosen)"
        f" SELECT slot, name, count(*), {decisions},"
        f" {blocked}, {regenerated},"
        f" {', '.join(percentiles)},"
        " sum(coalesce(main_cost_usd, 0.0) + coalesce(check_cost_usd, 0.0)),"
        " sum(coalesce(check_cost_usd, 0.0)),"
        f" {_count('main_cost_usd IS NULL OR check_cost_usd IS NULL')}"
        " FROM ranked GROUP BY slot, name"
    )


def slice_of(row: Row, *, since: float, step_s: float, by: By | None) -> Slice:
    """Return the slice for a row of the query."""
    slot, name, entries, *rest = row
    counts = dict(zip(_DECISIONS, rest, strict=False))
    return Slice(since + slot * step_s, name if by else None, entries, counts, *rest[len(counts) :])


def _count(condition: str) -> str:
    return f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)"


def _rank(column: str) -> str:
    return f"row_number() OVER (PARTITION BY slot, name ORDER BY {column})"


VERSIONS_TABLE = "resay_journal_version"
READ_VERSION = "SELECT version FROM resay_journal_version"
FORGET_VERSION = "DELETE FROM resay_journal_version"
SET_VERSION = "INSERT INTO resay_journal_version (version) VALUES (?)"
# Each migrates the tables to the next version. Never change a released one; append a new one.
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
        # Feedback is deleted with its entry.
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
    (
        # Entries from before the full-text index existed, which have yet to be indexed.
        "CREATE TABLE resay_journal_unindexed (entry_id TEXT NOT NULL PRIMARY KEY"
        " REFERENCES resay_journal_entries (id) ON DELETE CASCADE)",
    ),
    (),  # PostgreSQL's rollups.
)
UNINDEXED = (
    f"SELECT {', '.join(COLUMNS)} FROM resay_journal_entries WHERE id IN"  # noqa: S608 - our own names
    " (SELECT entry_id FROM resay_journal_unindexed LIMIT ?)"
)
INDEXED = "DELETE FROM resay_journal_unindexed WHERE entry_id = ?"
LATEST = len(MIGRATIONS)
_NAMES = ", ".join(COLUMNS)
GET = f"SELECT {_NAMES} FROM resay_journal_entries WHERE id = ?"  # noqa: S608 - our own names
NEWEST_OF = (
    f"SELECT {_NAMES} FROM resay_journal_entries WHERE request_id = ? AND coalesce(tenant, '') = ?"  # noqa: S608 - our own names
    " ORDER BY time DESC, id DESC LIMIT 1"
)
PRUNE_OLD = (
    "DELETE FROM resay_journal_entries WHERE id IN"
    " (SELECT id FROM resay_journal_entries WHERE time < ? ORDER BY time LIMIT ?)"
)
PRUNE_SURPLUS = (
    "DELETE FROM resay_journal_entries WHERE id IN (SELECT id FROM resay_journal_entries"
    " ORDER BY time DESC, id DESC LIMIT ? OFFSET ?)"
)


def newer(version: int) -> JournalError:
    """Return the error for tables made by a newer Resay."""
    return JournalError(
        f"the journal's tables have version {version!r}, but this Resay supports at most {LATEST};"
        " upgrade Resay, or use another journal"
    )


def insert(rows: int) -> str:
    """Return the statement that inserts a number of entries and ignores existing ids."""
    values = ", ".join(["?"] * len(COLUMNS))
    return (
        f"INSERT INTO resay_journal_entries ({_NAMES})"  # noqa: S608 - our own names
        f" VALUES {', '.join([f'({values})'] * rows)} ON CONFLICT (id) DO NOTHING"
    )


def forget(column: str) -> str:
    """Return the statement that deletes a limited number of entries with a value in a column."""
    return (
        "DELETE FROM resay_journal_entries WHERE id IN"  # noqa: S608 - our own names
        f" (SELECT id FROM resay_journal_entries WHERE {column} = ? LIMIT ?)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters for entries; None matches all.

    Attributes:
        model: Only entries of this model.
        policy: Only entries of this policy.
        decision: Only entries with this decision.
        tenant: Only entries of this tenant.
        request_id: Only entries of this request.
        since: Only entries from this time on, in seconds since the epoch.
        until: Only entries before this time.
        words: Only entries whose stored text has each of these words; `bridge*` is a prefix.
    """

    model: str | None = None
    policy: str | None = None
    decision: Decision | None = None
    tenant: str | None = None
    request_id: str | None = None
    since: float | None = None
    until: float | None = None
    words: str | None = None

    @property
    def unfiltered(self) -> bool:
        """Whether only the time is restricted."""
        return self == Filters(since=self.since, until=self.until)


@dataclass(frozen=True, slots=True)
class Search:
    """A database's full-text search.

    Attributes:
        rows: The tables to select from, with that of the words as `w`.
        holds: The condition.
        values: Its values.
        limits: Further conditions, on the time.
        order: The columns from `Store.newest` that sort entries by time, oldest first.
    """

    rows: str
    holds: str
    values: Row
    limits: tuple[str, ...]
    order: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlFilters:
    """Filters as SQL conditions on entries named `e`.

    Attributes:
        conditions: The conditions, all of which must hold.
        values: Their values.
        search: The full-text search, if there is one.
        searched: Whether the search covers all the filters.
        named: The number of leading conditions that compare names.
    """

    conditions: tuple[str, ...]
    values: Row
    search: Search | None = None
    searched: bool = False
    named: int = 0

    @property
    def where(self) -> str:
        """The WHERE clause; the search's values come last."""
        all_of = list(self.conditions)
        if self.search is not None:
            search = self.search
            held = " AND ".join((search.holds, *search.limits))
            all_of.append(f"e.id IN (SELECT w.entry_id FROM {search.rows} WHERE {held})")  # noqa: S608 - our own names
        return f" WHERE {' AND '.join(all_of)}" if all_of else ""

    @property
    def all_values(self) -> Row:
        """The values of the clause."""
        return self.values + (self.search.values if self.search else ())


def sql_filters(filters: Filters, store: Store) -> SqlFilters:
    """Return filters as SQL."""
    equal = ("model", "policy", "decision", "tenant", "request_id")
    wanted = {column: named(getattr(filters, column)) for column in equal}
    conditions = [f"e.{column} = ?" for column, value in wanted.items() if value is not None]
    values: list[object] = [value for value in wanted.values() if value is not None]
    names = len(values)
    for sign, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            conditions.append(f"e.time {sign} ?")
            values.append(float(moment))
    search = None
    if filters.words and filters.words.strip():
        terms = query_terms(filters.words)
        # With names as terms, the index finds a rare tenant's entries with a frequent word fast.
        terms += _names(wanted) if terms else []
        # Punctuation alone gives no terms, and matches nothing.
        search = store.search(terms, filters.since, filters.until) if terms else None
        conditions += [] if terms else ["1 = 0"]
    searched = filters.request_id is None
    return SqlFilters(tuple(conditions), tuple(values), search, searched, names)


Sort = Literal["newest", "score", "cost", "latency"]
_SORTED: Mapping[str, str] = {
    "score": "coalesce(e.score, -1.0)",
    "cost": "coalesce(e.main_cost_usd + e.check_cost_usd, -1.0)",
    "latency": "e.latency_s",
}
SORT_KEY = (
    f"SELECT e.id, e.time, {', '.join(_SORTED.values())}"  # noqa: S608 - our own names
    " FROM resay_journal_entries e WHERE e.id = ?"
)


def recent(
    limit: int, before: SortKey | None, filters: SqlFilters, store: Store, sort: Sort = "newest"
) -> tuple[str, Row]:
    """Return the query for the newest entries, or for those with the highest values.

    Args:
        limit: The maximum number of entries.
        before: Only entries that follow this place in the order.
        filters: The filters.
        store: The database.
        sort: The order; entries with unknown values come last.
    """
    columns = ", ".join(f"e.{name}" for name in COLUMNS)
    if filters.searched and filters.search is not None and sort == "newest":
        found, values = store.newest(filters.search, before, limit)
        ordered = ", ".join(f"w.{column} DESC" for column in filters.search.order)
        # The index finds names by truncated hashes, which may collide.
        same = " AND ".join(filters.conditions[: filters.named]) or "1 = 1"
        return (
            f"SELECT {columns} FROM ({found}) w JOIN resay_journal_entries e ON e.id = w.entry_id"  # noqa: S608 - our own names
            f" WHERE {same} ORDER BY {ordered}",
            (*values, *filters.values[: filters.named]),
        )
    where, values = filters.where, filters.all_values
    order = ["e.time", "e.id"] if sort == "newest" else [_SORTED[sort], "e.time", "e.id"]
    if before is not None:
        after = [] if sort == "newest" else [getattr(before, sort)]
        marks = ", ".join("?" * len(order))
        where += f"{' AND' if where else ' WHERE'} ({', '.join(order)}) < ({marks})"
        values = (*values, *after, before.time, before.id)
    ordered = ", ".join(f"{column} DESC" for column in order)
    return (
        f"SELECT {columns} FROM resay_journal_entries e{where} ORDER BY {ordered} LIMIT ?",  # noqa: S608 - our own names
        (*values, limit),
    )


# Scripts without spaces between words, such as Chinese, Japanese and Thai.
_DENSE = (
    "\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_PIECE = re.compile(rf"[{_DENSE}]+|[^\W{_DENSE}]+")
_DENSE_ONE = re.compile(rf"[{_DENSE}]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_TERM_CHARS = 40
# Far more than answers have; PostgreSQL's limit is a megabyte.
_TERMS_BYTES = 400_000


def entry_terms(row: Row) -> str | None:
    """Return the index terms of an entry's stored text, without duplicates; None for none.

    Args:
        row: The entry, as returned by `row_of`.
    """
    verdict, question = row[_VERDICT:]
    if isinstance(verdict, ContentFree) and question is None:
        return None
    found: set[str] = set()
    for text in _texts(json.loads(verdict), None if question is None else json.loads(question)):
        for piece in _pieces(text):
            found.update(_terms(piece))
    if not found:
        return None
    return " ".join([*names_of(row), *sorted(found)])[:_TERMS_BYTES]


def names_of(row: Row) -> list[str]:
    """Return the index terms for the names that entries are filtered by."""
    return _names(dict(zip(COLUMNS[:_MAIN], row, strict=False)))


def _names(known: Mapping[str, str | None]) -> list[str]:
    return [
        f"~~{column[0]}{hashlib.blake2s(name.encode(), digest_size=6).hexdigest()}"
        for column in ("model", "policy", "decision", "tenant")
        if (name := known[column]) is not None
    ]


def query_terms(words: str) -> list[str]:
    """Return the terms to search for; one that ends in `*` is a prefix."""
    found: list[str] = []
    for word in words.split():
        pieces = list(_pieces(word))
        for i, piece in enumerate(pieces):
            if _DENSE_ONE.match(piece):
                pairs = _terms(piece)[:-1]
                found += pairs or [f"{_term(piece)}*"]
            else:
                begins = word.endswith("*") and i == len(pieces) - 1
                found.append(f"{_term(piece)}{'*' * begins}")
    return list(dict.fromkeys(found))


def _pieces(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return (match[0] for match in _PIECE.finditer(folded))


def _terms(piece: str) -> list[str]:
    if _DENSE_ONE.match(piece):
        return [_term(piece[i : i + 2]) for i in range(len(piece))]
    return [_term(piece)]


def _term(piece: str) -> str:
    # ASCII only, which a database accepts in any encoding.
    return _NOT_ASCII.sub(lambda one: f"~{ord(one[0]):x}~", piece[:_TERM_CHARS])


def _texts(verdict: Mapping[str, Any], question: str | None) -> Iterator[str]:
    if question:
        yield question
    try:
        bare = _without_content(verdict)
    # The verdict of a newer Resay, for example.
    except ConfigurationError:
        return
    yield from content_texts(verdict, bare)


# Fields that hold labels instead of content; in the metadata of documents they may hold anything.
_FOREIGN = "metadata"
_NO_WORDS = frozenset({"by", "band", "kind", "mode", "source", "unit", "via"})


def content_texts(full: object, bare: object, *, foreign: bool = False) -> Iterator[str]:
    """Yield the texts of a verdict that its version without content lacks."""
    if isinstance(full, str):
        if full and full != bare:
            yield full
    elif isinstance(full, Mapping):
        empty: Mapping[str, object] = {}
        known = cast("Mapping[str, object]", bare) if isinstance(bare, Mapping) else empty
        for key, value in cast("Mapping[str, object]", full).items():
            if foreign or key not in _NO_WORDS:
                within = foreign or key == _FOREIGN
                yield from content_texts(value, known.get(key), foreign=within)
    elif isinstance(full, (list, tuple)):
        values = cast("Sequence[object]", full)
        others = cast("Sequence[object]", bare) if isinstance(bare, (list, tuple)) else ()
        for i, value in enumerate(values):
            other = others[i] if i < len(others) else None
            yield from content_texts(value, other, foreign=foreign)


def redacted(row: Row, redact: Callable[[str], str]) -> Row:
    """Return a row with its text passed through a function; without text if that fails."""
    verdict, question = row[_VERDICT:]
    if isinstance(verdict, ContentFree) and question is None:
        return row
    full = json.loads(verdict)
    bare = _without_content(full)
    try:
        clean = _redacted(full, bare, redact)
        # The result may no longer be a valid verdict.
        _without_content(clean)
        asked = None if question is None else json.dumps(one_redacted(json.loads(question), redact))
        return (*row[:_VERDICT], json.dumps(clean, separators=(",", ":")), asked)
    # The user's function may raise anything, with a message that quotes the text.
    except Exception as error:
        _log.warning("`redact` failed with %s; the text is not stored", type(error).__name__)
    return (*row[:_VERDICT], ContentFree(json.dumps(bare, separators=(",", ":"))), None)


def _redacted(full: Any, bare: Any, redact: Callable[[str], str], foreign: bool = False) -> Any:
    if isinstance(full, str):
        return full if not full or full == bare else one_redacted(full, redact)
    if isinstance(full, dict):
        empty = dict[str, Any]()
        known = cast("dict[str, Any]", bare) if isinstance(bare, dict) else empty
        items = cast("dict[str, Any]", full).items()
        if foreign:
            return {one_redacted(k, redact): _redacted(v, None, redact, True) for k, v in items}
        return {
            key: value
            if key in _NO_WORDS
            else _redacted(value, known.get(key), redact, key == _FOREIGN)
            for key, value in items
        }
    if isinstance(full, list):
        values = cast("list[Any]", full)
        others = cast("list[Any]", bare) if isinstance(bare, list) else []
        return [
            _redacted(value, others[i] if i < len(others) else None, redact, foreign)
            for i, value in enumerate(values)
        ]
    return full


def one_redacted(text: str, redact: Callable[[str], str]) -> str:
    """Return a text passed through a function, which may raise anything."""
    changed: Any = redact(text)
    if isinstance(changed, str):
        return changed
    raise TypeError
