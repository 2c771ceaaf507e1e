"""How `python -m performance clients` asks through the SDKs of providers, plainly and guarded."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any

from anyio.from_thread import BlockingPortal

from resay import Verdict
from resay.adapters import require_optional

__all__ = ["APIS", "Api", "Ask", "Call", "Timed", "asking", "calls_of", "require"]

_OPENAI_MODEL = "gpt-4.1-mini"
_ANTHROPIC_MODEL = "claude-sonnet-5"
# At this temperature all clients are given the same answer. Not all SDKs know it by name.
_SAME = {"extra_body": {"temperature": 0}}

Policy = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Api:
    """An API, and the SDK by which it is asked.

    Attributes:
        name: What it is called here.
        sdk: The package of its SDK.
        adapter: Our package for that SDK.
        client: Makes a client from the connection parameters, a policy or None for the SDK's own
            client, and whether it is for event loops.
        create: Finds a client's method that asks.
        arguments: What that is called with for a question.
    """

    name: str
    sdk: str
    adapter: str
    client: Callable[[Mapping[str, Any], Policy | None, bool], Any]
    create: Callable[[Any], Callable[..., Any]]
    arguments: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """One way of asking.

    Attributes:
        api: What is asked.
        asynchronous: Whether by the client for event loops.
        streamed: Whether the answer comes in pieces, which are read to the end.
    """

    api: Api
    asynchronous: bool
    streamed: bool

    @property
    def name(self) -> str:
        """What it is called."""
        side = "async" if self.asynchronous else "sync"
        return ", ".join([self.api.name, side, *(["streamed"] if self.streamed else [])])


@dataclass(frozen=True, slots=True)
class Timed:
    """The answer to one call.

    Attributes:
        seconds: The time to the whole answer, in seconds.
        verdict: Its verdict; None without one.
        events: How many events a stream had; 0 where it was not streamed.
    """

    seconds: float
    verdict: Verdict | None = None
    events: int = 0


Ask = Callable[[str], Timed]
"""Asks a question, and returns its answer."""


def calls_of(api: Api) -> Sequence[Call]:
    """Return all ways of asking an API."""
    return [Call(api, *way) for way in product((False, True), repeat=2)]


def require(api: Api) -> None:
    """See that an API's SDK is installed.

    Raises:
        MissingDependencyError: It is not.
    """
    require_optional(
        api.sdk, package=api.sdk, extra=api.sdk, purpose=f"measuring {api.name!r} by its SDK"
    )


@contextmanager
def asking(
    call: Call, params: Mapping[str, Any], policy: Policy | None, portal: BlockingPortal
) -> Generator[Ask]:
    """Have a client of one's own, with connections of its own.

    Args:
        call: The way of asking.
        params: The address and the key of the provider.
        policy: The policy of a guarded client; None for the SDK's own client.
        portal: The portal to the event loop of asynchronous clients.

    Yields:
        A function that asks by that client.
    """
    client = call.api.client(params, policy, call.asynchronous)
    way = {**_SAME, "stream": True} if call.streamed else _SAME

    def ask(question: str) -> Timed:
        arguments = {**call.api.arguments(question), **way}
        if call.asynchronous:
            return portal.call(_acall, call, client, arguments)
        return _call(call, client, arguments)

    try:
        yield ask
    finally:
        if call.asynchronous:
            portal.call(client.close)
        else:
            client.close()


def _call(call: Call, client: Any, arguments: Mapping[str, Any]) -> Timed:
    create = call.api.create(client)
    started = time.perf_counter()
    answer = create(**arguments)
    events: list[Any] = list(answer) if call.streamed else []
    seconds = time.perf_counter() - started
    return Timed(seconds, _verdict(call.api, answer, events), len(events))


async def _acall(call: Call, client: Any, arguments: Mapping[str, Any]) -> Timed:
    create = call.api.create(client)
    # Taken here, so that the way to the event loop and back is not in it.
    started = time.perf_counter()
    answer = await create(**arguments)
    events: list[Any] = [event async for event in answer] if call.streamed else []
    seconds = time.perf_counter() - started
    return Timed(seconds, _verdict(call.api, answer, events), len(events))


def _verdict(api: Api, answer: Any, events: Sequence[Any]) -> Verdict | None:
    verdict_of: Callable[[object], Verdict | None] = import_module(api.adapter).verdict_of
    for part in (answer, *reversed(events)):
        verdict = verdict_of(part)
        if verdict is not None:
            return verdict
    return None


def _openai(params: Mapping[str, Any], policy: Policy | None, asynchronous: bool) -> Any:
    sdk, ours = import_module("openai"), import_module("resay_openai")
    options = {"base_url": params["api_base"], "api_key": params["api_key"], "max_retries": 0}
    if policy is None:
        return (sdk.AsyncOpenAI if asynchronous else sdk.OpenAI)(**options)
    guarded = ours.GuardedAsyncOpenAI if asynchronous else ours.GuardedOpenAI
    return guarded(policy=policy, **options)


def _anthropic(params: Mapping[str, Any], policy: Policy | None, asynchronous: bool) -> Any:
    sdk, ours = import_module("anthropic"), import_module("resay_anthropic")
    kind = sdk.AsyncAnthropic if asynchronous else sdk.Anthropic
    # Its SDK puts the version into the path by itself.
    root = params["api_base"].removesuffix("/v1")
    client = kind(base_url=root, api_key=params["api_key"], max_retries=0)
    return client if policy is None else ours.guard_client(client, policy)


def _messages(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}]


APIS = (
    Api(
        "chat",
        "openai",
        "resay_openai",
        _openai,
        lambda client: client.chat.completions.create,
        lambda question: {"model": _OPENAI_MODEL, "messages": _messages(question)},
    ),
    Api(
        "responses",
        "openai",
        "resay_openai",
        _openai,
        lambda client: client.responses.create,
        lambda question: {"model": _OPENAI_MODEL, "input": question},
    ),
    Api(
        "messages",
        "anthropic",
        "resay_anthropic",
        _anthropic,
        lambda client: client.messages.create,
        lambda question: {
            "model": _ANTHROPIC_MODEL,
            "max_tokens": 300,
            "messages": _messages(question),
        },
    ),
)
"""All APIs that are measured."""
