"""The shapes of OpenAI's chat completions API, as its SDKs send and read them."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    import random

__all__ = [
    "Body",
    "ChatBody",
    "Choice",
    "Completion",
    "InvalidRequestError",
    "Token",
    "call_tool",
    "error_body",
    "models_body",
    "probable",
    "speak",
    "text_of",
    "tokenize",
]

MODEL = "simulated"
BodyT = TypeVar("BodyT", bound="Body")
_FOUR_BYTES = 0xF0
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")
_OTHERS = tuple(
    f" {word}"
    for word in (
        *("the", "a", "of", "in", "and", "to", "was", "is", "by", "for", "on"),
        *("it", "at", "as", "an", "with", "from", "that", "its", "one", "or"),
    )
)


class InvalidRequestError(Exception):
    """A request body that OpenAI's API would refuse."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class Body(BaseModel):
    """The body of a request, as far as the simulated provider looks at it."""

    # A provider takes parameters that this one has no use for.
    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def parse(cls: type[BodyT], body: object) -> BodyT:
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


class _StreamOptions(Body):
    include_usage: bool = False


class _Function(Body):
    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class _Tool(Body):
    function: _Function | None = None


class ChatBody(Body):
    """The body of a chat completion request."""

    messages: list[dict[str, Any]] = Field(min_length=1)
    model: str = MODEL
    n: int | None = Field(None, ge=1, le=128)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    tools: list[_Tool] | None = None
    tool_choice: Any = None

    @property
    def prompt(self) -> str:
        """The text of the user's last message."""
        return next(reversed(self.said_by_user), "")

    @property
    def said_by_user(self) -> list[str]:
        """The text of all messages of the user, oldest first."""
        return [text_of(message) for message in self.messages if message.get("role") == "user"]

    @property
    def told(self) -> str:
        """What the model is given to read, beyond one-line requests and its own messages."""
        given = [m for m in self.messages if m.get("role") != "assistant"]
        texts = [(m.get("role"), text_of(m)) for m in given]
        return "\n".join(t for role, t in texts if role != "user" or "\n" in t.strip())

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the messages have."""
        return sum(len(tokenize(text_of(message))) for message in self.messages)

    @property
    def wanted_tool(self) -> _Function | None:
        """The function to call: the first, when the user's message asks for a tool call."""
        asked = self.messages[-1].get("role") == "user" and "[[tool]]" in self.prompt
        if not asked or self.tool_choice == "none":
            return None
        return next((tool.function for tool in self.tools or () if tool.function), None)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a chat message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[object]", content)
    return "\n".join(_part_text(cast("Mapping[str, Any]", p)) for p in parts if isinstance(p, dict))


