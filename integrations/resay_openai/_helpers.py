"""The SDK's helper for streams of chat completions, whose final object has its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from openai.lib.streaming.chat import (
    AsyncChatCompletionStreamManager,
    ChatCompletionStreamManager,
)

from resay.adapters import VERDICT_KEY

__all__ = ["with_final_verdicts"]

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
