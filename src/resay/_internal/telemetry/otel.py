"""OpenTelemetry export, imported only by this package and only if OpenTelemetry is in use.

Names that begin with `gen_ai.` follow OpenTelemetry's semantic conventions for generative AI. They
are spelled out, because no stable package defines them yet.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

from opentelemetry import _logs, context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode

from resay._internal._version import __version__
from resay._internal.telemetry.evaluator import Evaluator, follows_guardrail_draft
from resay._internal.telemetry.outcome import EVALUATION, AttributeValue, Outcome, TraceContext
from resay.errors import ResayError

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that allows content in the event."""

# Values that OpenTelemetry's own instrumentations accept for "in events"; older ones only `true`.
_CAPTURES = {"true", "event_only", "span_and_event"}
_NAME = "resay"
_EVENT, _GUARDRAIL_EVENT = "gen_ai.evaluation.result", "gen_ai.guardrail.result"


class OpenTelemetry:
    """Sends telemetry to the providers that the application has set."""

    def current_trace_context(self) -> TraceContext:
        """Return the current context, fixed at this moment."""
        # The current span may be a proxy that changes when its call returns, as a stream's does.
        span_context = trace.get_current_span().get_span_context()
        return TraceContext(trace.set_span_in_context(trace.NonRecordingSpan(span_context)))

    def trace_context_of(self, span: object) -> TraceContext | None:
        """Return the trace context of a span; None if it is not a span."""
        if not isinstance(span, trace.Span):
            return None
        return TraceContext(trace.set_span_in_context(span))

    def ids(self, trace_context: TraceContext | None) -> tuple[str, str] | None:
        """Return the trace and span IDs of a context (default: the current one), or None."""
        span_context = trace.get_current_span(
            cast("Context | None", trace_context)
        ).get_span_context()
        if not span_context.is_valid:
            return None
        return trace.format_trace_id(span_context.trace_id), trace.format_span_id(
            span_context.span_id
        )

    def trace_context_from(self, headers: Mapping[str, str]) -> TraceContext | None:
        """Read headers; see `spans.trace_context_from`."""
        if trace.get_current_span().get_span_context().is_valid:
            return None
        return TraceContext(propagate.extract(headers))

    @contextmanager
    def use_trace_context(self, trace_context: TraceContext) -> Generator[None, None, None]:
        """Make spans children of another; see `spans.use_trace_context`."""
        token = context.attach(cast("Context", trace_context))
        try:
            yield
        finally:
            context.detach(token)

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, AttributeValue], parent: TraceContext | None
    ) -> Generator[_Span, None, None]:
        """Open a span; see `spans.span`."""
        with _tracer(trace.get_tracer_provider()).start_as_current_span(
            name,
            context=cast("Context | None", parent),
            attributes=_without_none(attributes),
            # Messages and stack traces may hold content.
            record_exception=False,
            set_status_on_exception=False,
        ) as otel_span:
            try:
                yield _Span(otel_span)
            except Exception as error:
                if not isinstance(error, ResayError) or error.is_failure:
                    kind = _kind(error)
                    otel_span.set_attribute("error.type", kind)
                    otel_span.set_status(Status(StatusCode.ERROR, kind))
                raise
            except BaseException:
                otel_span.set_attribute("resay.cancelled", True)
                raise

    def evaluated(self, outcome: Outcome, evaluator: Evaluator) -> None:
        """Emit the event of an evaluation, unless the check was skipped.

        Args:
            outcome: The outcome of the check.
            evaluator: Who made it.
        """
        logger = _logger(_logs.get_logger_provider())
        if logger is None or outcome.decision == "skipped":
            return
        attributes: dict[str, AttributeValue] = {
            "gen_ai.evaluation.name": EVALUATION,
            "gen_ai.evaluation.score.value": outcome.score,
            "gen_ai.evaluation.score.label": outcome.decision,
            "gen_ai.evaluation.explanation": outcome.reason,
            "gen_ai.response.id": outcome.response_id,
            **evaluator.evaluation_attributes,
        }
        if os.environ.get(CAPTURE, "").strip().lower() in _CAPTURES:
            attributes["resay.flagged_sentences"] = outcome.flagged
        logger.emit(event_name=_EVENT, attributes=_without_none(attributes))
        if follows_guardrail_draft():
            result: dict[str, AttributeValue] = {
                **evaluator.guardrail_attributes,
                "gen_ai.guardrail.result.type": "decision" if outcome.action is None else "action",
                "gen_ai.guardrail.result.value": outcome.action or outcome.decision,
                "gen_ai.guardrail.result.reason": outcome.reason,
                "gen_ai.guardrail.risk.category": EVALUATION,
                "gen_ai.guardrail.risk.score": outcome.score,
            }
            logger.emit(event_name=_GUARDRAIL_EVENT, attributes=_without_none(result))

    def count(self, outcome: Outcome, model: str | None) -> None:
        """Record a finished check in the metrics."""
        meters = _meters(metrics.get_meter_provider())
        model_attributes = _without_none({"gen_ai.request.model": model})
        attributes = _without_none(
            {"resay.decision": outcome.decision, "resay.action": outcome.action}
        )
        meters.verdicts.add(1, {**attributes, **model_attributes})
        meters.duration.record(outcome.elapsed_s, {**attributes, **model_attributes})
        meters.calls.add(outcome.calls, model_attributes)
        meters.tokens.add(outcome.tokens, model_attributes)
        if outcome.cost_usd is not None:
            meters.cost.add(outcome.cost_usd, model_attributes)

    def count_failure(self, error: Exception, model: str | None, elapsed_s: float) -> None:
        """Record a failed check in the metrics."""
        attributes = _without_none({"error.type": _kind(error), "gen_ai.request.model": model})
        _meters(metrics.get_meter_provider()).duration.record(elapsed_s, attributes)


class _Span:
    """An open span."""

    is_recorded = True

    def __init__(self, otel_span: trace.Span) -> None:
        self._otel_span = otel_span

    def set(self, attributes: Mapping[str, AttributeValue], /) -> None:
        self._otel_span.set_attributes(_without_none(attributes))


class _Meters:
    """The metrics of checks."""

    def __init__(self, meter: metrics.Meter) -> None:
        self.verdicts = meter.create_counter(
            "resay.verdicts", "{verdict}", "Verdicts, by decision and action."
        )
        self.duration = meter.create_histogram(
            "resay.check.duration", "s", "How long requests take, main call and check together."
        )
        self.calls = meter.create_counter(
            "resay.calls", "{call}", "Calls that checks have cost, without main calls."
        )
        self.tokens = meter.create_counter(
            "resay.tokens", "{token}", "Tokens that checks have cost, without main calls."
        )
        self.cost = meter.create_counter(
            "resay.cost_usd", "{USD}", "Dollars that checks have cost, where prices are known."
        )


# One per provider: an application may set its own after we got the default one.
@lru_cache(maxsize=1)
def _tracer(provider: trace.TracerProvider) -> trace.Tracer:
    return provider.get_tracer(_NAME, __version__)


@lru_cache(maxsize=1)
def _meters(provider: metrics.MeterProvider) -> _Meters:
    return _Meters(provider.get_meter(_NAME, __version__))


@lru_cache(maxsize=1)
def _logger(provider: _logs.LoggerProvider) -> _logs.Logger | None:
    """Return the logger of events; None if its version does not support them."""
    logger = provider.get_logger(_NAME, __version__)
    return logger if "event_name" in inspect.signature(logger.emit).parameters else None


def _without_none(attributes: Mapping[str, AttributeValue]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _kind(error: Exception) -> str:
    return type(error).__name__
