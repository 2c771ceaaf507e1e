"""Granite Guardian gets the definitions of tools whichever way an answer gets to the guard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest
import yaml
from langchain_core.messages import convert_to_messages
from langchain_openai import ChatOpenAI

import resay
from actions.formats import anthropic_request, responses_items
from actions.upstream import FixedAnswer, fixed_answers
from resay import Guard, Verdict
from resay_anthropic import guard_client
from resay_lab.batch import run_batch
from resay_langchain import guard_runnable
from resay_openai import GuardedOpenAI
from support.embeddings import ChatServer
from support.gateway import Gateways

SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "integer"}},
    "required": ["order_id"],
}
FUNCTION = {"name": "cancel_order", "description": "Cancels an order.", "parameters": SCHEMA}
CHAT_TOOL: dict[str, Any] = {"type": "function", "function": FUNCTION}
RESPONSES_TOOL: dict[str, Any] = {"type": "function", **FUNCTION}
ANTHROPIC_TOOL: dict[str, Any] = {
    "name": "cancel_order",
    "description": "Cancels an order.",
    "input_schema": SCHEMA,
}
ANSWER = "I have cancelled your order."
MESSAGES: list[Any] = [
    {"role": "user", "content": "Please cancel my order 12."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "cancel_order", "arguments": '{"order_id": 21}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "cancelled"}'},
]
GATEWAY_BODIES: Mapping[str, Mapping[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES, "tools": [CHAT_TOOL]},
    "/v1/responses": {"input": responses_items(MESSAGES), "tools": [RESPONSES_TOOL]},
    "/v1/messages": {"max_tokens": 50, "tools": [ANTHROPIC_TOOL], **anthropic_request(MESSAGES)},
}


class World:
    """A guardian that finds every call wrong, and a provider that gives the answer."""

    def __init__(self, guardian: ChatServer, upstream: FixedAnswer, folder: Path) -> None:
        self.guardian = guardian
        self.upstream = upstream
        self.folder = folder
        self.stack = ExitStack()
        model = {"backend": "chat", "name": "granite-guardian-4.1-8b", "url": guardian.url}
        self.policy = {
            "chain": [{"method": "actions", "guardian": model}],
            "cache": {"store": "none"},
        }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ChatServer() as guardian, fixed_answers() as upstream:
        guardian.text = "<think>\n</think>\n<score> yes </score>"
        upstream.text = ANSWER
        world = World(guardian, upstream, tmp_path)
        with world.stack:
            yield world


def last_verdict() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


def by_guard(world: World) -> Verdict:
    guard = world.stack.enter_context(Guard(world.policy))
    return guard.check(ANSWER, question=MESSAGES, params={"tools": [CHAT_TOOL]})


def by_openai(world: World) -> Verdict:
    client = GuardedOpenAI(policy=world.policy, base_url=f"{world.upstream.url}/v1", api_key="x")
    world.stack.enter_context(client)
    client.chat.completions.create(model="fixed", messages=MESSAGES, tools=[CHAT_TOOL])  # type: ignore[list-item] - mappings of their shape
    return last_verdict()


def by_responses(world: World) -> Verdict:
    client = GuardedOpenAI(policy=world.policy, base_url=f"{world.upstream.url}/v1", api_key="x")
    world.stack.enter_context(client)
    items: Any = responses_items(MESSAGES)
    client.responses.create(model="fixed", input=items, tools=[RESPONSES_TOOL])  # type: ignore[list-item] - the same
    return last_verdict()


def by_anthropic(world: World) -> Verdict:
    own = anthropic.Anthropic(base_url=world.upstream.url, api_key="x", max_retries=0)
    client = world.stack.enter_context(guard_client(own, world.policy))
    request: Any = {"tools": [ANTHROPIC_TOOL], **anthropic_request(MESSAGES)}
    client.messages.create(model="fixed", max_tokens=50, **request)
    return last_verdict()


def by_langchain(world: World) -> Verdict:
    model = ChatOpenAI(model="fixed", base_url=f"{world.upstream.url}/v1", api_key="x")  # type: ignore[arg-type] - a key is a text, too
    chain = guard_runnable(model.bind_tools([CHAT_TOOL]), world.policy)
    chain.invoke(convert_to_messages(MESSAGES))
    return last_verdict()


def by_batch(world: World) -> Verdict:
    source, target = world.folder / "in.jsonl", world.folder / "out.jsonl"
    source.write_text(json.dumps({"id": "1", "response": ANSWER, "messages": MESSAGES}))
    guard = world.stack.enter_context(Guard(world.policy))
    params = {"tools": [CHAT_TOOL]}
    run_batch(guard, source, target, engine="local", workers=1, params=params)
    return Verdict.from_dict(json.loads(target.read_text()))


def by_gateway(path: str) -> Callable[[World], Verdict]:
    def ask(world: World) -> Verdict:
        gateways = Gateways(world.folder, world.upstream.url, world.stack)
        served = gateways.start(yaml.safe_dump(world.policy))
        body = {"model": "fixed", **GATEWAY_BODIES[path]}
        response = httpx.post(served.url + path, json=body, timeout=30).json()
        return Verdict.from_dict(response["hallucination"])

    return ask


SEAMS: Mapping[str, Callable[[World], Verdict]] = {
    "guard": by_guard,
    "openai chat": by_openai,
    "openai responses": by_responses,
    "anthropic": by_anthropic,
    "langchain": by_langchain,
    "batch": by_batch,
    **{f"gateway {path}": by_gateway(path) for path in GATEWAY_BODIES},
}


@pytest.mark.parametrize("seam", SEAMS)
def test_a_call_that_does_not_fit_is_found(world: World, seam: str) -> None:
    assert SEAMS[seam](world).flagged
    (body,) = [body for body in world.guardian.bodies if body["max_tokens"] != 1]
    assert body["chat_template_kwargs"]["available_tools"] == [
        {
            "name": "cancel_order",
            "description": "Cancels an order.",
            "parameters": {"order_id": {"type": "int"}},
        }
    ]
