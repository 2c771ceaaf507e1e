"""OpenAI's Responses API: conversion of requests to chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.call_log import CallLog
from resay.core.check_context import CheckContext
from resay.core.decoding import with_sampling
from resay.core.marks import Mark
from resay.core.request import Message, Request
from resay.core.usage import Usage
from resay.providers.apis.base import Api, ApiRequest, Outcome
from resay.providers.apis.params import (
    HOSTED,
    Names,
    changes,
    object_tools,
    tools_for_continuation,
    unrepeatable_tools,
)
from resay.providers.apis.responses_output import (
    answer_logprobs,
    answer_text,
    attached_citations,
    elsewhere_in,
    hosted_calls,
    item_status,
    local_id,
    marked_response,
    message_item,
    replaced_response,
    response_without_logprobs,
    retrieved_by_provider,
    stopped_by,
    text_part,
    tool_calls,
    unread_in_response,
    usage_in,
)
from resay.providers.apis.responses_stream import ResponsesStream, event_without_logprobs
from resay.providers.apis.values import Body, is_yes, listed, mapping, mappings, number, text
from resay.providers.base import Completion

# The item type of each kind of tool's calls, and the field of its input.
_CALLS = {"custom": ("custom_tool_call", "input"), "function": ("function_call", "arguments")}


def nested_messages(body: Body) -> tuple[Message, ...]:
    """Return the messages of a request as chat messages, the instructions first."""
    messages: list[Message] = []
    if text(body.get("instructions")):
        messages.append({"role": "system", "content": body["instructions"]})
    if text(body.get("input")):
        messages.append({"role": "user", "content": body["input"]})
    for item in mappings(body.get("input")):
        message = _message(item)
        if message is not None:
            _add(messages, message)
    return tuple(messages)


def _add(messages: list[Message], message: Message) -> None:
    """Append a message. Calls are merged into the assistant's message just before."""
    if "tool_calls" not in message or not messages or messages[-1].get("role") != "assistant":
        messages.append(message)
        return
    calls = [*messages[-1].get("tool_calls", ()), *message["tool_calls"]]
    messages[-1] = {**messages[-1], "tool_calls": calls}


def _message(item: Mapping[str, Any]) -> Message | None:
    kind = item.get("type")
    if kind == "function_call":
        return _call_message(item, "function", {"arguments": text(item.get("arguments"))})
    if kind == "custom_tool_call":
        return _call_message(item, "custom", {"input": text(item.get("input"))})
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = _content(item.get("output"))
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
    if "role" in item and kind in (None, "message"):
        return {"role": item["role"], "content": _content(item.get("content"))}
    return None


