from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from openai import OpenAI

from resay.adapters.apis import CHAT_COMPLETIONS
from resay.errors import ConfigurationError, PolicyError
from resay_server.gateway import Gateway, GatewayConfig, Observation, check_exposure, serving
from resay_server.gateway.calls import read_call
from resay_server.gateway.config import ModelConfig
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.litellm.upstream import LiteLLMUpstream
from resay_server.gateway.routing import Routing
from simulation import RateLimited, Refused, SimulatedProvider

litellm: Any = pytest.importorskip("litellm")
# litellm 1.106 speaks no Responses API without it, and does not install it.
pytest.importorskip("mcp")

QUESTION = "Tell me about the Sydney Harbour Bridge."
MESSAGES: Any = [{"role": "user", "content": QUESTION}]
LOOK_UP: Any = {"type": "object", "properties": {"place": {"type": "string"}}}
CALLING: Any = [{"role": "user", "content": "[[tool]] Canberra"}]
MODES = ("after", "hold", "buffer")
NAMES = ("claude", "gpt", "sim")


class Running:
    """A gateway with models at one provider."""

    def __init__(self, provider: SimulatedProvider, folder: Path, stack: ExitStack) -> None:
        self.provider = provider
        self.seen: list[Observation] = []
        self._folder = folder
        self._stack = stack
        self.url = self.start()

    def start(self, **told: Any) -> str:
        """Start another one; return its address."""
        policies = {mode: str(self._folder / f"{mode}.yaml") for mode in MODES}
        for mode, path in policies.items():
            text = f"chain: [{{method: ngram}}]\nsampling: {{max: 3}}\nstream_mode: {mode}\n"
            Path(path).write_text(text)
        known = {"models": self.models(), "policies": {"default": policies["after"], **policies}}
        config = GatewayConfig.of(known | told)
        gateway = Gateway(config, on_verdict=self.seen.append)
        return self._stack.enter_context(serving(gateway, config.limits))

    def models(self) -> dict[str, Any]:
        base, key = self.provider.base_url, {"api_key": "of-the-operator"}
        return {
            "gpt": {"model": "openai/gpt-4.1-mini", "api_base": base, **key},
            "sim": {"model": "hosted_vllm/simulated", "api_base": base, **key},
            "claude": {
                "model": "anthropic/claude-sonnet-5",
                "api_base": self.provider.root_url,
                **key,
            },
        }


async def _closed(self: LiteLLMUpstream) -> None:
    # Where its sessions are, whose loop ends with the gateway's thread.
    del self
    await litellm.close_litellm_async_clients()
    litellm.module_level_aclient = type(litellm.module_level_aclient)()


@contextmanager
def one_litellm() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litellm, "suppress_debug_info", True)
        patch.setattr(litellm, "disable_aiohttp_transport", True)
        cache = type(litellm.in_memory_llm_clients_cache)()
        patch.setattr(litellm, "in_memory_llm_clients_cache", cache)
        # The one for all loops may have connections of loops that are gone.
        fresh = type(litellm.module_level_aclient)()
        patch.setattr(litellm, "module_level_aclient", fresh)
        patch.setattr(LiteLLMUpstream, "aclose", _closed)
        yield


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:
        stack.enter_context(one_litellm())
        provider = stack.enter_context(SimulatedProvider(seed=5))
        yield Running(provider, tmp_path_factory.mktemp("models"), stack)


@pytest.fixture(autouse=True)
def _no_faults(running: Running) -> Iterator[None]:
    yield
    running.provider.clear_faults()


