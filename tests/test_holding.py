"""What is withheld stays withheld, and what was begun is ended."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from resay import AnswerStream, Guard, HallucinationBlocked, Part, ProviderError, Query
from resay.providers import Chunk, Completion, Completions

pytestmark = pytest.mark.anyio

FIRST, SECOND, THIRD = "It opened in 1932. ", "It has 31415 lamps. ", "It is made of steel."
POLICY = {
    "chain": [{"method": "prompt"}],
    "sampling": {"max": 3, "confidence": None},
    "cache": {"store": "none"},
}


class Writer:
    """Writes three sentences at once and judges them as told; None is a judge that fails.

    Judges answer when nothing else is left to do.
    """

    def __init__(self, *pieces: str, **supported: bool | None) -> None:
        self.pieces = pieces or (FIRST, SECOND, THIRD)
        self.supported = supported
        self.samples = 0

    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        await anyio.wait_all_tasks_blocked()
        if not query.question.startswith("Context:"):
            self.samples += 1
            return Completions((Completion(f"Sample {self.samples} says little."),))
        sentence = query.question.partition("Sentence: ")[2]
        for word, supported in self.supported.items():
            if word in sentence and supported is None:
                raise ProviderError("no judge today")
            if word in sentence:
                return Completions((Completion("Yes" if supported else "No"),))
        return Completions((Completion("Yes"),))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def words() -> AsyncGenerator[Chunk]:
            for text in self.pieces:
                await anyio.lowlevel.checkpoint()
                yield Chunk(text)

        yield words()


async def read(stream: AnswerStream) -> list[Part]:
    async with stream:
        return [part async for part in stream]


def beyond_budget(**action: str) -> AnswerStream:
    """The calls are enough for a sample and the first sentence, which is not supported."""
    policy = {
        **POLICY,
        "sampling": {"max": 1},
        "limits": {"calls": 2},
        "action": {"do": "block", **action},
    }
    return Guard(policy, provider=Writer(opened=False)).astream("When?")


async def test_what_is_withheld_is_blocked_although_the_verdict_is_inconclusive() -> None:
    stream = beyond_budget(message="Withheld.")
    assert await read(stream) == [Part("Withheld.", notice=True)]
    assert stream.answer.verdict.inconclusive
    assert stream.answer.verdict.sentences[0].flagged
    assert stream.answer.blocked
    assert stream.answer.text == "Withheld."


async def test_what_is_withheld_raises_although_the_verdict_is_inconclusive() -> None:
    with pytest.raises(HallucinationBlocked):
        await read(beyond_budget(exit="raise"))


async def test_what_is_withheld_in_doubt_is_blocked_although_another_sentence_is_flagged() -> None:
    guard = Guard({**POLICY, "on_error": "block"}, provider=Writer(opened=False, lamps=None))
    stream = guard.astream("When?")
    parts = await read(stream)
    assert [part.text for part in parts if not part.notice] == [FIRST]
    assert [part.text for part in parts if part.notice] == [stream.answer.text]
    assert stream.answer.verdict.flagged
    assert stream.answer.blocked


@pytest.mark.parametrize(
    ("policy", "lamps"),
    [({"action": {"do": "block"}}, False), ({"on_error": "block"}, None)],
)
async def test_one_sentence_of_a_piece_is_enough_to_withhold_it(
    policy: dict[str, Any], lamps: bool | None
) -> None:
    for piece in (FIRST + SECOND + THIRD, SECOND + FIRST + THIRD):
        provider = Writer(piece, lamps=lamps)
        parts = await read(Guard({**POLICY, **policy}, provider=provider).astream("When?"))
        assert [part.notice for part in parts] == [True]


async def test_a_reader_who_is_cancelled_leaves_no_channel_open() -> None:
    with anyio.CancelScope() as reading:
        async with Guard(POLICY, provider=Writer()).astream("When?"):
            reading.cancel()
    # An open end of a channel warns as it is collected, and warnings are errors.
    gc.collect()


async def test_others_get_their_turn_between_pieces_that_are_there_already() -> None:
    seen: list[int] = []
    turns = 0

    class AtOnce(Writer):
        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            await anyio.lowlevel.checkpoint()
            self.samples += 1
            return Completions((Completion(f"Sample {self.samples} says little."),))

        @asynccontextmanager
        async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def words() -> AsyncGenerator[Chunk]:
                for word in FIRST.split() * 20:
                    seen.append(turns)
                    yield Chunk(f"{word} ")

            yield words()

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take_turns)
        policy = {**POLICY, "chain": [{"method": "ngram"}]}
        await read(Guard(policy, provider=AtOnce()).astream("When?"))
        tasks.cancel_scope.cancel()
    assert seen[-1] - seen[0] >= len(seen) - 1
