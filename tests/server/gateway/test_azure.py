"""Clients that name a deployment in the path: Azure's, by OpenAI's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest
from openai import AsyncAzureOpenAI, AzureOpenAI, OpenAI

from simulation import SimulatedProvider
from support.attacks import ANSWER, Upstream, http_response
from support.gateway import CHAT, MESSAGES, POLICY, Gateways, Served

BLOCK = POLICY + "stream_mode: buffer\naction: {do: block, message: No.}\n"
BLOCK += "threshold: {passage: 0.01, sentence: 0.01}\n"
VERSION = "2024-10-21"


@pytest.fixture
def served(gateways: Gateways) -> Served:
    return gateways.start(BLOCK)


def azure(served: Served, **told: Any) -> AzureOpenAI:
    settings = {"azure_endpoint": served.url, "api_version": VERSION, "api_key": "k", **told}
    return AzureOpenAI(**settings)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"azure_deployment": "simulated"},
        {"azure_endpoint": None, "base_url": "{url}/v1"},
        {"azure_endpoint": None, "base_url": "{url}/openai/v1"},
        {"azure_endpoint": None, "base_url": "{url}/v1/v1"},
    ],
)
def test_azures_client_is_guarded(
    served: Served, simulated: SimulatedProvider, told: dict[str, Any]
) -> None:
    url = {name: value and value.format(url=served.url) for name, value in told.items()}
    with azure(served, **url) as client:
        completion = client.chat.completions.create(model="simulated", messages=MESSAGES)
        assert completion.choices[0].message.content == "No."
        assert completion.hallucination["action"] == "block"
        stream = client.chat.completions.create(model="simulated", messages=MESSAGES, stream=True)
        chunks = [chunk for chunk in stream if chunk.choices]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "No."
        question = MESSAGES[0]["content"]
        old = client.completions.create(model="simulated", prompt=question, max_tokens=200)
        assert old.choices[0].text == "No."
        response = client.responses.create(model="simulated", input=MESSAGES[0]["content"])
        assert response.output_text == "No."
    # The model is known by its name, below the paths of the upstream's own API.
    paths = {request.path for request in simulated.requests}
    assert paths == {"/v1/chat/completions", "/v1/completions", "/v1/responses"}


@pytest.mark.anyio
async def test_azures_async_client_is_guarded(served: Served) -> None:
    async with AsyncAzureOpenAI(
        azure_endpoint=served.url, api_version=VERSION, api_key="k"
    ) as client:
        completion = await client.chat.completions.create(model="simulated", messages=MESSAGES)
        assert completion.choices[0].message.content == "No."
        async with client.chat.completions.stream(model="simulated", messages=MESSAGES) as stream:
            parts = [event.delta async for event in stream if event.type == "content.delta"]
        assert "".join(parts) == "No."


def test_azures_own_clients_for_other_apis_are_guarded(served: Served) -> None:
    with OpenAI(base_url=f"{served.url}/openai/v1/", api_key="k") as client:
        response = client.responses.create(model="simulated", input=MESSAGES[0]["content"])
        assert response.output_text == "No."
        assert client.models.list().data
    foundry = anthropic.AnthropicFoundry(base_url=f"{served.url}/anthropic", api_key="k")
    message = foundry.messages.create(model="simulated", max_tokens=99, messages=MESSAGES)
    assert message.content[0].text == "No."


@pytest.mark.parametrize(
    "path",
    [
        "/openai/deployments/simulated/chat/completions?api-version=2024-10-21",
        "/OpenAI/Deployments/simulated/chat/completions",
        "/v1/deployments/simulated/chat/completions",
        "/v1/engines/simulated/chat/completions",
        "/engines/simulated/chat/completions",
        "/engines/simulated/completions",
        "/v1/engines/simulated/completions",
        "/openai/deployments/org/simulated/chat/completions",
        "/openai/deployments/org%2Fsimulated/chat/completions",
        "/openai/chat/completions",
        "/chat/completions",
        "/v1/v1/v1/messages",
        "/openai/v1/responses",
    ],
)
def test_a_deployment_is_the_model(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(BLOCK)
    question = MESSAGES[0]["content"]
    body = {"messages": MESSAGES, "prompt": question, "input": question, "max_tokens": 99}
    # The deployment decides, as at Azure, whatever the body says.
    answer = served.post(path, json={**body, "model": "other"})
    assert answer.json()["hallucination"]["action"] == "block", answer.text
    asked = [(request.body or {})["model"] for request in simulated.requests]
    named = "simulated" in path
    wanted = ("org/simulated" if "org" in path else "simulated") if named else "other"
    assert set(asked) == {wanted}
    without = served.post(path, json=body)
    assert without.status_code in (200, 400)
    assert "hallucination" in without.json() or without.status_code == 400


@pytest.fixture
def at_azure(tmp_path: Path) -> Iterator[tuple[Served, Upstream]]:
    """A gateway to Azure's older API, with a key of its own."""
    with ExitStack() as stack:
        upstream = stack.enter_context(Upstream())
        gateways = Gateways(tmp_path, f"{upstream.root_url}/openai", stack)
        keys = [{"name": "team", "sha256": sha256(b"theirs").hexdigest()}]
        told: dict[str, Any] = {"upstream": {"api_key": "own"}, "keys": keys}
        yield gateways.start(POLICY + "cache: {store: none}\n", **told), upstream


def test_azures_older_api_is_asked_below_its_deployments(
    at_azure: tuple[Served, Upstream],
) -> None:
    served, upstream = at_azure
    upstream.says(http_response(ANSWER))
    with azure(served, api_key="theirs") as client:
        completion = client.chat.completions.create(model="a b", messages=MESSAGES)
    assert completion.hallucination["samples"] == 3
    wanted = f"POST /openai/deployments/a%20b/chat/completions?api-version={VERSION}"
    # The samples are asked for where the answer was.
    assert {request.target for request in upstream.received} == {wanted}
    assert {tuple(r.headers("api-key")) for r in upstream.received} == {("own",)}
    embedded = httpx.post(
        f"{served.url}/openai/deployments/e/embeddings",
        json={"input": "x"},
        headers={"api-key": "theirs"},
    )
    assert embedded.status_code == 200
    assert upstream.received[-1].target == "POST /openai/deployments/e/embeddings"


@pytest.mark.parametrize(
    "path",
    [
        "/openai/deployments/../chat/completions",
        "/openai/deployments/%2e%2e/chat/completions",
        "/openai/deployments/a%2f..%2f../chat/completions",
        "/openai/deployments/a%00/chat/completions",
        "/openai/deployments/a%5cb/chat/completions",
    ],
)
def test_no_deployment_leads_elsewhere(at_azure: tuple[Served, Upstream], path: str) -> None:
    served, upstream = at_azure
    upstream.says(http_response(ANSWER))
    with served.connected() as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\napi-key: theirs\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
        )
        assert connection.recv(65536).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))
    assert not upstream.received


def test_a_named_model_of_another_provider_is_a_deployment_too(gateways: Gateways) -> None:
    served = gateways.start()
    # Nothing is lost where the body names the model as well.
    answer = served.post("/openai/deployments/simulated/chat/completions", json=CHAT)
    assert answer.json()["hallucination"]