@pytest.fixture
def openai(running: Running) -> Iterator[OpenAI]:
    with OpenAI(api_key="x", base_url=f"{running.url}/v1", max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic(running: Running) -> Iterator[Anthropic]:
    with Anthropic(api_key="x", base_url=running.url, max_retries=0) as client:
        yield client


def policy(mode: str) -> dict[str, Any]:
    return {"extra_headers": {"x-resay-policy": mode}}


@pytest.mark.parametrize("model", NAMES)
def test_openai_s_client_reads_whole_answers(openai: Any, model: str) -> None:
    chat: Any = openai.chat.completions.create(model=model, messages=MESSAGES)
    response: Any = openai.responses.create(model=model, input=QUESTION)
    assert chat.choices[0].message.content
    assert (chat.choices[0].finish_reason, chat.choices[0].message.refusal) == ("stop", None)
    assert chat.usage.total_tokens > 0
    assert response.output_text
    assert response.usage.total_tokens > 0
    assert response.id.startswith("resp_")
    for answer in (chat, response):
        assert answer.model == model
        assert answer.hallucination["decision"] == "flagged"
        assert answer.hallucination["samples"] == 3
    assert "provider_specific_fields" not in chat.model_dump_json() + response.model_dump_json()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", NAMES)
def test_openai_s_client_reads_streams(openai: Any, model: str, mode: str) -> None:
    told = {"model": model, **policy(mode)}
    with openai.chat.completions.stream(messages=MESSAGES, **told) as events:
        for _ in events:
            pass
        completion: Any = events.get_final_completion()
    assert completion.model == model
    assert completion.choices[0].message.content.endswith(".")
    assert completion.choices[0].finish_reason == "stop"
    with openai.responses.stream(input=QUESTION, **told) as events:
        kinds = [event.type for event in events]
        response: Any = events.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert (response.model, response.hallucination["samples"]) == (model, 3)
    assert response.output_text.endswith(".")


@pytest.mark.parametrize("model", NAMES)
def test_anthropic_s_client_reads_answers_and_streams(anthropic: Any, model: str) -> None:
    asked: Any = {"model": model, "max_tokens": 300, "messages": MESSAGES}
    message: Any = anthropic.messages.create(**asked)
    assert message.content[0].text
    assert (message.model, message.stop_reason, message.role) == (model, "end_turn", "assistant")
    assert message.id.startswith("msg_")
    assert message.usage.output_tokens > 0
    assert message.hallucination["samples"] == 3
    for mode in MODES:
        with anthropic.messages.stream(**asked, **policy(mode)) as events:
            kinds = [event.type for event in events]
            streamed: Any = events.get_final_message()
        assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
        assert (streamed.model, streamed.stop_reason) == (model, "end_turn")
        assert streamed.content[0].text.endswith(".")
        assert streamed.usage.output_tokens > 0


@pytest.mark.parametrize("model", NAMES)
def test_tools_of_the_application_are_called(openai: Any, anthropic: Any, model: str) -> None:
    function = {"name": "look_up", "description": "Look it up.", "parameters": LOOK_UP}
    tools: Any = [{"type": "function", "function": function}]
    for stream in (False, True):
        with openai.chat.completions.stream(model=model, messages=CALLING, tools=tools) as events:
            chat: Any = events.get_final_completion()
        if not stream:
            chat = openai.chat.completions.create(model=model, messages=CALLING, tools=tools)
        (call,) = chat.choices[0].message.tool_calls
        assert (call.function.name, chat.choices[0].finish_reason) == ("look_up", "tool_calls")
        assert isinstance(json.loads(call.function.arguments), dict)
    told: Any = [
        *CALLING,
        chat.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": "See http://here/."},
    ]
    answer = openai.chat.completions.create(model=model, messages=told, tools=tools)
    assert answer.choices[0].message.content
    flat: Any = [{"type": "function", "strict": False, **function}]
    response = openai.responses.create(model=model, input=CALLING[0]["content"], tools=flat)
    assert [item.type for item in response.output] == ["function_call"]
    own: Any = [{"name": "look_up", "description": "Look it up.", "input_schema": LOOK_UP}]
    asked: Any = {"model": model, "max_tokens": 300, "messages": CALLING, "tools": own}
    with anthropic.messages.stream(**asked) as events:
        streamed = events.get_final_message()
    for message in (anthropic.messages.create(**asked), streamed):
        (block,) = [block for block in message.content if block.type == "tool_use"]
        assert (block.name, message.stop_reason) == ("look_up", "tool_use")
        assert isinstance(block.input, dict)


# litellm opens a client for each request of these and closes none.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_completions_of_texts_are_answered(running: Running) -> None:
    for model in NAMES:
        asked = {"model": model, "prompt": QUESTION, "max_tokens": 60}
        answer = httpx.post(f"{running.url}/v1/completions", json=asked, timeout=20).json()
        assert (answer["object"], answer["model"]) == ("text_completion", model)
        assert answer["choices"][0]["text"].strip()
    gc.collect()


def test_samples_come_from_the_same_model_and_are_counted(running: Running, openai: Any) -> None:
    before = len(running.provider.requests)
    answer: Any = openai.chat.completions.create(model="claude", messages=MESSAGES)
    requests = running.provider.requests[before:]
    assert {request.path for request in requests} == {"/v1/messages"}
    assert len(requests) == 4
    assert answer.hallucination["usage"]["cost_usd"] > 0
    assert all("n" not in (request.body or {}) for request in requests)


def test_a_client_says_how_to_answer_and_nothing_else(running: Running, openai: Any) -> None:
    before = len(running.provider.requests)
    hostile = {"api_base": "http://evil/", "mock_response": "x", "fallbacks": ["openai/x"]}
    openai.chat.completions.create(
        model="gpt", messages=MESSAGES, temperature=0.4, extra_body=hostile
    )
    main = running.provider.requests[before]
    assert main.body is not None
    assert main.body.keys() <= {"model", "messages", "temperature", "n", "max_retries"}
    assert main.body["model"] == "gpt-4.1-mini"


@pytest.mark.parametrize("path", ["chat/completions", "messages"])
def test_errors_have_the_api_s_shape(running: Running, path: str) -> None:
    asked = {"model": "gpt", "messages": MESSAGES, "max_tokens": 9}
    for fault, status in ((RateLimited(retry_after_s=3), 429), (Refused(status=404), 404)):
        running.provider.set_faults(fault)
        answer = httpx.post(f"{running.url}/v1/{path}", json=asked, timeout=20)
        assert answer.status_code == status
        assert answer.headers.get("retry-after") == ("3" if status == 429 else None)
        error = answer.json()["error"]
        assert "'gpt' did not answer" in error["message"]
        assert (answer.json().get("type") == "error") is (path == "messages")


@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses", "completions"])
def test_an_unknown_model_is_answered_with_those_there_are(running: Running, path: str) -> None:
    asked = {"model": "nope", "messages": MESSAGES, "input": "x", "prompt": "x", "max_tokens": 9}
    answer = httpx.post(f"{running.url}/v1/{path}", json=asked, timeout=20)
    assert answer.status_code == 404
    assert "'claude', 'gpt', 'sim'" in answer.json()["error"]["message"]
    kind = "not_found_error" if path == "messages" else "invalid_request_error"
    assert answer.json()["error"]["type"] == kind


def test_what_nobody_answers_is_not_there(running: Running) -> None:
    answer = httpx.post(f"{running.url}/v1/embeddings", json={"model": "gpt", "input": "x"})
    assert answer.status_code == 404
    assert httpx.get(f"{running.url}/v1/models/nope").status_code == 404


def test_clients_list_the_models(running: Running, openai: Any, anthropic: Any) -> None:
    assert [model.id for model in openai.models.list()] == list(NAMES)
    assert openai.models.retrieve("gpt").owned_by == "resay"
    assert [model.display_name for model in anthropic.models.list()] == list(NAMES)
    assert anthropic.models.retrieve("claude").type == "model"


def test_an_upstream_answers_for_all_other_models(running: Running) -> None:
    base = running.provider.base_url
    models = {"own/model": {"model": "openai/gpt-4.1-mini", "api_base": base, "api_key": "k"}}
    url = running.start(models=models, upstream={"url": base})
    with (
        OpenAI(api_key="x", base_url=f"{url}/v1") as client,
        Anthropic(api_key="x", base_url=url) as other,
    ):
        assert [model.id for model in client.models.list()] == ["own/model", "simulated"]
        assert [model.id for model in other.models.list()] == ["own/model", "simulated"]
        assert client.models.retrieve("own/model").id == "own/model"
        for name, asked in (("own/model", "gpt-4.1-mini"), ("simulated", "simulated")):
            before = len(running.provider.requests)
            answer = client.chat.completions.create(model=name, messages=MESSAGES)
            assert answer.model == name
            sent = running.provider.requests[before:]
            assert {(request.body or {})["model"] for request in sent} == {asked}


def test_what_is_too_much_to_guard_goes_to_the_model_too(running: Running) -> None:
    async def passed(body: dict[str, Any], stream: bool) -> bytes:
        models = {k: ModelConfig.model_validate(v) for k, v in running.models().items()}
        upstream = LiteLLMUpstream(models)
        await upstream.prepare()
        raw = f"/v1{CHAT_COMPLETIONS.path}".encode()
        scope = {"method": "POST", "path": raw.decode(), "raw_path": raw, "query_string": b""}

        async def pieces() -> AsyncGenerator[bytes]:
            for piece in json.dumps({**body, "stream": stream}).encode().split(b" "):
                yield piece + b" "

        routing = Routing(None, upstream)
        try:
            response = await routing.forward(read_call({**scope, "headers": []}), pieces())
            return b"".join([piece async for piece in response.pieces(limited=False)])
        finally:
            await routing.aclose()

    asked = {"model": "gpt", "messages": MESSAGES}
    assert json.loads(asyncio.run(passed(asked, stream=False)))["model"] == "gpt"
    assert asyncio.run(passed(asked, stream=True)).endswith(b"data: [DONE]\n\n")
    with pytest.raises(RefusedError, match="no model 'x'"):
        asyncio.run(passed({**asked, "model": "x"}, stream=False))


def test_the_gateway_file_names_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-secret")
    path = tmp_path / "gateway.yaml"
    path.write_text(
        "models:\n"
        "  claude: {model: anthropic/claude-sonnet-5, api_key: '${THE_KEY}', timeout_s: 30}\n"
        "  local: {model: ollama/llama3.2, api_base: 'http://127.0.0.1:11434'}\n"
        "  cheap: {model: bedrock/x, params: {aws_region_name: eu-west-1}}\n"
    )
    config = GatewayConfig.load(path)
    assert config.upstream is None
    assert config.models["cheap"].params == {"aws_region_name": "eu-west-1"}
    assert "sk-secret" not in repr(config)
    check_exposure(config, "127.0.0.1")
    with pytest.raises(ConfigurationError, match="anyone could use"):
        check_exposure(config, "0.0.0.0")
    keys = [{"name": "a", "sha256": "0" * 64}]
    check_exposure(GatewayConfig.of({"models": {"m": {"model": "x"}}, "keys": keys}), "0.0.0.0")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({"model": ""}, "must not be empty"),
        ({"model": "x", "params": {"api_key": "sk-1"}}, "'api_key' is not allowed in `params`"),
        ({"model": "x", "params": {"fallbacks": []}}, "'fallbacks' is not allowed in `params`"),
        ({"model": "x", "params": {"messages": []}}, "'messages' is not allowed in `params`"),
        ({"model": "x", "api_base": "127.0.0.1:11434"}, "must begin with http"),
        ({"model": "x", "api_base": "http://user:pass@host"}, "must not contain credentials"),
        ({"model": "x", "api_bas": "http://host"}, "api_bas"),
        ({}, "model"),
    ],
)
def test_models_are_read_strictly(model: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as caught:
        GatewayConfig.of({"models": {"m": model}})
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize("config", [{}, {"models": {}}, {"models": {"-x": {"model": "x"}}}])
def test_somebody_must_answer(config: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        GatewayConfig.of(config)


def test_litellm_is_loaded_only_where_it_is_needed() -> None:
    code = (
        "import sys, resay_server.gateway, resay_server.gateway.litellm.upstream as l\n"
        "from resay_server.gateway.config import ModelConfig\n"
        "l.LiteLLMUpstream({'m': ModelConfig(model='openai/x')})\n"
        "assert not {'litellm', 'numpy', 'torch'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
