"""What was written again takes the place of the model's answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

pytest.importorskip("litellm")

from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

from resay.errors import ConfigurationError
from resay_litellm import HallucinationCallback, verdict_of
from support.litellm import as_sent, ask
from support.repaired import (
    KNOWN,
    MODES,
    QUESTION,
    RIGHT,
    Shelf,
    check_repaired,
    guard,
    half_right,
    said_beside,
    words_of_draft,
)

pytestmark = pytest.mark.anyio

provider = pytest.fixture(half_right)

RESPOND = {"model": "chat", "input": QUESTION}
CLAUDE = {**ask(QUESTION), "model": "claude", "max_tokens": 300}


def as_json(piece: Any) -> Any:
    return piece if isinstance(piece, dict) else json.loads(piece.model_dump_json())


def check(text: str, verdict: Any, told: list[Any]) -> None:
    check_repaired(text, verdict, [as_json(piece) for piece in told])


async def given(guardrail: Any, response: Any, body: dict[str, Any]) -> Any:
    return await guardrail.async_post_call_success_hook(as_sent(body), None, response)


async def streamed(guardrail: Any, stream: Any, body: dict[str, Any]) -> list[Any]:
    hook = guardrail.async_post_call_streaming_iterator_hook
    return [piece async for piece in hook(None, stream, as_sent(body))]


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_a_completion_says_the_new_text(make_guardrail, router, mode):
    body = ask(QUESTION, logprobs=True)
    response = await router.acompletion(**body)
    response.choices[0].message.reasoning_content = "Casimir, surely"
    response.citations = ["https://casimir"]
    answer = await given(make_guardrail(guard(mode)), response, body)

    (choice,) = answer.choices
    check(choice.message.content, verdict_of(answer), [answer])
    assert "asimir" not in said_beside(as_json(answer))
    assert choice.finish_reason == "stop"
    assert answer.hallucination["action"] == "regenerate"
    assert (answer.id, answer.usage) == (response.id, response.usage)


async def test_a_response_says_the_new_text(make_guardrail, router):
    response = await router.aresponses(**RESPOND)
    answer = await given(make_guardrail(guard()), response, RESPOND)

    assert (answer.status, answer.id) == ("completed", response.id)
    data = as_json(answer)
    check(data["output"][0]["content"][0]["text"], verdict_of(answer), [data])
    assert data["incomplete_details"] is None


async def test_a_message_says_the_new_text(make_guardrail, router):
    response = await router.aanthropic_messages(**CLAUDE)
    answer = await given(make_guardrail(guard()), response, CLAUDE)

    (block,) = answer["content"]
    told = {k: v for k, v in answer.items() if k != "_hidden_params"}
    check(block["text"], verdict_of(answer), [told])
    assert answer["stop_reason"] == "end_turn"


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_a_stream_of_completions_says_the_new_text(make_guardrail, router, mode, stream):
    body = ask(QUESTION, stream=True, stream_options={"include_usage": True})
    guardrail = make_guardrail(guard(mode, stream))
    pieces = await streamed(guardrail, await router.acompletion(**body), body)

    texts = [c.delta.content for piece in pieces for c in piece.choices if c.delta.content]
    (verdict,) = [found for piece in pieces if (found := verdict_of(piece)) is not None]
    check("".join(texts), verdict, pieces)
    assert ("".join(texts[:-1]).strip() == KNOWN) is ((mode, stream) == ("repair", "hold"))
    assert [c.finish_reason for p in pieces for c in p.choices if c.finish_reason] == ["stop"]
    assert as_json(pieces[-1])["usage"]["completion_tokens"] > 0


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_no_thought_of_the_draft_is_given(make_guardrail, router, mode, stream):
    made_up = "The Zorblatt was built in 1857 by Jessamy Thornaby."
    body = ask(QUESTION, stream=True)

    async def coming() -> Any:
        yield piece(role="assistant", content=None, reasoning_content=f"Surely. {made_up}")
        yield piece(content=f"{KNOWN} ")
        yield piece(content=made_up)
        yield piece("stop", content=None)

    pieces = await streamed(make_guardrail(guard(mode, stream)), coming(), body)
    texts = [c.delta.content for p in pieces for c in p.choices if c.delta.content]
    check("".join(texts), verdict_of(pieces[-1]), pieces)
    assert len(texts) == 1
    assert "Surely" not in said_beside([as_json(each) for each in pieces])


def piece(reason: str | None = None, **delta: Any) -> Any:
    choice = StreamingChoices(index=0, delta=Delta(**delta), finish_reason=reason)
    return ModelResponseStream(id="c-1", model="m", created=1, choices=[choice])


@pytest.mark.parametrize("stream", ["hold", "buffer"])
async def test_each_of_several_answers_is_repaired(make_guardrail, router, stream):
    guardrail = make_guardrail(guard(stream_mode=stream))
    body = ask(QUESTION, n=2)
    answer = await given(guardrail, await router.acompletion(**body), body)
    body = ask(QUESTION, n=2, stream=True)
    pieces = await streamed(guardrail, await router.acompletion(**body), body)

    for index, choice in enumerate(answer.choices):
        check(choice.message.content, verdict_of(choice), [answer])
        own = [c.delta.content for p in pieces for c in p.choices if c.index == index]
        assert RIGHT in "".join(filter(None, own))
    verdicts = [verdict for piece in pieces if (verdict := verdict_of(piece)) is not None]
    assert len(verdicts) == 2
    beside = said_beside([as_json(piece) for piece in pieces])
    assert not [word for v in verdicts for word in words_of_draft(v) if word in beside]


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_a_stream_of_a_response_says_the_new_text(make_guardrail, router, mode, stream):
    body = {**RESPOND, "stream": True}
    guardrail = make_guardrail(guard(mode, stream))
    pieces = await streamed(guardrail, await router.aresponses(**body), body)

    last = as_json(pieces[-1])
    assert last["type"] == "response.completed"
    said = "".join(p.delta for p in pieces if as_json(p)["type"] == "response.output_text.delta")
    check(said, verdict_of(pieces[-1]), pieces)
    assert [part["text"] for part in last["response"]["output"][0]["content"]] == [said]


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_a_stream_of_a_message_says_the_new_text(make_guardrail, provider, mode, stream):
    body = {**CLAUDE, "stream": True}
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{provider.base_url}/messages", json=body)
    raw = answer.content

    async def pieces() -> Any:
        for start in range(0, len(raw), 50):
            yield raw[start : start + 50]

    made = b"".join(await streamed(make_guardrail(guard(mode, stream)), pieces(), body))
    lines = [line for line in made.decode().splitlines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    deltas = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
    (end,) = [event for event in events if event["type"] == "message_delta"]
    check("".join(deltas), verdict_of(end), events)
    assert end["delta"]["stop_reason"] == "end_turn"


async def test_litellms_logs_say_that_it_intervened(make_guardrail, router):
    body = ask(QUESTION)
    data = as_sent(body)
    response = await router.acompletion(**body)
    answer = await make_guardrail(guard()).async_post_call_success_hook(data, None, response)

    (entry,) = data["metadata"]["standard_logging_guardrail_information"]
    assert entry["guardrail_status"] == "guardrail_intervened"
    assert entry["guardrail_response"]["regeneration"]["adopted"] == 0
    words = json.dumps(entry, default=str)
    assert "Zorblatt" not in words
    assert not [word for word in words_of_draft(verdict_of(answer)) if word in words]


async def test_a_callback_gives_the_new_text(litellm, provider, monkeypatch):
    callback = HallucinationCallback(guard().policy, retriever=Shelf())
    monkeypatch.setattr(litellm, "callbacks", [callback])
    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)
    asked = {**ask(QUESTION), "model": "openai/simulated", **provider.params}
    response = await litellm.acompletion(**asked)

    check(response.choices[0].message.content, verdict_of(response), [response])
    assert response.hallucination["action"] == "regenerate"


async def test_a_callback_cannot_withhold_what_cannot_be_repaired():
    with pytest.raises(ConfigurationError, match="otherwise: block"):
        HallucinationCallback(guard(otherwise="block"))
