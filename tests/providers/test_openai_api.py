"""OpenAI's models without litellm: what it would send, get and report, without its import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from resay import Guard, ProviderError, Request
from resay.plugins import Completions
from resay.providers import Gathered, litellm_problems, open_stream, openai_api, prices
from resay.providers.apis.values import mapping
from resay.providers.default import DefaultProvider
from resay.providers.litellm import LiteLLMProvider
from resay.providers.litellm_names import is_openai_model
from resay.providers.openai_api import OpenAIProvider, is_openai
from resay.providers.prices import litellm_entries
from resay.testing import Fault, MalformedJson, RateLimited, Refused, ServerError
from simulation import SimulatedProvider
from support.alone import needs
from support.attacks import Upstream, http_response

pytestmark = [pytest.mark.anyio, needs("litellm")]

QUESTION = "Tell me about Marie Curie."
KEY = "sk-nothing"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_ADMIN_KEY", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        yield provider


@pytest.fixture
def never_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make litellm appear not to be imported."""
    monkeypatch.delitem(sys.modules, "litellm", raising=False)


def request_to(model: str = "openai/gpt-4.1-mini", **params: Any) -> Request:
    return Request.of(QUESTION, model=model, params=params)


def sent_body(server: SimulatedProvider) -> Mapping[str, Any]:
    body = server.requests[-1].body
    assert body is not None
    # litellm says what is the default.
    return {key: value for key, value in body.items() if (key, value) != ("stream", False)}


@pytest.mark.usefixtures("never_imported")
@pytest.mark.parametrize(
    ("model", "params", "is_direct"),
    [
        ("openai/gpt-4.1-mini", {}, True),
        ("gpt-4.1-mini", {}, True),
        ("gpt-4o-2024-08-06", {"temperature": 0.2, "max_tokens": 9}, True),
        ("openai/an-unlisted-model", {"seed": 1}, True),
        ("an-unlisted-model", {}, False),
        ("gpt-oss-120b", {}, False),
        ("gpt-35-turbo", {}, False),
        ("gpt-4-by/others", {}, False),
        ("chat-latest", {}, True),
        ("chatgpt-4o-latest", {}, True),
        ("gpt-9.1-mini-2031-01-01", {}, True),
        ("ft:gpt-4.1-mini-2025-04-14:acme::8XyZ", {}, False),
        ("gpt-5-mini", {"max_tokens": 9}, True),
        ("gpt-5-mini", {"temperature": 1}, False),
        ("o3", {}, True),
        ("o1", {}, False),
        ("openai/responses/gpt-5", {}, False),
        ("gpt-5-codex", {}, False),
        ("gpt-4o-mini-tts", {}, False),
        ("gpt-4o-transcribe", {}, False),
        ("o4-mini-deep-research", {}, False),
        ("gpt-4o-search-preview", {}, False),
        ("openai/gpt-4.1-mini", {"tools": [{"type": "function"}]}, False),
        ("openai/gpt-4.1-mini", {"drop_params": True}, False),
        ("openai/gpt-4.1-mini", {"mock_response": "Hi"}, False),
        ("openai/gpt-4.1-mini", {"fallbacks": ["gpt-4o"]}, False),
        ("openai/gpt-4.1-mini", {"metadata": {"user": "u"}}, False),
        ("anthropic/claude-sonnet-5", {}, False),
        ("azure/gpt-4.1-mini", {}, False),
    ],
)
def test_which_requests_need_no_litellm(
    model: str, params: dict[str, Any], is_direct: bool
) -> None:
    request = request_to(model, **params)
    assert is_openai(request) is is_direct
    assert DefaultProvider().needs_litellm(request) is not is_direct
    kind = OpenAIProvider if is_direct else LiteLLMProvider
    assert isinstance(DefaultProvider().provider_of(request), kind)


