"""The tokens that LLMs spend."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler

from resay import Usage
from resay_llamaindex._requests import usage_in

_spent: ContextVar[list[Usage] | None] = ContextVar("resay_llamaindex_spent", default=None)


class UsageRecorder:
    """The usage of the LLM calls made within a context."""

    def __init__(self) -> None:
        # Calls may run in parallel threads; appending is atomic.
        self._items: list[Usage] = []

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count the calls of LLMs that have the callbacks of `counted`."""
        token = _spent.set(self._items)
        try:
            yield
        finally:
            _spent.reset(token)

    @property
    def usage(self) -> Usage | None:
        """The sum, or None if no call was seen."""
        return sum(self._items, Usage(cost_usd=None)) if self._items else None


class _Counter(BaseCallbackHandler):
    def __init__(self) -> None:
        super().__init__([], [])

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        return event_id

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        items = _spent.get()
        if event_type is CBEventType.LLM and items is not None:
            fields = payload or {}
            response = fields.get(EventPayload.RESPONSE) or fields.get(EventPayload.COMPLETION)
            items.append(usage_in(response) or Usage(1, cost_usd=None))

    def start_trace(self, trace_id: str | None = None) -> None:
        pass

    def end_trace(
        self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None
    ) -> None:
        pass


def counted() -> Mapping[str, Any]:
    """Return a field update that makes an LLM's copy count its usage, and call no other callbacks.

    LlamaIndex's callbacks have no tags by which the application's own could tell samples from
    answers.
    """
    return {"callback_manager": CallbackManager([_Counter()])}
