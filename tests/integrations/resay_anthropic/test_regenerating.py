"""Messages that were written again take the place of the model's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay.errors import ConfigurationError
from resay_anthropic import guard_client, verdict_of
from simulation import SimulatedProvider
from support.repaired import (
    KNOWN,
    MODES,
    QUESTION,
    Shelf,
    check_repaired,
    guard,
    half_right,
)

pytestmark = pytest.mark.anyio

provider = pytest.fixture(half_right)

Guarded = Callable[[Any], Any]


def asked(question: Any = QUESTION, **further: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "simulated", "max_tokens": 300, "messages": messages, **further}


def check(text: str, verdict: Any, told: list[Any]) -> None:
    check_repaired(text, verdict, [json.loads(item.to_json()) for item in told])


def texts_in(events: list[Any]) -> list[str]:
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return [delta.text for delta in deltas if delta.type == "text_delta"]


@pytest.mark.parametrize("mode", ["repair", "rewrite"])
async def test_a_message_says_the_new_text(guarded: Guarded, mode: str) -> None:
    message = await guarded(guard(mode)).ask(**asked())
    (block,) = message.content
    check(block.text, verdict_of(message), [message])
    assert message.stop_reason == "end_turn"
    assert message.hallucination["action"] == "regenerate"
    assert message.usage.output_tokens > 0


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_a_stream_says_the_new_text(guarded: Guarded, mode: str, stream: str) -> None:
    given, events = await guarded(guard(mode, stream)).stream(**asked())
    texts = texts_in(events)
    check("".join(texts), verdict_of(given), events)
    assert ("".join(texts[:-1]).strip() == KNOWN) is ((mode, stream) == ("repair", "hold"))
    (end,) = [event for event in events if event.type == "message_delta"]
    assert end.delta.stop_reason == "end_turn"
    assert verdict_of(end) == verdict_of(given)
    kinds = [event.type for event in events]
    assert (kinds.count("content_block_start"), kinds.count("content_block_stop")) == (1, 1)


@pytest.mark.parametrize(("mode", "stream"), MODES)
async def test_the_helpers_put_the_new_text_together(
    sync_client: Anthropic, async_client: AsyncAnthropic, mode: str, stream: str
) -> None:
    policy = guard(mode, stream)
    with guard_client(sync_client, policy).messages.stream(**asked()) as events:
        message: Any = events.get_final_message()
        check(message.content[0].text, verdict_of(events), [message])
    async with guard_client(async_client, policy).messages.stream(**asked()) as aevents:
        text = "".join([piece async for piece in aevents.text_stream])
        message = await aevents.get_final_message()
        check(text, verdict_of(aevents), [message])
    assert [block.text for block in message.content] == [text]
    assert message.stop_reason == "end_turn"


async def test_it_is_complete_where_the_model_was_cut_short(guarded: Guarded) -> None:
    client = guarded(guard())
    message = await client.ask(**asked(max_tokens=22))
    _, events = await client.stream(**asked(max_tokens=22))
    (end,) = [event for event in events if event.type == "message_delta"]
    assert verdict_of(message).regenerated
    assert verdict_of(end).regenerated
    assert message.stop_reason == end.delta.stop_reason == "end_turn"


async def test_the_writer_reads_the_whole_conversation(
    guarded: Guarded, provider: SimulatedProvider
) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    parts = [{"type": "text", "text": QUESTION}, {"type": "image", "source": source}]
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": parts},
    ]
    told = {"system": "Be brief.", "max_tokens": 150}
    # Newer versions of the SDK know no temperature.
    warm = {"temperature": 0.3}
    message = await guarded(guard("rewrite")).ask(
        **asked(messages=messages, **told, extra_body=warm)
    )
    assert verdict_of(message).regenerated
    bodies: list[Any] = [record.body for record in provider.requests]
    (body,) = [b for b in bodies if "Answer by these documents" in json.dumps(b)][:1]
    assert {name: body[name] for name in (*told, *warm)} == {**told, **warm}
    assert body["messages"][:2] == messages[:2]
    *first, added = body["messages"][-1]["content"]
    assert first == parts
    assert added["text"].startswith("Answer by these documents")


async def test_a_conversation_with_tools_goes_on(
    guarded: Guarded, provider: SimulatedProvider
) -> None:
    tool = {"name": "look_up", "description": "Look up.", "input_schema": {"type": "object"}}
    messages = [
        {"role": "user", "content": "Look it up."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t_1", "name": "look_up", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t_1", "content": "Nothing."},
                {"type": "text", "text": QUESTION},
            ],
        },
    ]
    message = await guarded(guard("rewrite")).ask(**asked(messages=messages, tools=[tool]))
    assert verdict_of(message).regenerated
    bodies: list[Any] = [record.body for record in provider.requests]
    (body,) = [b for b in bodies if "Answer by these documents" in json.dumps(b)][:1]
    assert body["messages"][:2] == messages[:2]
    assert body["messages"][2]["content"][:2] == messages[2]["content"]
    assert (body["tools"], body["tool_choice"]) == ([tool], {"type": "none"})


async def test_a_client_takes_what_finds_documents(sync_client: Anthropic) -> None:
    policy = guard().policy
    with pytest.raises(ConfigurationError, match="no retriever"):
        guard_client(sync_client, policy)
    client = guard_client(sync_client, policy, retriever=Shelf())
    assert verdict_of(client.messages.create(**asked())).regenerated
