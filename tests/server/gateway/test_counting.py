"""Streams are asked what they cost, and clients that did not ask are not told."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from simulation import SimulatedProvider
from support.attacks import ANSWER, Received, Upstream, http_response, stream_of
from support.gateway import ASKED, CHAT, POLICY, Gateways, Served

STREAM = {**CHAT, "stream": True}
TEXT = {"model": "simulated", "prompt": CHAT["messages"][0]["content"], "max_tokens": 300}
ASKING = {"stream_options": {"include_usage": True}}
PIECE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "simulated"}


def events_in(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/chat/completions", STREAM), ("/v1/completions", {**TEXT, "stream": True})],
)
def test_a_stream_tells_operators_what_it_cost(
    gateways: Gateways, path: str, body: dict[str, Any], mode: str
) -> None:
    served = gateways.start(f"{POLICY}stream_mode: {mode}\n")
    events = events_in(served.post(path, json=body).text)
    assert all(event["choices"] and not event.get("usage") for event in events)
    (seen,) = served.seen(1)
    assert seen.usage.prompt_tokens > 0
    assert seen.usage.completion_tokens > 0


def test_a_stream_that_is_left_alone_tells_it_too(gateways: Gateways) -> None:
    served = gateways.start(POLICY + "when: {roles: [tool]}\n")
    events = events_in(served.post(json=STREAM).text)
    assert all(event["choices"] for event in events)
    (seen,) = served.seen(1)
    assert seen.verdict is not None
    assert seen.verdict.skipped
    assert seen.usage.completion_tokens > 0


def test_a_client_that_asks_is_told(gateways: Gateways) -> None:
    events = events_in(gateways.start().post(json={**STREAM, **ASKING}).text)
    assert [event["usage"]["total_tokens"] > 0 for event in events if not event["choices"]] == [
        True
    ]


def test_a_client_that_wants_none_is_obeyed(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    none = {"stream_options": {"include_usage": False}}
    gateways.start().post(json={**STREAM, **none})
    assert simulated.requests[0].body["stream_options"] == {"include_usage": False}


class Strict(BaseHTTPRequestHandler):
    """Refuses a parameter, as some servers do."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked)  # pyright: ignore[reportAttributeAccessIssue] - set below
        if "stream_options" in asked:
            return self._say(400, "application/json", b'{"error": {"message": "no"}}')
        if not asked.get("stream"):
            message = {"role": "assistant", "content": "It is so. It was then."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {**PIECE, "object": "chat.completion", "choices": [choice]}
            return self._say(200, "application/json", json.dumps(whole).encode())
        pieces = [
            {**PIECE, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in (({"content": "It is so. It was then."}, None), ({}, "stop"))
        ]
        told = [f"data: {json.dumps(piece)}\n\n" for piece in pieces]
        return self._say(200, "text/event-stream", "".join([*told, "data: [DONE]\n\n"]).encode())

    def _say(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def strict() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Strict) as server:
        server.asked = []  # pyright: ignore[reportAttributeAccessIssue] - what it was asked
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_where_the_upstream_refuses_to_tell_it_is_not_asked_again(
    gateways: Gateways, strict: Any
) -> None:
    url = f"http://127.0.0.1:{strict.server_address[1]}/v1"
    served: Served = gateways.start(upstream={"url": url})
    for _ in range(2):
        assert "It was then." in served.post(json=STREAM).text
    served.seen(2)
    streamed = [asked for asked in strict.asked if asked.get("stream")]
    assert ["stream_options" in asked for asked in streamed] == [True, False, False]


def piece_event(delta: dict[str, Any], reason: str | None, written: int) -> bytes:
    usage = {"prompt_tokens": 100, "completion_tokens": written, "total_tokens": 100 + written}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %s\n\n" % json.dumps({**PIECE, "choices": [choice], "usage": usage}).encode()


WORDS = ["The", "bridge", "is", "of", "steel", "."]
REPEATED_IN_CHAT = [
    *(piece_event({"content": f"{word} "}, None, n) for n, word in enumerate(WORDS, 1)),
    piece_event({}, "stop", 7),
    b"data: [DONE]\n\n",
]


def message_event(kind: str, **data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind, **data}).encode())


