"""Assessments of a trace that is being made, and of one that is on the server."""

import mlflow

from resay import Guard
from resay.adapters.observers import Place, place

guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "mlflow"}]})
with mlflow.start_span(name="request") as span:
    print(span.trace_id, span.span_id)
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
mlflow.flush_trace_async_logging()
place.set(Place(span.trace_id, span.span_id))
guard.check("It opened in 1932.", references=["It opened in 1932."])
