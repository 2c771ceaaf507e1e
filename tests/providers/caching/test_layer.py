from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import pytest

from resay import ProviderError, ProviderRefusedError, Request, TokenLogprob, Usage
from resay.errors import BudgetExceededError
from resay.plugins import Completion, Completions
from resay.providers import FanOut
from resay.providers.caching import Cache, Caching, MemoryStore

pytestmark = pytest.mark.anyio
REQUEST = Request.of("Who?", model="m", params={"temperature": 0.7})
PRICE = Usage(1, 10, 5, 0.5)
FREE = Usage()


@dataclass
class Model:
    """Says which request it answers, and waits at a gate where the test has put one."""

    reply: Callable[[int, int], int | Exception] = lambda _, n: n
    n_allowed: bool = True
    gate: anyio.Event | None = None
    asked: list[tuple[int, int]] = field(default_factory=list)
    reached: anyio.Event = field(default_factory=anyio.Event)
    finish: str | None = "stop"

    async def takes_n(self, request: Request) -> bool:
        return self.n_allowed

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append((request.index, n))
        number = len(self.asked)
        self.reached.set()
        if self.gate is not None:
            await self.gate.wait()
        result = self.reply(number, n)
        if isinstance(result, Exception):
            raise result
        texts = [f"answer {number}.{i}" for i in range(result)]
        return Completions(tuple(Completion(t, self.finish, raw=object()) for t in texts), PRICE)


@pytest.fixture
def cache() -> Cache:
    return Cache(MemoryStore())


def caching(model: Model, cache: Cache, version: str = "prompt/1") -> Caching:
    return Caching(model, cache, version=version)


def texts(completions: Completions) -> list[str]:
    return [c.text for c in completions.items]


async def waiting(layer: Caching, request: Request, out: list[object]) -> None:
    """Keep what a request gives or raises."""
    try:
        out.append(await layer.complete(request))
    except ProviderError as error:
        out.append(error)


until_all_wait = anyio.wait_all_tasks_blocked


async def test_the_second_time_costs_nothing_and_says_the_same(cache: Cache) -> None:
    model = Model()
    layer = caching(model, cache)
    first = await layer.complete(REQUEST)
    second = await layer.complete(REQUEST)
    assert texts(first) == texts(second) == ["answer 1.0"]
    assert (first.usage, second.usage) == (PRICE, FREE)
    assert model.asked == [(0, 1)]
    assert first.first.raw is not None
    assert second.first.raw is None


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, tenant="b"),
        replace(REQUEST, tenant=None),
        replace(REQUEST, model="n"),
        replace(REQUEST, index=1),
        replace(REQUEST, params={"temperature": 0.8}),
        replace(REQUEST, params={"temperature": 0.7, "api_base": "http://elsewhere"}),
        replace(REQUEST, messages=({"role": "user", "content": "Whom?"},)),
    ],
    ids=["tenant", "no tenant", "model", "index", "params", "connection", "messages"],
)
async def test_everything_that_matters_is_told_apart(cache: Cache, other: Request) -> None:
    model = Model()
    layer = caching(model, cache)
    await layer.complete(replace(REQUEST, tenant="a"))
    assert texts(await layer.complete(other)) == ["answer 2.0"]


async def test_versions_and_sources_are_told_apart(cache: Cache) -> None:
    model = Model()
    await Caching(model, cache, version="prompt/1", source="x").complete(REQUEST)
    await Caching(model, cache, version="prompt/2", source="x").complete(REQUEST)
    await Caching(model, cache, version="prompt/1", source="y").complete(REQUEST)
    assert len(model.asked) == 3
    await Caching(model, cache, version="prompt/1", source="x").complete(REQUEST)
    assert len(model.asked) == 3


async def test_several_answers_are_found_one_by_one_and_the_other_way_round(cache: Cache) -> None:
    model = Model()
    layer = caching(model, cache)
    many = await layer.complete(REQUEST, n=3)
    single = [await layer.complete(replace(REQUEST, index=i)) for i in range(3)]
    assert texts(many) == [c.first.text for c in single]
    assert texts(await layer.complete(replace(REQUEST, index=1), n=2)) == texts(many)[1:]
    assert model.asked == [(0, 3)]


