from __future__ import annotations

import pickle
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from resay import Guard, Policy, PolicyError, Request, Sources, Verdict
from resay.adapters import CheckContext, GuardRuntime
from resay.adapters.policies import guard_of
from resay.adapters.providers import BatchCallsConfig, ReplayProvider
from resay.errors import ConfigurationError
from resay.providers.batching.layer import BatchProvider
from simulation import SimulatedProvider
from support.batch_apis import WAIT_S, BatchServer, Fate, once_idle

pytestmark = pytest.mark.anyio
needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")

OPENAI, ANTHROPIC = "openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"
TRUE = "The Sydney Harbour Bridge opened in 1932."
QUESTIONS = [f"When did bridge number {i} open?" for i in range(4)]


def policy(folder: Path, **sections: Any) -> dict[str, Any]:
    calls = {"via": "batch", "state": str(folder / "batches.db"), "wait_s": WAIT_S, "poll_s": 0.0}
    return {
        "chain": [{"method": "ngram"}],
        "sampling": {"max": 3, "confidence": None},
        "cache": {"store": "none"},
        "calls": calls,
        **sections,
    }


def guard_in_batches(policy: Mapping[str, Any], **settings: Any) -> Guard:
    """Return a guard that submits once nothing more can come."""
    config = BatchCallsConfig(**policy["calls"], **settings)
    return Guard(policy, provider=BatchProvider(config, sleep=once_idle))


def base(server: BatchServer, model: str) -> str:
    return server.root if model == ANTHROPIC else f"{server.root}/v1"


async def check_all(guard: Guard, server: BatchServer, model: str) -> list[Verdict]:
    verdicts: list[Verdict] = []
    params = {"api_base": base(server, model), "api_key": "sk-x"}

    async def check(question: str) -> None:
        verdicts.append(await guard.acheck(TRUE, question=question, model=model, params=params))

    async with anyio.create_task_group() as tasks:
        for question in QUESTIONS:
            tasks.start_soon(check, question)
    return verdicts


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
async def test_many_checks_share_batches_and_pay_half(tmp_path: Path, model: str) -> None:
    prices = {model: {"input": 1000.0, "output": 10_000.0}}
    # Whoever asks live would be far too late.
    limits = {"deadline_s": 0.0001, "timeout_s": 0.0001, "concurrency": 1}
    limits["process"] = {"concurrency": 1, "calls_per_minute": 1}
    batch_policy = policy(tmp_path, prices=prices, limits=limits)
    with BatchServer(lambda *_: TRUE) as server:
        verdicts = await check_all(guard_in_batches(batch_policy), server, model)
    assert [(v.decision, v.samples, v.via) for v in verdicts] == [("consistent", 3, "batch")] * 4
    assert sum(len(made.requests) for made in server.batches) == 12
    assert len(server.batches) == 1
    # 100 tokens read and 10 written, three times: $0.20 each live.
    assert [v.usage.cost_usd for v in verdicts] == [pytest.approx(0.3)] * 4
    assert [(v.usage.calls, v.usage.cancelled) for v in verdicts] == [(3, 0)] * 4


@needs_litellm
async def test_litellms_prices_are_halved_too(tmp_path: Path) -> None:
    batch_policy = policy(tmp_path)
    with BatchServer(lambda *_: TRUE) as server:
        halves = [
            v.usage.cost_usd
            for v in await check_all(guard_in_batches(batch_policy), server, OPENAI)
        ]
    # $0.40 and $1.60 for a million, in batches half of it.
    assert halves == [pytest.approx(3 * 0.5 * (100 * 0.4 + 10 * 1.6) / 1_000_000)] * 4


async def test_judges_are_asked_in_batches(tmp_path: Path) -> None:
    def fate(body: Mapping[str, Any], _: int) -> Fate:
        judges = body["model"] == "gpt-4.1"
        return "Yes" if judges else TRUE

    with BatchServer(fate) as server:
        params = {"api_base": f"{server.root}/v1", "api_key": "sk-x"}
        judge = {"model": "openai/gpt-4.1", "params": params}
        batch_policy = policy(
            tmp_path, chain=[{"method": "prompt", "mode": "per_pair", "judge": judge}]
        )
        verdicts = await check_all(guard_in_batches(batch_policy), server, OPENAI)
    assert {v.decision for v in verdicts} == {"consistent"}
    models = {
        body["model"] for number in range(len(server.batches)) for body in server.sent(number)
    }
    assert models == {"gpt-4.1", "gpt-4.1-mini"}


