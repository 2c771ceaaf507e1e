"""An agent of Google's ADK whose answers are checked by a plugin."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

from resay_frameworks.google_adk import HallucinationPlugin


def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


async def run(agent: Any, plugin: Any, question: str) -> Any:
    runner = InMemoryRunner(agent=agent, app_name="clocks", plugins=[plugin])
    session = await runner.session_service.create_session(app_name="clocks", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    run = runner.run_async(user_id="user", session_id=session.id, new_message=message)
    return [event async for event in run][-1]


def guarded(guard: Any, question: str, **options: Any) -> Any:
    model = LiteLlm("openai/simulated", api_base=cases.BASE_URL, api_key="simulated")
    tools = [clock_year] if "[[" in question else []
    agent = LlmAgent(name="guide", model=model, instruction="Answer briefly.", tools=tools)
    plugin = HallucinationPlugin(guard, **options)
    event = asyncio.run(run(agent, plugin, question))
    assert not plugin._requests
    text = event.content.parts[0].text if event.content else event.error_code
    return text, event.custom_metadata


cases.run(guarded, "google-adk")
