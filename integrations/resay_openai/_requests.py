"""Requests of OpenAI's SDK: which of them are guarded, and how others like them are made."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from openai._models import FinalRequestOptions
from openai._types import NotGiven, Omit
from openai.lib.streaming.chat import (
    AsyncChatCompletionStreamManager,
    ChatCompletionStreamManager,
)
from typing_extensions import Self

from resay.adapters import (
    VERDICT_KEY,
    OnVerdict,
    PolicyLike,
    Relay,
    check_client_policy,
    guard_of,
    inside_guard,
)
from resay.adapters.http import Change, with_body
from resay.guard import Guard
from resay.providers.apis import CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, Api, Body, Event, Request
from resay.providers.apis.reading import listed, mapping

# Whether the SDK is to hand over responses as they came, before it makes anything of them.
_receiving: ContextVar[bool] = ContextVar("resay_openai_receiving", default=False)


@contextmanager
def receiving() -> Generator[None, None, None]:
    """Have the SDK hand over responses as `Received`."""
    token = _receiving.set(True)
    try:
        yield
    finally:
        _receiving.reset(token)


class Received:
    """What the SDK has of a response before it makes anything of it.

    Attributes:
        response: The response of httpx or httpx2.
        rest: What else the SDK knows of it.
    """

    def __init__(self, **processing: Any) -> None:
        self.response: Any = processing.pop("response")
        self.rest = processing

    def with_body(self, body: Body) -> Received:
        """Return the same with another body; as it is where there is none to give."""
        if body:
            self.response = with_body(self.response, body)
        return self


def is_receiving() -> bool:
    """Return whether it has to."""
    return _receiving.get()


Relays = Mapping[str, tuple[Api, Relay]]
# The header by which the SDK's methods tell each other what to return.
_INTERNAL = "x-stainless-"
_HELPER = "x-stainless-helper-method"
# Set around what is asked beside a main call, so that its request is sent once: Resay has retries
# of its own.
_beside: ContextVar[bool] = ContextVar("resay_openai_beside", default=False)


@contextmanager
def beside() -> Generator[None, None, None]:
    """Mark what is asked meanwhile as a sample, or a judge's question."""
    token = _beside.set(True)
    try:
        yield
    finally:
        _beside.reset(token)


def is_beside() -> bool:
    """Return whether this is a sample, or a judge's question."""
    return _beside.get()


def relays_of(guard: Guard) -> Relays:
    """Return who guards what, by the request's path."""
    return {
        api.path: (api, Relay(guard, api)) for api in (CHAT_COMPLETIONS, RESPONSES, COMPLETIONS)
    }


def body_of(options: FinalRequestOptions) -> Body | None:
    """Return what a request holds; None where it is not an object that is posted."""
    data: object = options.json_data
    if options.method.lower() != "post" or not isinstance(data, Mapping) or options.files:
        return None
    sent = {**cast("Body", data), **(options.extra_json or {})}
    return {k: v for k, v in sent.items() if not isinstance(v, (NotGiven, Omit))}


def with_sent(options: FinalRequestOptions, body: Body) -> FinalRequestOptions:
    """Return a request with another body."""
    return options.model_copy(update={"json_data": body, "extra_json": None})


