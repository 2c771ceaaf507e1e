"""Query engines behind Resay's seam for providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.providers.base import Chunk, Completion, Completions
from resay_llamaindex._counting import Spent
from resay_llamaindex._nesting import Role, playing
from resay_llamaindex._ways import Way

__all__ = ["EngineProvider", "Found", "Querying", "Synthesis", "references_in"]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question.

    Attributes:
        nodes: What the answer is written from.
        further: What else is named as its source.
    """

    nodes: tuple[NodeWithScore, ...]
    further: tuple[NodeWithScore, ...] = ()

    @property
    def sources(self) -> list[NodeWithScore]:
        """What the response names as its sources."""
        return [*self.nodes, *self.further]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the response tells of its sources."""
        return {found.node.node_id: found.node.metadata for found in self.sources}


@dataclass(frozen=True, slots=True)
class Synthesis:
    """An answer from nodes that were found already.

    Attributes:
        bundle: The question.
        found: What was found.
    """

    bundle: QueryBundle
    found: Found

    def ask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask."""
        return engine.synthesize(self.bundle, list(self.found.nodes), self.found.further)

    async def aask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask on this event loop."""
        return await engine.asynthesize(self.bundle, list(self.found.nodes), self.found.further)


@dataclass(frozen=True, slots=True)
class Querying:
    """An answer from an engine that finds nodes for itself.

    Attributes:
        bundle: The question.
    """

    bundle: QueryBundle

    def ask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask."""
        return engine.query(self.bundle)

    async def aask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask on this event loop."""
        return await engine.aquery(self.bundle)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """What a response that streams still has to say, in the form of a request."""

    response: RESPONSE_TYPE

    def ask(self, target: Any) -> str:
        return "".join(self.stream(target))

    async def aask(self, target: Any) -> str:
        return "".join([token async for token in await self.astream(target)])

    def stream(self, target: Any) -> Iterator[str]:
        assert isinstance(self.response, StreamingResponse)  # noqa: S101 - the synchronous kind
        return self.response.response_gen

    async def astream(self, target: Any) -> AsyncIterator[str]:
        if isinstance(self.response, AsyncStreamingResponse):
            return self.response.response_gen
        return _pieces(self.stream(target))


async def _pieces(tokens: Iterator[str]) -> AsyncGenerator[str]:
    for token in tokens:
        yield token


class EngineProvider:
    """Answers by asking a query engine once. What else a query says is known to the request.

    Args:
        request: What to ask.
        engine: Who is asked.
        way: How to call it.
        role: What the call is for.
    """

    def __init__(
        self, request: Synthesis | Querying, engine: BaseQueryEngine, way: Way, role: Role
    ) -> None:
        self._request = request
        self._engine = engine
        self._way = way
        self._role: Role = role

    async def takes_n(self, query: Query) -> bool:
        """Say no: an engine gives one response."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the engine.

        Raises:
            Exception: Whatever the engine raises, as it is.
        """
        spent = Spent()
        with playing(self._role), spent.counting():
            response: RESPONSE_TYPE = await self._way.ask(self._request, self._engine)
            if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                text: str = await self._way.ask(_Tokens(response), None)
                response = replace(response, response_txt=text)
        completion = Completion(
            _text_of(response), raw=response, references=references_in(response.source_nodes)
        )
        return Completions((completion,), spent.usage or Usage(1, cost_usd=None))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the engine for its response in pieces.

        Raises:
            Exception: Whatever the engine raises, as it is.
        """
        with playing(self._role):
            response: RESPONSE_TYPE = await self._way.ask(self._request, self._engine)
            if not isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                yield _only(_opening(response, _text_of(response)))
                return
            async with self._way.stream(_Tokens(response), None) as tokens:
                yield _chunks(response, tokens)


def references_in(nodes: Sequence[NodeWithScore]) -> tuple[str, ...]:
    """Return the texts of nodes as the model reads them."""
    texts = (found.node.get_content(metadata_mode=MetadataMode.LLM) for found in nodes)
    return tuple(text for text in texts if text.strip())


def _text_of(response: RESPONSE_TYPE) -> str:
    if isinstance(response, Response):
        return response.response or ""
    if isinstance(response, PydanticResponse):
        return str(response) if response.response is not None else ""
    return response.response_txt or ""


def _opening(response: RESPONSE_TYPE, text: str = "") -> Chunk:
    return Chunk(text, raw=response, references=references_in(response.source_nodes))


async def _only(chunk: Chunk) -> AsyncGenerator[Chunk]:
    yield chunk


async def _chunks(response: RESPONSE_TYPE, tokens: AsyncIterator[str]) -> AsyncGenerator[Chunk]:
    yield _opening(response)
    async for token in tokens:
        yield Chunk(token)