async def test_only_what_is_missing_is_asked_for_in_one_request(cache: Cache) -> None:
    model = Model()
    layer = caching(model, cache)
    await layer.complete(replace(REQUEST, index=1))
    got = await layer.complete(REQUEST, n=4)
    assert model.asked == [(1, 1), (0, 3)]
    assert texts(got) == ["answer 2.0", "answer 1.0", "answer 2.1", "answer 2.2"]
    assert got.usage == PRICE


async def test_more_samples_later_pay_only_for_the_new_ones(cache: Cache) -> None:
    model = Model()
    few = await FanOut(caching(model, cache)).complete(REQUEST, n=2)
    completions = await FanOut(caching(model, cache)).complete(REQUEST, n=5)
    assert texts(completions)[:2] == texts(few)
    assert len(set(texts(completions))) == 5
    assert model.asked == [(0, 2), (2, 3)]


@pytest.mark.parametrize("n_allowed", [True, False])
async def test_a_second_check_gets_the_same_samples_for_nothing(
    cache: Cache, n_allowed: bool
) -> None:
    model = Model(n_allowed=n_allowed)
    first = await FanOut(caching(model, cache)).complete(REQUEST, n=4)
    calls = len(model.asked)
    again = await FanOut(caching(model, cache)).complete(REQUEST, n=4)
    assert sorted(texts(again)) == sorted(texts(first))
    assert len(set(texts(again))) == 4
    assert again.usage == FREE
    assert len(model.asked) == calls


async def test_nothing_behind_a_gap_is_given_and_nothing_given_twice(cache: Cache) -> None:
    # A provider that answers once whatever `n` says, and 3 of 4 in the cache but the second.
    model = Model(lambda _call, _n: 1)
    layer = caching(model, cache)
    await layer.complete(replace(REQUEST, index=3))
    short = await layer.complete(REQUEST, n=4)
    assert texts(short) == ["answer 2.0"]
    full = await FanOut(layer).complete(REQUEST, n=4)
    assert len(set(texts(full))) == 4
    assert len(model.asked) == 4


async def test_too_many_answers_are_cut(cache: Cache) -> None:
    got = await caching(Model(lambda _, n: n + 2), cache).complete(REQUEST, n=2)
    assert texts(got) == ["answer 1.0", "answer 1.1"]


async def test_failures_are_not_kept(cache: Cache) -> None:
    model = Model(lambda call, n: ProviderError("broken") if call == 1 else n)
    layer = caching(model, cache)
    with pytest.raises(ProviderError, match="broken"):
        await layer.complete(REQUEST)
    assert texts(await layer.complete(REQUEST)) == ["answer 2.0"]


async def test_what_was_found_is_given_when_the_rest_fails(cache: Cache) -> None:
    broken = ProviderError("overloaded", status=503)
    model = Model(lambda call, n: n if call == 1 else broken)
    layer = caching(model, cache)
    await layer.complete(REQUEST, n=2)
    got = await FanOut(layer).complete(REQUEST, n=5)
    assert texts(got) == ["answer 1.0", "answer 1.1"]
    assert got.failures == (broken,)
    assert model.asked == [(0, 2), (2, 3)]


async def test_a_refused_n_is_asked_for_one_by_one(cache: Cache) -> None:
    refused = ProviderRefusedError("no n", status=400)
    model = Model(lambda _, n: refused if n > 1 else n)
    layer = caching(model, cache)
    await layer.complete(REQUEST)
    got = await FanOut(layer).complete(REQUEST, n=3)
    assert (len(got.items), got.failures) == (3, ())
    assert model.asked == [(0, 1), (1, 2), (1, 1), (2, 1)]


