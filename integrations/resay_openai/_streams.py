"""Streams of OpenAI's SDK, with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, cast

from openai.lib.streaming.chat import AsyncChatCompletionStreamManager, ChatCompletionStreamManager

from resay.adapters.apis import Body, Event
from resay.adapters.http import Change
from resay.adapters.verdicts import VERDICT_KEY
from resay.errors import ResayError
from resay_openai._errors import sdk_error


class SdkErrors(Change):
    """Makes the errors that end a stream errors of the SDK too.

    Args:
        request: The HTTP request of the stream.
    """

    def __init__(self, request: Any) -> None:
        self._request = request

    def error(self, error: ResayError) -> ResayError:
        """Return the error as one of the SDK's too."""
        return sdk_error(error, self._request)


class VerdictInDeltas(SdkErrors):
    """Adds the verdict to the deltas of an event too."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return the event, with the verdict repeated in its deltas."""
        choices = event.body.get("choices")
        if VERDICT_KEY not in event.body or not isinstance(choices, list):
            return (event,)
        changed = [
            _with_verdict_in_delta(choice, event.body[VERDICT_KEY])
            for choice in cast("list[Any]", choices)
        ]
        return (Event({**event.body, "choices": changed}, event.name),)


def _with_verdict_in_delta(choice: Body, verdict: Any) -> Body:
    own = choice.get(VERDICT_KEY, verdict)
    return {**choice, "delta": {**(choice.get("delta") or {}), VERDICT_KEY: own}}


def with_final_verdicts(chat: Any) -> Any:
    """Make the streams of one client's `chat.completions.stream` end with a verdict.

    The message that the SDK assembles from chunks keeps only the fields of their deltas.

    Args:
        chat: The client's own resource, which is modified. Its class is not.
    """
    completions: Any = chat.completions
    stream: Callable[..., Any] = completions.stream

    @wraps(stream)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        manager = stream(*args, **kwargs)
        is_sync = isinstance(manager, ChatCompletionStreamManager)
        manager.__class__ = _Manager if is_sync else _AsyncManager
        return manager

    completions.stream = wrapper
    return chat


class _Manager(ChatCompletionStreamManager[Any]):
    def __enter__(self) -> Any:
        stream: Any = super().__enter__()
        final: Callable[[], Any] = stream.get_final_completion
        stream.get_final_completion = wraps(final)(lambda: _with_verdicts(final()))
        return stream


class _AsyncManager(AsyncChatCompletionStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        final: Callable[[], Any] = stream.get_final_completion

        @wraps(final)
        async def wrapper() -> Any:
            return _with_verdicts(await final())

        stream.get_final_completion = wrapper
        return stream


def _with_verdicts(completion: Any) -> Any:
    """Copy the verdicts of a completion to where `create` puts them."""
    verdicts: list[Mapping[str, Any]] = []
    for choice in completion.choices:
        verdict = getattr(choice.message, VERDICT_KEY, None)
        if verdict is not None:
            setattr(choice, VERDICT_KEY, verdict)
            verdicts.append(verdict)
    if verdicts:
        setattr(completion, VERDICT_KEY, max(verdicts, key=_severity))
    return completion


def _severity(verdict: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    decision = verdict.get("decision")
    return verdict.get("action") == "block", decision == "flagged", decision == "inconclusive"
