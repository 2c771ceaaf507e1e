"""The shapes of OpenAI's chat completions API, as its SDKs read them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simulation.chat_request import MODEL, ChatBody, Token

__all__ = ["Choice", "Completion", "Event", "ToolCall", "error_body", "models_body"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    Attributes:
        data: What it says.
        name: Its type; None where the API names none.
        paced: Whether it takes its share of the time that the answer takes; what only frames the
            answer follows at once.
    """

    data: str
    name: str | None = None
    paced: bool = True

    @classmethod
    def named(cls, data: Mapping[str, Any], *, paced: bool = False) -> Event:
        """Return the event for a JSON object that says its type itself."""
        return cls(json.dumps(data), data["type"], paced)

    def halved(self) -> Event:
        """Return the event with half of its data."""
        return replace(self, data=self.data[: len(self.data) // 2])

    def encoded(self) -> bytes:
        """Return the event as it is sent."""
        head = "" if self.name is None else f"event: {self.name}\n"
        return f"{head}data: {self.data}\n\n".encode()


_THREE_BYTES = "\uffff"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function.

    Attributes:
        id: Tells the calls of a conversation apart.
        name: The function.
        tokens: The JSON text of its arguments.
    """

    id: str
    name: str
    tokens: tuple[Token, ...]

    @property
    def arguments(self) -> str:
        """The JSON text of its arguments."""
        return "".join(token.text for token in self.tokens)

    def as_json(self) -> dict[str, Any]:
        """Return the whole call."""
        return self._head(self.arguments)

    def fragments(self) -> Iterator[dict[str, Any]]:
        """Return the call in the pieces of a stream; only the first says what is called."""
        first, *others = [token.text for token in self.tokens] or [""]
        yield self._head(first)
        yield from ({"function": {"arguments": text}} for text in others)

    def _head(self, arguments: str) -> dict[str, Any]:
        function = {"name": self.name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to a request.

    Attributes:
        tokens: What it says.
        finish_reason: Why it ends: `stop`, `length` or `tool_calls`.
        tool_calls: The tools it calls.
        stop: Which of the request's texts it ends before; None where it ends by itself.
    """

    tokens: tuple[Token, ...] = ()
    finish_reason: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    stop: str | None = None

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(token.text for token in self.tokens)

    @property
    def size(self) -> int:
        """How many tokens it has."""
        said = [*self.tokens, *(token for call in self.tool_calls for token in call.tokens)]
        text = "".join(token.text for token in said)
        # A character of four bytes is cut in two, see `Token.pieces`.
        cut = 0 if text.isascii() else sum(character > _THREE_BYTES for character in text)
        return len(said) + cut


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to a chat completion request.

    Attributes:
        request: What was asked.
        choices: The answers.
        number: Tells completions of one provider apart.
        created: When it was made, in seconds since 1970.
        usage: What the request and the answers cost, in tokens. Nothing is cached or thought.
    """

    request: ChatBody
    choices: Sequence[Choice]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))
    # Looked at several times for one answer, and what takes long of a short one.
    usage: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "usage", self._counted())

    def _counted(self) -> Mapping[str, Any]:
        prompt, completion = self.request.prompt_tokens, sum(c.size for c in self.choices)
        audio = self.request.audio_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": audio},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    @property
    def reports_usage(self) -> bool:
        """Whether the client is told the usage."""
        options = self.request.stream_options
        return not self.request.stream or (options is not None and options.include_usage)

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, choice in enumerate(self.choices):
            said = choice.text
            message: dict[str, Any] = {"role": "assistant", "content": said, "refusal": None}
            if choice.tool_calls:
                calls = [call.as_json() for call in choice.tool_calls]
                message |= {"content": None, "tool_calls": calls}
            logprobs = self._logprobs(choice.tokens)
            choices.append(self._choice(index, choice.finish_reason, logprobs, message=message))
        return self._envelope("chat.completion", choices, usage=self.usage)

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        yield from (Event(json.dumps(chunk)) for chunk in self._chunks())
        yield Event("[DONE]")

    def logprobs(self, tokens: Sequence[Token]) -> list[dict[str, Any]] | None:
        """Return how probable tokens are; None where nobody asked for that."""
        if not self.request.logprobs:
            return None
        top = self.request.top_logprobs or 0
        return [piece for token in tokens for piece in token.as_json(top)]

    def _chunks(self) -> Iterator[dict[str, Any]]:
        for index, choice in enumerate(self.choices):
            yield self._chunk(index, {"role": "assistant", "content": "", "refusal": None})
            for token in choice.tokens:
                yield self._chunk(index, {"content": token.text}, self._logprobs((token,)))
            for position, call in enumerate(choice.tool_calls):
                for piece in call.fragments():
                    yield self._chunk(index, {"tool_calls": [{"index": position, **piece}]})
            yield self._chunk(index, {}, finish_reason=choice.finish_reason)
        if self.reports_usage:
            yield self._envelope("chat.completion.chunk", [], usage=self.usage)

    def _chunk(
        self,
        index: int,
        delta: dict[str, Any],
        logprobs: dict[str, Any] | None = None,
        finish_reason: str | None = None,
    ) -> dict[str, Any]:
        choice = self._choice(index, finish_reason, logprobs, delta=delta)
        usage: dict[str, Any] = {"usage": None} if self.reports_usage else {}
        return self._envelope("chat.completion.chunk", [choice], **usage)

    def _choice(
        self, index: int, reason: str | None, logprobs: dict[str, Any] | None, **said: object
    ) -> dict[str, Any]:
        return {"index": index, **said, "logprobs": logprobs, "finish_reason": reason}

    def _logprobs(self, tokens: Sequence[Token]) -> dict[str, Any] | None:
        listed = self.logprobs(tokens)
        return None if listed is None else {"content": listed, "refusal": None}

    def _envelope(self, kind: str, choices: list[dict[str, Any]], **more: object) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": self.created,
            "model": self.request.model,
            "system_fingerprint": "fp_simulated",
            "choices": choices,
            **more,
        }


_KINDS = {
    429: ("requests", "rate_limit_exceeded"),
    401: ("invalid_request_error", "invalid_api_key"),
}


def error_body(
    status: int, message: str, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """Return an error as OpenAI's API words it."""
    usual = "server_error" if status >= 500 else "invalid_request_error"
    kind, usual_code = _KINDS.get(status, (usual, None))
    error = {"message": message, "type": kind, "param": param, "code": code or usual_code}
    return {"error": error}


def models_body() -> dict[str, Any]:
    """Return the list of models."""
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "resay"}
    return {"object": "list", "data": [model]}
