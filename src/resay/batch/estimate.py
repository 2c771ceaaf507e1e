"""Estimate the cost of a run, from a few of its rows and without a single call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Any

from resay._internal.event_loops import run_sync
from resay.batch.columns import Columns
from resay.batch.filters import Where
from resay.batch.inputs import open_rows
from resay.batch.rows import mapping_of, numbered
from resay.core.query import Query
from resay.core.usage import Usage
from resay.errors import ConfigurationError, ResayError
from resay.guard import Guard
from resay.providers.base import Completion, Completions
from resay.providers.batching import BATCH_SHARE, BatchCallsConfig
from resay.providers.prices import Prices

_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated calls and cost of a run.

    Each figure is given twice: if every answer of a judge supports the response, and if none does.
    A check's requests depend on earlier answers, so the truth mostly lies in between.

    Attributes:
        sampled: Number of rows it is based on.
        failed: How many of these could not be checked, and the first one's error.
        rows: Total number of rows; None if unknown.
        calls: Requests per row.
        cost_usd: Dollars per row; None if a price is unknown.
    """

    sampled: int
    failed: tuple[int, str | None]
    rows: int | None
    calls: tuple[float, float]
    cost_usd: tuple[float, float] | None


def estimate(
    guard: Guard,
    source: object,
    *,
    columns: Columns = Columns(),  # noqa: B008 - it cannot change
    limit: int | None = None,
    where: str | None = None,
    sample: int = 50,
) -> Estimate:
    """Check the first rows with a local provider that answers at once and sends no requests.

    Args:
        guard: The guard of the run.
        source: The rows, as for `run_batch`.
        columns: The names of the columns.
        limit: Maximum number of rows in the run.
        where: The filter of the run.
        sample: Number of rows to sample.

    Raises:
        ConfigurationError: The input cannot be read, or has no such rows.
    """
    rows = open_rows(source)
    wanted = Where(where) if where else None
    taken = numbered(rows, columns, wanted)
    chosen = [mapping_of(row.raw) or {} for row in islice(taken, sample)]
    taken.close()
    if not chosen:
        raise ConfigurationError("no matching rows")
    count = rows.count() if wanted is None else None
    if limit is not None:
        count = limit if count is None else min(limit, count)
        chosen = chosen[:limit]
    found = [run_sync(_tried, guard, columns, chosen, said) for said in ("Yes", "No")]
    means: list[tuple[float, float | None]] = []
    for usages, _ in found:
        known = [usage.cost_usd for usage in usages]
        priced = [cost for cost in known if cost is not None]
        cost = fmean(priced or [0.0]) if len(priced) == len(known) else None
        means.append((fmean([usage.calls for usage in usages] or [0.0]), cost))
    calls = sorted(mean for mean, _ in means)
    share = BATCH_SHARE if isinstance(guard.policy.calls, BatchCallsConfig) else 1.0
    costs = sorted(share * cost for _, cost in means if cost is not None)
    failures = found[0][1]
    return Estimate(
        len(chosen),
        (len(failures), failures[0] if failures else None),
        count,
        (calls[0], calls[1]),
        (costs[0], costs[1]) if len(costs) == 2 else None,
    )


async def _tried(
    guard: Guard, columns: Columns, rows: Sequence[dict[str, Any]], said: str
) -> tuple[list[Usage], list[str]]:
    provider = _Answering(said, guard.policy.prices, guard.model)
    trial = guard.with_provider(provider)
    usages: list[Usage] = []
    failures: list[str] = []
    for row in rows:
        try:
            usages.append(await _one(trial, provider, columns, row))
        except ResayError as error:  # noqa: PERF203 - a row that fails is one of many
            failures.append(str(error))
    return usages, failures


async def _one(trial: Guard, provider: _Answering, columns: Columns, row: dict[str, Any]) -> Usage:
    response, given = columns.arguments(row)
    provider.begin(response, given["question"])
    return (await trial.acheck(response, **given)).usage


class _Answering:
    """Answers at once: a sample is as long as the response, and a judge says one word."""

    def __init__(self, said: str, prices: Prices, model: str | None) -> None:
        self._said = said
        self._prices = prices
        self._model = model
        self._response = ""
        self._asked: tuple[Any, ...] = ()

    def begin(self, response: str, question: Any) -> None:
        self._response = response
        self._asked = Query.of(question).messages if question else ()

    async def takes_n(self, query: Query) -> bool:
        del query
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        del n
        sampled = query.messages == self._asked
        # Identical samples would end a check early.
        text = f"{self._response} {query.index}" if sampled else self._said
        read = sum(len(str(message.get("content"))) for message in query.messages)
        usage = Usage(1, _tokens(read), _tokens(len(text)), None)
        model = query.model or self._model or ""
        # Price lists omit the provider's name if a model has only one provider.
        names = (model, model.partition("/")[2])
        costs = (self._prices.cost_usd(name, usage) for name in names if name)
        cost = next((cost for cost in costs if cost is not None), None)
        return Completions((Completion(text, "stop"),), replace(usage, cost_usd=cost))


def _tokens(chars: int) -> int:
    return max(1, chars // _CHARS_A_TOKEN)
