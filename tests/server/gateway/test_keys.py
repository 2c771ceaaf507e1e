from __future__ import annotations

import hashlib
import logging

import httpx
import pytest
from anthropic import Anthropic
from openai import AuthenticationError, OpenAI

from resay.errors import ConfigurationError
from resay_server.gateway import ClientKey
from resay_server.gateway.keys import Keyring
from simulation.server import Exchange, HandlerServer
from support.gateway import CHAT, MESSAGES, Gateways, Served

OWN, THEIRS = "sk-of-the-upstream", "sk-of-a-client"
KEYS = [
    {"name": "team-a", "sha256": hashlib.sha256(THEIRS.encode()).hexdigest()},
    {"name": "team-b", "env": "TEAM_B_KEY"},
]


class Recorder:
    """An upstream that keeps the headers it was sent, keys and all."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self._server = HandlerServer(self._handle)

    async def _handle(self, exchange: Exchange) -> None:
        self.headers.append(exchange.headers)
        await exchange.start(404, "application/json")
        await exchange.send(b'{"error": {"message": "no"}}', last=True)

    def __enter__(self) -> Recorder:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}/v1"


@pytest.fixture
def locked(gateways: Gateways, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("TEAM_B_KEY", "sk-of-b")
    return gateways.start(keys=KEYS, upstream={"api_key": OWN})


@pytest.mark.parametrize(
    ("path", "shape"), [("/v1/chat/completions", "openai"), ("/v1/messages", "anthropic")]
)
@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer wrong"}, {"x-api-key": ""}, {"api-key": "é".encode()}]
)
def test_without_a_key_there_is_no_answer(
    locked: Served, path: str, shape: str, headers: dict[str, str]
) -> None:
    response = locked.post(path, headers=headers)
    assert response.status_code == 401
    error = response.json()["error"]
    assert error.get("type") == (
        "authentication_error" if shape == "anthropic" else "invalid_request_error"
    )
    assert httpx.get(f"{locked.url}/v1/models", headers=headers).status_code == 401
    assert httpx.get(f"{locked.url}/healthz").status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": ""}, {"authorization": "Basic x"}, {"x-api-key": ""}]
)
def test_a_request_without_a_key_is_told_how_to_send_one(
    locked: Served, headers: dict[str, str]
) -> None:
    message = locked.post(headers=headers).json()["error"]["message"]
    assert message.startswith("the request has no key; send one")
    assert "`authorization: Bearer KEY`" in message
    assert "`x-api-key: KEY`" in message
    unknown = locked.post(headers={"x-api-key": "wrong"}).json()["error"]["message"]
    assert unknown == "the gateway does not know this key"


def test_the_sdks_come_with_a_key_each_in_its_way(locked: Served) -> None:
    with OpenAI(base_url=f"{locked.url}/v1", api_key=THEIRS) as openai:
        assert openai.chat.completions.create(model="m", messages=MESSAGES)
    with Anthropic(base_url=locked.url, api_key="sk-of-b") as anthropic:
        assert anthropic.messages.create(model="m", max_tokens=9, messages=MESSAGES)
    with (
        OpenAI(base_url=f"{locked.url}/v1", api_key=OWN) as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.models.list()
    assert [seen.client for seen in locked.seen(2)] == ["team-a", "team-b"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/v1/messages"])
def test_the_clients_key_never_goes_upstream(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("TEAM_B_KEY", "sk-of-b")
    sent = {"authorization": f"Bearer {THEIRS}", "api-key": THEIRS, "cookie": THEIRS}
    with Recorder() as with_key, Recorder() as without:
        upstream = {"url": with_key.url, "api_key": OWN}
        gateways.start(keys=KEYS, upstream=upstream).post(path, json=CHAT, headers=sent)
        gateways.start(keys=KEYS, upstream={"url": without.url}).post(
            path, json=CHAT, headers={"x-api-key": THEIRS}
        )
    name, value = (
        ("x-api-key", OWN) if path == "/v1/messages" else ("authorization", f"Bearer {OWN}")
    )
    assert {headers[name] for headers in with_key.headers} == {value}
    assert THEIRS not in repr((with_key.headers, without.headers))
    assert not {"authorization", "x-api-key"} & set(without.headers[0])


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "api-key"])
def test_without_keys_the_clients_own_goes_upstream(gateways: Gateways, header: str) -> None:
    with Recorder() as recorder:
        gateways.start(upstream={"url": recorder.url}).post(headers={header: THEIRS})
    assert recorder.headers[0][header] == THEIRS


def test_keys_stand_in_no_error_and_no_log(
    locked: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "resay.gateway"):
        refused = locked.post(headers={"authorization": "Bearer sk-wrong"})
        bad = locked.post(headers={"authorization": f"Bearer {THEIRS}", "x-resay-policy": "none"})
    said = refused.text + bad.text + caplog.text + repr(locked.gateway.__dict__)
    assert not any(key in said for key in ("sk-wrong", THEIRS, OWN))


def test_a_keyring_knows_whose_a_key_is() -> None:
    keys = [ClientKey.model_validate(key) for key in KEYS]
    ring = Keyring(keys, {"TEAM_B_KEY": "b"})
    assert (ring.owner(THEIRS), ring.owner("b"), ring.owner("c")) == ("team-a", "team-b", None)
    assert ring.owner(None) is None
    assert ring.owner("") is None
    assert not Keyring([])


def test_a_key_that_is_not_in_the_environment_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError, match="'TEAM_B_KEY', which is not set"):
        Keyring([ClientKey.model_validate(KEYS[1])], {})
