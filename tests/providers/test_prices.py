from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Policy, PolicyError, Request, Usage
from resay.adapters.providers import Price, Prices
from resay.plugins import Completion, Completions
from resay.policy import policy_schema

pytestmark = pytest.mark.anyio

MILLION = 1_000_000
MINI = Price(input=0.4, output=1.6)
LISTED = {
    "mini": MINI,
    "mini-2025-04-14": Price(input=9, output=9),
    "local": Price(input=0, output=0),
}
COUNTED = Usage(1, MILLION, MILLION, None)
NGRAM = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}


# Names


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("mini", 2.0),
        ("mini-2025-04-14", 18.0),
        ("mini-2025-09-01", 2.0),
        ("mini-20250901", 2.0),
        ("local", 0.0),
        ("Mini", None),
        ("openai/mini", None),
        ("mini-", None),
        ("mini-2025", None),
        ("mini-2025-09-01-preview", None),
        ("mini-large", None),
        ("min", None),
        ("-2025-09-01", None),
        ("", None),
        (None, None),
    ],
)
def test_a_name_has_to_be_the_same_but_for_a_date_behind_it(model: Any, cost: float | None) -> None:
    assert Prices(LISTED).cost_usd(model, COUNTED) == cost


# Costs


@given(*(st.integers(0, 10**7) for _ in range(4)))
def test_calls_together_cost_what_they_cost_each(a: int, b: int, c: int, d: int) -> None:
    prices = Prices(LISTED)
    first, second = Usage(1, a + 1, b, None), Usage(1, c + 1, d, None)
    each = [prices.cost_usd("mini", usage) or 0.0 for usage in (first, second)]
    assert prices.cost_usd("mini", first + second) == pytest.approx(sum(each))


def test_what_nobody_counted_has_no_price() -> None:
    assert Prices(LISTED).cost_usd("mini", Usage(1, cost_usd=None)) is None
    assert Prices(LISTED).cost_usd("local", Usage(1, cost_usd=None)) == 0.0
    # Some streams tell at their beginning what was read, and at their end what was written.
    assert Prices(LISTED).cost_usd("mini", Usage(0, 0, MILLION, None)) == 1.6


def test_a_listed_price_goes_before_what_the_provider_says() -> None:
    usage = Usage(1, MILLION, 0, 7.0)
    assert Prices(LISTED).priced("mini", usage) == Usage(1, MILLION, 0, 0.4)
    assert Prices(LISTED).priced("another", usage) == usage
    assert Prices().priced(None, COUNTED) == COUNTED
    assert Prices(LISTED).priced("mini", Usage(2, cost_usd=0.0)) == Usage(2, cost_usd=0.0)


# litellm's list

LIST: dict[str, Any] = {
    "big": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
    "long": {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 2e-6,
        "input_cost_per_token_above_200k_tokens": 3e-6,
        "output_cost_per_token_above_200k_tokens": 4e-6,
        "input_cost_per_token_above_100k_tokens": 2e-6,
        "output_cost_per_token_above_100k_tokens": 3e-6,
        "input_cost_per_token_above_300k_tokens_priority": 9e-6,
    },
    "free": {"input_cost_per_token": 0.0, "output_cost_per_token": 0},
    "half": {"input_cost_per_token": 1e-6},
    "text": {"input_cost_per_token": "1e-6", "output_cost_per_token": 2e-6},
    "minus": {"input_cost_per_token": -1e-6, "output_cost_per_token": 2e-6},
    "nan": {"input_cost_per_token": float("nan"), "output_cost_per_token": 2e-6},
    "true": {"input_cost_per_token": True, "output_cost_per_token": 2e-6},
    "listed": [1, 2],
}
ASKING = """
import importlib, json, sys
from resay.policy import Price, Prices
from resay.providers import prices as module
from resay.core.verdict import Usage
prices = Prices({"own": Price(input=5, output=5)})
path = sys.path[:]
for folder in sys.argv[2:]:
    sys.path[:] = [folder, *path]
    importlib.invalidate_caches()
    module.litellm_entries.cache_clear()
    module._litellm_rates.cache_clear()
    costs = [prices.cost_usd(m, Usage(1, r, w, None)) for m, r, w in json.loads(sys.argv[1])]
    print(json.dumps([costs, "litellm" in sys.modules]))
"""


def asked_beside(folders: list[Path], *asked: tuple[str, int, int]) -> list[list[float | None]]:
    """Ask in a process whose litellm is in each folder in turn, and must not be imported."""
    done = subprocess.run(
        [sys.executable, "-c", ASKING, json.dumps(asked), *map(str, folders)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert not any(imported for _, imported in answers)
    return [costs for costs, _ in answers]


def installed(folder: Path, content: str | None) -> Path:
    package = folder / "litellm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('it is imported')")
    if content is not None:
        (package / "model_prices_and_context_window_backup.json").write_text(content)
    return folder


def test_litellms_list_is_read_where_it_says_something(tmp_path: Path) -> None:
    folder = installed(tmp_path, json.dumps(LIST))
    names = [name for name in LIST if name not in ("big", "long")]
    unknown = [(name, 100, 100) for name in (*names, "absent")]
    long = [("long", read, 10) for read in (100_000, 100_001, 200_000, 200_001, 400_000)]
    (costs,) = asked_beside(
        [folder], ("big", 10, 10), ("big-2025-01-31", 10, 10), ("own", 10, 10), *long, *unknown
    )
    assert costs[:3] == pytest.approx([3e-5, 3e-5, 1e-4])
    expected = [0.1 + 2e-5, 0.200002 + 3e-5, 0.4 + 3e-5, 0.600003 + 4e-5, 1.2 + 4e-5]
    assert costs[3:8] == pytest.approx(expected)
    assert costs[8:] == [None] * len(unknown)


def test_litellms_own_names_of_models_are_found(tmp_path: Path) -> None:
    rates = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}
    listed = {"big": {"litellm_provider": "maker", **rates}, "big-maker": rates}
    folder = installed(tmp_path, json.dumps(listed))
    names = ("maker/big", "maker/big-2025-01-31", "other/big", "maker/big-maker")
    (costs,) = asked_beside([folder], *((name, 10, 10) for name in names))
    assert costs == [pytest.approx(3e-5), pytest.approx(3e-5), None, None]


