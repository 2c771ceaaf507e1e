"""A check of final answers for smolagents."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from smolagents import ActionStep, AgentMemory, FinalAnswerStep, MultiStepAgent, TaskStep

from resay import HallucinationBlocked
from resay.adapters import Message, OnVerdict, run_sync
from resay.adapters.apis import as_json
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay_frameworks._checker import Checker, Result, call_message, in_threads

__all__ = ["HallucinationCheck"]

_NAME = "hallucination_check"


class HallucinationCheck:
    """Checks an agent's final answer.

    As one of `final_answer_checks` it refuses what the policy withholds or regenerates, because it
    cannot replace it: the agent reads the reason, and takes another step. smolagents does not check
    the answer of the last step that an agent may take. `finish`, as a callback of the final answer,
    checks what is not checked by then, and replaces it as the policy says.

    The verdict is in `agent.state["hallucination"]`.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for that of the agent,
            unless a given guard has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a check does not get.

    Example:
        ```python
        check = HallucinationCheck("policy.yaml")
        callbacks = {FinalAnswerStep: check.finish}
        agent = CodeAgent(tools, model, final_answer_checks=[check], step_callbacks=callbacks)
        ```
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        # smolagents names a check that fails.
        self.__name__ = _NAME
        self._passed: WeakKeyDictionary[MultiStepAgent, str] = WeakKeyDictionary()
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=True,
        )

    def __call__(
        self, final_answer: Any, memory: AgentMemory, agent: MultiStepAgent | None = None
    ) -> bool:
        """Check a final answer.

        Args:
            final_answer: The answer. Numbers are checked as texts; other objects cannot be checked.
            memory: The agent's memory.
            agent: The agent.

        Returns:
            True: the answer may be shown.

        Raises:
            HallucinationBlocked: It may not.
        """
        result = self._check(final_answer, memory, agent)
        if result.answer.blocked or result.answer.regenerated:
            raise HallucinationBlocked(result.answer.verdict)
        if agent is not None:
            self._passed[agent] = str(final_answer)
        return True

    def finish(self, step: FinalAnswerStep, agent: MultiStepAgent) -> None:
        """Check the answer of a run, unless it is checked already, and replace it if needed.

        Args:
            step: The final answer.
            agent: The agent.

        Raises:
            HallucinationBlocked: The answer is withheld, and the policy says `exit: raise` or it is
                no text.
        """
        if self._passed.pop(agent, None) == str(step.output):
            return
        result = self._check(step.output, agent.memory, agent)
        is_text = isinstance(step.output, str)
        if is_text or result.answer.blocked:
            step.output = result.text(replaces=is_text)

    def _check(
        self, final_answer: Any, memory: AgentMemory, agent: MultiStepAgent | None
    ) -> Result:
        is_number = isinstance(final_answer, (int, float)) and not isinstance(final_answer, bool)
        answer = str(final_answer) if is_number or isinstance(final_answer, str) else final_answer
        ask = None if agent is None else in_threads(lambda messages: _ask(agent, messages))
        result = run_sync(
            self._checker.acheck, answer, lambda: _conversation(memory, agent), ask=ask
        )
        if agent is not None:
            agent.state[VERDICT_KEY] = result.data
        return result


def _ask(agent: MultiStepAgent, messages: Sequence[Message]) -> str:
    return str(agent.model.generate([_turn_of(message) for message in messages]).content or "")


def _turn_of(message: Message) -> dict[str, Any]:
    """Return a message as smolagents writes it: calls and results are texts."""
    role, text = message["role"], str(message.get("content") or "")
    if role == "tool":
        role, text = "tool-response", f"Observation:\n{text}"
    elif message.get("tool_calls"):
        role, text = "tool-call", f"{text}\nCalling tools:\n{as_json(message['tool_calls'])}"
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _conversation(memory: AgentMemory, agent: MultiStepAgent | None) -> Iterator[Message]:
    """Return the steps so far in OpenAI's format.

    The system prompt is left out: by it, a sample would be a step of an agent, not an answer.
    """
    if agent is not None and agent.instructions:
        yield {"role": "system", "content": agent.instructions}
    for step in memory.steps:
        if isinstance(step, TaskStep):
            yield {"role": "user", "content": step.task}
        elif isinstance(step, ActionStep):
            yield from _messages_of(step)


def _messages_of(step: ActionStep) -> Iterator[Message]:
    # What a check refused is no result of a tool, although the agent sees it as one.
    if step.error is not None and _NAME in str(step.error):
        return
    calls: list[tuple[str, str, str]] = []
    for call in step.tool_calls or ():
        arguments = call.arguments if isinstance(call.arguments, dict) else {"code": call.arguments}
        if call.name != "final_answer":
            calls.append((call.id, call.name, as_json(arguments)))
    if not calls:
        return
    yield call_message("", calls)
    observed = step.observations or ("" if step.error is None else str(step.error))
    # The results of several calls are one text.
    for call_id, _, _ in calls:
        yield {"role": "tool", "tool_call_id": call_id, "content": observed}