def of_message(written: int) -> dict[str, Any]:
    return {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": written}


REPEATED_IN_MESSAGES = [
    message_event(
        "message_start",
        message={"id": "m", "type": "message", "role": "assistant", "model": "simulated"}
        | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": of_message(1)},
    ),
    message_event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    message_event(
        "content_block_delta", index=0, delta={"type": "text_delta", "text": " ".join(WORDS)}
    ),
    message_event("content_block_stop", index=0),
    message_event("message_delta", delta={"stop_reason": None}, usage=of_message(6)),
    message_event("message_delta", delta={"stop_reason": "end_turn"}, usage=of_message(7)),
    message_event("message_stop"),
]
SAMPLE = {"role": "assistant", "content": [{"type": "text", "text": "So it is."}], "id": "m"}
SAMPLE |= {"type": "message", "model": "simulated", "stop_reason": "end_turn", "usage": {}}


@pytest.mark.parametrize("policy", ["hold", "after", "buffer", "skipped", "several"])
@pytest.mark.parametrize(
    ("path", "pieces", "sample"),
    [
        ("/v1/chat/completions", REPEATED_IN_CHAT, ANSWER),
        ("/v1/messages", REPEATED_IN_MESSAGES, SAMPLE),
    ],
)
def test_usage_that_each_piece_repeats_is_counted_once(
    gateways: Gateways, policy: str, path: str, pieces: list[bytes], sample: Any
) -> None:
    async def says(request: Received) -> AsyncIterator[bytes]:
        yield stream_of(*pieces) if request.json.get("stream") else http_response(sample)

    modes = {"skipped": "when: {roles: [tool]}\n", "several": ""}
    with Upstream() as upstream:
        upstream.says(says)
        served = gateways.start(
            POLICY + modes.get(policy, f"stream_mode: {policy}\n"),
            upstream={"url": upstream.root_url},
        )
        asked = {**ASKED[path], "stream": True, **({"n": 2} if policy == "several" else {})}
        assert served.post(path, json=asked).status_code == 200
        (seen,) = served.seen(1)
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens) == (100, 7)
    assert seen.usage.calls == 1


TOKENS = {"prompt_tokens": 100, "completion_tokens": 7}
FORMS = {
    "fractions": {"usage": {"prompt_tokens": 100.0, "completion_tokens": 7.0}},
    "strings": {"usage": {"prompt_tokens": "100", "completion_tokens": "7"}},
    "names of another API": {"usage": {"input_tokens": 100, "output_tokens": 7}},
    "in Groq's own field": {"usage": None, "x_groq": {"id": "req_1", "usage": TOKENS}},
    "with the choice": {"choices": [{"index": 0, "delta": {}, "usage": TOKENS}]},
    "details": {"usage": {**TOKENS, "prompt_tokens_details": {"cached_tokens": 90}}},
}


@pytest.mark.parametrize("form", FORMS)
def test_usage_is_read_in_the_forms_that_servers_send(gateways: Gateways, form: str) -> None:
    first = {"index": 0, "delta": {"role": "assistant", "content": "So it is."}}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events = [{"choices": [first]}, {"choices": [end]}, {"choices": [], **FORMS[form]}]
    pieces = [f"data: {json.dumps({'id': 'c', **event})}\n\n".encode() for event in events]

    async def says(request: Received) -> AsyncIterator[bytes]:
        is_main = request.json.get("stream")
        yield stream_of(*pieces, b"data: [DONE]\n\n") if is_main else http_response(ANSWER)

    with Upstream() as upstream:
        upstream.says(says)
        served = gateways.start(upstream={"url": upstream.root_url})
        asked = {**ASKED["/v1/chat/completions"], "stream": True}
        assert served.post("/v1/chat/completions", json=asked).status_code == 200
        (seen,) = served.seen(1)
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens) == (100, 7)
