"""Bodies that are too much, or that are read in two ways."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from support.attacks import (
    ANSWER,
    CHAT,
    Answered,
    Upstream,
    answered,
    ask,
    chunked,
    head_of,
    http_response,
)
from support.gateway import MESSAGES, POLICY, Gateways, Served

FILES = "/v1/files"
PATHS = [CHAT, "/v1/responses", "/v1/messages", FILES]
ASKED = {"model": "m", "messages": MESSAGES}
MANY = 1_000_000
MB = 1_048_576


def test_what_is_refused_here_is_taken_where_the_limits_are_wide(starter: Gateways) -> None:
    # Else nothing below would show anything.
    wide = starter.start(POLICY, pass_through=["/v1/files"])
    assert ask(wide, {**ASKED, "user": "u" * MANY}).status == 200
    assert ask(wide, b"x" * MANY, target=FILES).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("zeros", [6, 12, 17, 18, 25, 6000])
def test_a_length_that_is_too_long_is_refused_before_anything_is_read(
    served: Served, upstream: Upstream, path: str, zeros: int
) -> None:
    answer = answered(served, head_of("POST", path, f"Content-Length: 1{'0' * zeros}"))
    assert answer.status in (400, 413)
    assert not upstream.received


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", [10, 100_000])
def test_a_body_in_chunks_is_counted(
    served: Served, upstream: Upstream, path: str, size: int
) -> None:
    head = head_of("POST", path, "Transfer-Encoding: chunked")
    many = chunked(b"1" * 300_000, size).removesuffix(b"0\r\n\r\n")
    answer = answered(served, head, many)
    # Many small ones may take too long before they are too much.
    assert answer.status in (408, 413)
    assert all(request.target != f"POST {path}" for request in upstream.received)


@pytest.mark.parametrize("path", PATHS)
def test_what_stands_between_chunks_is_counted_too(served: Served, path: str) -> None:
    head = head_of("POST", path, "Transfer-Encoding: chunked")
    assert answered(served, head, b"5;" + b"x" * MANY).status in (400, 408, 413)


@pytest.mark.parametrize("path", [CHAT, "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Encoding: gzip"],
        ["Content-Encoding: deflate"],
        ["Content-Encoding: br"],
        ["Content-Encoding: GZIP"],
        ["Content-Encoding: identity, gzip"],
        ["Content-Encoding: identity", "Content-Encoding: gzip"],
        ["Content-Encoding: x-gzip"],
    ],
)
def test_nothing_that_is_compressed_is_unpacked(
    served: Served, upstream: Upstream, path: str, lines: list[str]
) -> None:
    packed = gzip.compress(b'{"model": "m", "messages": ' + b" " * MANY + b"[]}")
    answer = ask(served, packed, *lines, target=path)
    assert answer.status in (400, 415)
    assert not upstream.received


@contextmanager
def memory_at_most(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most, f"{peak / MB:.0f} MiB"


@cache
def bomb(kind: str, size: int) -> bytes:
    """Return so many zeros, compressed a thousand times."""
    if kind == "gzip":
        packer: Any = zlib.compressobj(wbits=31)
    elif kind == "deflate":
        packer = zlib.compressobj()
    else:
        packer = pytest.importorskip("zstandard").ZstdCompressor().compressobj()
    zeros = bytes(MB)
    return b"".join(packer.compress(zeros) for _ in range(size // MB)) + packer.flush()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["gzip", "deflate", "zstd"])
def test_what_the_upstream_packed_is_not_unpacked_without_end(
    served: Served, upstream: Upstream, kind: str, stream: bool
) -> None:
    packed = bomb(kind, 64 * MB)
    lines = [f"Content-Encoding: {kind}", "Content-Type: text/event-stream"][: 1 + stream]
    upstream.says(http_response(packed, *lines))
    with memory_at_most(32 * MB):
        assert ask(served, {**ASKED, "stream": stream}).status in (200, 502)


@pytest.mark.parametrize("kind", ["gzip, gzip", "gzip, deflate, gzip", "martian"])
def test_what_is_packed_in_an_odd_way_is_not_unpacked(
    served: Served, upstream: Upstream, kind: str
) -> None:
    twice = gzip.compress(bomb("gzip", 64 * MB))
    upstream.says(http_response(twice, f"Content-Encoding: {kind}"))
    with memory_at_most(16 * MB):
        assert ask(served, ASKED).status in (200, 502)


@pytest.mark.parametrize(
    "nest",
    [lambda n: b"[" * n + b"]" * n, lambda n: b'{"a":' * n + b"1" + b"}" * n],
    ids=["lists", "objects"],
)
@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "x": %s}',
        b'{"model": "m", "messages": [{"role": "user", "content": %s}]}',
        b'{"model": "m", "messages": %s}',
        b'{"model": "m", "tools": [{"type": "function", "function": %s}], "messages": []}',
    ],
)
def test_deep_nesting_is_taken_or_refused(
    served: Served, body: bytes, nest: Callable[[int], bytes]
) -> None:
    def status(depth: int) -> int:
        return ask(served, body % nest(depth)).status

    taken, refused = 10, 30_000
    assert (status(taken), status(refused)) == (200, 400)
    while refused - taken > 1:
        depth = (taken + refused) // 2
        taken, refused = (depth, refused) if status(depth) == 200 else (taken, depth)
    # Where reading is possible still and writing is no more, or the other way round.
    assert {status(depth) for depth in range(taken - 10, taken + 40, 3)} == {200, 400}


NUMBERS = [
    b"1e999999",
    b"-1e999999",
    b"1" + b"0" * 100_000,
    b"0." + b"9" * 100_000,
    b"1e" + b"9" * 10_000,
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e308",
    b"1" + b"0" * 4000,
    b"-0",
    b"1E+2",
    b"12345678901234567890123456789",
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20].decode())
def test_what_is_sent_on_is_json_whatever_the_number(
    served: Served, upstream: Upstream, number: bytes
) -> None:
    for name in ("temperature", "n", "seed", "max_tokens", "stream", "messages", "other"):
        body = json.dumps(ASKED).encode().replace(b"{", b'{"%s": %s, ' % (name.encode(), number), 1)
        assert ask(served, body).status in (200, 400)
    for request in upstream.received:
        # Raises where it is none.
        assert request.json["model"] == "m"


TWICE = [
    b'{"model": "m", "stream": true, "stream": false, "messages": %s}',
    b'{"stream": false, "model": "m", "messages": [], "messages": %s, "stream": false}',
    b'{"model": "m", "messages": %s, "messages": %s}',
    b'{"model": "a", "model": "m", "messages": %s}',
    b'{"model": "m", "messages": %s, "tools": [{"type": "a", "type": "b"}]}',
]


@pytest.mark.parametrize("body", TWICE)
def test_the_guard_and_the_upstream_read_the_same_of_what_is_said_twice(
    served: Served, upstream: Upstream, body: bytes
) -> None:
    messages = json.dumps(MESSAGES).encode()
    body = body.replace(b"%s", messages)
    ask(served, body)
    pairs: list[list[str]] = []
    for request in upstream.received:
        json.loads(
            request.body,
            object_pairs_hook=lambda items: pairs.append([name for name, _ in items]),
        )
    assert all(len(names) == len(set(names)) for names in pairs)
    # Samples may be asked for before the answer.
    assert json.loads(body) in [request.json for request in upstream.received]


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]
)
def test_what_is_sent_on_is_utf_8_whatever_it_was(
    served: Served, upstream: Upstream, encoding: str
) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Où est le pont ?"}]}
    text = json.dumps(asked, ensure_ascii=False)
    assert ask(served, text.encode(encoding)).status in (200, 400)
    assert all(request.json["messages"] == asked["messages"] for request in upstream.received)


@pytest.mark.parametrize("body", [b"\xff", b'{"model": "\xe9"}', b""])
def test_what_is_no_text_is_not_sent_on(served: Served, upstream: Upstream, body: bytes) -> None:
    assert ask(served, body).status == 400
    assert not upstream.received


ODD_TEXTS = [
    r"\ud800",
    r"\udc00\ud800",
    r"a\ud83db",
    r"\u0000",
    r"\ufffe\uffff",
    r"\u202e",
    r"\u2028",
]


def test_half_a_character_is_sent_on_as_it_was_said(served: Served, upstream: Upstream) -> None:
    for text in ODD_TEXTS:
        upstream.says(http_response(ANSWER))
        body = r'{"model": "m", "messages": [{"role": "user", "content": "A %s?"}], "%s": 1}'
        asked = (body % (text, text)).encode()
        assert ask(served, asked).status == 200
        assert upstream.received[0].json == json.loads(asked)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("policy", ["after", "hold", "buffer", "hidden"])
def test_half_a_character_is_answered_as_it_was_said(
    served: Served, upstream: Upstream, text: str, policy: str
) -> None:
    said_so = json.dumps(ANSWER).replace("steel", text).encode()
    upstream.says(http_response(said_so))
    answer = ask(served, ASKED, f"x-resay-policy: {policy}")
    assert answer.status == 200
    # Any strict reader can read it.
    given = json.loads(answer.body.decode())
    if policy != "hidden":
        assert given["choices"] == json.loads(said_so)["choices"]


@pytest.mark.parametrize(
    "fields",
    [
        b'"x": 1e999',
        b'"x": -1e999',
        b'"usage": {"prompt_tokens": 1%s, "completion_tokens": -5}' % (b"0" * 400),
        b'"usage": {"prompt_tokens": 1.5, "completion_tokens": "x", "total_tokens": null}',
        b'"usage": [], "model": 7, "id": {}, "created": "x"',
        b'"x": ' + b"[" * 900 + b"]" * 900,
    ],
    ids=lambda fields: fields[:20].decode(),
)
def test_an_odd_answer_is_given_as_json(served: Served, upstream: Upstream, fields: bytes) -> None:
    upstream.says(http_response(json.dumps(ANSWER).encode().replace(b"{", b"{%s, " % fields, 1)))
    answer: Answered = ask(served, ASKED)
    assert answer.status == 200

    def refuse(name: str) -> object:
        raise AssertionError(name)

    json.loads(answer.body, parse_constant=refuse)


@pytest.mark.parametrize("top", ["5", [1], {"a": 1}, 2.5, True])
def test_a_number_of_alternatives_that_is_none_is_the_upstreams_to_refuse(
    gateways: Gateways, top: object
) -> None:
    served = gateways.start("chain: [{method: logprobs}]\n")
    response = served.post(json={"messages": MESSAGES, "top_logprobs": top})
    assert response.status_code in {200, 400}
