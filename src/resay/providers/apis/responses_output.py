"""The output of OpenAI's Responses API, and its replacements."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resay.core.citations import Citation
from resay.core.logprobs import TokenLogprob, read_logprobs
from resay.core.marks import Mark, shifted_span, with_marks
from resay.core.references import Reference
from resay.core.usage import Usage
from resay.providers.apis.base import Outcome
from resay.providers.apis.values import (
    Body,
    listed,
    mapping,
    mappings,
    named,
    number,
    text,
    tokens_in,
    words_elsewhere,
)
from resay.providers.base import ToolCall

KEY = "hallucination"
# Fields of a response without words of the answer: ids, usage, and repetitions of the request.
_WORDLESS_FIELDS = (
    "id",
    "object",
    "created_at",
    "model",
    "usage",
    "completed_at",
    "background",
    "billing",
    "conversation",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)
# Fields without words of the answer, apart from those that are read.
_RESPONSE_FIELDS = frozenset(
    {
        *_WORDLESS_FIELDS,
        "context_management",
        "error",
        "hallucination",
        "incomplete_details",
        "moderation",
        "output",
        "output_text",
        "provider",
        "request_id",
        "status",
        "type",
    }
)
# Items of an output, and parts of a message, that are not text of the answer.
_OTHER_ITEMS = frozenset({"additional_tools", "compaction", "program", "reasoning"})
_OTHER_PARTS = frozenset({"reasoning_text", "summary_text"})
_CALL_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


# The parts of a message that are text, and the field that has it: a refusal is an answer too.
_TEXT_FIELDS = {"output_text": "text", "refusal": "refusal"}


def is_text(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a message is text, if only that of a refusal."""
    return text(part.get("type")) in _TEXT_FIELDS


def part_text(part: Mapping[str, Any]) -> str:
    """Return the text of a part of a message."""
    return text(part.get(_TEXT_FIELDS.get(text(part.get("type")), "text")))


def _parts(item: Mapping[str, Any]) -> Sequence[object]:
    """Return the parts of a message, which some servers send as one object."""
    content: object = item.get("content")
    return listed(content) or ([content] if content else [])


def _texts(response: Body) -> Iterator[Mapping[str, Any]]:
    for item in mappings(response.get("output")):
        if item.get("type") == "message":
            yield from (part for part in mappings(_parts(item)) if is_text(part))


def answer_text(response: Body) -> str:
    """Return the text of a response, as the SDK's `output_text` does, and refusals."""
    return "".join(map(part_text, _texts(response)))


def unread_in(items: Sequence[object]) -> str | None:
    """Return which part of a response's items cannot be parsed; None if none."""
    for item in map(mapping, items):
        kind = text(item.get("type"))
        if kind == "message":
            # A message that has just begun is empty.
            unread = unread_parts(_parts(item))
            if unread is not None:
                return unread
        elif not _is_known_item(kind):
            return named(item.get("type"))
    return None


def _is_known_item(kind: str) -> bool:
    return kind in _OTHER_ITEMS or kind.startswith("mcp_") or kind.endswith(("_call", "_output"))


def unread_in_response(response: Body) -> str | None:
    """Return which part of a response cannot be parsed; None if none."""
    unread = unread_in(listed(response.get("output")))
    # Some servers repeat the text here, as the SDK does.
    repeated = "".join(text(response.get("output_text")).split())
    words = "".join(answer_text(response).split())
    return named("output_text") if unread is None and repeated not in words else unread


def elsewhere_in(response: Body) -> str | None:
    """Return a message about words of a response outside of its output; None if there are none."""
    return words_elsewhere(response, _RESPONSE_FIELDS)


def unread_parts(parts: Sequence[object]) -> str | None:
    """Return which part of a message cannot be parsed; None if none."""
    for part in map(mapping, parts):
        if is_text(part):
            is_known = isinstance(part.get(_TEXT_FIELDS[part["type"]]), str)
        else:
            is_known = text(part.get("type")) in _OTHER_PARTS
        if not is_known:
            return named(part.get("type"))
    return None


