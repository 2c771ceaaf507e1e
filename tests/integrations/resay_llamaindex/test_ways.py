"""Which way samples are drawn: with the LLM itself, or through litellm."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

import httpx
from llama_index.core.base.llms.types import AudioBlock, TextBlock
from llama_index.core.llms import LLM, ChatMessage, MockLLM
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai_like import OpenAILike
from pydantic import Field

from resay import ConfigurationError
from resay_llamaindex import GuardedLLM, verdict_of
from resay_llamaindex._litellm import mapped_request
from simulation import IgnoreN, Refused, SimulatedProvider

pytestmark = pytest.mark.anyio

N = 3
AUTO = {"chain": [{"method": "ngram"}], "sampling": {"max": N}}
LITELLM = {"chain": [{"method": "ngram"}], "sampling": {"max": N, "via": "litellm"}}
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}]}
QUESTION = "What is the Zorblatt?"


def ask(text: str = QUESTION) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text)]


@pytest.fixture
async def plain(make_llm: Any) -> AsyncIterator[Callable[..., Any]]:
    """Make LLMs without clients that were passed in, closed at the end."""
    made: list[Any] = []

    def plain(**kwargs: Any) -> Any:
        made.append(make_llm(http_client=None, async_http_client=None, **kwargs))
        return made[-1]

    yield plain
    for llm in made:
        if llm._aclient is not None:
            await llm._aclient.close()


async def close(guarded: GuardedLLM) -> None:
    """Close the clients that copies of the LLM have made."""
    queries = guarded._responder.queries
    for llm in (queries._sampler, *queries._judges):
        if llm._aclient is not None:
            await llm._aclient.close()


def sent(provider: SimulatedProvider) -> list[dict[str, Any]]:
    return [dict(request.body or {}) for request in provider.requests]


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("way", "via", "temperature"), [("auto", "native", 1.0), ("litellm", "litellm", None)]
)
async def test_samples_and_judges_go_as_the_llm_does(plain, provider, way, via, temperature):
    llm = plain(default_headers={"x-team": "blue"}, additional_kwargs={"top_p": 0.9})
    guarded = GuardedLLM(llm, JUDGED | {"sampling": {"max": N, "via": way, "start": "after"}})
    verdict = verdict_of(await guarded.achat(ask()))
    await close(guarded)
    assert (verdict.decision, verdict.via, verdict.samples) == ("flagged", via, N)
    assert {r.headers["x-team"] for r in provider.requests} == {"blue"}
    answers = [b for b in sent(provider) if b["messages"][-1]["content"] == QUESTION]
    assert {b["top_p"] for b in answers} == {0.9}
    # LlamaIndex's own default would leave samples no choice.
    assert [b.get("temperature") for b in answers] == [0.1, temperature]
    assert [b.get("n") for b in answers] == [None, N]
    judged = [b for b in sent(provider) if b["messages"][-1]["content"] != QUESTION]
    assert [b["temperature"] for b in judged] == [0] * N


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("policy", [AUTO, LITELLM], ids=["native", "litellm"])
async def test_tools_go_along(plain, provider, policy):
    def weather(city: str) -> str:
        """Say what the weather is like."""
        return city

    tool = FunctionTool.from_defaults(weather)
    guarded = GuardedLLM(plain(), policy)
    response = await guarded.achat_with_tools([tool], user_msg=QUESTION)
    await close(guarded)
    assert verdict_of(response).samples == N
    main, *samples = sent(provider)
    assert samples
    for sample in samples:
        assert (sample["tools"], sample["tool_choice"]) == (main["tools"], main["tool_choice"])
        assert sample.get("parallel_tool_calls") == main.get("parallel_tool_calls")


@pytest.mark.usefixtures("litellm")
async def test_a_stream_is_sampled_through_litellm_too(plain, provider):
    pieces = [p async for p in await GuardedLLM(plain(), LITELLM).astream_chat(ask())]
    assert verdict_of(pieces[-1]).via == "litellm"
    assert [bool(b.get("stream")) for b in sent(provider)].count(True) == 1


async def test_a_provider_that_ignores_n_is_asked_for_each_sample(call, llm, provider):
    provider.set_faults(IgnoreN())
    guarded = GuardedLLM(llm, AUTO | {"sampling": {"max": N, "start": "after"}})
    assert verdict_of(await call(guarded, "chat", ask())).samples == N
    assert [body.get("n") for body in sent(provider)] == [None, N, None, None]


async def test_a_provider_that_refuses_n_is_asked_for_each_sample(call, llm, provider):
    # The second request is the one for several; that it was refused is remembered.
    provider.set_faults(Refused(status=400, after=1, first=1))
    policy = AUTO | {"sampling": {"max": N, "start": "after"}, "cache": {"store": "none"}}
    guarded = GuardedLLM(llm, policy)
    for _ in range(2):
        assert verdict_of(await call(guarded, "chat", ask())).samples == N
    assert [body.get("n") for body in sent(provider)] == [None, N] + [None] * 7


async def test_samples_are_cached_and_priced_by_the_settings_of_the_llm(plain, provider):
    price = {"prices": {"simulated": {"input": 1000, "output": 1000}}}
    for llm, cost in ((plain(), True), (plain(), False), (plain(max_tokens=90), True)):
        guarded = GuardedLLM(llm, AUTO | price)
        usage = verdict_of(await guarded.achat(ask())).usage
        await close(guarded)
        assert bool(usage.cost_usd) is cost
        assert usage.calls == int(cost)


@pytest.mark.usefixtures("litellm")
async def test_samples_may_come_from_another_model(llm, provider):
    sampling = {"max": N, "model": "openai/other", "params": provider.params}
    response = await GuardedLLM(llm, AUTO | {"sampling": sampling}).achat(ask())
    assert (verdict_of(response).via, verdict_of(response).samples) == ("litellm", N)
    assert {b["model"] for b in sent(provider)} == {"simulated", "other"}


@pytest.mark.usefixtures("litellm")
async def test_a_judge_named_in_the_policy_is_asked_through_litellm(llm, provider):
    judge = {"model": "openai/judge", "params": provider.params}
    chain = [{"method": "prompt", "mode": "per_sample", "judge": judge}]
    policy = {"chain": chain, "sampling": {"max": N, "via": "native"}}
    response = await GuardedLLM(llm, policy).achat(ask())
    assert verdict_of(response).via == "native"
    assert [b["model"] for b in sent(provider)].count("judge") == N


async def test_a_message_that_cannot_be_carried_over_is_sampled_natively(plain, provider):
    blocks = [TextBlock(text=QUESTION), AudioBlock(audio=b"UklGRg==", format="wav")]
    guarded = GuardedLLM(plain(), LITELLM)
    response = await guarded.achat([ChatMessage(role="user", blocks=blocks)])
    await close(guarded)
    assert (verdict_of(response).via, verdict_of(response).samples) == ("native", N)
    kinds = [[part["type"] for part in b["messages"][0]["content"]] for b in sent(provider)]
    assert kinds == [["text", "input_audio"]] * 2


def azure(**kwargs: Any) -> Any:
    """An LLM with the fields of the one for Azure, which is not installed here."""

    class AzureOpenAI(OpenAI):
        engine: str = "deployed"
        azure_endpoint: str | None = "https://example.openai.azure.com/"
        azure_deployment: str | None = None
        use_azure_ad: bool = False
        azure_ad_token_provider: Any = None

    AzureOpenAI.__module__ = "llama_index.llms.azure_openai.base"
    AzureOpenAI.__qualname__ = "AzureOpenAI"
    fields = {"model": "gpt-4o", "api_key": "k1", "api_version": "2024-10-21"}
    return AzureOpenAI(**(fields | kwargs))


def lite(**kwargs: Any) -> Any:
    """An LLM with the fields of litellm's own, which is not installed here."""

    class LiteLLM(MockLLM):
        model: str = "mistral/mistral-small"
        temperature: float = 0.1
        additional_kwargs: dict[str, Any] = Field(default_factory=dict)

        def __init__(self, **kwargs: Any) -> None:
            LLM.__init__(self, max_tokens=None, **kwargs)

        @property
        def metadata(self) -> Any:
            return super().metadata.model_copy(update={"is_chat_model": True})

    LiteLLM.__module__ = "llama_index.llms.litellm.base"
    LiteLLM.__qualname__ = "LiteLLM"
    return LiteLLM(**kwargs)


