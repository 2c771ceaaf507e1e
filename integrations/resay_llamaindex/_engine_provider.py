"""Query engines as providers of answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from resay import Document, Request, Usage
from resay.adapters import named_text
from resay.adapters.upstream import OneAnswer
from resay.plugins import Chunk, Completion, Completions
from resay_llamaindex._callers import Caller, Role, tagged
from resay_llamaindex._requests import Call
from resay_llamaindex._usage import UsageRecorder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetrievedNodes:
    """The nodes retrieved for a question.

    Attributes:
        nodes: The nodes that the answer is written from.
        additional: Further nodes to name as sources.
    """

    nodes: tuple[NodeWithScore, ...]
    additional: tuple[NodeWithScore, ...] = ()

    @property
    def sources(self) -> list[NodeWithScore]:
        """The source nodes that the response names."""
        return [*self.nodes, *self.additional]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the response, by node id."""
        return {source.node.node_id: source.node.metadata for source in self.sources}


@dataclass(frozen=True, slots=True)
class Synthesis(Call):
    """An answer from nodes that are already retrieved.

    Attributes:
        bundle: The question.
        retrieved: The nodes.
    """

    method = "synthesize"

    bundle: QueryBundle
    retrieved: RetrievedNodes

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return [self.bundle, list(self.retrieved.nodes), self.retrieved.additional], {}


@dataclass(frozen=True, slots=True)
class Querying(Call):
    """An answer from an engine that retrieves nodes itself.

    Attributes:
        bundle: The question.
    """

    method = "query"

    bundle: QueryBundle

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return [self.bundle], {}


@dataclass(frozen=True, eq=False, repr=False)
class EngineProvider(OneAnswer):
    """Answers requests by sending its own request to a query engine, once per answer.

    Attributes:
        request: The request.
        engine: The engine.
        caller: How to call the engine.
        role: The purpose of the call.
    """

    request: Call
    engine: BaseQueryEngine
    caller: Caller
    role: Role

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return the engine's answer.

        Raises:
            Exception: Anything that the engine raises, unchanged.
        """
        usage_recorder = UsageRecorder()
        with tagged(self.role), usage_recorder.counting():
            response: RESPONSE_TYPE = await self.caller.ask(self.request, self.engine)
            if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                async with self.caller.read(response.response_gen) as tokens:
                    text = "".join([token async for token in tokens])
                response = replace(response, response_txt=text)
        completion = Completion(
            _text_of(response), raw=response, references=references_in(response.source_nodes)
        )
        return Completions((completion,), usage_recorder.usage or Usage(1, cost_usd=None))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Return the engine's answer in chunks.

        Raises:
            Exception: Anything that the engine raises, unchanged.
        """
        with tagged(self.role):
            response: RESPONSE_TYPE = await self.caller.ask(self.request, self.engine)
            references = references_in(response.source_nodes)
            if not isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                yield only(Chunk(_text_of(response), raw=response, references=references))
                return
            async with self.caller.read(response.response_gen) as tokens:
                yield _chunks(Chunk(raw=response, references=references), tokens)


def references_in(nodes: Sequence[NodeWithScore]) -> tuple[str | Document, ...]:
    """Return the texts of nodes as a model reads them, named after their files.

    Blank ones are among them, so that the others keep the numbers by which an answer cites them.
    """
    references: list[str | Document] = []
    for node in nodes:
        text = node.node.get_content(metadata_mode=MetadataMode.LLM)
        references.append(named_text(text, node.node.metadata))
    return tuple(references)


def _text_of(response: RESPONSE_TYPE) -> str:
    if isinstance(response, Response):
        return response.response or ""
    if isinstance(response, PydanticResponse):
        return str(response) if response.response is not None else ""
    return response.response_txt or ""


async def only(item: T) -> AsyncGenerator[T, None]:
    yield item


async def _chunks(first: Chunk, tokens: AsyncIterator[str]) -> AsyncGenerator[Chunk]:
    yield first
    async for token in tokens:
        yield Chunk(token)
