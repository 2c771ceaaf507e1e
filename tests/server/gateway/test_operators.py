from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from resay_server.gateway import Gateway, GatewayConfig
from resay_server.gateway.operators import OperatorAuth

KEY = "an-operators-key-of-its-own"
CLIENT_KEYS = [{"name": "team", "sha256": "0" * 64}]
HERE = ("127.0.0.1", 50_000)


def seen(
    headers: Mapping[str, str] | None = None,
    *,
    host: str = "127.0.0.1:8100",
    client: tuple[str, int] = HERE,
    **told: Any,
) -> httpx.Response:
    config = GatewayConfig.of({"upstream": {"url": "http://x/v1"}, **told})
    app = OperatorAuth(PlainTextResponse("shown"), config)
    return TestClient(app, client=client).get("/ui", headers={"host": host, **(headers or {})})


def basic(password: str) -> dict[str, str]:
    token = base64.b64encode(f"anybody:{password}".encode()).decode()
    return {"authorization": f"Basic {token}"}


@pytest.mark.parametrize("host", ["127.0.0.1:8100", "localhost", "[::1]:8100", "127.0.0.2"])
def test_whoever_is_on_this_machine_sees_it(host: str) -> None:
    assert seen(host=host).text == "shown"
    assert seen(host=host, client=("::1", 1)).text == "shown"


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "10.0.0.1"},
        {"forwarded": "for=10.0.0.1"},
        {"via": "1.1 proxy"},
        {"x-real-ip": "10.0.0.1"},
    ],
)
def test_nobody_sees_it_through_a_proxy_on_this_machine(headers: Mapping[str, str]) -> None:
    refused = seen(headers)
    assert refused.status_code == 403
    assert "operator_key" in refused.text


@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.example:8100", "", "localhost.x"])
def test_a_page_elsewhere_that_names_this_machine_its_own_sees_nothing(host: str) -> None:
    assert seen(host=host).status_code == 403


def test_nobody_elsewhere_sees_it_without_a_key() -> None:
    assert seen(client=("10.0.0.7", 1)).status_code == 403


def test_where_clients_have_keys_operators_need_one() -> None:
    assert seen(keys=CLIENT_KEYS).status_code == 403
    assert seen(basic(KEY), keys=CLIENT_KEYS, operator_key=KEY).text == "shown"


@pytest.mark.parametrize("headers", [basic(KEY), {"authorization": f"bearer {KEY}"}])
def test_the_key_opens_it_from_anywhere(headers: Mapping[str, str]) -> None:
    proxied = {**headers, "x-forwarded-for": "10.0.0.1"}
    shown = seen(proxied, operator_key=KEY, client=("10.0.0.7", 1), host="resay.example")
    assert shown.text == "shown"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic(""),
        basic(KEY[:-1]),
        basic(KEY + "x"),
        {"authorization": "Basic no-base64!"},
        {"authorization": "Basic " + base64.b64encode(KEY.encode()).decode()},
        {"authorization": f"Digest {KEY}"},
        {"authorization": KEY},
        {"authorization": "Bearer"},
    ],
)
def test_without_the_key_nobody_sees_it(headers: Mapping[str, str]) -> None:
    refused = seen(headers, operator_key=KEY)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")
    assert KEY not in refused.text


@pytest.mark.parametrize("journal", [None, {}])
def test_the_root_leads_to_the_dashboard(journal: dict[str, Any] | None) -> None:
    config = GatewayConfig.of({"upstream": {"url": "http://x/v1"}, "journal": journal})
    client = TestClient(Gateway(config).app(), client=HERE)
    answer = client.get("/", follow_redirects=False)
    if journal is None:
        assert answer.status_code >= 400
    else:
        assert (answer.status_code, answer.headers["location"]) == (307, "/ui")
