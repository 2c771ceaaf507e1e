"""Answers that were written again take the place of the model's."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from resay.errors import ConfigurationError
from resay_openai import guard_client, guard_http_client, verdict_of
from support.repaired import (
    KNOWN,
    MODES,
    QUESTION,
    RIGHT,
    Shelf,
    check_repaired,
    guard,
    half_right,
)

pytestmark = pytest.mark.anyio

provider = pytest.fixture(half_right)

IMAGE = "data:image/png;base64,iVBORw0KGgo="


def chat(client: Any, question: Any = QUESTION, **kwargs: Any) -> Any:
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="simulated", messages=messages, **kwargs)


def respond(client: Any, question: Any = QUESTION, **kwargs: Any) -> Any:
    return client.responses.create(model="simulated", input=question, **kwargs)


def as_json(items: Any) -> Any:
    items = items if isinstance(items, list) else [items]
    return [json.loads(item.to_json()) for item in items]


def check(text: str, verdict: Any, told: Any) -> None:
    """See whether a text is a repaired answer whose sentences the verdict knows."""
    check_repaired(text, verdict, told)
    assert "".join(s.text for s in verdict.sentences).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_a_completion_says_the_new_text(make, done, mode) -> None:
    answer = await done(chat(make(guard(mode)), logprobs=True))
    (choice,) = answer.choices
    check(choice.message.content, verdict_of(answer), as_json(answer))
    assert (choice.finish_reason, choice.logprobs) == ("stop", None)
    assert answer.hallucination["action"] == "regenerate"
    assert answer.usage.completion_tokens > 0
    assert answer.id.startswith("chatcmpl-")


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_a_response_says_the_new_text(make, done, mode) -> None:
    answer = await done(respond(make(guard(mode))))
    check(answer.output_text, verdict_of(answer), as_json(answer))
    assert (answer.status, answer.incomplete_details) == ("completed", None)
    assert answer.usage.output_tokens > 0


async def test_the_raw_response_says_it(make, done) -> None:
    raw = make(guard()).chat.completions.with_raw_response
    messages = [{"role": "user", "content": QUESTION}]
    answer = await done(raw.create(model="simulated", messages=messages))
    data = json.loads(answer.text)
    check(data["choices"][0]["message"]["content"], verdict_of(data), data)


def text_in(events: list[Any]) -> list[str]:
    chunks = [event for event in events if getattr(event, "choices", None)]
    deltas = [e.delta for e in events if getattr(e, "type", "") == "response.output_text.delta"]
    return [text for text in [*(c.choices[0].delta.content for c in chunks), *deltas] if text]


@pytest.mark.parametrize(("mode", "stream"), MODES)
@pytest.mark.parametrize("ask", [chat, respond])
async def test_a_stream_says_the_new_text(make, done, ask, mode, stream) -> None:
    events = await done(ask(make(guard(mode, stream)), stream=True))
    texts = text_in(events)
    check("".join(texts), verdict_of(events[-1]), as_json(events))
    # What comes before the first doubt was given as it was released.
    assert ("".join(texts[:-1]).strip() == KNOWN) is ((mode, stream) == ("repair", "hold"))
    if ask is chat:
        assert events[-1].choices[0].finish_reason == "stop"
    else:
        assert events[-1].type == "response.completed"
        assert events[-1].response.output_text == "".join(texts)


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_usage_comes_after_it(make, done, mode, stream) -> None:
    told = {"include_usage": True}
    events = await done(chat(make(guard(mode, stream)), stream=True, stream_options=told))
    assert verdict_of(events[-2]).regenerated
    assert events[-1].choices == []
    assert events[-1].usage.completion_tokens > 0


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_the_helpers_put_the_new_text_together(make, mode, stream) -> None:
    client = make(guard(mode, stream))
    messages: Any = [{"role": "user", "content": QUESTION}]
    asking = client.chat.completions.stream(model="simulated", messages=messages)
    responding = client.responses.stream(model="simulated", input=QUESTION)
    if isinstance(client, openai.AsyncOpenAI):
        async with asking as chunks, responding as events:
            completion = await chunks.get_final_completion()
            response = await events.get_final_response()
    else:
        with asking as chunks, responding as events:
            completion = chunks.get_final_completion()
            response = events.get_final_response()
    (choice,) = completion.choices
    check(choice.message.content, verdict_of(completion), as_json(completion))
    check(response.output_text, verdict_of(response), as_json(response))
    assert (choice.finish_reason, response.status) == ("stop", "completed")


@pytest.mark.parametrize("stream", ["hold", "buffer"])
async def test_each_of_several_answers_is_repaired(make, done, stream) -> None:
    client = make(guard(stream_mode=stream))
    answer = await done(chat(client, n=2))
    events = await done(chat(client, n=2, stream=True))
    for index, choice in enumerate(answer.choices):
        check(choice.message.content, verdict_of(choice), as_json(answer))
        own = [e for e in events if e.choices and e.choices[0].index == index]
        check("".join(text_in(own)), verdict_of(own[-1]), as_json(events))
        assert own[-1].choices[0].finish_reason == choice.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
async def test_it_is_complete_where_the_model_was_cut_short(make, done, stream) -> None:
    given = await done(chat(make(guard()), max_tokens=22, stream=stream))
    ended = given[-1] if stream else given
    text = "".join(text_in(given)) if stream else given.choices[0].message.content
    assert RIGHT in text
    assert ended.choices[0].finish_reason == "stop"


async def test_what_could_not_be_repaired_is_given_as_it_is(make, done) -> None:
    client = make(guard().policy, retriever=lambda query: [])
    answer = await done(chat(client))
    assert answer.hallucination["action"] == "annotate"
    draft = verdict_of(answer).regeneration.draft
    assert answer.choices[0].message.content == draft


async def test_sources_may_stand_in_the_text(make, done) -> None:
    answer = await done(chat(make(guard(citations="marks"))))
    text = answer.choices[0].message.content
    assert f"{RIGHT} [1]" in text
    assert text.endswith("Sources:\n[1] clocks.md")


@pytest.mark.parametrize("ask", [chat, respond])
async def test_the_writer_reads_the_whole_conversation(make, done, provider, ask) -> None:
    client = make(guard("rewrite"))
    if ask is chat:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
        ]
        parts: Any = [
            {"type": "text", "text": QUESTION},
            {"type": "image_url", "image_url": {"url": IMAGE}},
        ]
        asked = [*messages, {"role": "user", "content": parts}]
        made = client.chat.completions.create(
            model="simulated", messages=asked, temperature=0.3, max_tokens=150
        )
    else:
        parts = [
            {"type": "input_text", "text": QUESTION},
            {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
        ]
        asked = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": parts},
        ]
        made = client.responses.create(
            model="simulated",
            input=asked,
            instructions="Be brief.",
            temperature=0.3,
            max_output_tokens=150,
        )
    answer = await done(made)
    assert verdict_of(answer).regenerated
    bodies: list[Any] = [record.body for record in provider.requests]
    (body,) = [body for body in bodies if "Answer by these documents" in json.dumps(body)][:1]
    said = body["messages" if ask is chat else "input"]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
    assert said[0]["content"] == "Be brief."
    *first, added = said[-1]["content"]
    assert first == parts
    assert added["text"].startswith("Answer by these documents")
    assert body["temperature"] == 0.3
    assert body["max_tokens" if ask is chat else "max_output_tokens"] == 150


async def test_a_client_takes_what_finds_documents(make, done, provider) -> None:
    policy = guard().policy
    with pytest.raises(ConfigurationError, match="no retriever"):
        make(policy)
    plain = openai.OpenAI(base_url=provider.base_url, api_key="k")
    with plain:
        guarded = guard_client(plain, policy, retriever=Shelf())
        for client in (make(policy, retriever=Shelf()), guarded, guarded.with_options(timeout=9)):
            assert verdict_of(await done(chat(client))).regenerated
        other = guarded.with_policy(policy, retriever=lambda query: [])
        assert not verdict_of(chat(other)).regenerated


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [chat, respond])
def test_an_http_client_gives_it_too(provider, ask, stream) -> None:
    with openai.OpenAI(
        base_url=provider.base_url,
        api_key="k",
        http_client=guard_http_client(httpx.Client(), guard().policy, retriever=Shelf()),
    ) as client:
        given = ask(client, stream=stream)
        events = list(given) if stream else [given]
    if stream:
        text = "".join(text_in(events))
    else:
        text = given.output_text if ask is respond else given.choices[0].message.content
    check(text, verdict_of(events[-1]), as_json(events))
