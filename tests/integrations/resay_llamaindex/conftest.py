"""LLMs that ask a provider which knows one half of its world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from simulation import SimulatedProvider
from support.covering import alternating
from support.known_world import WORLD


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture
async def make_llm(provider: SimulatedProvider) -> AsyncIterator[Callable[..., Any]]:
    """Make LLMs with clients of the test's own, so that no connection outlives its event loop."""
    from llama_index.llms.openai_like import OpenAILike

    # Certificates take long to load, and loopback has none.
    with httpx.Client(verify=False) as client:
        async with httpx.AsyncClient(verify=False) as async_client:

            def make(**kwargs: Any) -> OpenAILike:
                fields: dict[str, Any] = {
                    "model": "simulated",
                    "api_base": provider.base_url,
                    "api_key": "simulated",
                    "is_chat_model": True,
                    "is_function_calling_model": True,
                    "context_window": 16_000,
                    "max_retries": 0,
                    "http_client": client,
                    "async_http_client": async_client,
                }
                return OpenAILike(**(fields | kwargs))

            yield make


@pytest.fixture
async def llm(make_llm: Callable[..., Any]) -> Any:
    return make_llm()


Call = Callable[..., Awaitable[Any]]


@pytest.fixture(params=alternating("sync", "async"))
def call(request: pytest.FixtureRequest) -> Call:
    """Call by one side. The synchronous one runs inside a running event loop, as in a notebook.

    Streams come as the lists of their pieces.
    """

    async def call(target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            result = getattr(target, method)(*args, **kwargs)
            return list(result) if hasattr(type(result), "__next__") else result
        name = f"astream_{method[7:]}" if method.startswith("stream_") else f"a{method}"
        result = await getattr(target, name)(*args, **kwargs)
        return [piece async for piece in result] if hasattr(type(result), "__anext__") else result

    return call


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    """Every event of LlamaIndex's instrumentation, in order."""
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler

    events: list[Any] = []

    class Spy(BaseEventHandler):
        @classmethod
        def class_name(cls) -> str:
            return "Spy"

        def handle(self, event: Any, **kwargs: Any) -> None:
            events.append(event)

    root = get_dispatcher()
    root.add_event_handler(Spy())
    yield events
    root.event_handlers.pop()


@pytest.fixture
def index() -> Any:
    """An index that finds both of its nodes for every question, and embeds nothing.

    What they say is about neither subject of the world, so that the question alone decides.
    """
    from llama_index.core import SummaryIndex
    from llama_index.core.schema import TextNode

    nodes = [
        TextNode(text="The library opens at nine.", metadata={"page": 1}),
        TextNode(text="Its doors are green.", metadata={"page": 2}),
    ]
    return SummaryIndex(nodes)
