"""The interface to language model APIs, and helpers that several of them share."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from resay.core.query import Query
from resay.core.usage import Usage
from resay.providers.base import Chunk, Completion

# Strings that lenient servers accept as true.
_YES = frozenset({"1", "on", "t", "true", "y", "yes"})
_UNNAMED = "a part of the answer cannot be read"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,9}")
_WORD = re.compile(r"\w")


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    # JSON objects are parsed as dicts; the check for other mappings takes ten times as long.
    if type(value) is dict:
        return cast("dict[str, Any]", value)
    if value is None:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list."""
    items: Sequence[object] = listed(value)
    if not items:
        return []
    # Most lists have one item: reuse it without a comprehension.
    if len(items) == 1 and type(items[0]) is dict:
        return [cast("dict[str, Any]", items[0])]
    return [
        mapping(cast("object", item))
        for item in items
        if type(item) is dict or isinstance(item, Mapping)
    ]


def text(value: object) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """Return the value if it is an integer of at least 0, else 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(value, 0)


def count(value: object) -> int:
    """Return a number as lenient servers parse it (`2.0`, `"2"`); 0 for anything else."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return number(int(value))
    return number(value)


def tokens_in(usage: Mapping[str, Any]) -> tuple[int, int]:
    """Return the prompt and completion tokens that a usage reports, 0 for what it leaves out.

    Servers of one API also use the names of another.
    """
    read = count(usage.get("prompt_tokens")) or count(usage.get("input_tokens"))
    written = count(usage.get("completion_tokens")) or count(usage.get("output_tokens"))
    return read, written


def is_yes(value: object) -> bool:
    """Return whether lenient servers accept a value as true: `1` and `"true"`, for example."""
    if isinstance(value, str):
        return value.lower() in _YES
    return isinstance(value, (bool, int, float)) and value == 1


def named(kind: object) -> str:
    """Return a message about a part that cannot be parsed, with its type if it is a name."""
    known = isinstance(kind, str) and _NAME.fullmatch(kind)
    return f"a part of the answer cannot be read ({kind})" if known else _UNNAMED


def words_elsewhere(value: Mapping[str, Any], known: Collection[str]) -> str | None:
    """Return a message about the first unknown field that contains words; None if none does.

    Args:
        value: A part of an answer.
        known: Its fields that are read, or that contain no words of the answer.
    """
    for name, content in value.items():
        if name not in known and _has_words(content):
            return named(name)
    return None


def _has_words(value: object) -> bool:
    # Without recursion, because values may be nested deeply.
    pending: list[object] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and _WORD.search(item):
            return True
        pending += listed(item)
        pending += mapping(item).values()
    return False


def is_garbled(value: object, kind: type) -> bool:
    """Return whether a value is there, but not of the type that its field has."""
    return bool(value) and not isinstance(value, kind)


def as_json(value: object) -> str:
    """Return parsed JSON as text again."""
    return json.dumps(value, ensure_ascii=False)


_MARK = b"\xef\xbb\xbf"
# Names of events, which are no place for words.
_EVENT_NAME = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_BLANK = frozenset({b"\n", b"\r\n", b"\r"})


