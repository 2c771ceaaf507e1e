from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.otel import Seen, forget_providers


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """What reaches OpenTelemetry's SDK in this test."""
    forget_providers(monkeypatch)
    seen = Seen()
    yield seen
    seen.close()
