"""Anthropic's Messages API: what is asked, and the shapes of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from pydantic import Field

from simulation.chat import Choice, Completion, Event, ToolCall
from simulation.chat_request import (
    MODEL,
    Body,
    ChatBody,
    Function,
    InvalidRequestError,
    Location,
    ResponseFormat,
    Tool,
    is_readable,
    read,
)

__all__ = [
    "CountedBody",
    "MessagesAnswer",
    "MessagesBody",
    "error_body",
    "messages_of",
    "models_body",
    "refused",
    "system_of",
]

Block = Mapping[str, Any]
Message = dict[str, Any]

_ROLES = ("user", "assistant", "system")
_LISTED = """
advisor_tool_result bash_code_execution_tool_result browser_state code_execution_tool_result
compaction container_upload fallback mcp_tool_listing mcp_tool_result mcp_tool_use
redacted_thinking server_tool_use text_editor_code_execution_tool_result thinking tool_addition
tool_reference tool_removal tool_search_tool_result web_fetch_tool_result web_search_tool_result
"""
_LEFT_OUT = tuple(_LISTED.split())
_READ = ("text", "image", "document", "search_result", "tool_use", "tool_result")


def refused(where: Location, _: str, message: str) -> InvalidRequestError:
    """Word a refusal; see `simulation.chat_request.Refuse`."""
    return InvalidRequestError(f"{'.'.join(map(str, where))}: {message}")


def system_of(system: object) -> list[Message]:
    """Return the message that a system prompt is, in a list; none without one.

    Raises:
        InvalidRequestError: It is neither a text nor a list of text blocks.
    """
    if system is None:
        return []
    content = _read(system, ("system",), only=("text",))
    return [{"role": "system", "content": content}]


def messages_of(given: Sequence[object]) -> list[Message]:
    """Return the chat messages that a conversation stands for.

    Raises:
        InvalidRequestError: It is empty, a message or a block cannot be read, or results of tools
            and calls do not match.
    """
    if not given:
        raise refused(("messages",), "", "at least one message is required")
    messages: list[Message] = []
    waiting: list[str] = []
    for index, message in enumerate(given):
        turn = _turn(message, ("messages", index))
        _check_results(turn, waiting, index)
        waiting = [call["id"] for one in turn for call in one.get("tool_calls", ())]
        messages += turn
    if waiting:
        raise _unanswered(waiting, len(given) - 1)
    return messages


def _turn(message: object, where: Location) -> list[Message]:
    """Return the chat messages of one turn: results of tools are messages of their own."""
    fields = _object(message, where)
    role = fields.get("role")
    if role not in _ROLES:
        known = ", ".join(map(repr, _ROLES))
        raise refused((*where, "role"), "", f"Input should be one of {known}")
    content, inside = fields.get("content"), (*where, "content")
    blocks = _blocks(content, inside)
    results = [
        _result(block, (*inside, index))
        for index, block in enumerate(blocks)
        if block["type"] == "tool_result"
    ]
    calls = [
        _call(block, (*inside, index))
        for index, block in enumerate(blocks)
        if block["type"] == "tool_use"
    ]
    said = _read(content, inside, only=(*_READ, *_LEFT_OUT))
    if content in ("", []) and role != "assistant":
        raise refused(where, "", f"{role} messages must have non-empty content")
    if calls:
        return [{"role": role, "content": said or None, "tool_calls": calls}]
    return results if results and not said else [*results, {"role": role, "content": said}]


def _read(content: object, where: Location, *, only: Sequence[str]) -> str | list[Message]:
    """Return what can be read in a content, as chats have it."""
    if isinstance(content, str):
        return content
    parts: list[Message] = []
    for index, block in enumerate(_blocks(content, where)):
        if block["type"] not in only:
            raise _unexpected(block["type"], (*where, index), only)
        parts += _parts(block, (*where, index))
    return parts


def _blocks(content: object, where: Location) -> list[Block]:
    if isinstance(content, str):
        return []
    if content is None:
        raise refused(where, "", "Field required")
    if not isinstance(content, list):
        raise refused(where, "", "Input should be a valid string or list")
    found = [_object(b, (*where, i)) for i, b in enumerate(cast("list[object]", content))]
    for index, block in enumerate(found):
        if block.get("type") not in (*_READ, *_LEFT_OUT):
            raise _unexpected(block.get("type"), (*where, index), (*_READ, *_LEFT_OUT))
    return found


def _parts(block: Block, where: Location) -> list[Message]:
    kind = block["type"]
    if kind == "text":
        return [_text(block.get("text"), where)]
    if kind == "search_result":
        content = _read(block.get("content"), (*where, "content"), only=("text",))
        return [*cast("list[Message]", content)]
    if kind not in ("image", "document"):
        return []
    source = _object(block.get("source"), (*where, "source"))
    if source.get("type") == "text":
        return [_text(source.get("data"), (*where, "source"))]
    if source.get("type") == "content":
        content = _read(source.get("content"), (*where, "source"), only=("text", "image"))
        return [_text(content, where)] if isinstance(content, str) else content
    part = _as_in_chats(kind, source)
    if not is_readable(part):
        raise refused((*where, "source"), "", "Input is missing or cannot be read")
    return [part]


def _text(text: object, where: Location) -> Message:
    if not isinstance(text, str):
        raise refused((*where, "text"), "", "Input should be a valid string")
    if not text:
        raise refused(where[:1], "", "text content blocks must be non-empty")
    return {"type": "text", "text": text}


def _as_in_chats(kind: str, source: Block) -> Message:
    if source.get("type") != "base64":
        # Chats know no documents at an address; nobody looks into either.
        where = source.get("url") if source.get("type") == "url" else source.get("file_id")
        return {"type": "file", "file": {"file_id": where}}
    data = f"data:{source.get('media_type')};base64,{source.get('data')}"
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data}}
    return {"type": "file", "file": {"filename": "document", "file_data": data}}


def _call(block: Block, where: Location) -> Message:
    for name, kind in {"id": str, "name": str, "input": dict}.items():
        if not isinstance(block.get(name), kind):
            raise refused(
                (*where, "tool_use", name), "", f"Input should be a valid {kind.__name__}"
            )
    function = {"name": block["name"], "arguments": json.dumps(block["input"])}
    return {"id": block["id"], "type": "function", "function": function}


def _result(block: Block, where: Location) -> Message:
    called = block.get("tool_use_id")
    if not isinstance(called, str):
        raise refused((*where, "tool_result", "tool_use_id"), "", "Field required")
    inside = (*where, "tool_result", "content")
    content = _read(block.get("content") or "", inside, only=(*_READ[:4], "tool_reference"))
    return {"role": "tool", "tool_call_id": called, "content": content}


def _check_results(turn: Sequence[Message], waiting: Sequence[str], index: int) -> None:
    answered = [message["tool_call_id"] for message in turn if message["role"] == "tool"]
    strange = [one for one in answered if one not in waiting]
    if strange:
        raise InvalidRequestError(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks:"
            f" {strange[0]}. Each `tool_result` block must have a corresponding `tool_use` block in"
            " the previous message."
        )
    left = [one for one in waiting if one not in answered]
    if left:
        raise _unanswered(left, index - 1)


def _unanswered(calls: Sequence[str], index: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result`"
        " block in the next message."
    )


def _object(value: object, where: Location) -> Block:
    if not isinstance(value, dict):
        raise refused(where, "", "Input should be an object")
    return cast("Block", value)


def _unexpected(kind: object, where: Location, known: Sequence[str]) -> InvalidRequestError:
    tags = ", ".join(map(repr, known))
    return refused(
        where,
        "",
        f"Input tag {kind!r} found using 'type' does not match any of the expected tags: {tags}",
    )


Piece = dict[str, Any]
_REASONS: Mapping[str, str] = {"length": "max_tokens", "tool_calls": "tool_use"}
_NOTHING_CACHED: Mapping[str, int] = {
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_ERRORS: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class MessagesAnswer:
    """The answer to a request to the Messages API.

    Attributes:
        completion: What is answered, with one choice.
    """

    completion: Completion

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost; it always does."""
        return True

    def body(self) -> Piece:
        """Return the whole answer."""
        used = self.completion.usage["completion_tokens"]
        return {**self._message(self._content(), used), **self._end}

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        for event in self._pieces():
            yield Event.named(event, paced=event["type"] == "content_block_delta")

    def _pieces(self) -> Iterator[Piece]:
        # The first event tells the output so far, which is the token that is being written.
        yield {"type": "message_start", "message": self._message([], 1)}
        for index, (begin, deltas) in enumerate(self._streamed()):
            yield {"type": "content_block_start", "index": index, "content_block": begin}
            if index == 0:
                yield {"type": "ping"}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        used = self.completion.usage
        counts = {"input_tokens": used["prompt_tokens"], **_NOTHING_CACHED}
        usage = {**counts, "output_tokens": used["completion_tokens"]}
        yield {"type": "message_delta", "delta": self._end, "usage": usage}
        yield {"type": "message_stop"}

    def _streamed(self) -> Iterator[tuple[Piece, Iterator[Piece]]]:
        """Return how each block begins, and what is added to it."""
        if self._choice.tokens:
            texts = ({"type": "text_delta", "text": token.text} for token in self._choice.tokens)
            yield {"type": "text", "text": ""}, texts
        for call in self._choice.tool_calls:
            yield _used(call, {}), _fragments(call)

    def _content(self) -> list[Piece]:
        text = self._choice.text
        said: list[Piece] = [{"type": "text", "text": text}] if text else []
        return said + [_used(call, _input(call)) for call in self._choice.tool_calls]

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _end(self) -> Piece:
        stop = self._choice.stop
        natural = "end_turn" if stop is None else "stop_sequence"
        reason = _REASONS.get(self._choice.finish_reason, natural)
        return {"stop_reason": reason, "stop_sequence": stop, "stop_details": None}

    def _message(self, content: list[Piece], output_tokens: int) -> Piece:
        return {
            "id": f"msg_{self.completion.number}",
            "type": "message",
            "role": "assistant",
            "model": self.completion.request.model,
            "content": content,
            "container": None,
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "usage": {
                "input_tokens": self.completion.usage["prompt_tokens"],
                **_NOTHING_CACHED,
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "output_tokens": output_tokens,
                "server_tool_use": None,
                "service_tier": "standard",
            },
        }


