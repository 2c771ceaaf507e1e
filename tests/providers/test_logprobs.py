from __future__ import annotations

from typing import Any

import pytest

from resay import ProviderError, ProviderRefusedError, Request
from resay.adapters.providers import LiteLLMProvider
from resay.providers import WithLogprobs
from simulation import (
    IgnoreLogprobs,
    Refused,
    RefusedLogprobs,
    ServerError,
    SimulatedProvider,
    Subject,
    World,
)
from support.litellm_queries import query

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("litellm")]


def asked(simulated: SimulatedProvider) -> list[tuple[Any, Any]]:
    bodies = [request.body or {} for request in simulated.requests]
    return [(body.get("logprobs"), body.get("top_logprobs")) for body in bodies]


async def test_litellm_fills_every_field(simulated: SimulatedProvider) -> None:
    got = await LiteLLMProvider().complete(query(simulated, logprobs=True, top_logprobs=3))
    tokens = got.first.logprobs
    assert b"".join(bytes(token.bytes or ()) for token in tokens).decode() == got.first.text
    for token in tokens:
        assert token.logprob is not None
        assert token.logprob <= 0
        assert token.entropy is None
        assert len(token.top) == 3
        assert token.token in {other.token for other in token.top}
    raw: Any = got.first.raw
    listed = raw.choices[0].logprobs.content
    assert [(t.token, t.logprob) for t in tokens] == [(t.token, t.logprob) for t in listed]


async def test_a_character_cut_in_two_keeps_its_bytes() -> None:
    world = World([Subject("Marie Curie", facts=["Marie Curie has a 🌉 named after her."])])
    with SimulatedProvider(world=world) as simulated:
        got = await LiteLLMProvider().complete(query(simulated, logprobs=True))
    tokens = got.first.logprobs
    assert "🌉" not in "".join(token.token for token in tokens)
    assert b"".join(bytes(token.bytes or ()) for token in tokens).decode() == got.first.text


async def test_without_asking_there_are_none(simulated: SimulatedProvider) -> None:
    assert (await LiteLLMProvider().complete(query(simulated))).first.logprobs == ()
    simulated.set_faults(IgnoreLogprobs())
    got = await LiteLLMProvider().complete(query(simulated, logprobs=True))
    assert (got.first.logprobs, bool(got.first.text)) == ((), True)


@pytest.mark.parametrize(
    ("top", "params", "sent"),
    [
        (0, {}, (True, None)),
        (5, {}, (True, 5)),
        (5, {"logprobs": True, "top_logprobs": 2}, (True, 5)),
        (5, {"logprobs": True, "top_logprobs": 9}, (True, 9)),
        (5, {"logprobs": False, "top_logprobs": None}, (True, 5)),
        (0, {"logprobs": True, "top_logprobs": 9}, (True, 9)),
    ],
)
async def test_the_larger_number_of_alternatives_is_asked_for(
    simulated: SimulatedProvider, top: int, params: dict[str, Any], sent: tuple[Any, Any]
) -> None:
    got = await WithLogprobs(LiteLLMProvider(), top).complete(query(simulated, **params))
    assert asked(simulated) == [sent]
    assert got.first.logprobs


@pytest.mark.parametrize("status", [400, 403, 404, 422])
async def test_a_refusal_costs_the_probabilities_only(
    simulated: SimulatedProvider, status: int
) -> None:
    simulated.set_faults(RefusedLogprobs(status=status))
    got = await WithLogprobs(LiteLLMProvider(), 5).complete(query(simulated))
    assert asked(simulated) == [(True, 5), (None, None)]
    assert (got.first.logprobs, bool(got.first.text)) == ((), True)


async def test_what_the_caller_asks_for_is_the_callers(simulated: SimulatedProvider) -> None:
    simulated.set_faults(RefusedLogprobs())
    provider = WithLogprobs(LiteLLMProvider(), 5)
    with pytest.raises(ProviderRefusedError):
        await provider.complete(query(simulated, logprobs=True, top_logprobs=5))
    assert simulated.calls == 1


@pytest.mark.parametrize("fault", [Refused(status=401), ServerError()])
async def test_other_failures_are_not_about_probabilities(
    simulated: SimulatedProvider, fault: Any
) -> None:
    simulated.set_faults(fault)
    with pytest.raises(ProviderError):
        await WithLogprobs(LiteLLMProvider(), 5).complete(query(simulated))
    assert simulated.calls == 1


async def test_a_request_that_is_wrong_anyway_is_refused(simulated: SimulatedProvider) -> None:
    simulated.set_faults(Refused(status=400))
    with pytest.raises(ProviderRefusedError):
        await WithLogprobs(LiteLLMProvider(), 5).complete(query(simulated))
    assert simulated.calls == 2


async def test_litellm_refuses_for_providers_that_have_none() -> None:
    model = "anthropic/claude-3-5-sonnet-20241022"
    with pytest.raises(ProviderRefusedError) as caught:
        await LiteLLMProvider().complete(
            Request.of(
                "Who?",
                model=model,
                params={"logprobs": True, "api_key": "k", "api_base": "http://127.0.0.1:9"},
            )
        )
    assert caught.value.status == 400
