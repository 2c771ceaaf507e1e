"""What guarded clients have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from openai._models import FinalRequestOptions
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
from resay.guard import Guard
from resay.providers.apis import Api, Request
from resay_openai._requests import Relays, body_of, relays_of

__all__ = ["Guarded", "guarded_as", "with_final_verdicts"]

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

    def _reading(self, options: FinalRequestOptions) -> tuple[Api, Relay, Request] | None:
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
