"""Conversion of LangChain's outputs for the guard, and outputs with their verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from resay import Answer, TokenLogprob, Usage
from resay.adapters import last_reported, read_logprobs
from resay.adapters.apis import named
from resay.adapters.verdicts import VERDICT_KEY, answer_data
from resay.plugins import Chunk, Completion, ToolCall

# Metadata about the origin of an answer. All other keys may hold its text, as `logprobs` does.
_ORIGIN = ("created_at", "id", "model", "model_name", "model_provider", "system_fingerprint")

# Blocks whose text is part of the answer, or is known not to be.
_READ = frozenset({"reasoning", "reasoning_content", "refusal", "text", "thinking"})

# The keys for the reason why an answer ended, and the value for an answer that ended naturally.
_ENDS = {
    "done_reason": "stop",
    "finish_reason": "stop",
    "stopReason": "end_turn",
    "stop_reason": "end_turn",
}


def text_of(output: object) -> str:
    """Return the text of a message or a plain text, and an empty text for anything else.

    A refusal is an answer too. Reasoning, images and other content without text are left out.
    """
    if isinstance(output, BaseMessage):
        return str(output.text) + _refusal_in(output)
    return output if isinstance(output, str) else ""


def _refusal_in(message: BaseMessage) -> str:
    """Return a refusal that is not in the text: OpenAI's chat models keep it elsewhere."""
    parts = cast("list[object]", message.content) if isinstance(message.content, list) else []
    refusals: list[str] = []
    for part in parts:
        refusal = cast("dict[str, Any]", part).get("refusal") if isinstance(part, dict) else None
        if isinstance(refusal, str):
            refusals.append(refusal)
    beside = message.additional_kwargs.get("refusal")
    if isinstance(beside, str) and not refusals:
        refusals.append(beside)
    return "".join(refusals)


def completion_of(output: object) -> Completion:
    """Return an output as a `Completion`, with the output itself in `raw`."""
    return Completion(
        text_of(output),
        finish_reason_in(output),
        logprobs=_logprobs(output),
        raw=output,
        calls=_calls(output),
        unread=_unread(output),
    )


def finish_reason_in(output: object) -> str | None:
    """Return why the model stopped, wherever its class of chat model says so."""
    metadata = output.response_metadata if isinstance(output, BaseMessage) else {}
    details: object = metadata.get("incomplete_details")
    if isinstance(details, dict):
        metadata = {**metadata, "reason": cast("dict[str, Any]", details).get("reason")}
    for name in ("reason", *_FINISH_REASONS):
        reason = metadata.get(name)
        if isinstance(reason, str) and reason:
            return reason
    return None


# As OpenAI's, Anthropic's, Ollama's and Bedrock's classes of chat models call them.
_FINISH_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason")


def _unread(output: object) -> str | None:
    """Return the type of a content block with text that is not read, or None if there is none."""
    content: object = output.content if isinstance(output, BaseMessage) else None
    parts = cast("list[object]", content) if isinstance(content, list) else []
    blocks = [cast("dict[str, Any]", part) for part in parts if isinstance(part, dict)]
    unread = (b.get("type") for b in blocks if b.get("text") and b.get("type") not in _READ)
    return next(map(named, unread), None)


def _logprobs(output: object) -> tuple[TokenLogprob, ...]:
    # OpenAI's and compatible chat models put the provider's data here.
    return read_logprobs(getattr(output, "response_metadata", {}).get("logprobs"))


def _calls(output: object) -> tuple[ToolCall, ...]:
    if not isinstance(output, AIMessage):
        return ()
    valid = [ToolCall(call["name"], json.dumps(call["args"])) for call in output.tool_calls]
    # Invalid arguments still make a tool call, which the application may repair.
    broken = [ToolCall(c["name"] or "", c["args"] or "") for c in output.invalid_tool_calls]
    calls = [*valid, *broken]
    return tuple(replace(call, index=index) for index, call in enumerate(calls))


def chunk_of(message: Any) -> Chunk:
    """Return a piece of a message as a `Chunk`, with the piece itself in `raw`."""
    if isinstance(message, AIMessageChunk):
        calls = tuple(
            ToolCall(
                name=piece["name"] or "",
                arguments=piece["args"] or "",
                index=piece["index"] or 0,
                id=piece["id"] or "",
            )
            for piece in message.tool_call_chunks
        )
    else:
        # A model that does not stream returns the whole message at once.
        calls = _calls(message)
    return Chunk(
        text_of(message),
        finish_reason_in(message),
        logprobs=_logprobs(message),
        raw=message,
        calls=calls,
        unread=_unread(message),
    )


