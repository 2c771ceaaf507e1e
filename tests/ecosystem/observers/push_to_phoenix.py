"""An annotation of the current span, and one of the check's own span at the end of the process."""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from resay import Guard

trace.set_tracer_provider(TracerProvider())
guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "phoenix"}]})
with trace.get_tracer("app").start_as_current_span("request") as span:
    context = span.get_span_context()
    print(trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id))
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
guard.check("It opened in 1932.", references=["It opened in 1932."])