def _part_text(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def tokenize(text: str) -> list[str]:
    """Cut a text into words and runs of punctuation, each with the white space before it."""
    return _TOKEN.findall(text)


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer.

    Attributes:
        text: The token; the tokens of an answer joined are its text.
        logprob: The natural logarithm of its probability, at most 0.
        rival: What the model would rather have said instead; None for no matter what.
    """

    text: str
    logprob: float
    rival: str | None = None

    @property
    def pieces(self) -> list[bytes]:
        """Its bytes; a character of four of them is cut in two, as tokenizers cut rare ones."""
        data = self.text.encode()
        cuts = [0, *(i + 2 for i, byte in enumerate(data) if byte >= _FOUR_BYTES), len(data)]
        return [data[start:end] for start, end in pairwise(cuts)]

    def as_json(self, top: int) -> list[dict[str, Any]]:
        """Return the token as `logprobs.content` lists it, a dictionary for each of its pieces."""
        first, *others = self.pieces
        listed = [_logprob(text, logprob) for text, logprob in self.likeliest(top)]
        if not others:
            return [{**_logprob(self.text, self.logprob), "top_logprobs": listed}]
        # Nothing but what completes the character can follow its first bytes.
        cut = [_partial(first, self.logprob), *(_partial(piece, 0.0) for piece in others)]
        return [{**piece, "top_logprobs": [piece][:top]} for piece in cut]

    def likeliest(self, count: int) -> list[tuple[str, float]]:
        """Return the token and its likeliest rivals with their log-probabilities, likeliest first.

        Args:
            count: How many, the token itself among them.
        """
        others = [self.rival, *_OTHERS] if self.rival else [*_OTHERS]
        rest = math.log(max(1e-9, -math.expm1(self.logprob)))
        ranked = [(self.text, self.logprob)]
        # Half of what is left goes to the first rival, a quarter to the second, and so on.
        ranked += [
            (t, rest - (i + 1) * math.log(2)) for i, t in enumerate(others) if t != self.text
        ]
        return sorted(ranked[:count], key=lambda pair: -pair[1])


def _logprob(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": round(logprob, 6), "bytes": list(text.encode())}


def _partial(data: bytes, logprob: float) -> dict[str, Any]:
    shown = data.decode(errors="backslashreplace")
    return {"token": shown, "logprob": round(logprob, 6), "bytes": list(data)}


def speak(text: str, rng: random.Random, *, sure: bool, rival: str | None = None) -> list[Token]:
    """Return the tokens of a text, with the probabilities of a model that is sure of it or not.

    An unsure model is still sure of the small words; it guesses numbers and names.
    """
    return [Token(token, probable(token, rng, sure=sure), rival) for token in tokenize(text)]


def probable(token: str, rng: random.Random, *, sure: bool) -> float:
    """Return a log-probability of a token, to a model that is sure of what it says or not."""
    guess = not sure and any(c.isdigit() or c.isupper() for c in token)
    return -rng.uniform(0.8, 3.5) if guess else -rng.uniform(0.001, 0.12)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to a request.

    Attributes:
        tokens: What it says.
        finish_reason: Why it ends: `stop`, `length` or `tool_calls`.
        tool_calls: The tools it calls.
    """

    tokens: tuple[Token, ...] = ()
    finish_reason: str = "stop"
    tool_calls: tuple[dict[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """How many tokens it has."""
        calls = [call["function"]["arguments"] for call in self.tool_calls]
        said = sum(len(token.pieces) for token in self.tokens)
        return said + sum(len(tokenize(arguments)) for arguments in calls)


def call_tool(function: _Function, call_id: str) -> Choice:
    """Return a choice that calls a function with arguments that fit its schema."""
    arguments = json.dumps(_example(function.parameters or {"type": "object"}))
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": function.name, "arguments": arguments},
    }
    return Choice(finish_reason="tool_calls", tool_calls=(call,))


def _example(schema: Mapping[str, Any]) -> object:
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: _example(inner) for name, inner in schema.get("properties", {}).items()}
    plain: dict[object, object] = {"integer": 1, "number": 1.0, "boolean": True, "array": []}
    return plain.get(schema.get("type"), "simulated")


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to a chat completion request.

    Attributes:
        request: What was asked.
        choices: The answers.
        number: Tells completions of one provider apart.
        created: When it was made, in seconds since 1970.
    """

    request: ChatBody
    choices: Sequence[Choice]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def usage(self) -> dict[str, int]:
        """What the request and the answers cost, in tokens."""
        prompt, completion = self.request.prompt_tokens, sum(c.size for c in self.choices)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
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
            text = "".join(token.text for token in choice.tokens)
            message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
            if choice.tool_calls:
                message |= {"content": None, "tool_calls": choice.tool_calls}
            logprobs = self._logprobs(choice.tokens)
            choices.append(self._choice(index, choice.finish_reason, logprobs, message=message))
        return self._envelope("chat.completion", choices, usage=self.usage)

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Return the answer in the pieces of a stream."""
        for index, choice in enumerate(self.choices):
            yield self._chunk(index, {"role": "assistant", "content": "", "refusal": None})
            for token in choice.tokens:
                yield self._chunk(index, {"content": token.text}, self._logprobs((token,)))
            for position, call in enumerate(choice.tool_calls):
                yield self._chunk(index, {"tool_calls": [{"index": position, **call}]})
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
        if not self.request.logprobs:
            return None
        top = self.request.top_logprobs or 0
        listed = [piece for token in tokens for piece in token.as_json(top)]
        return {"content": listed, "refusal": None}

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


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """Return an error as OpenAI's API words it."""
    usual = "server_error" if status >= 500 else "invalid_request_error"
    kind, code = _KINDS.get(status, (usual, None))
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def models_body() -> dict[str, Any]:
    """Return the list of models."""
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "resay"}
    return {"object": "list", "data": [model]}
