"""A chat model over real HTTP, and both ways to ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.runnables import Runnable
from langchain_openai import ChatOpenAI

from resay import Answer
from simulation import SimulatedProvider
from support.covering import alternating
from support.langchain import WORLD


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


MakeModel = Callable[..., ChatOpenAI]


@pytest.fixture
async def make_model(provider: SimulatedProvider) -> AsyncIterator[MakeModel]:
    # Clients of its own, so that no connection outlives the test's event loop.
    with httpx.Client() as client:
        async with httpx.AsyncClient() as async_client:

            def make(**kwargs: Any) -> ChatOpenAI:
                fields: dict[str, Any] = {
                    "model": "simulated",
                    "base_url": provider.base_url,
                    "api_key": "simulated",
                    "max_retries": 0,
                    "http_client": client,
                    "http_async_client": async_client,
                }
                return ChatOpenAI(**(fields | kwargs))

            yield make


@pytest.fixture
async def model(make_model: MakeModel) -> ChatOpenAI:
    return make_model()


Ask = Callable[..., Awaitable[Any]]


@pytest.fixture(params=alternating("invoke", "ainvoke"))
def ask(request: pytest.FixtureRequest) -> Ask:
    """One way to ask. The synchronous one runs inside a running event loop, as in a notebook."""

    async def ask(runnable: Runnable[Any, Any], value: Any, config: Any = None, **kwargs: Any):
        if request.param == "invoke":
            return runnable.invoke(value, config, **kwargs)
        return await runnable.ainvoke(value, config, **kwargs)

    return ask


@pytest.fixture
async def make_model_at() -> AsyncIterator[Callable[..., ChatOpenAI]]:
    """Makes a model for any provider: one that litellm can stand in for, or one that it cannot."""
    async with httpx.AsyncClient(timeout=30) as client:

        def make(provider: SimulatedProvider, *, plain: bool) -> ChatOpenAI:
            model = ChatOpenAI(
                model="simulated", base_url=provider.base_url, api_key="simulated", max_retries=0
            )
            root = model.root_async_client.with_options(http_client=client)
            # The clients alone decide who sends: what the model says about them is not looked at.
            fields = {} if plain else {"http_async_client": client}
            fields |= {"root_async_client": root, "async_client": root.chat.completions}
            return model.model_copy(update=fields)

        yield make


@pytest.fixture
def wordless_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts without words: those of the draft are in there on purpose."""

    def answer_data(answer: Answer) -> dict[str, Any]:
        return {**answer.verdict.to_dict(content=False), "action": answer.action}

    for module in ("_outcome", "_request"):
        monkeypatch.setattr(f"resay_langchain.{module}.answer_data", answer_data)
