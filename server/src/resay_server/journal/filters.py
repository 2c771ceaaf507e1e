"""The filters of a list or a summary, and their SQL."""

from __future__ import annotations

from dataclasses import dataclass

from resay.adapters import Decision
from resay_server.journal.database import Database, TextSearch
from resay_server.journal.rows import Row, stored_name
from resay_server.journal.search_terms import name_terms, query_terms


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFilters:
    """Filters as SQL conditions on entries named `e`.

    Attributes:
        conditions: The conditions, all of which must hold.
        parameters: Their parameters.
        search: The full-text search, if there is one.
        covered_by_search: Whether the search covers all the filters.
        name_count: The number of leading conditions that compare names.
    """

    conditions: tuple[str, ...]
    parameters: Row
    search: TextSearch | None = None
    covered_by_search: bool = False
    name_count: int = 0

    @property
    def where(self) -> str:
        """The WHERE clause; the search's parameters come last."""
        conditions = list(self.conditions)
        if self.search is not None:
            search = self.search
            matches = " AND ".join((search.condition, *search.time_conditions))
            conditions.append(f"e.id IN (SELECT w.entry_id FROM {search.tables} WHERE {matches})")  # noqa: S608 - our own names
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    @property
    def where_parameters(self) -> Row:
        """The parameters of the WHERE clause."""
        return self.parameters + (self.search.parameters if self.search else ())


def sql_filters(filters: Filters, database: Database) -> SqlFilters:
    """Return filters as SQL."""
    conditions: list[str] = []
    parameters: list[object] = []
    names: dict[str, str | None] = {}
    for column in ("model", "policy", "decision", "tenant", "request_id"):
        names[column] = stored_name(getattr(filters, column))
        if names[column] is not None:
            conditions.append(f"e.{column} = ?")
            parameters.append(names[column])
    name_count = len(parameters)
    for operator, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            conditions.append(f"e.time {operator} ?")
            parameters.append(float(moment))
    search = None
    if filters.words and filters.words.strip():
        terms = query_terms(filters.words)
        if terms:
            # With names as terms, the index finds a rare tenant's entries with a frequent word
            # fast.
            terms += name_terms(names)
            search = database.text_search(terms, filters.since, filters.until)
        else:
            # Punctuation alone gives no terms, and matches nothing.
            conditions.append("1 = 0")
    return SqlFilters(
        conditions=tuple(conditions),
        parameters=tuple(parameters),
        search=search,
        covered_by_search=filters.request_id is None,
        name_count=name_count,
    )
