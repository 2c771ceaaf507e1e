"""OpenAI's Responses API: requests as chat completions, and the shapes of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from pydantic import Field

from resay.testing.chat import MODEL, ChatRequest, InvalidRequestError
from simulation.chat import ChatBody, Choice, Completion, Token, ToolCall, sse

__all__ = ["ResponsesAnswer", "ResponsesBody"]

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_LOGPROBS = "message.output_text.logprobs"
_ECHOED = ("instructions", "max_output_tokens", "metadata", "temperature", "top_p")


class ResponsesBody(ChatRequest):
    """The body of a request to the Responses API."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    model: str = MODEL
    input: str | list[dict[str, Any]]
    instructions: str | None = None
    max_output_tokens: int | None = None
    include: list[str] | None = None
    top_logprobs: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    top_p: float | None = None

    @property
    def chat(self) -> ChatBody:
        """The chat completion request for the same.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        functions = [tool for tool in self.tools or () if tool["type"] == "function"]
        choice = self.tool_choice
        if isinstance(choice, dict):
            choice = cast("dict[str, Any]", choice)
            if choice["type"] == "allowed_tools":
                allowed = [tool.get("name") for tool in choice["tools"]]
                functions = [function for function in functions if function["name"] in allowed]
                choice = choice["mode"]
            elif choice["type"] == "function":
                choice = {"type": "function", "function": {"name": choice["name"]}}
            else:  # A tool that the provider runs itself.
                choice = "none"
        form = (self.text or {}).get("format")
        schema = form and form["type"] == "json_schema" and {"json_schema": form}
        body = self.model_dump(include={"model", "stream", "temperature", "seed", "top_logprobs"})
        return ChatBody.parse(
            {
                **body,
                "messages": self._messages(),
                "logprobs": _LOGPROBS in (self.include or ()),
                "max_completion_tokens": self.max_output_tokens,
                "tools": [{"type": "function", "function": function} for function in functions],
                "tool_choice": choice,
                "parallel_tool_calls": self.parallel_tool_calls,
                "response_format": form and {"type": form["type"], **(schema or {})},
            }
        )

    def _messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if self.instructions is not None:
            messages.append({"role": "system", "content": self.instructions})
        items = self.input
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not items:
            raise InvalidRequestError("Missing required parameter: 'input'.", "input")
        for item in items:
            _add(messages, item)
        return messages


def _add(messages: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    """Add the message of an item; calls beside each other are one message."""
    kind = item.get("type", "message")
    if kind == "message":
        if "role" not in item:
            raise InvalidRequestError("Missing required parameter: 'input.role'.", "input")
        messages.append({"role": item["role"], "content": item.get("content")})
    elif kind in _CALLS:
        function = {"name": item["name"], "arguments": item[_CALLS[kind]]}
        call = {"id": item["call_id"], "type": "function", "function": function}
        if not messages or "tool_calls" not in messages[-1]:
            messages.append({"role": "assistant", "content": None, "tool_calls": []})
        messages[-1]["tool_calls"].append(call)
    elif kind in _RESULTS:
        call_id, content = item["call_id"], item["output"]
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """The answer to a request to the Responses API: a completion with one choice."""

    request: ResponsesBody
    completion: Completion
    reports_usage = True

    @property
    def usage(self) -> Mapping[str, int]:
        """Token counts of the request and the answer."""
        return self.completion.usage

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        return self._response(self._status, [item for item, _ in self._items()])

    def events(self) -> Iterator[str]:
        """Return the answer as a stream of server-sent events."""
        numbers = count()
        for event in self._events():
            yield sse({**event, "sequence_number": next(numbers)})

    def _events(self) -> Iterator[dict[str, Any]]:
        begun = self._response("in_progress", [])
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for index, (item, call) in enumerate(self._items()):
            position = {"output_index": index, "item_id": item["id"]}
            empty: dict[str, Any] = {"content": []} if call is None else {"arguments": ""}
            added = {**item, **empty, "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": added}
            yield from self._text(position, item) if call is None else _call(position, call)
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{self._status}", "response": self.body()}

    def _text(self, position: Mapping[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        position = {**position, "content_index": 0}
        yield {"type": "response.content_part.added", **position, "part": _text_part("", [])}
        for token in self._choice.tokens:
            delta = {"delta": token, "logprobs": self._logprobs((token,))}
            yield {"type": "response.output_text.delta", **position, **delta}
        (part,) = item["content"]
        text = {"text": part["text"], "logprobs": part["logprobs"]}
        yield {"type": "response.output_text.done", **position, **text}
        yield {"type": "response.content_part.done", **position, "part": part}

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _status(self) -> str:
        return "incomplete" if self._choice.finish_reason == "length" else "completed"

    def _items(self) -> Sequence[tuple[dict[str, Any], ToolCall | None]]:
        """Return the output, each item with its call if it is one."""
        number, calls = self.completion.number, self._choice.tool_calls
        if not calls:
            text = "".join(self._choice.tokens)
            part = _text_part(text, self._logprobs(self._choice.tokens))
            message = {"role": "assistant", "content": [part], "status": self._status}
            return [({"id": f"msg_{number}", "type": "message", **message}, None)]
        items = [(_item(call), call) for call in calls]
        # Only the last call can be cut.
        items[-1][0]["status"] = self._status
        return items

    def _logprobs(self, tokens: Sequence[Token]) -> list[dict[str, Any]]:
        return self.completion.logprobs(tokens) or []

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        request, usage = self.request, self.usage
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        reported = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(usage.values()),
        }
        return {
            "id": f"resp_{self.completion.number}",
            "object": "response",
            "created_at": self.completion.created,
            "status": status,
            "error": None,
            "incomplete_details": cut,
            "model": request.model,
            "output": output,
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "store": request.store is not False,
            "text": {"format": {"type": "text"}, **(request.text or {})},
            "tool_choice": request.tool_choice or "auto",
            "tools": request.tools or [],
            "usage": None if status == "in_progress" else reported,
            **{name: getattr(request, name) for name in _ECHOED},
        }


def _text_part(text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def _item(call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id.removeprefix('call_')}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _call(position: Mapping[str, Any], call: ToolCall) -> Iterator[dict[str, Any]]:
    kind = "response.function_call_arguments"
    for token in call.tokens:
        yield {"type": f"{kind}.delta", **position, "delta": token}
    yield {"type": f"{kind}.done", **position, "name": call.name, "arguments": call.arguments}
