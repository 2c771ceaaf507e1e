"""Servers with OpenAI's API: the shapes of OpenAI, Ollama, vLLM and llama.cpp."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from resay import Guard, ProviderError, ProviderRefusedError, Request
from resay.errors import ConfigurationError, ProviderTimeoutError
from resay.plugins import Completions
from resay.providers import FanOut, Gathered, WithLogprobs, open_stream
from resay.providers.default import DefaultProvider
from resay.providers.openai_compatible import OpenAICompatibleProvider, is_compatible
from resay.testing import (
    CutConnection,
    Fault,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ScriptedProvider,
    ServerError,
    Slow,
)
from simulation import IgnoreLogprobs, IgnoreStreamOptions, SimulatedProvider
from support.attacks import Upstream, http_response, stream_of

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about Marie Curie."


@pytest.fixture
def server() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        yield server


def request_to(base_url: str, model: str = "llama3.2:1b", **params: Any) -> Request:
    return Request.of(QUESTION, model=model, params={"api_base": base_url, **params})


def body_of(server: SimulatedProvider) -> Mapping[str, Any]:
    body = server.requests[-1].body
    assert body is not None
    return body


async def gather(request: Request) -> Gathered:
    gathered = Gathered()
    async with open_stream(OpenAICompatibleProvider(), request) as chunks:
        async for chunk in chunks:
            gathered.add(chunk)
    return gathered


@pytest.mark.parametrize(
    ("model", "params", "is_own"),
    [
        ("llama3.2:1b", {"api_base": "http://a/v1"}, True),
        ("Qwen/Qwen3-8B", {"api_base": "http://a/v1"}, True),
        ("openai/gpt-4.1-mini", {"api_base": "http://a/v1"}, True),
        ("openai/gpt-4.1-mini", {"base_url": "http://a/v1"}, True),
        ("hosted_vllm/Qwen/Qwen3-8B", {"api_base": "http://a/v1"}, True),
        ("m", {"api_base": "http://a/v1", "custom_llm_provider": "openai"}, True),
        ("openai/gpt-4.1-mini", {}, False),
        ("gpt-4.1-mini", {}, False),
        ("anthropic/claude-sonnet-5", {"api_base": "http://a"}, False),
        ("ollama/llama3.2", {"api_base": "http://a"}, False),
        ("azure/deployment", {"api_base": "http://a"}, False),
        ("m", {"api_base": "http://a/v1", "custom_llm_provider": "anthropic"}, False),
    ],
)
def test_an_address_selects_the_own_provider(
    model: str, params: dict[str, Any], is_own: bool
) -> None:
    request = Request.of("Who?", model=model, params=params)
    assert is_compatible(request) is is_own
    if is_own:
        assert not DefaultProvider().needs_litellm(request)
        assert isinstance(DefaultProvider().provider_of(request), OpenAICompatibleProvider)


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("llama3.2:1b", "llama3.2:1b"),
        ("openai/gpt-4.1-mini", "gpt-4.1-mini"),
        ("openai/openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("hosted_vllm/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
async def test_the_server_gets_its_own_name_of_the_model(
    server: SimulatedProvider, model: str, sent: str
) -> None:
    await OpenAICompatibleProvider().complete(request_to(server.base_url, model))
    assert body_of(server)["model"] == sent


async def test_one_request_brings_n_answers(server: SimulatedProvider) -> None:
    answers = await OpenAICompatibleProvider().complete(request_to(server.base_url), n=3)
    assert len({answer.text for answer in answers.items}) == 3
    assert server.calls == answers.usage.calls == 1
    assert answers.usage.prompt_tokens == server.prompt_tokens > 0
    assert answers.usage.completion_tokens == server.completion_tokens > 0
    assert answers.usage.cost_usd is None
    assert answers.first.finish_reason == "stop"


async def test_a_server_that_ignores_n_is_asked_singly_from_then_on() -> None:
    with SimulatedProvider(seed=7, faults=[IgnoreN()]) as server:
        fan_out = FanOut(DefaultProvider())
        first = await fan_out.complete(request_to(server.base_url), n=4)
        assert len({answer.text for answer in first.items}) == 4
        assert [(record.body or {}).get("n") for record in server.requests] == [4, *[None] * 3]
        await FanOut(DefaultProvider()).complete(request_to(server.base_url), n=4)
        assert [(record.body or {}).get("n") for record in server.requests[4:]] == [None] * 4


async def test_a_parameter_that_json_cannot_represent_is_named(server: SimulatedProvider) -> None:
    request = request_to(server.base_url, seed={1, 2})
    provider = OpenAICompatibleProvider()
    with pytest.raises(ProviderRefusedError, match="'seed' holds a value that JSON cannot"):
        await provider.complete(request)
    with pytest.raises(ProviderRefusedError, match="'seed' holds a value that JSON cannot"):
        await provider.stream(request).__aenter__()
    assert server.calls == 0


async def test_parameters_are_passed_on(server: SimulatedProvider) -> None:
    class Person(BaseModel):
        name: str

    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    params: dict[str, Any] = {
        "temperature": 0.2,
        "max_tokens": 50,
        "tools": [tool],
        "response_format": Person,
        "drop_params": True,
        "num_retries": 4,
        "timeout": 20,
        "extra_body": {"top_k": 5, "chat_template_kwargs": {"enable_thinking": False}},
        "extra_headers": {"X-Trace": "7"},
    }
    await OpenAICompatibleProvider().complete(request_to(server.base_url, **params))
    body = dict(body_of(server))
    assert body.pop("messages") == [{"role": "user", "content": QUESTION}]
    response_format = body.pop("response_format")
    assert response_format["json_schema"]["schema"] == Person.model_json_schema()
    assert body == {
        "model": "llama3.2:1b",
        "temperature": 0.2,
        "max_tokens": 50,
        "tools": [tool],
        "top_k": 5,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert server.requests[-1].headers["x-trace"] == "7"


async def test_a_value_without_a_form_in_json_is_refused(server: SimulatedProvider) -> None:
    with pytest.raises(ProviderRefusedError, match="'stop' holds a value"):
        await OpenAICompatibleProvider().complete(request_to(server.base_url, stop={"a"}))
    assert server.calls == 0


async def test_log_probabilities_are_read(server: SimulatedProvider) -> None:
    provider = WithLogprobs(OpenAICompatibleProvider(), 3)
    answer = (await provider.complete(request_to(server.base_url))).first
    assert "".join(token.token for token in answer.logprobs) == answer.text
    with SimulatedProvider(seed=7, faults=[IgnoreLogprobs()]) as silent:
        answer = (await provider.complete(request_to(silent.base_url))).first
    assert answer.text
    assert not answer.logprobs


async def test_a_tool_call_is_read(server: SimulatedProvider) -> None:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    request = request_to(server.base_url, tools=[tool], tool_choice="required")
    answer = (await OpenAICompatibleProvider().complete(request)).first
    assert [call.name for call in answer.calls] == ["look_up"]
    streamed = (await gather(request)).completion
    assert [call.name for call in streamed.calls] == ["look_up"]


async def test_a_stream_is_the_same_answer(server: SimulatedProvider) -> None:
    request = request_to(server.base_url, temperature=0)
    whole = await OpenAICompatibleProvider().complete(request)
    gathered = await gather(request)
    assert gathered.text == whole.first.text
    assert gathered.completion.finish_reason == "stop"
    assert gathered.usage is not None
    assert gathered.usage.completion_tokens == whole.usage.completion_tokens


async def test_a_server_without_stream_options_is_asked_without() -> None:
    with SimulatedProvider(seed=7, faults=[Refused(status=400, first=1)]) as server:
        gathered = await gather(request_to(server.base_url))
        assert gathered.text
        assert gathered.usage is not None
        assert gathered.usage.calls == 2
        assert "stream_options" not in body_of(server)
    with SimulatedProvider(seed=7, faults=[IgnoreStreamOptions()]) as server:
        assert (await gather(request_to(server.base_url))).usage is None


# As the servers send them, shortened.
OLLAMA = {
    "id": "chatcmpl-613",
    "object": "chat.completion",
    "created": 1,
    "model": "qwen3:0.6b",
    "system_fingerprint": "fp_ollama",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Paris.", "reasoning": "France? Paris."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 26, "completion_tokens": 9, "total_tokens": 35},
}
VLLM = {
    "id": "chatcmpl-6a2b",
    "object": "chat.completion",
    "created": 1,
    "model": "Qwen/Qwen3-8B",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Paris.",
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                "tool_calls": [],
                "reasoning_content": "France? Paris.",
            },
            "logprobs": {
                "content": [
                    {"token": "Paris", "logprob": -0.01, "bytes": [80], "top_logprobs": []},
                    {"token": ".", "logprob": -0.2, "bytes": [46], "top_logprobs": []},
                ]
            },
            "finish_reason": "stop",
            "stop_reason": None,
            "token_ids": None,
        }
    ],
    "service_tier": None,
    "usage": {"prompt_tokens": 26, "completion_tokens": 9, "prompt_tokens_details": None},
    "prompt_logprobs": None,
    "kv_transfer_params": None,
}
LLAMA_CPP = {
    "choices": [
        {
            "finish_reason": "stop",
            "index": 0,
            "message": {"role": "assistant", "reasoning_content": "Hm.", "content": "Paris."},
        }
    ],
    "created": 1,
    "model": "gpt-3.5-turbo",
    "system_fingerprint": "b5200-1d735c0b",
    "object": "chat.completion",
    "usage": {"completion_tokens": 9, "prompt_tokens": 26, "total_tokens": 35},
    "id": "chatcmpl-vP9",
    "timings": {"prompt_n": 26, "predicted_per_second": 31.2},
}


@pytest.mark.parametrize("body", [OLLAMA, VLLM, LLAMA_CPP], ids=["ollama", "vllm", "llama.cpp"])
async def test_answers_of_local_servers_are_read(upstream: Upstream, body: dict[str, Any]) -> None:
    upstream.says(http_response(body))
    answers = await OpenAICompatibleProvider().complete(request_to(f"{upstream.root_url}/v1"))
    assert answers.first.text == "Paris."
    assert answers.first.finish_reason == "stop"
    assert (answers.usage.prompt_tokens, answers.usage.completion_tokens) == (26, 9)
    assert len(answers.first.logprobs) == (2 if body is VLLM else 0)


def _event(delta: dict[str, Any], **fields: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None, **fields}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


async def test_broken_json_behind_the_end_of_a_streamed_answer_does_not_lose_it(
    upstream: Upstream,
) -> None:
    text, end = _event({"content": "Paris."}), _event({}, finish_reason="stop")
    broken = b'data: {"choices": [], "usage": {"prompt_to\n\n'
    for events in ((text, end, broken, b"data: [DONE]\n\n"), (text, b"data: [DONE]\n\n", broken)):
        upstream.says(stream_of(*events))
        completion = (await gather(request_to(f"{upstream.root_url}/v1"))).completion
        assert (completion.text, completion.was_cut) == ("Paris.", False)


async def test_reasoning_in_a_stream_is_not_the_answer(upstream: Upstream) -> None:
    events = [
        _event({"role": "assistant", "content": ""}),
        _event({"reasoning_content": "France? "}),
        _event({"reasoning": "Paris."}),
        _event({"content": "Paris."}),
        _event({}, finish_reason="stop"),
        b"data: [DONE]\n\n",
    ]
    upstream.says(stream_of(*events))
    gathered = await gather(request_to(f"{upstream.root_url}/v1"))
    assert gathered.text == "Paris."
    assert gathered.completion.finish_reason == "stop"


async def test_a_stream_that_breaks_off_is_incomplete(upstream: Upstream) -> None:
    upstream.says(stream_of(_event({"content": "Par"})))
    gathered = await gather(request_to(f"{upstream.root_url}/v1"))
    assert gathered.completion.was_cut
    upstream.says(stream_of(_event({"content": "Par"}), b'data: {"choices": [{"del'))
    assert (await gather(request_to(f"{upstream.root_url}/v1"))).completion.was_cut
    upstream.says(stream_of(b'data: {"error": {"message": "out of memory"}}\n\n'))
    with pytest.raises(
        ProviderError, match="ended its answer with an error; see the server's log"
    ) as caught:
        await gather(request_to(f"{upstream.root_url}/v1"))
    assert "memory" not in str(caught.value)
    for broken in (b'data: {"choices": [{"del\n\n', b'data:   {"choices": [{"del\n\n'):
        upstream.says(stream_of(_event({"content": "Par"}), broken))
        with pytest.raises(ProviderError, match="streamed an event that is not JSON"):
            await gather(request_to(f"{upstream.root_url}/v1"))
    upstream.says(stream_of(b"data: [DONE]\n\n"))
    with pytest.raises(ProviderError, match="streamed no answer; check that it is a chat model"):
        await gather(request_to(f"{upstream.root_url}/v1"))


async def test_a_server_that_does_not_stream_gives_one_chunk(upstream: Upstream) -> None:
    upstream.says(http_response(OLLAMA))
    gathered = await gather(request_to(f"{upstream.root_url}/v1"))
    assert gathered.text == "Paris."
    assert gathered.completion.finish_reason == "stop"


async def test_leaving_a_stream_closes_its_connection(server: SimulatedProvider) -> None:
    server.set_faults(Slow(seconds=30, after=0))
    provider = OpenAICompatibleProvider()
    with anyio.move_on_after(0.2):
        async with open_stream(provider, request_to(server.base_url)) as chunks:
            await anext(aiter(chunks))
    assert await asyncio.to_thread(_waits_for, lambda: server.requests[-1].disconnected)


def _waits_for(condition: Any) -> bool:
    give_up = time.monotonic() + 20
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.002)
    return bool(condition())


async def _connections(server: SimulatedProvider) -> int:
    for _ in range(3):
        await OpenAICompatibleProvider().complete(request_to(server.base_url))
    return server.open_connections


def test_connections_are_reused_and_closed_with_their_event_loop(
    server: SimulatedProvider,
) -> None:
    for _ in range(2):
        assert asyncio.run(_connections(server)) == 1
        assert _waits_for(lambda: server.open_connections == 0)
    # What was left open says so when it is collected, and warnings are errors.
    gc.collect()


# Errors


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final(server: SimulatedProvider, status: int) -> None:
    server.set_faults(Refused(status=status))
    with pytest.raises(ProviderRefusedError) as caught:
        await OpenAICompatibleProvider().complete(request_to(server.base_url, api_key="sk-secret"))
    error = caught.value
    assert (error.status, error.retryable) == (status, False)
    assert error.unusable is (status in (401, 403, 404))
    assert f"{server.base_url}/chat/completions (HTTP {status})" in str(error)
    for secret in ("Curie", "sk-secret", "on command"):
        assert secret not in str(error)
    # The server's own words are kept for those who look for them.
    assert "on command" in str(error.cause)
    assert error.__suppress_context__


async def test_a_rate_limit_says_how_long_to_wait(server: SimulatedProvider) -> None:
    server.set_faults(RateLimited(retry_after_s=7))
    with pytest.raises(ProviderError) as caught:
        await OpenAICompatibleProvider().complete(request_to(server.base_url))
    error = caught.value
    assert (error.status, error.retry_after_s, error.retryable) == (429, 7, True)


@pytest.mark.parametrize("fault", [ServerError(), MalformedJson(), CutConnection()])
async def test_a_failure_may_be_tried_again(server: SimulatedProvider, fault: Any) -> None:
    server.set_faults(fault)
    with pytest.raises(ProviderError) as caught:
        await OpenAICompatibleProvider().complete(request_to(server.base_url))
    assert caught.value.retryable
    assert not caught.value.unusable


async def test_a_slow_server_times_out(server: SimulatedProvider) -> None:
    server.set_faults(Slow(seconds=30))
    with pytest.raises(ProviderTimeoutError):
        await OpenAICompatibleProvider().complete(request_to(server.base_url, timeout=0.1))


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"404 page not found", "did you mean the `api_base` '{root}/v1'?"),
        ({"detail": "Not Found"}, "did you mean the `api_base` '{root}/v1'?"),
        (
            {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}},
            "did you mean the `api_base` '{root}/v1'?",
        ),
        (
            {"error": {"message": "Invalid URL (POST /chat/completions): the model …"}},
            "did you mean the `api_base` '{root}/v1'?",
        ),
        (
            {"error": {"message": 'model "llama3.2:1b" not found, try pulling it first'}},
            "the server has no model 'llama3.2:1b'; check the model's name",
        ),
        (
            {"object": "error", "message": "The model `llama3.2:1b` does not exist.", "code": 404},
            "the server has no model 'llama3.2:1b'; check the model's name",
        ),
    ],
    ids=["ollama", "vllm", "llama.cpp", "openai", "ollama model", "vllm model"],
)
async def test_a_wrong_address_and_a_wrong_model_are_told_apart(
    upstream: Upstream, body: object, hint: str
) -> None:
    upstream.says(http_response(body, status="404 Not Found"))
    with pytest.raises(ProviderRefusedError) as caught:
        await OpenAICompatibleProvider().complete(request_to(upstream.root_url))
    message = str(caught.value)
    assert message.endswith(hint.format(root=upstream.root_url))
    assert f"{upstream.root_url}/chat/completions" in message


async def test_a_path_to_the_endpoint_itself_is_accepted(server: SimulatedProvider) -> None:
    for base_url in (f"{server.base_url}/", f"{server.base_url}/chat/completions"):
        answers = await OpenAICompatibleProvider().complete(request_to(base_url))
        assert answers.first.text


async def test_data_that_cannot_be_decompressed_says_what_to_check(upstream: Upstream) -> None:
    upstream.says(http_response(b"no gzip", "Content-Encoding: gzip"))
    with pytest.raises(ProviderError, match="check the server, and a proxy in front") as caught:
        await OpenAICompatibleProvider().complete(request_to(f"{upstream.root_url}/v1"))
    assert caught.value.detail == "DecodingError"


async def test_a_redirect_is_refused_with_a_hint(upstream: Upstream) -> None:
    upstream.says(http_response(b"", "Location: https://a/v1", status="308 Permanent Redirect"))
    with pytest.raises(ProviderRefusedError, match="redirects to another address"):
        await OpenAICompatibleProvider().complete(request_to(f"{upstream.root_url}/v1"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Welcome</html>", "something other than a JSON object; check `api_base`"),
        ({"error": {"message": "overloaded"}}, "answered with an error; see the server's log"),
        (
            {"object": "list", "data": []},
            "answered without a choice; check that it is a chat model",
        ),
    ],
)
async def test_another_answer_is_an_error(upstream: Upstream, body: object, message: str) -> None:
    upstream.says(http_response(body))
    with pytest.raises(ProviderError, match=message) as caught:
        await OpenAICompatibleProvider().complete(request_to(f"{upstream.root_url}/v1"))
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("localhost:11434/v1", "http://localhost:11434/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("api.example.com", "https://api.example.com/v1"),
        ("api.example.com/v2/", "https://api.example.com/v2"),
    ],
)
def test_an_address_without_a_scheme_is_refused_at_once(url: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Guard(model="m", api_base=url)
    assert str(caught.value) == f"`api_base` {url!r} is not a URL; did you mean {meant!r}?"
    with pytest.raises(ProviderRefusedError, match="did you mean"):
        Guard(model="m").ask("Who?", params={"api_base": url})


@pytest.mark.parametrize("url", ["ftp://a/v1", "file:///etc/passwd"])
def test_another_scheme_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"http://|not a URL"):
        Guard(model="m", api_base=url)


def test_a_server_that_is_down_is_named() -> None:
    guard = Guard(model="llama3.2:1b", api_base="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError) as caught:
        guard.ask("Who?")
    assert str(caught.value) == (
        "'llama3.2:1b' cannot be reached: nothing listens at 127.0.0.1:9; start the server, or"
        " check `api_base`"
    )
    assert caught.value.unusable


# Keys


async def test_keys_come_from_the_argument_or_the_environment(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")

    async def key_sent(model: str, **params: Any) -> list[str]:
        upstream.says(http_response(OLLAMA))
        base_url = f"{upstream.root_url}/v1"
        await OpenAICompatibleProvider().complete(request_to(base_url, model, **params))
        return list(upstream.received[-1].headers("authorization"))

    assert await key_sent("openai/m", api_key="sk-own") == ["Bearer sk-own"]
    assert await key_sent("openai/m") == ["Bearer sk-environment"]
    # The key of OpenAI is nobody else's business.
    assert await key_sent("llama3.2:1b") == []


async def test_a_missing_key_is_named_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderRefusedError) as caught:
        await OpenAICompatibleProvider().complete(request_to("https://api.openai.com/v1", "gpt-5"))
    message = str(caught.value)
    assert message == "'gpt-5' needs an API key; set OPENAI_API_KEY or pass `api_key`"


async def test_a_server_that_wants_a_key_says_so(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    upstream.says(http_response({"error": {"message": "no"}}, status="401 Unauthorized"))
    for model, remedy in (("m", "pass `api_key`"), ("openai/m", "set OPENAI_API_KEY or pass")):
        with pytest.raises(ProviderRefusedError, match=remedy):
            await OpenAICompatibleProvider().complete(request_to(upstream.root_url, model))
    with pytest.raises(ProviderRefusedError, match="check the API key"):
        await OpenAICompatibleProvider().complete(request_to(upstream.root_url, api_key="sk-x"))


# The whole way


_PROGRAM = """
import sys
from resay import Guard
guard = Guard(model="llama3.2:1b", api_base=sys.argv[1])
answer = guard.ask("Who designed the Sydney Harbour Bridge?")
assert answer.verdict.decision == "flagged", answer.verdict
assert answer.verdict.via == "native"
with guard.stream("Who designed the Sydney Harbour Bridge?") as stream:
    text = "".join(chunk.text for chunk in stream)