class Derived(OpenAI):
    """A class of the application's own may do anything."""


def like(**kwargs: Any) -> Any:
    return OpenAILike(model="m", api_base="http://h/v1", api_key="k", is_chat_model=True, **kwargs)


@pytest.mark.parametrize(
    ("make", "model", "params"),
    [
        (
            lambda: OpenAI(model="gpt-4o", api_key="k", temperature=0.5, max_tokens=9),
            "openai/gpt-4o",
            {"api_key": "k", "api_base": "https://api.openai.com/v1", "temperature": 0.5}
            | {"max_tokens": 9},
        ),
        (
            lambda: like(temperature=0.0, default_headers={"a": "b"}),
            "openai/m",
            {"api_key": "k", "api_base": "http://h/v1", "extra_headers": {"a": "b"}},
        ),
        (
            azure,
            "azure/deployed",
            {
                "api_key": "k1",
                "api_base": "https://example.openai.azure.com/",
                "api_version": "2024-10-21",
            },
        ),
        (
            lambda: lite(additional_kwargs={"api_key": "k", "top_p": 0.5, "seed": 1}),
            "mistral/mistral-small",
            {"api_key": "k", "top_p": 0.5},
        ),
    ],
    ids=["openai", "like", "azure", "litellm"],
)
def test_llms_are_mapped_with_all_that_is_sent(monkeypatch, make, model, params):
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    llm = make()
    GuardedLLM(llm, LITELLM)
    query = mapped_request(llm)
    assert query.model == model
    assert {k: v for k, v in query.params.items() if k != "allowed_openai_params"} == params


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (MockLLM, "MockLLM is not known to litellm"),
        (lambda: Derived(model="gpt-4o", api_key="k"), "Derived is not known to litellm"),
        (lambda: like(reuse_client=False), "sets 'reuse_client'"),
        (lambda: like(http_client=httpx.Client(verify=False)), "uses a custom client"),
        pytest.param(
            lambda: like(rate_limiter=object()),
            "sets 'rate_limiter'",
            marks=pytest.mark.skipif(
                "rate_limiter" not in LLM.model_fields, reason="LLMs have no rate limiter yet"
            ),
        ),
        (lambda: like(modalities=["text", "audio"]), "sets 'modalities'"),
        (lambda: like(additional_kwargs={"best_of": 2}), "sends 'best_of'"),
        (lambda: OpenAILike(model="m", api_key="k", api_base="http://h"), "is not a chat model"),
        (lambda: azure(use_azure_ad=True), "sets 'use_azure_ad'"),
        (lambda: azure(azure_endpoint=None), "has no 'azure_endpoint'"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_with_the_reason(make, why):
    with pytest.raises(ConfigurationError, match=why):
        GuardedLLM(make(), LITELLM)
    GuardedLLM(make(), AUTO)
