"""What the formats of LiteLLM's objects share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from resay.providers.apis import Event

__all__ = ["HIDDEN", "Piece", "field", "hidden_of", "pieces_in"]

HIDDEN = "_hidden_params"
"""Where LiteLLM notes beside a response what the proxy's headers are made of."""


@dataclass(frozen=True, slots=True)
class Piece(Event):
    """An event that was read of a piece of a stream.

    Attributes:
        piece: The piece.
    """

    piece: Any = None


async def pieces_in(pieces: AsyncIterator[Any], *, mode: str) -> AsyncGenerator[Piece]:
    """Read LiteLLM's pieces as events.

    Args:
        pieces: The pieces.
        mode: Into which values pydantic is to put them, `json` or `python`.
    """
    async for piece in pieces:
        yield Piece(piece.model_dump(mode=mode, exclude_none=True, warnings=False), piece=piece)


def hidden_of(response: object, *, withheld: bool) -> dict[str, Any]:
    """Return LiteLLM's notes beside a response, without the words of one that is withheld."""
    hidden: Mapping[str, Any] = field(response, HIDDEN) or {}
    return {k: v for k, v in hidden.items() if not (withheld and k == "original_response")}


def field(holder: object, name: str) -> Any:
    """Return a field of an object or of a mapping, None where it has none."""
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    return getattr(holder, name, None)
