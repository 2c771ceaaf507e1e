"""Chat completions with what `resay.testing` leaves out: tools, forms, stops, log-probabilities."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, cast

from pydantic import BaseModel, Field
from typing_extensions import Self

from resay.testing import chat
from resay.testing.chat import ChatRequest, ChatResponse, InvalidRequestError, text_of, tokenize
from resay.testing.world import SUPPORT, WORD, stems

__all__ = [
    "CALL",
    "ChatBody",
    "Choice",
    "Completion",
    "Function",
    "ResponseFormat",
    "Token",
    "ToolCall",
    "name_words",
    "probable",
    "shortened",
    "speak",
    "sse",
    "sure",
]

_SURE = 0.02
_RIVALS = {"Yes": "No", "No": "Yes"}
_FOUR_BYTES, _THREE_BYTES = 0xF0, "\uffff"
_LIKELY = """the a of in and to was is by for on it at as an with from that its one or"""
_OTHERS = tuple(f" {word}" for word in _LIKELY.split())


def sse(data: Mapping[str, Any]) -> str:
    """Return a server-sent event for a JSON object, named by its type."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}"


class Token(str):
    """A token of an answer.

    Attributes:
        logprob: The natural logarithm of its probability, at most 0.
        rival: The likeliest other token; None for any.
    """

    __slots__ = ("logprob", "rival")
    logprob: float
    rival: str | None

    def __new__(cls, text: str, logprob: float, rival: str | None = None) -> Self:
        token = super().__new__(cls, text)
        token.logprob, token.rival = logprob, rival
        return token

    @property
    def pieces(self) -> list[bytes]:
        """Its bytes; a character of four is cut in two, as tokenizers cut rare ones."""
        data = self.encode()
        cuts = [0, *(i + 2 for i, byte in enumerate(data) if byte >= _FOUR_BYTES), len(data)]
        return [data[start:end] for start, end in pairwise(cuts)]

    def as_json(self, top: int) -> list[dict[str, Any]]:
        """Return it as `logprobs.content` lists it, an object for each of its pieces."""
        first, *others = self.pieces
        if not others:
            listed = [_logprob(text.encode(), value) for text, value in self.likeliest(top)]
            return [{**_logprob(first, self.logprob), "top_logprobs": listed}]
        # Nothing but what completes the character can follow its first bytes.
        cut = [_logprob(first, self.logprob), *(_logprob(piece, 0.0) for piece in others)]
        return [{**piece, "top_logprobs": [piece][:top]} for piece in cut]

    def likeliest(self, count: int) -> list[tuple[str, float]]:
        """Return `count` tokens, itself among them, with log-probabilities; likeliest first."""
        others = [self.rival, *_OTHERS] if self.rival else [*_OTHERS]
        remaining = math.log(max(1e-9, -math.expm1(self.logprob)))
        ranked = [(str(self), self.logprob)]
        # Half of the rest goes to the first rival, a quarter to the second, and so on.
        for index, text in enumerate(others, 1):
            if text != self:
                ranked.append((text, remaining - index * math.log(2)))
        return sorted(ranked[:count], key=lambda pair: -pair[1])


def _logprob(data: bytes, logprob: float) -> dict[str, Any]:
    text = data.decode(errors="backslashreplace")
    return {"token": text, "logprob": round(logprob, 6), "bytes": list(data)}


def sure(text: str) -> list[Token]:
    """Return the tokens of a text that a model is sure of."""
    return [Token(token, -_SURE, _RIVALS.get(token.strip())) for token in tokenize(text)]


def speak(text: str, rng: random.Random, *, sure: bool) -> list[Token]:
    """Return the tokens of a text by a model that is sure of it, or guesses names and numbers."""
    return [Token(token, probable(token, rng, sure=sure)) for token in tokenize(text)]


def probable(token: str, rng: random.Random, *, sure: bool) -> float:
    """Return a log-probability of a token; see `speak`."""
    guess = not sure and any(c.isdigit() or c.isupper() for c in token)
    return -rng.uniform(0.8, 3.5) if guess else -rng.uniform(0.001, 0.12)


CALL = "[[tool]]"
"""Text in a user's message that has a tool called, whatever else it says."""

