"""Serving a gateway by uvicorn."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

from resay.errors import ConfigurationError, MissingDependencyError
from resay.gateway.config import GatewayConfig, GatewayLimits
from resay.gateway.gateway import Gateway
from resay.gateway.hosts import is_loopback

if TYPE_CHECKING:
    from uvicorn import Config

    from resay.gateway.lifetime import Lifetime

__all__ = ["check_exposure", "listener", "serve", "serving"]

_KEEP_ALIVE_S = 75
_BACKLOG = 2048


def check_exposure(config: GatewayConfig, host: str) -> None:
    """See whether others could use the upstream's key.

    Raises:
        ConfigurationError: They could.
    """
    paid = bool(config.models) or (config.upstream is not None and config.upstream.api_key)
    if paid and not config.keys and not is_loopback(host):
        raise ConfigurationError(
            f"the host {host!r} can be reached from elsewhere, and everybody could use the keys of"
            " the upstream and of the `models`; give clients `keys` of their own, or serve on"
            " 127.0.0.1"
        )


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigurationError: There is no such address, or somebody else uses it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio turns Nagle's algorithm off only where the protocol is spelt out.
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError) as error:
        message = f"cannot serve on {host!r} and port {port!r}: {error}"
        raise ConfigurationError(message) from error
    return found


def serve(
    gateway: Gateway,
    limits: GatewayLimits,
    listening: socket.socket,
    on_start: Callable[[], None] | None = None,
) -> None:
    """Serve until the process is told to stop, and until what was begun is ended.

    SIGHUP has the policies read again.

    Args:
        gateway: The gateway.
        limits: Its limits.
        listening: Where to serve.
        on_start: Called once it can be connected to.

    Raises:
        MissingDependencyError: The extra `server` is not installed.
    """
    server = _server(gateway, limits, on_start)
    asyncio.run(_serve(gateway, server, listening))


@contextmanager
def serving(gateway: Gateway, limits: GatewayLimits | None = None) -> Generator[str]:
    """Serve on 127.0.0.1 and a free port, from a thread, for tests.

    Args:
        gateway: The gateway.
        limits: Its limits.

    Yields:
        Its address, without a path.

    Raises:
        MissingDependencyError: The extra `server` is not installed.
        ResayError: It could not be started.
    """
    listening = listener("127.0.0.1", 0)
    started: Future[None] = Future()
    server = _server(gateway, limits or GatewayLimits(), lambda: started.set_result(None))
    thread = threading.Thread(target=_run, args=(gateway, server, listening, started), daemon=True)
    thread.start()
    try:
        started.result()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop()
        thread.join()
        listening.close()


def _run(
    gateway: Gateway, server: Lifetime, listening: socket.socket, started: Future[None]
) -> None:
    try:
        asyncio.run(_serve(gateway, server, listening))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


async def _serve(gateway: Gateway, server: Lifetime, listening: socket.socket) -> None:
    # Before uvicorn, which says only that the application did not start.
    await gateway.prepare()
    reloading: set[asyncio.Task[bool]] = set()

    def reload() -> None:
        task = asyncio.ensure_future(gateway.policies.reload())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    # Windows has no such signal, and only the main thread is told of any.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    await server.serve(sockets=[listening])


def _server(
    gateway: Gateway, limits: GatewayLimits, on_start: Callable[[], None] | None = None
) -> Lifetime:
    try:
        from resay.gateway.lifetime import Lifetime
    except ImportError as error:
        raise MissingDependencyError("uvicorn", "server", "the gateway") from error

    def drain() -> None:
        gateway.draining = True

    return Lifetime(_config(gateway, limits), on_start, drain)


def _config(gateway: Gateway, limits: GatewayLimits) -> Config:
    import uvicorn

    from resay.gateway.protocol import protocol_of

    return uvicorn.Config(
        gateway.app(),
        http=protocol_of(limits.header_s, limits.write_s),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,  # the upstream's is passed on
        backlog=_BACKLOG,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.header_bytes + limits.header_bytes // 2,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(limits.drain_s) or 1,
    )
