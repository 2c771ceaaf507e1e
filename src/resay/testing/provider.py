"""A simulated provider for tests: chat completions over HTTP, samples, and a judge."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from resay.errors import ConfigurationError
from resay.testing.chat import MODEL, ChatRequest, ChatResponse, Choice, InvalidRequestError
from resay.testing.faults import (
    EmptyAnswer,
    Fault,
    Garbled,
    IdenticalSamples,
    IgnoreN,
    RateLimited,
    Refused,
    RequestKind,
    ServerError,
)
from resay.testing.judges import find_task
from resay.testing.server import Exchange, LoopbackServer
from resay.testing.tasks import Task
from resay.testing.world import Reply, World

_ROUTES = {"/v1/chat/completions": "POST", "/v1/models": "GET"}
_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("requests", "rate_limit_exceeded"),
}


class Request(Protocol):
    """A request for a completion."""

    @property
    def user_texts(self) -> Sequence[str]:
        """The texts of all user messages, oldest first."""
        ...

    @property
    def stream(self) -> bool | None:
        """Whether the answer is to be streamed."""
        ...

    @property
    def features(self) -> Collection[str]:
        """The features it uses, for faults that strike only those; see `Fault.matches`."""
        ...


class Response(Protocol):
    """The answer to such a request."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Its `prompt_tokens` and `completion_tokens`."""
        ...

    @property
    def reports_usage(self) -> bool:
        """Whether the client gets the usage."""
        ...

    def body(self) -> Mapping[str, Any]:
        """Return the whole answer."""
        ...

    def events(self) -> Iterable[str]:
        """Return the answer as a stream of server-sent events."""
        ...


