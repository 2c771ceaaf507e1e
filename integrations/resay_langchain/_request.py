"""One request of a guarded chat model, run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from resay.actions import Answer
from resay.adapting import VERDICT_KEY, marked, verdict_data
from resay.errors import HallucinationBlocked
from resay.guard import Guard
from resay.holding import Part
from resay.policy import Block
from resay.streaming import AnswerStream, SyncAnswerStream
from resay.sync import run_sync
from resay_langchain._asking import Asking
from resay_langchain._outcome import outcome_of
from resay_langchain._pieces import Pieces

__all__ = ["VERDICT_EVENT", "Request"]

VERDICT_EVENT = "resay_verdict"
"""The name of the custom event that carries the verdict on every answer."""


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
            with marked():
                answer = run_sync(self._guard.arun, self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            message, data = self._refusal(error)
            self._tell(data)
            return _result(self._or_raise(message, error))
        message, data = outcome_of(answer)
        self._tell(data)
        self._note(data, answer)
        return _result(message)

    async def agenerate(self) -> ChatResult:
        """Ask, check and act, on the caller's event loop."""
        try:
            with marked():
                answer = await self._guard.arun(self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            message, data = self._refusal(error)
            await self._atell(data)
            return _result(self._or_raise(message, error))
        message, data = outcome_of(answer)
        await self._atell(data)
        self._note(data, answer)
        return _result(message)

    def stream(self) -> Iterator[ChatGenerationChunk]:
        """Ask, check and act, handing over the answer as the policy says."""
        pieces = Pieces()
        stream = SyncAnswerStream(self._opened())
        try:
            with ExitStack() as stack:
                # A generator is left in another context than it was begun in.
                with marked():
                    stack.enter_context(stream)
                for part in stream:
                    yield from _chunks(pieces, part)
                chunk, data = pieces.last(stream.answer)
                self._note(data, stream.answer)
        except HallucinationBlocked as error:
            chunk, data = self._refused(pieces, error)
            self._tell(data)
            yield ChatGenerationChunk(message=self._or_raise(chunk, error))
            return
        self._tell(data)
        yield ChatGenerationChunk(message=chunk)

    async def astream(self) -> AsyncIterator[ChatGenerationChunk]:
        """Do what `stream` does, on the caller's event loop."""
        pieces = Pieces()
        # Tasks that a generator starts must not outlive it, and it may be left anywhere: the work
        # is done in a task of its own.
        line: asyncio.Queue[Part | Answer | BaseException] = asyncio.Queue()
        task = asyncio.create_task(self._work(line))
        try:
            while isinstance(item := await line.get(), Part):
                for piece in _chunks(pieces, item):
                    yield piece
        finally:
            task.cancel()
            await asyncio.wait([task])
        if isinstance(item, HallucinationBlocked):
            chunk, data = self._refused(pieces, item)
            await self._atell(data)
            yield ChatGenerationChunk(message=self._or_raise(chunk, item))
            return
        if isinstance(item, BaseException):
            raise item
        chunk, data = pieces.last(item)
        self._note(data, item)
        await self._atell(data)
        yield ChatGenerationChunk(message=chunk)

    async def _work(self, line: asyncio.Queue[Part | Answer | BaseException]) -> None:
        try:
            with marked():
                async with self._opened() as stream:
                    async for part in stream:
                        line.put_nowait(part)
                    line.put_nowait(stream.answer)
        except BaseException as error:
            line.put_nowait(error)
            if not isinstance(error, Exception):
                raise

    def _opened(self) -> AnswerStream:
        return self._guard.arun_stream(self._asking.query, self._asking.sources, every_chunk=True)

    def _refusal(self, error: HallucinationBlocked) -> tuple[AIMessage, dict[str, Any]]:
        data = verdict_data(error.verdict, "block")
        return AIMessage(self._instead, response_metadata={VERDICT_KEY: data}), data

    def _refused(self, pieces: Pieces, error: HallucinationBlocked) -> tuple[Any, dict[str, Any]]:
        return pieces.refusal(self._instead, error.verdict)

    @property
    def _instead(self) -> str:
        action = self._guard.policy.action
        return action.message if isinstance(action, Block) else Block().message

    def _or_raise(self, message: Any, error: HallucinationBlocked) -> Any:
        """Let whoever watches the whole chain raise; otherwise raise here."""
        if self._asking.watch is None:
            raise error
        data = message.response_metadata[VERDICT_KEY]
        self._asking.watch.note(data, error, structured=self._asking.query.wants_object)
        return message

    def _note(self, data: dict[str, Any], answer: Answer) -> None:
        watch = self._asking.watch
        if watch is not None:
            blocked = HallucinationBlocked(answer.verdict) if answer.blocked else None
            watch.note(data, blocked, structured=self._asking.query.wants_object)

    def _tell(self, data: dict[str, Any]) -> None:
        config = self._asking.runs.own()
        if config is not None:
            dispatch_custom_event(VERDICT_EVENT, data, config=config)

    async def _atell(self, data: dict[str, Any]) -> None:
        config = self._asking.runs.own()
        if config is not None:
            await adispatch_custom_event(VERDICT_EVENT, data, config=config)


def _result(message: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunks(pieces: Pieces, part: Part) -> Iterator[ChatGenerationChunk]:
    chunk = pieces.of(part)
    if chunk is not None:
        yield ChatGenerationChunk(message=chunk)
