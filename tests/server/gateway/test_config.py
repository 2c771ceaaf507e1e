from __future__ import annotations

from pathlib import Path

import pytest

from resay.errors import ConfigurationError, PolicyError
from resay_server.gateway import GatewayConfig, check_exposure

HASH = "a" * 64


def problems(tmp_path: Path, text: str, upstream: str | None = None) -> str:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    with pytest.raises(PolicyError) as caught:
        GatewayConfig.load(file, upstream=upstream)
    return str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "/gateway.yaml:1: the gateway file is empty; the shortest is: upstream: {url: "),
        ("- a", "/gateway.yaml:1: a gateway file must be a mapping (key: value), not a list"),
        ("version: 1\n", "/gateway.yaml: upstream: required, but missing; pass --upstream URL"),
        ("upstreem: {url: http://x}\n", ":1: upstreem: unknown key 'upstreem'; did you mean 'up"),
        ("model: {a: {model: x/y}}\n", ":1: model: unknown key 'model'; did you mean 'models'?"),
        (
            "upstream: {url: http://x}\nquotas: {default: {request_per_minute: 3}}\n",
            "unknown key 'request_per_minute'; did you mean 'requests_per_minute'?",
        ),
        ("upstream:\n  url: 7\n", "/gateway.yaml:2: upstream.url: must be text, not 7"),
        ("upstream:\n  url: ftp://x\n", "/gateway.yaml:2: upstream.url: must begin with http:"),
        ("upstream:\n  url: http://a:b@x/\n", "upstream.url: must not contain credentials"),
        ("upstream: {url: http://x}\nlimit: {}\n", ":2: limit: unknown key 'limit'; did you mean"),
        (
            "upstream: {url: http://x}\nlimits:\n  queue: -1\n",
            "/gateway.yaml:3: limits.queue: must be at least 0, not -1",
        ),
        (
            "upstream: {url: http://x}\nkeys:\n  - {name: a}\n",
            "/gateway.yaml:3: keys[0]: set either `sha256` or `env`",
        ),
        (
            "upstream: {url: http://x}\nkeys: [{name: a, env: A}, {name: a, env: B}]",
            "two `keys` have the same name",
        ),
        (
            "upstream: {url: http://x}\npolicies: {a: x}\nselectable_policies:\n  - a\n  - b\n",
            "/gateway.yaml:5: selectable_policies[1]: `selectable_policies` names 'b'",
        ),
        ("upstream: {url: http://x}\noverload: off\n", ":2: overload: must be 'refuse' or"),
        ("upstream: {url: http://x}\npolicies: {a b: x}\n", "/gateway.yaml:2: policies"),
        ("upstream: {url: http://x, api_key: '${NOPE}'}", "'NOPE' is not set"),
        (
            "upstream: {url: http://x}\noperator_key: opkey\n",
            "/gateway.yaml:2: operator_key: must have at least 16 characters; choose a longer one",
        ),
        (
            "upstream: {url: http://x}\noperator_key: ''\n",
            "/gateway.yaml:2: operator_key: must have at least 16 characters; choose a longer one",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in problems(tmp_path, text)


def test_every_mistake_is_said_whether_or_not_there_is_an_upstream(tmp_path: Path) -> None:
    text = "upstreem: {url: http://x}\nlimit: {queue: 3}\noverload: off\n"
    said = problems(tmp_path, text)
    assert [line.split(":")[2].strip() for line in said.splitlines()] == [
        "upstreem",
        "limit",
        "overload",
    ]
    said = problems(tmp_path, "limit: {queue: 3}\n")
    assert "upstream: required, but missing; pass --upstream URL" in said
    assert "limit: unknown key 'limit'; did you mean 'limits'?" in said


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.yaml: no such file"):
        GatewayConfig.load(tmp_path / "none.yaml")
    (tmp_path / "odd.yaml").write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        GatewayConfig.load(tmp_path / "odd.yaml")


def test_a_key_stands_in_no_error(tmp_path: Path) -> None:
    said = problems(tmp_path, "upstream:\n  url: nothing\n  api_key: [sk-secret-1]\n")
    assert "sk-secret-1" not in said
    for key in ("opkey-7", "20260704", "[opkey-7]"):
        said = problems(tmp_path, f"upstream: {{url: http://x}}\noperator_key: {key}\n")
        assert "operator_key: must" in said
        assert "opkey-7" not in said
        assert "20260704" not in said
    config = GatewayConfig.of({"upstream": {"url": "http://x", "api_key": "sk-secret-2"}})
    assert "sk-secret-2" not in repr(config)


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("upstream: {url: http://a, timeout_s: 7}\npolicies: {default: p, b: q}\n")
    config = GatewayConfig.load(file, upstream="http://b/v2/", policy="here.yaml")
    assert config.upstream.url == "http://b/v2"
    assert config.upstream.timeout_s == 7
    assert dict(config.policies) == {"default": "here.yaml", "b": str(tmp_path / "q")}


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://x", "http://x/v1"),
        ("http://x:8000/", "http://x:8000/v1"),
        ("https://x/v1/", "https://x/v1"),
        ("https://x/openai/v1", "https://x/openai/v1"),
    ],
)
def test_a_url_without_a_path_means_v1(url: str, base: str) -> None:
    assert GatewayConfig.load(None, upstream=url).upstream.url == base


def test_the_upstreams_key_is_not_for_everybody() -> None:
    config = GatewayConfig.of({"upstream": {"url": "http://x", "api_key": "k"}})
    for host in ("127.0.0.1", "localhost", "::1"):
        check_exposure(config, host)
    for host in ("0.0.0.0", "::", "example.org"):
        with pytest.raises(ConfigurationError, match="anyone could use"):
            check_exposure(config, host)
    told = {"upstream": {"url": "http://x", "api_key": "k"}}
    keys = [{"name": "a", "sha256": HASH}]
    check_exposure(GatewayConfig.of({**told, "keys": keys}), "0.0.0.0")
