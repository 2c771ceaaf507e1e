"""Journal entries, and statistics of many of them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from resay import Usage
from resay.adapters import Action, Decision
from resay.plugins import ApiName, RecordedEvidence, VerdictRecord, new_id

By = Literal["model", "policy", "tenant", "api"]
_UNKNOWN = "unknown"
_ID = re.compile(r"[!-~]{1,100}")
# The largest integer that the databases' columns can hold.
_LARGEST = 2**63 - 1


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
        evidence: The texts that the answer was checked with, or None; the journal drops them if its
            settings do not allow them. Entries that it returns have none: see `Journal.evidence`.
    """

    model: str
    policy: str
    action: Action
    decision: Decision
    id: str = field(default_factory=new_id)
    time: float = field(default_factory=time.time)
    request_id: str | None = None
    tenant: str | None = None
    api: ApiName = "check"
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
    evidence: RecordedEvidence | None = field(default=None, repr=False)

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
    def of(cls, record: VerdictRecord) -> Entry:
        """Create the entry for the record of a verdict.

        Args:
            record: The record, whose id and time the entry keeps.
        """
        verdict = record.verdict
        return cls(
            model=record.model or _UNKNOWN,
            policy=record.policy,
            action=record.action,
            decision=verdict.decision,
            id=record.id,
            time=record.time,
            request_id=record.request_id,
            tenant=record.tenant,
            api=record.api,
            score=verdict.score,
            reason=verdict.reason,
            flagged=len(verdict.flagged_sentences),
            sentences=len(verdict.sentences),
            usage=record.usage,
            check_usage=record.check_usage or verdict.usage,
            latency_s=record.latency_s,
            check_s=verdict.elapsed_s,
            verdict=verdict.to_dict(),
            question=record.question,
            evidence=record.evidence,
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
