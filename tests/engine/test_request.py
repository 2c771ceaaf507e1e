from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from resay import Guard, Request, Usage
from resay.plugins import Completion, Completions
from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
QUESTION = "Tell me about the Sydney Harbour Bridge."
NO_CACHE = {"cache": {"store": "none"}}
ALL = {"confidence": None}


class Priced:
    """Answers at a price, and keeps what it was asked in order."""

    def __init__(self, price: float | None = 0.01) -> None:
        self.price = price
        self.log: list[str] = []
        self.open = 0
        self.most_open = 0
        self.gate: anyio.Event | None = None

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        kind = "judge" if request.question.startswith("Context:") else "sample"
        kind = "main" if request.params.get("seed") else kind
        self.log.append(kind)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await anyio.lowlevel.checkpoint()
            if kind != "main" and self.gate is not None:
                await self.gate.wait()
        finally:
            self.open -= 1
        texts = {"main": "One is. Two is.", "judge": "Yes", "sample": f"Three, {request.index}."}
        return Completions((Completion(texts[kind]),), Usage(1, 10, 5, self.price))


def guarded(provider: Priced, **policy: Any) -> Guard:
    return Guard(
        {"chain": [{"method": "prompt", "form": "published"}], **NO_CACHE, **policy},
        provider=provider,
    )


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"calls": 7}, "the check has used its 7 calls; raise `limits.calls`"),
        ({"tokens": 100}, "the check has used its 100 tokens; raise `limits.tokens`"),
        ({"cost_usd": 0.05}, "the check has used its $0.05; raise `limits.cost_usd`"),
    ],
)
async def test_a_limit_ends_the_check_and_keeps_the_answer(
    limits: Mapping[str, Any], reason: str
) -> None:
    provider = Priced()
    guard = guarded(provider, sampling=ALL, limits={"concurrency": 1, **limits})
    answer = await guard.aask(QUESTION, params={"seed": 1})
    assert answer.text == "One is. Two is."
    assert answer.verdict.decision == "inconclusive"
    assert answer.verdict.reason == reason
    assert answer.verdict.usage.calls == len(provider.log) - 1 < 5 + 10
    limits = {"concurrency": 1, **limits}
    withheld = guarded(Priced(), sampling=ALL, limits=limits, on_error="block")
    assert (await withheld.aask(QUESTION, params={"seed": 1})).blocked


class Long(Priced):
    """Says so many sentences, and takes so many tokens for each call."""

    def __init__(self, sentences: int, tokens: int) -> None:
        super().__init__(price=None)
        self.sentences, self.tokens = sentences, tokens

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        answered = await super().complete(request, n=n)
        usage = Usage(1, self.tokens, 0, None)
        if not request.params.get("seed"):
            return Completions(answered.items, usage)
        text = " ".join(f"It has part {i}." for i in range(self.sentences))
        return Completions((Completion(text),), usage)


@pytest.mark.parametrize(
    ("sentences", "samples", "tokens", "question", "reason"),
    [
        # What the longest passages of WikiBio take with the published 20 samples, and a third more.
        (13, 20, 400, QUESTION, None),
        (210, 5, 10, QUESTION, r"its 1,000 calls for an answer of 210 claims; .*`limits\.calls`"),
        (60, 5, 2000, QUESTION, r"its 500,\d\d\d tokens for an .* raise `limits\.tokens`"),
        (1, 5, 20_000, QUESTION, r"its 60,\d\d\d tokens for an answer of 1 claim; raise"),
        # Who asks a long question pays for it with each sample.
        (1, 5, 20_000, f"{QUESTION} {'long ' * 16_000}", None),
    ],
)
async def test_an_answer_cannot_make_a_check_spend_without_end(
    sentences: int, samples: int, tokens: int, question: str, reason: str | None
) -> None:
    sampling = {**ALL, "max": samples}
    verdict = (
        await guarded(Long(sentences, tokens), sampling=sampling).aask(question, params={"seed": 1})
    ).verdict
    assert verdict.decision == ("inconclusive" if reason else "consistent")
    assert re.search(reason or "every sentence <= 0.50", verdict.reason)
    if reason:
        unlimited = {"calls": None, "tokens": None}
        guard = guarded(Long(sentences, tokens), sampling=sampling, limits=unlimited)
        whole = (await guard.aask(question, params={"seed": 1})).verdict
        assert whole.decision == "consistent"
        assert verdict.usage.calls < whole.usage.calls == samples * (sentences + 1)


async def test_a_stream_is_allowed_what_its_sentences_take() -> None:
    guard = guarded(Long(40, 10), sampling=ALL)
    async with guard.astream(QUESTION, stream_mode="hold", params={"seed": 1}) as stream:
        assert [part.text async for part in stream]
    assert stream.answer.verdict.decision == "consistent"
    assert stream.answer.verdict.usage.calls == 5 * 41
    async with guarded(Long(1, 20_000), sampling=ALL).astream(
        QUESTION, params={"seed": 1}
    ) as stream:
        assert [part.text async for part in stream]
    reason = r"its 60,\d\d\d tokens for an answer of 1 claim; raise"
    assert re.search(reason, stream.answer.verdict.reason)


