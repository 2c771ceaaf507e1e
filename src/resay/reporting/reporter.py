"""Reports each verdict of a guard once: to its sinks, and to the application's functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

import anyio

from resay._internal.event_loops import wait_for
from resay._internal.notify import anotify, notify
from resay._internal.telemetry import forget_check, request_id
from resay.core.blocked import HallucinationBlocked
from resay.core.decision import Action
from resay.core.request import Request
from resay.core.usage import Usage
from resay.core.verdict import OnVerdict, Verdict
from resay.core.verdict_record import ApiName, VerdictRecord
from resay.engine.actions import Answer
from resay.providers.sources import Sources
from resay.reporting.outbox import Outbox

T = TypeVar("T", Answer, Verdict)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports the verdicts of a guard.

    Attributes:
        policy: The policy's name.
        functions: The application's functions, called in the thread or task of the caller.
        outboxes: The outboxes of the sinks, which take records in the background.
    """

    policy: str
    functions: tuple[OnVerdict, ...] = ()
    outboxes: tuple[Outbox, ...] = ()

    def report(self, verdict: Verdict, request: Request | None = None) -> None:
        """Report a verdict without a check, such as that on a skipped answer.

        Args:
            verdict: The verdict.
            request: The request, if known.
        """
        self._record_unchecked(verdict, request)
        notify(verdict, self.functions, wait_for)

    async def areport(self, verdict: Verdict, request: Request | None = None) -> None:
        """Like `report`, for async callers."""
        self._record_unchecked(verdict, request)
        await anotify(verdict, self.functions)

    def _record_unchecked(self, verdict: Verdict, request: Request | None) -> None:
        forget_check()
        self._record(verdict, action=_action_of(verdict), api="chat", request=request)

    async def report_after(
        self,
        work: Awaitable[T],
        request: Request | None,
        sources: Sources | None,
        started: float,
    ) -> T:
        """Await a guarded call, and report its result.

        Args:
            work: The call, which returns an answer or a verdict.
            request: The request, if known.
            sources: The provider, if there is one, which may know the model if the request does
                not.
            started: When the request came, on the event loop's clock.

        Returns:
            The call's result.

        Raises:
            BaseException: Any error of the call.
        """
        if request is not None and request.model is None and sources is not None:
            request = replace(request, model=sources.model)
        try:
            result = await work
        except HallucinationBlocked as error:
            await self._report_result(error, request, started)
            raise
        await self._report_result(result, request, started)
        return result

    async def aflush(self) -> None:
        """Wait until all sinks are done with the records so far.

        Raises:
            Exception: The first error of a sink's `aflush`, once all of them are done.
        """
        flushes = [outbox.aflush() for outbox in self.outboxes]
        for error in await asyncio.gather(*flushes, return_exceptions=True):
            if error is not None:
                raise error

    async def _report_result(
        self,
        result: Answer | Verdict | HallucinationBlocked,
        request: Request | None,
        started: float,
    ) -> None:
        if isinstance(result, Verdict):
            verdict, action, usage = result, _action_of(result), Usage()
        else:
            verdict = result.verdict
            action = result.action if isinstance(result, Answer) else "block"
            usage = result.usage.since(verdict.usage)
        self._record(
            verdict,
            action=action,
            api="check" if isinstance(result, Verdict) else "chat",
            request=request,
            usage=usage,
            latency_s=anyio.current_time() - started,
        )
        await anotify(verdict, self.functions)

    def _record(
        self,
        verdict: Verdict,
        *,
        action: Action,
        api: ApiName,
        request: Request | None,
        usage: Usage | None = None,
        latency_s: float = 0.0,
    ) -> None:
        if not self.outboxes:
            return
        record = VerdictRecord(
            verdict=verdict,
            action=action,
            policy=self.policy,
            model=request.model if request else None,
            api=api,
            request_id=request_id.get(),
            tenant=request.tenant if request else None,
            question=(request.question or None) if request else None,
            usage=usage or Usage(),
            latency_s=latency_s,
        )
        for outbox in self.outboxes:
            outbox.put(record)


def _action_of(verdict: Verdict) -> Action:
    # A mere check leaves the response as it is, and only reports the verdict.
    return "annotate" if verdict.decision in ("flagged", "inconclusive") else "allow"
