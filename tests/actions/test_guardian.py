"""Granite Guardian gets the definitions of tools whichever way an answer gets to the guard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from actions.seams import SEAMS, asked_by
from support.embeddings import ChatServer

CASE: Mapping[str, Any] = {
    "id": "cancelled",
    "messages": [
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
    ],
    "answer": "I have cancelled your order.",
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "cancel_order",
                "description": "Cancels an order.",
                "parameters": {
                    "type": "object",
                    "properties": {"order_id": {"type": "integer"}},
                    "required": ["order_id"],
                },
            },
        }
    ],
}


@pytest.fixture
def guardian() -> Iterator[ChatServer]:
    """A guardian that finds every call wrong."""
    with ChatServer() as server:
        server.text = "<think>\n</think>\n<score> yes </score>"
        yield server


@pytest.mark.parametrize("name", SEAMS)
def test_a_call_that_does_not_fit_is_found(guardian: ChatServer, name: str) -> None:
    model = {"backend": "chat", "name": "granite-guardian-4.1-8b", "url": guardian.url}
    step = {"method": "actions", "guardian": model}
    with asked_by(name, {"chain": [step], "cache": {"store": "none"}}) as ask:
        assert ask(CASE).flagged
    (body,) = [body for body in guardian.bodies if body["max_tokens"] != 1]
    assert body["chat_template_kwargs"]["available_tools"] == [
        {
            "name": "cancel_order",
            "description": "Cancels an order.",
            "parameters": {"order_id": {"type": "int"}},
        }
    ]


def test_an_answer_in_no_known_form_is_named(guardian: ChatServer) -> None:
    guardian.text = "I would rather not say."
    model = {"backend": "chat", "name": "granite-guardian-4.1-8b", "url": guardian.url}
    step = {"method": "actions", "guardian": model}
    with asked_by("guard", {"chain": [step], "cache": {"store": "none"}}) as ask:
        verdict = ask(CASE)
    assert not verdict.flagged
    (claim,) = verdict.claims
    assert claim.reason is not None
    assert "granite-guardian-4.1-8b answers in no known form" in claim.reason
