"""One request of a guarded chat model, run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from functools import reduce
from operator import add
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from resay._internal.sync import run_sync
from resay.adapters import VERDICT_KEY, aparts_of, parts_of, verdict_data
from resay.core.verdict import HallucinationBlocked
from resay.engine.actions import Answer
from resay.engine.stream import AnswerStream
from resay.engine.stream_gate import Part
from resay.guard import Guard
from resay.policy import Block
from resay_langchain._asking import Asking
from resay_langchain._outcome import in_place_of, outcome_of, without_text
from resay_langchain._policies import withholding

__all__ = ["Pieces", "Request"]


class Pieces:
    """The chunks of one answer.

    Where text is held, its sentences come as they are released, and everything else the model said
    (calls of tools, thoughts, usage) with the last chunk; of an answer that was written again, no
    more than the usage. The chunks have no id of their own, so that LangChain gives all of them
    that of the run.
    """

    def __init__(self) -> None:
        self._passed_on = False
        self._in_blocks = False

    def of(self, part: Part) -> AIMessageChunk | None:
        """Return a part as a chunk; None where there is nothing in it."""
        if part.chunk is None:
            return AIMessageChunk(content=part.text) if part.text else None
        self._passed_on = True
        if part.chunk.raw is None:
            return None
        chunk = _as_chunk(part.chunk.raw)
        self._in_blocks = isinstance(chunk.content, list)
        # Which chunk is the last one is not for the model to say.
        return chunk.model_copy(update={"id": None, "chunk_position": None})

    def last(self, answer: Answer) -> tuple[AIMessageChunk, dict[str, Any]]:
        """Return the last chunk, which has the verdict, and the verdict."""
        data = verdict_data(answer.verdict, answer.action)
        if self._passed_on:
            return self._closing({VERDICT_KEY: data}), data
        whole = _whole(answer)
        if answer.blocked or answer.regenerated:
            empty = in_place_of(whole, "", data, complete=answer.regenerated)
            return self._closing(empty.response_metadata, empty.usage_metadata), data
        update = {
            "content": without_text(cast("Any", whole.content)),
            "response_metadata": {**whole.response_metadata, VERDICT_KEY: data},
            "id": None,
            "chunk_position": "last",
        }
        return whole.model_copy(update=update), data

    def refusal(self, message: str, data: dict[str, Any]) -> AIMessageChunk:
        """Return the last chunk of an answer that was withheld with an exception."""
        return self._closing({VERDICT_KEY: data}).model_copy(update={"content": message})

    def _closing(self, metadata: dict[str, Any], usage: Any = None) -> AIMessageChunk:
        return AIMessageChunk(
            content=[] if self._in_blocks else "",
            response_metadata=metadata,
            usage_metadata=usage,
            chunk_position="last",
        )


def _whole(answer: Answer) -> AIMessageChunk:
    raw = answer.completion.raw if answer.completion else None
    if not isinstance(raw, tuple):
        return _as_chunk(raw)
    chunks = [_as_chunk(piece) for piece in cast("tuple[Any, ...]", raw)]
    return reduce(add, chunks) if chunks else AIMessageChunk(content="")


def _as_chunk(message: Any) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
    if isinstance(message, AIMessage):
        # A model that does not stream gives the whole message at once.
        return AIMessageChunk(**message.model_dump(exclude={"type"}))
    return AIMessageChunk(content="")


class Request:
    """One request, in each of the four ways in which LangChain makes it.

    Args:
        guard: Checks and acts.
        asking: What is asked, and of whom.
    """

    def __init__(self, guard: Guard, asking: Asking) -> None:
        self._guard = guard
        self._asking = asking

    def generate(self) -> ChatResult:
        """Ask, check and act."""
        try:
            with self._asking.runs.around():
                answer = run_sync(self._guard.arun, self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            self._asking.runs.tell(data)
            self._leave_raising(error, data)
            return _result(self._refusal(data))
        message, data = outcome_of(answer)
        self._asking.runs.tell(data)
        self._note(data, answer)
        return _result(message)

    async def agenerate(self) -> ChatResult:
        """Ask, check and act, on the caller's event loop."""
        try:
            with self._asking.runs.around():
                answer = await self._guard.arun(self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            await self._asking.runs.atell(data)
            self._leave_raising(error, data)
            return _result(self._refusal(data))
        message, data = outcome_of(answer)
        await self._asking.runs.atell(data)
        self._note(data, answer)
        return _result(message)

    def stream(self) -> Iterator[ChatGenerationChunk]:
        """Ask, check and act, handing over the answer as the policy says."""
        pieces = Pieces()
        try:
            with closing(parts_of(self._opened(), self._asking.runs.around())) as parts:
                for part in parts:
                    if isinstance(part, Answer):
                        chunk, data = pieces.last(part)
                        self._note(data, part)
                        self._asking.runs.tell(data)
                        yield ChatGenerationChunk(message=chunk)
                    else:
                        yield from _chunks(pieces, part)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            self._asking.runs.tell(data)
            self._leave_raising(error, data)
            yield ChatGenerationChunk(message=pieces.refusal(self._instead, data))

    async def astream(self) -> AsyncIterator[ChatGenerationChunk]:
        """Do what `stream` does, on the caller's event loop."""
        pieces = Pieces()
        try:
            async with aclosing(aparts_of(self._opened(), self._asking.runs.around())) as parts:
                async for part in parts:
                    if isinstance(part, Answer):
                        chunk, data = pieces.last(part)
                        self._note(data, part)
                        await self._asking.runs.atell(data)
                        yield ChatGenerationChunk(message=chunk)
                    else:
                        for piece in _chunks(pieces, part):
                            yield piece
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            await self._asking.runs.atell(data)
            self._leave_raising(error, data)
            yield ChatGenerationChunk(message=pieces.refusal(self._instead, data))

    def _opened(self) -> AnswerStream:
        return self._guard.arun_stream(self._asking.query, self._asking.sources, every_chunk=True)

    def _refusal(self, data: dict[str, Any]) -> AIMessage:
        return AIMessage(self._instead, response_metadata={VERDICT_KEY: data})

    @property
    def _instead(self) -> str:
        return (withholding(self._guard.policy) or Block()).message

    def _leave_raising(self, error: HallucinationBlocked, data: dict[str, Any]) -> None:
        """Leave it to whoever watches the whole chain; where nobody does, raise."""
        if self._asking.watch is None:
            raise error
        self._asking.watch.note(data, error, structured=self._asking.query.wants_object)

    def _note(self, data: dict[str, Any], answer: Answer) -> None:
        watch = self._asking.watch
        if watch is not None:
            blocked = HallucinationBlocked(answer.verdict) if answer.blocked else None
            watch.note(data, blocked, structured=self._asking.query.wants_object)


def _result(message: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunks(pieces: Pieces, part: Part) -> Iterator[ChatGenerationChunk]:
    chunk = pieces.of(part)
    if chunk is not None:
        yield ChatGenerationChunk(message=chunk)
