from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from resay import MissingDependencyError, ProviderError, ProviderRefusedError, Query
from resay.providers import FanOut, LiteLLMProvider
from resay.testing import (
    EmptyAnswer,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
)

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about Marie Curie."


def query(simulated: SimulatedProvider, model: str = "openai/simulated", **params: Any) -> Query:
    return Query.of(QUESTION, model=model, **{**simulated.params, **params})


async def test_one_request_brings_n_answers(simulated: SimulatedProvider) -> None:
    got = await LiteLLMProvider().complete(query(simulated), n=3)
    assert len({c.text for c in got.items}) == 3
    assert simulated.calls == got.usage.calls == 1
    assert got.usage.prompt_tokens == simulated.prompt_tokens > 0
    assert got.usage.completion_tokens == simulated.completion_tokens > 0
    assert got.usage.cost_usd is None
    assert got.first.finish_reason == "stop"


async def test_a_known_model_has_a_price(simulated: SimulatedProvider) -> None:
    got = await LiteLLMProvider().complete(query(simulated, "openai/gpt-4.1-mini"))
    assert got.usage.cost_usd is not None
    assert got.usage.cost_usd > 0


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("openai/gpt-4.1-mini", True),
        ("groq/llama-3.1-8b-instant", True),
        ("anthropic/claude-3-5-sonnet-20241022", False),
        ("mistral/mistral-large-latest", False),
        ("ollama_chat/llama3", False),
        ("nosuchprovider/x", False),
    ],
)
async def test_who_takes_n(model: str, takes: bool) -> None:
    assert await LiteLLMProvider().takes_n(Query.of("Who?", model=model)) is takes


async def test_an_ignored_n_is_topped_up(simulated: SimulatedProvider) -> None:
    simulated.set_faults(IgnoreN())
    got = await FanOut(LiteLLMProvider()).complete(query(simulated), n=4)
    assert len(got.items) == 4
    assert simulated.calls == 4


async def test_litellm_retries_nothing(simulated: SimulatedProvider) -> None:
    simulated.set_faults(ServerError())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retryable
    assert simulated.calls == 1


async def test_retry_after_is_read(simulated: SimulatedProvider) -> None:
    simulated.set_faults(RateLimited(retry_after_s=7))
    with pytest.raises(ProviderError, match=r"HTTP 429.*limits\.concurrency") as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert (caught.value.status, caught.value.retry_after_s) == (429, 7.0)
    simulated.set_faults(RateLimited())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final(simulated: SimulatedProvider, status: int) -> None:
    simulated.set_faults(Refused(status=status))
    with pytest.raises(ProviderRefusedError) as caught:
        await LiteLLMProvider().complete(query(simulated, api_key="sk-secret"))
    assert caught.value.status == status
    assert not caught.value.retryable
    assert "Curie" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_a_broken_body_may_be_tried_again(simulated: SimulatedProvider) -> None:
    simulated.set_faults(MalformedJson())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retryable


async def test_an_empty_answer_is_an_answer(simulated: SimulatedProvider) -> None:
    simulated.set_faults(EmptyAnswer())
    assert (await LiteLLMProvider().complete(query(simulated))).first.text == ""


async def test_nobody_listening_is_a_provider_error() -> None:
    nowhere = Query.of("Who?", model="openai/x", api_base="http://127.0.0.1:9/v1", api_key="k")
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(nowhere)
    assert caught.value.retryable


async def test_a_missing_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderRefusedError, match="needs an API key"):
        await LiteLLMProvider().complete(Query.of("Who?", model="openai/gpt-4.1-mini"))


async def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ProviderRefusedError, match="check the model's name"):
        await LiteLLMProvider().complete(Query.of("Who?", model="nosuchprovider/x"))


async def test_the_applications_litellm_is_left_alone(simulated: SimulatedProvider) -> None:
    import litellm

    names = ("callbacks", "cache", "drop_params", "num_retries", "request_timeout", "api_key")
    before = {name: getattr(litellm, name) for name in names}
    await LiteLLMProvider().complete(query(simulated), n=2)
    assert {name: getattr(litellm, name) for name in names} == before


def test_without_litellm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resay.providers.litellm.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"resay\[litellm\]"):
        LiteLLMProvider()


_QUIET = """
import anyio, os, sys
from resay import Query
from resay.providers import LiteLLMProvider
provider = LiteLLMProvider()
assert "litellm" not in sys.modules
print(anyio.run(provider.takes_n, Query.of("Who?", model="openai/x")), "litellm" in sys.modules)
assert "FROM_DOTENV" not in os.environ
"""


def test_the_first_request_imports_litellm_quietly(tmp_path: Any) -> None:
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    done = subprocess.run(
        [sys.executable, "-c", _QUIET], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")
