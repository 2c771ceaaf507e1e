"""Telemetry of checks: spans, an event, metrics and a log record.

OpenTelemetry is used only if the application uses it. No text of a query, response, sample or
document is exported unless the application asks for it; see `resay._internal.telemetry.otel`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Protocol

from resay._internal.telemetry.outcome import (
    AttributeValue,
    Outcome,
    Place,
    log_outcome,
    request_id,
)

if TYPE_CHECKING:
    from resay._internal.telemetry.otel import OpenTelemetry
__all__ = [
    "AttributeValue",
    "Checking",
    "Outcome",
    "Place",
    "Span",
    "checking",
    "here",
    "inside",
    "place_of",
    "request_id",
    "sent_from",
    "span",
    "traced",
    "unchecked",
]


class Span(Protocol):
    """An open span."""

    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        """Set attributes; None values are left out."""
        ...


class _NoSpan:
    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        pass


_NO_SPAN: AbstractContextManager[Span] = nullcontext(_NoSpan())


def in_use() -> OpenTelemetry | None:
    """Return OpenTelemetry; None if the application has not imported it.

    Without that import the application has configured no exporter, and importing it would only cost
    time.
    """
    return _loaded() if sys.modules.get("opentelemetry") is not None else None


@cache
def _loaded() -> OpenTelemetry | None:
    try:
        from resay._internal.telemetry.otel import OpenTelemetry
    # Also for versions that are too old: an application that has one for other reasons must work.
    except ImportError:
        return None
    return OpenTelemetry()


def here() -> Place | None:
    """Return the caller's place in the span tree."""
    otel = in_use()
    return otel.here() if otel else None


_checked: ContextVar[Place | None] = ContextVar("resay_checked", default=None)


def unchecked() -> None:
    """Forget the last check of this context, so that later events are not linked to it."""
    _checked.set(None)


def traced() -> tuple[str, str] | None:
    """Return the hexadecimal IDs of the current trace and span.

    Outside any span, those of the last check of this context.
    """
    otel = in_use()
    if otel is None:
        return None
    return otel.ids(None) or otel.ids(_checked.get())


def place_of(found: object) -> Place | None:
    """Return the place of a span opened by other code; None if it is not a span."""
    otel = in_use()
    return otel.place_of(found) if otel else None


def sent_from(headers: Mapping[str, str]) -> Place | None:
    """Return the place that a request's headers name, for example in `traceparent`.

    Args:
        headers: The headers, with lower-case names.

    Returns:
        The place; None if a span is already open for the request.
    """
    otel = in_use()
    return otel.sent_from(headers) if otel else None


def inside(place: Place | None) -> AbstractContextManager[None]:
    """Make the spans opened in the context children of a place.

    Args:
        place: The place; None for no change.

    Returns:
        A context manager. Exit it in the task that entered it.
    """
    otel = in_use()
    return otel.inside(place) if otel and place is not None else nullcontext()


def span(
    name: str,
    attributes: Mapping[str, AttributeValue] | None = None,
    *,
    parent: Place | None = None,
) -> AbstractContextManager[Span]:
    """Open a span around a block.

    Only the type of an error is recorded, because messages may contain content. An answer withheld
    by the policy is not an error.

    Args:
        name: The name of the span.
        attributes: Its initial attributes; None values are left out.
        parent: Its parent; by default the caller's place.

    Returns:
        A context manager. Exit it in the task that entered it.
    """
    otel = in_use()
    return otel.span(name, attributes or {}, parent) if otel else _NO_SPAN


class Checking:
    """A check in progress."""

    def __init__(self, around: Span, model: str | None, policy: Sequence[str]) -> None:
        self._span = around
        self._model = model
        self._policy = policy
        self._has_ended = False
        self._started = time.perf_counter()

    def ended(self, outcome: Outcome) -> None:
        """Report the outcome: on the span, as an event, in the metrics and in the log."""
        self._has_ended = True
        self._span.set(outcome.attributes)
        otel = in_use()
        if otel:
            otel.evaluated(outcome)
            otel.count(outcome, self._model)
        log_outcome(outcome, model=self._model, policy=self._policy)

    def failed(self, error: Exception) -> None:
        """Report a failure without a verdict, unless an outcome was reported already."""
        otel = in_use()
        if otel and not self._has_ended:
            otel.count_failure(error, self._model, time.perf_counter() - self._started)


@contextmanager
def checking(*, model: str | None, policy: Sequence[str]) -> Generator[Checking, None, None]:
    """Open the span of a whole check around a block.

    Args:
        model: The model that is called, if known.
        policy: The methods of the policy.

    Yields:
        The check, which takes the report of its outcome.
    """
    attributes = {
        "gen_ai.request.model": model,
        "resay.policy": policy,
        "openinference.span.kind": "GUARDRAIL",
    }
    with span("resay.check", attributes) as around:
        _checked.set(here())
        check = Checking(around, model, policy)
        try:
            yield check
        except Exception as error:
            check.failed(error)
            raise
