"""An agent of the OpenAI Agents SDK whose output is checked by a guardrail."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from agents import (
    Agent,
    OutputGuardrailTripwireTriggered,
    Runner,
    function_tool,
    set_tracing_disabled,
)

from resay_frameworks.openai_agents import HallucinationGuardrail

# The connections of the SDK's client belong to the loop in which they are opened.
LOOP = asyncio.new_event_loop()
set_tracing_disabled(True)


@function_tool
def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


def guarded(guard: Any, question: str, **options: Any) -> Any:
    guardrail = HallucinationGuardrail(guard, **options)
    tools = [clock_year] if "[[" in question else []
    agent = Agent(name="Guide", model="simulated", tools=tools, output_guardrails=[guardrail])
    try:
        run = Runner.run(agent, question, hooks=guardrail.hooks)
        result = LOOP.run_until_complete(run)
    except OutputGuardrailTripwireTriggered as error:
        info = error.guardrail_result.output.output_info
        return info["text"], info
    (checked,) = result.output_guardrail_results
    info = checked.output.output_info
    assert info["text"] == result.final_output
    return result.final_output, info


def check_without_hooks() -> None:
    """What the run began with is known all the same."""
    guardrail = HallucinationGuardrail(cases.policy("annotate"))
    instructions = "Answer briefly."
    agent = Agent(
        name="Guide", model="simulated", instructions=instructions, output_guardrails=[guardrail]
    )
    result = LOOP.run_until_complete(Runner.run(agent, cases.KNOWN))
    (checked,) = result.output_guardrail_results
    assert checked.output.output_info["hallucination"]["decision"] == "consistent"


check_without_hooks()
cases.run(guarded)
