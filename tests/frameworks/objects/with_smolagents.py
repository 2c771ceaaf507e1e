"""An agent of smolagents whose final answers are checked."""

from __future__ import annotations

from typing import Any

import cases
from smolagents import (
    AgentLogger,
    ChatMessage,
    FinalAnswerStep,
    LogLevel,
    OpenAIModel,
    ToolCallingAgent,
    tool,
)
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from resay_frameworks.smolagents import HallucinationCheck


@tool
def clock_year() -> str:
    """Tell the year of a clock."""
    return cases.RIGHT


class Steps(OpenAIModel):
    """The simulated provider, whose answers are an agent's steps."""

    def generate(self, messages: Any, **kwargs: Any) -> Any:
        if not kwargs.pop("tools_to_call_from", None):
            return super().generate(messages, **kwargs)
        text = str(messages)
        if "[[clock_year]]" in text and cases.RIGHT not in text:
            return step("clock_year", {})
        task = [message for message in messages if message.role == MessageRole.USER][:1]
        return step("final_answer", {"answer": super().generate(task).content})


def step(name: str, arguments: Any) -> Any:
    function = ChatMessageToolCallFunction(name=name, arguments=arguments)
    call = ChatMessageToolCall(id="call_1", type="function", function=function)
    return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def guarded(guard: Any, question: str, **options: Any) -> Any:
    check = HallucinationCheck(guard, **options)
    agent = ToolCallingAgent(
        [clock_year],
        Steps("simulated"),
        final_answer_checks=[check],
        step_callbacks={FinalAnswerStep: check.finish},
        max_steps=2,
        logger=AgentLogger(LogLevel.OFF),
    )
    answer = agent.run(question)
    errors = [str(step.error) for step in agent.memory.steps if getattr(step, "error", None)]
    is_refused = agent.state["hallucination"]["action"] in ("block", "regenerate")
    assert any("hallucination_check failed" in error for error in errors) == is_refused
    return answer, agent.state


cases.run(guarded)
