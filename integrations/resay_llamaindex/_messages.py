"""LlamaIndex's messages in OpenAI's shape, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from pydantic import AnyUrl

from resay.adapters import UnmappedError
from resay.core.query import Message
from resay_llamaindex._reading import as_json

__all__ = ["asked_messages", "chat_messages", "openai_messages", "readable_messages"]

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


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Return messages in OpenAI's shape as LlamaIndex's."""
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> ChatMessage:
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
    asked: Any = call["function"]
    return ToolCallBlock(
        tool_call_id=call.get("id"),
        tool_name=asked["name"],
        tool_kwargs=asked.get("arguments") or {},
    )


def asked_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return messages for whoever is to answer them again, as far as they can be translated."""
    return tuple(_asked(message) for message in messages)


def _asked(message: ChatMessage) -> Message:
    try:
        return _message(message)
    except UnmappedError:
        return _readable(message)


def readable_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return what the messages say, for rules and judges that look at the question."""
    return tuple(map(_readable, messages))


def _readable(message: ChatMessage) -> Message:
    return {"role": _ROLES.get(message.role, "user"), "content": message.content or ""}


def openai_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return messages as OpenAI's API takes them.

    Raises:
        UnmappedError: One of them holds what is not known to be sent the same way.
    """
    return tuple(_message(message) for message in messages)


def _message(message: ChatMessage) -> dict[str, Any]:
    role = _ROLES.get(message.role)
    if role is None:
        raise UnmappedError(f"a message has the role {message.role.value!r}")
    kwargs = message.additional_kwargs
    if further := kwargs.keys() - {"tool_call_id", "tool_calls"}:
        raise UnmappedError(f"a message is sent with {min(further)!r}")
    sent: dict[str, Any] = {"role": role, "content": _content(message, role)}
    if "tool_call_id" in kwargs:
        sent["tool_call_id"] = kwargs["tool_call_id"]
    if calls := _calls(message):
        sent["tool_calls"] = calls
    return sent


def _content(message: ChatMessage, role: str) -> str | list[dict[str, Any]]:
    # A model's thoughts are not sent back, calls of tools stand beside the content.
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
