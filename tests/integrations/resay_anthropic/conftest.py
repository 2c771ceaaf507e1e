"""Clients of Anthropic's SDK whose main calls can be made to fail on their way."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay.adapters.http import package_of
from simulation import RequestRecord, SimulatedProvider
from support.covering import alternating
from support.known_world import WORLD

HTTP: Any = package_of(anthropic.DefaultHttpxClient)
MAIN = "x-main"


def marked_main(request: Any) -> Any:
    """Return a request with a mark, unless a guard sent it: what it sends has no key."""
    if request.options.idempotency_key is None:
        return request
    return request.copy(headers={**request.headers, MAIN: "yes"})


class Line:
    """The way to the provider, on which main calls can fail.

    Attributes:
        provider: Who is asked.
        failures: What becomes of the next main calls, in order: a status, or an exception.
        headers: Of the failures that are a status.
        samples_first: Main calls fail once so many samples were asked for.
        sent: How many main calls there were.
        failed: Set when a main call failed, as the SDK sees it.
    """

    def __init__(self, provider: SimulatedProvider) -> None:
        self.provider = provider
        self.failures: deque[Any] = deque()
        self.headers: dict[str, str] = {}
        self.samples_first = 0
        self.sent = 0
        self.failed = asyncio.Event()

    def failure(self, request: Any) -> Any:
        """Return what becomes of a request; None where nothing does."""
        if MAIN not in request.headers:
            return None
        self.sent += 1
        return self.failures.popleft() if self.failures else None

    def response(self, request: Any, failure: Any) -> Any:
        if not isinstance(failure, int):
            raise failure
        said = {"type": "error", "error": {"type": "api_error", "message": "on command"}}
        return HTTP.Response(failure, headers=self.headers, json=said, request=request)

    @property
    def samples(self) -> list[RequestRecord]:
        """The requests that were no main calls."""
        return [request for request in self.provider.requests if MAIN not in request.headers]

    @property
    def asked(self) -> Counter[str]:
        """How many samples there were of each question."""
        bodies: list[Any] = [request.body for request in self.samples]
        return Counter(body["messages"][-1]["content"] for body in bodies)


class Transport(HTTP.HTTPTransport):
    def __init__(self, line: Line) -> None:
        super().__init__(verify=False)
        self._line = line

    def handle_request(self, request: Any) -> Any:
        failure = self._line.failure(request)
        if failure is None:
            return super().handle_request(request)
        self._line.provider.wait_calls(self._line.samples_first)
        return self._line.response(request, failure)


class AsyncTransport(HTTP.AsyncHTTPTransport):
    def __init__(self, line: Line) -> None:
        super().__init__(verify=False)
        self._line = line

    async def handle_async_request(self, request: Any) -> Any:
        failure = self._line.failure(request)
        if failure is None:
            return await super().handle_async_request(request)
        wait = self._line.provider.wait_calls
        await anyio.to_thread.run_sync(wait, self._line.samples_first)
        return self._line.response(request, failure)


class Marking(anthropic.Middleware):
    """Stands behind the guard."""

    def handle(self, request: Any, call_next: Any) -> Any:
        return call_next(marked_main(request))

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        return await call_next(marked_main(request))


class Watching(anthropic.Middleware):
    """Stands before a guard, and tells of each attempt that failed."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        try:
            response = await call_next(request)
        except Exception:
            self._line.failed.set()
            raise
        if not response.http_response.is_success:
            self._line.failed.set()
        return response


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture
def line(provider: SimulatedProvider) -> Line:
    return Line(provider)


def settings(provider: SimulatedProvider) -> dict[str, Any]:
    return {"base_url": provider.root_url, "api_key": "simulated"}


@pytest.fixture
def sync_client(provider: SimulatedProvider, line: Line) -> Iterator[Anthropic]:
    http: Any = anthropic.DefaultHttpxClient
    with http(transport=Transport(line)) as http_client:
        yield Anthropic(**settings(provider), http_client=http_client, middleware=[Marking()])


@pytest.fixture
async def async_client(provider: SimulatedProvider, line: Line) -> AsyncIterator[AsyncAnthropic]:
    http: Any = anthropic.DefaultAsyncHttpxClient
    async with http(transport=AsyncTransport(line)) as http_client:
        yield AsyncAnthropic(**settings(provider), http_client=http_client, middleware=[Marking()])


@pytest.fixture
def watched(line: Line) -> Watching:
    return Watching(line)


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    # Between two tries the SDK waits for half a second and more, which proves nothing here.
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 0.001)


@pytest.fixture(params=alternating("sync", "async"))
def guarded(
    request: pytest.FixtureRequest, sync_client: Anthropic, async_client: AsyncAnthropic
) -> Callable[[Any], Any]:
    """Guard a client of either side; its `ask` is `messages.create` to be awaited."""
    from resay_anthropic import guard_client

    class Guarded:
        def __init__(self, policy: Any) -> None:
            sync = request.param == "sync"
            self.client: Any = guard_client(sync_client if sync else async_client, policy)

        async def ask(self, **asked: Any) -> Any:
            made = self.client.messages.create(**asked)
            return await made if hasattr(made, "__await__") else made

        async def parse(self, **asked: Any) -> Any:
            made = self.client.messages.parse(**asked)
            return await made if hasattr(made, "__await__") else made

        async def stream(self, **asked: Any) -> tuple[Any, list[Any]]:
            """Read a stream; return it and its events."""
            stream = await self.ask(**asked, stream=True)
            if hasattr(stream, "__anext__"):
                return stream, [event async for event in stream]
            return stream, list(stream)

    return Guarded
