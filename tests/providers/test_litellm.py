from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from resay import Guard, MissingDependencyError, ProviderError, ProviderRefusedError, Request
from resay.adapters import GuardRuntime
from resay.adapters.providers import LiteLLMProvider, Retrying
from resay.errors import DeadlineExceededError
from resay.providers import DefaultProvider, FanOut
from resay.providers.litellm_problems import is_litellm_provider, problem_before_import
from resay.testing import ScriptedProvider
from simulation import (
    EmptyAnswer,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
)
from support.alone import needs
from support.attacks import Upstream, http_response
from support.litellm_queries import QUESTION, query

pytestmark = [pytest.mark.anyio, needs("litellm")]


async def test_one_request_brings_n_answers(simulated: SimulatedProvider) -> None:
    got = await LiteLLMProvider().complete(query(simulated), n=3)
    assert len({c.text for c in got.items}) == 3
    assert simulated.calls == got.usage.calls == 1
    assert got.usage.prompt_tokens == simulated.prompt_tokens > 0
    assert got.usage.completion_tokens == simulated.completion_tokens > 0
    assert got.usage.cost_usd is None
    assert got.first.finish_reason == "stop"


async def test_a_known_model_has_a_price(simulated: SimulatedProvider) -> None:
    got = await LiteLLMProvider().complete(query(simulated, "openai/gpt-4.1-mini"))
    assert got.usage.cost_usd is not None
    assert got.usage.cost_usd > 0


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("openai/gpt-4.1-mini", True),
        ("groq/llama-3.1-8b-instant", True),
        ("anthropic/claude-3-5-sonnet-20241022", False),
        ("mistral/mistral-large-latest", False),
        ("ollama_chat/llama3", False),
        ("nosuchprovider/x", False),
    ],
)
async def test_who_takes_n(model: str, takes: bool) -> None:
    assert await LiteLLMProvider().takes_n(Request.of("Who?", model=model)) is takes


async def test_an_ignored_n_is_topped_up(simulated: SimulatedProvider) -> None:
    simulated.set_faults(IgnoreN())
    got = await FanOut(LiteLLMProvider()).complete(query(simulated), n=4)
    assert len(got.items) == 4
    assert simulated.calls == 4


async def test_litellm_retries_nothing(simulated: SimulatedProvider) -> None:
    simulated.set_faults(ServerError())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retryable
    assert simulated.calls == 1


async def test_retry_after_is_read(simulated: SimulatedProvider) -> None:
    simulated.set_faults(RateLimited(retry_after_s=7))
    with pytest.raises(ProviderError, match=r"HTTP 429.*limits\.concurrency") as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert (caught.value.status, caught.value.retry_after_s) == (429, 7.0)
    simulated.set_faults(RateLimited())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final(simulated: SimulatedProvider, status: int) -> None:
    simulated.set_faults(Refused(status=status))
    with pytest.raises(ProviderRefusedError) as caught:
        await LiteLLMProvider().complete(query(simulated, api_key="sk-secret"))
    assert caught.value.status == status
    assert not caught.value.retryable
    assert "Curie" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_a_broken_body_may_be_tried_again(simulated: SimulatedProvider) -> None:
    simulated.set_faults(MalformedJson())
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(query(simulated))
    assert caught.value.retryable


async def test_a_refusal_of_the_model_is_an_answer() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I cannot say who she was."}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    choice = {"index": 0, "message": refusal, "finish_reason": "stop"}
    with Upstream() as upstream:
        upstream.says(http_response({**body, "choices": [choice]}))
        request = Request.of(
            QUESTION, model="openai/m", params={"api_base": upstream.root_url, "api_key": "k"}
        )
        got = await LiteLLMProvider().complete(request)
    assert got.first.text == refusal["refusal"]


async def test_an_empty_answer_is_an_answer(simulated: SimulatedProvider) -> None:
    simulated.set_faults(EmptyAnswer())
    assert (await LiteLLMProvider().complete(query(simulated))).first.text == ""


