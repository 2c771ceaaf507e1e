from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from resay import ProviderError, Request
from resay.plugins import Completion, Completions, Samples
from resay.scorers.gathering import Gathering

pytestmark = pytest.mark.anyio
REQUEST = Request.of("Who?", model="m")


class OneByOne:
    """Lets each request go on when the test says so."""

    def __init__(self, texts: list[str]) -> None:
        self.gates = [anyio.Event() for _ in texts]
        self.texts = texts
        self.calls = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        number = self.calls
        self.calls += 1
        await self.gates[number].wait()
        if not self.texts[number]:
            raise ProviderError("broken")
        return Completions((Completion(self.texts[number]),))


async def test_everybody_sees_every_sample_as_it_lands_and_each_is_drawn_once() -> None:
    provider = OneByOne(["a", "b", "c"])
    samples = Samples()
    seen: list[list[str]] = [[], []]
    news = [anyio.Event() for _ in provider.texts]

    async def watch(who: int) -> None:
        async for sample in samples:
            seen[who].append(sample.text)
            if who == 1:
                news[sample.index].set()

    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=3)
        tasks.start_soon(watch, 0)
        tasks.start_soon(watch, 1)
        for landed, number in enumerate((1, 0, 2)):
            provider.gates[number].set()
            await news[landed].wait()
            assert len(samples) == landed + 1
    assert seen == [["b", "a", "c"], ["b", "a", "c"]]
    assert provider.calls == 3
    assert [s.text for s in await samples.all()] == ["b", "a", "c"]


async def test_failures_are_kept_and_the_pool_closes() -> None:
    provider = OneByOne(["a", "", "c"])
    for gate in provider.gates:
        gate.set()
    samples = Samples()
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=3)
        assert [s.text for s in await samples.all()] == ["a", "c"]
    assert [type(e) for e in samples.failures] == [ProviderError]


async def test_a_provider_that_breaks_costs_its_samples_only() -> None:
    class Broken(OneByOne):
        async def takes_n(self, request: Request) -> bool:
            raise RuntimeError("a bug")

    samples = Samples(["given"])
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, Broken([]), REQUEST, max_requests=3)
        assert len(await samples.all()) == 1
    assert [type(e) for e in samples.failures] == [RuntimeError]


async def test_empty_texts_are_no_samples() -> None:
    samples = Samples(["a", " \n", "", "b"])
    assert [(s.index, s.text) for s in await samples.all()] == [(0, "a"), (1, "b")]


def test_identical_samples_are_noticed() -> None:
    long = "The bridge was opened in 1932, and six lanes of traffic cross it."
    assert Samples([long, long, long]).all_identical
    assert not Samples([long, long, "It was opened in 1932."]).all_identical
    assert not Samples([long]).all_identical
    assert not Samples().all_identical
    # Independent answers of a word or two are the same.
    assert not Samples(["Paris.", "Paris.", "Paris."]).all_identical


def test_a_sample_is_split_once() -> None:
    sample = Samples(["One. Two."]).arrived[0]
    assert [s.text for s in sample.passage.sentences] == ["One.", "Two."]
    assert sample.passage is sample.passage


class Numbered:
    """Answers at once with the index asked for; an index it lacks fails."""

    def __init__(self, lacking: tuple[int, ...] = ()) -> None:
        self.lacking = lacking
        self.asked: list[int] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request.index)
        await anyio.lowlevel.checkpoint()
        if request.index in self.lacking:
            raise ProviderError("broken")
        return Completions((Completion(f"answer {request.index}"),))


async def first(samples: Samples, count: int, after: int = 0) -> list[str]:
    return [sample.text async for sample in samples.first(count, after=after)]


async def test_nothing_is_drawn_before_somebody_wants_it() -> None:
    provider, samples = Numbered(), Samples()
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=10)
        assert samples.available == 10
        await anyio.wait_all_tasks_blocked()
        assert provider.asked == []
        assert await first(samples, 2) == ["answer 0", "answer 1"]
        assert await first(samples, 3, after=1) == ["answer 1", "answer 2"]
        assert provider.asked == [0, 1, 2]
        assert samples.available == 10


async def test_failed_samples_are_drawn_again_within_the_limit() -> None:
    provider, samples = Numbered(lacking=(0, 1, 2)), Samples()
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=5)
        assert await first(samples, 2) == ["answer 3", "answer 4"]
        assert await first(samples, 5) == ["answer 3", "answer 4"]
        assert samples.available == 2
    assert sorted(provider.asked) == [0, 1, 2, 3, 4]
    assert len(samples.failures) == 3


async def test_some_can_be_drawn_ahead() -> None:
    provider, samples = Numbered(), Samples()
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=10, ahead=2)
        await first(samples, 3)
        await anyio.wait_all_tasks_blocked()
        assert sorted(provider.asked) == [0, 1, 2, 3, 4]


async def test_a_cancelled_drawing_asks_for_nothing_more() -> None:
    class Never(Numbered):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.asked.append(request.index)
            await anyio.sleep_forever()
            raise AssertionError

    provider, samples = Never(), Samples()
    async with anyio.create_task_group() as tasks:
        samples.draw_from(tasks, provider, REQUEST, max_requests=10)
        samples.start_drawing(3)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert sorted(provider.asked) == [0, 1, 2]
    assert samples.available == 0


async def test_texts_that_arrive_during_a_call_share_the_next_call() -> None:
    gathering, asked = Gathering(), list[list[str]]()
    begun, go = anyio.Event(), anyio.Event()

    async def ask(texts: Sequence[str]) -> list[str]:
        asked.append(list(texts))
        begun.set()
        await go.wait()
        return [text.upper() for text in texts]

    results: dict[str, Sequence[str]] = {}

    async def want(*texts: str) -> None:
        results["".join(texts)] = await gathering.ask("judge", texts, ask)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(want, "a")
        await begun.wait()
        for texts in (("b", "c"), ("d",)):
            tasks.start_soon(want, *texts)
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert asked == [["a"], ["b", "c", "d"]]
    assert results == {"a": ["A"], "bc": ["B", "C"], "d": ["D"]}


async def test_cancelled_callers_let_the_others_continue() -> None:
    gathering, asked = Gathering(), list[list[str]]()

    async def ask(texts: Sequence[str]) -> list[str]:
        asked.append(list(texts))
        if len(asked) == 1:
            await anyio.Event().wait()
        return [text.upper() for text in texts]

    results: dict[str, Sequence[str]] = {}
    scopes = [anyio.CancelScope() for _ in range(3)]

    async def want(text: str, scope: anyio.CancelScope) -> None:
        with scope:
            results[text] = await gathering.ask("judge", [text], ask)

    async with anyio.create_task_group() as tasks:
        for text, scope in zip("abc", scopes, strict=True):
            tasks.start_soon(want, text, scope)
        await anyio.wait_all_tasks_blocked()
        # Another source has a queue of its own.
        assert await gathering.ask("other", ["x"], ask) == ["X"]
        scopes[2].cancel()
        scopes[0].cancel()
    assert results == {"b": ["B"]}
    assert asked == [["a", "b", "c"], ["x"], ["b"]]
