from __future__ import annotations

import anyio
import pytest

from resay import ProviderError, Query
from resay.evidence import Samples
from resay.providers import Completion, Completions

pytestmark = pytest.mark.anyio
QUERY = Query.of("Who?", model="m")


class OneByOne:
    """Lets each request go on when the test says so."""

    def __init__(self, texts: list[str]) -> None:
        self.gates = [anyio.Event() for _ in texts]
        self.texts = texts
        self.calls = 0

    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
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
        samples.start_drawing(tasks, provider, QUERY, 3)
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
        samples.start_drawing(tasks, provider, QUERY, 3)
        assert [s.text for s in await samples.all()] == ["a", "c"]
    assert [type(e) for e in samples.failures] == [ProviderError]


async def test_a_provider_that_breaks_costs_its_samples_only() -> None:
    class Broken(OneByOne):
        async def takes_n(self, query: Query) -> bool:
            raise RuntimeError("a bug")

    samples = Samples(["given"])
    async with anyio.create_task_group() as tasks:
        samples.start_drawing(tasks, Broken([]), QUERY, 3)
        assert len(await samples.all()) == 1
    assert [type(e) for e in samples.failures] == [RuntimeError]


async def test_empty_texts_are_no_samples() -> None:
    samples = Samples(["a", " \n", "", "b"])
    assert [(s.index, s.text) for s in await samples.all()] == [(0, "a"), (1, "b")]


def test_identical_samples_are_noticed() -> None:
    assert Samples(["a", "a", "a"]).identical
    assert not Samples(["a", "a", "b"]).identical
    assert not Samples(["a"]).identical
    assert not Samples().identical


def test_a_sample_is_split_once() -> None:
    sample = Samples(["One. Two."]).landed[0]
    assert [s.text for s in sample.passage.sentences] == ["One.", "Two."]
    assert sample.passage is sample.passage
