"""Keys, and what was asked and answered: nowhere in errors, in the log, in what is shown."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from resay.errors import PolicyError
from resay_server.gateway import Gateway, GatewayConfig
from support.attacks import (
    ANSWER,
    CHAT,
    Answered,
    Logs,
    Upstream,
    answered,
    ask,
    head_of,
    http_response,
    kept_logs,
    posting,
)
from support.gateway import POLICY, Gateways, Served

OWN = "sk-own-of-the-upstream-4711"
THEIRS = "sk-theirs-of-the-client-4712"
OPERATORS = "sk-operators-of-the-gateway-4713"
IN_QUERY = "sk-in-the-query-4714"
ASKED, SAID = "Zorblatt-was-asked", "Zorblatt-was-said"
SECRETS = (OWN, THEIRS, OPERATORS, IN_QUERY, ASKED, SAID)
MESSAGES = [{"role": "user", "content": ASKED}]
BODY = {"model": "m", "messages": MESSAGES, "max_tokens": 5, "input": ASKED}
LIMITS = {"body_bytes": 5000, "upload_bytes": 5000, "body_s": 0.2, "answer_bytes": 5000}
WITHHELD = "action: {do: block, exit: raise}\non_error: block\ncache: {store: none}\n"


@pytest.fixture(scope="module")
def locked(starter: Gateways) -> Served:
    """A gateway with keys of its own."""
    keys = [{"name": "team", "sha256": hashlib.sha256(THEIRS.encode()).hexdigest()}]
    hidden = starter.policy(POLICY + WITHHELD, "withheld.yaml")
    return starter.start(
        keys=keys,
        policies={"withheld": hidden},
        upstream={"api_key": OWN, "timeout_s": 0.3},
        operator_key=OPERATORS,
        limits=LIMITS,
        pass_through=["/v1/files"],
    )


@pytest.fixture(scope="module")
def unlocked(starter: Gateways) -> Served:
    """A gateway to which clients come with the provider's key."""
    hidden = starter.policy(POLICY + WITHHELD, "withheld.yaml")
    return starter.start(policies={"withheld": hidden}, upstream={"timeout_s": 0.3}, limits=LIMITS)


@pytest.fixture
def logs() -> Iterator[Logs]:
    # The command line keeps `httpx` from saying what is asked for.
    with kept_logs(logging.DEBUG, but={"httpx": logging.WARNING, "asyncio": logging.INFO}) as logs:
        yield logs


KEY = f"Authorization: Bearer {THEIRS}"
QUERY = f"?key={IN_QUERY}&api_key={IN_QUERY}"
ODD = http_response(b'{"error": {"message": "%s %s"}}' % (SAID.encode(), ASKED.encode()))

