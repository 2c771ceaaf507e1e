from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("litellm")

import openai

from resay import Guard
from resay.adapters import GuardRuntime
from resay.errors import ConfigurationError
from resay_litellm import HallucinationCallback, verdict_of
from simulation import Refused, SimulatedProvider
from support.known_world import KNOWN, MADE_UP
from support.litellm import BLOCK, JUDGED, STRICT, N, ask, retire

pytestmark = pytest.mark.anyio


@pytest.fixture
async def guarded(litellm: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """litellm with our callback."""
    monkeypatch.setattr(litellm, "callbacks", [HallucinationCallback(JUDGED)])
    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)
    return litellm


def asked(provider: SimulatedProvider, question: str, **params: Any) -> dict[str, Any]:
    return {**ask(question), "model": "openai/simulated", **provider.params, **params}


@pytest.mark.parametrize("question", [KNOWN, MADE_UP])
async def test_a_response_gets_its_verdict(guarded, provider, question):
    response = await guarded.acompletion(**asked(provider, question))

    verdict = verdict_of(response)
    assert verdict.flagged is (question == MADE_UP)
    assert (verdict.samples, verdict.via) == (N, "litellm")
    assert response.hallucination["action"] == ("annotate" if question == MADE_UP else "allow")
    assert response.choices[0].message.content
    assert verdict_of(response.model_dump()) == verdict


async def test_a_guard_s_own_calls_are_not_guarded_again(guarded, provider):
    guard = Guard(STRICT | {"cache": {"store": "none"}}, model="openai/simulated")
    answer = await guard.aask(MADE_UP, params=provider.params)
    alone = len(provider.requests)
    guarded.callbacks = []
    await guard.aask(MADE_UP, params=provider.params)

    assert answer.flagged
    assert len(provider.requests) == 2 * alone


async def test_what_is_given_by_position_is_found(guarded, provider):
    messages = [{"role": "user", "content": MADE_UP}]
    response = await guarded.acompletion("openai/simulated", messages, **provider.params)

    assert verdict_of(response).samples == N


async def test_samples_are_the_users_request(guarded, provider):
    guarded.callbacks = [HallucinationCallback(STRICT)]
    params = {"temperature": 0, "seed": 3, "max_tokens": 400, "extra_headers": {"x-team": "red"}}
    await guarded.acompletion(**asked(provider, MADE_UP, **params))

    main, *samples = provider.requests
    assert main.body is not None
    kept = {k: v for k, v in main.body.items() if k not in ("temperature", "seed")}
    for record in samples:
        assert record.body is not None
        assert {k: v for k, v in record.body.items() if k != "n"} == kept
        assert record.headers["x-team"] == "red"
    assert sum((r.body or {}).get("n", 1) for r in samples) == N


async def test_a_router_is_covered_too(guarded, provider):
    router = guarded.Router(
        [{"model_name": "chat", "litellm_params": {"model": "openai/sim", **provider.params}}]
    )
    response = await router.acompletion(**ask(MADE_UP))

    assert verdict_of(response).flagged
    retire(router)


async def test_what_it_does_not_see_stays_as_it_is(guarded, provider):
    stream = await guarded.acompletion(**asked(provider, MADE_UP, stream=True))
    pieces = [piece async for piece in stream]
    with openai.OpenAI(api_key="simulated", base_url=provider.base_url) as client:
        blocking = await asyncio.to_thread(
            guarded.completion, **asked(provider, MADE_UP, client=client)
        )

    assert not any(verdict_of(piece) for piece in pieces)
    assert verdict_of(blocking) is None
    assert len(provider.requests) == 2


async def test_a_stored_conversation_is_not_asked_again(guarded, provider):
    options = {"web_search_options": {"search_context_size": "low"}}
    response = await guarded.acompletion(
        **asked(provider, MADE_UP, mock_response="It is blue.", **options)
    )

    assert verdict_of(response).skipped
    assert not provider.requests


async def test_each_of_several_choices_is_checked(guarded, provider):
    response = await guarded.acompletion(**asked(provider, MADE_UP, n=2))

    assert len(response.choices) == 2
    assert all(verdict_of(choice).flagged for choice in response.choices)
    assert verdict_of(response).flagged


async def test_what_goes_wrong_is_an_inconclusive_verdict(guarded, provider, monkeypatch):
    provider.set_faults(Refused(after=1))
    refused = await guarded.acompletion(**asked(provider, MADE_UP))

    async def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("words of the answer")

    monkeypatch.setattr(GuardRuntime, "aask_with", broken)
    provider.clear_faults()
    failed = await guarded.acompletion(**asked(provider, MADE_UP))

    assert verdict_of(refused).inconclusive
    assert verdict_of(failed).reason == "the check failed with RuntimeError"


async def test_what_a_callback_cannot_do_is_refused():
    with pytest.raises(ConfigurationError, match="HallucinationGuardrail"):
        HallucinationCallback({**STRICT, **BLOCK})
    with pytest.raises(ConfigurationError, match="on_error: annotate"):
        HallucinationCallback({**STRICT, "on_error": "block"})
    with pytest.raises(ConfigurationError, match="on_unscored: annotate"):
        HallucinationCallback({**STRICT, "on_unscored": "block"})
    with pytest.raises(ConfigurationError, match="references"):
        HallucinationCallback({"chain": [{"method": "prompt", "evidence": "references"}]})
    with pytest.raises(ConfigurationError, match="via"):
        HallucinationCallback({**STRICT, "sampling": {"via": "native"}})


async def test_a_response_is_marked(guarded, provider):
    marking = {**JUDGED, "action": {"do": "annotate", "marks": "inline"}}
    guarded.callbacks = [HallucinationCallback(marking)]
    response = await guarded.acompletion(**asked(provider, MADE_UP))

    plain = response.hallucination["response"]
    end = verdict_of(response).flagged_sentences[0].end
    assert response.choices[0].message.content.startswith(f"{plain[:end]} [")
