"""Reports every request once: to observers, the journal, the metrics and the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from resay_server.gateway.calls import Call
from resay_server.gateway.logs import log_passed
from resay_server.gateway.metrics import Metrics
from resay_server.gateway.observation import Observation, Observer, notify
from resay_server.gateway.outgoing import Outgoing
from resay_server.gateway.paths import PREFIX
from resay_server.gateway.shared import Quotas
from resay_server.journal import Journal, JournalSink

_logger = logging.getLogger("resay.gateway")


class Reporter:
    """Reports every request once, when it is over.

    Args:
        observers: Notified of guarded requests.
        journal: Records their verdicts; None for no journal.
        metrics: Counts the requests that were not guarded.
        quotas: Counts usage.
    """

    def __init__(
        self,
        observers: Sequence[Observer],
        journal: Journal | None,
        metrics: Metrics,
        quotas: Quotas,
    ) -> None:
        self._observers = observers
        self.journal = journal
        self._sink = None if journal is None else JournalSink(journal)
        self._metrics = metrics
        self._quotas = quotas

    async def report(self, observation: Observation, outgoing: Outgoing) -> None:
        """Report a guarded request. Failures are logged and do not affect the answer."""
        outgoing.reported = True
        await self._quotas.record_usage(observation)
        for observer in self._observers:
            notify(observer, observation)
        record = None if self._sink is None else observation.record
        if self._sink is None or record is None:
            return
        try:
            await self._sink.on_verdict(record)
        # The answer is already sent, and the error may contain words of it.
        except Exception as error:
            _logger.error(
                "the journal failed with %s (request %s)",
                type(error).__name__,
                observation.request_id,
            )

    def finish(self, call: Call, outgoing: Outgoing, elapsed_s: float) -> None:
        """Count a request of any kind, and log it unless it was reported.

        Args:
            call: The request.
            outgoing: Its answer.
            elapsed_s: Its duration in seconds.
        """
        if outgoing.refused is not None:
            self._metrics.count_refused(outgoing.refused)
        if outgoing.reported:
            return
        # nginx's status for a client that disconnected before the response.
        status = outgoing.status or 499
        route = call.own or (PREFIX + call.api.path if call.api else f"{PREFIX}/*")
        log_passed(
            call.method,
            status,
            elapsed_s,
            route=route,
            request_id=call.request_id,
            error=outgoing.refused,
            cause=outgoing.cause,
        )
        if call.own is None and call.api is None:
            self._metrics.count_passed(call.method, status, elapsed_s)
