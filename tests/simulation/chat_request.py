"""Requests for chat completions: what they hold, and which of them OpenAI's API would refuse."""

from __future__ import annotations

import base64
import binascii
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resay.testing.world import SUPPORT, WORD, stems

__all__ = [
    "CALL",
    "MODEL",
    "Body",
    "ChatBody",
    "Function",
    "InvalidRequestError",
    "Location",
    "Refuse",
    "ResponseFormat",
    "Token",
    "Tool",
    "audio_tokens",
    "called_for",
    "check_choice",
    "check_messages",
    "is_readable",
    "name_words",
    "probable",
    "read",
    "speak",
    "text_of",
    "tokenize",
]

MODEL = "simulated"
BodyT = TypeVar("BodyT", bound="Body")
ModelT = TypeVar("ModelT", bound=BaseModel)

Location = Sequence[int | str]
"""Where in a body something stands: names and indices, outermost first."""


class InvalidRequestError(Exception):
    """A request body that the API would refuse.

    Args:
        message: What is wrong with it.
        param: Where that stands, as OpenAI's API says it; None for nowhere in particular.
        code: What OpenAI's API calls the error; None where it has no name.
    """

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


Refuse = Callable[[Location, str, str], InvalidRequestError]
"""How an API words a refusal: from where, pydantic's name of the problem, and its message."""


def read(model: type[ModelT], value: object, refuse: Refuse, where: Location = ()) -> ModelT:
    """Check a part of a decoded body.

    Args:
        model: What it should be.
        value: What it is.
        refuse: Words the refusal.
        where: Where in the body it stands.

    Raises:
        InvalidRequestError: It is something else.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        raise refuse([*where, *problem["loc"]], problem["type"], problem["msg"]) from None


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
        return read(cls, cast("object", body), _refusal)


def _refusal(where: Location, _: str, message: str) -> InvalidRequestError:
    param = ".".join(map(str, where))
    return InvalidRequestError(f"Invalid {param!r}: {message}.", param)


Message = Mapping[str, Any]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=-]+)*;base64,(?P<data>.*)", re.DOTALL)
_BYTES_PER_AUDIO_TOKEN = 1024


def text_of(message: Message) -> str:
    """Return the text of a chat message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(_part_text, _parts_of(message))))


