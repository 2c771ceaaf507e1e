"""The shapes of OpenAI's Responses API, as its SDKs read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from simulation.conversations import Conversations
from simulation.events import Event
from simulation.responses_body import ResponsesBody

if TYPE_CHECKING:
    from simulation.chat_body import ChatBody
    from simulation.tokens import Token
    from simulation.wire import Choice, Completion, ToolCall

__all__ = ["ResponsesAnswer", "ResponsesRequest"]

Piece = dict[str, Any]
_FUNCTION: Mapping[str, Any] = {"description": None, "parameters": None, "strict": True}


@dataclass(frozen=True, slots=True)
class ResponsesRequest:
    """A request to the Responses API, with the conversation it goes on with.

    Attributes:
        body: What was asked.
        chat: The chat completion request that asks for the same.
    """

    body: ResponsesBody
    chat: ChatBody
    _conversations: Conversations

    @classmethod
    def parse(cls, body: object, conversations: Conversations) -> ResponsesRequest:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = ResponsesBody.parse(body)
        return cls(request, request.chat(conversations.before(request)), conversations)

    def answer(self, completion: Completion) -> ResponsesAnswer:
        """Put the answer in the words of this API; what may be gone on from is remembered."""
        answer = ResponsesAnswer(self.body, completion)
        self._conversations.keep(self.body, answer.body())
        return answer


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """The answer to a request to the Responses API.

    Attributes:
        request: What was asked.
        completion: What is answered, with one choice.
    """

    request: ResponsesBody
    completion: Completion

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost; it always does."""
        return True

    def body(self) -> Piece:
        """Return the whole answer."""
        return self._response(self._status, [item for item, _ in self._items()])

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        numbers = count()
        for event in self._pieces():
            paced = event["type"].endswith(".delta")
            yield Event.named({**event, "sequence_number": next(numbers)}, paced=paced)

    def _pieces(self) -> Iterator[Piece]:
        begun = self._response("in_progress", [])
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for index, (item, call) in enumerate(self._items()):
            place = {"output_index": index, "item_id": item["id"]}
            empty: Piece = {"content": []} if call is None else {"arguments": ""}
            added: Piece = {**item, **empty, "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": added}
            yield from self._text(place, item) if call is None else _call(place, call)
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{self._status}", "response": self.body()}

    def _text(self, place: Piece, item: Piece) -> Iterator[Piece]:
        place = {**place, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": _part("", [])}
        for token in self._choice.tokens:
            said = {"delta": token.text, "logprobs": self._logprobs((token,))}
            yield {"type": "response.output_text.delta", **place, **said}
        (part,) = item["content"]
        said = {"text": part["text"], "logprobs": part["logprobs"]}
        yield {"type": "response.output_text.done", **place, **said}
        yield {"type": "response.content_part.done", **place, "part": part}

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _status(self) -> str:
        return "incomplete" if self._choice.finish_reason == "length" else "completed"

    def _items(self) -> Sequence[tuple[Piece, ToolCall | None]]:
        """Return the output, each item with the call that it is."""
        number, calls = self.completion.number, self._choice.tool_calls
        if not calls:
            part = _part(self._choice.text, self._logprobs(self._choice.tokens))
            said = {"role": "assistant", "content": [part], "status": self._status}
            return [({"id": f"msg_{number}", "type": "message", **said}, None)]
        items = [(_called(call), call) for call in calls]
        # Only the last call can be cut.
        items[-1][0]["status"] = self._status
        return items

    def _logprobs(self, tokens: Sequence[Token]) -> list[Piece]:
        return self.completion.logprobs(tokens) or []

    @property
    def _usage(self) -> Piece:
        used = self.completion.usage
        return {
            "input_tokens": used["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": used["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used["total_tokens"],
        }

    def _response(self, status: str, output: list[Piece]) -> Piece:
        asked, created = self.request, self.completion.created
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        conversation = {"id": asked.conversation} if asked.conversation else None
        return {
            "id": f"resp_{self.completion.number}",
            "object": "response",
            "created_at": created,
            "completed_at": created if status == "completed" else None,
            "status": status,
            "error": None,
            "incomplete_details": cut,
            "background": bool(asked.background),
            "conversation": conversation,
            "instructions": asked.instructions,
            "max_output_tokens": asked.max_output_tokens,
            "max_tool_calls": asked.max_tool_calls,
            "metadata": asked.metadata or {},
            "model": asked.model,
            "output": output,
            "parallel_tool_calls": asked.parallel_tool_calls is not False,
            "previous_response_id": asked.previous_response_id,
            "prompt_cache_key": asked.prompt_cache_key,
            "reasoning": asked.reasoning or {"effort": None, "summary": None},
            "safety_identifier": asked.safety_identifier,
            "service_tier": "default",
            "store": asked.store is not False,
            "temperature": 1.0 if asked.temperature is None else asked.temperature,
            "text": asked.text_options,
            "tool_choice": asked.tool_choice or "auto",
            "tools": [_echoed(tool) for tool in asked.tools or ()],
            "top_logprobs": asked.top_logprobs or 0,
            "top_p": 1.0 if asked.top_p is None else asked.top_p,
            "truncation": asked.truncation or "disabled",
            "usage": None if status == "in_progress" else self._usage,
            "user": asked.user,
        }


def _part(text: str, logprobs: list[Piece]) -> Piece:
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def _called(call: ToolCall) -> Piece:
    said = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    item_id = f"fc_{call.id.removeprefix('call_')}"
    return {"id": item_id, "type": "function_call", "status": "completed", **said}


def _call(place: Piece, call: ToolCall) -> Iterator[Piece]:
    kind = "response.function_call_arguments"
    yield from ({"type": f"{kind}.delta", **place, "delta": t.text} for t in call.tokens)
    yield {"type": f"{kind}.done", **place, "name": call.name, "arguments": call.arguments}


def _echoed(tool: Piece) -> Piece:
    return {**_FUNCTION, **tool} if tool["type"] == "function" else tool