def retrieved_by_provider(response: Body) -> tuple[Reference, ...]:
    """Return the results of a response's file searches, if the response includes them."""
    references: list[Reference] = []
    for index, item in enumerate(mappings(response.get("output"))):
        if item.get("type") != "file_search_call":
            continue
        for result_index, result in enumerate(mappings(item.get("results"))):
            if text(result.get("text")).strip():
                reference = Reference(
                    text(result.get("text")),
                    f"output[{index}].results[{result_index}]",
                    "documents",
                    id=text(result.get("file_id")) or None,
                    title=text(result.get("filename")) or None,
                )
                references.append(reference)
    return tuple(references)


def attached_citations(response: Body) -> tuple[Citation, ...]:
    """Return the annotations of a response's text that name a document or an address."""
    citations: list[Citation] = []
    offset = 0
    for part in _texts(response):
        for annotation in mappings(part.get("annotations")):
            if annotation.get("type") == "file_citation":
                start = end = number(annotation.get("index"))
            elif annotation.get("type") in ("container_file_citation", "url_citation"):
                start = number(annotation.get("start_index"))
                end = number(annotation.get("end_index"))
            else:
                continue
            citation = Citation(
                start=offset + start,
                end=offset + end,
                id=text(annotation.get("file_id")) or None,
                title=text(annotation.get("filename")) or text(annotation.get("title")) or None,
                url=text(annotation.get("url")) or None,
            )
            citations.append(citation)
        offset += len(part_text(part))
    return tuple(citations)


def answer_logprobs(response: Body) -> tuple[TokenLogprob, ...]:
    """Return the tokens of the text; none if they would not cover all of it."""
    tokens: list[TokenLogprob] = []
    for part in _texts(response):
        part_tokens = read_logprobs({"content": part.get("logprobs")})
        if part_text(part) and not part_tokens:
            return ()
        tokens += part_tokens
    return tuple(tokens)


def tool_calls(response: Body) -> tuple[ToolCall, ...]:
    """Return the tool calls that the application is to run."""
    calls: list[ToolCall] = []
    for index, item in enumerate(mappings(response.get("output"))):
        call = call_of(item, index)
        if call is not None:
            calls.append(call)
    return tuple(calls)


def hosted_calls(response: Body) -> tuple[Mapping[str, Any], ...]:
    """Return the tool calls that the provider ran itself, with their results."""
    calls: list[Mapping[str, Any]] = []
    for item in mappings(response.get("output")):
        kind = text(item.get("type"))
        if kind not in _CALL_ARGUMENTS and kind.endswith(("_call", "_call_output")):
            calls.append(item)
    return tuple(calls)


def call_of(item: Mapping[str, Any], index: int) -> ToolCall | None:
    """Return an item as a call; None if it is none."""
    arguments = _CALL_ARGUMENTS.get(text(item.get("type")))
    if arguments is None:
        return None
    return ToolCall(text(item.get("name")), text(item.get(arguments)), index)


def stopped_by(response: Body) -> str | None:
    """Return why a response ended: its status, or why it is incomplete."""
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    return reason or text(response.get("status")) or None


def usage_in(response: Body) -> Usage | None:
    """Return the usage that a response reports; None if it reports none."""
    usage = mapping(response.get("usage"))
    if not usage:
        return None
    prompt_tokens, completion_tokens = tokens_in(usage)
    return Usage(1, prompt_tokens, completion_tokens, cost_usd=None)


def text_part(text: str) -> dict[str, Any]:
    """Return a text part of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def message_item(item_id: str, status: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message as an item."""
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": parts,
    }


def local_id(response: Body, index: int) -> str:
    """Return an id for a message that the provider did not create.

    An application may send it back with the rest of the conversation. OpenAI refuses an id of its
    own without the reasoning before it, and any id that occurs twice.

    Args:
        response: The response that contains it.
        index: Its position among the items.
    """
    name = f"{response.get('id')} {index}".encode("utf-8", "surrogatepass")
    return f"msg_resay_{hashlib.sha256(name).hexdigest()[:32]}"


def empty_response() -> dict[str, Any]:
    """Return the beginning of a response of which nothing is known."""
    return {"id": "resp_0", "object": "response", "created_at": int(time.time()), "model": ""}


