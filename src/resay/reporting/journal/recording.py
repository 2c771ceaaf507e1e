"""Report verdicts to the application's functions, the policy's journal and its observers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

from resay._internal.event_loops import in_background, on_exit, wait_for
from resay._internal.notify import anotify, notify
from resay._internal.telemetry import forget_check, request_id
from resay.core.blocked import HallucinationBlocked
from resay.core.query import Query
from resay.core.usage import Usage
from resay.core.verdict import OnVerdict, Verdict
from resay.engine.actions import Action, Answer
from resay.policy import Policy
from resay.policy.journal import JournalConfig
from resay.providers.base import Sources
from resay.reporting.journal.entry import Api, Entry
from resay.reporting.journal.journal import Journal, open_journal
from resay.reporting.observers import Delivery

T = TypeVar("T", Answer, Verdict)
Result = Answer | Verdict | HallucinationBlocked
"""What a call of the guard returns or raises."""

_log = logging.getLogger(__name__)
_UNKNOWN = "unknown"
_lock = threading.Lock()
# Guards with the same settings share a journal, which stays open until the process ends.
_journals: dict[JournalConfig, Journal] = {}


def shared_journal(config: JournalConfig) -> Journal:
    """Return the journal with these settings, shared by all guards of the process."""
    with _lock:
        journal = _journals.get(config)
        if journal is None:
            journal = _journals[config] = open_journal(config)
            on_exit(journal.aclose)
        return journal


class Recorder:
    """Records entries from any thread or event loop without blocking.

    Entries are written on the background event loop, the last ones when the process ends.

    Args:
        policy: The policy, which names a journal.
        name: The policy's name.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        self._policy = policy
        self._name = name
        self.journal = shared_journal(policy.journal or JournalConfig())

    def record(
        self,
        result: Result,
        query: Query | None,
        started: float,
        api: Api,
    ) -> None:
        """Queue an entry. Failures are logged and do not affect the answer.

        Args:
            result: The result of a call of the guard.
            query: The query, if known.
            started: The start of the call, by `time.perf_counter`.
            api: The API that was called.
        """
        try:
            entry = self._entry(result, query, time.perf_counter() - started, api)
            in_background(self._append, entry)
        # The answer exists already. The error may quote it, so only its type is logged.
        except Exception as error:
            _log.error("the journal failed with %s", type(error).__name__)

    async def aflush(self) -> None:
        """Wait until all recorded entries are written.

        Raises:
            JournalError: They cannot be written at the moment. It will be retried.
        """
        await asyncio.wrap_future(in_background(self.journal.flush))

    async def _append(self, entry: Entry) -> None:
        try:
            await self.journal.append(entry)
        except Exception as error:
            _log.error("the journal failed with %s", type(error).__name__)

    def _entry(
        self,
        result: Result,
        query: Query | None,
        elapsed_s: float,
        api: Api,
    ) -> Entry:
        verdict = result if isinstance(result, Verdict) else result.verdict
        return Entry.of(
            verdict,
            model=(query and query.model) or _UNKNOWN,
            policy=self._name,
            action=_action_of(result),
            api=api,
            request_id=request_id.get(),
            tenant=query.tenant if query else None,
            usage=Usage() if isinstance(result, Verdict) else result.usage.since(verdict.usage),
            latency_s=elapsed_s,
            question=query.question if query else None,
        )


def _action_of(result: Result) -> Action:
    if isinstance(result, Answer):
        return result.action
    if isinstance(result, HallucinationBlocked):
        return "block"
    # A mere check leaves the response as it is, and only reports the verdict.
    return "annotate" if result.decision in ("flagged", "inconclusive") else "allow"


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listeners that are notified of verdicts.

    Attributes:
        functions: The application's functions.
        recorder: Records verdicts in the journal; None to record none.
        observers: The deliveries of verdicts to tools.
        policy: The policy's name.
    """

    functions: tuple[OnVerdict, ...] = ()
    recorder: Recorder | None = None
    observers: tuple[Delivery, ...] = ()
    policy: str = ""

    def notify(self, verdict: Verdict, query: Query | None = None) -> None:
        """Report a verdict without a check, such as that on a skipped answer.

        Args:
            verdict: The verdict.
            query: The query, if known.
        """
        forget_check()
        self._record(verdict, query, time.perf_counter(), "chat")
        notify(verdict, self.functions, wait_for)

    async def notify_after(
        self, work: Awaitable[T], query: Query | None = None, sources: Sources | None = None
    ) -> T:
        """Await a guarded call, and report its result.

        Args:
            work: The call, which returns an answer or a verdict.
            query: The query, if known.
            sources: The provider, which may know the model if the query does not.

        Returns:
            The call's result.

        Raises:
            BaseException: Any error of the call.
        """
        started = time.perf_counter()
        if query is not None and query.model is None and sources is not None:
            query = replace(query, model=sources.model)
        try:
            result = await work
        except HallucinationBlocked as error:
            self._record(error, query, started, "chat")
            await anotify(error.verdict, self.functions)
            raise
        answered = isinstance(result, Answer)
        self._record(result, query, started, "chat" if answered else "check")
        verdict = result.verdict if isinstance(result, Answer) else result
        await anotify(verdict, self.functions)
        return result

    def _record(
        self,
        result: Result,
        query: Query | None,
        started: float,
        api: Api,
    ) -> None:
        if self.recorder is not None:
            self.recorder.record(result, query, started, api)
        verdict = result if isinstance(result, Verdict) else result.verdict
        model = query.model if query else None
        for observer in self.observers:
            observer.observe(verdict, _action_of(result), model=model, policy=self.policy)
