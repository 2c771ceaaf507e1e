"""The bench of guarded clients must see what is added, and that a guard did what it should."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.clients import KINDS, Kind, Pair, Setting, added_ms, row_of, run, total
from performance.clients_calls import APIS, calls_of
from performance.skipping import SkippedError

TINY = ["--rounds", "2", "--guarded-rounds", "1", "--guarded-latency-s", "0.002"]
NONE, OFF, NGRAM = KINDS
NAMES = [call.name for api in APIS for call in calls_of(api)]


@pytest.fixture
def sdks() -> None:
    for api in APIS:
        pytest.importorskip(api.sdk)


def only(monkeypatch: pytest.MonkeyPatch, *kinds: Kind) -> None:
    """Measure only some kinds, by one API."""
    pytest.importorskip(APIS[0].sdk)
    monkeypatch.setattr("performance.clients.APIS", APIS[:1])
    monkeypatch.setattr("performance.clients.KINDS", kinds)


def test_a_row_compares_medians() -> None:
    pairs = [Pair(0.002, 0.0025, 30), Pair(0.004, 0.0041, 32), Pair(0.003, 0.0099, 31)]
    assert added_ms(pairs) == pytest.approx(1.1)
    row = row_of("chat, sync", OFF, pairs)
    assert (row["plain_p50_ms"], row["plain_p95_ms"]) == (3.0, 4.0)
    assert (row["p50_ms"], row["p95_ms"]) == (4.1, 9.9)
    assert (row["added_ms"], row["ratio_p50"]) == (1.1, 1.367)
    assert row["added_low_ms"] < row["added_ms"] < row["added_high_ms"]
    assert (row["events"], row["pairs"]) == (31, 3)
    assert (row["target"], row["met"]) == ("< 1 ms added", False)
    assert row_of("chat, sync", OFF, [Pair(0.003, 0.0039)])["met"] is True
    for kind in (NONE, NGRAM):
        assert row_of("chat, sync", kind, pairs)["met"] is None


def test_the_interval_tells_noise_from_what_is_added() -> None:
    noise = [Pair(0.001 * (3 + i % 5), 0.001 * (3 + (i + 2) % 5)) for i in range(50)]
    row = row_of("chat, sync", NONE, noise)
    assert row["added_low_ms"] <= 0 <= row["added_high_ms"]
    slower = [Pair(pair.plain, pair.guarded + 0.004) for pair in noise]
    assert row_of("chat, sync", OFF, slower)["added_low_ms"] > 1


@pytest.mark.usefixtures("sdks")
def test_all_clients_are_measured_with_all_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("performance.clients._WARM_UP", 1)
    result = CliRunner().invoke(app, ["clients", "--json", *TINY])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["setting"]["guarded_latency_s"] == 0.002
    rows = document["rows"]
    assert [(row["guard"], row["call"]) for row in rows] == [
        (kind.name, name) for kind in KINDS for name in NAMES
    ]
    for row in rows:
        assert row["pairs"] == (1 if row["guard"] == NGRAM.name else 2)
        assert (row["events"] is not None) == row["call"].endswith("streamed")
        assert (row["met"] is not None) == (row["guard"] == OFF.name)
        assert row["p50_ms"] >= (10 if row["guard"] == NGRAM.name else 0)


def test_what_is_counted_is_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, NONE, OFF)
    setting = Setting(rounds=2)
    counted: list[int] = []
    table = run(setting, done=lambda: counted.append(1))
    assert len(counted) == total(setting) == 2 * len(table.rows) == 16


def test_a_guard_that_is_not_off_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Kind(OFF.name, {"chain": [{"method": "ngram"}]}))
    with pytest.raises(SkippedError, match="'off by `when`' was not what it should be"):
        run(Setting(rounds=1))


def test_a_client_that_is_not_guarded_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = APIS[0]
    only(monkeypatch, OFF)
    plain = replace(chat, client=lambda params, _, side: chat.client(params, None, side))
    monkeypatch.setattr("performance.clients.APIS", (plain,))
    with pytest.raises(SkippedError, match="no verdict"):
        run(Setting(rounds=1))


def test_a_check_without_its_samples_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {"chain": [{"method": "ngram"}], "sampling": {"max": 2, "min": 2}}
    only(monkeypatch, Kind(NGRAM.name, fewer, checks=True))
    result = CliRunner().invoke(app, ["clients", *TINY])
    assert result.exit_code == 0
    assert "clients skipped: 'chat, sync', 'ngram, 3 samples' was not what" in result.stderr


def test_a_missing_sdk_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resay._internal.importing.find_spec", lambda _: None)
    assert total(Setting()) == 0
    rows = run().rows
    assert [row["call"] for row in rows] == [api.name for api in APIS]
    assert all("needs" in row["skipped"] and row["skipped"] == row["remark"] for row in rows)