@pytest.mark.parametrize(
    ("model", "base", "why"),
    [
        ("openai/x", "http://127.0.0.1:9/v1", "nothing listens at 127.0.0.1:9"),
        ("ollama_chat/x", "http://127.0.0.1:9", "nothing listens at 127.0.0.1:9"),
    ],
)
async def test_what_cannot_be_reached_is_named(model: str, base: str, why: str) -> None:
    nowhere = Request.of("Who?", model=model, params={"api_base": base, "api_key": "sk-secret"})
    with pytest.raises(ProviderError) as caught:
        await LiteLLMProvider().complete(nowhere)
    assert f"{model!r} cannot be reached: {why}; start the server" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert (caught.value.retryable, caught.value.status) == (True, None)


async def test_a_missing_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderRefusedError, match="needs an API key; set OPENAI_API_KEY or pass"):
        await LiteLLMProvider().complete(Request.of("Who?", model="openai/gpt-4.1-mini"))


_REFUSALS = """
import sys
from resay import Guard, ProviderRefusedError
for model in sys.argv[1:]:
    try:
        Guard(model=model).ask("Who?")
    except ProviderRefusedError as error:
        print(error, "|", error.__cause__, error.__suppress_context__ or error.__context__)
    try:
        with Guard(model=model) as guard, guard.stream("Who?") as stream:
            list(stream)
    except ProviderRefusedError as error:
        pass
print("litellm" in sys.modules)
"""


def test_what_litellm_would_refuse_is_refused_before_its_import() -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-c", _REFUSALS),
            *("openai/gpt-4.1-mini", "gpt-4.1-mini", "anthropic/claude-sonnet-5"),
            *("opnai/gpt-4.1-mini", "antropic/claude-sonnet-5", "Ollama/x", "super-9"),
        ],
        env={"PATH": os.environ["PATH"], "OPENAI_API_KEY": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "'openai/gpt-4.1-mini' needs an API key; set OPENAI_API_KEY or pass `api_key` | None None",
        "'gpt-4.1-mini' needs an API key; set OPENAI_API_KEY or pass `api_key` | None None",
        "'anthropic/claude-sonnet-5' needs an API key; set ANTHROPIC_API_KEY or pass `api_key`"
        " | None None",
        *(
            f"the model {wrong!r} cannot be called because {wrong.partition('/')[0]!r} is not a"
            f" known provider; did you mean {right!r}? For a server of your own, pass its address"
            " as `api_base` | None None"
            for wrong, right in (
                ("opnai/gpt-4.1-mini", "openai/gpt-4.1-mini"),
                ("antropic/claude-sonnet-5", "anthropic/claude-sonnet-5"),
                ("Ollama/x", "ollama/x"),
            )
        ),
        "the model 'super-9' cannot be called because it names no provider; pass the address of a"
        " server of your own as `api_base`, such as 'http://127.0.0.1:11434/v1', or write a"
        " provider before it, as in 'openai/gpt-4.1-mini' | None None",
        "False",
    ]


def test_a_wrong_address_in_the_environment_is_named_before_the_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "127.0.0.1:9")
    with pytest.raises(ProviderRefusedError) as caught:
        Guard(model="openai/gpt-4.1-mini").ask("Who?")
    assert str(caught.value) == (
        "OPENAI_BASE_URL '127.0.0.1:9' is not a URL; did you mean 'http://127.0.0.1:9/v1'?"
    )


def test_the_providers_of_the_installed_litellm_are_known() -> None:
    litellm: Any = pytest.importorskip("litellm")
    missed = [name for name in litellm.provider_list if not is_litellm_provider(str(name.value))]
    assert missed == []


_UNAWAITED = """
import asyncio, gc
from resay.adapters.providers import LiteLLMProvider

class OpenAIChatCompletion:
    async def acompletion(self): ...

class OwnClient:
    async def acompletion(self): ...

asyncio.run(LiteLLMProvider().prepare())
OpenAIChatCompletion().acompletion()
OwnClient().acompletion()
gc.collect()
"""


def test_only_litellms_own_coroutines_may_be_left_behind() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "default::RuntimeWarning", "-c", _UNAWAITED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "OpenAIChatCompletion" not in run.stderr
    assert "coroutine 'OwnClient.acompletion' was never awaited" in run.stderr