@pytest.mark.usefixtures("never_imported")
@pytest.mark.parametrize("model", ["gpt-4.1-mini", "openai/gpt-4o", "o3", "gpt-5-mini"])
def test_names_of_openais_models_need_no_list(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (openai_api, litellm_problems):
        monkeypatch.setattr(module, "litellm_entries", None)
    assert is_openai(request_to(model))
    assert DefaultProvider().problem(request_to(model)) is None


@pytest.mark.usefixtures("never_imported")
def test_names_of_openais_models_are_those_of_litellms_list() -> None:
    taken: list[str] = []
    for name, entry in litellm_entries().items():
        values = mapping(entry)
        if is_openai_model(name):
            taken.append(name)
            assert str(values["litellm_provider"]).endswith("openai"), name
            assert not is_openai(request_to(name)) or values["mode"] == "chat", name
    assert len(taken) > 50


def test_an_application_that_imported_litellm_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", pytest)
    assert not is_openai(request_to())


@pytest.mark.usefixtures("never_imported")
@pytest.mark.parametrize("variable", ["LITELLM_MODE", "USE_LITELLM_PROXY", "SSL_VERIFY"])
def test_settings_of_litellms_keep_it(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "DEV")
    assert not is_openai(request_to())


@pytest.mark.usefixtures("never_imported")
def test_a_picture_keeps_litellm() -> None:
    picture = {"type": "image_url", "image_url": "https://example.org/a.png"}
    text = {"type": "text", "text": "What is this?"}
    for content, is_direct in (([text], True), ([text, picture], False)):
        request = Request(({"role": "user", "content": content},), model="openai/gpt-4o")
        assert is_openai(request) is is_direct


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "gpt-4o", "gpt-5-mini", "o3"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_tokens": 30},
        {"max_completion_tokens": 30, "seed": 3},
        {"response_format": {"type": "json_object"}},
        {"extra_body": {"verbosity": "low"}, "extra_headers": {"X-Trace": "1"}, "timeout": 9},
    ],
)
async def test_the_same_is_sent_got_and_reported_as_through_litellm(
    server: SimulatedProvider, model: str, params: dict[str, Any]
) -> None:
    answers: list[Completions] = []
    bodies: list[Mapping[str, Any]] = []
    headers: list[Mapping[str, str]] = []
    for provider in (LiteLLMProvider(), OpenAIProvider()):
        answers.append(await provider.complete(request_to(model, **params), n=2))
        bodies.append(sent_body(server))
        headers.append(server.requests[-1].headers)
    assert bodies[0] == bodies[1]
    assert headers[0].get("x-trace") == headers[1].get("x-trace")
    theirs, ours = answers
    assert len(ours.items) == len(theirs.items) == 2
    assert ours.first.finish_reason == theirs.first.finish_reason
    assert ours.usage.calls == theirs.usage.calls
    assert ours.usage.prompt_tokens == theirs.usage.prompt_tokens
    per_token = (theirs.usage.cost_usd or 0) / theirs.usage.tokens
    assert ours.usage.cost_usd is not None
    assert ours.usage.cost_usd / ours.usage.tokens == pytest.approx(per_token, rel=0.5)


async def test_cached_tokens_cost_what_litellm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Polish."},
            }
        ],
        "usage": {
            "prompt_tokens": 2000,
            "completion_tokens": 100,
            "total_tokens": 2100,
            "prompt_tokens_details": {"cached_tokens": 1500},
        },
    }
    with Upstream() as upstream:
        upstream.says(http_response(answer))
        monkeypatch.setenv("OPENAI_BASE_URL", f"{upstream.root_url}/v1")
        theirs = await LiteLLMProvider().complete(request_to())
        ours = await OpenAIProvider().complete(request_to())
    assert ours.usage == theirs.usage
    assert ours.usage.cost_usd == pytest.approx(500 * 4e-7 + 1500 * 1e-7 + 100 * 1.6e-6)


