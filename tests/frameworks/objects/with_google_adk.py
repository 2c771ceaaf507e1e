"""An agent of Google's ADK whose answers are checked by a plugin."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any

import cases
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

from resay_frameworks.google_adk import HallucinationPlugin


def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


async def run(agent: Any, plugin: Any, question: str, **config: Any) -> list[Any]:
    runner = InMemoryRunner(agent=agent, app_name="clocks", plugins=[plugin])
    session = await runner.session_service.create_session(app_name="clocks", user_id="user")
    events = runner.run_async(
        user_id="user",
        session_id=session.id,
        new_message=types.Content(role="user", parts=[types.Part(text=question)]),
        run_config=RunConfig(**config),
    )
    return [event async for event in events]


def text_of(event: Any) -> str:
    parts = event.content.parts if event.content else []
    return "".join(part.text or "" for part in parts)


def guarded(guard: Any, question: str, **options: Any) -> Any:
    model = LiteLlm("openai/simulated", api_base=cases.BASE_URL, api_key="simulated")
    tools = [clock_year] if "[[" in question else []
    agent = LlmAgent(name="guide", model=model, instruction="Answer briefly.", tools=tools)
    plugin = HallucinationPlugin(guard, **options)
    event = asyncio.run(run(agent, plugin, question))[-1]
    streamed = asyncio.run(run(agent, plugin, question, streaming_mode=StreamingMode.SSE))
    assert not plugin._requests
    action = event.custom_metadata["hallucination"]["action"]
    assert streamed[-1].custom_metadata["hallucination"]["action"] == action
    if action in ("block", "regenerate"):
        # No part of what is replaced was shown.
        assert {text_of(event) for event in streamed} <= {"", text_of(streamed[-1])}
    return text_of(event) or event.error_code, event.custom_metadata


class Failing(BaseLlm):
    """A model that fails."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        raise ConnectionError
        yield


def check_failed_runs() -> None:
    """Nothing is remembered of a run that failed, after which ADK calls no plugin."""
    agent = LlmAgent(name="guide", model=Failing(model="failing"), instruction="Answer briefly.")
    plugin = HallucinationPlugin(cases.policy("block"))
    with suppress(ConnectionError):
        asyncio.run(run(agent, plugin, cases.ABOUT))
    gc.collect()
    assert not plugin._requests


check_failed_runs()
cases.run(guarded)