class EventReader:
    r"""Parse the events of a byte stream that may be split anywhere.

    Comments, ids, retry times and unknown fields, which these APIs do not use, are left out of the
    events, also as they are passed on: nobody checks what they say.

    Example:
        >>> reader = EventReader()
        >>> reader.feed(b'data: {"a"')
        []
        >>> reader.feed(b": 1}\n\n")
        [Event(data={'a': 1}, name=None)]
    """

    def __init__(self) -> None:
        # A line may arrive in very many pieces: they are joined once, at its end.
        self._rest: list[bytes] = []
        self._begun = False
        self._name_line = b""
        self._data: list[bytes] = []
        self._received: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Add the next bytes; return the events that they complete."""
        half = self._rest and self._rest[-1].endswith(b"\r")
        self._rest.append(data)
        if not half and b"\n" not in data and b"\r" not in data:
            return []
        whole = b"".join(self._rest)
        # A carriage return at the end may be the first half of a line ending.
        cut = len(whole) - 1 if whole.endswith(b"\r") else len(whole)
        lines = whole[:cut].splitlines(keepends=True)
        rest = whole[cut:]
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            rest = lines.pop() + rest
        self._rest = [rest] if rest else []
        return self._read(lines)

    def finish(self) -> list[Event]:
        """Return the last event if the stream ended without terminating it."""
        lines = [b"".join([*self._rest, b"\n"])] if self._rest else []
        self._rest = []
        return self._read([*lines, b"\n"])

    def _read(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if not self._begun:
                # A byte order mark may precede the stream, and is not part of it.
                self._begun, line = True, line.removeprefix(_MARK)
            if line.startswith(b"data:"):
                self._received.append(line)
                self._data.append(line[5:].rstrip(b"\r\n"))
            elif line in _BLANK:
                events += self._close(line)
            elif line.startswith(b"event:"):
                name = line[6:].strip()
                # As with all fields but `data`, the last one counts.
                self._name_line = line if _EVENT_NAME.fullmatch(name) else b""
        return events

    def _close(self, blank: bytes) -> list[Event]:
        name = self._name_line[6:].strip().decode() or None
        data = self._data
        received = b"".join([self._name_line, *self._received, blank])
        self._name_line, self._data, self._received = b"", [], []
        if not data:
            return []
        lines = [line.removeprefix(b" ").decode("utf-8", "replace") for line in data]
        if len(lines) == 1:
            return [Event(_parsed(lines[0]), name, received)]
        whole = _parsed("\n".join(lines))
        # Some servers omit the blank lines. Clients that parse line by line do not notice.
        if isinstance(whole, str):
            apart = [_parsed(line) for line in lines]
            if any(isinstance(value, dict) for value in apart):
                return [
                    Event(value, name, b"data:%s\n\n" % line)
                    for value, line in zip(apart, data, strict=True)
                ]
        return [Event(whole, name, received)]


def _parsed(text: str) -> Body | str:
    try:
        value: Any = json.loads(text)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return text
    return cast("Body", value) if isinstance(value, dict) else text


def encoded(event: Event) -> bytes:
    """Return an event's bytes for sending: as received, or encoded if it was created here."""
    if event.sent is not None:
        return event.sent
    data = event.data.encode() if isinstance(event.data, str) else json_bytes(event.data)
    name = f"event: {event.name}\n".encode() if event.name else b""
    lines = b"".join(b"data: %s\n" % line for line in data.split(b"\n"))
    return b"%s%s\n" % (name, lines)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON that any strict parser accepts."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    # A lone surrogate, such as a token may end with, can only be written as an escape.
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def object_tools(names: Sequence[str], choice: object, forced: Collection[str]) -> tuple[str, ...]:
    """Return the only tool offered, if it must be called: a way to request an object.

    Args:
        names: The names of the offered tools.
        choice: The request's tool choice.
        forced: The choices that force a tool call.
    """
    return (names[0],) if len(names) == 1 and names[0] and choice in forced else ()


def tools_for_continuation(body: Body, query: Query, none: object) -> dict[str, Any]:
    """Return the parameters a query needs to continue a conversation with tool calls.

    Some providers refuse such a conversation without its tools. No tool may be called again.

    Args:
        body: The request of the main call.
        query: The query.
        none: The API's tool choice that forbids calls.
    """
    called = any(m.get("role") == "tool" or m.get("tool_calls") for m in query.messages)
    known = called and body.get("tools") and "tools" not in query.params
    return {"tools": body["tools"], "tool_choice": none} if known else {}


