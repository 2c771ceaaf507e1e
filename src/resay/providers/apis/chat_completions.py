"""OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.check_context import CheckContext
from resay.core.logprobs import read_logprobs
from resay.core.marks import Mark, shifted_span, with_marks
from resay.core.request import Request
from resay.providers.apis.base import Api, ApiRequest
from resay.providers.apis.choices import (
    CHOICE_FIELDS,
    WORDLESS_FIELDS,
    Choice,
    ChoicesApi,
    answer_count,
)
from resay.providers.apis.events import Event
from resay.providers.apis.params import (
    HOSTED,
    object_tools,
    tools_for_continuation,
    unrepeatable_tools,
)
from resay.providers.apis.values import (
    Body,
    is_garbled,
    is_yes,
    listed,
    mapping,
    mappings,
    named,
    number,
    text,
    words_elsewhere,
)
from resay.providers.base import Chunk, Completion, ToolCall

# Fields of a message or delta that are read, or that have no words of the answer.
_MESSAGE_FIELDS = frozenset(
    {
        "annotations",
        "audio",
        "citations",
        "content",
        "function_call",
        "hallucination",
        "id",
        "name",
        "object",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "reasoning_opaque",
        "reasoning_signature",
        "reasoning_text",
        "refusal",
        "role",
        "thinking",
        "thinking_blocks",
        "tool_call_id",
        "tool_calls",
        "type",
    }
)
_NOT_CHAT_PARAMS = frozenset({"messages", "model", "n", "stream"})
# Fields of a delta that are the answer's role and text.
_TEXT_FIELDS = frozenset({"content", "refusal", "role"})
# Not part of OpenAI's API, but gateways support them.
_STORED_CONVERSATION_FIELDS = (
    "container",
    "conversation",
    "previous_response_id",
    "thread",
    "thread_id",
)
# Content parts that contain no words of the answer.
_WORDLESS_PARTS = frozenset({"reasoning", "reference", "thinking"})
# Those of them that belong to the text before them, without any words: Mistral's citations.
_REFERENCE = "reference"

_CONVERSATION = "every sample would be added to what the provider keeps of the conversation"


class _ChatCompletions(ChoicesApi):
    path = "/chat/completions"
    _object = "chat.completion"
    _chunk_object = "chat.completion.chunk"

    def read(self, body: Body) -> ApiRequest:
        params = {k: v for k, v in body.items() if k not in _NOT_CHAT_PARAMS and v is not None}
        messages = tuple(message for message in mappings(body.get("messages")) if "role" in message)
        streams = is_yes(body.get("stream"))
        field, reason = _unrepeatable(body)
        context = CheckContext(
            Request(messages, None, params),
            object_tools=_object_tools(body),
            unrepeatable=reason,
        )
        return ApiRequest(
            body=body,
            context=context,
            n=answer_count(body),
            streams=streams,
            field=field,
        )

    def with_logprobs(self, body: Body, top: int) -> Body:
        top = max(top, number(body.get("top_logprobs")))
        return {**body, "logprobs": True, **({"top_logprobs": top} if top else {})}

    def sample(self, api_request: ApiRequest, request: Request, n: int) -> Body:
        body = {k: api_request.body[k] for k in ("model", "messages") if k in api_request.body}
        body |= request.params
        return {**body, "n": n} if n > 1 else body

    def fresh(self, body: Body, request: Request) -> Body:
        messages = [dict(message) for message in request.messages]
        tools = tools_for_continuation(body, request, "none")
        params = {k: v for k, v in request.params.items() if k not in _STORED_CONVERSATION_FIELDS}
        return {"model": body.get("model"), "messages": messages, **tools, **params}

    def has_other_words(self, event: Event) -> bool:
        choices = mappings(event.body.get("choices"))
        return any(_has_other_words(mapping(choice.get("delta"))) for choice in choices)

    def _completion(self, choice: Choice, response: Body) -> Completion:
        message = mapping(choice.get("message"))
        answer, calls = _text_of(message), _calls(message)
        unread = _unread_message(message)
        # Only an event of a stream has a delta, and only another API's choice a text.
        has_other_text = choice.get("text") or _text_of(mapping(choice.get("delta")))
        if "message" not in choice or is_garbled(choice["message"], Mapping) or has_other_text:
            unread = named(None)
        if not (unread or calls or answer.strip()):
            unread = _other_words(choice)
        return Completion(
            text=answer,
            finish_reason=text(choice.get("finish_reason")) or None,
            logprobs=read_logprobs(choice.get("logprobs")),
            raw=response,
            calls=calls,
            unread=unread,
        )

    def _message_fields(self, message: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": message, "refusal": None}}

    def _marked(self, choice: Choice, marks: Sequence[Mark]) -> Choice:
        return {**choice, "message": _marked_message(mapping(choice.get("message")), marks)}

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        delta = mapping(choice.get("delta"))
        added, whole = _text_of(delta), _text_of(mapping(choice.get("message")))
        return Chunk(
            text=added,
            finish_reason=text(choice.get("finish_reason")) or None,
            logprobs=read_logprobs(choice.get("logprobs")),
            raw=event,
            calls=_calls(delta),
            unread=_unread_delta(choice),
            repeats=("message", whole) if whole else None,
            elsewhere=None if added else _other_words(choice),
        )

    def _delta_fields(self, text: str, *, first: bool) -> dict[str, Any]:
        content: dict[str, Any] = {"content": text} if text else {}
        return {"delta": {"role": "assistant", **content} if first else content}

    def _without_text(self, choice: Choice) -> dict[str, Any]:
        if not _text_of(mapping(choice.get("delta"))):
            return dict(choice)
        return _with_delta(choice, _without_text(mapping(choice.get("delta"))))

    def _released(self, choice: Choice, start: int, stop: int) -> dict[str, Any]:
        delta = mapping(choice.get("delta"))
        released = {name: value for name, value in _cut(delta, start, stop).items() if value}
        if "role" in delta and not start:
            released = {"role": delta["role"], **released}
        frame = {name: choice[name] for name in WORDLESS_FIELDS if name in choice}
        tokens = {"logprobs": None} if "logprobs" in choice else {}
        return {**frame, "delta": released, **tokens, "finish_reason": None}

    def _rest(self, choice: Choice, start: int) -> dict[str, Any]:
        delta = mapping(choice.get("delta"))
        return _with_delta(choice, {**delta, **_cut(delta, start, len(_text_of(delta)))})


CHAT_COMPLETIONS: Api = _ChatCompletions()
"""`POST /chat/completions`."""


def _unrepeatable(body: Body) -> tuple[str | None, str | None]:
    """Return the field that forbids to repeat a request, and why; None and None if none does."""
    # The application runs function tools, and only once it has the answer.
    others = [tool for tool in _parts(body.get("tools")) if not _is_client_run(tool)]
    if others:
        kinds: list[str] = []
        for tool in map(mapping, others):
            kind = text(tool.get("type"))
            kinds += [kind] if kind else tool.keys()
        return "tools", unrepeatable_tools(kinds)
    # An empty object asks for a search too.
    if body.get("web_search_options") is not None:
        return "web_search_options", HOSTED
    for name in _STORED_CONVERSATION_FIELDS:
        if body.get(name):
            return name, _CONVERSATION
    return None, None


def _is_client_run(tool: object) -> bool:
    """Return whether the application runs a tool; Google's own have no type."""
    fields = mapping(tool)
    kind = text(fields.get("type"))
    return kind in ("custom", "function") if kind else bool(fields.keys() & {"function", "name"})