async def test_a_failed_batch_leaves_a_check_inconclusive(tmp_path: Path) -> None:
    with BatchServer(ends=["failed:invalid"] * 20) as server:
        verdicts = await check_all(guard_in_batches(policy(tmp_path)), server, OPENAI)
    assert {v.decision for v in verdicts} == {"inconclusive"}


async def test_a_budget_counts_what_is_in_batches(tmp_path: Path) -> None:
    with BatchServer(lambda *_: TRUE) as server:
        batch_policy = policy(tmp_path, limits={"calls": 2})
        verdicts = await check_all(guard_in_batches(batch_policy), server, OPENAI)
    assert {v.usage.calls for v in verdicts} == {2}


async def test_only_recorded_answers_can_be_checked(tmp_path: Path) -> None:
    guard = Guard(policy(tmp_path), model=OPENAI)
    message = "`calls.via` is 'batch'"
    with pytest.raises(ConfigurationError, match=message):
        await guard.aask("Who built it?")
    with pytest.raises(ConfigurationError, match=message):
        guard.astream("Who built it?")
    context, sources = CheckContext(Request.of("Who built it?")), Sources.all(ReplayProvider({}))
    with pytest.raises(ConfigurationError, match=message):
        await GuardRuntime(guard).aask_with(context, sources)
    with pytest.raises(ConfigurationError, match=message):
        await GuardRuntime(guard).acheck_with(TRUE, context, sources)
    # An adapter, or the gateway.
    for given in (guard, guard.policy):
        with pytest.raises(ConfigurationError, match=message):
            guard_of(given)


async def test_a_provider_of_ones_own_has_no_batches(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'ReplayProvider'"):
        Guard(policy(tmp_path), provider=ReplayProvider({}))


async def test_a_provider_of_batches_can_be_given(tmp_path: Path) -> None:
    live = policy(tmp_path)
    calls = BatchCallsConfig(**live.pop("calls"))
    with BatchServer(lambda *_: TRUE) as server:
        guard = Guard(live, provider=BatchProvider(calls, sleep=once_idle))
        assert {v.via for v in await check_all(guard, server, OPENAI)} == {"batch"}


async def test_guards_of_equal_policies_share_what_they_ask(tmp_path: Path) -> None:
    batch_policy = policy(tmp_path)
    batch_policy["calls"]["wait_s"] = 0.0
    verdicts: list[Verdict] = []

    async def check() -> None:
        verdicts.extend(await check_all(Guard(batch_policy), server, OPENAI))

    with BatchServer(lambda *_: TRUE) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(check)
            tasks.start_soon(check)
    assert [v.via for v in verdicts] == ["batch"] * 8
    assert sum(len(made.requests) for made in server.batches) == 12


@pytest.mark.parametrize(
    ("sampling", "batches"), [({"confidence": None}, 2), ({}, 2), ({"ahead": 0}, 4)]
)
async def test_a_round_of_the_default_policy_is_a_batch(
    tmp_path: Path, simulated: SimulatedProvider, sampling: dict[str, Any], batches: int
) -> None:
    default = Policy.default().model_dump()
    batch_policy = policy(
        tmp_path, chain=default["chain"], sampling={**default["sampling"], **sampling}
    )
    text = (
        "The Sydney Harbour Bridge opened in 1932. It was designed by John Bradfield. It carries"
        " rail and road. It has 31 lamps."
    )
    guard = guard_in_batches(batch_policy)

    async def check(number: int) -> None:
        question = f"Tell me about the Sydney Harbour Bridge ({number})."
        verdict = await guard.acheck(text, question=question, model=OPENAI, params=simulated.params)
        assert verdict.decision in ("consistent", "flagged")

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(check, number)
    made = [record for record in simulated.requests if record.path == "/v1/batches"]
    assert len(made) == batches


async def test_samples_that_are_there_need_no_batch(tmp_path: Path) -> None:
    guard = pickle.loads(pickle.dumps(Guard(policy(tmp_path))))
    await GuardRuntime(guard).aprepare()
    verdict = await guard.acheck(TRUE, samples=[TRUE] * 3)
    assert (verdict.decision, verdict.via) == ("consistent", None)


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ("{via: batch}", "state"),
        ("{via: batch, state: ''}", "state"),
        ("{via: batch, state: s.db, retries: -1}", "retries"),
        ("{via: live, state: s.db}", "state"),
        ("{via: post}", "via"),
    ],
)
def test_a_policy_says_what_is_wrong_with_its_calls(calls: str, problem: str) -> None:
    with pytest.raises(PolicyError, match=rf"calls\S*{problem}"):
        Policy.parse(f"chain: [{{method: ngram}}]\ncalls: {calls}\n")
