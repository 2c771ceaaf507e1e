"""The cost of answers that may have been repaired, and the rows that sum it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from performance.latency import percentile
from resay import Answer, Usage
from resay_lab.benchmarks.table import Column, Row

__all__ = ["COLUMNS", "RequestCost", "row_of"]

COLUMNS = (
    Column("way", "way"),
    Column("p50_ms", "p50 ms", 0),
    Column("ratio_p50", "/ guarded", 2),
    Column("p95_ms", "p95 ms", 0),
    Column("ratio_p95", "/ guarded", 2),
    Column("first_p50_ms", "first p50", 0),
    Column("first_p95_ms", "first p95", 0),
    Column("repair_p50_ms", "repair", 0),
    Column("calls", "calls", 2),
    Column("prompt_tokens", "tokens read", 0),
    Column("completion_tokens", "written", 0),
    Column("usd_per_1000", "$ per 1000", 2),
    Column("flagged", "flagged %", 1),
    Column("repaired", "repaired %", 1),
    Column("consistent", "consistent %", 1),
    Column("removed", "removed %", 1),
)
"""What readers see of a row."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """The cost and the outcome of one request.

    Attributes:
        seconds: The time to the whole answer, in seconds.
        usage: The calls, tokens and dollars of everything.
        first_s: For a stream, the time to the first released sentence, in seconds.
        decision: The decision on the final answer; None where nothing was checked.
        flagged: Whether the draft was flagged.
        repaired: Whether another answer took the place of the draft.
        replaced: How many sentences of the draft were replaced.
        removed: How many sentences of the draft were removed.
        repair_s: The time of the attempts to repair it (searching, writing, checking), in seconds.
        repair: The calls, tokens and dollars of those attempts.
    """

    seconds: float
    usage: Usage
    first_s: float | None = None
    decision: str | None = None
    flagged: bool = False
    repaired: bool = False
    replaced: int = 0
    removed: int = 0
    repair_s: float = 0.0
    repair: Usage = field(default_factory=Usage)

    @classmethod
    def by(cls, answer: Answer, seconds: float, first_s: float | None = None) -> RequestCost:
        """Return the cost of an answer.

        Args:
            answer: The answer.
            seconds: The time to the whole answer, in seconds.
            first_s: The time to its first sentence, in seconds, where it was streamed.
        """
        verdict, regeneration = answer.verdict, answer.verdict.regeneration
        edits = regeneration.edits if regeneration else ()
        attempts = regeneration.attempts if regeneration else ()
        return cls(
            seconds,
            answer.usage,
            first_s,
            verdict.decision,
            # Only flagged drafts are repaired.
            flagged=verdict.flagged or regeneration is not None,
            repaired=answer.regenerated,
            replaced=sum(1 for edit in edits if edit.after),
            removed=sum(1 for edit in edits if not edit.after),
            repair_s=sum(attempt.elapsed_s for attempt in attempts),
            repair=sum((attempt.usage for attempt in attempts), Usage()),
        )


def row_of(
    name: str, requests: Sequence[RequestCost], guarded: Sequence[RequestCost] | None
) -> Row:
    """Return the row of a way.

    Args:
        name: The name of the way.
        requests: The costs of its requests, at least one.
        guarded: The costs of the way that does the same and repairs nothing; None for none.
    """
    return {"way": name, **_times(requests, guarded), **_costs(requests), **_outcomes(requests)}


def _times(requests: Sequence[RequestCost], guarded: Sequence[RequestCost] | None) -> Row:
    seconds = [request.seconds for request in requests]
    first = [request.first_s for request in requests if request.first_s is not None]
    repair = [request.repair_s for request in requests if request.repair_s]
    ratios: dict[float, float | None] = {0.5: None, 0.95: None}
    if guarded:
        guarded_seconds = [request.seconds for request in guarded]
        ratios = {p: percentile(seconds, p) / percentile(guarded_seconds, p) for p in ratios}
    return {
        "p50_ms": _ms(seconds, 0.5),
        "p95_ms": _ms(seconds, 0.95),
        "ratio_p50": _rounded(ratios[0.5], 3),
        "ratio_p95": _rounded(ratios[0.95], 3),
        "first_p50_ms": _ms(first, 0.5),
        "first_p95_ms": _ms(first, 0.95),
        "repair_p50_ms": _ms(repair, 0.5),
        "repair_p95_ms": _ms(repair, 0.95),
    }


def _costs(requests: Sequence[RequestCost]) -> Row:
    count = len(requests)
    total = sum((request.usage for request in requests), Usage())
    repair = sum((request.repair for request in requests), Usage())
    cost = total.cost_usd
    return {
        "calls": total.calls / count,
        "cancelled": total.cancelled / count,
        "prompt_tokens": total.prompt_tokens / count,
        "completion_tokens": total.completion_tokens / count,
        "usd_per_1000": None if cost is None else 1000 * cost / count,
        "repair_calls": repair.calls / count,
        "repair_prompt_tokens": repair.prompt_tokens / count,
        "repair_completion_tokens": repair.completion_tokens / count,
    }


def _outcomes(requests: Sequence[RequestCost]) -> Row:
    decisions = Counter(request.decision for request in requests if request.decision)
    replaced = sum(request.replaced for request in requests)
    removed = sum(request.removed for request in requests)
    flagged, repaired, consistent = None, None, None
    if decisions:
        flagged = 100 * fmean(request.flagged for request in requests)
        repaired = 100 * fmean(request.repaired for request in requests)
        consistent = 100 * decisions["consistent"] / len(requests)
    return {
        "requests": len(requests),
        "flagged": flagged,
        "repaired": repaired,
        "consistent": consistent,
        "decisions": dict(decisions),
        "replaced_sentences": replaced,
        "removed_sentences": removed,
        "removed": 100 * removed / (replaced + removed) if replaced + removed else None,
    }


def _ms(seconds: Sequence[float], share: float) -> float | None:
    return round(1000 * percentile(seconds, share), 1) if seconds else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
