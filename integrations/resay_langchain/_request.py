"""One request of a guarded chat model, run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from typing import Any

from langchain_core.messages import AIMessage
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
from resay_langchain._outcome import outcome_of
from resay_langchain._pieces import Pieces
from resay_langchain._policies import withholding

__all__ = ["Request"]


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
