"""An agent of Pydantic AI whose outputs are checked by a validator."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from resay_frameworks.pydantic_ai import HallucinationValidator

# The connections of a model belong to the loop in which they are opened.
LOOP = asyncio.new_event_loop()


def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


def guarded(guard: Any, question: str, **options: Any) -> Any:
    tools = [clock_year] if "[[" in question else []
    agent = Agent(OpenAIChatModel("simulated"), tools=tools, retries=1)
    agent.output_validator(HallucinationValidator(guard, **options))
    result = LOOP.run_until_complete(agent.run(question))
    return result.output, result.response.metadata


def check_retry() -> None:
    """The agent answers again, as often as it may, and then the action applies."""
    agent = Agent(OpenAIChatModel("simulated"), retries=1)
    agent.output_validator(HallucinationValidator(cases.policy("annotate"), retry=True))
    result = LOOP.run_until_complete(agent.run(cases.ABOUT))
    first, second = [m for m in result.all_messages() if m.kind == "response"]
    assert first.metadata["hallucination"]["decision"] == "flagged"
    assert result.response is second
    assert "decision" in second.metadata["hallucination"]
    (retry,) = result.all_messages()[2].parts
    assert retry.part_kind in ("retry-prompt", "retry-feedback")
    assert "These statements could not be confirmed" in str(retry.content)


check_retry()
cases.run(guarded)
