"""Telemetry of checks: spans, an event, metrics and a log record.

OpenTelemetry is used only if the application uses it. No text of a query, response, sample or
document is exported unless the application asks for it; see `resay._internal.telemetry.otel`.
"""

from resay._internal.telemetry.evaluator import Evaluator
from resay._internal.telemetry.outcome import AttributeValue, Outcome, TraceContext, request_id
from resay._internal.telemetry.spans import (
    CheckSpan,
    Span,
    check_span,
    current_trace_context,
    current_trace_ids,
    forget_check,
    guardrail_result,
    guardrail_span,
    span,
    trace_context_from,
    trace_context_of,
    use_trace_context,
)

__all__ = [
    "AttributeValue",
    "CheckSpan",
    "Evaluator",
    "Outcome",
    "Span",
    "TraceContext",
    "check_span",
    "current_trace_context",
    "current_trace_ids",
    "forget_check",
    "guardrail_result",
    "guardrail_span",
    "request_id",
    "span",
    "trace_context_from",
    "trace_context_of",
    "use_trace_context",
]
