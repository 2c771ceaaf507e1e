"""The webhooks of the gateway, called by the packages of other gateways.

`make test-ecosystem` installs them. agentgateway, kgateway and Kong are in no registry of packages:
tests/server/gateway/webhooks calls their webhooks as their sources do. Portkey's gateway answers
with an error where a guardrail fails without `deny`, if @hono/node-server is newer than 1.13:
package.json keeps an older one (https://github.com/Portkey-AI/gateway/issues/1389).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from simulation import Hang, SimulatedProvider
from support.gateway import Gateways
from support.proxy import free_port
from support.repaired import KNOWN, QUESTION, WORLD

INSTALLED = os.environ.get("RESAY_TEST_ECOSYSTEM")
FOLDER = Path(INSTALLED or "")
CHAIN = "chain: [{method: ngram}]\nsampling: {max: 3, min: 3}\ncache: {store: none}\n"
FLAGS = CHAIN + "threshold: {passage: 0.0, sentence: 0.0}\n"
MESSAGE = FLAGS + "action: {do: block, message: Withheld.}\n"
REFUSES = FLAGS + "action: {do: block, exit: raise}\n"

pytestmark = [
    pytest.mark.skipif(INSTALLED is None, reason="`make test-ecosystem` installs the gateways"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def portkey() -> Iterator[str]:
    """Start Portkey's gateway, and yield its address."""
    port = free_port()
    build = FOLDER / "node" / "node_modules" / "@portkey-ai" / "gateway" / "build"
    server = subprocess.Popen(
        ["node", build / "start-server.js", f"--port={port}", "--headless"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        assert server.stdout is not None
        started = any("Ready for connections" in line for line in server.stdout)
        assert started
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as simulated:
        yield simulated


@pytest.fixture
def gateways(provider: SimulatedProvider, tmp_path: Path) -> Iterator[Gateways]:
    with ExitStack() as stack:
        yield Gateways(tmp_path, provider.root_url, stack)


def asked(
    portkey: str, provider: SimulatedProvider, url: str, *, hooks: str = "output", **settings: Any
) -> httpx.Response:
    """Ask the provider through Portkey, which has its webhook check the answer."""
    webhook = {"webhookURL": f"{url}/webhooks/portkey", "headers": {"x-resay-policy": "default"}}
    config = {
        "provider": "openai",
        "api_key": "simulated",
        "custom_host": provider.base_url,
        f"{hooks}_guardrails": [{"default.webhook": webhook, **settings}],
    }
    return httpx.post(
        f"{portkey}/v1/chat/completions",
        headers={"x-portkey-config": json.dumps(config)},
        json={"model": "chat", "messages": [{"role": "user", "content": QUESTION}]},
        timeout=60,
    )


def text_of(response: httpx.Response) -> str:
    return response.json()["choices"][0]["message"]["content"]


def result_of(response: httpx.Response, hooks: str = "after_request_hooks") -> Any:
    """What Portkey says of its webhook."""
    (guardrail,) = response.json()["hook_results"][hooks]
    (check,) = guardrail["checks"]
    return check


def test_portkey_shows_a_consistent_answer(
    portkey: str, provider: SimulatedProvider, gateways: Gateways
) -> None:
    served = gateways.start(CHAIN + "threshold: {passage: 1.0, sentence: 1.0}\n")
    response = asked(portkey, provider, served.url, deny=True)
    assert response.status_code == 200, response.text
    assert KNOWN in text_of(response)
    check = result_of(response)
    assert check["verdict"] is True
    assert check["data"]["responseData"]["decision"] == "consistent"
    # The answer, and our samples in one call.
    assert provider.calls == 2


def test_portkey_shows_the_message_in_place_of_an_answer(
    portkey: str, provider: SimulatedProvider, gateways: Gateways
) -> None:
    response = asked(portkey, provider, gateways.start(MESSAGE).url)
    assert text_of(response) == "Withheld."
    check = result_of(response)
    assert check["verdict"] is False
    assert check["transformed"] is True
    assert check["data"]["responseData"]["action"] == "block"


def test_portkey_refuses_a_request_where_the_policy_refuses_the_answer(
    portkey: str, provider: SimulatedProvider, gateways: Gateways
) -> None:
    response = asked(portkey, provider, gateways.start(REFUSES).url, deny=True)
    assert response.status_code == 446
    assert "Zorblatt" not in json.dumps(response.json().get("error"))
    assert "choices" not in response.json()


def test_portkey_asks_before_the_call_too(
    portkey: str, provider: SimulatedProvider, gateways: Gateways
) -> None:
    served = gateways.start(REFUSES)
    response = asked(portkey, provider, served.url, hooks="input", deny=True)
    assert response.status_code == 200, response.text
    check = result_of(response, "before_request_hooks")
    assert check["data"]["responseData"]["decision"] == "skipped"
    assert provider.calls == 1


def test_portkey_is_answered_before_it_gives_up(
    portkey: str, provider: SimulatedProvider, gateways: Gateways
) -> None:
    served = gateways.start(REFUSES + "on_error: block\n", limits={"webhook_s": 1.0})
    provider.set_faults(Hang(after=1))
    response = asked(portkey, provider, served.url)
    assert response.status_code == 246, response.text
    check = result_of(response)
    # Portkey would wait for 3 s, and then say that the webhook failed.
    assert check["execution_time"] < 3000
    assert check["data"]["responseData"]["decision"] == "inconclusive"
    assert check["verdict"] is False
