"""Streams of OpenAI's SDK, with their verdicts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, cast

from openai import ContentFilterFinishReasonError
from openai.lib.streaming.chat import AsyncChatCompletionStreamManager, ChatCompletionStreamManager
from openai.lib.streaming.responses import (
    AsyncResponseStream,
    AsyncResponseStreamManager,
    ResponseStream,
    ResponseStreamManager,
)
from openai.types.responses import ParsedResponse

from resay.adapters.apis import Body, Event, mapping
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

    The message that the SDK assembles from chunks keeps only the fields of their deltas, and of a
    filtered answer, as a withheld one is, it returns none.

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

        @wraps(final)
        def wrapper() -> Any:
            try:
                return _with_verdicts(final())
            except ContentFilterFinishReasonError:
                return _withheld_completion(stream)

        stream.get_final_completion = wrapper
        return stream


class _AsyncManager(AsyncChatCompletionStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        final: Callable[[], Any] = stream.get_final_completion

        @wraps(final)
        async def wrapper() -> Any:
            try:
                return _with_verdicts(await final())
            except ContentFilterFinishReasonError:
                return _withheld_completion(stream)

        stream.get_final_completion = wrapper
        return stream


def _withheld_completion(stream: Any) -> Any:
    """Return the withheld answer that a stream ended with.

    Raises:
        ContentFilterFinishReasonError: The provider filtered the answer.
    """
    completion = _with_verdicts(stream.current_completion_snapshot)
    if not _is_withheld(completion):
        raise ContentFilterFinishReasonError
    return completion


def with_final_responses(responses: Any) -> Any:
    """Make the streams of one client's `responses.stream` return withheld responses too.

    Of an incomplete response, as a withheld one is, the SDK's return none.

    Args:
        responses: The client's own resource, which is modified. Its class is not.
    """
    stream: Callable[..., Any] = responses.stream

    @wraps(stream)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        manager = stream(*args, **kwargs)
        is_sync = isinstance(manager, ResponseStreamManager)
        manager.__class__ = _ResponseManager if is_sync else _AsyncResponseManager
        return manager

    responses.stream = wrapper
    return responses


class _ResponseManager(ResponseStreamManager[Any]):
    def __enter__(self) -> Any:
        stream: Any = super().__enter__()
        stream.__class__ = _ResponseStream
        return stream


class _AsyncResponseManager(AsyncResponseStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        stream.__class__ = _AsyncResponseStream
        return stream


class _ResponseStream(ResponseStream[Any]):
    _withheld: Any = None

    def __next__(self) -> Any:
        event = super().__next__()
        self._withheld = _withheld_in(event) or self._withheld
        return event

    def __iter__(self) -> Iterator[Any]:
        for event in super().__iter__():
            self._withheld = _withheld_in(event) or self._withheld
            yield event

    def get_final_response(self) -> Any:
        self.until_done()
        return self._withheld or super().get_final_response()


class _AsyncResponseStream(AsyncResponseStream[Any]):
    _withheld: Any = None

    async def __anext__(self) -> Any:
        event = await super().__anext__()
        self._withheld = _withheld_in(event) or self._withheld
        return event

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for event in super().__aiter__():
            self._withheld = _withheld_in(event) or self._withheld
            yield event

    async def get_final_response(self) -> Any:
        await self.until_done()
        return self._withheld or await super().get_final_response()


def _withheld_in(event: Any) -> Any:
    """Return the withheld response in the last event of a stream; None if there is none."""
    if event.type != "response.incomplete" or not _is_withheld(event.response):
        return None
    return ParsedResponse[Any].construct(**event.response.to_dict())


def _is_withheld(answer: Any) -> bool:
    verdict: object = getattr(answer, VERDICT_KEY, None)
    return mapping(verdict).get("action") == "block"


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