class SimulatedProvider(LoopbackServer):
    """A provider that knows a little, makes up the rest, and fails on command.

    It serves on 127.0.0.1 and a free port, from a thread of its own. Use it as a context manager.
    It has OpenAI's `POST /v1/chat/completions` (with `n`, `stream`, `temperature`, `seed` and
    `max_tokens`; other parameters are accepted and ignored) and `GET /v1/models`.

    Its answers are determined by the seed, the conversation and how often that conversation was
    answered before; at temperature 0, and with the request parameter `seed`, they are the same each
    time. It is its own judge, and answers from documents that Resay shows it (see
    `resay.testing.tasks` and `resay.testing.judges`).

    Args:
        seed: The seed of all randomness.
        world: What it knows and makes up; `World.default()` unless given.
        latency_s: Duration of an answer, in seconds; a stream spreads its chunks over it.
        first_token_s: Time to a stream's first chunk, in seconds.
        faults: How it fails; see `resay.testing.Fault`.

    Raises:
        ConfigurationError: A duration is negative, or something in `faults` is not a fault.

    Example:
        >>> with SimulatedProvider(seed=7) as provider:
        ...     params = provider.params  # for litellm, a Request or a Guard
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        world: World | None = None,
        latency_s: float = 0.0,
        first_token_s: float = 0.0,
        faults: Iterable[Fault] = (),
    ) -> None:
        shortest_s = min(latency_s, first_token_s)
        if shortest_s < 0:
            raise ConfigurationError(f"a duration is {shortest_s!r} s; give 0 or more")
        super().__init__("the simulated provider", faults, seed)
        self._world = world or World.default()
        self._latency_s = latency_s
        self._first_token_s = first_token_s
        self._draws: Counter[str] = Counter()

    @property
    def base_url(self) -> str:
        """The base URL, such as `http://127.0.0.1:40123/v1`; see `root_url`."""
        return f"{self.root_url}/v1"

    @property
    def params(self) -> dict[str, str]:
        """The connection parameters, as litellm and `Request` accept them."""
        return {"api_base": self.base_url, "api_key": "simulated"}

    @property
    def prompt_tokens(self) -> int:
        """Total number of prompt tokens it has reported."""
        return sum(record.prompt_tokens for record in self.requests)

    @property
    def completion_tokens(self) -> int:
        """Total number of completion tokens it has reported."""
        return sum(record.completion_tokens for record in self.requests)

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self._route(exchange)
        except InvalidRequestError as error:
            await self._fail(exchange, 400, str(error), error)

    async def _route(self, exchange: Exchange) -> None:
        method, path = exchange.method, exchange.path
        if path not in _ROUTES:
            return await self._fail(exchange, 404, f"Invalid URL ({method} {path})")
        if method != _ROUTES[path]:
            return await self._fail(exchange, 405, f"Not allowed: {method} {path}")
        if path == "/v1/models":
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "resay"}
            return await exchange.reply(200, {"object": "list", "data": [model]})
        request = ChatRequest.parse(exchange.json)

        def respond(task: Task | None, fault: Fault | None) -> ChatResponse:
            return ChatResponse(request, self._choices(request, task, fault), exchange.index)

        return await self._complete(exchange, request, respond)

    async def _complete(
        self,
        exchange: Exchange,
        request: Request,
        respond: Callable[[Task | None, Fault | None], Response],
        *,
        kind: RequestKind = "chat",
    ) -> None:
        """Answer a request that a fault may strike; its kind counts if it is none of Resay's."""
        task = self._find_task(request.user_texts)
        fault = self._strike(exchange, task.kind if task else kind, request.features)
        if isinstance(fault, RateLimited):
            retry_after_s = fault.retry_after_s
            headers = [] if retry_after_s is None else [("retry-after", f"{retry_after_s:g}")]
            message = "Rate limit reached for requests."
            return await self._fail(exchange, 429, message, headers=headers)
        if isinstance(fault, (ServerError, Refused)):
            message = "The simulated provider fails on command."
            return await self._fail(exchange, fault.status, message)
        # Drawn before any waiting, so that answers depend on the order of arrival alone.
        response = respond(task, fault)
        await exchange.hold_up(fault)
        latency_s = self._latency(exchange, task)
        if not request.stream:
            await asyncio.sleep(latency_s)
            return await exchange.send_answer(response.body(), response.usage, fault)
        events = [*response.events()]
        pause_s = max(0.0, latency_s - self._first_token_s) / len(events)
        usage = response.usage if response.reports_usage else None
        return await exchange.stream(events, usage, fault, self._first_token_s, pause_s)

    def _find_task(self, texts: Sequence[str]) -> Task | None:
        return find_task(texts)

    def _latency(self, exchange: Exchange, task: Task | None) -> float:
        del exchange, task
        return self._latency_s

    async def _fail(
        self,
        exchange: Exchange,
        status: int,
        message: str,
        cause: InvalidRequestError | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        default = "server_error" if status >= 500 else "invalid_request_error"
        kind, code = _ERRORS.get(status, (default, None))
        param = cause.param if cause else None
        error = {"message": message, "type": kind, "param": param, "code": code}
        await exchange.reply(status, {"error": error}, headers)

    def _choices(
        self, request: ChatRequest, task: Task | None, fault: Fault | None
    ) -> Sequence[Choice]:
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [self._say("", request)] * count
        if isinstance(fault, Garbled):
            return [self._say(fault.text, request)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        choices: list[Choice] = []
        for index in range(count):
            rng = self._generator(request, index, same=same)
            choices.append(self._draw(request, task, rng))
        return choices

    def _draw(self, request: ChatRequest, task: Task | None, rng: random.Random) -> Choice:
        if task is not None:
            return self._say(task.answer(self._world, rng), request)
        return self._say(self._reply(request, rng).text, request)

    def _say(self, text: str, request: ChatRequest) -> Choice:
        return Choice.of(text, request.max_completion_tokens or request.max_tokens)

    def _reply(self, request: ChatRequest, rng: random.Random) -> Reply:
        *before, question = request.user_texts or [""]
        return self._world.answer(question, rng, before=before, context=request.context)

    def _generator(self, request: ChatRequest, index: int, *, same: bool) -> random.Random:
        """Return the generator for one answer, independent of other conversations."""
        conversation = json.dumps(request.messages, sort_keys=True)
        if same:
            turn = "same"
        elif request.seed is not None:
            turn = f"seed {request.seed} {index}"
        else:
            turn = f"draw {self._draws[conversation]}"
            self._draws[conversation] += 1
        # The generator controls a simulated model; nothing about it is secret.
        return random.Random(f"{self._seed} {turn} {conversation}")  # noqa: S311 - see above
