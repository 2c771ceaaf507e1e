"""Requests that would have the gateway ask somebody else, or with another's key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import pytest

from support.attacks import ANSWER, CHAT, Upstream, ask, http_response
from support.gateway import POLICY, Gateways, Served

if find_spec("litellm") is None:
    pytest.skip("litellm is not installed", allow_module_level=True)

QUESTION = "What is the Zorblatt?"
MESSAGES = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def canary() -> Iterator[Upstream]:
    """Somebody inside, whom nobody may ask."""
    with Upstream() as canary:
        yield canary


@pytest.fixture(scope="module", autouse=True)
def no_list_of_prices() -> Iterator[None]:
    """litellm looks for none on the net when the gateway imports it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        yield


@pytest.fixture(scope="module")
def policys_own() -> Iterator[Upstream]:
    """Where the policy has samples written."""
    with Upstream() as own:
        yield own


@pytest.fixture(scope="module")
def mixed(starter: Gateways, policys_own: Upstream) -> Served:
    """A gateway whose policies ask the upstream, a judge there, and a model elsewhere."""
    params = {"api_base": f"{policys_own.root_url}/v1", "api_key": "sk-of-the-policy"}
    sampling = {"max": 2, "model": "openai/sampler", "params": params}
    elsewhere = {"chain": [{"method": "ngram"}], "sampling": sampling, "cache": {"store": "none"}}
    policies = {
        "judged": "chain: [{method: prompt}]\nsampling: {max: 2}\ncache: {store: none}\n",
        "elsewhere": json.dumps(elsewhere),
    }
    files = {name: starter.policy(text, f"{name}.yaml") for name, text in policies.items()}
    return starter.start(POLICY + "cache: {store: none}\n", policies=files)


def hostile(url: str) -> dict[str, dict[str, Any]]:
    """Return what a client may say to have somebody else asked."""
    v1 = f"{url}/v1"
    return {
        "an address": dict.fromkeys(("api_base", "base_url", "api_url", "endpoint", "url"), v1),
        "a provider": {"custom_llm_provider": "openai", "api_base": v1, "provider": v1},
        "a model with an address": {"model": f"openai/{v1}"},
        "a model of a provider": {"model": "ollama/llama3", "api_base": url},
        "a model that is an address": {"model": v1},
        "a model on a disk": {"model": "huggingface//etc/passwd"},
        "a deployment": {"deployment_id": "x", "azure_endpoint": url, "azure_ad_token": "x"},
        "fallbacks": {"fallbacks": [{"model": "openai/x", "api_base": v1}],
                      "context_window_fallbacks": [{"m": [f"openai/{v1}"]}]},
        "a list of models": {"model_list": [{"litellm_params": {"model": "x", "api_base": v1}}]},
        "headers": {"extra_headers": {"Host": url}, "headers": {"Host": url, "Location": url}},
        "a body in the body": {"extra_body": {"api_base": v1, "model": v1}},
        "a query": {"extra_query": {"api_base": v1}},
        "a proxy": {"proxy": url, "proxies": {"http": url}, "http_client": url, "transport": url},
        "callbacks": {"callbacks": [url], "success_callback": ["webhook"], "logger_fn": url,
                      "metadata": {"callback": url, "api_base": v1}, "webhook": url},
        "a mock": {"mock_response": "Fine.", "mock_tool_calls": []},
        "a cache": {"cache": {"type": "redis", "host": url}, "caching": True},
        "an upstream": {"upstream": v1, "x-resay-upstream": v1},
        "a reference in JSON": {"$ref": url, "__proto__": {"api_base": v1}, "tools": [
            {"type": "mcp", "server_url": url, "server_label": "x"}]},
    }  # fmt: skip


NAMES = list(hostile("http://x"))


@pytest.mark.parametrize("policy", ["default", "judged", "elsewhere"])
@pytest.mark.parametrize("name", NAMES)
def test_only_the_upstream_and_the_policys_own_are_asked(
    mixed: Served,
    upstream: Upstream,
    policys_own: Upstream,
    canary: Upstream,
    name: str,
    policy: str,
) -> None:
    policys_own.says(http_response(ANSWER))
    told = hostile(canary.root_url)[name]
    answer = ask(
        mixed,
        {"model": "m", "messages": MESSAGES, **told},
        f"x-resay-policy: {policy}",
        f"x-resay-upstream: {canary.root_url}",
        "Authorization: Bearer sk-of-the-client",
    )
    assert answer.status == 200
    assert canary.connections == 0
    assert upstream.received
    for request in policys_own.received:
        # It is asked with the policy's key and model, and not with what was said besides.
        assert request.headers("authorization") == ["Bearer sk-of-the-policy"]
        assert request.json["model"] == "sampler"
        assert canary.root_url.encode() not in request.head
        assert not told.keys() & (request.json.keys() - {"model", "tools"})


def refer(url: str) -> dict[str, Any]:
    return {
        "an image": {"type": "image_url", "image_url": {"url": f"{url}/a.png"}},
        "an image as text": {"type": "image_url", "image_url": f"{url}/a.png"},
        "a file": {"type": "file", "file": {"file_id": f"{url}/a.pdf"}},
        "a file by its address": {"type": "file", "file": {"file_url": f"{url}/a.pdf"}},
        "a video": {"type": "video_url", "video_url": {"url": f"{url}/a.mp4"}},
        "audio": {"type": "input_audio", "input_audio": {"data": f"{url}/a", "format": "wav"}},
        "a document": {"type": "document", "source": {"type": "url", "url": f"{url}/a"}},
        "a disk": {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        "capitals": {"type": "image_url", "image_url": {"url": url.replace("http", "HTTP")}},
    }


@pytest.mark.parametrize("policy", ["default", "judged", "elsewhere"])
@pytest.mark.parametrize("name", list(refer("http://x")))
def test_nothing_that_messages_refer_to_is_fetched(
    mixed: Served,
    upstream: Upstream,
    policys_own: Upstream,
    canary: Upstream,
    name: str,
    policy: str,
) -> None:
    policys_own.says(http_response(ANSWER))
    part = refer(canary.root_url)[name]
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, part]}]
    asked = {"model": "m", "messages": messages}
    assert ask(mixed, asked, f"x-resay-policy: {policy}").status == 200
    assert canary.connections == 0
    assert not policys_own.received
    # The upstream may do with it what it does for anybody.
    assert asked in [request.json for request in upstream.received]


@pytest.mark.parametrize("path", [CHAT, "/v1/responses", "/v1/messages"])
def test_the_environment_names_no_other_upstream(
    starter: Gateways,
    upstream: Upstream,
    canary: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, f"{canary.root_url}/v1")
    with ExitStack() as stack:
        fresh = Gateways(starter.folder, upstream.root_url, stack).start()
        asked = {"model": "m", "messages": MESSAGES, "input": QUESTION}
        assert ask(fresh, asked, target=path).status == 200
    assert canary.connections == 0
