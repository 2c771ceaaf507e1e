"""Responses of OpenAI's SDK before it makes anything of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from resay.adapters.http import with_body
from resay.providers.apis import Body

__all__ = ["Received", "is_receiving", "receiving"]

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
