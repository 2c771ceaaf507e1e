from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Usage
from resay.adapters import run_sync
from resay.errors import ConfigurationError
from resay_server.journal import Journal, JournalConfig, open_journal
from support.journal import NOW, entry, make_verdict

pytestmark = pytest.mark.anyio


async def written(journal: Journal, *changes: dict[str, Any]) -> None:
    for change in changes:
        verdict = make_verdict(change.pop("found", "flagged"))
        await journal.append(entry(verdict, **change))
    await journal.flush()


async def test_counts_latency_and_cost(journal: Journal) -> None:
    await written(
        journal,
        {"time": NOW - 0.001},
        {"time": NOW, "latency_s": 3.0, "check_s": 1.0, "check_usage": Usage(1, 1, 1, 0.25)},
        {"time": NOW + 9, "latency_s": 1.0, "action": "block", "usage": Usage(1, 1, 1, 0.5)},
        {"time": NOW + 9.999, "latency_s": 2.0, "found": "consistent", "action": "regenerate"},
        {"time": NOW + 35, "found": "skipped", "usage": Usage(1, cost_usd=None)},
        {"time": NOW + 40},
    )
    first, last = await journal.summary(NOW, NOW + 40, 10)
    assert (first.start, first.name, first.entries) == (NOW, None, 3)
    assert first.decisions == {"consistent": 1, "flagged": 2, "inconclusive": 0, "skipped": 0}
    assert (first.blocked, first.regenerated) == (1, 1)
    assert (first.latency_p50_s, first.latency_p95_s) == (2.0, 3.0)
    assert (first.check_p50_s, first.check_p95_s) == (0.0, 1.0)
    assert (first.cost_usd, first.check_cost_usd, first.unpriced) == (0.75, 0.25, 0)
    assert (last.start, last.entries, last.unpriced, last.cost_usd) == (NOW + 30, 1, 1, 0.0)


@pytest.mark.parametrize("by", ["model", "policy", "tenant"])
async def test_slices_of_each(journal: Journal, by: Any) -> None:
    await written(
        journal,
        {"time": NOW, by: "b", "latency_s": 5.0},
        {"time": NOW, by: "a", "latency_s": 1.0},
        {"time": NOW + 1, by: "a", "latency_s": 2.0},
        {"time": NOW + 60, by: "a", "latency_s": 3.0},
    )
    slices = await journal.summary(NOW, NOW + 120, 60, by=by)
    seen = [(s.start - NOW, s.name, s.entries, s.latency_p50_s) for s in slices]
    assert seen == [(0, "a", 2, 1.0), (0, "b", 1, 5.0), (60, "a", 1, 3.0)]


async def test_no_tenant_is_a_slice_of_its_own(journal: Journal) -> None:
    await written(journal, {"tenant": None}, {"tenant": "t"}, {"tenant": "t"}, {"api": "chat"})
    slices = await journal.summary(NOW, NOW + 1, 1, by="tenant")
    assert {s.name: s.entries for s in slices} == {None: 2, "t": 2}
    apis = await journal.summary(NOW, NOW + 1, 1, by="api")
    assert {s.name: s.entries for s in apis} == {"chat": 1, "check": 3}


async def test_nothing_is_no_slice(journal: Journal) -> None:
    assert await journal.summary(NOW, NOW + 1, 1) == []


@pytest.mark.parametrize(
    ("since", "until", "step"),
    [(1, 1, 1), (2, 1, 1), (0, 1, 0), (0, 1, -1), (0, 10_001, 1), (0, float("nan"), 1)],
)
async def test_spans_that_cannot_be_drawn(
    journal: Journal, since: float, until: float, step: float
) -> None:
    with pytest.raises(ConfigurationError, match="does not give 1 to 10000 slices"):
        await journal.summary(since, until, step)


async def test_columns_that_are_none_of_the_choices(journal: Journal) -> None:
    with pytest.raises(ConfigurationError, match="by 'verdict'; use one of model, policy"):
        await journal.summary(0, 1, 1, by="verdict")  # type: ignore[arg-type] - the point


@pytest.mark.parametrize(
    ("count", "p50", "p95"), [(1, 1, 1), (2, 1, 2), (17, 9, 17), (100, 50, 95)]
)
async def test_percentiles_of_few_and_of_many(
    journal: Journal, count: int, p50: float, p95: float
) -> None:
    await written(journal, *({"latency_s": float(i)} for i in range(count, 0, -1)))
    (only,) = await journal.summary(NOW, NOW + 1, 1)
    assert (only.latency_p50_s, only.latency_p95_s) == (p50, p95)


def test_percentiles_are_nearest_ranks(url: str) -> None:
    journal = open_journal(JournalConfig(url=url))
    begins = iter(range(0, 10**6, 100))

    @settings(max_examples=15)
    @given(st.lists(st.floats(0, 1e6), min_size=1, max_size=45))
    def check(latencies: list[float]) -> None:
        begin = next(begins)
        run_sync(written, journal, *({"time": begin + 1.0, "latency_s": s} for s in latencies))
        (only,) = run_sync(journal.summary, begin, begin + 100, 100)
        ranked = sorted(latencies)
        assert only.entries == len(latencies)
        assert only.latency_p50_s == ranked[ceil(len(ranked) * 50 / 100) - 1]
        assert only.latency_p95_s == ranked[ceil(len(ranked) * 95 / 100) - 1]

    check()
    run_sync(journal.aclose)
