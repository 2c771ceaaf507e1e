"""Which way samples are drawn: with the application's own model, or through litellm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from resay import ConfigurationError
from resay_langchain import GuardedChatModel, guard_runnable
from simulation import IgnoreN, Refused, SimulatedProvider
from support.langchain import (
    JUDGED,
    MADE_UP,
    PROMPT,
    UNJUDGED,
    WORLD,
    N,
    Recorder,
    bodies,
    verdict_of,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("litellm")]


def policy(way: str, base: dict[str, Any] = UNJUDGED, **sampling: Any) -> dict[str, Any]:
    return base | {"sampling": {"max": N, "via": way, **sampling}}


@pytest.fixture
def plain(make_model_at: Any, provider: SimulatedProvider) -> ChatOpenAI:
    """A model that litellm can stand in for."""
    return make_model_at(provider, plain=True)


@pytest.mark.parametrize(
    ("way", "via"), [("auto", "native"), ("native", "native"), ("litellm", "litellm")]
)
async def test_the_verdict_says_which_way_was_taken(plain, provider, way, via):
    message = await GuardedChatModel(plain, policy(way)).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == via
    assert verdict_of(message)["samples"] == N
    # One request asks for all samples.
    assert provider.calls == 1 + 1


async def test_a_model_with_a_client_of_its_own_does_not_go_through_litellm(
    make_model_at, provider
):
    special = make_model_at(provider, plain=False)
    message = await GuardedChatModel(special, policy("auto")).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == "native"
    with pytest.raises(ConfigurationError, match=r"`sampling\.via` is 'litellm', but ChatOpenAI"):
        GuardedChatModel(special, policy("litellm"))


async def test_a_request_that_cannot_be_carried_over_goes_natively(plain):
    guarded = GuardedChatModel(plain, policy("litellm"))
    message = await guarded.ainvoke(MADE_UP, audio={"voice": "alloy", "format": "wav"})
    assert verdict_of(message)["via"] == "native"
    assert verdict_of(await guarded.ainvoke(MADE_UP))["via"] == "litellm"


async def test_the_same_is_asked_both_ways(plain, provider):
    chain = PROMPT | plain.bind(temperature=0.4, stop=["#"])
    for way in ("litellm", "native"):
        await guard_runnable(chain, policy(way, start="after")).ainvoke({"question": MADE_UP})
    _, through_litellm, _, natively = bodies(provider)
    assert natively.pop("stream") is False
    assert natively == through_litellm
    assert (natively["n"], natively["temperature"]) == (N, 0.4)


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        # The second request is the one for several; that it was refused, or ignored, is remembered.
        (IgnoreN(), [1, N, 1, 1, 1, 1, 1, 1]),
        (Refused(status=400, after=1, first=1), [1, N, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
async def test_a_provider_without_n_is_asked_for_each_sample(ask, model, provider, fault, requests):
    provider.set_faults(fault)
    guarded = GuardedChatModel(model, policy("auto", start="after"))
    for _ in range(2):
        assert verdict_of(await ask(guarded, MADE_UP))["samples"] == N
    assert [body.get("n", 1) for body in bodies(provider)] == requests


async def test_an_api_without_n_is_asked_for_each_sample(make_model, provider):
    model = make_model(use_responses_api=True)
    message = await GuardedChatModel(model, policy("auto")).ainvoke(MADE_UP)
    assert verdict_of(message)["samples"] == N
    assert provider.calls == 1 + N


async def test_a_class_without_n_is_asked_for_each_sample():
    answers = iter([AIMessage(f"The Zorblatt is {place}.") for place in "abcdef"])
    model = GenericFakeChatModel(messages=answers)
    message = await GuardedChatModel(model, policy("auto")).ainvoke(MADE_UP)
    assert (verdict_of(message)["samples"], verdict_of(message)["usage"]["calls"]) == (N, N)


async def test_the_tokens_of_several_samples_are_counted_once(plain, provider):
    message = await GuardedChatModel(plain, policy("auto")).ainvoke(MADE_UP)
    usage, main = verdict_of(message)["usage"], message.usage_metadata
    assert usage["prompt_tokens"] == provider.prompt_tokens - main["input_tokens"]
    assert usage["completion_tokens"] == provider.completion_tokens - main["output_tokens"]


async def test_what_samples_cost_is_known_by_the_models_name(plain):
    prices = {"prices": {"simulated": {"input": 1000, "output": 1000}}}
    message = await GuardedChatModel(plain, policy("auto") | prices).ainvoke(MADE_UP)
    usage = verdict_of(message)["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["cost_usd"] == pytest.approx(tokens / 1000)


GREEDY = {"top_p": 0.0, "temperature": 1e-7, "extra_body": {"top_k": 1, "user_id": "u"}}


@pytest.mark.parametrize("way", ["litellm", "native"])
@pytest.mark.parametrize("by", ["field", "binding"])
async def test_samples_are_not_decoded_greedily(plain, provider, way, by):
    model = plain.bind(**GREEDY) if by == "binding" else plain.model_copy(update=GREEDY)
    await guard_runnable(PROMPT | model, policy(way, start="after")).ainvoke({"question": MADE_UP})
    main, *samples = bodies(provider)
    assert (main["top_p"], main["temperature"], main["top_k"]) == (0.0, 1e-7, 1)
    assert samples
    for sample in samples:
        assert not {"top_p", "temperature", "top_k"} & sample.keys()
        assert sample["user_id"] == "u"


@pytest.mark.parametrize("way", ["litellm", "native"])
async def test_judges_go_the_way_of_the_samples(plain, provider, way):
    await GuardedChatModel(plain, policy(way, JUDGED)).ainvoke(MADE_UP)
    assert provider.calls == 1 + 1 + N
    judged = bodies(provider, judged=True)
    assert [body["temperature"] for body in judged] == [0] * N


async def test_another_model_may_draw_the_samples(make_model_at, provider):
    params = {"api_base": provider.base_url, "api_key": "x"}
    other = policy("auto", model="openai/other", params=params)
    special = make_model_at(provider, plain=False)
    message = await GuardedChatModel(special, other).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == "litellm"
    assert sorted(body["model"] for body in bodies(provider)) == ["other", "simulated"]


@pytest.mark.parametrize(("way", "name"), [("litellm", "openai/simulated"), ("auto", "simulated")])
async def test_samples_and_judges_are_runs_either_way(plain, way, name):
    recorder = Recorder()
    config = {"callbacks": [recorder], "tags": ["app"], "metadata": {"user": "u1"}}
    await GuardedChatModel(plain, policy(way, JUDGED)).ainvoke(MADE_UP, config)
    ((guarded, _),) = recorder.named("GuardedChatModel").items()
    ((sample, run),) = recorder.named("resay:sample").items()
    assert run.parent == guarded
    assert {"app", "nostream", "resay:sample"} <= set(run.tags)
    assert (run.metadata["user"], run.metadata["resay_call"]) == ("u1", "resay:sample")
    assert run.metadata["ls_model_name"] == name
    assert recorder.messages[sample].usage_metadata["output_tokens"] > 0
    judges = recorder.named("resay:judge")
    assert {run.parent for run in judges.values()} == {guarded}
    assert len(judges) == N


async def test_a_call_that_fails_ends_its_run(plain, provider):
    recorder = Recorder()
    provider.set_faults(Refused(after=1))
    guarded = GuardedChatModel(plain, policy("litellm", start="after"))
    message = await guarded.ainvoke(MADE_UP, {"callbacks": [recorder]})
    assert verdict_of(message)["decision"] == "inconclusive"
    assert set(recorder.named("resay:sample")) <= set(recorder.failed)
    assert "simulated" not in repr([str(error) for error in recorder.failed.values()]).replace(
        "openai/simulated", ""
    )


@pytest.fixture
def elsewhere() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=6, world=WORLD) as provider:
        yield provider


@pytest.mark.parametrize("way", ["litellm", "native"])
async def test_samples_know_nothing_of_other_providers(make_model_at, provider, elsewhere, way):
    cached = {**policy(way), "cache": {"store": "memory"}}
    for server in (provider, elsewhere):
        guarded = GuardedChatModel(make_model_at(server, plain=True), cached)
        assert verdict_of(await guarded.ainvoke(MADE_UP))["samples"] == N
    assert (provider.calls, elsewhere.calls) == (2, 2)


@pytest.mark.parametrize("plain", [True, False])
async def test_samples_are_found_again_by_the_settings_of_a_known_model(
    make_model_at, provider, plain
):
    cached = {**policy("auto"), "cache": {"store": "memory"}}
    for key in ("a", "a", "b"):
        model = make_model_at(provider, plain=plain).model_copy(update={"openai_api_key": key})
        await GuardedChatModel(model, cached).ainvoke(MADE_UP)
    # A client of its own may go anywhere, so only the same object counts.
    assert provider.calls == 3 + (2 if plain else 3)
