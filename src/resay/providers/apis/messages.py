"""Anthropic's Messages API: conversion of requests to chat completions, and whole answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resay.core.call_log import CallLog
from resay.core.check_context import CheckContext
from resay.core.citations import Citation
from resay.core.decoding import with_sampling
from resay.core.marks import Mark, with_marks
from resay.core.request import Message, Request
from resay.core.usage import Usage
from resay.providers.apis.base import Api, ApiRequest, Outcome
from resay.providers.apis.messages_stream import (
    MessagesStream,
    elsewhere_in,
    empty_message,
    is_hosted_call,
    prompt_tokens,
    stopped,
    unread_in,
)
from resay.providers.apis.params import (
    HOSTED,
    Names,
    changes,
    object_tools,
    tools_for_continuation,
    unrepeatable_tools,
)
from resay.providers.apis.values import (
    Body,
    as_json,
    count,
    is_yes,
    listed,
    mapping,
    mappings,
    number,
    text,
)
from resay.providers.base import Completion, ToolCall

_SYSTEM_ROLES = ("developer", "system")
_IMAGE = "data:"


def nested_messages(body: Body) -> tuple[Message, ...]:
    """Return the messages of a request as chat messages, the system prompt first."""
    messages: list[Message] = []
    if body.get("system"):
        messages.append({"role": "system", "content": _content(body["system"])})
    for message in mappings(body.get("messages")):
        messages += _chat_messages(message)
    return tuple(messages)


def _content(content: Any) -> Any:
    return [_part(block) for block in mappings(content)] if listed(content) else content


def _chat_messages(message: Mapping[str, Any]) -> list[Message]:
    """Return a message as chat messages, with tool results as messages of their own."""
    role, content = message.get("role"), message.get("content")
    if not role:
        return []
    if not listed(content):
        return [{"role": role, "content": content}]
    results: list[Message] = []
    calls: list[dict[str, Any]] = []
    parts: list[Mapping[str, Any]] = []
    for block in mappings(content):
        kind = block.get("type")
        if kind == "tool_result":
            call_id, result = block.get("tool_use_id"), _content(block.get("content"))
            results.append({"role": "tool", "tool_call_id": call_id, "content": result})
        elif kind == "tool_use":
            calls.append(_chat_call(block))
        elif kind not in ("redacted_thinking", "thinking"):
            parts.append(_part(block))
    if calls:
        return [*results, {"role": role, "content": parts or None, "tool_calls": calls}]
    return [*results, {"role": role, "content": parts}] if parts or not results else results


def _chat_call(block: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": text(block.get("name")), "arguments": as_json(block.get("input"))}
    return {"id": block.get("id"), "type": "function", "function": function}


def _part(block: Mapping[str, Any]) -> Mapping[str, Any]:
    kind, source = block.get("type"), mapping(block.get("source"))
    if kind == "text":
        return {"type": "text", "text": text(block.get("text"))}
    url = _url(source) if kind == "image" else ""
    return {"type": "image_url", "image_url": {"url": url}} if url else block


def _url(source: Mapping[str, Any]) -> str:
    if source.get("type") == "base64":
        return f"data:{text(source.get('media_type'))};base64,{text(source.get('data'))}"
    return text(source.get("url"))


def own_messages(messages: Sequence[Message]) -> dict[str, Any]:
    """Convert chat completions messages to the fields of a request."""
    instructions: list[str] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.get("role") not in _SYSTEM_ROLES:
            _add(turns, _own_message(message))
        elif instruction := _text_of(message):
            instructions.append(instruction)
    if instructions:
        return {"system": "\n\n".join(instructions), "messages": turns}
    return {"messages": turns}


def _text_of(message: Message) -> str:
    content = message.get("content")
    parts = [text(part.get("text")) for part in mappings(content)]
    return text(content) or "\n".join(parts)


def _add(messages: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Append a message; tool results are merged with the user message that follows them."""
    previous: dict[str, Any] = messages[-1] if messages else {}
    if previous.get("role") != message["role"] or not _has_tool_results(previous):
        messages.append(message)
        return
    messages[-1] = {**previous, "content": [*previous["content"], *_blocks(message["content"])]}


def _has_tool_results(message: Message) -> bool:
    return any(block.get("type") == "tool_result" for block in mappings(message.get("content")))


def _own_message(message: Message) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": message.get("tool_call_id"),
            "content": _own_content(content),
        }
        return {"role": "user", "content": [result]}
    calls = [_own_call(call) for call in mappings(message.get("tool_calls"))]
    if calls:
        return {"role": role, "content": [*_blocks(_own_content(content)), *calls]}
    return {"role": role, "content": _own_content(content)}


def _blocks(content: Any) -> list[Any]:
    if text(content):
        return [{"type": "text", "text": content}]
    return [*listed(content)]


def _own_content(content: Any) -> Any:
    return [_own_block(part) for part in mappings(content)] if listed(content) else content