def _call_message(item: Mapping[str, Any], kind: str, arguments: Mapping[str, str]) -> Message:
    function = {"name": text(item.get("name")), **arguments}
    call = {"id": item.get("call_id"), "type": kind, kind: function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _content(content: Any) -> Any:
    return [_part(part) for part in mappings(content)] if listed(content) else content


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = part.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": text(part.get("text"))}
    if kind == "input_image" and part.get("image_url"):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    return part


def own_items(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert chat completions messages to the items of a request."""
    custom_ids: list[Any] = []
    for message in messages:
        calls = mappings(message.get("tool_calls"))
        custom_ids += [call.get("id") for call in calls if call.get("type") == "custom"]
    items: list[dict[str, Any]] = []
    for message in messages:
        items += _items(message, custom_ids)
    return items


def _items(message: Message, custom_ids: Sequence[Any]) -> list[dict[str, Any]]:
    role, content = message.get("role"), message.get("content")
    if listed(content):
        content = [_own_part(part, role) for part in mappings(content)]
    if role == "tool":
        call_id = message.get("tool_call_id")
        item, _ = _CALLS["custom" if call_id in custom_ids else "function"]
        return [{"type": f"{item}_output", "call_id": call_id, "output": content or ""}]
    calls = [_own_call(call) for call in mappings(message.get("tool_calls"))]
    return calls if calls and not content else [{"role": role, "content": content}, *calls]


def _own_call(call: Mapping[str, Any]) -> dict[str, Any]:
    kind = "custom" if call.get("type") == "custom" else "function"
    item, input_field = _CALLS[kind]
    function = mapping(call.get(kind))
    return {
        "type": item,
        "call_id": call.get("id"),
        "name": text(function.get("name")),
        input_field: text(function.get(input_field)),
    }


def _own_part(part: Mapping[str, Any], role: object) -> Mapping[str, Any]:
    kind = part.get("type")
    if kind == "text":
        own_kind = "output_text" if role == "assistant" else "input_text"
        return {"type": own_kind, "text": text(part.get("text"))}
    if kind == "image_url":
        image = mapping(part.get("image_url"))
        detail = {"detail": image["detail"]} if image.get("detail") else {}
        return {"type": "input_image", "image_url": image.get("url"), **detail}
    return part


_LOGPROBS = "message.output_text.logprobs"
# Parameters that chat completions call the same. Those that only this API has are left out.
_SAME_NAMES = (
    "background",
    "conversation",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "safety_identifier",
    "seed",
    "service_tier",
    "store",
    "temperature",
    "top_logprobs",
    "top_p",
    "user",
)
# Parameters whose effects are of no use in a sample.
_MAIN_CALL_ONLY = frozenset(
    {"background", "include", "metadata", "store", "stream", "stream_options", "top_logprobs"}
)
# Parameters that change a conversation, or keep running when nobody waits any more.
_LASTING = frozenset({"background", "conversation"})
_SUMMARIES = frozenset({"generate_summary", "summary"})
# Tools that the application runs once it has the answer. The provider runs all others itself.
_CLIENT_RUN = frozenset(
    {
        "apply_patch",
        "computer",
        "computer_use_preview",
        "custom",
        "function",
        "local_shell",
        "namespace",
    }
)
_RESULTS = "file_search_call.results"
_CONVERSATION = "every sample would be added to the conversation that the provider keeps"
_BACKGROUND = "the answer is made in the background"
_MIN_TOKENS = 16  # the API refuses less


def with_logprobs(body: Body, top: int) -> dict[str, Any]:
    """Return the request with log-probabilities enabled."""
    included = [name for name in listed(body.get("include")) if name != _LOGPROBS]
    top = max(top, number(body.get("top_logprobs")))
    alternatives = {"top_logprobs": top} if top else {}
    return {**body, "include": [*included, _LOGPROBS], **alternatives}


def _with_logprobs(body: Body, params: Mapping[str, Any]) -> Body:
    if not params.get("logprobs"):
        return body
    return with_logprobs(body, number(params.get("top_logprobs")))


def _unrepeatable(body: Body) -> tuple[str | None, str | None]:
    """Return the field that forbids to repeat a request, and why; None and None if none does."""
    if body.get("conversation"):
        return "conversation", _CONVERSATION
    if body.get("background"):
        return "background", _BACKGROUND
    kinds: set[str] = set()
    pending = [*mappings(body.get("tools"))]
    while pending:
        tool = pending.pop()
        kinds.add(_kind(tool))
        # A namespace groups other tools.
        pending += mappings(tool.get("tools"))
    provider_run = kinds - _CLIENT_RUN
    return ("tools", unrepeatable_tools(provider_run)) if provider_run else (None, None)


def _includes_results(body: Body) -> bool:
    """Whether the answer includes what was retrieved for it: by file search, and nothing else."""
    hosted = {_kind(tool) for tool in mappings(body.get("tools"))} - _CLIENT_RUN
    return hosted == {"file_search"} and _RESULTS in listed(body.get("include"))


def _kind(tool: Mapping[str, Any]) -> str:
    return text(tool.get("type")) or "function"


def _object_tools(body: Body) -> tuple[str, ...]:
    tools = mappings(body.get("tools"))
    names = [text(t.get("name")) if _kind(t) == "function" else "" for t in tools]
    choice = body.get("tool_choice")
    fields = mapping(choice)
    kind = fields.get("mode") if fields.get("type") == "allowed_tools" else fields.get("type")
    return object_tools(names, text(choice) or text(kind), ("required", "function"))


def _params(body: Body) -> dict[str, Any]:
    text_fields, reasoning = mapping(body.get("text")), mapping(body.get("reasoning"))
    has_logprobs = _LOGPROBS in listed(body.get("include")) or bool(body.get("top_logprobs"))
    params = {
        **{name: body.get(name) for name in _SAME_NAMES},
        "max_completion_tokens": body.get("max_output_tokens"),
        "response_format": _nested_format(text_fields.get("format")),
        "verbosity": text_fields.get("verbosity"),
        "reasoning_effort": reasoning.get("effort"),
        "tools": [_nested_tool(tool) for tool in mappings(body.get("tools"))] or None,
        "tool_choice": _nested_choice(body.get("tool_choice")),
        "logprobs": has_logprobs or None,
    }
    return {name: value for name, value in params.items() if value is not None}


def _nested_format(response_format: object) -> Mapping[str, Any] | None:
    fields = mapping(response_format)
    if fields.get("type") == "json_schema":
        return {"type": "json_schema", "json_schema": _without_type(fields)}
    return fields if fields and fields.get("type") != "text" else None


def _flat_format(response_format: Any) -> Any:
    fields = mapping(response_format)
    if fields.get("type") == "json_schema":
        return {"type": "json_schema", **mapping(fields.get("json_schema"))}
    return response_format


def _nested_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = _kind(tool)
    if kind not in ("custom", "function"):
        return tool
    return {"type": kind, kind: _without_type(tool)}


def _flat_tools(tools: Any) -> Any:
    return [_flat_tool(tool) for tool in mappings(tools)]


def _flat_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = text(tool.get("type"))
    return {"type": kind, **mapping(tool.get(kind))} if kind in ("custom", "function") else tool


def _nested_choice(choice: Any) -> Any:
    fields = mapping(choice)
    kind = fields.get("type")
    if kind in ("custom", "function"):
        return {"type": kind, kind: {"name": fields.get("name")}}
    if kind == "allowed_tools":
        tools = [_nested_choice(tool) for tool in mappings(fields.get("tools"))]
        return {"type": kind, kind: {"mode": fields.get("mode"), "tools": tools}}
    return choice


def _flat_choice(choice: Any) -> Any:
    fields = mapping(choice)
    kind = text(fields.get("type"))
    if kind == "allowed_tools":
        allowed = mapping(fields.get(kind))
        return {
            "type": kind,
            **allowed,
            "tools": [*map(_flat_choice, listed(allowed.get("tools")))],
        }
    return _flat_tool(fields) if fields else choice


def _without_type(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if k != "type"}


def _enough_tokens(max_tokens: Any) -> Any:
    return max(max_tokens, _MIN_TOKENS) if isinstance(max_tokens, int) else max_tokens


_NAMES = Names(
    paths={
        "max_completion_tokens": ("max_output_tokens",),
        "max_tokens": ("max_output_tokens",),
        "reasoning_effort": ("reasoning", "effort"),
        "response_format": ("text", "format"),
        "verbosity": ("text", "verbosity"),
    },
    unknown=frozenset(
        {
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "n",
            "prediction",
            "presence_penalty",
            "seed",
            "stop",
            "stream",
            "stream_options",
            "top_logprobs",
        }
    ),
    converters={
        "max_completion_tokens": _enough_tokens,
        "max_tokens": _enough_tokens,
        "response_format": _flat_format,
        "tool_choice": _flat_choice,
        "tools": _flat_tools,
    },
)
# A response in progress, or one that failed, answers nothing.
_NO_ANSWER = frozenset({"cancelled", "failed", "in_progress", "queued"})


def _calls_before(body: Body) -> CallLog:
    """Return the tool calls in a request; those of turns that the provider keeps are unknown."""
    is_whole = not (body.get("previous_response_id") or body.get("conversation"))
    prompt = text(body.get("input"))
    messages = [{"role": "user", "content": prompt}] if prompt else mappings(body.get("input"))
    return CallLog.of(messages, is_whole=is_whole)


class _Responses(ResponsesStream):
    path = "/responses"
    gives_logprobs = True

    def read(self, body: Body) -> ApiRequest:
        """Parse a request."""
        messages = nested_messages(body)
        field, reason = _unrepeatable(body)
        context = CheckContext(
            Request(messages, None, _params(body)),
            calls=_calls_before(body),
            object_tools=_object_tools(body),
            unrepeatable=reason,
        )
        return ApiRequest(
            body=body,
            context=context,
            streams=is_yes(body.get("stream")),
            field=field,
            brings_references=reason == HOSTED and _includes_results(body),
        )

    def with_logprobs(self, body: Body, top: int) -> Body:
        return with_logprobs(body, top)

    def without_logprobs(self, data: Body) -> Body:
        return response_without_logprobs(event_without_logprobs(data))

    def sample(self, api_request: ApiRequest, request: Request, n: int) -> Body:
        """Return the request for a sample: the main call's own, apart from changed parameters.

        The user's id, the prompt cache key and the previous response are retained: a sample that is
        not stored is a branch that nobody else sees.
        """
        sample = with_sampling(
            {k: v for k, v in api_request.body.items() if k not in _MAIN_CALL_ONLY}
        )
        reasoning = mapping(sample.get("reasoning"))
        if reasoning:
            sample["reasoning"] = {k: v for k, v in reasoning.items() if k not in _SUMMARIES}
        changed_params = changes(api_request.request.params, request.params)
        body = {**_NAMES.apply(sample, {**changed_params, "store": None}), "store": False}
        return _with_logprobs(body, request.params)

    def fresh(self, body: Body, request: Request) -> Body:
        """Return another request to the main call's model, which the provider does not store.

        The previous response is retained, as in a sample: it is part of the question.
        """
        fields = {"model": body.get("model"), "input": own_items(request.messages)}
        params = {k: v for k, v in request.params.items() if k not in _LASTING}
        converted = _NAMES.apply(
            {**fields, **tools_for_continuation(body, request, "none")}, params
        )
        return _with_logprobs({**converted, "store": False}, params)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        if not isinstance(response.get("output"), list):
            return ()
        answer, unread = answer_text(response), unread_in_response(response)
        if text(response.get("status")) in _NO_ANSWER and not (answer or unread):
            return ()
        calls = tool_calls(response)
        if not (unread or calls or answer.strip()):
            unread = elsewhere_in(response)
        completion = Completion(
            text=answer,
            finish_reason=stopped_by(response),
            logprobs=answer_logprobs(response),
            raw=response,
            calls=calls,
            unread=unread,
            found=retrieved_by_provider(response),
            citations=attached_citations(response),
            ran=hosted_calls(response),
        )
        return (completion,)

    def usage(self, response: Body) -> Usage:
        return usage_in(response) or Usage(1, cost_usd=None)

    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        item = message_item(local_id(response, 0), item_status(outcome), [text_part(message)])
        return replaced_response(response, [item], outcome)

    def _marked(self, response: Body, marks: Sequence[Mark]) -> Body:
        return marked_response(response, marks, 0)


RESPONSES: Api = _Responses()
"""`POST /responses`."""