_PIECE = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W\d_]+")
_VERBS = """call calculate check compute create do fetch find function generate get input list look
lookup make query read retrieve return run search show tool use using"""
_ANY_TOOL = stems(_VERBS.split())
_MIN_PURPOSE = 2


def name_words(name: str) -> list[str]:
    """Return the words of an identifier, in lower case."""
    return [piece.lower() for piece in _PIECE.findall(name)]


class Function(BaseModel):
    """A function that may be called."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def is_called_for(self, text: str) -> bool:
        """Return whether a text contains the words of its name or of its purpose."""
        words, name = stems(WORD.findall(text)), stems(name_words(self.name))
        if (specific := name - _ANY_TOOL or name) and specific <= words:
            return True
        purpose = stems(WORD.findall((self.description or "").split(".")[0])) - _ANY_TOOL
        return len(purpose & words) >= max(_MIN_PURPOSE, SUPPORT * len(purpose))


class _Tool(BaseModel):
    function: Function | None = None


class _JsonSchema(BaseModel):
    schema_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="schema")


_QUOTED = re.compile(r"(?<!\w)(['\"`])([A-Za-z_]\w*)\1(?!\w)")


class ResponseFormat(BaseModel):
    """The form of an answer: text, any JSON object, or one that satisfies a schema."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: _JsonSchema | None = None

    def schema_for(self, texts: Sequence[str]) -> dict[str, Any] | None:
        """Return the schema of the answer; None for text.

        Args:
            texts: The conversation. If any JSON object will do, the last text with a schema, or
                with quoted keys, decides; without one, the object has an "answer".
        """
        if self.type == "text":
            return None
        if self.json_schema is not None:
            return self.json_schema.schema_
        schemas = filter(None, map(_schema_in, reversed(texts)))
        return next(schemas, _with_keys(["answer"]))


def _schema_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    while start >= 0:
        try:
            schema, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        if isinstance(schema.get("properties"), dict):
            return schema
        break
    keys = list(dict.fromkeys(key for _, key in _QUOTED.findall(text)))
    return _with_keys(keys) if keys else None


def _with_keys(keys: Sequence[str]) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in keys}
    return {"type": "object", "properties": properties, "required": list(keys)}


_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_BYTES_PER_AUDIO_TOKEN = 1024


