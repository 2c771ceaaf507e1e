"""What an answer that may have been repaired took, and what many of them took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from performance.latency import percentile
from resay import Answer, Usage
from resay_lab.benchmarks.table import Column, Row

__all__ = ["COLUMNS", "Taken", "row_of"]

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
class Taken:
    """What one request took, and what came of it.

    Attributes:
        seconds: From asking to the whole answer.
        usage: What everything cost.
        first_s: For a stream, from asking to the first sentence released.
        decision: What was found of the answer in the end; None where nothing was checked.
        flagged: Whether the draft was flagged.
        repaired: Whether another answer was given in its place.
        replaced: How many sentences of the draft got another one in their place.
        removed: How many were left out.
        repair_s: How long the attempts to repair it took: searching, writing and checking.
        repair: What they cost.
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
    def by(cls, answer: Answer, seconds: float, first_s: float | None = None) -> Taken:
        """Read off an answer what came of it.

        Args:
            answer: The answer.
            seconds: How long it took.
            first_s: How long its first sentence took, where it was streamed.
        """
        verdict, regeneration = answer.verdict, answer.verdict.regeneration
        edits = regeneration.edits if regeneration else ()
        attempts = regeneration.attempts if regeneration else ()
        return cls(
            seconds,
            answer.usage,
            first_s,
            verdict.decision,
            # Only what is flagged is tried to be repaired.
            flagged=verdict.flagged or regeneration is not None,
            repaired=answer.regenerated,
            replaced=sum(1 for edit in edits if edit.after),
            removed=sum(1 for edit in edits if not edit.after),
            repair_s=sum(attempt.elapsed_s for attempt in attempts),
            repair=sum((attempt.usage for attempt in attempts), Usage()),
        )


def row_of(name: str, taken: Sequence[Taken], guarded: Sequence[Taken] | None) -> Row:
    """Return the row of a way.

    Args:
        name: The way.
        taken: What its requests took, at least one.
        guarded: What those of the way took that does the same and repairs nothing; None for none.
    """
    return {"way": name, **_times(taken, guarded), **_costs(taken), **_found(taken)}


def _times(taken: Sequence[Taken], guarded: Sequence[Taken] | None) -> Row:
    seconds = [one.seconds for one in taken]
    first = [one.first_s for one in taken if one.first_s is not None]
    repair = [one.repair_s for one in taken if one.repair_s]
    ratios: dict[float, float | None] = {0.5: None, 0.95: None}
    if guarded:
        beside = [one.seconds for one in guarded]
        ratios = {p: percentile(seconds, p) / percentile(beside, p) for p in ratios}
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


def _costs(taken: Sequence[Taken]) -> Row:
    usages = [one.usage for one in taken]
    total = sum(usages, Usage())
    repair = sum((one.repair for one in taken), Usage())
    cost = total.cost_usd
    return {
        "calls": total.calls / len(taken),
        "cancelled": total.cancelled / len(taken),
        "prompt_tokens": total.prompt_tokens / len(taken),
        "completion_tokens": total.completion_tokens / len(taken),
        "usd_per_1000": None if cost is None else 1000 * cost / len(taken),
        "repair_calls": repair.calls / len(taken),
        "repair_prompt_tokens": repair.prompt_tokens / len(taken),
        "repair_completion_tokens": repair.completion_tokens / len(taken),
    }


def _found(taken: Sequence[Taken]) -> Row:
    decisions = Counter(one.decision for one in taken if one.decision)
    replaced, removed = sum(one.replaced for one in taken), sum(one.removed for one in taken)
    checked = any(one.decision for one in taken)
    return {
        "requests": len(taken),
        "flagged": _percent(one.flagged for one in taken) if checked else None,
        "repaired": _percent(one.repaired for one in taken) if checked else None,
        "consistent": _percent(one.decision == "consistent" for one in taken) if checked else None,
        "decisions": dict(decisions),
        "replaced_sentences": replaced,
        "removed_sentences": removed,
        "removed": 100 * removed / (replaced + removed) if replaced + removed else None,
    }


def _percent(which: Iterable[bool]) -> float:
    return 100 * fmean(which)


def _ms(seconds: Sequence[float], share: float) -> float | None:
    return round(1000 * percentile(seconds, share), 1) if seconds else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