# What the client sends, what the upstream says, and what comes of it.
TROUBLE: dict[str, tuple[Any, list[str], bytes, set[int]]] = {
    "no JSON": (f'{{"a": "{ASKED}"'.encode(), [], ODD, {400}),
    "no object": (f'["{ASKED}"]'.encode(), [], ODD, {400}),
    "packed": (BODY, ["Content-Encoding: gzip"], ODD, {415}),
    "an unknown policy": (BODY, ["x-resay-policy: lax"], ODD, {400}),
    "a bad tenant": (BODY, ["x-resay-tenant: a b"], ODD, {400}),
    "too long": (ASKED.encode() * 1000, [], ODD, {413}),
    "headers too long": (BODY, ["X-Long: " + "x" * 40_000], ODD, {431}),
    "no upstream": (BODY, [], b"", {502}),
    "no answer of the upstream": (BODY, [], f"nonsense {SAID}\r\n\r\n".encode(), {502}),
    "an answer that is too long": (BODY, [], http_response(SAID.encode() * 1000), {502}),
    "half an answer": (BODY, [], b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + SAID.encode(),
                       {504}),
    "badly packed": (BODY, [], http_response(SAID.encode(), "Content-Encoding: gzip"), {502}),
    "withheld": (BODY, ["x-resay-policy: withheld"],
                 http_response({**ANSWER, "choices": [{"message": {"content": SAID * 4}}]}), {422}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["locked", "unlocked"])
@pytest.mark.parametrize(("body", "lines", "says", "statuses"), TROUBLE.values(), ids=TROUBLE)
def test_no_error_and_no_log_says_a_secret(
    request: pytest.FixtureRequest,
    upstream: Upstream,
    logs: Logs,
    kind: str,
    body: Any,
    lines: list[str],
    says: bytes,
    statuses: set[int],
) -> None:
    served: Served = request.getfixturevalue(kind)
    upstream.says(says)
    for path in (CHAT, "/v1/responses", "/v1/messages"):
        answer = ask(served, body, KEY, *lines, target=path + QUERY)
        assert path != CHAT or answer.status in statuses
        # What is no answer in the words of the API comes as it is.
        given = [SAID] if answer.status == 200 else []
        assert not [s for s in SECRETS if s.encode() in answer.data and s not in given]
    assert not [s for s in SECRETS if s in logs.text]


REFUSALS = {
    "no key": [],
    "a wrong key": ["Authorization: Bearer sk-wrong-4715"],
    "a key of another scheme": [f"Authorization: Basic {THEIRS}"],
    "two keys": [KEY, "x-api-key: sk-wrong-4715"],
    "the upstream's own key": [f"Authorization: Bearer {OWN}x"],
    "the operator's key": [f"Authorization: Bearer {OPERATORS}"],
    "a key in the query": [],
}


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/models", "/v1/files/x"])
@pytest.mark.parametrize("lines", REFUSALS.values(), ids=REFUSALS)
def test_who_is_refused_learns_nothing(
    locked: Served, upstream: Upstream, logs: Logs, path: str, lines: list[str]
) -> None:
    answer = ask(locked, BODY, *lines, target=f"{path}?key={THEIRS}")
    assert answer.status == 401
    assert not upstream.received
    seen = answer.data.decode() + logs.text
    assert not [s for s in (*SECRETS, "sk-wrong-4715") if s in seen]
    # Nothing tells which keys there are, nor whose.
    assert "team" not in seen


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/v2/x", "/ui", "/metrics", "/docs"])
def test_what_stands_open_says_no_secret(locked: Served, upstream: Upstream, path: str) -> None:
    ask(locked, BODY, KEY)
    answer = answered(locked, head_of("GET", path))
    assert not [s for s in SECRETS if s.encode() in answer.data]
    assert not [r for r in upstream.received if r.target.startswith("GET")]


def test_a_clients_key_is_seen_by_nobody_else(locked: Served, upstream: Upstream) -> None:
    spread = [KEY, f"x-api-key: {THEIRS}", f"api-key: {THEIRS}", f"Cookie: k={THEIRS}"]
    for path in (CHAT, "/v1/messages", "/v1/files"):
        assert ask(locked, BODY, *spread, target=path).status == 200
    for request in upstream.received:
        assert THEIRS.encode() not in request.head + request.body
        assert OWN.encode() in request.head


@pytest.mark.parametrize("line", ["Connection: authorization", "Connection: close, x-api-key"])
def test_no_client_can_have_the_upstreams_key_left_out(
    locked: Served, upstream: Upstream, line: str
) -> None:
    answered(locked, posting(CHAT, b'{"model": "m", "messages": []}', KEY, line))
    assert all(OWN.encode() in request.head for request in upstream.received)


def test_what_breaks_inside_says_where_and_no_more(
    locked: Served, upstream: Upstream, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{OWN} {THEIRS} {ASKED}")

    monkeypatch.setattr("resay.adapters.relay.Relay.read", broken)
    answer: Answered = ask(locked, BODY, KEY, target=CHAT + QUERY)
    assert answer.status == 500
    assert answer.error["code"] == "internal_error"
    assert dict(answer.headers)["x-resay-request-id"] in logs.text
    assert "RuntimeError" in logs.text
    assert ", in broken" in logs.text
    assert not [s for s in SECRETS if s in answer.data.decode() + logs.text]


def test_a_config_shows_no_key() -> None:
    told = {"upstream": {"url": "http://x", "api_key": OWN}, "operator_key": OPERATORS}
    config = GatewayConfig.of(told)
    gateway = Gateway(config)
    shown = [repr(config), str(config), str(config.model_dump()), config.model_dump_json()]
    shown += [repr(gateway), repr(vars(gateway)), repr(config.upstream)]
    assert not [s for s in SECRETS if any(s in text for text in shown)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://x", "api_key": [OWN]},
        {"url": f"http://user:{OWN}@x/"},
        {"url": f"http://x/?key={OWN}"},
        {"url": "http://x", "api_keys": OWN},
    ],
)
def test_a_config_that_is_wrong_shows_no_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as caught:
        GatewayConfig.of({"upstream": wrong, "operator_key": OPERATORS})
    shown = "".join(traceback.format_exception(caught.value))
    assert not [s for s in SECRETS if s in shown]
