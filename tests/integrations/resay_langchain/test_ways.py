"""Which way samples are drawn: through litellm, or with the application's own model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from resay import ConfigurationError
from resay_langchain import GuardedChatModel, guard_runnable
from simulation import Refused, SimulatedProvider
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
    ("way", "via", "requests"),
    [("auto", "litellm", 1), ("litellm", "litellm", 1), ("native", "native", N)],
)
async def test_the_verdict_says_which_way_was_taken(plain, provider, way, via, requests):
    message = await GuardedChatModel(plain, policy(way)).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == via
    assert verdict_of(message)["samples"] == N
    assert provider.calls == 1 + requests


async def test_a_client_that_litellm_does_not_have_is_used_itself(make_model_at, provider):
    special = make_model_at(provider, plain=False)
    message = await GuardedChatModel(special, policy("auto")).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == "native"
    with pytest.raises(ConfigurationError, match=r"`sampling\.via` is 'litellm', but ChatOpenAI"):
        GuardedChatModel(special, policy("litellm"))


async def test_a_request_that_cannot_be_carried_over_goes_the_other_way(plain):
    guarded = GuardedChatModel(plain, policy("auto"))
    message = await guarded.ainvoke(MADE_UP, audio={"voice": "alloy", "format": "wav"})
    assert verdict_of(message)["via"] == "native"
    assert verdict_of(await guarded.ainvoke(MADE_UP))["via"] == "litellm"


async def test_the_same_is_asked_both_ways(plain, provider):
    chain = PROMPT | plain.bind(temperature=0.4, stop=["#"])
    for way in ("litellm", "native"):
        await guard_runnable(chain, policy(way, start="after")).ainvoke({"question": MADE_UP})
    _, through_litellm, _, *natively = bodies(provider)
    assert through_litellm.pop("n") == N
    assert [body.pop("stream") for body in natively] == [False] * N
    assert [through_litellm] * N == natively
    assert natively[0]["temperature"] == 0.4


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


async def test_judges_go_the_way_of_the_samples(plain, provider):
    await GuardedChatModel(plain, policy("auto", JUDGED)).ainvoke(MADE_UP)
    assert provider.calls == 1 + 1 + N
    assert len(bodies(provider, judged=True)) == N


async def test_another_model_may_draw_the_samples(make_model_at, provider):
    params = {"api_base": provider.base_url, "api_key": "x"}
    other = policy("auto", model="openai/other", params=params)
    special = make_model_at(provider, plain=False)
    message = await GuardedChatModel(special, other).ainvoke(MADE_UP)
    assert verdict_of(message)["via"] == "litellm"
    assert sorted(body["model"] for body in bodies(provider)) == ["other", "simulated"]


async def test_what_goes_through_litellm_is_a_run_all_the_same(plain):
    recorder = Recorder()
    config = {"callbacks": [recorder], "tags": ["app"], "metadata": {"user": "u1"}}
    await GuardedChatModel(plain, policy("auto", JUDGED)).ainvoke(MADE_UP, config)
    ((guarded, _),) = recorder.named("GuardedChatModel").items()
    ((sample, run),) = recorder.named("resay:sample").items()
    assert run.parent == guarded
    assert {"app", "nostream", "resay:sample"} <= set(run.tags)
    assert (run.metadata["user"], run.metadata["resay_call"]) == ("u1", "resay:sample")
    assert run.metadata["ls_model_name"] == "openai/simulated"
    assert recorder.messages[sample].usage_metadata["output_tokens"] > 0
    judges = recorder.named("resay:judge")
    assert {run.parent for run in judges.values()} == {guarded}
    assert len(judges) == N


async def test_a_call_that_fails_ends_its_run(plain, provider):
    recorder = Recorder()
    provider.set_faults(Refused(after=1))
    guarded = GuardedChatModel(plain, policy("auto", start="after"))
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


async def test_samples_know_nothing_of_other_providers(make_model_at, provider, elsewhere):
    guarded = [
        GuardedChatModel(
            make_model_at(p, plain=True), {**policy("auto"), "cache": {"store": "memory"}}
        )
        for p in (provider, elsewhere)
    ]
    for model in guarded:
        assert verdict_of(await model.ainvoke(MADE_UP))["samples"] == N
    assert (provider.calls, elsewhere.calls) == (2, 2)
