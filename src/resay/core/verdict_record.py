"""What is reported about one guarded call, and the sinks that take it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from resay.core.decision import Action
from resay.core.ids import new_id
from resay.core.recorded_evidence import RecordedEvidence
from resay.core.usage import Usage
from resay.core.verdict import Verdict

ApiName = Literal["chat", "completions", "responses", "messages", "check"]
"""The API that was called: that of a chat, of one of the providers' others, or a mere check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """One answer or checked text, with its verdict.

    Attributes:
        verdict: The verdict.
        action: The action that was applied.
        policy: The policy's name.
        model: The model that wrote the checked text; None if unknown.
        api: The API that was called.
        request_id: The application's id of the request, or None.
        tenant: The tenant of the request, or None.
        question: The question; None if unknown.
        usage: The usage of the answer's own calls, without those of the check.
        check_usage: The usage of the check; by default that of the verdict. It is more where the
            verdict represents those on several answers.
        latency_s: Seconds until the user had the answer.
        time: The time in seconds since the epoch (UTC).
        id: A unique key, which sorts by time.
    """

    verdict: Verdict
    action: Action
    policy: str
    model: str | None = None
    api: ApiName = "check"
    request_id: str | None = None
    tenant: str | None = None
    question: str | None = field(default=None, repr=False)
    usage: Usage = field(default_factory=Usage)
    check_usage: Usage | None = None
    latency_s: float = 0.0
    time: float = field(default_factory=time.time)
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        if self.check_usage is None:
            object.__setattr__(self, "check_usage", self.verdict.usage)

    @property
    def evidence(self) -> RecordedEvidence | None:
        """The texts that the answer was checked with; None unless the sink wants them."""
        return self.verdict.evidence

    def without_content(self) -> VerdictRecord:
        """Return the record without any words of the question, the answer or its evidence."""
        return replace(self, verdict=self.verdict.without_content(), question=None)


class Sink(Protocol):
    """Takes the record of each guarded call: a journal, a tracing tool, a queue.

    A sink may also have a method `async def aflush(self) -> None`, which waits until everything
    that it took is where it belongs, and an attribute `wants_evidence`. If that is true, records
    have the samples, references and judges' answers of the check, as `evidence`.
    """

    async def on_verdict(self, record: VerdictRecord) -> None:
        """Take a record.

        A call that has no verdict has no record: one that fails, or a stream that the caller leaves
        before its end.

        It runs on Resay's background event loop, in a copy of the request's context, while the
        answer is on its way: nothing waits for it. It must not block that loop; blocking work
        belongs in a thread (`asyncio.to_thread`). If it raises, the exception's type is logged.
        When the process ends, what is left is taken within ten seconds.

        Args:
            record: The record.
        """
        ...
