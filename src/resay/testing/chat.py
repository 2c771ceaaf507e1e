"""OpenAI's chat completions API: what is asked, and the shapes of the answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MODEL = "simulated"
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")


class InvalidRequestError(Exception):
    """A request body that the API would refuse; `param` is what it refuses of it."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class _StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body of a chat completion request, as far as it is looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: list[dict[str, Any]] = Field(min_length=1)
    model: str = MODEL
    n: int | None = Field(None, ge=1, le=128)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)

    @classmethod
    def parse(cls, body: object) -> ChatRequest:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("We could not parse the JSON body of your request.")
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            param = ".".join(map(str, problem["loc"]))
            raise InvalidRequestError(f"Invalid {param!r}: {problem['msg']}.", param) from None

    @property
    def said_by_user(self) -> list[str]:
        """The text of all messages of the user, oldest first."""
        return [_text_of(m) for m in self.messages if m.get("role") == "user"]

    @property
    def told(self) -> str:
        """What the model is given to read, beyond one-line requests and its own messages."""
        texts = [(m.get("role"), _text_of(m)) for m in self.messages]
        given = [(role, text) for role, text in texts if role != "assistant"]
        return "\n".join(t for role, t in given if role != "user" or "\n" in t.strip())

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the messages have."""
        return sum(len(_TOKEN.findall(_text_of(message))) for message in self.messages)


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (
        cast("dict[str, object]", p) for p in cast("list[object]", content) if isinstance(p, dict)
    )
    texts = [part.get("text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to a request, which ends with its text (`stop`) or before (`length`)."""

    tokens: Sequence[str] = ()
    finish_reason: str = "stop"

    @classmethod
    def of(cls, text: str, most_tokens: int | None) -> Choice:
        """Return the choice that says a text, or the begin of it."""
        tokens = _TOKEN.findall(text)
        if most_tokens is None or len(tokens) <= most_tokens:
            return cls(tokens)
        return cls(tokens[:most_tokens], "length")


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to a chat completion request; its number tells those of one provider apart."""

    request: ChatRequest
    choices: Sequence[Choice]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def reports_usage(self) -> bool:
        """Whether the client gets the usage."""
        options = self.request.stream_options
        return not self.request.stream or bool(options and options.include_usage)

    @property
    def usage(self) -> dict[str, int]:
        """What the request and the answers cost, in tokens."""
        read, written = self.request.prompt_tokens, sum(len(c.tokens) for c in self.choices)
        return {"prompt_tokens": read, "completion_tokens": written}

    @property
    def _said_usage(self) -> dict[str, int]:
        return {**self.usage, "total_tokens": sum(self.usage.values())}

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, choice in enumerate(self.choices):
            said = {"role": "assistant", "content": "".join(choice.tokens)}
            choices.append({"index": index, "message": said, "finish_reason": choice.finish_reason})
        return self._envelope("chat.completion", choices, usage=self._said_usage)

    def events(self) -> Iterator[str]:
        """Return the answer as a stream."""
        yield from (json.dumps(chunk) for chunk in self._chunks())
        yield "[DONE]"

    def _chunks(self) -> Iterator[dict[str, Any]]:
        kind = "chat.completion.chunk"
        for index, choice in enumerate(self.choices):
            deltas = [{"content": token} for token in choice.tokens]
            for delta in [{"role": "assistant", "content": ""}, *deltas]:
                yield self._envelope(kind, [{"index": index, "delta": delta}])
            end = {"index": index, "finish_reason": choice.finish_reason}
            yield self._envelope(kind, [{**end, "delta": {"content": ""}}])
        if self.reports_usage:
            yield self._envelope(kind, [], usage=self._said_usage)

    def _envelope(self, kind: str, choices: list[dict[str, Any]], **more: object) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": self.created,
            "model": self.request.model,
            "choices": choices,
            **more,
        }