assert "1932" in text
judged = Guard({"chain": [{"method": "prompt", "judge": {"model": "m", "params": {
    "api_base": sys.argv[1]}}}]})
samples = ["In 1932.", "In 1932.", "In 1871."]
verdict = judged.check("It opened in 1932.", question="When?", samples=samples)
assert verdict.decision != "inconclusive", verdict
print(sorted({"litellm", "openai"} & set(sys.modules)))
"""


def test_litellm_is_never_imported(server: SimulatedProvider) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, server.base_url],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_what_is_wrong_is_said_in_few_lines() -> None:
    program = (
        "import sys; from resay import Guard;"
        " Guard(model='m', api_base=sys.argv[1]).ask('Who designed it?')"
    )
    for base_url in ("http://127.0.0.1:9/v1", "https://api.openai.com/v1"):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", program, base_url],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = run.stderr.splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert len(lines) < 15
        assert "direct cause" not in run.stderr
        assert "During handling" not in run.stderr


_SHORT_PROGRAM = """
import asyncio, sys
from resay import Guard

policy = {"chain": [{"method": "facts"}], "limits": {"retries": 0}}
guard = Guard(policy, model="m", api_base=sys.argv[1])
if sys.argv[2] == "async":
    asyncio.run(guard.aask("Who designed it?"))
