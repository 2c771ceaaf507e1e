"""An output validator of Pydantic AI."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

from resay.adapters import Message, OnVerdict
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay_frameworks._checker import Checker, Result, call_message

__all__ = ["HallucinationValidator"]


class HallucinationValidator:
    """Checks the texts that an agent returns: `agent.output_validator(HallucinationValidator())`.

    The verdict is in `result.response.metadata["hallucination"]`. A withheld answer becomes the
    policy's message, or raises; one that is written again, or has marks, becomes the new text. An
    output that is no text cannot be checked, and partial outputs of a stream are not.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for that of the run, unless
            a given guard has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.
        retry: Whether the agent answers again, by `ModelRetry`, if the answer is flagged, as long
            as it has retries of its output left. Then the policy's action applies.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a validator does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        retry: bool = False,
    ) -> None:
        self._retry = retry
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=True,
        )

    async def __call__(self, ctx: RunContext[Any], output: Any) -> Any:
        """Check an output.

        Args:
            ctx: The context of the run.
            output: The output.

        Returns:
            The output to return in its place.

        Raises:
            ModelRetry: It is flagged, and the agent is to answer again.
            HallucinationBlocked: It is withheld and the policy says `exit: raise`, or it is no text
                that a message could replace.
        """
        if ctx.partial_output:
            return output
        history = list(ctx.messages)
        last = history[-1]
        if isinstance(last, ModelResponse):
            history.pop()
        result = await self._checker.acheck(
            output,
            lambda: [message for item in history for message in _messages_of(item)],
            ask=lambda messages: _ask(ctx, [_request_of(message) for message in messages]),
            # The messages themselves keep what OpenAI's format has no place for.
            resample=lambda: _ask(ctx, history),
        )
        if isinstance(last, ModelResponse):
            last.metadata = {**(last.metadata or {}), VERDICT_KEY: result.data}
        if self._retry and result.flagged and ctx.retry < ctx.max_retries:
            raise ModelRetry(_feedback(result))
        if isinstance(output, str) or result.answer.blocked:
            return result.text(replaces=isinstance(output, str))
        return output


def _feedback(result: Result) -> str:
    """Return what the agent's model reads before it answers again."""
    sentences = [f"- {sentence.text}" for sentence in result.answer.verdict.flagged_sentences]
    return "\n".join(
        [
            "These statements could not be confirmed. Answer again without them, or with what you"
            " know for certain:",
            *sentences,
        ]
    )


async def _ask(ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> str:
    response = await model_request(ctx.model, messages, model_settings=ctx.model_settings)
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _request_of(message: Message) -> ModelMessage:
    text = str(message.get("content") or "")
    if message["role"] == "assistant":
        return ModelResponse(parts=[TextPart(text)])
    is_instruction = message["role"] in ("system", "developer")
    return ModelRequest(parts=[SystemPromptPart(text) if is_instruction else UserPromptPart(text)])


def _messages_of(item: ModelMessage) -> Iterator[Message]:
    """Return the messages of an item in OpenAI's format."""
    if isinstance(item, ModelResponse):
        yield from _answer_messages(item)
        return
    if item.instructions:
        yield {"role": "system", "content": item.instructions}
    for part in item.parts:
        if part.part_kind == "system-prompt":
            yield {"role": "system", "content": part.content}
        elif part.part_kind == "user-prompt":
            yield {"role": "user", "content": _text_of(part.content)}
        elif part.part_kind == "tool-return":
            yield _tool_message(part, part.model_response_str())
        elif part.part_kind == "retry-prompt" and part.tool_name is not None:
            yield _tool_message(part, part.model_response())
        elif part.part_kind in ("retry-prompt", "retry-feedback"):
            yield {"role": "user", "content": part.model_response()}


def _answer_messages(response: ModelResponse) -> Iterator[Message]:
    calls: list[tuple[str, str, str]] = []
    texts: list[str] = []
    for part in response.parts:
        if part.part_kind == "text":
            texts.append(part.content)
        elif part.part_kind == "tool-call":
            calls.append((part.tool_call_id, part.tool_name, part.args_as_json_str()))
    if texts or calls:
        yield call_message("".join(texts), calls)


def _tool_message(part: Any, content: str) -> Message:
    return {"role": "tool", "tool_call_id": part.tool_call_id, "content": content}


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    # Images and files are left out.
    return "\n".join(part for part in content if isinstance(part, str))
