"""Telemetry of checks: spans, an event, metrics and a log record.

OpenTelemetry is used only if the application uses it. No text of a query, response, sample or
document is exported unless the application asks for it; see `resay._internal.telemetry.otel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay._internal.telemetry.evaluator import Evaluator as Evaluator
    from resay._internal.telemetry.outcome import AttributeValue as AttributeValue
    from resay._internal.telemetry.outcome import Outcome as Outcome
    from resay._internal.telemetry.outcome import TraceContext as TraceContext
    from resay._internal.telemetry.outcome import request_id as request_id
    from resay._internal.telemetry.spans import CheckSpan as CheckSpan
    from resay._internal.telemetry.spans import Span as Span
    from resay._internal.telemetry.spans import check_span as check_span
    from resay._internal.telemetry.spans import current_trace_context as current_trace_context
    from resay._internal.telemetry.spans import current_trace_ids as current_trace_ids
    from resay._internal.telemetry.spans import forget_check as forget_check
    from resay._internal.telemetry.spans import guardrail_result as guardrail_result
    from resay._internal.telemetry.spans import guardrail_span as guardrail_span
    from resay._internal.telemetry.spans import span as span
    from resay._internal.telemetry.spans import trace_context_from as trace_context_from
    from resay._internal.telemetry.spans import trace_context_of as trace_context_of
    from resay._internal.telemetry.spans import use_trace_context as use_trace_context
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay._internal.telemetry.evaluator": ("Evaluator",),
            "resay._internal.telemetry.outcome": (
                "AttributeValue",
                "Outcome",
                "TraceContext",
                "request_id",
            ),
            "resay._internal.telemetry.spans": (
                "CheckSpan",
                "Span",
                "check_span",
                "current_trace_context",
                "current_trace_ids",
                "forget_check",
                "guardrail_result",
                "guardrail_span",
                "span",
                "trace_context_from",
                "trace_context_of",
                "use_trace_context",
            ),
        },
    )