@pytest.mark.parametrize("finish", ["content_filter", "error", "SAFETY", "refusal", "no idea"])
async def test_an_answer_that_was_broken_off_is_not_kept(cache: Cache, finish: str) -> None:
    model = Model(finish=finish)
    layer = caching(model, cache)
    await layer.complete(REQUEST)
    await layer.complete(REQUEST)
    assert len(model.asked) == 2


@pytest.mark.parametrize("finish", [None, "stop", "length", "STOP", "end_turn"])
async def test_a_whole_answer_is_kept(cache: Cache, finish: str | None) -> None:
    model = Model(finish=finish)
    layer = caching(model, cache)
    await layer.complete(REQUEST)
    assert (await layer.complete(REQUEST)).first == Completion("answer 1.0", finish)
    assert len(model.asked) == 1


async def test_an_answer_without_words_is_not_kept(cache: Cache) -> None:
    await cache.put({"k": Completion(" \n"), "l": Completion("words")})
    assert await cache.get(["k", "l"]) == {"l": Completion("words")}


async def test_logprobs_are_kept(cache: Cache) -> None:
    whole = Completion("words", "stop", (TokenLogprob("words", -0.5, (119,)),))
    await cache.put({"k": whole})
    assert await cache.get(["k"]) == {"k": whole}


async def test_what_cannot_be_told_apart_is_passed_on(cache: Cache) -> None:
    model = Model()
    layer = caching(model, cache)
    query = replace(REQUEST, params={"response_format": object()})
    assert texts(await layer.complete(query, n=2)) == ["answer 1.0", "answer 1.1"]
    assert texts(await layer.complete(query)) == ["answer 2.0"]


