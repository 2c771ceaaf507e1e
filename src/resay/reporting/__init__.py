"""Verdicts on the terminal, as HTML, in a journal and in a dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.reporting.outbox import SinkOutbox as SinkOutbox
    from resay.reporting.reporter import Reporter as Reporter
    from resay.reporting.sinks import check_sink as check_sink
    from resay.reporting.sinks import outboxes_of as outboxes_of
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.reporting.outbox": ("SinkOutbox",),
            "resay.reporting.reporter": ("Reporter",),
            "resay.reporting.sinks": ("check_sink", "outboxes_of"),
        },
    )
