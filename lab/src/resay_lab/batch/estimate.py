"""Estimate the cost of a run, from a few of its rows and without a single call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Any

from resay import Guard, Request, Usage
from resay.adapters import GuardRuntime, run_sync
from resay.adapters.providers import BATCH_SHARE, BatchCallsConfig, Prices
from resay.errors import ConfigurationError, ResayError
from resay.plugins import Completion, Completions
from resay_lab.batch.columns import Columns
from resay_lab.batch.filters import Where
from resay_lab.batch.inputs import mapping_of, open_rows
from resay_lab.batch.rows import numbered

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
        ConfigurationError: The input cannot be read, or has no such rows or columns.
    """
    rows = open_rows(source)
    row_filter = Where.of(where, source, rows)
    selected = numbered(rows, columns, row_filter)
    chosen = [mapping_of(row.raw) or {} for row in islice(selected, sample)]
    selected.close()
    if not chosen:
        raise ConfigurationError("no matching rows")
    count = rows.count() if row_filter is None else None
    if limit is not None:
        count = limit if count is None else min(limit, count)
        chosen = chosen[:limit]
    calls: list[float] = []
    costs: list[float] = []
    failures: list[list[str]] = []
    share = BATCH_SHARE if isinstance(guard.policy.calls, BatchCallsConfig) else 1.0
    for judge_answer in ("Yes", "No"):
        usages, errors = run_sync(_usages_of, guard, columns, chosen, judge_answer)
        failures.append(errors)
        calls.append(fmean([usage.calls for usage in usages] or [0.0]))
        priced = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
        if len(priced) == len(usages):
            costs.append(share * fmean(priced or [0.0]))
    return Estimate(
        sampled=len(chosen),
        failed=(len(failures[0]), failures[0][0] if failures[0] else None),
        rows=count,
        calls=(min(calls), max(calls)),
        cost_usd=(min(costs), max(costs)) if len(costs) == 2 else None,
    )


async def _usages_of(
    guard: Guard, columns: Columns, rows: Sequence[dict[str, Any]], judge_answer: str
) -> tuple[list[Usage], list[str]]:
    """Check rows; return the usage of each, and the errors of those that cannot be checked."""
    runtime = GuardRuntime(guard)
    provider = _TrialProvider(judge_answer, guard.policy.prices, runtime.model)
    trial = runtime.with_provider(provider)
    usages: list[Usage] = []
    failures: list[str] = []
    for row in rows:
        try:
            response, given = columns.arguments(row)
            provider.begin(response, given["question"])
            verdict = await trial.acheck(response, **given)
        except ResayError as error:  # noqa: PERF203 - a row that fails is one of many
            failures.append(str(error))
        else:
            usages.append(verdict.usage)
    return usages, failures


class _TrialProvider:
    """Answers at once: a sample is as long as the response, and a judge says one word."""

    def __init__(self, judge_answer: str, prices: Prices, model: str | None) -> None:
        self._judge_answer = judge_answer
        self._prices = prices
        self._model = model
        self._response = ""
        self._messages: tuple[Any, ...] = ()

    def begin(self, response: str, question: Any) -> None:
        self._response = response
        self._messages = Request.of(question).messages if question else ()

    async def takes_n(self, request: Request) -> bool:
        del request
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        del n
        sampled = request.messages == self._messages
        # Identical samples would end a check early.
        text = f"{self._response} {request.index}" if sampled else self._judge_answer
        prompt_chars = sum(len(str(message.get("content"))) for message in request.messages)
        usage = Usage(
            calls=1,
            prompt_tokens=_tokens(prompt_chars),
            completion_tokens=_tokens(len(text)),
            cost_usd=None,
        )
        model = request.model or self._model or ""
        # Price lists omit the provider's name if a model has only one provider.
        names = (model, model.partition("/")[2])
        costs = (self._prices.cost_usd(name, usage) for name in names if name)
        cost = next((cost for cost in costs if cost is not None), None)
        return Completions((Completion(text, "stop"),), replace(usage, cost_usd=cost))


def _tokens(chars: int) -> int:
    return max(1, chars // _CHARS_A_TOKEN)
