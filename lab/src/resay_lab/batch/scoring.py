"""Check a single row, and turn its verdict into columns."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from resay import ClaimVerdict, Guard, SentenceVerdict, Usage, Verdict
from resay.adapters import GuardRuntime, run_sync, sync_version
from resay.adapters.providers import collecting_unusable
from resay.errors import ResayError, without_cause
from resay.plugins import ScorerConfig
from resay_lab.batch.columns import Columns
from resay_lab.batch.json_text import as_json, json_bytes
from resay_lab.batch.rows import Row

UNUSABLE = "ProviderUnusable"
"""The error type of rows for which no model could be asked."""
VERDICT_COLUMNS = ("decision", "score", "reason", "claims", "usage", "error")


class Scored(NamedTuple):
    """One row with its verdict.

    Attributes:
        number: Its position in the input.
        decision: The decision; empty if the check failed.
        calls: Number of requests that the check sent.
        cost_usd: Their cost; NaN if a price is unknown.
        error: The error's type; empty if there was none.
        line: The row with its verdict, as a JSON object.
    """

    number: int
    decision: str
    calls: int
    cost_usd: float
    error: str
    line: bytes


class RowScorer:
    """Check rows. It can be pickled if its guard can.

    Args:
        guard: Checks the responses.
        columns: The names of the rows' columns.
        prefix: The prefix of the verdict's column names.
        params: Provider parameters, such as `api_base`.
    """

    def __init__(
        self,
        guard: Guard,
        columns: Columns = Columns(),  # noqa: B008 - it cannot change
        *,
        prefix: str = "",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self.guard = guard
        self.columns = columns
        self.prefix = prefix
        self._params = dict(params or {})
        self._added = frozenset(prefix + name for name in VERDICT_COLUMNS)

    @property
    def is_neural(self) -> bool:
        """Whether a method of the policy runs a neural model."""
        return any(_is_neural(config) for config in self.guard.policy.chain)

    @property
    def calls_providers(self) -> bool:
        """Whether a check of a row may send requests."""
        return GuardRuntime(self.guard).calls_models

    async def ascore(self, row: Row) -> Scored:
        """Check a row. If that fails, the error becomes part of its result."""
        values, problem = _read(row.raw)
        name = self.columns.id_of(values) or row.id or f"row-{row.number}"
        shown = {self.columns.id or "id": name, **values}
        taken = self._added & values.keys()
        if problem is None and taken:
            problem = (
                f"the input already has a column {min(taken)!r}; set a prefix for the verdict's"
                " columns"
            )
        if problem is not None:
            own = {name: value for name, value in shown.items() if name not in self._added}
            return self._failed(row.number, own, "ConfigurationError", problem)
        try:
            response, given = self.columns.arguments(values)
            with collecting_unusable() as unusable:
                verdict = await self.guard.acheck(response, **given, params=self._params)
        except ResayError as error:
            kind = type(error).__name__
            return self._failed(row.number, shown, kind, without_cause(error))
        # Scorers, splitters and functions of the policy may raise anything; the message may contain
        # words of the response.
        except Exception as error:
            kind = type(error).__name__
            return self._failed(row.number, shown, kind, "the check failed")
        usage = verdict.usage
        if unusable:
            # Not a verdict on the response: no other row would get one either.
            reason = without_cause(unusable[0])
            return self._failed(row.number, shown, UNUSABLE, reason, calls=usage.calls)
        cost = math.nan if usage.cost_usd is None else usage.cost_usd
        line = json_bytes(shown | self._named(columns_of(verdict)))
        return Scored(
            number=row.number,
            decision=verdict.decision,
            calls=usage.calls,
            cost_usd=cost,
            error="",
            line=line,
        )

    async def afill(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows with their verdicts, checked one after the other, for external engines.

        Args:
            rows: The rows, as mappings.
        """
        filled: list[dict[str, Any]] = []
        for number, row in enumerate(rows):
            raw = as_json(row)
            scored = await self.ascore(Row(number, None, raw))
            values = cast("dict[str, Any]", json.loads(scored.line))
            added = {name: values[name] for name in self._added}
            filled.append({**row, **added})
        return filled

    fill = sync_version(afill)

    def score(self, rows: Iterable[Row]) -> list[Scored]:
        """Check rows one after the other, for synchronous callers."""
        return run_sync(self._ascore_all, rows)

    async def _ascore_all(self, rows: Iterable[Row]) -> list[Scored]:
        return [await self.ascore(row) for row in rows]

    def lost_row(self, row: Row, reason: str) -> Scored:
        """Return the result of a row whose process died during the check."""
        values, _ = _read(row.raw)
        name = self.columns.id_of(values) or row.id or f"row-{row.number}"
        shown = {self.columns.id or "id": name, **values}
        return self._failed(row.number, shown, "ScorerError", reason)

    def _named(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return {self.prefix + name: value for name, value in columns.items()}

    def _failed(
        self, number: int, shown: Mapping[str, Any], kind: str, reason: str, *, calls: int = 0
    ) -> Scored:
        columns: dict[str, Any] = dict.fromkeys(VERDICT_COLUMNS)
        columns |= {"claims": [], "error": f"{kind}: {reason}"}
        return Scored(
            number=number,
            decision="",
            calls=calls,
            cost_usd=0.0,
            error=kind,
            line=json_bytes({**shown, **self._named(columns)}),
        )


def columns_of(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of a verdict, JSON-ready.

    They contain no times, so that the same response gives the same columns.
    """
    parts = verdict.claims or verdict.sentences
    return {
        "decision": verdict.decision,
        "score": verdict.score,
        "reason": verdict.reason,
        "claims": [_claim(part) for part in parts],
        "usage": _usage(verdict.usage),
        "error": None,
    }


def _claim(part: ClaimVerdict | SentenceVerdict) -> dict[str, Any]:
    return {
        "text": part.text,
        "start": part.start,
        "end": part.end,
        "score": part.score,
        "flagged": part.flagged,
        "by": part.by,
        "reason": part.reason,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "cancelled": usage.cancelled,
    }


def _read(raw: bytes) -> tuple[dict[str, Any], str | None]:
    """Parse a row; return its values, and the problem if it is invalid."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}, "the row is not valid JSON"
    if not isinstance(value, dict):
        return {}, f"the row must be an object, not {type(value).__name__}"
    return cast("dict[str, Any]", value), None


def _is_neural(config: ScorerConfig) -> bool:
    # Recognized by type, because names vary: `model`, or each of `mqag`'s model fields.
    declared = type(config).model_fields.values()
    if any("ModelConfig" in str(field.annotation) for field in declared):
        return True
    parts = cast("Iterable[Any]", getattr(config, "parts", ()))
    return any(_is_neural(part.scorer) for part in parts)
