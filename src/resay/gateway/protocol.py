"""HTTP/1.1 as uvicorn speaks it, with a limit on how long the headers of a request may take."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["protocol_of"]


class _Protocol(H11Protocol):
    # Its lines have the query, where some clients put their key.
    access_log: Any = property(lambda _: False, lambda _, __: None)
    header_s: ClassVar[float]
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._between:
            self._forget()
        elif self._late is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

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


def protocol_of(header_s: float) -> type[asyncio.Protocol]:
    """Return the protocol.

    Args:
        header_s: How long the headers of a request may take, in seconds.
    """
    return type("Protocol", (_Protocol,), {"header_s": header_s})