async def test_the_list_of_prices_is_read_off_the_event_loop(
    server: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def noted_spec(name: str) -> ModuleSpec | None:
        threads.append(threading.get_ident())
        return find_spec(name)

    monkeypatch.setattr(prices, "find_spec", noted_spec)
    for call in (prices.litellm_entries, prices._litellm_rates):
        call.cache_clear()
    answer = await OpenAIProvider().complete(request_to())
    assert answer.usage.cost_usd
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_a_stream_is_the_same(server: SimulatedProvider) -> None:
    gathered: list[Gathered] = []
    for provider in (LiteLLMProvider(), OpenAIProvider()):
        pieces = Gathered()
        async with open_stream(provider, request_to(seed=5)) as chunks:
            async for chunk in chunks:
                pieces.add(chunk)
        gathered.append(pieces)
    theirs, ours = (pieces.completion for pieces in gathered)
    assert ours.finish_reason == theirs.finish_reason == "stop"
    assert ours.text
    assert server.calls == 2


@pytest.mark.parametrize(
    "fault",
    [
        Refused(400),
        Refused(401),
        Refused(403),
        Refused(404),
        RateLimited(retry_after_s=3),
        RateLimited(),
        ServerError(500),
        ServerError(503),
        MalformedJson(),
    ],
    ids=repr,
)
async def test_errors_are_the_same(server: SimulatedProvider, fault: Fault) -> None:
    errors: list[ProviderError] = []
    for provider in (LiteLLMProvider(), OpenAIProvider()):
        server.set_faults(fault)
        with pytest.raises(ProviderError) as caught:
            await provider.complete(request_to())
        errors.append(caught.value)
    theirs, ours = errors
    assert type(ours) is type(theirs)
    assert (ours.retryable, ours.unusable) == (theirs.retryable, theirs.unusable)
    if not isinstance(fault, MalformedJson):
        assert (ours.status, ours.retry_after_s) == (theirs.status, theirs.retry_after_s)
    assert "openai/gpt-4.1-mini" in str(ours)
    assert KEY not in str(ours)


async def test_whose_account_pays(
    server: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def headers() -> tuple[str | None, str | None]:
        sent = server.requests[-1].headers
        return sent.get("openai-organization"), sent.get("openai-project")

    monkeypatch.setenv("OPENAI_ORG_ID", "org-sdk")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    await OpenAIProvider().complete(request_to())
    assert headers() == ("org-sdk", "proj-1")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-litellm")
    await OpenAIProvider().complete(request_to())
    assert headers() == ("org-litellm", "proj-1")
    await OpenAIProvider().complete(request_to(organization="org-own"))
    assert headers() == ("org-own", "proj-1")


@pytest.mark.parametrize(
    "model", ["gpt-4.1-mini", "gpt-4o", "gpt-4", "gpt-3.5-turbo", "openai/an-unlisted-model"]
)
async def test_the_same_parameters_are_supported(model: str) -> None:
    theirs = await LiteLLMProvider().supported_params(request_to(model))
    assert await OpenAIProvider().supported_params(request_to(model)) == theirs


async def test_models_that_reason_are_sent_no_temperature_that_they_refuse() -> None:
    provider = OpenAIProvider()
    assert await provider.supported_params(request_to("gpt-5-mini")) == {
        "json_object",
        "json_schema",
    }


_PROGRAM = """
import json, sys
from resay import Guard
verdict = Guard({policy!r}, model={model!r}).ask("Who was Marie Curie?").verdict
imported = [name for name in ("litellm", "openai") if sys.modules.get(name)]
print(json.dumps([verdict.decision, verdict.usage.calls, verdict.usage.cost_usd, imported]))
"""


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "gpt-4.1-mini"])
@pytest.mark.parametrize("is_installed", [True, False])
def test_a_guard_of_openais_model_imports_no_litellm(
    server: SimulatedProvider, is_installed: bool, model: str
) -> None:
    policy = {"chain": ["prompt"], "sampling": {"min": 2, "max": 2}}
    hide = "" if is_installed else "import sys; sys.modules['litellm'] = None\n"
    run = subprocess.run(
        [sys.executable, "-c", hide + _PROGRAM.format(policy=policy, model=model)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert run.returncode == 0, run.stderr
    decision, calls, cost_usd, imported = json.loads(run.stdout)
    assert decision in ("consistent", "flagged")
    assert calls >= 2
    # The prices are those of litellm's list.
    assert (cost_usd is not None) is is_installed
    assert imported == []
    # A verdict counts what the check costs, without the answer itself.
    assert server.calls == calls + 1


@pytest.mark.usefixtures("never_imported")
def test_samples_of_one_address_are_not_taken_for_those_of_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    policy = {
        "chain": [{"method": "ngram"}],
        "cache": {"store": "sqlite", "path": str(tmp_path / "kept.db")},
    }
    calls: list[int] = []
    with SimulatedProvider(seed=7) as first, SimulatedProvider(seed=8) as second:
        for server in (first, first, second):
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            before = server.calls
            guard = Guard(policy, model="openai/gpt-4.1-mini")
            guard.check("She won two prizes.", question=QUESTION)
            calls.append(server.calls - before)
    assert calls[0] > 0
    assert calls == [calls[0], 0, calls[0]]
