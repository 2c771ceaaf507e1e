"""An agent of Microsoft Agent Framework whose answers are checked by middleware."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from resay_frameworks.agent_framework import HallucinationMiddleware

# The connections of a client belong to the loop in which they are opened.
LOOP = asyncio.new_event_loop()


def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


async def ask(guard: Any, question: str, **options: Any) -> Any:
    client = OpenAIChatCompletionClient(model="simulated", base_url=cases.BASE_URL)
    tools = [clock_year] if "[[" in question else []
    middleware = HallucinationMiddleware(guard, **options)
    agent = Agent(client, "Answer briefly.", tools=tools, middleware=[middleware])
    response = await agent.run(question)
    stream = agent.run(question, stream=True)
    texts = [update.text async for update in stream]
    streamed = await stream.get_final_response()
    data, streamed_data = response.additional_properties, streamed.additional_properties
    for name in ("decision", "action"):
        assert streamed_data["hallucination"][name] == data["hallucination"][name]
    if data["hallucination"]["action"] == "block":
        assert "".join(texts) == streamed.text == response.text
    return response.text, data


def guarded(guard: Any, question: str, **options: Any) -> Any:
    return LOOP.run_until_complete(ask(guard, question, **options))


cases.run(guarded)
