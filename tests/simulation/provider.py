"""A provider on this machine with the APIs of OpenAI and Anthropic, for tests and benches."""

from __future__ import annotations

import asyncio
import json
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from resay.errors import ConfigurationError
from resay.testing.faults import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    RequestKind,
    ServerError,
    Slow,
    Stall,
)
from resay.testing.world import World
from simulation import anthropic as anthropic_api
from simulation import chat as chat_api
from simulation.anthropic import CountedBody, MessagesBody
from simulation.batches import Batches
from simulation.chat import Completion, Event
from simulation.chat_request import ChatBody, InvalidRequestError
from simulation.completions import TextBody, TextCompletion, Written
from simulation.documents import Gullible, writing_in
from simulation.faults import BrokenStream, IgnoreLogprobs, IgnoreStreamOptions
from simulation.judges import Question, question_in
from simulation.model import SimulatedModel
from simulation.responses import Conversations, ResponsesRequest
from simulation.server import Exchange, ObservedServer, RequestLog, RequestRecord

__all__ = [
    "Answer",
    "Api",
    "ChatRequest",
    "Delivery",
    "Request",
    "RequestRecord",
    "SimulatedProvider",
    "api_of",
]


class Answer(Protocol):
    """An answer in the words of an API."""

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost."""
        ...

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        ...

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        ...


class Request(Protocol):
    """A request in the words of an API."""

    @property
    def chat(self) -> ChatBody:
        """The chat completion request that asks for the same."""
        ...

    def answer(self, completion: Completion) -> Answer:
        """Put an answer in the words of the API."""
        ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion request.

    Attributes:
        chat: The request.
    """

    chat: ChatBody

    def answer(self, completion: Completion) -> Completion:
        """Return the answer as it is."""
        return completion


class Api(ABC):
    """How an API numbers its answers, words its errors and lists its models."""

    id_header: str

    @abstractmethod
    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        """Return the body of an error."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """Return the list of models."""


class _OpenAI(Api):
    id_header = "x-request-id"

    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        param, code = (cause.param, cause.code) if cause else (None, None)
        return chat_api.error_body(status, message, param, code)

    def models(self) -> dict[str, Any]:
        return chat_api.models_body()


class _Anthropic(Api):
    id_header = "request-id"

    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        return anthropic_api.error_body(status, message, request_id)

    def models(self) -> dict[str, Any]:
        return anthropic_api.models_body()


_OPENAI, _ANTHROPIC = _OpenAI(), _Anthropic()


def api_of(path: str, headers: Mapping[str, str]) -> Api:
    """Return the API that a request is meant for; what both have is told apart by a header."""
    anthropic = path.startswith("/v1/messages") or "anthropic-version" in headers
    return _ANTHROPIC if anthropic else _OPENAI


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request's way back to its client.

    Attributes:
        exchange: The request and its connection.
        log: Where it is recorded.
        index: Its number there.
        gate: What holds it when it hangs or stalls.
        api: The API it was meant for.
    """

    exchange: Exchange
    log: RequestLog
    index: int
    gate: asyncio.Event
    api: Api

    async def reply(self, status: int, body: object, *headers: tuple[str, str]) -> None:
        """Send a JSON body."""
        data = _encoded(body)
        length = ("content-length", str(len(data)))
        await self.exchange.start(status, "application/json", [self._id_header, length, *headers])
        await self.exchange.send(data, last=True)

    async def fail(
        self,
        status: int,
        message: str,
        *headers: tuple[str, str],
        cause: InvalidRequestError | None = None,
    ) -> None:
        """Send an error."""
        await self.reply(status, self.api.error(status, message, self._id, cause), *headers)

    async def fail_as(self, fault: RateLimited | ServerError | Refused) -> None:
        """Send the error that a fault is."""
        if not isinstance(fault, RateLimited):
            return await self.fail(fault.status, "The simulated provider fails on command.")
        after = fault.retry_after_s
        headers = [] if after is None else [("retry-after", f"{after:g}")]
        return await self.fail(429, "Rate limit reached for requests.", *headers)

    async def send(
        self, body: Mapping[str, Any], usage: Mapping[str, int], fault: Fault | None
    ) -> None:
        """Send a whole answer.

        Args:
            body: The answer.
            usage: What it says it cost.
            fault: What goes wrong on the way.
        """
        data = _encoded(body)
        half = data[: len(data) // 2]
        sent = half if isinstance(fault, MalformedJson) else data
        length = ("content-length", str(len(sent)))
        await self.exchange.start(200, "application/json", [self._id_header, length])
        if isinstance(fault, CutConnection):
            await self.exchange.send(half, last=False)
            await self.exchange.cut()
        if isinstance(fault, Stall):
            await self.exchange.send(half, last=False)
            await self.gate.wait()
            sent = data[len(half) :]
        if not isinstance(fault, MalformedJson):
            self.log.spend(self.index, usage)
        await self.exchange.send(sent, last=True)

    async def stream(
        self,
        pieces: Iterable[Event],
        usage: Mapping[str, int] | None,
        fault: Fault | None,
        *,
        first_s: float,
        whole_s: float,
    ) -> None:
        """Send an answer as a stream.

        Args:
            pieces: The answer.
            usage: What it says it cost; None where it says nothing.
            fault: What goes wrong on the way.
            first_s: How long it takes to its first event, in seconds.
            whole_s: How long it takes in all, in seconds, if that is longer.
        """
        events = [*pieces]
        middle = len(events) // 2
        paced = sum(event.paced for event in events)
        if not paced:
            first_s = max(first_s, whole_s)
        pause = max(0.0, whole_s - first_s) / max(1, paced)
        if isinstance(fault, MalformedJson):
            events[middle] = events[middle].halved()
        await self.exchange.start(200, "text/event-stream", [self._id_header])
        for position, event in enumerate(events):
            wait = pause if event.paced else 0.0
            await asyncio.sleep(wait if position else first_s)
            if position == middle and isinstance(fault, CutConnection):
                await self.exchange.cut()
            if position == middle and isinstance(fault, Stall):
                await self.gate.wait()
            if position == middle and isinstance(fault, BrokenStream):
                await self.exchange.send(fault.last_event, last=True)
                return
            last = position == len(events) - 1
            if last and usage is not None:
                self.log.spend(self.index, usage)
            await self.exchange.send(event.encoded(), last=last)

    @property
    def _id(self) -> str:
        return f"req_{self.index}"

    @property
    def _id_header(self) -> tuple[str, str]:
        return self.api.id_header, self._id


def _encoded(body: object) -> bytes:
    return json.dumps(body).encode()


_SECRET_HEADERS = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"}
)
_CHAT, _COMPLETIONS, _RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
_MESSAGES, _COUNT, _MODELS = "/v1/messages", "/v1/messages/count_tokens", "/v1/models"
_POSTED = (_CHAT, _COMPLETIONS, _RESPONSES, _MESSAGES, _COUNT)
_ROUTES = {**dict.fromkeys(_POSTED, "POST"), _MODELS: "GET"}


