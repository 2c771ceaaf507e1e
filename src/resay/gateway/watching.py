"""Telling of every request: whoever watches, the journal, the metrics and the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from resay.gateway.calls import PREFIX, Call
from resay.gateway.logs import log_passed
from resay.gateway.metrics import Metrics
from resay.gateway.observing import Observation, Observer, notify
from resay.gateway.outgoing import Outgoing
from resay.reporting.journal import Entry, Journal
from resay.reporting.journal.entry import Api

__all__ = ["Watch", "entry_of"]

logger = logging.getLogger("resay.gateway")

_UNNAMED = "unknown"


class Watch:
    """Tells of every request once, when it is over.

    Args:
        observers: Who is told of those that were guarded.
        journal: Where its verdict is written; None for nowhere.
        metrics: What counts those that were not guarded.
    """

    def __init__(
        self, observers: Sequence[Observer], journal: Journal | None, metrics: Metrics
    ) -> None:
        self._observers = observers
        self._journal = journal
        self._metrics = metrics

    async def tell(self, observation: Observation, outgoing: Outgoing) -> None:
        """Tell of one. Whatever fails is logged, and harms no answer."""
        outgoing.told = True
        for observer in self._observers:
            notify(observer, observation)
        if self._journal is None:
            return
        try:
            entry = entry_of(observation)
            if entry is not None:
                await self._journal.append(entry)
        # The answer is given already, and what went wrong may hold words of it.
        except Exception as error:
            logger.error(
                "the journal failed with %s (request %s)",
                type(error).__name__,
                observation.request_id,
            )

    def ended(self, call: Call, outgoing: Outgoing, elapsed_s: float) -> None:
        """Count a request, of whatever kind, and log it unless it was told of.

        Args:
            call: The request.
            outgoing: What was given.
            elapsed_s: How long it took, in seconds.
        """
        if outgoing.refused is not None:
            self._metrics.refused(outgoing.refused)
        if outgoing.told:
            return
        # What nginx calls a client that went away before it was given anything.
        status = outgoing.status or 499
        route = call.own or (PREFIX + call.api.path if call.api else f"{PREFIX}/*")
        log_passed(call.method, status, elapsed_s, route=route, request_id=call.request_id)
        if call.own is None and call.api is None:
            self._metrics.passed(call.method, status, elapsed_s)


def entry_of(observation: Observation) -> Entry | None:
    """Return the journal's entry of a request; None where there is no verdict."""
    answer = observation.answer
    if answer is None:
        return None
    entry = Entry.of(
        answer.verdict,
        model=observation.model or _UNNAMED,
        policy=observation.policy,
        action=answer.action,
        api=cast("Api", observation.api),
        request_id=observation.request_id,
        tenant=observation.tenant,
        usage=observation.usage,
        latency_s=observation.elapsed_s,
        question=observation.question,
    )
    return replace(entry, check_usage=observation.check_usage)