class ChatBody(ChatRequest):
    """The body of a chat completion request."""

    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    stop: str | list[str] | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    @classmethod
    def parse(cls, body: object) -> Self:
        """Validate a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = super().parse(body)
        for message in request.messages:
            if message.get("role") not in _ROLES:
                raise InvalidRequestError(f"Invalid role: {message.get('role')!r}.", "messages")
        _check_results(request.messages)
        return request

    @property
    def features(self) -> list[str]:
        """The features it uses, for faults that strike only those."""
        return [name for name in ("stream", "logprobs", "stream_options") if getattr(self, name)]

    @property
    def max_answer_tokens(self) -> int | None:
        """Maximum number of tokens of an answer."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def audio_tokens(self) -> int:
        """Number of tokens of the audio in the messages, in base64: one for each begun KiB."""
        contents = [message.get("content") for message in self.messages]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        sizes = [len(part["input_audio"]["data"]) for part in parts if "input_audio" in part]
        return sum(-(-size // _BYTES_PER_AUDIO_TOKEN) for size in sizes)

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens in the messages."""
        return super().prompt_tokens + self.audio_tokens

    @property
    def functions(self) -> list[Function]:
        """The functions to call; none if the request is to be answered in words.

        A function is called if `tool_choice` names or requires it, or else if the user asks last,
        with `CALL` or with words of its name or purpose.
        """
        offered = [tool.function for tool in self.tools or () if tool.function]
        if not offered or self.tool_choice == "none":
            return []
        if isinstance(self.tool_choice, dict):
            name = cast("dict[str, Any]", self.tool_choice)["function"]["name"]
            return [function for function in offered if function.name == name]
        text = next(reversed(self.user_texts), "")
        asks = self.messages[-1].get("role") == "user"
        functions = [function for function in offered if function.is_called_for(text)]
        if self.tool_choice == "required" or (asks and CALL in text):
            functions = functions or offered[:1]
        elif not asks:
            return []
        return functions[:1] if self.parallel_tool_calls is False else functions

    @property
    def schema_(self) -> dict[str, Any] | None:
        """The schema of the answer; None if it is to be text."""
        form = self.response_format
        return form.schema_for([text_of(message) for message in self.messages]) if form else None

    @property
    def results(self) -> list[tuple[str, str]]:
        """The results of tools at the end of the conversation: names and texts."""
        calls = [call for message in self.messages for call in message.get("tool_calls") or ()]
        names = {call["id"]: call["function"]["name"] for call in calls}
        results: list[tuple[str, str]] = []
        for message in reversed(self.messages):
            if message["role"] not in ("tool", "function"):
                break
            name = names.get(message.get("tool_call_id")) or message.get("name") or "the tool"
            results.insert(0, (name, text_of(message)))
        return results


def _check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that each call of a tool is followed by its result, as every provider does."""
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                raise InvalidRequestError("Invalid result: it follows no such call.", "messages")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        raise InvalidRequestError(f"Missing results: {', '.join(waiting)}.", "messages")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function; the tokens are the JSON text of its arguments."""

    id: str
    name: str
    tokens: Sequence[Token]

    @property
    def arguments(self) -> str:
        """The JSON text of its arguments."""
        return "".join(self.tokens)

    def as_json(self, arguments: str) -> dict[str, Any]:
        """Return the call, with these arguments."""
        function = {"name": self.name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Choice(chat.Choice):
    """One of the answers to a request; `stop` is the text before which it ends."""

    tokens: Sequence[Token] = ()
    tool_calls: Sequence[ToolCall] = ()
    stop: str | None = None

    @property
    def size(self) -> int:
        """Number of tokens; a character of four bytes is two."""
        tokens = [*self.tokens, *(token for call in self.tool_calls for token in call.tokens)]
        text = "".join(tokens)
        cut = 0 if text.isascii() else sum(character > _THREE_BYTES for character in text)
        return len(tokens) + cut


def shortened(tokens: Sequence[Token], request: ChatBody) -> Choice:
    """Return an answer, up to the first text that stops it and the maximum number of tokens."""
    stops = [request.stop] if isinstance(request.stop, str) else request.stop or []
    text = "".join(tokens)
    matches = [(start, stop) for stop in stops if stop and (start := text.find(stop)) >= 0]
    length, stop = min(matches, default=(len(text), None))
    kept: list[Token] = []
    for token in tokens:
        if length > 0:
            kept.append(Token(token[:length], token.logprob, token.rival))
        length -= len(token)
    limit = request.max_answer_tokens or len(kept)
    if len(kept) > limit:
        return Choice(kept[:limit], "length")
    return Choice(kept, stop=stop)


@dataclass(frozen=True)
class Completion(ChatResponse):
    """The answer to a chat completion request."""

    request: ChatBody
    choices: Sequence[Choice]

    def logprobs(self, tokens: Sequence[Token]) -> list[dict[str, Any]] | None:
        """Return the log-probabilities of tokens; None unless requested."""
        if not self.request.logprobs:
            return None
        top = self.request.top_logprobs or 0
        return [piece for token in tokens for piece in token.as_json(top)]

    @property
    def _usage_with_total(self) -> dict[str, Any]:
        audio_tokens = self.request.audio_tokens
        return {
            **super()._usage_with_total,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": audio_tokens},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    def _message(self, choice: Choice) -> dict[str, Any]:
        if not choice.tool_calls:
            return {**super()._message(choice), "refusal": None}
        calls = [call.as_json(call.arguments) for call in choice.tool_calls]
        return {"content": None, "refusal": None, "tool_calls": calls}

    def _deltas(self, choice: Choice) -> Iterator[tuple[dict[str, Any], Sequence[Token]]]:
        yield from super()._deltas(choice)
        for index, call in enumerate(choice.tool_calls):
            first, *others = call.tokens or [""]
            yield {"tool_calls": [{"index": index, **call.as_json(first)}]}, ()
            for text in others:
                function = {"arguments": text}
                yield {"tool_calls": [{"index": index, "function": function}]}, ()

    def _details(self, tokens: Sequence[Token]) -> dict[str, Any]:
        listed = self.logprobs(tokens)
        return {"logprobs": None if listed is None else {"content": listed, "refusal": None}}