async def test_equal_requests_at_the_same_time_pay_once(cache: Cache) -> None:
    model = Model(gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            # A layer for each, as every check has its own.
            tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        model.gate.set()
    assert model.asked == [(0, 1)]
    answers = [c for c in got if isinstance(c, Completions)]
    assert {c.first.text for c in answers} == {"answer 1.0"}
    assert sum((c.usage for c in answers), Usage()) == PRICE
    assert [c.first.raw is None for c in answers].count(False) == 1


async def test_other_tenants_ask_for_themselves(cache: Cache) -> None:
    model = Model(gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        for tenant in ("a", "b", "a"):
            query = replace(REQUEST, tenant=tenant)
            tasks.start_soon(waiting, caching(model, cache), query, got)
        await until_all_wait()
        assert len(model.asked) == 2
        model.gate.set()
    assert len(got) == 3


async def test_they_share_the_error_and_nobody_after_them_does(cache: Cache) -> None:
    broken = ProviderError("broken")
    model = Model(lambda call, n: broken if call == 1 else n, gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        model.gate.set()
    assert got == [broken] * 3
    assert model.asked == [(0, 1)]
    assert texts(await caching(model, cache).complete(REQUEST)) == ["answer 2.0"]


async def test_when_the_first_is_cancelled_one_of_the_others_takes_over(cache: Cache) -> None:
    model = Model(gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as doomed:
            doomed.start_soon(caching(model, cache).complete, REQUEST)
            await model.reached.wait()
            for _ in range(3):
                tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
            await until_all_wait()
            assert len(model.asked) == 1
            doomed.cancel_scope.cancel()
        await until_all_wait()
        assert len(model.asked) == 2
        model.gate.set()
    answers = [c for c in got if isinstance(c, Completions)]
    assert [c.first.text for c in answers] == ["answer 2.0"] * 3
    assert sum((c.usage for c in answers), Usage()) == PRICE


async def test_a_follower_that_is_cancelled_changes_nothing(cache: Cache) -> None:
    model = Model(gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await model.reached.wait()
        async with anyio.create_task_group() as doomed:
            doomed.start_soon(caching(model, cache).complete, REQUEST)
            await until_all_wait()
            doomed.cancel_scope.cancel()
        model.gate.set()
    assert [type(c) for c in got] == [Completions]
    assert model.asked == [(0, 1)]


async def test_requests_that_want_some_of_each_others_do_not_wait_for_ever(cache: Cache) -> None:
    model = Model(gate=anyio.Event())
    got: list[Completions] = []

    async def ask(index: int, n: int) -> None:
        got.append(await caching(model, cache).complete(replace(REQUEST, index=index), n=n))

    async with anyio.create_task_group() as tasks:
        for index, n in ((2, 2), (0, 4), (3, 3), (0, 6)):
            tasks.start_soon(ask, index, n)
        await until_all_wait()
        assert sorted(model.asked) == [(0, 2), (2, 2), (4, 2)]
        model.gate.set()
    assert sorted(len(c.items) for c in got) == [2, 3, 4, 6]
    assert len({text for c in got for text in texts(c)}) == 6


async def test_one_who_waits_for_what_was_left_out_asks_for_it(cache: Cache) -> None:
    model = Model(lambda _call, _n: 1, gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(caching(model, cache).complete, REQUEST, n=3))
        await model.reached.wait()
        tasks.start_soon(waiting, caching(model, cache), replace(REQUEST, index=2), got)
        await until_all_wait()
        model.gate.set()
    assert model.asked == [(0, 3), (2, 1)]
    assert [texts(c) for c in got if isinstance(c, Completions)] == [["answer 2.0"]]


async def test_one_who_wants_one_answer_does_not_share_a_refused_n(cache: Cache) -> None:
    refused = ProviderRefusedError("no n", status=400)
    model = Model(lambda _, n: refused if n > 1 else n, gate=anyio.Event())
    got: list[object] = []

    async def many() -> None:
        with pytest.raises(ProviderRefusedError):
            await caching(model, cache).complete(REQUEST, n=3)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(many)
        await model.reached.wait()
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        model.gate.set()
    assert [type(c) for c in got] == [Completions]


async def test_one_whose_budget_is_used_up_does_not_speak_for_others(cache: Cache) -> None:
    spent = BudgetExceededError("the check has used its calls")
    model = Model(lambda call, n: spent if call == 1 else n, gate=anyio.Event())
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await model.reached.wait()
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        model.gate.set()
    assert got[0] is spent
    assert isinstance(got[1], Completions)


async def test_one_who_comes_while_the_answer_is_being_kept_does_not_pay() -> None:
    store = SlowStore()
    cache, model = Cache(store), Model()
    got: list[object] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await store.writing.wait()
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        store.go_on.set()
    assert len(got) == 2
    assert len(model.asked) == 1


async def test_an_answer_is_given_on_although_keeping_it_is_cancelled() -> None:
    store = SlowStore()
    cache, model = Cache(store), Model()
    got: list[object] = []
    async with anyio.create_task_group() as tasks, anyio.create_task_group() as doomed:
        doomed.start_soon(caching(model, cache).complete, REQUEST)
        await store.writing.wait()
        tasks.start_soon(waiting, caching(model, cache), REQUEST, got)
        await until_all_wait()
        doomed.cancel_scope.cancel()
    assert [texts(c) for c in got if isinstance(c, Completions)] == [["answer 1.0"]]
    assert len(model.asked) == 1


class SlowStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.writing = anyio.Event()
        self.go_on = anyio.Event()

    async def set_many(self, entries: dict[str, bytes]) -> None:
        self.writing.set()
        await self.go_on.wait()
        await super().set_many(entries)


def test_several_loops_share_the_answers_and_not_each_others_waiting() -> None:
    cache = Cache(MemoryStore())
    both = threading.Barrier(2, timeout=30)
    got: list[Completions] = []

    @dataclass
    class Meets(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            # Gets past only when the other loop asks at the same time.
            await anyio.to_thread.run_sync(both.wait)
            return await super().complete(request, n=n)

    async def ask() -> None:
        model = Meets()
        got.append(await caching(model, cache).complete(REQUEST))
        got.append(await caching(model, cache).complete(REQUEST))
        assert len(model.asked) == 1

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4

    async def later() -> Completions:
        return await caching(Model(lambda *_: ProviderError("not asked")), cache).complete(REQUEST)

    assert asyncio.run(later()).usage == FREE