def _object_tools(body: Body) -> tuple[str, ...]:
    names = [text(mapping(t.get("function")).get("name")) for t in mappings(body.get("tools"))]
    choice = body.get("tool_choice")
    kind = choice if isinstance(choice, str) else mapping(choice).get("type")
    return object_tools(names, kind, ("required", "function"))


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    if not message.get("tool_calls") and not message.get("function_call"):
        return ()
    calls: list[ToolCall] = []
    for position, item in enumerate(mappings(message.get("tool_calls"))):
        function, custom = mapping(item.get("function")), mapping(item.get("custom"))
        index = item.get("index")
        call = ToolCall(
            name=text(custom.get("name") if custom else function.get("name")),
            arguments=text(custom.get("input") if custom else function.get("arguments")),
            index=position if index is None else number(index),
            id=text(item.get("id")),
        )
        calls.append(call)
    # The predecessor of `tool_calls`, which some servers still support.
    function_call = mapping(message.get("function_call"))
    if function_call:
        name, arguments = function_call.get("name"), function_call.get("arguments")
        calls.append(ToolCall(text(name), text(arguments)))
    return tuple(calls)


def _text_of(said: Mapping[str, Any]) -> str:
    """Return the text of a message or delta. A refusal is an answer too."""
    words, refusal = _content_text(said.get("content")), said.get("refusal")
    return words + refusal if isinstance(refusal, str) else words


