"""Spans around checks and calls, by OpenTelemetry if the application uses it."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Protocol

from resay._internal.telemetry.evaluator import NAME, Evaluator, follows_guardrail_draft
from resay._internal.telemetry.outcome import AttributeValue, Outcome, TraceContext, log_outcome

if TYPE_CHECKING:
    from resay._internal.telemetry.otel import OpenTelemetry


class Span(Protocol):
    """An open span.

    Attributes:
        is_recorded: Whether anybody reads its attributes.
    """

    @property
    def is_recorded(self) -> bool: ...

    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        """Set attributes; None values are left out."""
        ...


class _NoSpan:
    is_recorded = False

    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        pass


_NO_SPAN: AbstractContextManager[Span] = nullcontext(_NoSpan())


def opentelemetry_in_use() -> OpenTelemetry | None:
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


def current_trace_context() -> TraceContext | None:
    """Return the caller's trace context."""
    otel = opentelemetry_in_use()
    return otel.current_trace_context() if otel else None


_last_check: ContextVar[TraceContext | None] = ContextVar("resay_checked", default=None)


def forget_check() -> None:
    """Forget the last check of this context, so that later events are not linked to it."""
    _last_check.set(None)


def current_trace_ids() -> tuple[str, str] | None:
    """Return the hexadecimal IDs of the current trace and span.

    Outside any span, those of the last check of this context.
    """
    otel = opentelemetry_in_use()
    if otel is None:
        return None
    return otel.ids(None) or otel.ids(_last_check.get())


def trace_context_of(span: object) -> TraceContext | None:
    """Return the trace context of a span opened by other code; None if it is not a span."""
    otel = opentelemetry_in_use()
    return otel.trace_context_of(span) if otel else None


def trace_context_from(headers: Mapping[str, str]) -> TraceContext | None:
    """Return the trace context in a request's headers, for example in `traceparent`.

    Args:
        headers: The headers, with lower-case names.

    Returns:
        The trace context; None if a span is already open for the request.
    """
    otel = opentelemetry_in_use()
    return otel.trace_context_from(headers) if otel else None


def use_trace_context(trace_context: TraceContext | None) -> AbstractContextManager[None]:
    """Make the spans opened in the block children of a trace context's span.

    Args:
        trace_context: The trace context; None for no change.

    Returns:
        A context manager. Exit it in the task that entered it.
    """
    otel = opentelemetry_in_use()
    return (
        otel.use_trace_context(trace_context)
        if otel and trace_context is not None
        else nullcontext()
    )


def span(
    name: str,
    attributes: Mapping[str, AttributeValue] | None = None,
    *,
    parent: TraceContext | None = None,
) -> AbstractContextManager[Span]:
    """Open a span around a block.

    Only the type of an error is recorded, because messages may contain content. An answer withheld
    by the policy is not an error.

    Args:
        name: The name of the span.
        attributes: Its initial attributes; None values are left out.
        parent: Its parent; by default the caller's span.

    Returns:
        A context manager. Exit it in the task that entered it.
    """
    otel = opentelemetry_in_use()
    return otel.span(name, attributes or {}, parent) if otel else _NO_SPAN


_evaluator: ContextVar[Evaluator | None] = ContextVar("resay_evaluator", default=None)


@contextmanager
def guardrail_span() -> Generator[Span, None, None]:
    """Open the span of a guardrail around a block, if its draft is to be followed.

    Yields:
        The span, or one that takes attributes and does nothing.
    """
    evaluator = _evaluator.get()
    if evaluator is None or not follows_guardrail_draft():
        with _NO_SPAN as no_span:
            yield no_span
        return
    attributes = {
        "gen_ai.operation.name": "apply_guardrail",
        **evaluator.guardrail_attributes,
    }
    with span(f"apply_guardrail {NAME}", attributes) as active_span:
        yield active_span


def guardrail_result(decision: str, reason: str) -> Mapping[str, AttributeValue]:
    """Return the attributes of a decision on the span of a guardrail.

    Args:
        decision: The decision.
        reason: Its reason, in one line without content.
    """
    return {
        "gen_ai.guardrail.result.type": "decision",
        "gen_ai.guardrail.result.value": decision,
        "gen_ai.guardrail.result.reason": reason,
    }


class CheckSpan:
    """A check in progress."""

    def __init__(self, active_span: Span, model: str | None, evaluator: Evaluator) -> None:
        self._span = active_span
        self._model = model
        self._evaluator = evaluator
        self._has_ended = False
        self._started = time.perf_counter()

    def report(self, outcome: Outcome) -> None:
        """Report the outcome: on the span, as an event, in the metrics and in the log."""
        self._has_ended = True
        self._span.set(outcome.attributes)
        otel = opentelemetry_in_use()
        if otel:
            otel.evaluated(outcome, self._evaluator)
            otel.count(outcome, self._model)
        log_outcome(outcome, model=self._model, policy=self._evaluator.methods)

    def report_failure(self, error: Exception) -> None:
        """Report a failure without a verdict, unless an outcome was reported already."""
        otel = opentelemetry_in_use()
        if otel and not self._has_ended:
            otel.count_failure(error, self._model, time.perf_counter() - self._started)


@contextmanager
def check_span(*, model: str | None, evaluator: Evaluator) -> Generator[CheckSpan, None, None]:
    """Open the span of a whole check around a block.

    Args:
        model: The model that is called, if known.
        evaluator: Who makes the check.

    Yields:
        The check, which takes the report of its outcome.
    """
    attributes = {
        "gen_ai.request.model": model,
        "resay.policy": evaluator.methods,
        "openinference.span.kind": "GUARDRAIL",
    }
    with span("resay.check", attributes) as active_span:
        _last_check.set(current_trace_context())
        _evaluator.set(evaluator)
        check = CheckSpan(active_span, model, evaluator)
        try:
            yield check
        except Exception as error:
            check.report_failure(error)
            raise
