"""HTTP/1.1 as uvicorn speaks it, with limits on how long a client may say or take nothing."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["protocol_of"]


class _Protocol(H11Protocol):
    # Its lines have the query, where some clients put their key.
    access_log: Any = property(lambda _: False, lambda _, __: None)
    header_s: ClassVar[float]
    write_s: ClassVar[float]
    _late: asyncio.TimerHandle | None = None
    _deaf: asyncio.TimerHandle | None = None
    _left = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        super().connection_made(transport)
        # So that it is told of all that the client has not taken yet.
        transport.set_write_buffer_limits(high=0)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._between:
            self._forget()
        elif self._late is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._listen()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._rest()

    @property
    def _between(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _expect(self) -> None:
        # uvicorn waits for the headers of a request as long as it takes.
        self._late = self.loop.call_later(self.header_s, self._close_if_late)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_if_late(self) -> None:
        self._late = None
        if self._between:
            self.transport.close()

    def _listen(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        self._deaf = self.loop.call_later(self.write_s, self._abort_if_deaf)

    def _rest(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _abort_if_deaf(self) -> None:
        if self.transport.get_write_buffer_size() < self._left:
            self._listen()
        else:
            # To close it would wait for the client to take the rest, for ever.
            self.transport.abort()


def protocol_of(header_s: float, write_s: float) -> type[asyncio.Protocol]:
    """Return the protocol.

    Args:
        header_s: How long the headers of a request may take, in seconds.
        write_s: How long a client may take nothing of an answer, in seconds.
    """
    return type("Protocol", (_Protocol,), {"header_s": header_s, "write_s": write_s})
