from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import httpx
import pytest
from starlette.types import Message

from resay_server.gateway import Gateway, GatewayConfig, GatewayLimits, serving
from resay_server.gateway.admission import Admission, OverloadError
from simulation import Hang, SimulatedProvider
from support.gateway import CHAT, POLICY, Gateways, Served, received

HEAD = b"POST %s HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\n"
PATHS = [b"/v1/chat/completions", b"/v1/audio"]
SMALL = {"body_bytes": 2000, "upload_bytes": 2000}


def pieces() -> Iterator[bytes]:
    yield b'{"a": "'
    for _ in range(30):
        yield b"x" * 100


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/files"])
def test_a_body_that_says_it_is_too_long_is_not_read(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(limits=SMALL, pass_through=["/v1/files"])
    response = served.post(path, content=b"x" * 2001)
    assert response.status_code == 413
    wanted = "request_too_large" if path == "/v1/messages" else "invalid_request_error"
    assert response.json()["error"]["type"] == wanted
    assert simulated.calls == 0


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
def test_a_body_that_does_not_say_how_long_it_is_is_counted(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(limits=SMALL, pass_through=["/v1/files"])
    response = served.post(path, content=pieces())
    assert response.status_code == 413
    assert all(record.status is None for record in simulated.requests)


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_does_not_come_is_not_waited_for(gateways: Gateways, path: bytes) -> None:
    served = gateways.start(limits={"body_s": 0.1}, pass_through=["/v1/audio"])
    with served.connected() as connection:
        connection.sendall(HEAD % path + b"Content-Length: 100\r\n\r\n{")
        assert received(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"POST /v1/chat/completions HTTP/1.1\r\nHost: [::1]\r\n"])
def test_headers_that_do_not_come_are_not_waited_for(gateways: Gateways, sent: bytes) -> None:
    served = gateways.start(limits={"header_s": 0.1})
    with served.connected() as connection:
        connection.sendall(sent)
        assert received(connection) == b""
    with served.connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /he")
        assert b"HTTP" not in received(connection)


def test_the_limits_of_the_file_hold_without_being_passed(gateways: Gateways) -> None:
    limits = {"connections": 1, "header_s": 0.1}
    config = GatewayConfig.of({"upstream": {"url": gateways.upstream}, "limits": limits})
    with serving(Gateway(config)) as url:
        served = Served(url, Gateway(config))
        with served.connected() as connection:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: [::1]\r\n")
            assert received(connection) == b""
        with served.connected(), served.connected() as second:
            second.sendall(b"GET /healthz HTTP/1.1\r\nHost: [::1]\r\n\r\n")
            assert received(second).startswith(b"HTTP/1.1 503 ")


def test_headers_that_are_too_long_are_refused(gateways: Gateways) -> None:
    served = gateways.start(limits={"header_bytes": 2000})
    response = served.post(headers={"x-long": "x" * 2000})
    assert response.status_code == 431
    with served.connected() as connection:
        connection.sendall(HEAD % PATHS[0] + b"X-Long: " + b"x" * 100_000)
        assert received(connection).startswith(b"HTTP/1.1 400 ")


@pytest.mark.anyio
async def test_a_client_of_any_server_may_read_nothing_for_as_long_as_the_limit_says() -> None:
    config = {"upstream": {"url": "http://127.0.0.1:9/v1"}, "limits": {"write_s": 0.05}}
    sent: list[str] = []

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await anyio.sleep_forever()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/nowhere",
        "raw_path": b"/nowhere",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    with anyio.fail_after(30):
        await Gateway(GatewayConfig.of(config)).app()(scope, receive, send)
    assert sent == ["http.response.start", "http.response.body"]


def test_an_answer_that_is_too_long_is_not_kept(gateways: Gateways) -> None:
    served = gateways.start(limits={"answer_bytes": 1024})
    response = served.post(json={**CHAT, "n": 5})
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "answer_too_large"
    streamed = served.post(json={**CHAT, "stream": True})
    assert "answer_too_large" in streamed.text
    # What is passed on is not kept, and may be of any length.
    assert httpx.get(f"{served.url}/v1/models").status_code == 200


@pytest.fixture
def full(gateways: Gateways, simulated: SimulatedProvider) -> Iterator[Served]:
    """A gateway with room for one request, which hangs."""
    yield from filled(gateways, simulated, "refuse")


@pytest.fixture
def open_(gateways: Gateways, simulated: SimulatedProvider) -> Iterator[Served]:
    """The same, which lets the others through."""
    yield from filled(gateways, simulated, "unguarded")


def filled(gateways: Gateways, simulated: SimulatedProvider, overload: str) -> Iterator[Served]:
    limits = {"concurrency": 1, "queue": 1, "queue_s": 0.1}
    served = gateways.start(POLICY, limits=limits, overload=overload)
    simulated.set_faults(Hang(first=1))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(served.post)
        simulated.wait_calls(1)
        yield served
        simulated.release()
        assert first.result().json()["hallucination"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_too_much_is_refused_with_when_to_come_again(full: Served, path: str) -> None:
    response = full.post(path)
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    error = response.json()["error"]
    assert error.get("type") == (
        "rate_limit_error" if path == "/v1/messages" else "invalid_request_error"
    )


def test_what_is_not_guarded_needs_no_room(full: Served) -> None:
    assert httpx.get(f"{full.url}/v1/models").status_code == 200
    assert httpx.get(f"{full.url}/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1//chat/completions/"])
def test_too_much_passes_unguarded_where_that_is_wanted(open_: Served, path: str) -> None:
    response = open_.post(path, json=CHAT)
    assert response.status_code == 200
    assert response.headers["x-resay-action"] == "unguarded"
    assert "hallucination" not in response.json()
    (seen,) = open_.seen(1)
    assert (seen.action, seen.verdict, seen.complete) == ("unguarded", None, True)


@pytest.mark.anyio
async def test_so_many_wait_and_no_more() -> None:
    admission = Admission(GatewayLimits(concurrency=1, queue=1, queue_s=60))
    entered = anyio.Event()

    async def wait() -> None:
        async with admission.slot():
            entered.set()

    async with anyio.create_task_group() as tasks:
        async with admission.slot():
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert (admission.in_flight, admission.queued) == (1, 1)
            with pytest.raises(OverloadError):
                await admission.slot().__aenter__()
            assert not entered.is_set()
        await entered.wait()
    assert (admission.in_flight, admission.queued) == (0, 0)


@pytest.mark.anyio
async def test_who_gives_up_waiting_leaves_no_trace() -> None:
    admission = Admission(GatewayLimits(concurrency=1, queue=1, queue_s=60))
    async with admission.slot():
        with anyio.move_on_after(0.01):
            await admission.slot().__aenter__()
        assert admission.queued == 0
    async with admission.slot():
        assert admission.in_flight == 1


@pytest.mark.parametrize("stream", [b"false", b"true"])
@pytest.mark.parametrize("struck", [0, 1])
def test_a_client_that_goes_away_ends_everything(
    gateways: Gateways, simulated: SimulatedProvider, stream: bytes, struck: int
) -> None:
    served = gateways.start(POLICY + "stream_mode: after\n", limits={"concurrency": 1})
    simulated.set_faults(Hang(after=struck))
    body = b'{"model": "m", "stream": %s, "messages": [{"role": "user", "content": "A?"}]}' % stream
    with served.connected() as connection:
        connection.sendall(HEAD % PATHS[0] + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        simulated.wait_calls(struck + 1)
    simulated.wait_idle()
    assert simulated.requests[-1].disconnected
    (seen,) = served.seen(1)
    assert not seen.complete
    simulated.clear_faults()
    # Its place is free again.
    assert served.post().status_code == 200
