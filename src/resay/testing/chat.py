"""Chat completion requests and responses of the simulated provider."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resay._internal.patterns import lazy_pattern

MODEL = "simulated"
R = TypeVar("R", bound="ChatRequest")
_TOKEN = lazy_pattern(r"\s*(?:\w+|[^\w\s]+)|\s+")


def tokenize(text: str) -> list[str]:
    """Split a text into words and runs of punctuation, each with the white space before it."""
    return _TOKEN.findall(text)


class InvalidRequestError(Exception):
    """A request body that the API would refuse; `param` is the refused parameter."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class _StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The supported part of a chat completion request's body."""

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
    def parse(cls: type[R], body: object) -> R:
        """Validate a decoded JSON body.

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
    def user_texts(self) -> list[str]:
        """The texts of all user messages, oldest first."""
        return [text_of(message) for message in self.messages if message.get("role") == "user"]

    @property
    def features(self) -> Sequence[str]:
        """The features it uses, for faults that strike only those; see `Fault.matches`."""
        return ()

    @property
    def context(self) -> str:
        """The text given to the model, apart from one-line requests and its own messages."""
        texts: list[str] = []
        for message in self.messages:
            role, text = message.get("role"), text_of(message)
            if role == "assistant" or (role == "user" and "\n" not in text.strip()):
                continue
            texts.append(text)
        return "\n".join(texts)

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens in the messages."""
        return sum(len(tokenize(text_of(message))) for message in self.messages)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts: list[str] = []
    for part in cast("list[object]", content):
        text = cast("dict[str, object]", part).get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to a request; its reason is `stop`, or `length` if it was cut off."""

    tokens: Sequence[str] = ()
    finish_reason: str = "stop"

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    @classmethod
    def of(cls, text: str, max_tokens: int | None) -> Choice:
        """Return a choice with a text, truncated to the maximum number of tokens."""
        tokens = tokenize(text)
        if max_tokens is None or len(tokens) <= max_tokens:
            return cls(tokens)
        return cls(tokens[:max_tokens], "length")


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The answer to a chat completion request; `number` is unique within one provider."""

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
        """Token counts of the request and the answers."""
        completion_tokens = sum(choice.size for choice in self.choices)
        return {
            "prompt_tokens": self.request.prompt_tokens,
            "completion_tokens": completion_tokens,
        }

    @property
    def _usage_with_total(self) -> dict[str, Any]:
        return {**self.usage, "total_tokens": sum(self.usage.values())}

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, choice in enumerate(self.choices):
            message = {"role": "assistant", **self._message(choice)}
            reason = choice.finish_reason
            choices.append(
                {"index": index, "message": message, "finish_reason": reason}
                | self._details(choice.tokens)
            )
        return self._envelope("chat.completion", choices, usage=self._usage_with_total)

    def events(self) -> Iterator[str]:
        """Return the answer as a stream of server-sent events."""
        for chunk in self._chunks():
            yield f"data: {json.dumps(chunk)}"
        yield "data: [DONE]"

    def _message(self, choice: Choice) -> dict[str, Any]:
        return {"content": "".join(choice.tokens)}

    def _deltas(self, choice: Choice) -> Iterator[tuple[dict[str, Any], Sequence[str]]]:
        """Yield the changes that make up a message, each with its tokens."""
        for token in choice.tokens:
            yield {"content": token}, (token,)

    def _details(self, tokens: Sequence[str]) -> dict[str, Any]:
        """Return what a choice says about its tokens."""
        del tokens
        return {}

    def _chunks(self) -> Iterator[dict[str, Any]]:
        kind = "chat.completion.chunk"
        for index, choice in enumerate(self.choices):
            begin, end = {"role": "assistant", "content": ""}, {"content": ""}
            for delta, tokens in [(begin, ()), *self._deltas(choice)]:
                details = self._details(tokens) if tokens else {}
                part = {"index": index, "delta": delta, "finish_reason": None, **details}
                yield self._envelope(kind, [part])
            last = {"index": index, "delta": end, "finish_reason": choice.finish_reason}
            yield self._envelope(kind, [last])
        if self.reports_usage:
            yield self._envelope(kind, [], usage=self._usage_with_total)

    def _envelope(
        self, kind: str, choices: list[dict[str, Any]], **fields: object
    ) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": self.created,
            "model": self.request.model,
            "choices": choices,
            **fields,
        }
