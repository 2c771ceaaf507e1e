"""Checking answers that are there, and such as are coming in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from resay.actions import Answer
from resay.adapting import aparts_of, marked, verdict_data
from resay.errors import HallucinationBlocked
from resay.guard import Guard
from resay.policy import StreamMode
from resay.query import Query
from resay.sources import Sources
from resay_litellm._outcome import can_block, failed, of_several
from resay_litellm._providers import Answered, Judge, Relayed, Sampler
from resay_litellm._relay import Relay
from resay_litellm._router import Target
from resay_litellm._shape import Data, Shape, Wire

__all__ = ["Request", "checked", "guarded"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request that LiteLLM has sent.

    Attributes:
        guard: Who checks the answer.
        shape: The API by which it was asked for.
        data: The request as hooks see it.
        target: Who answers it.
    """

    guard: Guard
    shape: Shape
    data: Data
    target: Target

    @property
    def query(self) -> Query:
        """What the guard needs to know of it."""
        query = self.shape.read(self.data)
        # Who asks nobody again does no harm.
        return query if self.guard.needing("samples") else replace(query, unchecked=None)

    @property
    def several(self) -> int:
        """How many answers were asked for at once."""
        n = self.data.get("n")
        return n if self.shape.takes_n and isinstance(n, int) else 1

    def sources(self, main: Answered | Relayed) -> Sources:
        """Return who answers what."""
        sampler = Sampler(self.shape, self.data, self.target)
        return Sources(main, sampler, Judge(self.target), "litellm")


async def checked(request: Request, response: Any) -> Answer:
    """Check a response.

    Raises:
        HallucinationBlocked: It is withheld and the policy says `exit: raise`.
    """
    shape, guard = request.shape, request.guard
    completions = shape.completions(response)
    main = Answered(completions[0], shape.usage(response))
    try:
        with marked():
            answer = await guard.arun(request.query, request.sources(main))
    except HallucinationBlocked:
        raise
    # Whatever breaks in here is the guard's, and the answer is there.
    except Exception as error:
        answer = guard.apply(completions[0].text, failed(error))
    return of_several(answer, len(completions))


async def guarded(
    request: Request, first: Any, stream: AsyncIterator[Any]
) -> AsyncGenerator[Any | Answer]:
    """Check a stream.

    Args:
        request: The request.
        first: The first thing that came.
        stream: The rest of it.

    Yields:
        What the reader gets, and the answer at last.

    Raises:
        HallucinationBlocked: It is withheld and the policy says `exit: raise`.
        Exception: What broke the stream, as it is.
    """
    blocking = can_block(request.guard.policy)
    # What nobody checks does not pass a policy that withholds.
    wire = request.shape.wire(first_only=blocking)
    async with Relay(first, stream, wire) as relay:
        release = _Release(relay, blocking)
        try:
            async with aclosing(_released(request, relay, release)) as pieces:
                async for piece in pieces:
                    yield piece
            answer = release.answer
        except HallucinationBlocked:
            await relay.drain()
            raise
        # Whatever breaks in here and is not the stream's own is the guard's.
        except Exception as error:
            if error is relay.failure:
                raise
            async with aclosing(_rest(request, relay, release)) as pieces:
                async for piece in pieces:
                    yield piece
            answer = request.guard.apply(relay.text, failed(error))
        assert answer is not None  # noqa: S101 - a stream of parts ends with it
        answer = of_several(answer, request.several)
        async with aclosing(_ending(wire, relay, release, answer)) as pieces:
            async for piece in pieces:
                yield piece
        yield answer


async def _released(request: Request, relay: Relay, release: _Release) -> AsyncGenerator[Any]:
    """Yield what the guard lets through, and leave its answer in `release`."""
    stream = request.guard.arun_stream(
        request.query,
        request.sources(Relayed(relay)),
        mode=_mode(request),
        every_chunk=True,
    )
    async with aclosing(aparts_of(stream, marked())) as parts:
        async for part in parts:
            if isinstance(part, Answer):
                release.answer = part
            elif not part.notice:
                for piece in release.text(len(part.text)):
                    yield piece


def _mode(request: Request) -> StreamMode | None:
    # Choices come mixed, and only the first is read: none of them would be held back rightly.
    if request.several > 1 and not can_block(request.guard.policy):
        return "after"
    return None


async def _rest(request: Request, relay: Relay, release: _Release) -> AsyncGenerator[Any]:
    """Yield the stream without a guard, unless the policy says otherwise."""
    if request.guard.policy.on_error == "block":
        await relay.drain()
        return
    async with aclosing(relay.pieces(len(relay.seen))) as coming:
        for piece in release.everything():
            yield piece
        async for _ in coming:
            for piece in release.everything():
                yield piece


async def _ending(
    wire: Wire, relay: Relay, release: _Release, answer: Answer
) -> AsyncGenerator[Any]:
    verdict = verdict_data(answer.verdict, answer.action)
    if not answer.blocked:
        for piece in release.everything():
            yield piece
        for piece in wire.concluded(relay.seen, release.held, verdict):
            yield piece
        return
    for piece in release.also(wire.notice(relay.seen, release.sent, answer.text)):
        yield piece
    # To the end, because LiteLLM counts what a stream cost when it is read.
    await relay.drain()
    for piece in wire.stopping(relay.seen, release.sent, verdict):
        yield piece


class _Release:
    """Gives a stream's own pieces to its reader, up to the text that was let through.

    Args:
        relay: The stream.
        can_block: Whether the rest may be withheld.

    Attributes:
        sent: What the reader has.
        answer: The guard's answer, once it is there.
    """

    def __init__(self, relay: Relay, can_block: bool) -> None:
        self.sent: list[Any] = []
        self.answer: Answer | None = None
        self._relay = relay
        self._wire = relay.wire
        self._can_block = can_block
        self._position = 0
        self._credit = 0
        self._cut = 0

    @property
    def held(self) -> list[Any]:
        """What comes after all that was given."""
        return self._relay.seen[self._position :]

    def text(self, count: int) -> Iterator[Any]:
        """Yield the pieces that so many more characters let through."""
        self._credit += count
        while (piece := self._next()) is not None and not self._waits(piece):
            left = len(self._wire.chunk(piece).text) - self._cut
            if left > self._credit:
                if self._credit:
                    yield self._part(piece, self._credit)
                    self._cut += self._credit
                    self._credit = 0
                return
            self._credit -= left
            yield self._whole(piece)

    def everything(self) -> Iterator[Any]:
        """Yield all that has come, up to the end that waits for the verdict."""
        while (piece := self._next()) is not None:
            yield self._whole(piece)

    def also(self, pieces: list[Any]) -> list[Any]:
        """Note further pieces that the reader gets."""
        self.sent.extend(pieces)
        return pieces

    def _next(self) -> Any:
        seen = self._relay.seen
        if self._position == len(seen) or self._wire.ends(seen[self._position]):
            return None
        return seen[self._position]

    def _waits(self, piece: Any) -> bool:
        # Thoughts come before the text, and may hold the words that are withheld from it later.
        return self._can_block and self._wire.tells_more(piece)

    def _whole(self, piece: Any) -> Any:
        given = self._part(piece, None) if self._cut else piece
        self._cut = 0
        self._position += 1
        self.sent.append(given)
        return given

    def _part(self, piece: Any, count: int | None) -> Any:
        text = self._wire.chunk(piece).text[self._cut :][:count]
        part = self._wire.cut(piece, text)
        if count is not None:
            self.sent.append(part)
        return part
