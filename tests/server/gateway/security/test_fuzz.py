"""Anything at all, on either side: the gateway goes on, and says what is wrong in its own words."""

from __future__ import annotations

import json
import logging
import socket
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.attacks import (
    ANSWER,
    LONGEST_S,
    Upstream,
    ask,
    http_response,
    is_well,
    kept_logs,
    posting,
    stream_of,
)
from support.gateway import ASKED, Served

# The gateway is the same for all examples: that is what is tried.
fuzzing = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
paths = st.sampled_from(sorted(ASKED))
STATUSES = {200, 400, 401, 404, 405, 408, 413, 415, 429, 431, 502, 504}

GOOD = posting("/v1/chat/completions", json.dumps(ASKED["/v1/chat/completions"]).encode())
WORDS = [
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\x00", b" ", b"\t", b":", b"%00", b"%2e%2e/", b"#", b"?",
    b"HTTP/1.1", b"HTTP/0.9", b"GET", b"POST", b"Content-Length: ", b"Content-Length: 99999",
    b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n",
    b"Connection: upgrade\r\n", b"Host: y\r\n", b"0\r\n\r\n", b"-1", b"ffffffffffffffff", b"{",
    b"[" * 2000, b'"', b"\\u0000", b"\\ud800", b"1e999", b"\xff\xfe", b"\xed\xa0\x80", b"x" * 9_000,
]  # fmt: skip
pieces = st.one_of(st.binary(max_size=30), st.sampled_from(WORDS))


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """A good request, cut and with something else put in."""
    data = GOOD
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 20))
        data = data[:start] + draw(pieces) + data[end:]
    return data


def received_of(served: Served, data: bytes) -> bytes:
    """Return what comes back before the gateway closes, which it is not to be waited for."""
    with served.connected() as connection, suppress(ConnectionError):
        connection.settimeout(LONGEST_S)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        whole = b""
        while piece := connection.recv(65536):
            whole += piece
        return whole
    return b""


@settings(fuzzing, max_examples=40)
@given(data=st.one_of(mangled(), st.lists(pieces, max_size=8).map(b"".join)))
def test_no_bytes_bring_it_down(served: Served, data: bytes) -> None:
    with kept_logs(logging.DEBUG, but={"hypothesis": logging.ERROR}) as logs:
        received = received_of(served, data)
        assert is_well(served)
    assert b"Traceback" not in received
    assert "Traceback" not in logs.text, logs.text[-3000:]
    for line in received.split(b"HTTP/1.1 ")[1:]:
        assert int(line[:3]) in STATUSES | {100, 403, 422}


texts = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.one_of(st.integers(), st.floats(), st.integers(-(10**50), 10**50))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "text", "content", "role", "name", "index", "id", "input"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
FIELDS = [
    "messages", "input", "model", "stream", "n", "tools", "tool_choice", "temperature", "seed",
    "logprobs", "top_logprobs", "response_format", "text", "stop", "max_tokens", "stream_options",
    "system", "instructions", "metadata", "modalities", "previous_response_id", "conversation",
    "background", "store", "include", "thinking", "reasoning", "prompt", "user", "stop_sequences",
]  # fmt: skip


@fuzzing
@given(path=paths, fields=st.dictionaries(st.sampled_from(FIELDS), values, min_size=1, max_size=3))
def test_no_request_breaks_it(
    served: Served, upstream: Upstream, path: str, fields: dict[str, Any]
) -> None:
    upstream.says(http_response(ANSWER))
    answer = ask(served, {**ASKED[path], **fields}, target=path)
    assert answer.status in STATUSES, (answer.status, answer.body)
    assert all(isinstance(request.json, dict) for request in upstream.received)


@pytest.mark.parametrize("status", ["completed", "incomplete", "in_progress", "queued"])
@pytest.mark.parametrize("output", [[], None])
def test_a_response_without_an_answer_that_is_not_checked_says_so(
    served: Served, upstream: Upstream, status: str, output: list[object] | None
) -> None:
    response = {"id": "resp_1", "object": "response", "status": status, "output": output}
    upstream.says(http_response(response))
    request = {**ASKED["/v1/responses"], "conversation": "conv_1"}
    answer = ask(served, request, target="/v1/responses")
    assert answer.status == 200
    body = json.loads(answer.body)
    assert body.pop("hallucination")["decision"] == "skipped"
    assert body == response


NAMES = [
    "choices", "output", "content", "usage", "delta", "message", "finish_reason", "type", "item",
    "part", "response", "index", "output_index", "content_block", "logprobs", "stop_reason",
    "status", "role", "model", "id", "error", "tool_calls", "text",
]  # fmt: skip
known = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, values))
TYPES = [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop", "ping", "error", "response.created", "response.completed",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.output_text.done", "response.content_part.added", "response.failed", "chat",
]  # fmt: skip
choices = st.lists(known, max_size=3).map(lambda listed: {"choices": listed})
answers = st.one_of(values, known, choices, st.lists(known).map(lambda listed: {"output": listed}))
events = st.one_of(
    answers, st.builds(lambda kind, more: {"type": kind, **more}, st.sampled_from(TYPES), known)
)


@fuzzing
@given(path=paths, value=answers)
def test_no_answer_of_an_upstream_breaks_it(
    served: Served, upstream: Upstream, path: str, value: Any
) -> None:
    upstream.says(http_response(value))
    answer = ask(served, ASKED[path], target=path)
    assert answer.status in STATUSES, (answer.status, answer.body)


@fuzzing
@given(path=paths, policy=st.sampled_from(["hold", "hidden"]), sent=st.lists(events, max_size=5))
def test_no_stream_of_an_upstream_breaks_it(
    served: Served, upstream: Upstream, path: str, policy: str, sent: list[Any]
) -> None:
    data = [b"data: %s\n\n" % json.dumps(value).encode() for value in sent]
    upstream.says(stream_of(*data))
    asked = {**ASKED[path], "stream": True}
    answer = ask(served, asked, f"x-resay-policy: {policy}", target=path)
    assert answer.status in STATUSES, (answer.status, answer.body)
    # It was ended, and not cut off.
    assert answer.status != 200 or answer.data.endswith(b"0\r\n\r\n"), answer.data
