"""Answering an LLM's requests under its guard, by both sides, whole and in pieces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from typing import Any, TypeVar

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse

from resay._internal.sync import run_sync
from resay.adapters import aparts_of, parts_of
from resay.core.verdict import HallucinationBlocked
from resay.engine.actions import Answer
from resay.engine.stream import AnswerStream
from resay.guard import Guard
from resay_llamaindex._asking import Asking
from resay_llamaindex._requests import Chat, Completing, Predicting, Request
from resay_llamaindex._running import (
    Recorder,
    Showing,
    last_raw,
    outcome,
)
from resay_llamaindex._ways import InLoop, InThreads, Way

__all__ = ["Answering", "Listener"]

R = TypeVar("R", ChatResponse, CompletionResponse)

Listener = Callable[[dict[str, Any]], None]


class Answering:
    """Gives checked responses.

    Args:
        asking: Makes queries and sources.
        listener: Who is told of verdicts, in place of finding them in messages.
    """

    def __init__(self, asking: Asking, listener: Listener | None = None) -> None:
        self._asking = asking
        self._listener = listener

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._asking.guard

    def telling(self, listener: Listener) -> Answering:
        """Return the same with a listener."""
        return Answering(self._asking, listener)

    def ask(self, kind: type[R], request: Chat | Completing) -> R:
        """Return a response of the class `kind`.

        Raises:
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
        """
        told = Recorder(self._listener)
        answer = self._run(request, told)
        return outcome(kind, answer, told.record(answer), in_message=self._in_message)

    async def aask(self, kind: type[R], request: Chat | Completing) -> R:
        """Do what `ask` does, on this event loop."""
        told = Recorder(self._listener)
        answer = await self._arun(request, told)
        return outcome(kind, answer, told.record(answer), in_message=self._in_message)

    def stream(self, kind: type[R], request: Chat | Completing) -> Generator[R, None, None]:
        """Return a response in pieces."""
        # Now, because the pieces may be read elsewhere.
        return self._shown(kind, request, Recorder(self._listener))

    def astream(self, kind: type[R], request: Chat | Completing) -> AsyncGenerator[R, None]:
        """Return a response in pieces, for this event loop."""
        return self._ashown(kind, request, Recorder(self._listener))

    def predict(self, request: Predicting) -> object:
        """Return an object.

        Raises:
            HallucinationBlocked: It was withheld; there is no object to give in its place.
        """
        told = Recorder(self._listener)
        return _object_in(self._run(request, told), told)

    async def apredict(self, request: Predicting) -> object:
        """Do what `predict` does, on this event loop."""
        told = Recorder(self._listener)
        return _object_in(await self._arun(request, told), told)

    @property
    def _in_message(self) -> bool:
        return self._listener is None

    def _run(self, request: Request, told: Recorder) -> Answer:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, InThreads())
        with told.watching():
            return run_sync(self.guard.arun, query, sources)

    async def _arun(self, request: Request, told: Recorder) -> Answer:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, InLoop())
        with told.watching():
            return await self.guard.arun(query, sources)

    def _shown(
        self, kind: type[R], request: Chat | Completing, told: Recorder
    ) -> Generator[R, None, None]:
        showing = Showing(kind, told, in_message=self._in_message)
        stream = self._open(request, InThreads())
        with told.watching(), closing(parts_of(stream, told.around())) as parts:
            for part in parts:
                yield from showing.show(part)

    async def _ashown(
        self, kind: type[R], request: Chat | Completing, told: Recorder
    ) -> AsyncGenerator[R, None]:
        showing = Showing(kind, told, in_message=self._in_message)
        with told.watching():
            stream = self._open(request, InLoop())
            async with aclosing(aparts_of(stream, told.around())) as parts:
                async for part in parts:
                    for response in showing.show(part):
                        yield response

    def _open(self, request: Chat | Completing, way: Way) -> AnswerStream:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, way)
        return self.guard.arun_stream(query, sources, every_chunk=True)


def _object_in(answer: Answer, told: Recorder) -> object:
    told.record(answer)
    if answer.blocked:
        raise HallucinationBlocked(answer.verdict)
    return last_raw(answer)