def test_a_list_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    contents = [None, "", "{", "[]", "[" * 100_000]
    folders = [installed(tmp_path / str(i), content) for i, content in enumerate(contents)]
    costs = asked_beside(folders, ("gpt-4.1-mini", 10, 10), ("own", 10, 0))
    assert costs == [[None, 5e-5]] * len(contents)


@pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")
def test_models_that_litellm_lists_have_their_price() -> None:
    for model in ("gpt-4o-mini", "gpt-4.1-mini-2025-04-14"):
        cost = Prices().cost_usd(model, COUNTED)
        assert cost is not None
        assert 0 < cost < 20
    for model in ("my-deployment", "sample_spec"):
        assert Prices().cost_usd(model, COUNTED) is None


# Policies


def test_a_policy_has_prices() -> None:
    policy = Policy.parse(
        "chain: [{method: ngram}]\n"
        "prices:\n"
        "  mini: {input: 0.4, output: 1.6}\n"
        "  local: {input: 0, output: 0}\n"
    )
    assert policy.prices == {"mini": MINI, "local": Price(input=0, output=0)}
    assert policy.prices.cost_usd("mini", COUNTED) == 2.0
    assert Policy.of(policy.model_dump()) == policy
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    assert policy != Policy.of(NGRAM)
    assert not Policy.of(NGRAM).prices
    assert "Price" in policy_schema()["$defs"]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("{mini: {input: -1, output: 1}}", "prices.mini.input: must be at least 0, not -1"),
        ("{mini: {input: .nan, output: 1}}", "must be a finite number, not nan"),
        ("{mini: {input: 1, output: .inf}}", "must be a finite number, not inf"),
        ("{mini: {input: '1', output: 1}}", "must be a number, not '1'; write it without quotes"),
        ("{mini: {input: true, output: 1}}", "must be a number, not true"),
        ("{mini: {input: 1}}", "prices.mini.output: required, but missing"),
        ("{mini: 3}", "prices.mini: must be a mapping, not 3"),
        ("{mini: {input: 1, output: 1, cached: 1}}", "unknown key 'cached'"),
        ("{'': {input: 1, output: 1}}", "must not be empty"),
        ("[mini]", "prices: must be a mapping, not a list"),
    ],
)
def test_wrong_prices_are_named(written: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(f"chain: [{{method: ngram}}]\nprices: {written}\n")
    assert problem in str(caught.value)
    assert "<policy>:2" in str(caught.value)


# Checks


class Counting:
    """Answers everything, and counts a thousand tokens for it."""

    def __init__(self, cost_usd: float | None = None) -> None:
        self._usage = Usage(1, 1000, 0, cost_usd)

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions((Completion("It is so, and was so before."),), self._usage)


@pytest.mark.parametrize("told", [None, 3.0])
async def test_an_answer_has_the_price_of_the_model_that_was_asked(told: float | None) -> None:
    policy = {**NGRAM, "prices": {"mini": {"input": 2, "output": 9}}}
    guard = Guard(policy, model="mini", provider=Counting(told))
    answer = await guard.aask("Is it so?")
    calls = answer.usage.calls
    assert answer.usage.cost_usd == pytest.approx(calls * 0.002)
    assert answer.verdict.usage.cost_usd == pytest.approx((calls - 1) * 0.002)
    other = await guard.aask("Is it so?", model="another")
    assert other.usage.cost_usd == (None if told is None else pytest.approx(calls * told))
    async with guard.astream("Is it so?") as stream:
        _ = [part async for part in stream]
    assert stream.answer.usage.cost_usd == pytest.approx(calls * 0.002)


async def test_a_check_stops_at_what_it_may_cost() -> None:
    policy = {
        **NGRAM,
        "sampling": {"max": 5, "min": 5, "confidence": None, "start": "after"},
        "limits": {"cost_usd": 0.003, "concurrency": 1},
        "prices": {"mini": {"input": 2, "output": 9}},
    }
    answer = await Guard(policy, model="mini", provider=Counting()).aask("Is it so?")
    assert answer.verdict.inconclusive
    assert "the check has used its $0.003" in answer.verdict.reason
    assert answer.verdict.usage.calls == 2


async def test_samples_are_found_again_whatever_they_cost() -> None:
    policy = {**NGRAM, "cache": {"store": "memory"}, "prices": {"mini": {"input": 2, "output": 9}}}
    guard = Guard(policy, model="mini", provider=Counting())
    first, second = [await guard.aask("Is it so?") for _ in range(2)]
    assert first.verdict.usage.calls > 0
    assert second.verdict.usage == Usage()
