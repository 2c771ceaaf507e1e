"""Requests and responses of LLMs, and conversion of messages to and from OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.prompts import PromptTemplate
from pydantic import AnyUrl, BaseModel

from resay import TokenLogprob, Usage
from resay.adapters import Message, field_of, read_logprobs
from resay.adapters.upstream import UnmappedError
from resay.plugins import Completion, ToolCall


def completion_of(response: object) -> Completion:
    """Return a response as a `Completion`.

    Args:
        response: An LLM's response, or an object.
    """
    if isinstance(response, BaseModel) and not isinstance(
        response, (ChatResponse, CompletionResponse)
    ):
        return Completion(response.model_dump_json(), raw=response)
    return Completion(
        _text_of(response),
        finish_reason_in(response),
        logprobs_in(response),
        response,
        calls_in(response),
    )


def _text_of(response: object) -> str:
    if isinstance(response, ChatResponse):
        # Only text blocks: thoughts are not part of the answer.
        return response.message.content or ""
    return response.text if isinstance(response, CompletionResponse) else ""


def calls_in(response: object) -> tuple[ToolCall, ...]:
    """Return the tool calls in a response."""
    if not isinstance(response, ChatResponse):
        return ()
    blocks = [b for b in response.message.blocks if isinstance(b, ToolCallBlock)]
    if blocks:
        return tuple(ToolCall(b.tool_name, as_json(b.tool_kwargs), i) for i, b in enumerate(blocks))
    # Older integrations put them here.
    entries: object = response.message.additional_kwargs.get("tool_calls")
    calls: list[ToolCall] = []
    for index, entry in enumerate(
        cast("list[object]", entries) if isinstance(entries, list) else ()
    ):
        function = field_of(entry, "function")
        if function is not None:
            name = str(field_of(function, "name") or "")
            calls.append(ToolCall(name, as_json(field_of(function, "arguments")), index))
    return tuple(calls)


def finish_reason_in(response: object) -> str | None:
    """Return why the model stopped, if the provider's object says so.

    As OpenAI's, Anthropic's and Ollama's do.
    """
    raw = field_of(response, "raw")
    reasons = [field_of(_choice_in(response), "finish_reason")]
    reasons += [field_of(raw, name) for name in ("stop_reason", "done_reason")]
    return next((reason for reason in reasons if isinstance(reason, str) and reason), None)


def logprobs_in(response: object) -> tuple[TokenLogprob, ...]:
    """Return the tokens' log-probabilities, if the provider's object has them as OpenAI's does."""
    return read_logprobs(field_of(_choice_in(response), "logprobs"))


def usage_in(response: object) -> Usage | None:
    """Return the token usage of a request, or None if the response does not report it."""
    kwargs = field_of(response, "additional_kwargs")
    for counts in (kwargs, field_of(field_of(response, "raw"), "usage")):
        prompt_tokens = _count(counts, "prompt_tokens", "input_tokens")
        completion_tokens = _count(counts, "completion_tokens", "output_tokens")
        if prompt_tokens or completion_tokens:
            return Usage(1, prompt_tokens, completion_tokens, None)
    return None


def _count(counts: object, *names: str) -> int:
    for name in names:
        value = field_of(counts, name)
        if isinstance(value, int):
            return value
    return 0


def _choice_in(response: object) -> object:
    choices = field_of(field_of(response, "raw"), "choices")
    return cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None


def as_json(arguments: object) -> str:
    """Return the arguments of a tool call as JSON. Strings are taken to be JSON already."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)


_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "developer",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


def chat_message(message: Message) -> ChatMessage:
    """Convert a message from OpenAI's format to LlamaIndex's."""
    content: object = message.get("content") or ""
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    calls: list[Any] = message.get("tool_calls") or []
    blocks = [*map(_block, parts), *map(_call_block, calls)]
    kwargs = {key: message[key] for key in ("tool_call_id",) if key in message}
    return ChatMessage(role=message["role"], blocks=blocks, additional_kwargs=kwargs)


def _block(part: Any) -> TextBlock | ImageBlock:
    if isinstance(part, str):
        return TextBlock(text=part)
    if part.get("type") != "image_url":
        return TextBlock(text=str(part.get("text") or ""))
    url: str = part["image_url"]["url"]
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:")):
        return ImageBlock(url=AnyUrl(url))
    kind = head.removeprefix("data:").partition(";")[0]
    return ImageBlock(image=data.encode(), image_mimetype=kind or None)


def _call_block(call: Any) -> ToolCallBlock:
    function: Any = call["function"]
    return ToolCallBlock(
        tool_call_id=call.get("id"),
        tool_name=function["name"],
        tool_kwargs=function.get("arguments") or {},
    )


def asked_message(message: ChatMessage) -> Message:
    """Return a message for regeneration, in OpenAI's format as far as it can be converted."""
    try:
        return openai_message(message)
    except UnmappedError:
        return readable_message(message)


def readable_message(message: ChatMessage) -> dict[str, Any]:
    """Return the role and text of a message, for rules and judges that read the question."""
    return {"role": _ROLES.get(message.role, "user"), "content": message.content or ""}