def _content_text(content: object) -> str:
    """Return the text of a content, which some providers send as a list of parts, or as a part."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(_part_text, _parts(content)))


def _parts(content: object) -> Sequence[Any]:
    return [content] if isinstance(content, Mapping) else listed(content)


def _part_text(part: object) -> str:
    fields = mapping(part)
    return text(part) or text(fields.get("text")) or text(fields.get("refusal"))


def _marked_message(message: Mapping[str, Any], marks: Sequence[Mark]) -> dict[str, Any]:
    """Return a message with marks in its text, and with the places of its citations after them."""
    content, refusal = message.get("content"), message.get("refusal")
    marked: dict[str, Any] = dict(message)
    if isinstance(content, str):
        marked["content"] = with_marks(content, marks)
    elif content:
        marked["content"] = _marked_parts(_parts(content), marks)
    if isinstance(refusal, str):
        marked["refusal"] = with_marks(refusal, marks, start=len(_content_text(content)))
    if listed(message.get("annotations")):
        marked["annotations"] = [_shifted(item, marks) for item in listed(message["annotations"])]
    return marked


def _marked_parts(parts: Sequence[Any], marks: Sequence[Mark]) -> list[Any]:
    marked: list[Any] = []
    start = 0
    for part in parts:
        words = _part_text(part)
        marked.append(_with_words(part, with_marks(words, marks, start)) if words else part)
        start += len(words)
    return marked


def _shifted(annotation: Any, marks: Sequence[Mark]) -> Any:
    """Return the annotation of a text as that of the text with its marks."""
    kind = text(mapping(annotation).get("type"))
    fields = mapping(mapping(annotation).get(kind))
    if not fields.keys() >= {"start_index", "end_index"}:
        return annotation
    span = number(fields["start_index"]), number(fields["end_index"])
    start, end = shifted_span(span, marks)
    return {**annotation, kind: {**fields, "start_index": start, "end_index": end}}


def _cut(delta: Mapping[str, Any], start: int, stop: int) -> dict[str, Any]:
    """Return the text of a delta from one offset to another, in the fields that have it.

    References belong to the text before them.
    """
    fields: dict[str, Any] = {}
    content, refusal = delta.get("content"), delta.get("refusal")
    length = len(_content_text(content))
    if isinstance(content, str):
        fields["content"] = content[start:stop]
    elif content:
        fields["content"] = _cut_parts(_parts(content), start, stop)
    if isinstance(refusal, str):
        fields["refusal"] = refusal[max(start - length, 0) : max(stop - length, 0)]
    return fields


def _cut_parts(parts: Sequence[Any], start: int, stop: int) -> list[Any]:
    is_silent = not any(map(_part_text, parts))
    kept_parts: list[Any] = []
    position = 0
    for part in parts:
        words = _part_text(part)
        start_of_part, position = position, position + len(words)
        if words:
            kept_words = words[max(start - start_of_part, 0) : max(stop - start_of_part, 0)]
            if kept_words:
                kept_parts.append(_with_words(part, kept_words))
        elif _is_reference(part):
            # After the text that it refers to.
            follows = start < position <= stop or (position == start == 0 < stop)
            if follows or is_silent:
                kept_parts.append(part)
    return kept_parts


def _with_words(part: object, words: str) -> str | dict[str, Any]:
    if isinstance(part, str):
        return words
    fields = mapping(part)
    field = "text" if fields.get("text") else "refusal"
    return {"type": fields.get("type", "text"), field: words}


def _without_text(delta: Mapping[str, Any]) -> dict[str, Any]:
    fields = {k: v for k, v in delta.items() if k not in ("content", "refusal")}
    parts = _parts(delta.get("content"))
    others = [part for part in parts if not _part_text(part) and not _is_reference(part)]
    return {**fields, "content": others} if others else fields


def _with_delta(choice: Choice, delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a choice with another delta, and without the tokens of the one it had."""
    changed = {**choice, "delta": delta}
    return {**changed, "logprobs": None} if "logprobs" in choice else changed


def _is_reference(part: object) -> bool:
    return mapping(part).get("type") == _REFERENCE


def _has_other_words(delta: Mapping[str, Any]) -> bool:
    """Return whether a delta has words outside its text."""
    if any(value for name, value in delta.items() if name not in _TEXT_FIELDS):
        return True
    parts = _parts(delta.get("content"))
    return any(not (_part_text(part) or _is_reference(part)) for part in parts if part)


def _unread_delta(choice: Choice) -> str | None:
    """Return which part of a stream choice cannot be parsed; None if none."""
    if choice.get("text"):
        return named("text")
    for name in ("delta", "message"):
        fields = choice.get(name)
        if fields and not mapping(fields):
            return named(name)
    return _unread_message(mapping(choice.get("delta")))


def _other_words(choice: Choice) -> str | None:
    """Return a message about words of a choice that are not where its text is."""
    for name in ("message", "delta"):
        other = words_elsewhere(mapping(choice.get(name)), _MESSAGE_FIELDS)
        if other is not None:
            return other
    return words_elsewhere(choice, CHOICE_FIELDS)


def _unread_message(message: Mapping[str, Any]) -> str | None:
    """Return which part of a message or delta cannot be parsed; None if none."""
    if message.get("audio"):
        return named("audio")
    content = message.get("content")
    if not content or isinstance(content, str):
        return None
    parts: Sequence[object] = _parts(content) or [content]
    for part in parts:
        if not _is_known(part):
            return named(mapping(part).get("type"))
    return None


def _is_known(part: object) -> bool:
    fields = mapping(part)
    if isinstance(part, str) or isinstance(fields.get("text"), str):
        return True
    if fields.get("type") == "refusal":
        return isinstance(fields.get("refusal"), str)
    return text(fields.get("type")) in _WORDLESS_PARTS