@dataclass(frozen=True, slots=True)
class Names:
    """Map the parameter names of chat completions to those of another API.

    Attributes:
        paths: The path of a parameter, by its chat completions name, if it differs from that name.
        unknown: Parameters of chat completions without a counterpart.
        converters: Functions that convert a parameter's value for the API.
    """

    paths: Mapping[str, tuple[str, ...]]
    unknown: frozenset[str]
    converters: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Any])

    def applied(self, body: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body with chat completions parameters applied; None removes one."""
        applied = dict(body)
        for name, value in params.items():
            if value is None or name not in self.unknown:
                turned = value if value is None else self.converters.get(name, _same)(value)
                applied = _put(applied, self.paths.get(name, (name,)), turned)
        return applied


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ, with their values after; None for those removed."""
    gone: dict[str, Any] = dict.fromkeys(name for name in before if name not in after)
    absent = object()
    return gone | {k: v for k, v in after.items() if before.get(k, absent) != v}


def _put(body: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *inner = path
    if inner:
        value = _put(mapping(body.get(name)), tuple(inner), value) or None
    if value is None:
        return {k: v for k, v in body.items() if k != name}
    return {**body, name: value}


def _same(value: Any) -> Any:
    return value


Body = Mapping[str, Any]
"""A JSON object as sent or received. It is never modified, only copied."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    Attributes:
        data: Its data: an object, or the text if that is no JSON object, such as `[DONE]`.
        name: The event's type, if the stream names it.
        sent: The bytes it was received as, so that it can be passed on unchanged; None for an event
            that was created here.
    """

    data: Body | str
    name: str | None = None
    sent: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def body(self) -> Body:
        """Its object; an empty one if it has none."""
        return {} if isinstance(self.data, str) else self.data


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and what the guard needs to know about it.

    Attributes:
        body: The JSON body.
        query: The same as a query: messages and parameters in the format of OpenAI's chat
            completions, with `model` None, because the provider knows it from the body.
        n: Number of answers it asks for at once.
        streams: Whether the answer is to be streamed.
        unrepeatable: Why it must not be repeated, or None: a conversation stored by the provider,
            for example, would grow by every sample.
        field: The field of the body that makes it so, or that prevents a check.
        brings_references: Whether it can be checked all the same, because its answer includes what
            the provider retrieved for it.
    """

    body: Body
    query: Query
    n: int = 1
    streams: bool = False
    unrepeatable: str | None = None
    field: str | None = None
    brings_references: bool = False

    @property
    def model(self) -> str | None:
        """The model it requests; None if it names none."""
        model: object = self.body.get("model")
        return model if isinstance(model, str) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of checking one answer.

    Attributes:
        data: The verdict as JSON-ready values, for users; empty for none.
        message: The text that replaces the answer; None if the answer is passed on.
        complete: Whether the message is a rewritten answer; otherwise it says that there is none.
        stops: Whether a message that says so ends like a normal answer; otherwise it ends like one
            that a content filter stopped.
    """

    data: Body
    message: str | None = None
    complete: bool = False
    stops: bool = False

    @property
    def fields(self) -> Body:
        """The fields to add to a response: the verdict, if there is one."""
        return {"hallucination": self.data} if self.data else {}

    @property
    def withheld(self) -> bool:
        """Whether there is no answer to pass on."""
        return self.message is not None and not self.complete

    @property
    def filtered(self) -> bool:
        """Whether the replacement ends like an answer stopped by a content filter."""
        return not (self.complete or self.stops)


class Api(Protocol):
    """A language model API, as pure functions of JSON values.

    Nothing here assumes that a provider conforms to the API: unparsable parts are left unchanged.
    """

    @property
    def path(self) -> str:
        """The end of the URL's path."""
        ...

    @property
    def takes_n(self) -> bool:
        """Whether a request can ask for several answers."""
        ...

    @property
    def gives_logprobs(self) -> bool:
        """Whether a request can ask for the probabilities of tokens."""
        ...

    def read(self, body: Body) -> Request:
        """Parse a request."""
        ...

    def with_logprobs(self, body: Body, top: int) -> Body:
        """Return the request with log-probabilities enabled, with `top` alternatives each."""
        ...

    def without_logprobs(self, data: Body) -> Body:
        """Return a response, or the data of an event, without log-probabilities."""
        ...

    def sample(self, request: Request, query: Query, n: int) -> Body:
        """Return the request for samples.

        Args:
            request: The request of the main call.
            query: Its query as modified for sampling; see `Query.for_sampling`.
            n: Number of samples to ask for; 1 unless `takes_n`.
        """
        ...

    def fresh(self, body: Body, query: Query) -> Body:
        """Return another request to the model of the main call.

        Args:
            body: The request of the main call, for its model and for parameters that the API
                requires in every request.
            query: The query, with a conversation of its own or one that continues the main call's.
        """
        ...

    def completions(self, response: Body) -> tuple[Completion, ...]:
        """Return the answers in a response, none if it cannot be parsed."""
        ...

    def usage(self, response: Body) -> Usage:
        """Return the tokens and cost a response reports, as one call."""
        ...

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdicts, and with the replaced answers removed.

        Args:
            response: The response.
            outcomes: One for each of its answers, in order.
        """
        ...

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answers, each by its index, with the event in `raw`.

        If the end of an answer repeats the whole of it, that repetition adds nothing.
        """
        ...

    def ends(self, event: Event) -> bool:
        """Return whether an event ends an answer, and so has to wait for the verdict."""
        ...

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        ...

    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text, such as reasoning.

        Citations of the text are none, and neither is what goes with the text in one event: it
        stays behind in `released`.
        """
        ...

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event that opens a stream, with no words of the answer.

        Returns:
            The event; None for one that does not open a stream.
        """
        ...

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words.

        Args:
            event: The event.
            start: The start of the part in its text, in code points.
            stop: The end of the part.
        """
        ...

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released.

        Args:
            event: The event.
            start: The length of that beginning, in code points.
        """
        ...

    def remainder(self, event: Event) -> Event | None:
        """Return what is left of an event whose text was released; None if nothing."""
        ...

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text of our own to the first answer.

        Args:
            seen: The events that the client received; may be empty.
            text: The text.
            whole: Whether these are all of the provider's events, so that the text is a message of
                its own; otherwise it continues the text in them.
        """
        ...

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdicts.

        Args:
            held: The events from the first that ends an answer on.
            outcomes: The outcome of each answer, by its index. A withheld answer was passed on
                before; then the events say that a filter stopped it.
        """
        ...

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced.

        Args:
            sent: The events that the client received, including those of the replacement.
            ends: The provider's events from the first that ends the answer on, as far as they came.
            outcome: The outcome of the answer.

        Returns:
            Events that contain no words of the answer beyond those in `sent`.
        """
        ...

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Split an event by answer, each part as if that answer were the only one.

        Returns:
            The answers' positions and their events; empty for an event about all of them.
        """
        ...

    def with_index(self, event: Event, place: int) -> Event:
        """Turn an event of a sole answer into one of the answer at a position among several."""
        ...

    def numbered(self, event: Event, position: int) -> Event:
        """Return an event with its position in the stream, from 0."""
        ...


class _Events(Protocol):
    """The functions that an API's event module provides."""

    def chunk_of(self, event: Event) -> Chunk: ...

    def opens_answer(self, event: Event) -> bool: ...

    def ends_answer(self, event: Event) -> bool: ...

    def ends_stream(self, event: Event) -> bool: ...

    def has_other_words(self, event: Event) -> bool: ...

    def released_event(self, event: Event, start: int, stop: int) -> Event: ...

    def rest_of_event(self, event: Event, start: int) -> Event: ...

    def text_events(self, seen: Sequence[Event], said: str) -> list[Event]: ...

    def notice_events(self, seen: Sequence[Event], said: str) -> list[Event]: ...

    def ending_events(self, held: Sequence[Event], outcome: Outcome | None) -> list[Event]: ...

    def closing_events(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]: ...


class OneAnswerApi(ABC):
    """Base class for APIs with one answer per request; `Api` documents the methods.

    A subclass names its event module and the field of a response that holds the verdict.
    """

    _events: _Events
    _key: str
    takes_n = False

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdict, and without an answer that is replaced."""
        (outcome,) = outcomes
        if outcome.message is None:
            return {**response, **outcome.fields}
        return self._replaced(response, outcome.message, outcome)

    @abstractmethod
    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        """Return a response with a message, no words of the answer, and the verdict."""

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answer."""
        return ((0, self._events.chunk_of(event)),)

    def ends(self, event: Event) -> bool:
        """Return whether an event ends the answer."""
        return self._events.ends_answer(event)

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        return self._events.ends_stream(event)

    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text."""
        return self._events.has_other_words(event)

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event if it opens a stream, with no words of the answer."""
        return event if self._events.opens_answer(event) else None

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words."""
        return self._events.released_event(event, start, stop)

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released."""
        return self._events.rest_of_event(event, start) if start else event

    def remainder(self, event: Event) -> Event | None:
        """Return None: an event of these APIs that adds text says nothing else."""
        del event
        return None

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the answer."""
        say = self._events.notice_events if whole else self._events.text_events
        return say(seen, text)

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdict."""
        return self._events.ending_events(list(held), outcomes.get(0))

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced."""
        return self._events.closing_events(sent, ends, outcome)

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Return the event, which belongs to the only answer."""
        return [(0, event)]

    def with_index(self, event: Event, place: int) -> Event:
        """Return the event, which belongs to the only answer."""
        del place
        return event

    def numbered(self, event: Event, position: int) -> Event:
        """Return the event: only some APIs number theirs."""
        del position
        return event


HOSTED = "the provider would run its tools once more for every sample"
UNKNOWN_TOOL = "Resay does not know a tool, and the provider may run it once more for every sample"
# The types, or their beginnings, of the tools that providers run, and Google's keys for them.
_PROVIDER_RUN = (
    "browser_search",
    "code_execution",
    "codeExecution",
    "code_interpreter",
    "file_search",
    "googleSearch",
    "google_search",
    "image_generation",
    "mcp",
    "shell",
    "tool_search",
    "urlContext",
    "url_context",
    "web_fetch",
    "web_search",
)


def unrepeatable_tools(kinds: Iterable[str]) -> str:
    """Return why a request must not be repeated that offers tools the application does not run.

    Args:
        kinds: The types of those tools, or their keys if they have no type.
    """
    is_hosted = any(kind.startswith(_PROVIDER_RUN) for kind in kinds)
    return HOSTED if is_hosted else UNKNOWN_TOOL