@pytest.mark.parametrize("name", ["ollama", "bedrock", "zai", "vertex_ai", "lemonade", "helicone"])
def test_a_provider_without_a_key_is_left_to_litellm(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    assert problem_before_import(Request.of("Who?", model=f"{name}/some-model")) is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LITELLM_MODE", "DEV"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "False"),
        ("USE_LITELLM_PROXY", "True"),
    ],
)
def test_what_litellm_may_read_elsewhere_is_left_to_it(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    request = Request.of("Who?", model="openai/gpt-4.1-mini")
    assert problem_before_import(request) is not None
    monkeypatch.setenv(variable, value)
    assert problem_before_import(request) is None


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("nosuchprovider/x", "'nosuchprovider' is not a known provider"),
        ("x", "it names no provider; pass the address"),
    ],
)
async def test_a_name_without_a_known_provider_is_refused(model: str, why: str) -> None:
    with pytest.raises(ProviderRefusedError, match=why):
        await LiteLLMProvider().complete(Request.of("Who?", model=model))


async def _connected(simulated: SimulatedProvider) -> int:
    for _ in range(2):
        await LiteLLMProvider().complete(query(simulated))
    return simulated.open_connections


def _run_plainly(work: Coroutine[Any, Any, int]) -> int:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        others = asyncio.all_tasks(loop)
        for task in others:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*others, return_exceptions=True))
        loop.close()


@pytest.mark.parametrize("run", [asyncio.run, _run_plainly])
def test_connections_are_closed_with_their_event_loop(
    run: Callable[[Coroutine[Any, Any, int]], int], simulated: SimulatedProvider
) -> None:
    for _ in range(2):
        assert run(_connected(simulated)) == 1
        give_up = time.monotonic() + 30
        while simulated.open_connections and time.monotonic() < give_up:
            time.sleep(0.001)
    # What was left open says so when it is collected, and warnings are errors.
    gc.collect()
    assert simulated.open_connections == 0


def test_a_loop_gets_no_client_of_one_that_had_its_address(simulated: SimulatedProvider) -> None:
    import litellm

    cache = litellm.in_memory_llm_clients_cache
    gone: dict[str, Any] = {}

    async def ask() -> None:
        mark = cache.update_cache_key_with_event_loop("")
        # litellm's own names, where the loop before had this mark.
        for name, client in gone.items():
            cache.cache_dict[f"{name}{mark}"] = client
        await LiteLLMProvider().complete(query(simulated))
        for key, client in cache.cache_dict.items():
            if key.endswith(mark):
                gone[key.removesuffix(mark)] = client

    for _ in range(2):
        asyncio.run(ask())
    assert gone
    assert simulated.calls == 2


_BODY = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "x",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Yes."},
                "finish_reason": "stop",
            }
        ],
    }
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    _BODY
)


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    requests: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
                await reader.readexactly(length)
                requests.append(id(writer))
                if requests.count(id(writer)) > 1:
                    return
                writer.write(_ANSWER + _BODY)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    # From Python 3.12 on `async with` would wait for the client to end its last connection.
    with closing(server):
        port = server.sockets[0].getsockname()[1]
        request = Request.of(
            "Who?",
            model="openai/x",
            params={"api_base": f"http://127.0.0.1:{port}/v1", "api_key": "k"},
        )
        provider = Retrying(LiteLLMProvider(), 1)
        texts = [(await provider.complete(request)).first.text for _ in range(2)]
    assert texts == ["Yes.", "Yes."]
    assert len(requests) == 3


class _Waiting(MetaPathFinder, Loader):
    """Finds a litellm whose import waits until it may go on."""

    def __init__(self) -> None:
        self.began, self.may = threading.Event(), threading.Event()
        self.imported = 0

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        return ModuleSpec(name, self) if name == "litellm" else None

    def exec_module(self, module: Any) -> None:
        self.began.set()
        assert self.may.wait(60)
        self.imported += 1
        message = SimpleNamespace(content="Yes.")
        choice = SimpleNamespace(message=message, finish_reason="stop")

        async def acompletion(**kwargs: Any) -> object:
            choices = [choice] * kwargs.get("n", 1)
            return SimpleNamespace(choices=choices, _hidden_params={"response_cost": 0.0})

        module.acompletion = acompletion
        module.get_supported_openai_params = lambda **_: ["n"]
        module.in_memory_llm_clients_cache = SimpleNamespace(
            cache_dict={}, update_cache_key_with_event_loop=lambda key: f"{key}-loop"
        )
        module.aclient_session = module.client_session = None


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Waiting]:
    finder = _Waiting()
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-test")
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder
    finder.may.set()


