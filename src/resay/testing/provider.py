"""A simulated provider for tests: chat completions over HTTP, samples, and a judge."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable

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
    ServerError,
)
from resay.testing.server import Exchange, LoopbackServer
from resay.testing.tasks import Task, find_task
from resay.testing.world import World

_ROUTES = {"/v1/chat/completions": "POST", "/v1/models": "GET"}
_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("requests", "rate_limit_exceeded"),
}


class SimulatedProvider(LoopbackServer):
    """A provider that knows a little, makes up the rest, and fails on command.

    It serves on 127.0.0.1 and a free port, from a thread of its own. Use it as a context manager.
    It has OpenAI's `POST /v1/chat/completions` (with `n`, `stream`, `temperature`, `seed` and
    `max_tokens`; other parameters are accepted and ignored) and `GET /v1/models`.

    Its answers are determined by the seed, the conversation and how often that conversation was
    answered before; at temperature 0, and with the request parameter `seed`, they are the same each
    time. It is its own judge for the method `prompt`, and answers from documents that Resay shows
    it (see `resay.testing.tasks`).

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
        ...     params = provider.params  # for litellm, a Query or a Guard
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
        """The connection parameters, as litellm and `Query` accept them."""
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
        method, path = exchange.method, exchange.path.partition("?")[0]
        if path not in _ROUTES:
            return await _fail(exchange, 404, f"Invalid URL ({method} {path})")
        if method != _ROUTES[path]:
            return await _fail(exchange, 405, f"Not allowed: {method} {path}")
        if path == "/v1/models":
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "resay"}
            return await exchange.reply(200, {"object": "list", "data": [model]})
        try:
            return await self._complete(exchange, ChatRequest.parse(exchange.body))
        except InvalidRequestError as error:
            return await _fail(exchange, 400, str(error), error.param)

    async def _complete(self, exchange: Exchange, request: ChatRequest) -> None:
        task = find_task(request.user_texts)
        fault = self._strike(exchange, task.kind if task else "chat")
        if isinstance(fault, RateLimited):
            retry_after_s = fault.retry_after_s
            headers = {} if retry_after_s is None else {"retry_after": f"{retry_after_s:g}"}
            return await _fail(exchange, 429, "Rate limit reached for requests.", **headers)
        if isinstance(fault, (ServerError, Refused)):
            return await _fail(exchange, fault.status, "The simulated provider fails on command.")
        # Drawn before any waiting, so that answers depend on the order of arrival alone.
        response = ChatResponse(request, self._choices(request, task, fault), exchange.index)
        await exchange.hold_up(fault)
        if not request.stream:
            await asyncio.sleep(self._latency_s)
            return await exchange.send(response.body(), response.usage, fault)
        events = [*response.events()]
        pause_s = max(0.0, self._latency_s - self._first_token_s) / len(events)
        usage = response.usage if response.reports_usage else {}
        return await exchange.stream(events, usage, fault, self._first_token_s, pause_s)

    def _choices(
        self, request: ChatRequest, task: Task | None, fault: Fault | None
    ) -> list[Choice]:
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [Choice()] * count
        max_tokens = request.max_completion_tokens or request.max_tokens
        if isinstance(fault, Garbled):
            return [Choice.of(fault.text, max_tokens)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        choices: list[Choice] = []
        for index in range(count):
            rng = self._generator(request, index, same=same)
            choices.append(Choice.of(self._text(request, task, rng), max_tokens))
        return choices

    def _text(self, request: ChatRequest, task: Task | None, rng: random.Random) -> str:
        if task is not None:
            return task.answer(self._world, rng)
        *before, question = request.user_texts or [""]
        return self._world.answer(question, rng, before=before, context=request.context).text

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


async def _fail(
    exchange: Exchange, status: int, message: str, param: str | None = None, **headers: str
) -> None:
    default = "server_error" if status >= 500 else "invalid_request_error"
    kind, code = _ERRORS.get(status, (default, None))
    error = {"message": message, "type": kind, "param": param, "code": code}
    await exchange.reply(status, {"error": error}, **headers)