class SimulatedProvider(ObservedServer):
    """A provider that knows a little, makes up the rest, and fails on command.

    It serves on 127.0.0.1 and a free port, from a thread of its own. Use it as a context manager.
    It speaks OpenAI's APIs at `POST /v1/chat/completions` (with `n`, `logprobs`, `stream`, `stop`,
    `tools`, `response_format`) and `POST /v1/responses`, Anthropic's at `POST /v1/messages` and
    `POST /v1/messages/count_tokens`, and lists its model at `GET /v1/models` in the words of
    whoever asks. The same conversation gets the same answers at all of them. Tools that a provider
    runs itself, such as a web search, are taken and not used. A response can be gone on from with
    `previous_response_id` or `conversation`, but not be retrieved.
    At `POST /v1/completions` a prompt is answered like a message of the user's (with `n`,
    `best_of`, `echo`, `logprobs`, `stream`, `stop`), and one that is a conversation, with
    "User:" and "Assistant:" before what they say, like that conversation. It says how probable the
    tokens of a prompt are, with `echo` and `logprobs` or with vLLM's `prompt_logprobs`. Tokens
    that are given as numbers, and `suffix`, are taken and not understood.

    What it says is fixed by the seed, the conversation and how often that conversation was answered
    before; at temperature 0, and with the request parameter `seed`, it says the same each time.
    The questions that Resay's methods put to a judge are answered honestly, in the form asked for
    (see `simulation.judges`). Shown documents by Resay, to write a flagged answer again, it goes
    by them alone (see `simulation.documents`). A tool is called where that is forced, or where the
    user's message calls for it: with `[[tool]]`, or with the words of the tool's name or purpose
    (see `simulation.chat_request`); its result is passed on in words. Arguments, and objects in a
    wanted form, satisfy their JSON schema. What the user said and what the world knows is the same
    in all of them, everything else is made up each time (see `simulation.schemas`). Images, files
    and audio are taken and not looked at. What the API would refuse is refused with status 400.

    Args:
        seed: What all chance is drawn from.
        world: What it knows and makes up; `World.default()` unless given.
        latency_s: How long an answer takes, in seconds; a stream spreads its chunks over it.
        jitter_s: Up to so many seconds are added to each answer's latency.
        first_token_s: How long a stream takes to its first chunk, in seconds.
        judge_latency_s: How long an answer to a judge's question takes in place of `latency_s`, in
            seconds; None for as long as any other.
        judge_jitter_s: The same in place of `jitter_s`.
        gullible: For tests of what happens to instructions that somebody hides in documents. A
            gullible model that is told "Ignore …" and what to say, or to "reply with" something,
            says that and nothing else, whatever it was asked, as a judge too; see
            `simulation.documents`. True: it obeys unless that stands in a document that is fenced
            as Resay does it. `"everywhere"`: it obeys even then.
        faults: What goes wrong; see `simulation.Fault`.

    Raises:
        ConfigurationError: A duration is negative, `gullible` is none of its values, or something
            in `faults` is not a fault.

    Example:
        >>> with SimulatedProvider(seed=7) as provider:
        ...     params = provider.params  # for litellm, a Query or a Guard
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        world: World | None = None,
        latency_s: float = 0.0,
        jitter_s: float = 0.0,
        first_token_s: float = 0.0,
        judge_latency_s: float | None = None,
        judge_jitter_s: float | None = None,
        gullible: Gullible = False,
        faults: Iterable[Fault] = (),
    ) -> None:
        if gullible not in (False, True, "everywhere"):
            raise ConfigurationError(f"gullible is {gullible!r}; give True, False or 'everywhere'")
        if judge_latency_s is None:
            judge_latency_s = latency_s
        if judge_jitter_s is None:
            judge_jitter_s = jitter_s
        for value in (latency_s, jitter_s, first_token_s, judge_latency_s, judge_jitter_s):
            if value < 0:
                raise ConfigurationError(f"a duration is {value!r} s; give 0 or more")
        super().__init__("the simulated provider", faults, seed)
        self._latency_s = latency_s
        self._jitter_s = jitter_s
        self._first_token_s = first_token_s
        self._judge_latency_s = judge_latency_s
        self._judge_jitter_s = judge_jitter_s
        self._model = SimulatedModel(seed, world or World.default(), gullible=gullible)
        self._conversations = Conversations()
        self._batches = Batches(self._answered_in_batch)

    @property
    def base_url(self) -> str:
        """Where it serves, such as `http://127.0.0.1:40123/v1`.

        Raises:
            ConfigurationError: It does not run.
        """
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """The same without the `/v1`, as clients of Anthropic's API take it.

        Raises:
            ConfigurationError: It does not run.
        """
        return self._address

    @property
    def params(self) -> dict[str, str]:
        """The connection parameters, as litellm and `Query` take them."""
        return {"api_base": self.base_url, "api_key": "simulated"}

    @property
    def prompt_tokens(self) -> int:
        """How many prompt tokens it has reported as used, in total."""
        return self._log.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        """How many completion tokens it has reported as used, in total."""
        return self._log.completion_tokens

    async def _handle(self, exchange: Exchange) -> None:
        body = _decoded(exchange.body)
        headers = {k: v for k, v in exchange.headers.items() if k not in _SECRET_HEADERS}
        streams = bool(body and body.get("stream"))
        record = RequestRecord(exchange.path, body, headers, time.monotonic(), stream=streams)
        index, gate = self._log.begin(record)
        exchange.on_start = lambda status: self._log.note(index, status=status)
        exchange.on_end = lambda: self._log.end(index)
        api = api_of(exchange.path, headers)
        delivery = Delivery(exchange, self._log, index, gate, api)
        try:
            await self._respond(delivery, body)
        except asyncio.CancelledError:
            self._log.end(index, disconnected=True)
            raise
        finally:
            self._log.end(index)

    async def _respond(self, delivery: Delivery, body: dict[str, Any] | None) -> None:
        try:
            await self._route(delivery, body)
        except InvalidRequestError as error:
            await delivery.fail(400, str(error), cause=error)

    async def _route(self, delivery: Delivery, body: dict[str, Any] | None) -> None:
        method, path = delivery.exchange.method, delivery.exchange.path
        if self._batches.knows(path):
            return await self._batch(delivery)
        if path not in _ROUTES:
            return await delivery.fail(404, f"Invalid URL ({method} {path})")
        if method != _ROUTES[path]:
            return await delivery.fail(405, f"Not allowed: {method} {path}")
        if path == _MODELS:
            return await delivery.reply(200, delivery.api.models())
        if path == _COUNT:
            return await delivery.reply(
                200, {"input_tokens": CountedBody.parse(body).chat.prompt_tokens}
            )
        if path == _COMPLETIONS:
            return await self._text(delivery, TextBody.parse(body))
        return await self._chat(delivery, self._request(path, body))

    def _request(self, path: str, body: dict[str, Any] | None) -> Request:
        if path == _RESPONSES:
            return ResponsesRequest.parse(body, self._conversations)
        if path == _MESSAGES:
            return MessagesBody.parse(body)
        return ChatRequest(ChatBody.parse(body))

    async def _batch(self, delivery: Delivery) -> None:
        asked = delivery.exchange
        kind = asked.headers.get("content-type", "")
        status, answer = self._batches.respond(asked.method, asked.path, kind, asked.body)
        if not isinstance(answer, bytes):
            return await delivery.reply(status, answer)
        await asked.start(status, "application/octet-stream")
        return await asked.send(answer, last=True)

    def _answered_in_batch(self, body: dict[str, Any]) -> Mapping[str, Any]:
        chat = ChatBody.parse(body)
        task = writing_in(chat.said_by_user) or question_in(chat.said_by_user)
        return Completion(chat, self._model.choices(chat, task, None), 0).body()

    async def _chat(self, delivery: Delivery, request: Request) -> None:
        chat = request.chat
        # A document may hold what looks like a question to a judge.
        task = writing_in(chat.said_by_user) or question_in(chat.said_by_user)
        question = task if isinstance(task, Question) else None
        fault = self._strike(
            delivery.index,
            _kind(question),
            *(["stream"] if chat.stream else []),
            *(["logprobs"] if chat.logprobs else []),
            *(["stream_options"] if chat.stream_options else []),
        )
        if isinstance(fault, (RateLimited, ServerError, Refused)):
            return await delivery.fail_as(fault)
        # Drawn before any waiting, so that the order of arrival alone decides what is said.
        choices = self._model.choices(chat, task, fault)
        if isinstance(fault, IgnoreLogprobs):
            chat = chat.model_copy(update={"logprobs": False})
        if isinstance(fault, IgnoreStreamOptions):
            chat = chat.model_copy(update={"stream_options": None})
        completion = Completion(chat, choices, delivery.index)
        answer = request.answer(completion)
        latency = await self._hold_up(fault, delivery, judging=question is not None)
        if not chat.stream:
            await asyncio.sleep(latency)
            return await delivery.send(answer.body(), completion.usage, fault)
        usage = completion.usage if answer.reports_usage else None
        return await delivery.stream(
            answer.events(), usage, fault, first_s=self._first_token_s, whole_s=latency
        )

    async def _text(self, delivery: Delivery, request: TextBody) -> None:
        said = request.chats[0].said_by_user if len(request.chats) == 1 else []
        task = writing_in(said) or question_in(said)
        question = task if isinstance(task, Question) else None
        fault = self._strike(
            delivery.index,
            "text" if question is None else _kind(question),
            *(["stream"] if request.stream else []),
            *(["logprobs"] if request.wants_logprobs else []),
            *(["stream_options"] if request.stream_options else []),
        )
        if isinstance(fault, (RateLimited, ServerError, Refused)):
            return await delivery.fail_as(fault)
        written = [
            Written(prompt, self._model.read(prompt), self._model.choices(chat, task, fault))
            for prompt, chat in zip(request.prompts, request.chats, strict=True)
        ]
        if isinstance(fault, IgnoreLogprobs):
            request = request.model_copy(update={"logprobs": None, "prompt_logprobs": None})
        if isinstance(fault, IgnoreStreamOptions):
            request = request.model_copy(update={"stream_options": None})
        completion = TextCompletion(request, written, delivery.index)
        latency = await self._hold_up(fault, delivery, judging=question is not None)
        if not request.stream:
            await asyncio.sleep(latency)
            return await delivery.send(completion.body(), completion.usage, fault)
        usage = completion.usage if completion.reports_usage else None
        return await delivery.stream(
            completion.events(), usage, fault, first_s=self._first_token_s, whole_s=latency
        )

    def _strike(self, index: int, kind: RequestKind, *params: str) -> Fault | None:
        fault = self._schedule.strike(kind, params)
        if fault is not None:
            self._log.note(index, fault=type(fault).__name__)
        return fault

    async def _hold_up(
        self, fault: Fault | None, delivery: Delivery, *, judging: bool = False
    ) -> float:
        """Wait as a fault says, and return how long the answer takes, in seconds."""
        if isinstance(fault, Hang):
            await delivery.gate.wait()
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        jitter = random.Random(f"jitter {self._seed} {delivery.index}").random()
        if judging:
            return self._judge_latency_s + self._judge_jitter_s * jitter
        return self._latency_s + self._jitter_s * jitter


def _kind(question: Question | None) -> RequestKind:
    if question is None:
        return "chat"
    return "restated" if question.restated else "judge"


def _decoded(data: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(data)
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
