"""An output guardrail of the OpenAI Agents SDK."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from agents import (
    Agent,
    GuardrailFunctionOutput,
    OutputGuardrail,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
)

from resay.adapters import Message, OnVerdict
from resay.adapters.apis import RESPONSES
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay.plugins import Request
from resay_frameworks._checker import AskModel, Checker

__all__ = ["ConversationHooks", "HallucinationGuardrail"]


class ConversationHooks(RunHooks[Any]):
    """Remembers what the model of a run was sent last, for the guardrail.

    The SDK tells output guardrails what a run began with, but not which tools it called.
    """

    def __init__(self) -> None:
        self._sent: WeakKeyDictionary[Any, tuple[str | None, list[Any]]] = WeakKeyDictionary()

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[Any],
    ) -> None:
        """Remember a conversation.

        Args:
            context: The context of the run.
            agent: The agent.
            system_prompt: Its instructions.
            input_items: The conversation.
        """
        self._sent[context] = (system_prompt, list(input_items))

    def sent(self, context: RunContextWrapper[Any]) -> tuple[str | None, list[Any]] | None:
        """Return the instructions and the conversation that were sent last; None if unknown."""
        return self._sent.get(context)


class HallucinationGuardrail(OutputGuardrail[Any]):
    """Checks an agent's final output: `Agent(..., output_guardrails=[HallucinationGuardrail()])`.

    The guardrail's `output_info` has the verdict under `hallucination`, and under `text` the text
    to show. An output guardrail cannot replace an output: if the policy withholds or regenerates
    it, the tripwire is triggered, and `OutputGuardrailTripwireTriggered` has both. An output that
    is no text cannot be checked.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for that of the agent,
            unless a given guard has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.

    Attributes:
        hooks: With `Runner.run(..., hooks=guardrail.hooks)`, the answer is compared with the tools
            that the run has called too.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a guardrail does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        super().__init__(guardrail_function=self._check, name="hallucination")
        self.hooks = ConversationHooks()
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=True,
        )

    async def _check(
        self, context: RunContextWrapper[Any], agent: Agent[Any], output: Any
    ) -> GuardrailFunctionOutput:
        instructions, items = self.hooks.sent(context) or (
            await agent.get_system_prompt(context),
            context.turn_input,
        )
        body = {"input": items, **({"instructions": instructions} if instructions else {})}
        result = await self._checker.acheck(
            output, lambda: RESPONSES.read(body).request.messages, ask=_asks(agent)
        )
        answer = result.answer
        return GuardrailFunctionOutput(
            output_info={"text": answer.text, VERDICT_KEY: result.data},
            tripwire_triggered=answer.blocked or answer.regenerated,
        )


def _asks(agent: Agent[Any]) -> AskModel:
    settings = replace(agent.model_settings, tool_choice=None, parallel_tool_calls=None)
    plain: Agent[Any] = Agent(name=agent.name, model=agent.model, model_settings=settings)
    untraced = RunConfig(tracing_disabled=True)

    async def ask(messages: Sequence[Message]) -> str:
        items: Any = RESPONSES.fresh({}, Request(tuple(messages)))["input"]
        result = await Runner.run(plain, items, run_config=untraced)
        return str(result.final_output)

    return ask