def _used(call: ToolCall, arguments: Piece) -> Piece:
    call_id = f"toolu_{call.id.removeprefix('call_')}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": arguments}


def _fragments(call: ToolCall) -> Iterator[Piece]:
    yield {"type": "input_json_delta", "partial_json": ""}
    yield from ({"type": "input_json_delta", "partial_json": t.text} for t in call.tokens)


def _input(call: ToolCall) -> Piece:
    try:
        return json.loads(call.arguments)
    except ValueError:
        # Cut at the most tokens: an object that is not whole cannot be given.
        return {}


def error_body(status: int, message: str, request_id: str) -> Piece:
    """Return an error as Anthropic's API words it."""
    usual = "api_error" if status >= 500 else "invalid_request_error"
    error = {"type": _ERRORS.get(status, usual), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def models_body() -> Piece:
    """Return the list of models."""
    model = {
        "id": MODEL,
        "type": "model",
        "display_name": "Simulated",
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }
    return {"data": [model], "has_more": False, "first_id": MODEL, "last_id": MODEL}


CountedT = TypeVar("CountedT", bound="CountedBody")


class _Function(Function):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")
    parameters: dict[str, Any] | None = Field(alias="input_schema")


class _Format(Body):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")

    def in_chats(self) -> ResponseFormat:
        form = {"name": "output", "schema": self.schema_}
        return ResponseFormat.model_validate({"type": self.type, "json_schema": form})


class _Output(Body):
    format: _Format | None = None


class _Choice(Body):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class CountedBody(Body):
    """The body of a request whose tokens are counted: what the Messages API reads."""

    model: str
    messages: list[Any]
    system: Any = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: _Choice | None = None
    output_config: _Output | None = None
    # What `output_config.format` was called first.
    output_format: _Format | None = None

    @classmethod
    def parse(cls: type[CountedT], body: object) -> CountedT:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("The request body is not valid JSON.")
        return read(cls, cast("object", body), refused)

    @property
    def chat(self) -> ChatBody:
        """The chat completion request that asks for the same.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        functions = self._functions()
        form = (self.output_config and self.output_config.format) or self.output_format
        asked = {
            "messages": [*system_of(self.system), *messages_of(self.messages)],
            "model": self.model,
            "tools": [Tool(function=function) for function in functions],
            "tool_choice": self._chosen([function.name for function in functions]),
            "parallel_tool_calls": not (
                self.tool_choice and self.tool_choice.disable_parallel_tool_use
            ),
            "response_format": form.in_chats() if form else None,
            **self._parameters(),
        }
        return ChatBody.model_validate(asked)

    def _parameters(self) -> Mapping[str, Any]:
        return {}

    def _functions(self) -> list[Function]:
        """Return the tools that are the user's; the provider's own say of what kind they are."""
        functions: list[Function] = []
        for index, tool in enumerate(self.tools or ()):
            if tool.get("type") in (None, "custom"):
                functions.append(read(_Function, tool, refused, ("tools", index, "custom")))
            elif not isinstance(tool["type"], str):
                raise refused(("tools", index, "type"), "", "Input should be a valid string")
        return functions

    def _chosen(self, functions: list[str]) -> object:
        choice = self.tool_choice
        if choice is None:
            return None
        if not self.tools and choice.type != "none":
            raise refused(
                ("tool_choice",), "", "tool_choice may only be specified while providing tools"
            )
        if choice.type == "any":
            return "required"
        if choice.type != "tool":
            return choice.type
        if choice.name not in [tool.get("name") for tool in self.tools or ()]:
            raise InvalidRequestError(f"Tool {choice.name!r} not found in provided tools")
        if choice.name not in functions:
            return "none"
        return {"type": "function", "function": {"name": choice.name}}


class MessagesBody(CountedBody):
    """The body of a request to the Messages API."""

    max_tokens: int = Field(ge=1)
    stream: bool | None = None
    temperature: float | None = Field(None, ge=0, le=1)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=0)
    stop_sequences: list[str] | None = None
    metadata: dict[str, Any] | None = None
    # Not in Anthropic's API; it makes answers here repeatable.
    seed: int | None = None

    def answer(self, completion: Completion) -> MessagesAnswer:
        """Put the answer in the words of this API."""
        return MessagesAnswer(completion)

    def _parameters(self) -> Mapping[str, Any]:
        return {
            "stream": self.stream,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_completion_tokens": self.max_tokens,
            "stop": self.stop_sequences,
        }
