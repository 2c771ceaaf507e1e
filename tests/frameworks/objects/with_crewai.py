"""A crew of CrewAI whose task is checked by a guardrail."""

from __future__ import annotations

from typing import Any

import cases
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from resay_frameworks.crewai import HallucinationGuardrail


@tool("clock_year")
def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


def guarded(guard: Any, question: str, **options: Any) -> Any:
    llm = LLM("openai/gpt-4.1-mini", base_url=cases.BASE_URL, api_key="simulated")
    tools = [clock_year] if "[[" in question else []
    agent = Agent(role="Guide", goal="Answer", backstory="You know clocks.", llm=llm, tools=tools)
    task = Task(
        description=question,
        expected_output="A few sentences.",
        agent=agent,
        guardrail=HallucinationGuardrail(guard, model=llm, **options).check,
        guardrail_max_retries=1,
    )
    (output,) = Crew(agents=[agent], tasks=[task]).kickoff().tasks_output
    return output.raw, {"hallucination": output.hallucination}


cases.run(guarded)
