from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.regenerate import WAYS, Way
from performance.regenerate_rows import RequestCost, row_of
from resay import Document, Guard, Usage
from simulation import SimulatedProvider

TINY = [
    *("--requests", "3", "--concurrency", "2", "--turns", "2", "--latency-s", "0.005"),
    *("--judge-latency-s", "0", "--jitter-s", "0", "--judge-jitter-s", "0"),
    *("--first-token-s", "0.001"),
]
BY_NAME = {way.name: way for way in WAYS}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    result = CliRunner().invoke(app, ["regenerate", "--json", *TINY])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def rows(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["way"]: row for row in document["rows"]}


def test_each_way_has_a_row(document: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
    assert tuple(rows) == tuple(BY_NAME)
    assert document["setting"]["latency_s"] == 0.005
    assert {row["requests"] for row in rows.values()} == {3}


def test_what_is_not_checked_is_one_call(rows: Mapping[str, Any]) -> None:
    plain = rows["unguarded"]
    assert plain["calls"] == 1
    assert plain["flagged"] is plain["consistent"] is plain["ratio_p50"] is None
    assert plain["usd_per_1000"] > 0


@pytest.mark.parametrize("way", [w for w in WAYS if w.chain and w.mode is None])
def test_what_is_only_checked_stays_flagged(way: Way, rows: Mapping[str, Any]) -> None:
    row = rows[way.name]
    assert row["flagged"] == 100
    assert row["repaired"] == row["consistent"] == row["repair_calls"] == 0
    assert row["decisions"] == {"flagged": 3}
    assert row["ratio_p50"] == 1


@pytest.mark.parametrize("way", [w for w in WAYS if w.mode])
def test_what_is_repaired_costs_the_guarded_answer_and_the_repair(
    way: Way, rows: Mapping[str, Any]
) -> None:
    row, guarded = rows[way.name], rows[way.guarded or ""]
    assert row["flagged"] == 100
    assert sum(row["decisions"].values()) == 3
    assert row["consistent"] == pytest.approx(100 * row["decisions"].get("consistent", 0) / 3)
    assert row["repair_p50_ms"] <= row["p50_ms"]
    assert row["repair_calls"] >= 1
    if not way.held:
        # All ways have the same drafts, and take the same calls up to the flag.
        assert row["calls"] - row["repair_calls"] == pytest.approx(guarded["calls"])
    assert row["prompt_tokens"] > row["repair_prompt_tokens"] > 0
    assert row["usd_per_1000"] > guarded["usd_per_1000"]


def test_only_repairs_change_single_sentences(rows: Mapping[str, Any]) -> None:
    for name, row in rows.items():
        edits = row["replaced_sentences"] + row["removed_sentences"]
        assert (edits > 0) is (BY_NAME[name].mode == "repair"), name
        assert (row["removed"] is not None) is (edits > 0)


def test_only_streams_have_a_first_sentence(rows: Mapping[str, Any]) -> None:
    for name, row in rows.items():
        assert (row["first_p50_ms"] is not None) is BY_NAME[name].held, name
        assert row["first_p50_ms"] is None or row["first_p50_ms"] <= row["p95_ms"]


def test_a_way_is_compared_with_the_one_that_repairs_nothing() -> None:
    guarded = {way.name: way.guarded for way in WAYS}
    assert guarded["unguarded"] is None
    assert guarded["ngram, rewrite"] == guarded["ngram"] == "ngram"
    assert guarded["hold, prompt, repair"] == "hold, prompt"


def test_a_row_counts_what_came_of_the_answers() -> None:
    spent, repair = Usage(12, 100, 50, 0.002), Usage(3, 60, 20, 0.001)
    repaired = RequestCost(
        2.0,
        spent,
        decision="consistent",
        flagged=True,
        repaired=True,
        replaced=1,
        removed=2,
        repair_s=0.5,
        repair=repair,
    )
    still = RequestCost(3.0, Usage(14, 200, 70, 0.004), decision="flagged", flagged=True)
    fine = RequestCost(1.0, Usage(8, 30, 30, 0.0), decision="consistent")
    row = row_of("prompt, repair", [repaired, still, fine, fine], [fine])
    assert (row["p50_ms"], row["p95_ms"], row["ratio_p50"]) == (1000.0, 3000.0, 1.0)
    assert (row["flagged"], row["repaired"], row["consistent"]) == (50, 25, 75)
    assert row["removed"] == pytest.approx(200 / 3)
    assert (row["calls"], row["repair_calls"]) == (10.5, 0.75)
    assert row["usd_per_1000"] == pytest.approx(1.5)
    assert row["repair_p50_ms"] == 500.0
    unpriced = row_of("prompt", [RequestCost(1.0, Usage(cost_usd=None))], None)
    assert unpriced["usd_per_1000"] is None


def test_an_answer_that_nothing_could_repair_counts_as_flagged() -> None:
    class Nothing:
        async def retrieve(self, query: str, *, k: int) -> list[Document]:
            return []

    with SimulatedProvider(seed=7) as provider:
        guard = Guard(
            BY_NAME["ngram, repair"].policy,
            model="openai/gpt-4.1-mini",
            retriever=Nothing(),
        )
        answer = guard.ask("Tell me about Canberra.", params=provider.params)
    cost = RequestCost.by(answer, 1.0)
    assert (cost.decision, cost.flagged, cost.repaired) == ("flagged", True, False)
    assert (cost.replaced, cost.removed, cost.repair.calls) == (0, 0, 0)


def test_the_bench_is_skipped_without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        """Find no module."""

    monkeypatch.setattr("resay.providers.litellm.find_spec", nothing)
    result = CliRunner().invoke(app, ["regenerate", *TINY])
    assert result.exit_code == 0
    assert result.stderr.startswith("regenerate skipped: ")
    assert "needs 'litellm'" in result.stderr
