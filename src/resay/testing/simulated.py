"""An OpenAI-compatible provider on this machine, for tests, demonstrations and benches."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterable
from typing import Any, cast

from resay.errors import ConfigurationError
from resay.testing.body import InvalidRequestError
from resay.testing.chat_body import ChatBody
from resay.testing.faults import (
    CutConnection,
    Fault,
    Hang,
    IgnoreLogprobs,
    IgnoreStreamOptions,
    MalformedJson,
    RateLimited,
    Refused,
    RequestKind,
    ServerError,
    Slow,
    Stall,
)
from resay.testing.judges import Question, question_in
from resay.testing.model import SimulatedModel
from resay.testing.observed import ObservedServer
from resay.testing.record import RequestRecord
from resay.testing.serving import Exchange
from resay.testing.texts import TextBody, TextCompletion
from resay.testing.wire import Completion, error_body, models_body
from resay.testing.world import World

__all__ = ["RequestRecord", "SimulatedProvider"]

_SECRET_HEADERS = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"}
)
_ROUTES = {"/v1/chat/completions": "POST", "/v1/completions": "POST", "/v1/models": "GET"}


class SimulatedProvider(ObservedServer):
    """An OpenAI-compatible provider that knows a little, makes up the rest, and fails on command.

    It answers `POST /v1/chat/completions` (with `n`, `logprobs`, `stream`, `stop`, `tools`,
    `response_format`) and `GET /v1/models` on 127.0.0.1 and a free port, from a thread of its own.
    Use it as a context manager.
    At `POST /v1/completions` it says how probable the tokens of a prompt are, with `echo` and
    `logprobs` or with vLLM's `prompt_logprobs`; it writes nothing of interest there.

    What it says is fixed by the seed, the conversation and how often that conversation was answered
    before; at temperature 0, and with the request parameter `seed`, it says the same each time.
    The questions that Resay's methods put to a judge are answered honestly, in the form asked for
    (see `resay.testing.judges`). A tool is called where that is forced, or where the user's message
    calls for it: with `[[tool]]`, or with the words of the tool's name or purpose (see
    `resay.testing.tools`); its result is passed on in words. Arguments, and objects in a wanted
    form, satisfy their JSON schema. What the user said and what the world knows is the same in all
    of them, everything else is made up each time (see `resay.testing.fields`). Images, files and
    audio are taken and not looked at. What OpenAI's API would refuse is refused with status 400.

    Args:
        seed: What all chance is drawn from.
        world: What it knows and makes up; `World.default()` unless given.
        latency_s: How long an answer takes, in seconds; a stream spreads its chunks over it.
        jitter_s: Up to so many seconds are added to each answer's latency.
        first_token_s: How long a stream takes to its first chunk, in seconds.
        judge_latency_s: How long an answer to a judge's question takes in place of `latency_s`, in
            seconds; None for as long as any other.
        judge_jitter_s: The same in place of `jitter_s`.
        faults: What goes wrong; see `resay.testing.Fault`.

    Raises:
        ConfigurationError: A duration is negative, or something in `faults` is not a fault.

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
        faults: Iterable[Fault] = (),
    ) -> None:
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
        self._model = SimulatedModel(seed, world or World.default())

    @property
    def base_url(self) -> str:
        """Where it serves, such as `http://127.0.0.1:40123/v1`.

        Raises:
            ConfigurationError: It does not run.
        """
        return f"{self._address}/v1"

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
        try:
            await self._route(exchange, body, index, gate)
        except asyncio.CancelledError:
            self._log.end(index, disconnected=True)
            raise
        finally:
            self._log.end(index)

    async def _route(
        self, exchange: Exchange, body: dict[str, Any] | None, index: int, gate: asyncio.Event
    ) -> None:
        asked = f"{exchange.method} {exchange.path}"
        if exchange.path not in _ROUTES:
            return await _fail(exchange, index, 404, f"Invalid URL ({asked})")
        if exchange.method != _ROUTES[exchange.path]:
            return await _fail(exchange, index, 405, f"Not allowed: {asked}")
        if exchange.path == "/v1/models":
            return await _reply(exchange, index, 200, models_body())
        try:
            if exchange.path == "/v1/completions":
                return await self._text(exchange, TextBody.parse(body), index, gate)
            return await self._chat(exchange, ChatBody.parse(body), index, gate)
        except InvalidRequestError as error:
            return await _fail(exchange, index, 400, str(error), param=error.param)

    async def _chat(
        self, exchange: Exchange, request: ChatBody, index: int, gate: asyncio.Event
    ) -> None:
        question = question_in(request.said_by_user)
        fault = self._strike(
            index,
            _kind(question),
            logprobs=bool(request.logprobs),
            stream_options=request.stream_options is not None,
        )
        if isinstance(fault, (RateLimited, ServerError, Refused)):
            return await _fail_as(fault, exchange, index)
        # Drawn before any waiting, so that the order of arrival alone decides what is said.
        choices = self._model.choices(request, question, fault)
        if isinstance(fault, IgnoreLogprobs):
            request = request.model_copy(update={"logprobs": False})
        if isinstance(fault, IgnoreStreamOptions):
            request = request.model_copy(update={"stream_options": None})
        completion = Completion(request, choices, index)
        latency = await self._hold_up(fault, index, gate, judging=question is not None)
        if request.stream:
            return await self._stream(exchange, completion, fault, latency, index, gate)
        await asyncio.sleep(latency)
        return await self._answer(exchange, completion, fault, index, gate)

    async def _text(
        self, exchange: Exchange, request: TextBody, index: int, gate: asyncio.Event
    ) -> None:
        fault = self._strike(index, "text", logprobs=request.wants_logprobs)
        if isinstance(fault, (RateLimited, ServerError, Refused)):
            return await _fail_as(fault, exchange, index)
        if isinstance(fault, IgnoreLogprobs):
            request = request.model_copy(update={"logprobs": None, "prompt_logprobs": None})
        completion = TextCompletion(request, self._model.read(request.prompt), index)
        await asyncio.sleep(await self._hold_up(fault, index, gate))
        return await self._answer(exchange, completion, fault, index, gate)

    def _strike(
        self, index: int, kind: RequestKind, *, logprobs: bool, stream_options: bool = False
    ) -> Fault | None:
        fault = self._schedule.strike(kind, logprobs=logprobs, stream_options=stream_options)
        if fault is not None:
            self._log.note(index, fault=type(fault).__name__)
        return fault

    async def _hold_up(
        self, fault: Fault | None, index: int, gate: asyncio.Event, *, judging: bool = False
    ) -> float:
        """Wait as a fault says, and return how long the answer takes, in seconds."""
        if isinstance(fault, Hang):
            await gate.wait()
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        jitter = random.Random(f"jitter {self._seed} {index}").random()  # noqa: S311 - see FaultSchedule
        if judging:
            return self._judge_latency_s + self._judge_jitter_s * jitter
        return self._latency_s + self._jitter_s * jitter

    async def _answer(
        self,
        exchange: Exchange,
        completion: Completion | TextCompletion,
        fault: Fault | None,
        index: int,
        gate: asyncio.Event,
    ) -> None:
        data = _encoded(completion.body())
        half = data[: len(data) // 2]
        sent = half if isinstance(fault, MalformedJson) else data
        length = ("content-length", str(len(sent)))
        await exchange.start(200, "application/json", [_request_id(completion.number), length])
        if isinstance(fault, CutConnection):
            await exchange.send(half, last=False)
            await exchange.cut()
        if isinstance(fault, Stall):
            await exchange.send(half, last=False)
            await gate.wait()
            sent = data[len(half) :]
        if not isinstance(fault, MalformedJson):
            self._log.spend(index, completion.usage)
        await exchange.send(sent, last=True)

    async def _stream(
        self,
        exchange: Exchange,
        completion: Completion,
        fault: Fault | None,
        latency: float,
        index: int,
        gate: asyncio.Event,
    ) -> None:
        events = [b"data: " + _encoded(chunk) + b"\n\n" for chunk in completion.chunks()]
        events.append(b"data: [DONE]\n\n")
        middle, pause = len(events) // 2, max(0.0, latency - self._first_token_s) / len(events)
        if isinstance(fault, MalformedJson):
            events[middle] = events[middle][: len(events[middle]) // 2] + b"\n\n"
        await exchange.start(200, "text/event-stream", [_request_id(completion.number)])
        for position, event in enumerate(events):
            await asyncio.sleep(pause if position else self._first_token_s)
            if position == middle and isinstance(fault, CutConnection):
                await exchange.cut()
            if position == middle and isinstance(fault, Stall):
                await gate.wait()
            last = position == len(events) - 1
            if last and completion.reports_usage:
                self._log.spend(index, completion.usage)
            await exchange.send(event, last=last)


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


def _encoded(body: object) -> bytes:
    return json.dumps(body).encode()


def _request_id(index: int) -> tuple[str, str]:
    return "x-request-id", f"req_{index}"


async def _reply(
    exchange: Exchange, index: int, status: int, body: object, *headers: tuple[str, str]
) -> None:
    data = _encoded(body)
    length = ("content-length", str(len(data)))
    await exchange.start(status, "application/json", [_request_id(index), length, *headers])
    await exchange.send(data, last=True)


async def _fail(
    exchange: Exchange, index: int, status: int, message: str, *, param: str | None = None
) -> None:
    await _reply(exchange, index, status, error_body(status, message, param))


async def _fail_as(
    fault: RateLimited | ServerError | Refused, exchange: Exchange, index: int
) -> None:
    if not isinstance(fault, RateLimited):
        return await _fail(
            exchange, index, fault.status, "The simulated provider fails on command."
        )
    body = error_body(429, "Rate limit reached for requests.")
    after = fault.retry_after_s
    headers = [] if after is None else [("retry-after", f"{after:g}")]
    return await _reply(exchange, index, 429, body, *headers)
