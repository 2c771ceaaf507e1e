"""Requests that two servers could read in two ways, or that carry more than one."""

from __future__ import annotations

import json
import re

import pytest

from support.attacks import CHAT, Upstream, answered, ask, chunked, head_of, posting
from support.gateway import MESSAGES, Served

BODY = json.dumps({"model": "m", "messages": MESSAGES}).encode()
INNER = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
FILES = "/v1/files"


@pytest.fixture(scope="module")
def patience() -> dict[str, float]:
    """Nothing here is slow on purpose."""
    return {"client_s": 30.0, "upstream_s": 30.0}


def guarded(data: bytes) -> bool:
    return b'"hallucination"' in data


@pytest.mark.parametrize("method", ["post", "Post", "pOST"])
def test_no_spelling_of_the_method_leads_past_the_guard(served: Served, method: str) -> None:
    # HTTP clients, the gateway's among them, send what they are given in capitals.
    answer = answered(served, posting(CHAT, BODY).replace(b"POST", method.encode(), 1))
    assert guarded(answer.body) or answer.status in (400, 405)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/chat%252fcompletions",
        "/v1/%2563hat/completions",
        "/v1/chat/completions;a=b",
        "/v1;a/chat/completions",
        "/v1/chat/completions%20",
        "/v1/chat/completions#a",
        "/v1/chat/./completions",
        "/v1/chat//completions//",
        "/v1/chat/completions?%2f",
        "/v1%2Fchat%2Fcompletions",
        "/v1/CHAT/completionS",
        "http://gateway/v1/chat/completions",
        "/v1/files/../chat/completions",
        "/v1/files/%2e%2e/chat/completions",
        "/v1/files/..;/chat/completions",
        "/v1/%63hat/completions",
        "/v1\\chat\\completions",
        "/v1/chat/completions%00",
        "/v1/chat/completions%0a",
        "/v1/chat/completions/%2e",
    ],
)
def test_no_spelling_of_the_path_leads_past_the_guard(
    served: Served, upstream: Upstream, target: str
) -> None:
    # Upstreams forgive much, each something else.
    answer = ask(served, BODY, target=target)
    assert guarded(answer.body) or (400 <= answer.status < 500 and not upstream.received)


@pytest.mark.parametrize(
    "line",
    [
        "X-HTTP-Method-Override: POST",
        "X-Method-Override: POST",
        "X-HTTP-Method: POST",
        f"X-Original-URL: {CHAT}",
        f"X-Rewrite-URL: {CHAT}",
    ],
)
def test_no_header_says_what_is_asked(served: Served, upstream: Upstream, line: str) -> None:
    # Some servers and frameworks go by these, and would take one request for another.
    answered(served, head_of("GET", "/v1/models", line))
    (request,) = upstream.received
    assert not request.headers(line.partition(":")[0].lower())


@pytest.mark.parametrize("target", [CHAT, FILES])
@pytest.mark.parametrize("character", ["\x01", "\x0b", "\x1f", "\x7f"])
def test_a_control_character_in_a_header_is_refused(
    served: Served, upstream: Upstream, target: str, character: str
) -> None:
    answer = answered(served, posting(target, BODY, f"X-A:{character} b"))
    assert answer.status == 400
    assert not upstream.received


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_nothing_that_was_sent_is_given_back(
    served: Served, upstream: Upstream, method: str
) -> None:
    # An upstream that follows TRACE answers with the headers it was sent, the key among them.
    assert 400 <= answered(served, head_of(method, FILES)).status < 500
    assert not upstream.received


