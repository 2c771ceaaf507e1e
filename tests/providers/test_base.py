from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Query
from resay.core.usage import Usage
from resay.providers import (
    Chunk,
    Completion,
    Completions,
    Gathered,
    Layer,
    ReplayProvider,
    Streams,
    TokenLogprob,
    begin_stream,
    open_stream,
)

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
    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        token = TokenLogprob("fine", -0.1)
        return Completions((Completion("fine", "stop", (token,), "raw"),), Usage(1, 10, 5, 0.25))


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [lambda p: p, Layer, lambda p: Layer(Layer(p))])
async def test_who_does_not_stream_answers_in_one_chunk(wrap: Any) -> None:
    assert not isinstance(Whole(), Streams)
    async with open_stream(wrap(Whole()), Query.of("Who?")) as chunks:
        (chunk,) = [chunk async for chunk in chunks]
    token = TokenLogprob("fine", -0.1)
    assert chunk == Chunk("fine", "stop", (token,), Usage(1, 10, 5, 0.25))
    assert chunk.raw == "raw"


@pytest.mark.anyio
async def test_beginning_waits_for_the_first_chunk_and_gives_it() -> None:
    provider = ReplayProvider({"Who?": ["one two three"]})
    async with begin_stream(provider, Query.of("Who?")) as chunks:
        assert "".join([chunk.text async for chunk in chunks]) == "one two three"

    class Silent(Whole):
        @asynccontextmanager
        async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def none() -> AsyncGenerator[Chunk]:
                for chunk in ():
                    yield chunk

            yield none()

    async with begin_stream(Silent(), Query.of("Who?")) as chunks:
        assert [chunk async for chunk in chunks] == []
