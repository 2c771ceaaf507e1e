"""What an operator sees of checks: spans, an event, metrics and a log record.

Everything of OpenTelemetry is left out where the application does not use it. No words of a
query, a response, a sample or a document are in any of it, unless the application asks for them;
see `resay._internal.telemetry.otel`.
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
    """A span that is open."""

    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        """Add attributes; those that are None are left out."""
        ...


class _NoSpan:
    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        pass


_NO_SPAN: AbstractContextManager[Span] = nullcontext(_NoSpan())


def in_use() -> OpenTelemetry | None:
    """Return OpenTelemetry; None where the application has not imported it.

    Who has not has set nothing up that could take anything; an import would only cost time.
    """
    return _loaded() if sys.modules.get("opentelemetry") is not None else None


@cache
def _loaded() -> OpenTelemetry | None:
    try:
        from resay._internal.telemetry.otel import OpenTelemetry
    # Also where its version is too old: who has it for other reasons must not be disturbed.
    except ImportError:
        return None
    return OpenTelemetry()


def here() -> Place | None:
    """Return the place in the tree of spans where the caller is."""
    otel = in_use()
    return otel.here() if otel else None


_checked: ContextVar[Place | None] = ContextVar("resay_checked", default=None)


def unchecked() -> None:
    """Forget the last check of this context: what follows belongs to none."""
    _checked.set(None)


def traced() -> tuple[str, str] | None:
    """Return the ids of the trace and of the span that are current, in hexadecimal digits.

    Where none is, those of the last check of this context.
    """
    otel = in_use()
    if otel is None:
        return None
    return otel.ids(None) or otel.ids(_checked.get())


def place_of(found: object) -> Place | None:
    """Return the place of a span that somebody else has opened; None for what is not a span."""
    otel = in_use()
    return otel.place_of(found) if otel else None


def sent_from(headers: Mapping[str, str]) -> Place | None:
    """Return the place that the headers of a request name, as `traceparent` does.

    Args:
        headers: The headers, by their names in lower case.

    Returns:
        The place; None where somebody has opened a span for the request already.
    """
    otel = in_use()
    return otel.sent_from(headers) if otel else None


def inside(place: Place | None) -> AbstractContextManager[None]:
    """Let the spans that are opened meanwhile belong to a place.

    Args:
        place: The place; None to leave everything as it is.

    Returns:
        A context manager. It is left in the task that entered it.
    """
    otel = in_use()
    return otel.inside(place) if otel and place is not None else nullcontext()


def span(
    name: str,
    attributes: Mapping[str, AttributeValue] | None = None,
    *,
    parent: Place | None = None,
) -> AbstractContextManager[Span]:
    """Open a span around what is done inside.

    An error that comes out of it is noted by its type alone: messages may hold content. That a
    policy withholds an answer is no error.

    Args:
        name: What is done.
        attributes: What is known of it beforehand; those that are None are left out.
        parent: Where it belongs; by default where the caller is.

    Returns:
        A context manager. It is left in the task that entered it.
    """
    otel = in_use()
    return otel.span(name, attributes or {}, parent) if otel else _NO_SPAN


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
