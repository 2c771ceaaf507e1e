"""The bench of many guarded requests at once must measure each client, and guarded ones as such."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.skipping import SkippedError

TINY = ["--concurrency", "2", "--rounds", "1", "--latency-s", "0.01"]


def test_each_client_is_measured() -> None:
    pytest.importorskip("openai")
    result = CliRunner().invoke(app, ["clients-at-once", "--json", *TINY])
    assert result.exit_code == 0, result.output
    plain, *guarded = json.loads(result.stdout)["rows"]
    assert (plain["client"], plain["calls"], plain["ratio"]) == (
        "the SDK's client, not guarded",
        1.0,
        1.0,
    )
    assert [row["client"] for row in guarded][:2] == ["guarded", "guarded, the SDK's own pool"]
    for row in guarded:
        assert row["calls"] > 2
        assert row["cpu_ms"] > 0
        assert row["p50_ms"] > 0


def test_without_a_provider_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: object) -> None:
        raise SkippedError("no provider here")

    monkeypatch.setattr("performance.clients_many.simulated_elsewhere", missing)
    result = CliRunner().invoke(app, ["clients-at-once", *TINY])
    assert result.exit_code == 0
    assert "clients-at-once skipped: no provider here" in result.output
