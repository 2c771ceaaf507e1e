"""What a request held is freed when it is over, not when Python's garbage collector runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from resay.adapters.relay import Relay
from resay_server.gateway.guarded_request import GuardedRequest
from resay_server.gateway.http_connections import Response
from support.gateway import CHAT, Gateways


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """What only the garbage collector finds; it does not run meanwhile."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("stream", [False, True])
def test_a_guarded_request_leaves_nothing_to_the_garbage_collector(
    gateways: Gateways, garbage: list[object], stream: bool
) -> None:
    served = gateways.start()
    assert served.post(json={**CHAT, "stream": stream}).is_success
    assert served.seen(1)[0].complete
    # What is still running holds on to what it needs.
    gateways.stop()
    gc.collect()
    assert garbage, "the server and the client leave some"
    left = [item for item in garbage if isinstance(item, (GuardedRequest, Relay, Response))]
    assert not left