SMUGGLING = {
    "both, and the length is short": (["Content-Length: 5", "Transfer-Encoding: chunked"],
                                      chunked(b"12345" + INNER)),
    "both, and the length is long": (["Content-Length: 500", "Transfer-Encoding: chunked"],
                                     chunked(b"12345")),
    "both, in another order": (["Transfer-Encoding: chunked", "Content-Length: 0"],
                               chunked(INNER)),
    "two lengths": (["Content-Length: 5", "Content-Length: 83"], b"12345" + INNER),
    "two lengths in one": (["Content-Length: 5, 83"], b"12345" + INNER),
    "an odd length": (["Content-Length: +5"], b"12345"),
    "a length below zero": (["Content-Length: -1"], b"12345"),
    "a length in other digits": (["Content-Length: \xb2"], b"12345"),
    "an unknown coding": (["Transfer-Encoding: xchunked"], chunked(INNER)),
    "a coding and chunks": (["Transfer-Encoding: gzip, chunked"], chunked(INNER)),
    "two codings": (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], chunked(INNER)),
    "a name with a space": (["Transfer-Encoding : chunked", "Content-Length: 5"], b"12345"),
    "a name with a tab": (["Content-Length\t: 5"], b"12345"),
    "a chunk below zero": (["Transfer-Encoding: chunked"], b"-5\r\n12345\r\n0\r\n\r\n"),
    "a chunk with a prefix": (["Transfer-Encoding: chunked"], b"0x5\r\n12345\r\n0\r\n\r\n"),
    "a chunk of spaces": (["Transfer-Encoding: chunked"], b"5 5\r\n12345\r\n0\r\n\r\n"),
    "a chunk too long for a number": (["Transfer-Encoding: chunked"], b"f" * 40 + b"\r\n12345"),
    "a chunk that says nothing": (["Transfer-Encoding: chunked"], b"\r\n12345\r\n0\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("path", [FILES, CHAT])
@pytest.mark.parametrize(("lines", "body"), SMUGGLING.values(), ids=SMUGGLING)
def test_where_a_body_ends_is_never_a_guess(
    served: Served, upstream: Upstream, path: str, lines: list[str], body: bytes
) -> None:
    answer = answered(served, head_of("POST", path, *lines) + body)
    assert answer.status == 400
    assert answer.count == 1
    answered(served, head_of("GET", "/v1/models"))
    # What was begun with may have been cut off; nothing came behind it.
    posted = [r.target for r in upstream.received if r.target.startswith("POST")]
    assert posted in ([], [f"POST {FILES}"])
    assert upstream.received[-1].target == "GET /v1/models"


@pytest.mark.parametrize(
    "body", [b"5\r\n12345\r\n0\r\nX-Resay-Policy: none\r\n\r\n", chunked(b"12345")]
)
def test_what_follows_a_body_in_chunks_is_no_header(
    served: Served, upstream: Upstream, body: bytes
) -> None:
    answer = answered(served, head_of("POST", FILES, "Transfer-Encoding: chunked") + body)
    assert answer.status == 200
    (request,) = upstream.received
    assert request.body == b"12345"


def test_each_of_many_requests_at_once_is_guarded(served: Served) -> None:
    many = [posting(CHAT, BODY, close=False)] * 3 + [posting(CHAT, BODY)]
    answer = answered(served, b"".join(many))
    assert answer.count == 4
    assert len(re.findall(b'"hallucination"', answer.data)) == 4


def test_a_long_request_may_come_with_the_one_before(served: Served) -> None:
    long = BODY + b" " * 190_000
    answer = answered(served, posting(CHAT, BODY, close=False) + posting(CHAT, long))
    assert answer.count == 2
    assert len(re.findall(b'"hallucination"', answer.data)) == 2


def test_a_request_behind_a_refused_one_is_not_part_of_it(
    served: Served, upstream: Upstream
) -> None:
    refused = posting(CHAT, b"[]" + b" " * 83, close=False)
    answer = answered(served, refused + posting(CHAT, BODY))
    assert answer.status == 400
    assert answer.count == 2
    assert all(request.json["messages"] == MESSAGES for request in upstream.received)


INJECTED = {
    "a bare carriage return": b"a\rX-Evil: 1",
    "a carriage return and a line feed, encoded": b"a%0d%0aX-Evil: 1",
    "a folded line": b"a\r\n X-Evil: 1",
    "a folded line with a tab": b"a\r\n\tX-Evil: 1",
    "a NUL": b"a\x00X-Evil: 1",
    "other line ends": "a\x85X-Evil: 1\u2028".encode(),
    "markup": b'"><script>alert(1)</script>',
}


NAMES = [b"x-request-id", b"x-resay-tenant", b"x-resay-policy", b"x-other"]


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", FILES, "/v1/../x", "/nowhere"])
@pytest.mark.parametrize("value", INJECTED.values(), ids=INJECTED)
def test_no_header_becomes_another(
    served: Served, upstream: Upstream, path: str, value: bytes
) -> None:
    for name in NAMES:
        line = name + b": " + value + b"\r\n"
        answer = answered(served, posting(path, BODY).replace(b"Host: ", line + b"Host: ", 1))
        assert answer.count == 1
        assert "x-evil" not in [known for known, _ in answer.headers]
        assert b"<script>" not in answer.data.partition(b"\r\n\r\n")[0]
    for received in upstream.received:
        assert not received.headers("x-evil")
        assert len(received.headers("x-request-id")) == 1


@pytest.mark.parametrize("name", ["x-resay-tenant", "x-resay-policy"])
def test_what_is_said_twice_is_refused(served: Served, upstream: Upstream, name: str) -> None:
    # A proxy that adds the tenant behind the client's own would else be overruled by it.
    answer = ask(served, BODY, f"{name}: default", f"{name}: other")
    assert answer.status == 400
    assert not upstream.received


@pytest.mark.parametrize(
    "lines",
    [
        ["Host: 169.254.169.254"],
        ["Host: 127.0.0.1:1"],
        ["Host: localhost", "Forwarded: host=169.254.169.254"],
        ["Host: localhost", "X-Forwarded-Host: 169.254.169.254", "X-Host: 169.254.169.254"],
    ],
)
@pytest.mark.parametrize("path", [CHAT, FILES])
def test_the_host_that_is_asked_is_the_upstreams(
    served: Served, upstream: Upstream, path: str, lines: list[str]
) -> None:
    request = posting(path, BODY).replace(b"Host: localhost", "\r\n".join(lines).encode(), 1)
    assert answered(served, request).status == 200
    where = upstream.root_url.removeprefix("http://")
    assert {tuple(r.headers("host")) for r in upstream.received} == {(where,)}


@pytest.mark.parametrize("lines", [[], ["Host: a", "Host: b"]])
def test_a_request_has_one_host(served: Served, upstream: Upstream, lines: list[str]) -> None:
    told = b"".join(line.encode() + b"\r\n" for line in lines)
    request = posting(CHAT, BODY).replace(b"Host: localhost\r\n", told, 1)
    assert answered(served, request).status == 400
    assert not upstream.received


@pytest.mark.parametrize("target", ["/v1/files/" + "x" * 9000, "/v1/files?" + "x" * 9000])
def test_a_target_counts_as_headers_do(served: Served, upstream: Upstream, target: str) -> None:
    assert 400 <= answered(served, head_of("GET", target)).status < 500
    assert not upstream.received


@pytest.mark.parametrize(
    "first",
    [
        b"GET /v1/models\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"G\x00T /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40 + b"\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nA\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\n folded: first\r\nHost: localhost\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
    ],
)
def test_what_is_no_request_gets_no_answer_but_that(
    served: Served, upstream: Upstream, first: bytes
) -> None:
    answer = answered(served, first)
    assert answer.status in (400, 404, 431)
    assert b"Traceback" not in answer.data
    assert not upstream.received
