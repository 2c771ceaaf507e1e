"""A stream whose answer is not checked."""

from __future__ import annotations

from resay.adapters.outcomes import unchecked_outcome
from resay.adapters.verdicts import VerdictDetail
from resay.core.usage import Usage, last_reported
from resay.providers.apis import Api, Event


class UncheckedStream:
    """Pass on an answer that is not checked, and say so at its end."""

    def __init__(self, api: Api, reason: str, detail: VerdictDetail = "full") -> None:
        self._api = api
        self._outcome = unchecked_outcome(reason, detail)
        self._indices: set[int] = set()
        self._reports: list[Usage] = []
        self._last_events: list[Event] = []

    def of(self, event: Event) -> list[Event]:
        """Return the events to send for an event."""
        for index, _ in self._api.split(event):
            self._indices.add(index)
        usage = self._api.event_usage(event)
        if usage is not None:
            self._reports.append(usage)
        if self._last_events or self._api.ends(event):
            self._last_events.append(event)
            return []
        return [event]

    @property
    def usage(self) -> Usage:
        """The tokens and cost, complete after the last event."""
        return last_reported(self._reports) or Usage(1, cost_usd=None)

    def last(self) -> list[Event]:
        """Return the events to send after the last event."""
        return self._api.ending(self._last_events, dict.fromkeys(self._indices, self._outcome))
