"""What an operator sees of checks: spans, an event, metrics and a log record.

Everything of OpenTelemetry is left out where the application does not use it. No words of a
query, a response, a sample or a document are in any of it, unless the application asks for them;
see `resay._internal.telemetry.otel`.
"""

from resay._internal.telemetry.outcome import Outcome, request_id
from resay._internal.telemetry.spans import (
    AttributeValue,
    Checking,
    Place,
    Span,
    checking,
    here,
    inside,
    place_of,
    sent_from,
    span,
)

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
]