# More than `limits.timeout_s` allows an answer, and more than `limits.deadline_s` allows a request.
@pytest.mark.parametrize(
    ("import_s", "expected"),
    [(100.0, ["Yes.", "Yes.", "consistent"]), (3600.0, ["inconclusive", "no time", "no time"])],
)
async def test_importing_litellm_is_not_the_providers_time_but_that_of_the_request(
    waiting: _Waiting, monkeypatch: pytest.MonkeyPatch, import_s: float, expected: list[str]
) -> None:
    guard = Guard({"chain": [{"method": "ngram"}], "cache": {"store": "none"}}, model="mistral/x")
    loop = asyncio.get_running_loop()
    time, late_s = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: time() + late_s)
    decisions: list[str] = []
    all_decided = anyio.Event()

    def decide(decision: str) -> None:
        decisions.append(decision)
        if len(decisions) == len(expected):
            all_decided.set()

    async def ask() -> None:
        try:
            decide((await guard.aask("Who?")).text)
        except DeadlineExceededError:
            decide("no time")

    async def check() -> None:
        decide((await guard.acheck("Yes.", question="Who?")).decision)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        tasks.start_soon(check)
        await anyio.to_thread.run_sync(waiting.began.wait)
        late_s = import_s
        if "no time" in expected:
            # They are over before the import is.
            await all_decided.wait()
        waiting.may.set()
    assert sorted(decisions) == expected
    # Whatever became of them, the import is whole.
    assert (await guard.aask("Who?")).text == "Yes."
    assert waiting.imported == 1


async def test_preparing_imports_litellm_where_it_is_needed(waiting: _Waiting) -> None:
    waiting.may.set()
    judged = {"chain": [{"method": "zero_shot", "judge": "mistral/x"}]}
    await GuardRuntime(Guard()).aprepare()
    await GuardRuntime(Guard(judged, provider=ScriptedProvider(["Yes."]))).aprepare()
    assert not waiting.imported
    await GuardRuntime(Guard(judged)).aprepare()
    assert waiting.imported == 1
    await GuardRuntime(Guard(model="mistral/x")).aprepare()
    assert waiting.imported == 1


async def test_the_applications_litellm_is_left_alone(simulated: SimulatedProvider) -> None:
    import litellm

    names = ("callbacks", "cache", "drop_params", "num_retries", "request_timeout", "api_key")
    before = {name: getattr(litellm, name) for name in names}
    await LiteLLMProvider().complete(query(simulated), n=2)
    assert {name: getattr(litellm, name) for name in names} == before


def test_without_litellm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resay.providers.litellm.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"resay\[litellm\]"):
        LiteLLMProvider()


_QUIET = """
import anyio, os, sys
from resay import Request
from resay.providers import LiteLLMProvider
provider = LiteLLMProvider()
assert "litellm" not in sys.modules
print(anyio.run(provider.takes_n, Request.of("Who?", model="openai/x")), "litellm" in sys.modules)
assert "FROM_DOTENV" not in os.environ
"""


def test_the_first_request_imports_litellm_quietly(tmp_path: Any) -> None:
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    done = subprocess.run(
        [sys.executable, "-c", _QUIET],
        env={**os.environ, "OPENAI_API_KEY": "sk-test"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")


@pytest.mark.parametrize(
    ("model", "supported"),
    [
        ("openai/gpt-4.1-mini", {"temperature", "json_object", "json_schema"}),
        ("openai/some-model-of-a-server", {"temperature", "json_object"}),
        ("no-provider/at-all", set[str]()),
    ],
)
async def test_what_litellm_forwards_is_declared(model: str, supported: set[str]) -> None:
    assert await LiteLLMProvider().supported_params(Request.of("?", model=model)) == supported


@pytest.mark.parametrize("name", ["custom_provider_map", "model_alias_map"])
def test_litellm_may_have_been_told_of_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm

    request = Request((), model="own/m")
    assert "'own' is not a known provider" in str(DefaultProvider().problem_with_name(request))
    monkeypatch.setattr(litellm, name, {"own": "set up by the application"})
    assert DefaultProvider().problem_with_name(request) is None
