from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Request, TokenLogprob, Usage
from resay.adapters import last_reported
from resay.adapters.providers import Metered, Price, Prices, ReplayProvider
from resay.plugins import Chunk, Completion, Completions, Layer, Streams, ToolCall
from resay.providers import Gathered, begin_stream, open_stream
from resay.providers.base import with_counted_tokens
from resay.providers.metering import Priced

# The values


def test_chunks_make_a_completion() -> None:
    first, second = TokenLogprob("Yes", -0.1), TokenLogprob(".", -0.2)
    gathered = Gathered()
    assert (gathered.completion, gathered.usage) == (Completion(""), None)
    for chunk in (
        Chunk(raw="a"),
        Chunk("Yes", logprobs=(first,)),
        Chunk(".", "stop", (second,), raw="b"),
        Chunk(usage=Usage(1, 2, 3, 0.5)),
    ):
        gathered.add(chunk)
    assert gathered.text == "Yes."
    assert gathered.completion == Completion("Yes.", "stop", (first, second))
    assert gathered.completion.raw == ("a", "b")
    assert gathered.usage == Usage(1, 2, 3, 0.5)


@given(st.lists(st.text()))
def test_the_text_is_that_of_the_chunks_joined(texts: list[str]) -> None:
    gathered = Gathered()
    for text in texts:
        gathered.add(Chunk(text))
    assert gathered.completion.text == "".join(texts)


# Any provider


class Whole:
    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        token = TokenLogprob("fine", -0.1)
        return Completions((Completion("fine", "stop", (token,), "raw"),), Usage(1, 10, 5, 0.25))


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [lambda p: p, Layer, lambda p: Layer(Layer(p))])
async def test_who_does_not_stream_answers_in_one_chunk(wrap: Any) -> None:
    assert not isinstance(Whole(), Streams)
    async with open_stream(wrap(Whole()), Request.of("Who?")) as chunks:
        (chunk,) = [chunk async for chunk in chunks]
    token = TokenLogprob("fine", -0.1)
    assert chunk == Chunk("fine", "stop", (token,), Usage(1, 10, 5, 0.25))
    assert chunk.raw == "raw"


@pytest.mark.anyio
async def test_beginning_waits_for_the_first_chunk_and_gives_it() -> None:
    provider = ReplayProvider({"Who?": ["one two three"]})
    async with begin_stream(provider, Request.of("Who?")) as chunks:
        assert "".join([chunk.text async for chunk in chunks]) == "one two three"

    class Silent(Whole):
        @asynccontextmanager
        async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def none() -> AsyncGenerator[Chunk]:
                for chunk in ():
                    yield chunk

            yield none()

    async with begin_stream(Silent(), Request.of("Who?")) as chunks:
        assert [chunk async for chunk in chunks] == []


# Usage that pieces of a stream repeat

REPORTS = st.builds(Usage, st.just(1), st.integers(0, 99), st.integers(0, 99), st.none())


@given(st.lists(REPORTS, min_size=1))
def test_of_one_request_the_last_report_of_each_number_counts(reports: list[Usage]) -> None:
    gathered = Gathered()
    for report in reports:
        gathered.add(Chunk("a", usage=report))
    usage = gathered.usage
    assert usage is not None
    assert usage.calls == 1
    read = [report.prompt_tokens for report in reports if report.prompt_tokens]
    written = [report.completion_tokens for report in reports if report.completion_tokens]
    assert usage.prompt_tokens == (read or [0])[-1]
    assert usage.completion_tokens == (written or [0])[-1]


@pytest.mark.parametrize(
    ("reports", "usage"),
    [
        ([Usage(1, 9, 1, None), Usage(1, 0, 7, None)], Usage(1, 9, 7, None)),
        ([Usage(1, 9, 1, 0.1), Usage(1, 9, 7, None)], Usage(1, 9, 7, 0.1)),
        ([Usage(1, 9, 7, 0.1), Usage(2, cost_usd=None)], Usage(2, 9, 7, 0.1)),
        ([Usage(1, 9, 7, 0.1), Usage(1, 9, 7, 0.2)], Usage(1, 9, 7, 0.2)),
        ([Usage(1, 9, 7, None), Usage(1, cost_usd=0.0)], Usage(1, 9, 7, 0.0)),
    ],
)
def test_a_report_need_not_name_every_number(reports: list[Usage], usage: Usage) -> None:
    assert last_reported(reports) == usage
    assert last_reported([None, *reports, None]) == usage
    assert last_reported([None]) is None


class Repeating(Whole):
    """Reports its usage so far in each piece."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def chunks() -> AsyncIterator[Chunk]:
            for count in range(1, 11):
                yield Chunk("a ", usage=Usage(1, 100, count, None))

        yield chunks()


@pytest.mark.anyio
async def test_the_meter_counts_a_request_once_whoever_repeats_its_usage() -> None:
    prices = Prices({"m": Price(input=1, output=10)})
    meter = Metered(Priced(Repeating(), prices))
    async with open_stream(meter, Request.of("Who?", model="m")) as chunks:
        costs = [chunk.usage.cost_usd async for chunk in chunks if chunk.usage]
    assert costs[-1] == pytest.approx(200e-6)
    assert meter.usage == Usage(1, 100, 10, costs[-1])


# Usage of several answers

SAYS = Completion("It was opened by the king in spring.")


@pytest.mark.parametrize(
    ("count", "reported", "counted"),
    [
        (1, 3, 3),  # nobody says that a server counts another way
        (3, 10, 27),  # one of three
        (3, 27, 27),
        (3, 24, 24),  # as many as words
        (3, 0, 0),  # it counts nothing
        (3, 900, 900),  # with its reasoning
    ],
)
def test_tokens_are_counted_where_the_sum_cannot_be_right(
    count: int, reported: int, counted: int
) -> None:
    usage = with_counted_tokens([SAYS] * count, Usage(1, 5, reported, 0.5))
    assert usage.completion_tokens == counted
    assert usage.cost_usd == (0.5 if counted == reported else None)
    assert usage.prompt_tokens == 5


# Tool calls


def call(name: str = "", arguments: str = "", index: int = 0, identity: str = "") -> ToolCall:
    return ToolCall(name, arguments, index, identity)


@pytest.mark.parametrize(
    "pieces",
    [
        [call("read", '{"a": 1}', 0, "x"), call("read", '{"a": 2}', 0, "y")],
        [call("read", '{"a": 1}'), call("read", '{"a": 2}')],
        [call("read", "", 0, "x"), call("", '{"a": 1}'), call("read", '{"a": 2}', 0, "y")],
        [call("read", '{"a"', 0, "x"), call("read", '{"a": 2}', 0, "y"), call("", ": 1}", 0, "x")],
        [call("read", '{"a": 1}', 0, "x"), call("read", '{"a": 2}', 1, "y")],
        [call("read", '{"a"', 0, "x"), call("read", ": 1}", 0, "x"), call("read", '{"a": 2}', 1)],
        [call("re", ""), call("ad", '{"a"'), call("", ": 1}"), call("read", '{"a": 2}')],
    ],
)
def test_a_new_id_begins_a_new_call(pieces: list[ToolCall]) -> None:
    gathered = Gathered()
    for piece in pieces:
        gathered.add(Chunk(calls=(piece,)))
    calls = gathered.completion.calls
    assert calls == (ToolCall("read", '{"a": 1}', 0), ToolCall("read", '{"a": 2}', 1))
