"""What each of the APIs that LiteLLM serves looks like to the guard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from resay.providers.base import Chunk, Completion
from resay.query import Query
from resay.verdict import Usage

__all__ = ["Data", "Shape", "Wire"]

Data = Mapping[str, Any]
"""A request as LiteLLM's hooks see it, or a verdict as JSON-ready values."""


class Shape(Protocol):
    """The requests and whole responses of one API."""

    @property
    def method(self) -> str:
        """What the router calls it."""
        ...

    @property
    def function(self) -> str:
        """What litellm itself calls it."""
        ...

    @property
    def takes_n(self) -> bool:
        """Whether a request can ask for several answers."""
        ...

    def fits(self, data: Data, response: object) -> bool:
        """Return whether a response, or the first piece of a stream, is one of this API's."""
        ...

    def read(self, data: Data) -> Query:
        """Return a request as the guard understands it; its `model` is None."""
        ...

    def asked_again(self, data: Data, query: Query) -> dict[str, Any]:
        """Return the request for a sample, without the model.

        Args:
            data: The main call's request.
            query: Its query as it was changed for sampling.
        """
        ...

    def completions(self, response: Any) -> tuple[Completion, ...]:
        """Return the answers in a response."""
        ...

    def usage(self, response: Any) -> Usage:
        """Return what a response cost, as one call."""
        ...

    def annotated(self, response: Any, verdict: Data, *, first_only: bool) -> Any:
        """Return a copy of a response with its verdict.

        Args:
            response: The response.
            verdict: The verdict.
            first_only: Whether further choices are left out.
        """
        ...

    def withheld(self, response: Any, message: str, verdict: Data) -> Any:
        """Return a response with a message in place of all that the model wrote."""
        ...

    def wire(self, *, first_only: bool) -> Wire:
        """Return what reads and writes one stream, without further choices if so wanted."""
        ...


class Wire(Protocol):
    """The pieces of one stream."""

    def feed(self, raw: Any) -> list[Any]:
        """Return the pieces that are complete with what has come."""
        ...

    def finish(self) -> list[Any]:
        """Return what is left when nothing more comes."""
        ...

    def chunk(self, piece: Any) -> Chunk:
        """Return what a piece adds to the answer."""
        ...

    def ends(self, piece: Any) -> bool:
        """Return whether a piece ends the answer, and so waits for the verdict."""
        ...

    def tells_more(self, piece: Any) -> bool:
        """Return whether a piece has words that are no text of the answer: thoughts, say."""
        ...

    def cut(self, piece: Any, text: str) -> Any:
        """Return a piece that adds this text instead."""
        ...

    def concluded(self, seen: Sequence[Any], held: Sequence[Any], verdict: Data) -> list[Any]:
        """Return the end of a stream with its verdict.

        Args:
            seen: All pieces of the stream.
            held: Those from the first that ends the answer on.
            verdict: The verdict.
        """
        ...

    def notice(self, seen: Sequence[Any], sent: Sequence[Any], text: str) -> list[Any]:
        """Return pieces that say something in place of what is withheld.

        Args:
            seen: The pieces of the stream so far.
            sent: Those that the reader has.
            text: What to say.
        """
        ...

    def stopping(self, seen: Sequence[Any], sent: Sequence[Any], verdict: Data) -> list[Any]:
        """Return the end of a stream whose answer, or the rest of it, was withheld.

        Args:
            seen: All pieces of the stream.
            sent: Those that the reader has, the notice included.
            verdict: The verdict, without words of the answer.
        """
        ...
