"""One line of the journal, and the figures of many."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal
from uuid import UUID

from resay.core.usage import Usage
from resay.core.verdict import Decision, Verdict
from resay.policy.reporting import SQLITE, Content, JournalConfig

__all__ = [
    "SQLITE",
    "Action",
    "Api",
    "By",
    "Content",
    "Entry",
    "JournalConfig",
    "Place",
    "Slice",
    "new_id",
]

Action = Literal["allow", "annotate", "block", "regenerate"]
Api = Literal["chat", "completions", "responses", "messages", "check"]
By = Literal["model", "policy", "tenant", "api"]
_ID = re.compile(r"[!-~]{1,100}")
# What a column of the databases holds.
_LARGEST = 2**63 - 1


def new_id() -> str:
    """Return an id that nobody else has and that sorts by when it was made (RFC 9562, UUIDv7)."""
    millis = time.time_ns() // 1_000_000
    number = (millis << 80 | int.from_bytes(os.urandom(10), "big")) & ~(0xF << 76) & ~(0x3 << 62)
    return str(UUID(int=number | 0x7 << 76 | 0x2 << 62))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One answer, or one text that was checked, and what was found.

    A journal cuts names to 256 characters, and writes U+FFFD for characters that databases refuse.

    Attributes:
        model: The model that wrote what was checked.
        policy: What the policy is called.
        action: What was done.
        decision: What the check found.
        id: The key; an entry whose id exists already is not written again.
        time: When, in seconds since the epoch (UTC).
        request_id: What the application calls the request, or None.
        tenant: For whom, or None.
        api: Which API it was asked through.
        score: The passage score in [0, 1], or None.
        reason: The verdict's reason: one line without content.
        flagged: How many sentences were flagged.
        sentences: How many sentences were scored.
        usage: What the main call cost.
        check_usage: What the check cost.
        latency_s: Seconds until the user had the answer.
        check_s: Seconds the check took.
        verdict: `Verdict.to_dict()`; the journal drops the words its settings do not allow.
        question: What was asked, or None; the journal drops it where its settings say so.
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
        """Make the entry of a verdict that was just given.

        Args:
            verdict: What the check found.
            model: The model that wrote what was checked.
            policy: What the policy is called.
            action: What was done.
            api: Which API it was asked through.
            request_id: What the application calls the request.
            tenant: For whom.
            usage: What the main call cost; nothing by default.
            latency_s: Seconds until the user had the answer; by default those of the check.
            question: What was asked.

        Returns:
            The entry, with a new id and the time of now.
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
class Place:
    """Where an entry is in each order; it stays there when the entry is deleted."""

    id: str
    time: float
    score: float
    cost: float
    latency: float

    @classmethod
    def of(cls, entry: Entry) -> Place:
        """Return that of an entry."""
        costs = entry.usage.cost_usd, entry.check_usage.cost_usd
        cost = -1.0 if costs[0] is None or costs[1] is None else costs[0] + costs[1]
        score = -1.0 if entry.score is None else entry.score
        return cls(entry.id, entry.time, score, cost, entry.latency_s)


@dataclass(frozen=True, slots=True)
class Slice:
    """The entries of one stretch of time, of one model, policy, tenant or API where that was asked.

    A percentile is the least value that so many of the entries do not exceed (nearest rank), so it
    is one that was measured.

    Attributes:
        start: Where the stretch begins, in seconds since the epoch; it has the length of a step.
        name: The model, policy, tenant or API; None where all are together, or there is no tenant.
        entries: How many entries there are, at least 1.
        decisions: How many of them came to each decision.
        blocked: How many answers were withheld.
        regenerated: How many were given as they were written again.
        latency_p50_s: Half of the users waited no longer.
        latency_p95_s: 95 of 100 users waited no longer.
        check_p50_s: Half of the checks took no longer.
        check_p95_s: 95 of 100 checks took no longer.
        cost_usd: Dollars for all calls whose price is known, main calls and checks.
        check_cost_usd: Those for the checks.
        unpriced: Of how many entries the price is not known, or not all of it.
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