def replaced_response(
    response: Body, items: Sequence[Mapping[str, Any]], outcome: Outcome
) -> dict[str, Any]:
    """Return a response with other items and no words of its own.

    Args:
        response: The response, as far as it was received.
        items: The items it gets.
        outcome: The verdict, and whether the items are an answer.
    """
    fields = {name: response[name] for name in _WORDLESS_FIELDS if name in response}
    return {
        **empty_response(),
        **fields,
        "status": item_status(outcome),
        "error": None,
        "incomplete_details": incomplete_details(outcome),
        "output": [*items],
        **outcome.fields,
    }


def item_status(outcome: Outcome) -> str:
    """Return the status of a message that replaced another, and so of its response."""
    return "incomplete" if outcome.filtered else "completed"


def incomplete_details(outcome: Outcome) -> dict[str, Any] | None:
    """Return why a response whose answer was replaced is incomplete."""
    return {"reason": "content_filter"} if outcome.filtered else None


def marked_response(response: Body, marks: Sequence[Mark], start: int) -> dict[str, Any]:
    """Return a response with marks in its text.

    Args:
        response: The response.
        marks: The marks of the answer, in order.
        start: The offset of its text in the answer.
    """
    output: list[Any] = []
    for item in listed(response.get("output")):
        output.append(marked_item(mapping(item), marks, start) if mapping(item) else item)
        start += len(answer_text({"output": [item]}))
    marked = {**response, "output": output}
    # Some servers repeat the text here, as the SDK does.
    if text(response.get("output_text")):
        marked["output_text"] = answer_text(marked)
    return marked


def marked_item(item: Mapping[str, Any], marks: Sequence[Mark], start: int) -> Mapping[str, Any]:
    """Return an item with marks in its text, if it is a message; see `marked_response`."""
    if item.get("type") != "message":
        return item
    parts: list[Any] = []
    for part in _parts(item):
        fields = mapping(part)
        if is_text(fields):
            parts.append(marked_part(fields, marks, start))
            start += len(part_text(fields))
        else:
            parts.append(part)
    return {**item, "content": parts}


def marked_part(part: Mapping[str, Any], marks: Sequence[Mark], start: int) -> dict[str, Any]:
    """Return a part of a message with marks in its text; see `marked_response`."""
    words = part_text(part)
    marked = {**part, _TEXT_FIELDS[part["type"]]: with_marks(words, marks, start)}
    if listed(part.get("annotations")):
        own_marks = [
            Mark(mark.position - start, mark.text)
            for mark in marks
            if start < mark.position <= start + len(words)
        ]
        annotations = listed(part["annotations"])
        marked["annotations"] = [_shifted(annotation, own_marks) for annotation in annotations]
    return marked


def _shifted(annotation: Any, marks: Sequence[Mark]) -> Any:
    """Return the annotation of a part as that of the part with its marks."""
    fields = mapping(annotation)
    if fields.get("type") == "file_citation":
        index = number(fields.get("index"))
        return {**fields, "index": shifted_span((index, index), marks)[1]}
    if not fields.keys() >= {"start_index", "end_index"}:
        return annotation
    span = number(fields["start_index"]), number(fields["end_index"])
    start, end = shifted_span(span, marks)
    return {**fields, "start_index": start, "end_index": end}


def response_without_logprobs(response: Body) -> dict[str, Any]:
    """Return a response without log-probabilities, as if none had been requested."""
    stripped = dict(response)
    if listed(response.get("output")):
        stripped["output"] = [_stripped(item) for item in listed(response["output"])]
    if response.get("top_logprobs"):
        stripped["top_logprobs"] = 0
    return stripped


def item_without_logprobs(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item, or a part, without log-probabilities."""
    stripped = dict(item)
    if item.get("logprobs"):
        stripped["logprobs"] = list[Any]()
    if listed(item.get("content")):
        stripped["content"] = [_stripped(part) for part in listed(item["content"])]
    return stripped


def _stripped(item: Any) -> Any:
    return item_without_logprobs(mapping(item)) if mapping(item) else item
