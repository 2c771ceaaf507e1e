"""OpenTelemetry's own SDK, exporting to memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry._logs import _internal as logs_api
from opentelemetry.metrics import _internal as metrics_api
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

__all__ = ["Seen", "forget_providers"]


def forget_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test set OpenTelemetry's providers, which a process can normally do only once."""
    for api, kind in ((trace, "TRACER"), (metrics_api, "METER"), (logs_api, "LOGGER")):
        monkeypatch.setattr(api, f"_{kind}_PROVIDER", None)
        monkeypatch.setattr(api, f"_{kind}_PROVIDER_SET_ONCE", Once())
    # The proxy is given every provider that is set, and would keep this test's.
    fresh = metrics_api._ProxyMeterProvider()
    monkeypatch.setattr(metrics_api, "_PROXY_METER_PROVIDER", fresh)


class Seen:
    """The telemetry that an operator sees."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._logs = InMemoryLogRecordExporter()
        self._metrics = InMemoryMetricReader()
        traces, logs = TracerProvider(), LoggerProvider()
        traces.add_span_processor(SimpleSpanProcessor(self._spans))
        logs.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self._meters = MeterProvider([self._metrics])
        self._closing = (traces, logs, self._meters)
        trace.set_tracer_provider(traces)
        logs_api.set_logger_provider(logs)
        metrics_api.set_meter_provider(self._meters)

    def close(self) -> None:
        for provider in self._closing:
            provider.shutdown()

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._spans.get_finished_spans()

    @property
    def events(self) -> Sequence[ReadableLogRecord]:
        return self._logs.get_finished_logs()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def parent(self, span: ReadableSpan) -> ReadableSpan | None:
        """Return the parent span, which must be known and of the same trace."""
        if span.parent is None:
            return None
        (found,) = [s for s in self.spans if s.context.span_id == span.parent.span_id]
        assert found.context.trace_id == span.context.trace_id
        return found

    def edges(self) -> set[tuple[str | None, str]]:
        """Return the names of spans, each after its parent's name."""
        parents = [(self.parent(span), span) for span in self.spans]
        return {(parent.name if parent else None, span.name) for parent, span in parents}

    def points(self, name: str) -> list[Any]:
        """Return the data points of a metric."""
        data = self._metrics.get_metrics_data()
        found = data.resource_metrics if data else []
        metrics = [m for r in found for s in r.scope_metrics for m in s.metrics]
        return [point for m in metrics if m.name == name for point in m.data.data_points]

    def everything(self) -> str:
        """Return all telemetry as text."""
        data = self._metrics.get_metrics_data()
        parts = [span.to_json() for span in self.spans]
        parts += [_text(event) for event in self.events]
        return "\n".join([*parts, data.to_json() if data else ""])


def _text(event: ReadableLogRecord) -> str:
    record = event.log_record
    attributes: Mapping[str, Any] = record.attributes or {}
    return json.dumps([record.event_name, str(record.body), dict(attributes)], default=list)