def _own_block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") != "image_url":
        return part
    return {"type": "image", "source": _source(text(mapping(part.get("image_url")).get("url")))}


def _source(url: str) -> dict[str, Any]:
    kind, _, data = url.removeprefix(_IMAGE).partition(";base64,")
    if url.startswith(_IMAGE) and data:
        return {"type": "base64", "media_type": kind, "data": data}
    return {"type": "url", "url": url}


def _own_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = mapping(call.get("function"))
    try:
        arguments = json.loads(text(function.get("arguments")))
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        arguments = {}
    return {
        "type": "tool_use",
        "id": call.get("id"),
        "name": function.get("name"),
        "input": arguments,
    }


_JSON = "json_schema"
# Parameters that chat completions call the same, and those that do more than ask a question.
_SAME_NAMES = ("container", "max_tokens", "mcp_servers", "temperature", "top_p")
# Parameters whose effects are of no use in a sample.
_MAIN_CALL_ONLY = frozenset({"diagnostics", "metadata", "stream"})
# Anthropic's tools that the application runs once it has the answer; their names are versioned.
_CLIENT_RUN = ("bash_", "browser_toolset_", "computer_", "memory_", "text_editor_")
# Parameters that make the provider run tools.
_TOOL_RUNNING = frozenset({"container", "mcp_servers"})
_CONTAINER = "every sample would work in the container that the provider keeps"
_THREAD = "every sample would be added to the thread that the provider keeps"
_THINKING_TYPES = frozenset({"adaptive", "enabled"})
_MAX_TOKENS = 1024


def _thinks(body: Body) -> bool:
    return text(mapping(body.get("thinking")).get("type")) in _THINKING_TYPES


def _unrepeatable(body: Body) -> tuple[str | None, str | None]:
    """Return the field that forbids to repeat a request, and why; None and None if none does."""
    if body.get("container"):
        return "container", _CONTAINER
    if body.get("thread"):
        return "thread", _THREAD
    if body.get("mcp_servers"):
        return "mcp_servers", HOSTED
    hosted = [text(tool.get("type")) for tool in mappings(body.get("tools")) if _is_hosted(tool)]
    return ("tools", unrepeatable_tools(hosted)) if hosted else (None, None)


def _is_own(tool: Mapping[str, Any]) -> bool:
    return (text(tool.get("type")) or "custom") == "custom"


def _is_hosted(tool: Mapping[str, Any]) -> bool:
    return not _is_own(tool) and not text(tool.get("type")).startswith(_CLIENT_RUN)


def _object_tools(body: Body) -> tuple[str, ...]:
    tools = mappings(body.get("tools"))
    names = [text(tool.get("name")) if _is_own(tool) else "" for tool in tools]
    kind = text(mapping(body.get("tool_choice")).get("type"))
    return object_tools(names, kind, ("any", "tool"))


def _params(body: Body) -> dict[str, Any]:
    form = mapping(body.get("output_config")).get("format") or body.get("output_format")
    choice = mapping(body.get("tool_choice"))
    params = {
        **{name: body.get(name) for name in _SAME_NAMES},
        "stop": body.get("stop_sequences"),
        "response_format": _nested_format(form),
        "tools": [_nested_tool(tool) for tool in mappings(body.get("tools"))] or None,
        "tool_choice": _nested_choice(choice),
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") is True else None,
    }
    return {name: value for name, value in params.items() if value is not None}


def _nested_format(form: object) -> dict[str, Any] | None:
    if mapping(form).get("type") != _JSON:
        return None
    return {"type": _JSON, _JSON: {"name": "answer", "schema": mapping(form).get("schema")}}


def _flat_format(form: Any) -> Any:
    nested = mapping(mapping(form).get(_JSON))
    return {"type": _JSON, "schema": nested.get("schema")} if nested else None


def _nested_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    if not _is_own(tool):
        return tool
    function = {name: tool[name] for name in ("name", "description", "strict") if name in tool}
    return {"type": "function", "function": {**function, "parameters": tool.get("input_schema")}}


def _flat_tools(tools: Any) -> Any:
    return [_flat_tool(tool) for tool in mappings(tools)]


def _flat_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = mapping(tool.get("function"))
    if not function:
        return tool
    fields = {k: v for k, v in function.items() if k != "parameters"}
    return {**fields, "input_schema": function.get("parameters") or {"type": "object"}}


_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def _nested_choice(choice: Mapping[str, Any]) -> Any:
    kind = text(choice.get("type"))
    if kind == "tool":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return _CHOICES.get(kind)


def _flat_choice(choice: Any) -> Any:
    name = mapping(mapping(choice).get("function")).get("name")
    if name:
        return {"type": "tool", "name": name}
    for own, theirs in _CHOICES.items():
        if theirs == choice:
            return {"type": own}
    return choice


def _listed_stop(stop: Any) -> Any:
    return [stop] if isinstance(stop, str) else stop


