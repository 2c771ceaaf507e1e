"""A plugin of Google's Agent Development Kit."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakValueDictionary

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from resay.adapters import Message, OnVerdict
from resay.adapters.apis import as_json
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay_frameworks._checker import Checker, Result, call_message

__all__ = ["HallucinationPlugin"]


class HallucinationPlugin(BasePlugin):
    """Checks the answers of all agents of an app: `App(..., plugins=[HallucinationPlugin()])`.

    The verdict is in the event's `custom_metadata["hallucination"]`. A withheld answer becomes the
    policy's message, or with `exit: raise` an event with the error code `HALLUCINATION_BLOCKED`;
    one that is written again or marked becomes the new text. Responses that call tools are passed
    on. The parts of a streamed answer are shown only if the policy never replaces an answer.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for that of the agent,
            unless a given guard has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.
        name: The name of the plugin.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a plugin does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        name: str = "hallucination",
    ) -> None:
        super().__init__(name=name)
        # ADK passes each to its own callback. Both by invocation and agent, for as long as ADK has
        # them itself, because it reports no end of runs that fail.
        self._agents: WeakValueDictionary[tuple[str, str], BaseAgent] = WeakValueDictionary()
        self._requests: WeakValueDictionary[tuple[str, str], LlmRequest] = WeakValueDictionary()
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=True,
        )

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Remember the agent."""
        self._agents[_key(callback_context)] = agent

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Remember the request."""
        self._requests[_key(callback_context)] = llm_request

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Forget the agents and the requests of a run."""
        for remembered in (self._agents, self._requests):
            for key in [key for key in remembered if key[0] == invocation_context.invocation_id]:
                remembered.pop(key, None)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Check a response.

        Args:
            callback_context: The context.
            llm_response: The response.

        Returns:
            The response with its verdict; None for one that is no complete answer.
        """
        parts = (llm_response.content and llm_response.content.parts) or []
        text = _text_of(parts)
        if not text or any(part.function_call for part in parts):
            return None
        if llm_response.partial:
            # What may be replaced is not shown before it is checked.
            return LlmResponse(partial=True) if self._checker.policy.can_withhold else None
        key = _key(callback_context)
        request = self._requests.get(key) or LlmRequest()
        agent: Any = self._agents.get(key)
        model = agent.canonical_model if isinstance(agent, LlmAgent) else None
        result = await self._checker.acheck(
            text,
            lambda: _conversation(request),
            ask=None if model is None else lambda messages: _ask(model, _request_of(messages)),
            resample=lambda: _ask(model, _sample_of(request)),
        )
        return _answered(llm_response, text, result)


def _key(context: CallbackContext) -> tuple[str, str]:
    return context.invocation_id, context.agent_name


def _text_of(parts: Sequence[types.Part]) -> str:
    return "".join(part.text for part in parts if part.text and not part.thought)


def _answered(response: LlmResponse, text: str, result: Result) -> LlmResponse:
    metadata = {**(response.custom_metadata or {}), VERDICT_KEY: result.data}
    if result.error is None and result.answer.text == text:
        return response.model_copy(update={"custom_metadata": metadata})
    # A new response, because the old text may be anywhere in the original.
    kept = {
        "custom_metadata": metadata,
        "turn_complete": response.turn_complete,
        "usage_metadata": response.usage_metadata,
    }
    if result.error is not None:
        error = {"error_code": "HALLUCINATION_BLOCKED", "error_message": str(result.error)}
        return LlmResponse(**kept, **error)
    content = types.Content(role="model", parts=[types.Part(text=result.answer.text)])
    return LlmResponse(**kept, content=content)


async def _ask(model: BaseLlm, request: LlmRequest) -> str:
    request.model = model.model
    responses = [response async for response in model.generate_content_async(request)]
    contents = [response.content for response in responses if response.content is not None]
    return "".join(_text_of(content.parts or []) for content in contents)


def _sample_of(request: LlmRequest) -> LlmRequest:
    """Return the same request once more, without tools."""
    config = request.config.model_copy(update={"tools": None, "tool_config": None})
    return LlmRequest(contents=list(request.contents), config=config)


def _request_of(messages: Sequence[Message]) -> LlmRequest:
    contents: list[types.Content] = []
    instructions: list[str] = []
    for message in messages:
        text = str(message.get("content") or "")
        if message["role"] in ("system", "developer"):
            instructions.append(text)
        else:
            role = "model" if message["role"] == "assistant" else "user"
            contents.append(types.Content(role=role, parts=[types.Part(text=text)]))
    system_instruction = "\n".join(instructions) or None
    config = types.GenerateContentConfig(system_instruction=system_instruction)
    return LlmRequest(contents=contents, config=config)


def _conversation(request: LlmRequest) -> Iterator[Message]:
    """Return the contents of a request in OpenAI's format."""
    instructions: Any = request.config.system_instruction
    if isinstance(instructions, types.Content):
        instructions = _text_of(instructions.parts or [])
    if instructions:
        yield {"role": "system", "content": str(instructions)}
    # Gemini's calls may have no ids; then results are in the order of their calls.
    unanswered: list[tuple[str, str]] = []
    number = 0
    for content in request.contents:
        parts = content.parts or []
        calls: list[tuple[str, str, str]] = []
        for part in parts:
            if part.function_call is not None:
                call_id = part.function_call.id or f"call_{number}"
                name = part.function_call.name or ""
                number += 1
                calls.append((call_id, name, as_json(part.function_call.args or {})))
                unanswered.append((call_id, name))
            elif part.function_response is not None:
                call_id = _answered_call(part.function_response, unanswered)
                result = as_json(part.function_response.response or {})
                yield {"role": "tool", "tool_call_id": call_id, "content": result}
        text = _text_of(parts)
        if content.role == "model" and (text or calls):
            yield call_message(text, calls)
        elif text:
            yield {"role": "user", "content": text}


def _answered_call(response: types.FunctionResponse, unanswered: list[tuple[str, str]]) -> str:
    for index, (call_id, name) in enumerate(unanswered):
        if response.id == call_id or (not response.id and response.name == name):
            del unanswered[index]
            return call_id
    return response.id or ""