guard.ask("Who designed it?")
"""


@pytest.mark.parametrize("call", ["sync", "async"])
@pytest.mark.parametrize("fault", [ServerError(), MalformedJson(), RateLimited(retry_after_s=0)])
def test_an_error_of_the_server_has_no_frames_of_ours(
    server: SimulatedProvider, fault: Fault, call: str
) -> None:
    server.set_faults(fault)
    run = subprocess.run(
        [sys.executable, "-c", _SHORT_PROGRAM, server.base_url, call],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ProviderError" in run.stderr.splitlines()[-1]
    frames = [line for line in run.stderr.splitlines() if line.startswith("  File ")]
    ours = [frame for frame in frames if "resay" in frame and "/test" not in frame]
    assert len(ours) <= 2, run.stderr


class BrokenProvider(ScriptedProvider):
    """A provider of a user's own, in a module of theirs."""

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        raise ProviderError("the tunnel is closed")


async def test_an_error_of_a_provider_of_the_users_own_keeps_its_line() -> None:
    guard = Guard({"chain": [{"method": "facts"}]}, model="m", provider=BrokenProvider([]))
    with pytest.raises(ProviderError) as in_async:
        await guard.aask(QUESTION)
    with pytest.raises(ProviderError) as in_sync:
        guard.ask(QUESTION)
    for caught in (in_async, in_sync):
        assert caught.traceback[-1].name == "complete"


def test_a_server_on_this_machine_is_asked_without_a_proxy(
    server: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    base_url = server.base_url.replace("127.0.0.1", "localhost")

    async def ask(url: str) -> str:
        return (await OpenAICompatibleProvider().complete(request_to(url))).first.text

    assert asyncio.run(ask(server.base_url))
    assert asyncio.run(ask(base_url))
    with pytest.raises(ProviderError):
        asyncio.run(ask("http://model.invalid/v1"))