_NAMES = Names(
    paths={
        "max_completion_tokens": ("max_tokens",),
        "reasoning_effort": ("output_config", "effort"),
        "response_format": ("output_config", "format"),
        "stop": ("stop_sequences",),
    },
    unknown=frozenset(
        {
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "n",
            "parallel_tool_calls",
            "prediction",
            "presence_penalty",
            "seed",
            "store",
            "stream",
            "stream_options",
            "top_logprobs",
            "user",
            "verbosity",
        }
    ),
    converters={
        "response_format": _flat_format,
        "stop": _listed_stop,
        "tool_choice": _flat_choice,
        "tools": _flat_tools,
    },
)
# Fields of a message that contain no words of the answer.
_WORDLESS_FIELDS = ("id", "type", "role", "model", "container", "usage")


class _Messages(MessagesStream):
    path = "/messages"
    gives_logprobs = False

    def read(self, body: Body) -> ApiRequest:
        """Parse a request."""
        messages = nested_messages(body)
        field, reason = _unrepeatable(body)
        context = CheckContext(
            Request(messages, None, _params(body)),
            calls=CallLog.of(mappings(body.get("messages")), is_whole=not body.get("thread")),
            object_tools=_object_tools(body),
            unrepeatable=reason,
        )
        return ApiRequest(
            body=body,
            context=context,
            streams=is_yes(body.get("stream")),
            field=field,
        )

    def with_logprobs(self, body: Body, top: int) -> Body:
        del top
        return body

    def without_logprobs(self, data: Body) -> Body:
        return data

    def sample(self, api_request: ApiRequest, request: Request, n: int) -> Body:
        """Return the request for a sample: the main call's own, apart from changed parameters.

        A temperature is sent only if the caller or the policy sets one, because many models refuse
        it. A thinking model gets only the caller's own, because any value but 1 is refused.
        """
        sample = with_sampling(
            {k: v for k, v in api_request.body.items() if k not in _MAIN_CALL_ONLY}
        )
        changed_params = changes(api_request.request.params, request.params)
        if changed_params.get("temperature") is not None and _thinks(sample):
            del changed_params["temperature"]
        return _NAMES.apply(sample, changed_params)

    def fresh(self, body: Body, request: Request) -> Body:
        """Return another request to the model of the main call.

        The API requires `max_tokens`. A request without it gets the main call's, at least 1024,
        because a rewritten answer may be as long as the first.
        """
        fields = {
            "model": body.get("model"),
            "max_tokens": max(number(body.get("max_tokens")), _MAX_TOKENS),
            **tools_for_continuation(body, request, {"type": "none"}),
            **own_messages(request.messages),
        }
        params = {k: v for k, v in request.params.items() if k not in _TOOL_RUNNING}
        return _NAMES.apply(fields, params)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        if not isinstance(response.get("content"), list):
            return ()
        answer = ""
        calls: list[ToolCall] = []
        citations: list[Citation] = []
        for index, block in enumerate(mappings(response["content"])):
            if block.get("type") == "text":
                start = len(answer)
                answer += text(block.get("text"))
                citations += _citations(block, start, len(answer))
            elif block.get("type") == "tool_use":
                arguments = as_json(block.get("input"))
                calls.append(ToolCall(text(block.get("name")), arguments, index))
        unread = unread_in(listed(response["content"]))
        if not (unread or calls or answer.strip()):
            unread = elsewhere_in(response)
        completion = Completion(
            text=answer,
            finish_reason=text(response.get("stop_reason")) or None,
            raw=response,
            calls=tuple(calls),
            unread=unread,
            citations=tuple(citations),
            ran=tuple(filter(is_hosted_call, mappings(response["content"]))),
        )
        return (completion,)

    def usage(self, response: Body) -> Usage:
        usage = mapping(response.get("usage"))
        return Usage(1, prompt_tokens(usage), count(usage.get("output_tokens")), None)

    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        # Built from scratch, as words can be anywhere in the old content: in calls, in thinking.
        return {
            **empty_message(),
            **{name: response[name] for name in _WORDLESS_FIELDS if name in response},
            "content": [{"type": "text", "text": message}],
            **stopped(outcome),
            **outcome.fields,
        }

    def _marked(self, response: Body, marks: Sequence[Mark]) -> Body:
        content: list[Any] = []
        start = 0
        for item in listed(response.get("content")):
            block = mapping(item)
            if block.get("type") == "text":
                words = text(block.get("text"))
                item = {**block, "text": with_marks(words, marks, start)}
                start += len(words)
            content.append(item)
        return {**response, "content": content}


MESSAGES: Api = _Messages()
"""`POST /messages`."""


def _citations(block: Mapping[str, Any], start: int, end: int) -> Iterator[Citation]:
    """Yield the citations of a text block, each of which applies to the whole block."""
    if start == end:
        return
    for citation in mappings(block.get("citations")):
        yield Citation(
            start=start,
            end=end,
            title=text(citation.get("document_title")) or text(citation.get("title")) or None,
            url=text(citation.get("url")) or text(citation.get("source")) or None,
            quote=text(citation.get("cited_text")) or None,
        )
