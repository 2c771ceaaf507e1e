from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.errors import ScorerError
from resay.models.batching import Batcher, Batching, pack

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Text:
    """An item whose length is its number of tokens."""

    text: str

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class Work:
    item: Text


class Model:
    """Counts what it is given, and stands still when it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.go.set()
        self.began = threading.Event()

    def run(self, items: Sequence[Text]) -> list[str]:
        self.began.set()
        assert self.go.wait(30)
        self.batches.append([item.text for item in items])
        if any("bad" in item.text for item in items):
            raise ZeroDivisionError("the words of the text")
        return [item.text.upper() for item in items]

    @property
    def seen(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


@pytest.fixture
def worker() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.go.set()


def batcher(model: Model, worker: ThreadPoolExecutor, **settings: float) -> Batcher[Text, str]:
    return Batcher(model.run, len, worker, Batching(**{"window_s": 0.0, **settings}))  # type: ignore[arg-type] - numbers of both kinds


def texts(*of: str) -> list[Text]:
    return [Text(text) for text in of]


async def test_results_come_in_the_order_of_the_items(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker)
    assert await run.map(texts("a", "ccc", "bb", "a")) == ["A", "CCC", "BB", "A"]
    assert await run.map([]) == []


async def test_what_is_asked_twice_is_computed_once(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker)
    model.go.clear()
    together = [asyncio.create_task(run.map(texts("a", "b", "a"))) for _ in range(3)]
    await asyncio.to_thread(model.began.wait, 30)
    model.go.set()
    assert await asyncio.gather(*together) == [["A", "B", "A"]] * 3
    assert await run.map(texts("b")) == ["B"]  # kept
    assert sorted(model.seen) == ["a", "b"]


async def test_without_a_cache_nothing_is_kept(model: Model, worker: ThreadPoolExecutor) -> None:
    run = batcher(model, worker, cache_bytes=0)
    await run.map(texts("a"))
    await run.map(texts("a"))
    assert model.seen == ["a", "a"]


async def test_the_least_recently_used_is_forgotten_first(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker, cache_bytes=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await run.map(texts(text))
    assert model.seen == ["a", "b", "c", "b"]


async def test_those_who_wait_together_are_computed_together(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker, window_s=20.0, batch_tokens=1, batch_items=8, padding=1.0)
    # The window ends early once there is a round's worth of work.
    results = await asyncio.gather(*(run.map(texts(chr(97 + i))) for i in range(8)))
    assert results == [[chr(65 + i)] for i in range(8)]
    assert len(model.batches) == 8  # of one token each, as the settings say
    model.batches.clear()
    run = batcher(model, worker, window_s=20.0, batch_tokens=8, padding=1.0)
    await asyncio.gather(*(run.map(texts(chr(97 + i) * 8)) for i in range(8)))
    assert len(model.batches) == 8


async def test_a_bad_item_costs_only_those_who_asked_for_it(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker)
    model.go.clear()
    good = asyncio.create_task(run.map(texts("good")))
    await asyncio.to_thread(model.began.wait, 30)
    both = [asyncio.create_task(run.map(texts(*names))) for names in (("bad",), ("fine", "well"))]
    await asyncio.sleep(0)
    model.go.set()
    assert await good == ["GOOD"]
    assert await both[1] == ["FINE", "WELL"]
    with pytest.raises(ScorerError, match="the model failed with ZeroDivisionError") as caught:
        await both[0]
    assert "words" not in str(caught.value)
    with pytest.raises(ScorerError):  # a failure is not kept
        await run.map(texts("bad"))
    assert model.seen.count("bad") >= 2


async def test_what_nobody_waits_for_is_not_computed(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker)
    model.go.clear()
    first = asyncio.create_task(run.map(texts("first")))
    await asyncio.to_thread(model.began.wait, 30)
    gone = asyncio.create_task(run.map(texts("gone", "shared")))
    stays = asyncio.create_task(run.map(texts("shared")))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    model.go.set()
    assert await first == ["FIRST"]
    assert await stays == ["SHARED"]
    assert "gone" not in model.seen
    assert await run.map(texts("gone")) == ["GONE"]


async def test_a_full_queue_lets_nobody_in(model: Model, worker: ThreadPoolExecutor) -> None:
    run = batcher(model, worker, queue_tokens=10, batch_tokens=10)
    model.go.clear()
    running = asyncio.create_task(run.map(texts("aaaaaaaa")))
    await asyncio.to_thread(model.began.wait, 30)
    waiting = asyncio.create_task(run.map(texts("bbbb", "cccc")))
    await asyncio.sleep(0)
    assert run._queued == 0  # it may not even queue
    waiting.cancel()
    last = asyncio.create_task(run.map(texts("dddd")))
    model.go.set()
    assert await running == ["AAAAAAAA"]
    assert await last == ["DDDD"]
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert "bbbb" not in model.seen


async def test_a_request_larger_than_the_queue_goes_in_bit_by_bit(
    model: Model, worker: ThreadPoolExecutor
) -> None:
    run = batcher(model, worker, queue_tokens=10, batch_tokens=10)
    items = [f"{i:04}" for i in range(50)]
    assert await asyncio.wait_for(run.map(texts(*items)), 30) == items


def test_several_event_loops_share_one_model(model: Model, worker: ThreadPoolExecutor) -> None:
    run = batcher(model, worker, queue_tokens=40)
    results: dict[int, list[str]] = {}

    def use(number: int) -> None:
        items = texts(*(f"{number % 4}-{i}" for i in range(40)))
        results[number] = asyncio.run(run.map(items))

    threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {n: [f"{n % 4}-{i}" for i in range(40)] for n in range(8)}
    assert len(model.seen) == len(set(model.seen)) == 160


lengths = st.lists(st.integers(1, 40), max_size=40)


@given(lengths, st.integers(1, 100), st.integers(1, 8), st.floats(0, 1))
def test_batches_keep_within_the_settings(
    sizes: list[int], tokens: int, items: int, padding: float
) -> None:
    settings = Batching(batch_tokens=tokens, batch_items=items, padding=padding)
    work = [Work(Text("x" * size)) for size in sizes]
    batches = list(pack(work, settings))
    assert sorted(len(w.item) for b in batches for w in b) == sorted(sizes)
    for batch in batches:
        longest = max(len(w.item) for w in batch)
        area = longest * len(batch)
        assert len(batch) <= items
        assert area <= tokens or len(batch) == 1
        assert area - sum(len(w.item) for w in batch) <= area * padding + 1e-9


def test_equal_lengths_go_together() -> None:
    work = [Work(Text("x" * size)) for size in (3, 30, 3, 30, 3)]
    batches = list(pack(work, Batching(batch_tokens=1000, padding=0.1)))
    assert [[len(w.item) for w in batch] for batch in batches] == [[30, 30], [3, 3, 3]]


async def test_a_network_with_lanes_computes_as_many_batches_at_a_time(
    worker: ThreadPoolExecutor,
) -> None:
    both_began = threading.Barrier(2)

    def run(items: Sequence[Text]) -> list[str]:
        both_began.wait(30)
        if items[0].text == "bad":
            raise ZeroDivisionError("the words of the text")
        return [item.text.upper() for item in items]

    settings = Batching(window_s=0.0, batch_items=1, cache_bytes=0)
    of_two = Batcher(run, len, worker, settings, lanes=2)
    assert await of_two.map(texts("a", "bb", "ccc", "dddd")) == ["A", "BB", "CCC", "DDDD"]
    with pytest.raises(ScorerError, match="ZeroDivisionError"):
        await of_two.map(texts("fine", "bad"))