def logged_message(message: ChatMessage) -> dict[str, Any]:
    """Return what a message says of tool calls."""
    logged: dict[str, Any] = readable_message(message)
    logged |= {key: message.additional_kwargs.get(key) for key in ("tool_call_id", "name")}
    with suppress(UnmappedError):
        logged["tool_calls"] = _calls(message)
    return logged


def openai_message(message: ChatMessage) -> dict[str, Any]:
    """Convert a message to OpenAI's format.

    Raises:
        UnmappedError: The message holds something that has no known equivalent.
    """
    role = _ROLES.get(message.role)
    if role is None:
        raise UnmappedError(f"a message has the role {message.role.value!r}")
    kwargs = message.additional_kwargs
    if unmapped := kwargs.keys() - {"tool_call_id", "tool_calls"}:
        raise UnmappedError(f"a message is sent with {min(unmapped)!r}")
    sent: dict[str, Any] = {"role": role, "content": _content(message, role)}
    if "tool_call_id" in kwargs:
        sent["tool_call_id"] = kwargs["tool_call_id"]
    if calls := _calls(message):
        sent["tool_calls"] = calls
    return sent


def _content(message: ChatMessage, role: str) -> str | list[dict[str, Any]]:
    # A model's thoughts are not sent back; tool calls are separate from the content.
    blocks = [b for b in message.blocks if not isinstance(b, (ThinkingBlock, ToolCallBlock))]
    texts = [b.text for b in blocks if isinstance(b, TextBlock)]
    if len(texts) == len(blocks):
        return "".join(texts)
    if role != "user":
        raise UnmappedError(f"a message of the role {role!r} holds more than text")
    return [_part(block) for block in blocks]


def _part(block: object) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageBlock) and (block.url or block.image) and block.detail is None:
        return {"type": "image_url", "image_url": {"url": _image_url(block)}}
    raise UnmappedError(f"a message holds a {type(block).__name__}")


def _image_url(block: ImageBlock) -> str:
    if block.url:
        return str(block.url)
    data = block.resolve_image(as_base64=True).read().decode()
    return f"data:{block.image_mimetype};base64,{data}"


def _calls(message: ChatMessage) -> list[dict[str, Any]]:
    blocks = [b for b in message.blocks if isinstance(b, ToolCallBlock)]
    if not blocks and message.additional_kwargs.get("tool_calls"):
        return [_plain_call(call) for call in message.additional_kwargs["tool_calls"]]
    return [
        {
            "id": block.tool_call_id,
            "type": "function",
            "function": {"name": block.tool_name, "arguments": as_json(block.tool_kwargs)},
        }
        for block in blocks
    ]


def _plain_call(call: object) -> dict[str, Any]:
    if isinstance(call, Mapping):
        return dict(cast("Mapping[str, Any]", call))
    raise UnmappedError("a message holds a tool call of an unknown shape")


class Call:
    """A call of one of LlamaIndex's methods, in any of its variants.

    Attributes:
        method: The method's base name. Variants are prefixed with `a`, `stream_` or `astream_`.
    """

    method: ClassVar[str]

    def to(self, target: Any, prefix: str = "") -> Any:
        """Call the method.

        Args:
            target: The object to call it on.
            prefix: The prefix of the variant.
        """
        args, kwargs = self._arguments
        return getattr(target, prefix + self.method)(*args, **kwargs)

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Chat(Call):
    """A request with messages, answered by a message.

    Attributes:
        messages: The conversation.
        kwargs: Further keyword arguments for the LLM.
    """

    method = "chat"
    response: ClassVar[type[Any]] = ChatResponse

    messages: Sequence[ChatMessage] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        # A copy, because LLMs may modify it.
        return [list(self.messages)], self.kwargs


@dataclass(frozen=True, slots=True)
class Completing(Call):
    """A request with a prompt, answered by a text.

    Attributes:
        prompt: The prompt.
        formatted: Whether the prompt is in the model's own format already.
        kwargs: Further keyword arguments for the LLM.
    """

    method = "complete"
    response: ClassVar[type[Any]] = CompletionResponse

    prompt: str = field(repr=False)
    formatted: bool
    kwargs: Mapping[str, Any] = field(repr=False)

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return [self.prompt], {"formatted": self.formatted, **self.kwargs}


@dataclass(frozen=True, slots=True)
class Predicting(Call):
    """A request with a template, answered by an object.

    The LLM itself decides how to request it: with a schema, a tool or a prompt.

    Attributes:
        output_cls: The class of the object.
        template: The prompt.
        values: The values of the template's variables.
        kwargs: Further keyword arguments for the LLM.
    """

    method = "structured_predict"

    output_cls: type[BaseModel]
    template: PromptTemplate = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)

    @property
    def _arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        # A copy, because LLMs modify it.
        return [self.output_cls, self.template], {"llm_kwargs": dict(self.kwargs), **self.values}


LLMRequest = Chat | Completing | Predicting


def with_kwargs(request: LLMRequest, kwargs: Mapping[str, Any]) -> LLMRequest:
    """Return a copy of a request with other keyword arguments."""
    return replace(request, kwargs=kwargs)