async def test_the_last_call_that_is_allowed_is_no_limit_hit() -> None:
    provider = Priced()
    answer = await guarded(provider, sampling=ALL, limits={"calls": 15}).aask(
        QUESTION, params={"seed": 1}
    )
    assert answer.verdict.decision == "consistent"
    assert answer.verdict.usage == Usage(15, 150, 75, pytest.approx(0.15))


async def test_a_cost_limit_nobody_can_keep_is_told() -> None:
    guard = guarded(Priced(price=None), sampling=ALL, limits={"cost_usd": 1.0})
    answer = await guard.aask(QUESTION, params={"seed": 1}, model="openai/unheard-of")
    assert answer.verdict.inconclusive
    assert "the price of 'openai/unheard-of' is unknown" in answer.verdict.reason


async def test_scores_so_far_are_told_with_the_limit() -> None:
    answer = await guarded(Priced(), sampling=ALL, limits={"calls": 13, "concurrency": 1}).aask(
        QUESTION, params={"seed": 1}
    )
    assert answer.verdict.inconclusive
    assert [s.score for s in answer.verdict.sentences] == [0.0, 0.0]


async def test_one_check_keeps_to_its_concurrency() -> None:
    provider = Priced()
    await guarded(provider, sampling=ALL, limits={"concurrency": 2}).aask(
        QUESTION, params={"seed": 1}
    )
    # The main call is the user's own.
    assert provider.most_open <= 3


async def test_all_checks_keep_to_the_limits_of_the_process() -> None:
    provider = Priced()
    guard = guarded(provider, sampling=ALL, limits={"process": {"concurrency": 2}})
    judged: list[bool] = []

    async def check() -> None:
        verdict = await guard.acheck("One is.", question=QUESTION)
        judged.append(verdict.inconclusive)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(check)
    assert judged == [False] * 5
    assert provider.most_open == 2


async def test_nothing_runs_on_and_what_was_cancelled_is_counted() -> None:
    provider = Priced()
    provider.gate = anyio.Event()
    guard = guarded(provider, limits={"deadline_s": 0.2})
    answer = await guard.aask(QUESTION, params={"seed": 1})
    assert answer.verdict.inconclusive
    assert provider.open == 0
    usage = answer.verdict.usage
    assert usage.calls == usage.cancelled == 5
    assert usage.cost_usd is None


async def test_unneeded_early_samples_are_cancelled_at_an_estimated_price() -> None:
    class Ahead(Priced):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.index >= 3:
                self.log.append("sample")
                await anyio.sleep_forever()
            return await super().complete(request, n=n)

    provider = Ahead()
    guard = guarded(provider, sampling={"max": 9, "ahead": 4})
    answer = await guard.aask(QUESTION, params={"seed": 1})
    usage = answer.verdict.usage
    assert answer.verdict.samples == 3
    assert usage.cancelled == 4
    assert usage.calls == 3 + 4 + 6
    assert usage.cost_usd == pytest.approx(13 * 0.01)
    assert usage.tokens == 9 * 15


@pytest.mark.parametrize(
    "params",
    [
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"web_search_options": {"search_context_size": "low"}},
        {"previous_response_id": "r1"},
    ],
)
async def test_requests_with_side_effects_are_not_sampled_early(params: Any) -> None:
    class Main(Priced):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.params.get("seed"):
                await anyio.wait_all_tasks_blocked()
                assert self.log == []
            return await super().complete(request, n=n)

    provider = Main()
    answer = await guarded(provider).aask(QUESTION, params={"seed": 1, **params})
    assert provider.log[0] == "main"
    assert answer.verdict.samples >= 3


async def test_samples_start_together_with_the_main_call() -> None:
    class Main(Priced):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.params.get("seed"):
                await anyio.wait_all_tasks_blocked()
                assert self.log.count("sample") == 5
            return await super().complete(request, n=n)

    provider = Main()
    await guarded(provider).aask(QUESTION, params={"seed": 1})
    assert provider.log.count("main") == 1


async def test_equal_questions_are_sampled_and_judged_once(simulated: SimulatedProvider) -> None:
    guard = Guard({"chain": [{"method": "ngram"}]}, model=MODEL)
    first = await guard.aask(QUESTION, params=simulated.params)
    assert (first.usage.calls, first.verdict.usage.calls) == (2, 1)
    again = await guard.aask(QUESTION, params=simulated.params)
    assert (again.usage.calls, again.verdict.usage.calls) == (1, 0)
    assert again.verdict.samples == 5
    other = await guard.aask(QUESTION, tenant="somebody else", params=simulated.params)
    assert other.verdict.usage.calls == 1


async def test_judges_answers_are_kept_for_each_tenant(simulated: SimulatedProvider) -> None:
    guard = Guard({"chain": [{"method": "zero_shot"}]}, model=MODEL)
    calls = []
    for tenant in (None, None, "a", "a", "b"):
        verdict = await guard.acheck(
            "It opened in 1932.", question=QUESTION, tenant=tenant, params=simulated.params
        )
        calls.append(verdict.usage.calls)
    assert calls == [1, 0, 1, 0, 1]
