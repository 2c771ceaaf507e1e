"""Guarded chat models and the probabilities of their tokens, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_openai import ChatOpenAI

from resay import ConfigurationError
from resay_langchain import VERDICT_KEY, guard_runnable
from simulation import IgnoreLogprobs, SimulatedProvider

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the Sydney Harbour Bridge."
MAXIMUM = {"chain": [{"method": "logprobs", "pool": "maximum"}]}
ENTROPY = {"chain": [{"method": "logprobs", "measure": "entropy", "pool": "maximum"}]}
PROMPT = ChatPromptTemplate.from_messages([("user", "{question}")])


@pytest.fixture
async def model(simulated: SimulatedProvider) -> AsyncIterator[ChatOpenAI]:
    async with httpx.AsyncClient() as client:
        yield ChatOpenAI(
            model="simulated",
            base_url=simulated.base_url,
            api_key="simulated",  # pyright: ignore[reportArgumentType] - pydantic makes it a secret
            http_async_client=client,
            max_retries=0,
        )


@pytest.mark.parametrize("policy", [MAXIMUM, ENTROPY], ids=["probability", "entropy"])
@pytest.mark.parametrize("how", ["field", "bound", "in a chain"])
async def test_the_models_own_probabilities_are_looked_at(
    simulated: SimulatedProvider, model: ChatOpenAI, policy: dict[str, Any], how: str
) -> None:
    asked = {"logprobs": True, "top_logprobs": 5}
    inside: Runnable[Any, Any] = model.bind(**asked)
    question: Any = QUESTION
    if how == "field":
        inside = model.model_copy(update=asked)
    if how == "in a chain":
        inside, question = PROMPT | inside, {"question": QUESTION}
    message = await guard_runnable(inside, policy).ainvoke(question)
    verdict = message.response_metadata[VERDICT_KEY]
    assert verdict["decision"] == "flagged"
    assert {s["flagged"] for s in verdict["sentences"]} == {True, False}
    assert simulated.calls == 1


async def test_samples_are_not_asked_for_them(
    simulated: SimulatedProvider, model: ChatOpenAI
) -> None:
    policy = {"chain": [*MAXIMUM["chain"], {"method": "ngram"}], "sampling": {"max": 2}}
    await guard_runnable(model.bind(logprobs=True), {**policy}).ainvoke(QUESTION)
    bodies = [request.body or {} for request in simulated.requests]
    assert sorted(bool(body.get("logprobs")) for body in bodies) == [False, True]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        lambda m: m.bind(logprobs=False),
        lambda m: PROMPT | m,
        lambda m: m.bind(logprobs=True) | StrOutputParser(),
    ],
)
async def test_a_model_that_gives_none_is_refused_at_once(model: ChatOpenAI, wrap: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"method 'logprobs' needs.*`logprobs=True`"):
        guard_runnable(wrap(model), MAXIMUM)


async def test_what_cannot_be_looked_into_is_inconclusive(model: ChatOpenAI) -> None:
    async def ask(question: str) -> Any:
        return await model.ainvoke(question)

    message = await guard_runnable(RunnableLambda(ask), MAXIMUM).ainvoke(QUESTION)
    assert message.response_metadata[VERDICT_KEY]["decision"] == "inconclusive"
    assert "no token log-probabilities" in message.response_metadata[VERDICT_KEY]["reason"]


async def test_a_provider_that_returns_none_never_costs_the_answer(
    simulated: SimulatedProvider, model: ChatOpenAI
) -> None:
    simulated.set_faults(IgnoreLogprobs())
    message = await guard_runnable(model.bind(logprobs=True), MAXIMUM).ainvoke(QUESTION)
    assert message.text
    assert message.response_metadata[VERDICT_KEY]["decision"] == "inconclusive"
