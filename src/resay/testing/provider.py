"""A provider on this machine with OpenAI's chat completions API, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterable

from resay.errors import ConfigurationError
from resay.testing.chat import MODEL, ChatRequest, Choice, Completion, InvalidRequestError
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
from resay.testing.judge import Task, task_in
from resay.testing.server import Exchange, LoopbackServer
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
    `max_tokens`; other parameters are taken and not looked at) and `GET /v1/models`.

    What it says is fixed by the seed, the conversation and how often that conversation was answered
    before; at temperature 0, and with the request parameter `seed`, it says the same each time. It
    is its own judge for the method `prompt`, and answers by documents that Resay shows it (see
    `resay.testing.judge`).

    Args:
        seed: What all chance is drawn from.
        world: What it knows and makes up; `World.default()` unless given.
        latency_s: How long an answer takes, in seconds; a stream spreads its chunks over it.
        first_token_s: How long a stream takes to its first chunk, in seconds.
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
        first_token_s: float = 0.0,
        faults: Iterable[Fault] = (),
    ) -> None:
        if (least := min(latency_s, first_token_s)) < 0:
            raise ConfigurationError(f"a duration is {least!r} s; give 0 or more")
        super().__init__("the simulated provider", faults, seed)
        self._world = world or World.default()
        self._latency_s = latency_s
        self._first_token_s = first_token_s
        self._drawn: Counter[str] = Counter()

    @property
    def base_url(self) -> str:
        """Where it serves, such as `http://127.0.0.1:40123/v1`; see `root_url`."""
        return f"{self.root_url}/v1"

    @property
    def params(self) -> dict[str, str]:
        """The connection parameters, as litellm and `Query` take them."""
        return {"api_base": self.base_url, "api_key": "simulated"}

    @property
    def prompt_tokens(self) -> int:
        """How many prompt tokens it has reported as used, in total."""
        return sum(record.prompt_tokens for record in self.requests)

    @property
    def completion_tokens(self) -> int:
        """How many completion tokens it has reported as used, in total."""
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
        task = task_in(request.said_by_user)
        fault = self._strike(exchange, task.kind if task else "chat")
        if isinstance(fault, RateLimited):
            after = fault.retry_after_s
            headers = {} if after is None else {"retry_after": f"{after:g}"}
            return await _fail(exchange, 429, "Rate limit reached for requests.", **headers)
        if isinstance(fault, (ServerError, Refused)):
            return await _fail(exchange, fault.status, "The simulated provider fails on command.")
        # Drawn before any waiting, so that the order of arrival alone decides what is said.
        completion = Completion(request, self._choices(request, task, fault), exchange.index)
        await exchange.hold_up(fault)
        if not request.stream:
            await asyncio.sleep(self._latency_s)
            return await exchange.send(completion.body(), completion.usage, fault)
        events = [*completion.events()]
        pause = max(0.0, self._latency_s - self._first_token_s) / len(events)
        spent = completion.usage if completion.reports_usage else {}
        return await exchange.stream(events, spent, fault, self._first_token_s, pause)

    def _choices(
        self, request: ChatRequest, task: Task | None, fault: Fault | None
    ) -> list[Choice]:
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [Choice()] * count
        most = request.max_completion_tokens or request.max_tokens
        if isinstance(fault, Garbled):
            return [Choice.of(fault.text, most)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        draws = [self._generator(request, index, same=same) for index in range(count)]
        return [Choice.of(self._say(request, task, rng), most) for rng in draws]

    def _say(self, request: ChatRequest, task: Task | None, rng: random.Random) -> str:
        if task is not None:
            return task.answer(self._world, rng)
        *before, question = request.said_by_user or [""]
        return self._world.answer(question, rng, before=before, told=request.told).text

    def _generator(self, request: ChatRequest, index: int, *, same: bool) -> random.Random:
        """Return the chance of one answer; those to other conversations do not change it."""
        conversation = json.dumps(request.messages, sort_keys=True)
        if same:
            turn = "same"
        elif request.seed is not None:
            turn = f"seed {request.seed} {index}"
        else:
            turn = f"draw {self._drawn[conversation]}"
            self._drawn[conversation] += 1
        # The generator decides what a pretended model says; nothing is secret about it.
        return random.Random(f"{self._seed} {turn} {conversation}")  # noqa: S311 - see above


async def _fail(
    exchange: Exchange, status: int, message: str, param: str | None = None, **headers: str
) -> None:
    usual = "server_error" if status >= 500 else "invalid_request_error"
    kind, code = _ERRORS.get(status, (usual, None))
    error = {"message": message, "type": kind, "param": param, "code": code}
    await exchange.reply(status, {"error": error}, **headers)
