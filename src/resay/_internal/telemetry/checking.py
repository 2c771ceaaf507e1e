"""The span around a whole check, and what is told at its end."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from resay._internal.telemetry.outcome import Outcome
from resay._internal.telemetry.records import log_outcome
from resay._internal.telemetry.spans import Span, in_use, span

__all__ = ["Checking", "checking"]


class Checking:
    """A check that is under way."""

    def __init__(self, around: Span, model: str | None, policy: Sequence[str]) -> None:
        self._span = around
        self._model = model
        self._policy = policy
        self._has_ended = False
        self._started = time.perf_counter()

    def ended(self, outcome: Outcome) -> None:
        """Tell how it has ended: on its span, as an event, in the metrics and in the log."""
        self._has_ended = True
        self._span.set(outcome.attributes)
        otel = in_use()
        if otel:
            otel.evaluated(outcome)
            otel.count(outcome, self._model)
        log_outcome(outcome, model=self._model, policy=self._policy)

    def failed(self, error: Exception) -> None:
        """Tell that it has ended without a verdict, unless it was told how it has ended."""
        otel = in_use()
        if otel and not self._has_ended:
            otel.count_failure(error, self._model, time.perf_counter() - self._started)


@contextmanager
def checking(*, model: str | None, policy: Sequence[str]) -> Generator[Checking, None, None]:
    """Open the span of a whole check around what is done inside.

    Args:
        model: The model that is asked, where it is known.
        policy: The methods of the policy.

    Yields:
        Whom to tell how the check has ended.
    """
    attributes = {"gen_ai.request.model": model, "resay.policy": policy}
    with span("resay.check", attributes) as around:
        check = Checking(around, model, policy)
        try:
            yield check
        except Exception as error:
            check.failed(error)
            raise
