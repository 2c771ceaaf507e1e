"""Middleware of Microsoft Agent Framework."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ResponseStream,
)
from agent_framework import Message as ChatMessage

from resay.adapters import Message, OnVerdict
from resay.adapters.apis import as_json
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay_frameworks._checker import Checker, call_message

__all__ = ["HallucinationMiddleware"]

# What describes an answer; the others are tools, formats and conversations that the service keeps.
_SAMPLE_OPTIONS = ("frequency_penalty", "max_tokens", "model", "presence_penalty", "top_p", "user")


class HallucinationMiddleware(ChatMiddleware):
    """Checks the answers of an agent's model: `Agent(..., middleware=[HallucinationMiddleware()])`.

    The verdict is in the `additional_properties["hallucination"]` of the response and of its last
    message. A withheld answer becomes the policy's message, or raises; one that is written again or
    marked becomes the new text. Responses that call tools are passed on. A stream is held until its
    answer is checked.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for that of the agent's
            client, unless a given guard has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that middleware does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=True,
        )

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Let the model answer, and check the answer.

        Args:
            context: The context of the call.
            call_next: Makes the call.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        await call_next()
        if isinstance(context.result, ResponseStream):
            updates = self._held(context, context.result)
            context.result = ResponseStream(updates, finalizer=ChatResponse.from_updates)
        elif context.result is not None:
            context.result = await self._checked(context, context.result)

    async def _held(
        self, context: ChatContext, stream: ResponseStream[ChatResponseUpdate, ChatResponse]
    ) -> AsyncGenerator[ChatResponseUpdate]:
        """Yield a stream when it is checked, and its verdict at the end."""
        updates = [update async for update in stream]
        response = await stream.get_final_response()
        checked = await self._checked(context, response)
        last = updates[-1] if updates else ChatResponseUpdate()
        if checked is response:
            for update in updates:
                yield update
        verdict = checked.additional_properties.get(VERDICT_KEY)
        if verdict is not None:
            yield ChatResponseUpdate(
                contents=[] if checked is response else [Content.from_text(checked.text)],
                role="assistant",
                message_id=last.message_id,
                response_id=last.response_id,
                finish_reason="stop",
                additional_properties={VERDICT_KEY: verdict},
            )

    async def _checked(self, context: ChatContext, response: ChatResponse) -> ChatResponse:
        contents = [content for message in response.messages for content in message.contents]
        if not response.text or any(content.type == "function_call" for content in contents):
            return response
        options = dict(context.options or {})
        instructions = options.get("instructions")
        begin = [ChatMessage("system", [instructions])] if instructions else []
        is_stored = bool(options.get("conversation_id"))
        result = await self._checker.acheck(
            response.text,
            lambda: _conversation([*begin, *context.messages]),
            ask=lambda messages: _ask(context, [_chat_message(message) for message in messages]),
            resample=lambda: _ask(context, [*begin, *context.messages]),
            unrepeatable="the service keeps the conversation" if is_stored else None,
        )
        text, verdict = result.text(), {VERDICT_KEY: result.data}
        if text != response.text:
            # A new response, because the old text may be anywhere in the original.
            response = ChatResponse(
                messages=[ChatMessage("assistant", [text])],
                response_id=response.response_id,
                usage_details=response.usage_details,
            )
        response.messages[-1].additional_properties.update(verdict)
        response.additional_properties.update(verdict)
        return response


async def _ask(context: ChatContext, messages: Sequence[ChatMessage]) -> str:
    given = dict(context.options or {})
    options = {name: given[name] for name in _SAMPLE_OPTIONS if given.get(name) is not None}
    return (await context.client.get_response(messages, options=options)).text


def _chat_message(message: Message) -> ChatMessage:
    return ChatMessage(message["role"], [str(message.get("content") or "")])


def _conversation(messages: Sequence[ChatMessage]) -> Iterator[Message]:
    """Return messages in OpenAI's format."""
    for message in messages:
        calls: list[tuple[str, str, str]] = []
        for content in message.contents:
            if content.type == "function_call":
                calls.append((content.call_id, content.name, _arguments_of(content)))
            elif content.type == "function_result":
                result = content.result if isinstance(content.result, str) else str(content.result)
                yield {"role": "tool", "tool_call_id": content.call_id, "content": result}
        if calls:
            yield call_message(message.text, calls)
        elif message.text:
            yield {"role": str(message.role), "content": message.text}


def _arguments_of(content: Content) -> str:
    arguments = content.arguments
    return arguments if isinstance(arguments, str) else as_json(dict(arguments or {}))