def usage_of(messages: Iterable[object]) -> Usage:
    """Return the token usage of messages of separate calls; its cost in dollars is unknown."""
    return sum(_reports(messages), Usage(calls=1, cost_usd=None))


def shared_usage_of(messages: Iterable[object]) -> Usage:
    """Return the token usage of one call with several answers, each of which reports all of it."""
    return Usage(calls=1, cost_usd=None).updated(last_reported(_reports(messages)) or Usage())


def stream_usage_of(pieces: Iterable[object]) -> Usage:
    """Return the token usage of one message's pieces; its cost in dollars is unknown.

    LangChain adds up what the pieces report, and most models share it out among them. A model that
    passes on a server's reports as they are repeats what came before: then each piece reports the
    prompt again.
    """
    reports = _reports(pieces)
    repeats = sum(report.prompt_tokens > 0 for report in reports) > 1
    usage = last_reported(reports) if repeats else sum(reports, Usage())
    return Usage(calls=1, cost_usd=None).updated(usage or Usage())


def _reports(messages: Iterable[object]) -> list[Usage]:
    reports: list[Usage] = []
    for message in messages:
        report = message.usage_metadata if isinstance(message, AIMessage) else None
        if report:
            reports.append(
                Usage(
                    calls=0,
                    prompt_tokens=report["input_tokens"],
                    completion_tokens=report["output_tokens"],
                    cost_usd=None,
                )
            )
    return reports


def outcome_of(answer: Answer) -> tuple[Any, dict[str, Any]]:
    """Return the output of a guarded runnable.

    Args:
        answer: The guard's answer, whose completion holds the original output in `raw`.

    Returns:
        The output, which is a copy with the verdict if it is a message, and the verdict.
    """
    output = answer.completion.raw if answer.completion else answer.response
    verdict = answer.verdict
    if not isinstance(output, (BaseMessage, str)):
        kind = type(output).__name__
        verdict = replace(verdict, reason=f"the output is of type {kind!r}, not text")
    data = answer_data(replace(answer, verdict=verdict))
    replaced = answer.blocked or answer.regenerated
    if not isinstance(output, BaseMessage):
        return answer.text if replaced or answer.marks else output, data
    if replaced:
        return in_place_of(output, answer.text, data, complete=answer.regenerated), data
    metadata = {**output.response_metadata, VERDICT_KEY: data}
    update = {"response_metadata": metadata, **_marked_content(output, answer)}
    return output.model_copy(update=update), data


def _marked_content(message: BaseMessage, answer: Answer) -> dict[str, Any]:
    """Return the fields of a message that change with the marks in its text."""
    if not answer.marks:
        return {}
    content = cast("str | list[Any]", message.content)
    if isinstance(content, str):
        return {"content": answer.with_marks(content)}
    blocks: list[Any] = []
    start = 0
    for block in content:
        words = text_of(message.model_copy(update={"content": [block], "additional_kwargs": {}}))
        if isinstance(block, str):
            block = answer.with_marks(block, start)
        elif words and isinstance(block.get("text"), str):
            block = {**block, "text": answer.with_marks(block["text"], start)}
        blocks.append(block)
        start += len(words)
    return {"content": blocks}


def in_place_of(
    output: BaseMessage, text: str, data: dict[str, Any], *, complete: bool = False
) -> AIMessage:
    """Return a message that replaces another, without any of its text.

    Args:
        output: The withheld or regenerated message.
        text: The replacement text.
        data: The verdict.
        complete: Whether the text is itself a complete answer, and ends like one.
    """
    # A new message, because the old text may be anywhere in the original: in content blocks,
    # thoughts, tool calls, logprobs or `additional_kwargs`.
    metadata = output.response_metadata
    origin = {k: v for k, v in metadata.items() if k in _ORIGIN}
    if complete:
        origin |= {k: _ended(metadata[k], end) for k, end in _ENDS.items() if k in metadata}
    return AIMessage(
        text,
        id=output.id,
        name=output.name,
        usage_metadata=output.usage_metadata if isinstance(output, AIMessage) else None,
        response_metadata={**origin, VERDICT_KEY: data},
    )


def _ended(reason: object, end: str) -> str:
    # Some providers use upper case.
    return reason if isinstance(reason, str) and reason.lower() == end else end


def without_text(content: str | Sequence[str | dict[str, Any]]) -> str | list[str | dict[str, Any]]:
    """Return content without its text: its thoughts, tool calls and images."""
    if isinstance(content, str):
        return ""
    return [block for block in content if isinstance(block, dict) and block.get("type") != "text"]