def audio_tokens(message: Message) -> int:
    """Return how many tokens the audio in a message counts as: one for each begun KiB."""
    recorded = [p["input_audio"]["data"] for p in _parts_of(message) if p["type"] == "input_audio"]
    sizes = [len(base64.b64decode(data)) for data in recorded]
    return sum(-(-size // _BYTES_PER_AUDIO_TOKEN) for size in sizes)


def check_messages(messages: Sequence[Message]) -> None:
    """Check the messages of a request.

    Raises:
        InvalidRequestError: One has an unknown role, no content, or a part that cannot be read; or
            the results of tools do not follow the calls they answer.
    """
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    _check_results(messages)


def is_readable(part: Message) -> bool:
    """Return whether a content part of a known type holds what it should."""
    kind = part["type"]
    return _PARTS[kind](part.get(kind))


def _parts_of(message: Message) -> list[Message]:
    content = message.get("content")
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Message", part) for part in parts if isinstance(part, dict)]


def _part_text(part: Message) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _check_message(message: Message, where: str) -> None:
    role = message.get("role")
    if role not in _ROLES:
        supported = ", ".join(map(repr, _ROLES))
        raise InvalidRequestError(
            f"Invalid value: {role!r}. Supported values are: {supported}.", f"{where}.role"
        )
    if role == "assistant" and message.get("tool_calls") is not None:
        _check_calls(message["tool_calls"], f"{where}.tool_calls")
    _check_content(message, f"{where}.content")


def _check_content(message: Message, where: str) -> None:
    content: object = message.get("content")
    if isinstance(content, str) or (content is None and _may_be_silent(message)):
        return
    if not isinstance(content, list) or not content:
        raise InvalidRequestError(
            f"Invalid type for {where!r}: expected a string or a list of content parts.", where
        )
    for index, part in enumerate(cast("list[object]", content)):
        _check_part(part, f"{where}[{index}]")


def _may_be_silent(message: Message) -> bool:
    speaks_otherwise = ("tool_calls", "function_call", "refusal", "audio")
    assistant = message["role"] == "assistant"
    return message["role"] == "function" or (
        assistant and any(message.get(name) for name in speaks_otherwise)
    )


def _check_part(part: object, where: str) -> None:
    if not isinstance(part, dict):
        raise InvalidRequestError(f"Invalid type for {where!r}: expected an object.", where)
    fields = cast("Message", part)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _PARTS:
        raise InvalidRequestError(
            f"Invalid value: {kind!r}. Supported values are: {', '.join(map(repr, _PARTS))}.",
            f"{where}.type",
        )
    if not is_readable(fields):
        raise InvalidRequestError(
            f"Invalid {f'{where}.{kind}'!r}: it is missing or cannot be read.", f"{where}.{kind}"
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_image(value: object) -> bool:
    url = cast("Message", value).get("url") if isinstance(value, dict) else None
    if not isinstance(url, str):
        return False
    return url.startswith(("http://", "https://")) or _is_data_url(url)


def _is_file(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("Message", value)
    data = fields.get("file_data")
    if isinstance(data, str):
        return isinstance(fields.get("filename"), str) and _is_data_url(data)
    return isinstance(fields.get("file_id"), str)


def _is_audio(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("Message", value)
    data = fields.get("data")
    return fields.get("format") in ("wav", "mp3") and isinstance(data, str) and _is_base64(data)


def _is_data_url(url: str) -> bool:
    match = _DATA_URL.fullmatch(url)
    return match is not None and _is_base64(match["data"])


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


_PARTS: Mapping[str, Callable[[object], bool]] = {
    "text": _is_text,
    "refusal": _is_text,
    "image_url": _is_image,
    "file": _is_file,
    "input_audio": _is_audio,
}


def _check_calls(calls: object, where: str) -> None:
    if not isinstance(calls, list) or not calls:
        raise InvalidRequestError(f"Invalid {where!r}: expected at least one call.", where)
    for index, call in enumerate(cast("list[object]", calls)):
        if not _is_call(call):
            raise InvalidRequestError(
                f"Invalid {f'{where}[{index}]'!r}: a call has an 'id', the 'type' 'function' and a"
                " 'function' with a 'name' and 'arguments', which are strings.",
                f"{where}[{index}]",
            )


def _is_call(call: object) -> bool:
    if not isinstance(call, dict):
        return False
    fields = cast("Message", call)
    function = fields.get("function")
    if not isinstance(function, dict) or fields.get("type") != "function":
        return False
    said = cast("Message", function)
    texts = (fields.get("id"), said.get("name"), said.get("arguments"))
    return all(isinstance(text, str) for text in texts)


def _check_results(messages: Sequence[Message]) -> None:
    waiting: list[str] = []
    called: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            _check_result(message, called, f"messages[{index}]")
            waiting = [one for one in waiting if one != message["tool_call_id"]]
            continue
        _check_nothing_waits(waiting)
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        called = [call["id"] for call in calls or ()]
        waiting = called
    _check_nothing_waits(waiting)


def _check_result(message: Message, called: Sequence[str], where: str) -> None:
    if message.get("tool_call_id") not in called:
        raise InvalidRequestError(
            f"Invalid {where!r}: a message with role 'tool' must follow the message whose"
            " 'tool_calls' have its 'tool_call_id'.",
            f"{where}.tool_call_id",
        )


def _check_nothing_waits(waiting: Sequence[str]) -> None:
    if waiting:
        raise InvalidRequestError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding"
            f" to each 'tool_call_id'. Missing: {', '.join(waiting)}.",
            "messages",
        )


CALL = "[[tool]]"
"""What a user's message has in it to have a tool called, whatever it says."""

_PIECE = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W\d_]+")
_LISTED = """call calculate check compute create do fetch find function generate get input list look
lookup make query read retrieve return run search show tool use using"""
_ANY_TOOL = stems(_LISTED.split())
_LEAST_PURPOSE = 2


class Function(Body):
    """A function that may be called."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def is_called_for(self, text: str) -> bool:
        """Return whether a text speaks of the function by its name or its purpose."""
        said = stems(WORD.findall(text))
        name = stems(name_words(self.name))
        if (telling := name - _ANY_TOOL or name) and telling <= said:
            return True
        purpose = stems(WORD.findall((self.description or "").split(".")[0])) - _ANY_TOOL
        share = len(purpose & said)
        return share >= max(_LEAST_PURPOSE, SUPPORT * len(purpose))


class Tool(Body):
    """A tool; only functions are understood."""

    function: Function | None = None


def name_words(name: str) -> list[str]:
    """Return the words of an identifier, in lower case."""
    return [piece.lower() for piece in _PIECE.findall(name)]


def check_choice(functions: Sequence[Function], choice: object) -> None:
    """Check `tool_choice`.

    Raises:
        InvalidRequestError: It names a function that is not offered, or nothing is offered.
    """
    if choice is None or (choice == "none" and not functions):
        return
    if not functions:
        raise InvalidRequestError(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are"
            " specified.",
            "tool_choice",
        )
    if choice not in ("none", "auto", "required") and _named(functions, choice) is None:
        raise InvalidRequestError(
            "Invalid value for 'tool_choice': expected 'none', 'auto', 'required' or"
            " {'type': 'function', 'function': {'name': ...}} with the name of one of the 'tools'.",
            "tool_choice",
        )


def called_for(
    functions: Sequence[Function], choice: object, text: str, *, asked: bool
) -> list[Function]:
    """Return the functions to call.

    Args:
        functions: What is offered.
        choice: Which of them must, may, or must not be called; None for may.
        text: What the user said last.
        asked: Whether that is where the conversation ends.

    Returns:
        The functions, those that the text speaks of first; none where it is to be answered in
        words.
    """
    if not functions or choice == "none":
        return []
    named = _named(functions, choice)
    if named is not None:
        return [named]
    fitting = [function for function in functions if function.is_called_for(text)]
    must = choice == "required" or (asked and CALL in text)
    if must:
        return fitting or [functions[0]]
    return fitting if asked else []


def _named(functions: Sequence[Function], choice: object) -> Function | None:
    for function in functions:
        if choice == {"type": "function", "function": {"name": function.name}}:
            return function
    return None


_QUOTED = re.compile(r"(?<!\w)(['\"`])([A-Za-z_]\w*)\1(?!\w)")


class _JsonSchema(Body):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    schema_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="schema")


class ResponseFormat(Body):
    """The form of an answer: text, any JSON object, or one that satisfies a schema."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: _JsonSchema | None = None

    def check(self, texts: Iterable[str]) -> None:
        """Check it against the texts of the conversation.

        Raises:
            InvalidRequestError: The schema is missing; or any JSON will do, but nobody spoke of
                JSON.
        """
        if self.type == "json_schema" and self.json_schema is None:
            where = "response_format.json_schema"
            raise InvalidRequestError(f"Missing required parameter: {where!r}.", where)
        if self.type == "json_object" and not any("json" in text.lower() for text in texts):
            raise InvalidRequestError(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of"
                " type 'json_object'.",
                "messages",
            )

    def schema_for(self, texts: Sequence[str]) -> dict[str, Any] | None:
        """Return the schema of the answer, None where it is to be text.

        Args:
            texts: The texts of the conversation. Where any JSON object will do, the last of them
                that holds a JSON schema is obeyed; in want of one, the last that names keys, in
                quotes; in want of both, the object has an "answer".
        """
        if self.json_schema is not None and self.type == "json_schema":
            return self.json_schema.schema_
        if self.type != "json_object":
            return None
        found = (schema for text in reversed(texts) if (schema := _schema_in(text)))
        return next(found, _with_keys(["answer"]))


def _schema_in(text: str) -> dict[str, Any] | None:
    written = _object_in(text)
    if written is not None and isinstance(written.get("properties"), dict):
        return written
    keys = list(dict.fromkeys(key for _, key in _QUOTED.findall(text)))
    return _with_keys(keys) if keys else None


def _object_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    while start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        return cast("dict[str, Any]", found)
    return None


def _with_keys(keys: Sequence[str]) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in keys}
    return {"type": "object", "properties": properties, "required": list(keys)}


_FOUR_BYTES = 0xF0
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")
_OTHERS = tuple(
    f" {word}"
    for word in (
        *("the", "a", "of", "in", "and", "to", "was", "is", "by", "for", "on"),
        *("it", "at", "as", "an", "with", "from", "that", "its", "one", "or"),
    )
)


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


_MOST_STOPS = 4


class _StreamOptions(Body):
    include_usage: bool = False


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
    stop: Any = None
    tools: list[Tool] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    @classmethod
    def parse(cls, body: object) -> ChatBody:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = super().parse(body)
        check_messages(request.messages)
        check_choice(request.functions, request.tool_choice)
        _check_stop(request.stop)
        if request.response_format:
            request.response_format.check(map(text_of, request.messages))
        return request

    @property
    def prompt(self) -> str:
        """The text of the user's last message."""
        return next(reversed(self.said_by_user), "")

    @property
    def said_by_user(self) -> list[str]:
        """The text of all messages of the user, oldest first."""
        return [text_of(message) for message in self.messages if message.get("role") == "user"]

    @property
    def given(self) -> list[str]:
        """The text of all messages but the model's own, oldest first."""
        return [text_of(m) for m in self.messages if m.get("role") != "assistant"]

    @property
    def told(self) -> str:
        """What the model is given to read, beyond one-line requests and its own messages."""
        given = [m for m in self.messages if m.get("role") != "assistant"]
        texts = [(m.get("role"), text_of(m)) for m in given]
        return "\n".join(t for role, t in texts if role != "user" or "\n" in t.strip())

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the messages have."""
        said = sum(len(tokenize(text_of(message))) for message in self.messages)
        return said + self.audio_tokens

    @property
    def audio_tokens(self) -> int:
        """How many of them are audio."""
        return sum(audio_tokens(message) for message in self.messages)

    @property
    def most_tokens(self) -> int | None:
        """How many tokens an answer may have; None for as many as it takes."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> list[str]:
        """The texts before which an answer ends."""
        return [self.stop] if isinstance(self.stop, str) else [*(self.stop or ())]

    @property
    def functions(self) -> list[Function]:
        """The functions that may be called."""
        return [tool.function for tool in self.tools or () if tool.function]

    @property
    def wanted_functions(self) -> list[Function]:
        """The functions to call; see `simulation.chat_request`."""
        asked = self.messages[-1].get("role") == "user"
        wanted = called_for(self.functions, self.tool_choice, self.prompt, asked=asked)
        return wanted[:1] if self.parallel_tool_calls is False else wanted

    @property
    def results(self) -> list[tuple[str, str]]:
        """What the tools answered at the end of the conversation: their names and their words."""
        results: list[tuple[str, str]] = []
        for message in reversed(self.messages):
            if message["role"] not in ("tool", "function"):
                break
            results.append((self._caller(message), text_of(message)))
        return results[::-1]

    def _caller(self, result: dict[str, Any]) -> str:
        calls = [call for message in self.messages for call in message.get("tool_calls") or ()]
        wanted = result.get("tool_call_id")
        named = (call["function"]["name"] for call in calls if call["id"] == wanted)
        return next(named, result.get("name") or "the tool")


def _check_stop(stop: object) -> None:
    texts = cast("list[object]", stop) if isinstance(stop, list) else [stop]
    good = stop is None or all(isinstance(text, str) for text in texts)
    if not good or len(texts) > _MOST_STOPS:
        raise InvalidRequestError(
            f"Invalid value for 'stop': expected a string or up to {_MOST_STOPS} strings.", "stop"
        )
