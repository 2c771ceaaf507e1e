"""Journal entries, and statistics of many of them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal
from uuid import UUID

from resay.core.decision import Decision
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.policy.journal import SQLITE, Content, JournalConfig

__all__ = [
    "SQLITE",
    "Action",
    "Api",
    "By",
    "Content",
    "Entry",
    "JournalConfig",
    "Slice",
    "SortKey",
    "new_id",
]

Action = Literal["allow", "annotate", "block", "regenerate"]
Api = Literal["chat", "completions", "responses", "messages", "check"]
By = Literal["model", "policy", "tenant", "api"]
_ID = re.compile(r"[!-~]{1,100}")
# The largest integer that the databases' columns can hold.
_LARGEST = 2**63 - 1


def new_id() -> str:
    """Return a unique id that sorts by its creation time (RFC 9562, UUIDv7)."""
    millis = time.time_ns() // 1_000_000
    number = (millis << 80 | int.from_bytes(os.urandom(10), "big")) & ~(0xF << 76) & ~(0x3 << 62)
    return str(UUID(int=number | 0x7 << 76 | 0x2 << 62))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The record of one answer or checked text, with its verdict.

    A journal truncates names to 256 characters, and replaces what databases reject by U+FFFD.

    Attributes:
        model: The model that wrote the checked text.
        policy: The policy's name.
        action: The action that was applied.
        decision: The verdict's decision.
        id: The unique key; an entry whose id exists already is not written again.
        time: The time in seconds since the epoch (UTC).
        request_id: The application's id of the request, or None.
        tenant: The tenant of the request, or None.
        api: The API that was called.
        score: The passage score in [0, 1], or None.
        reason: The verdict's reason: one line without content.
        flagged: The number of flagged sentences.
        sentences: The number of scored sentences.
        usage: The usage of the main call.
        check_usage: The usage of the check.
        latency_s: Seconds until the user had the answer.
        check_s: Seconds the check took.
        verdict: `Verdict.to_dict()`; the journal drops text that its settings do not allow.
        question: The question, or None; the journal drops it if its settings do not allow it.
    """

    model: str
    policy: str
    action: Action
    decision: Decision
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)
    request_id: str | None = None
    tenant: str | None = None
    api: Api = "check"
    score: float | None = None
    reason: str = ""
    flagged: int = 0
    sentences: int = 0
    usage: Usage = field(default_factory=Usage)
    check_usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0
    check_s: float = 0.0
    verdict: Mapping[str, Any] = field(repr=False)
    question: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(
                f"an id must have 1 to 100 ASCII characters and no spaces, not {self.id!r}"
            )
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score must lie in [0, 1] or be None, not {self.score!r}")
        for seconds in (self.time, self.latency_s, self.check_s):
            if not (isfinite(seconds) and seconds >= 0):
                raise ValueError(f"seconds must be finite and not negative, not {seconds!r}")
        for count in (self.flagged, self.sentences, *_counts(self.usage + self.check_usage)):
            if not 0 <= count <= _LARGEST:
                raise ValueError(f"a count must lie in [0, 2^63), not {count!r}")

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        *,
        model: str,
        policy: str,
        action: Action,
        api: Api = "check",
        request_id: str | None = None,
        tenant: str | None = None,
        usage: Usage | None = None,
        latency_s: float | None = None,
        question: str | None = None,
    ) -> Entry:
        """Create the entry for a new verdict.

        Args:
            verdict: The verdict.
            model: The model that wrote the checked text.
            policy: The policy's name.
            action: The action that was applied.
            api: The API that was called.
            request_id: The application's id of the request.
            tenant: The tenant of the request.
            usage: The usage of the main call; none by default.
            latency_s: Seconds until the user had the answer; by default those of the check.
            question: The question.

        Returns:
            The entry, with a new id and the current time.
        """
        return cls(
            model=model,
            policy=policy,
            action=action,
            decision=verdict.decision,
            request_id=request_id,
            tenant=tenant,
            api=api,
            score=verdict.score,
            reason=verdict.reason,
            flagged=len(verdict.flagged_sentences),
            sentences=len(verdict.sentences),
            usage=usage or Usage(),
            check_usage=verdict.usage,
            latency_s=verdict.elapsed_s if latency_s is None else latency_s,
            check_s=verdict.elapsed_s,
            verdict=verdict.to_dict(),
            question=question,
        )


def _counts(usage: Usage) -> tuple[int, ...]:
    return usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cancelled


@dataclass(frozen=True, slots=True)
class SortKey:
    """An entry's position in each sort order, which remains valid if the entry is deleted."""

    id: str
    time: float
    score: float
    cost: float
    latency: float

    @classmethod
    def of(cls, entry: Entry) -> SortKey:
        """Return the place of an entry."""
        costs = entry.usage.cost_usd, entry.check_usage.cost_usd
        cost = -1.0 if costs[0] is None or costs[1] is None else costs[0] + costs[1]
        score = -1.0 if entry.score is None else entry.score
        return cls(entry.id, entry.time, score, cost, entry.latency_s)


@dataclass(frozen=True, slots=True)
class Slice:
    """Statistics of the entries in one step of time, in total or of one model, policy, and so on.

    A percentile is the least value that the given share of the entries does not exceed (nearest
    rank), so it is always a measured value.

    Attributes:
        start: The start of the step, in seconds since the epoch.
        name: The model, policy, tenant or API; None if not grouped, or for no tenant.
        entries: The number of entries, at least 1.
        decisions: The number of entries with each decision.
        blocked: The number of blocked answers.
        regenerated: The number of answers that were given in a regenerated version.
        latency_p50_s: The median of the latency, in seconds.
        latency_p95_s: The 95th percentile of the latency, in seconds.
        check_p50_s: The median duration of the checks, in seconds.
        check_p95_s: The 95th percentile of the checks' duration, in seconds.
        cost_usd: The cost in dollars of all priced calls, main calls and checks.
        check_cost_usd: The part of that for checks.
        unpriced: The number of entries whose price is wholly or partly unknown.
    """

    start: float
    name: str | None
    entries: int
    decisions: Mapping[Decision, int]
    blocked: int
    regenerated: int
    latency_p50_s: float
    latency_p95_s: float
    check_p50_s: float
    check_p95_s: float
    cost_usd: float
    check_cost_usd: float
    unpriced: int
