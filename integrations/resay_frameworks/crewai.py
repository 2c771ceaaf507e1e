"""A task guardrail of CrewAI."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

# CrewAI reads the annotations of a guardrail, which must not be strings.
from collections.abc import Sequence
from typing import Any

from crewai import BaseLLM, TaskOutput
from pydantic import Field

from resay.adapters import Message, OnVerdict, run_sync
from resay.adapters.policies import PolicyLike
from resay_frameworks._checker import Checker, in_threads

__all__ = ["CheckedTaskOutput", "HallucinationGuardrail"]

_REFUSAL = "the answer could not be confirmed"
# Of a message in OpenAI's format; CrewAI's have others too.
_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name")


class CheckedTaskOutput(TaskOutput):
    """A task's output with its verdict.

    Attributes:
        hallucination: The verdict, in the format of `Verdict.to_dict`, with the `action` taken.
    """

    hallucination: dict[str, Any] = Field(default_factory=dict, description="The verdict")


class HallucinationGuardrail:
    """Checks the output of a task: `Task(..., guardrail=HallucinationGuardrail(model=llm).check)`.

    An answer that the policy withholds fails the guardrail: the agent writes it again, as often as
    the task's `guardrail_max_retries` says, and then the task fails. One that is written again or
    marked by the policy passes with the new text. The output that passes is a `CheckedTaskOutput`.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: What draws samples and judges: an LLM of CrewAI, normally that of the agent, or the
            name of a model; None for a guard that has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a guardrail does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: BaseLLM | str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        self._llm: Any = model if isinstance(model, BaseLLM) else None
        self._checker = Checker(
            policy,
            self,
            model=model if isinstance(model, str) else None,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=self._llm is not None,
        )

    # CrewAI reads the source of a guardrail, which objects have none of.
    def check(self, output: TaskOutput) -> tuple[bool, Any]:
        """Check a task's output.

        Args:
            output: The output. One of a pydantic model or JSON cannot be checked.

        Returns:
            Whether it passes, and the output with its verdict, or why it does not pass.
        """
        answer: Any = output.raw
        if output.pydantic is not None or output.json_dict is not None:
            answer = output.pydantic or output.json_dict
        ask = None if self._llm is None else in_threads(self._ask)
        result = run_sync(self._checker.acheck, answer, lambda: _conversation(output), ask=ask)
        if result.answer.blocked:
            return False, f"{_REFUSAL}: {result.answer.verdict.reason}"
        values = {name: getattr(output, name) for name in type(output).model_fields}
        if isinstance(answer, str):
            values["raw"] = result.answer.text
        return True, CheckedTaskOutput(**values, hallucination=result.data)

    def _ask(self, messages: Sequence[Message]) -> str:
        return str(self._llm.call([dict(message) for message in messages]))


def _conversation(output: TaskOutput) -> list[Message]:
    """Return what the agent was sent, without its answer, in OpenAI's format."""
    expected = f"\n{output.expected_output}" if output.expected_output else ""
    task: Message = {"role": "user", "content": f"{output.description}{expected}"}
    messages: list[Any] = list(output.messages)
    if messages and messages[-1]["role"] == "assistant":
        messages.pop()
    conversation: list[Message] = []
    for message in messages:
        is_user = message["role"] == "user"
        # After a refusal the prompt quotes the refused answer, which must not confirm the next.
        if is_user and _REFUSAL in str(message.get("content")):
            conversation.append(task)
        # After a tool's result it is CrewAI that asks to go on, and no question.
        elif not (is_user and conversation and conversation[-1]["role"] == "tool"):
            fields = {name: message[name] for name in _FIELDS if message.get(name) is not None}
            conversation.append(fields)
    return conversation or [task]