def as_sent(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request as it is sent, once where it is not the main call."""
    return options.model_copy(update={"max_retries": 0}) if is_beside() else options


def without_verdicts(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request whose messages are as the provider knows them.

    The message that the SDK puts together from a stream has its verdict, and goes on as it is.
    """
    data = mapping(options.json_data)
    messages = listed(data.get("messages"))
    if not any(VERDICT_KEY in mapping(message) for message in messages):
        return options
    cleaned = [_without_verdict(message) for message in messages]
    return options.model_copy(update={"json_data": {**data, "messages": cleaned}})


def _without_verdict(message: Any) -> Any:
    known = mapping(message)
    return {k: v for k, v in known.items() if k != VERDICT_KEY} if known else message


def accumulates(options: FinalRequestOptions) -> bool:
    """Return whether the SDK puts a streamed answer together for the user.

    What it makes of chunks keeps only what their deltas say.
    """
    helper = [value for name, value in _headers(options).items() if name.lower() == _HELPER]
    return any("chat.completions.stream" in str(value) for value in helper)


def _headers(options: FinalRequestOptions) -> Mapping[str, Any]:
    given = None if isinstance(options.headers, NotGiven) else options.headers
    return cast("Mapping[str, Any]", given or {})


class ForAccumulating(Change):
    """Has the verdict stand in the deltas of an event too."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return an event, whose verdict stands in its deltas too."""
        choices = event.body.get("choices")
        if VERDICT_KEY not in event.body or not isinstance(choices, list):
            return (event,)
        told = [
            _told_in_delta(choice, event.body[VERDICT_KEY]) for choice in cast("list[Any]", choices)
        ]
        return (Event({**event.body, "choices": told}, event.name),)


def _told_in_delta(choice: Body, verdict: Any) -> Body:
    own = choice.get(VERDICT_KEY, verdict)
    return {**choice, "delta": {**(choice.get("delta") or {}), VERDICT_KEY: own}}


def create_of(client: Any, api: Api) -> Callable[..., Any]:
    """Return the public method of a client by which an API is asked."""
    # The public ones, looked up anew: that is where tracers sit.
    if api is RESPONSES:
        return client.responses.create
    return client.completions.create if api is COMPLETIONS else client.chat.completions.create


def arguments(
    create: Callable[..., Any], body: Body, options: FinalRequestOptions
) -> dict[str, Any]:
    """Return how to call a method for a request like another.

    Args:
        create: The method.
        body: What to ask.
        options: The other request, whose headers, query and timeout are kept.
    """
    known = _parameters(getattr(create, "__func__", create))
    call = {name: value for name, value in body.items() if name in known}
    further = {name: value for name, value in body.items() if name not in known}
    kept = {
        k: v
        for k, v in _headers(options).items()
        if not k.lower().startswith(_INTERNAL) and k.lower() != "idempotency-key"
    }
    call |= {"extra_body": further} if further else {}
    call |= {"extra_headers": kept} if kept else {}
    call |= {"extra_query": options.params} if options.params else {}
    return call | ({} if isinstance(options.timeout, NotGiven) else {"timeout": options.timeout})


@lru_cache(maxsize=16)
def _parameters(create: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(create).parameters)


def source_of(client: Any) -> str:
    """Return what tells a client's answers from those of one that asks elsewhere."""
    who = (client.api_key, client.organization, client.project)
    payer = hashlib.sha256(repr(who).encode()).hexdigest()
    return f"openai {client.base_url} {payer}"


C = TypeVar("C")


def with_final_verdicts(chat: C) -> C:
    """Have the streams of one client's `chat.completions.stream` end with a verdict.

    What the SDK puts together of chunks keeps what their deltas say, and nothing of all else.

    Args:
        chat: The client's own resource, which is changed. Its class is left alone.
    """
    completions: Any = cast("Any", chat).completions
    stream: Callable[..., Any] = completions.stream

    @wraps(stream)
    def telling(*args: Any, **kwargs: Any) -> Any:
        manager = stream(*args, **kwargs)
        known = isinstance(manager, ChatCompletionStreamManager)
        manager.__class__ = _Manager if known else _AsyncManager
        return manager

    completions.stream = telling
    return chat


class _Manager(ChatCompletionStreamManager[Any]):
    def __enter__(self) -> Any:
        stream: Any = super().__enter__()
        final: Callable[[], Any] = stream.get_final_completion
        stream.get_final_completion = wraps(final)(lambda: _told(final()))
        return stream


class _AsyncManager(AsyncChatCompletionStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        final: Callable[[], Any] = stream.get_final_completion

        @wraps(final)
        async def telling() -> Any:
            return _told(await final())

        stream.get_final_completion = telling
        return stream


def _told(completion: Any) -> Any:
    """Put the verdicts of a completion where they are without the helper."""
    found: list[Mapping[str, Any]] = []
    for choice in completion.choices:
        verdict = getattr(choice.message, VERDICT_KEY, None)
        if verdict is not None:
            setattr(choice, VERDICT_KEY, verdict)
            found.append(verdict)
    if found:
        setattr(completion, VERDICT_KEY, max(found, key=_gravity))
    return completion


def _gravity(verdict: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    decision = verdict.get("decision")
    return verdict.get("action") == "block", decision == "flagged", decision == "inconclusive"


class Guarded:
    """What guarded clients have in common."""

    _guard: Guard
    _relays: Relays

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        **kwargs: Any,
    ) -> None:
        self._take(guard_of(policy, retriever, on_verdict))
        super().__init__(**kwargs)

    def _take(self, guard: Guard) -> None:
        check_client_policy(guard, "a client")
        self._guard = guard
        self._relays = relays_of(guard)

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._guard

    def with_policy(
        self,
        policy: PolicyLike,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> Self:
        """Return the same client with another policy.

        Args:
            policy: The policy.
            retriever: Where documents are found, if it regenerates and does not say so itself.
            on_verdict: Who is told of verdicts. Who was told until now is not, unless the guard
                that is given tells them.
        """
        client: Any = self
        return client.copy(_extra_kwargs={"policy": guard_of(policy, retriever, on_verdict)})

    if not TYPE_CHECKING:
        # For type checkers these are the SDK's own, with all their parameters.

        @cached_property
        def chat(self) -> Any:
            return with_final_verdicts(super().chat)

        def copy(self, *, _extra_kwargs: Any = None, **kwargs: Any) -> Any:
            further = {"policy": self._guard, **(_extra_kwargs or {})}
            copied = super().copy(_extra_kwargs=further, **kwargs)
            # A class of somebody's own may make a copy as it was without us.
            known = isinstance(copied, Guarded)
            return copied if known else guarded_as(type(self), copied, guard_of(further["policy"]))

        with_options = copy

    def reading(self, options: FinalRequestOptions) -> tuple[Api, Relay, Request] | None:
        """Return how a request is guarded; None where it is not."""
        known = self._relays.get(options.url)
        if known is None or inside_guard():
            return None
        body = body_of(options)
        return None if body is None else (*known, known[1].read(body))


def guarded_as(kind: type[Any], client: Any, guard: Guard) -> Any:
    """Make a guarded client of what another has become.

    Args:
        kind: Its class. Constructors of subclasses take what they like, so none is called.
        client: The other, which nobody uses from now on.
        guard: Who checks and acts.
    """
    guarded: Any = object.__new__(kind)
    guarded.__dict__ |= client.__dict__
    guarded._take(guard)  # noqa: SLF001 - it is one of ours
    return guarded
