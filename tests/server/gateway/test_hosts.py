"""What browsers send on behalf of pages that are none of the operator's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from resay.errors import PolicyError
from resay_server.gateway import GatewayConfig
from simulation import SimulatedProvider
from support.gateway import ASKED, Gateways, Served

UPSTREAM = {"api_key": "sk-operators-own"}
CHAT = "/v1/chat/completions"
GUARDRAIL = "/beta/litellm_basic_guardrail_api"
PATHS = [("POST", path) for path in (CHAT, "/v1/check", GUARDRAIL, "/v1/embeddings")]
PATHS += [("GET", "/v1/models"), ("DELETE", "/v1/responses/resp_1"), ("OPTIONS", CHAT)]
BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0"}


@pytest.fixture(scope="module")
def gateways(
    provider: SimulatedProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateways]:
    with ExitStack() as stack:
        yield Gateways(tmp_path_factory.mktemp("gateway"), provider.root_url, stack)


@pytest.fixture(scope="module")
def served(gateways: Gateways) -> Served:
    return gateways.start(upstream=UPSTREAM, pass_through=["/v1/files"])


@pytest.fixture(scope="module")
def named(gateways: Gateways) -> Served:
    told: dict[str, Any] = {
        "hosts": ["Gateway", "ai.example"],
        "origins": ["http://localhost:3000"],
    }
    return gateways.start(upstream=UPSTREAM, **told)


def sent(served: Served, method: str, path: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"json": ASKED[CHAT]} if method == "POST" else {}
    return httpx.request(method, served.url + path, headers=named, timeout=30, **body)


def code(response: httpx.Response) -> str | None:
    return response.json()["error"]["code"] if response.status_code >= 400 else None


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("host", ["rebound.example", "127.0.0.1.example:1", "localhost@10.0.0.1"])
def test_a_name_that_was_made_to_lead_here_is_refused(
    served: Served, provider: SimulatedProvider, method: str, path: str, host: str
) -> None:
    before = provider.calls
    refused = sent(served, method, path, host=host)
    assert (refused.status_code, code(refused)) == (403, "unknown_host")
    assert "`hosts`" in refused.json()["error"]["message"]
    assert provider.calls == before


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "Same-Site"},
    ],
)
def test_pages_of_other_sites_are_refused(
    served: Served,
    provider: SimulatedProvider,
    method: str,
    path: str,
    headers: dict[str, str],
) -> None:
    before = provider.calls
    refused = sent(served, method, path, **headers)
    assert (refused.status_code, code(refused)) == (403, "unknown_origin")
    assert provider.calls == before


@pytest.mark.parametrize(
    ("path", "kind", "headers"),
    [
        (CHAT, "text/plain;charset=UTF-8", {}),
        (CHAT, "multipart/form-data; boundary=x", {}),
        ("/v1/embeddings", "Text/Plain", {}),
        (CHAT, "application/x-www-form-urlencoded", BROWSER),
        (CHAT, "", BROWSER),
        ("/v1/check", "", {"referer": "https://evil.example/"}),
    ],
)
def test_what_a_browser_sends_unasked_is_refused(
    served: Served, provider: SimulatedProvider, path: str, kind: str, headers: dict[str, str]
) -> None:
    before = provider.calls
    refused = sent(served, "POST", path, content_type=kind, **headers)
    assert (refused.status_code, code(refused)) == (415, "unsupported_content_type")
    assert "application/json" in refused.json()["error"]["message"]
    assert provider.calls == before


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.2:1", "[::1]:8100", "10.1.2.3"]
)
def test_this_machine_and_addresses_need_not_be_named(served: Served, host: str) -> None:
    # A page elsewhere has a name.
    assert sent(served, "POST", CHAT, host=host).json()["hallucination"]


def test_the_gateways_own_pages_are_answered(served: Served) -> None:
    own = served.url.removeprefix("http://")
    for origin in (served.url, f"https://{own}"):
        same = {"origin": origin, "sec_fetch_site": "same-origin", **BROWSER}
        assert sent(served, "POST", CHAT, **same).json()["hallucination"]
    assert sent(served, "GET", "/v1/models", sec_fetch_site="none", **BROWSER).status_code == 200


def test_uploads_and_what_node_says_of_itself_pass(
    served: Served, provider: SimulatedProvider
) -> None:
    assert sent(served, "POST", CHAT, sec_fetch_mode="cors").json()["hallucination"]
    before = len(provider.requests)
    httpx.post(f"{served.url}/v1/files", files={"file": b"x"})
    assert provider.requests[before].path == "/v1/files"


def test_names_and_origins_that_the_file_lists_are_known(named: Served) -> None:
    for host in ("gateway:8100", "AI.example", "localhost"):
        assert sent(named, "POST", CHAT, host=host).json()["hallucination"]
    page = {"origin": "http://localhost:3000", "sec_fetch_site": "same-site"}
    assert sent(named, "POST", CHAT, **page).json()["hallucination"]
    assert code(sent(named, "GET", "/v1/models", host="x.ai.example")) == "unknown_host"
    assert (
        code(sent(named, "GET", "/v1/models", origin="http://localhost:3001")) == "unknown_origin"
    )


def test_where_clients_have_keys_those_tell_who_asks(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", "k-team")
    keys = [{"name": "team", "env": "TEAM_KEY"}]
    foreign = {"host": "any.example", "origin": "https://app.example", "content_type": "text/plain"}
    told = {"authorization": "Bearer k-team", **foreign}
    open_, closed = gateways.start(keys=keys), gateways.start(keys=keys, hosts=["gateway"])
    assert sent(open_, "POST", CHAT, **told).json()["hallucination"]
    assert code(sent(open_, "POST", CHAT, **foreign)) == "invalid_api_key"
    assert code(sent(closed, "POST", CHAT, **told)) == "unknown_host"


def test_health_is_told_to_everybody(served: Served) -> None:
    for path in ("/healthz", "/readyz"):
        assert sent(served, "GET", path, host="probe.example").status_code == 200


@pytest.mark.parametrize(
    "told",
    [{"hosts": ["gateway:8100"]}, {"hosts": ["*"]}, {"hosts": ["http://gateway"]},
     {"origins": ["null"]}, {"origins": ["*"]}, {"origins": ["localhost:3000"]},
     {"origins": ["http://localhost:3000/"]}],
)  # fmt: skip
def test_what_could_match_nothing_or_everything_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(told))):
        GatewayConfig.of({"upstream": {"url": "http://x"}, **told})
