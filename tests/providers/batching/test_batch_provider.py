from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from resay import Request
from resay.adapters.providers import BatchCallsConfig
from resay.errors import ConfigurationError, ProviderError, ProviderRefusedError
from resay.plugins import Completions
from resay.providers.batching.layer import BatchProvider
from support.alone import needs
from support.batch_apis import LONGEST_S, WAIT_S, BatchServer, Fate, Fault, once_idle

KEY = "sk-very-secret"
POLL_S = 7.0
MODELS = ["openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"]
OPENAI, ANTHROPIC = MODELS

both = pytest.mark.parametrize("model", MODELS)


pytestmark = pytest.mark.anyio
needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed")


def config(folder: Path, **settings: Any) -> BatchCallsConfig:
    given = {"wait_s": WAIT_S, "poll_s": 0.0, "longest_poll_s": 0.0, **settings}
    return BatchCallsConfig(state=str(folder / "state" / "batches.db"), **given)


def query(server: BatchServer, model: str, text: str, **params: Any) -> Request:
    base = server.root if model.startswith("anthropic/") else f"{server.root}/v1"
    return Request.of(text, model=model, params={"api_base": base, "api_key": KEY, **params})


async def ask_all(provider: BatchProvider, *queries: Request) -> list[str | ProviderError]:
    """Ask all at the same time; errors are returned."""
    texts: list[str | ProviderError] = [""] * len(queries)

    async def ask(index: int) -> None:
        try:
            texts[index] = (await provider.complete(queries[index])).first.text
        except ProviderError as error:
            texts[index] = error

    async with anyio.create_task_group() as tasks:
        for index in range(len(queries)):
            tasks.start_soon(ask, index)
    return texts


async def answers(
    folder: Path, server: BatchServer, model: str, *texts: str, **settings: Any
) -> list[str | ProviderError]:
    provider = BatchProvider(config(folder, max_requests=len(texts), **settings), sleep=once_idle)
    try:
        return await ask_all(provider, *(query(server, model, text) for text in texts))
    finally:
        await provider.aclose()


# What goes well


@both
async def test_all_that_is_asked_together_goes_into_one_batch(tmp_path: Path, model: str) -> None:
    with BatchServer() as server:
        texts = await answers(tmp_path, server, model, "Kea", "Tui", "Weka")
    assert texts == ["About: Kea", "About: Tui", "About: Weka"]
    assert server.created() == 1
    assert [body["model"] for body in server.sent()] == [model.partition("/")[2]] * 3
    assert all(KEY not in json.dumps(body) for body in server.sent())
    assert server.keys == {KEY}


@both
async def test_several_samples_of_a_question_are_as_many_requests(
    tmp_path: Path, model: str
) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path, max_requests=3), sleep=once_idle)
        request = query(server, model, "Kea")
        assert not await provider.takes_n(request)
        samples = [
            Request(request.messages, request.model, request.params, index=i) for i in range(3)
        ]
        assert await ask_all(provider, *samples) == ["About: Kea"] * 3
        with pytest.raises(ProviderRefusedError) as caught:
            await provider.complete(request, n=2)
        # Whoever asks for several goes on with one at a time.
        assert caught.value.status == 400
        await provider.aclose()
    (made,) = server.batches
    assert len({request["custom_id"] for request in made.requests}) == 3


@both
async def test_it_says_what_an_answer_took_and_why_it_ended(tmp_path: Path, model: str) -> None:
    completions: list[Completions] = []
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        completions.append(await provider.complete(query(server, model, "Kea")))
        await provider.aclose()
    usage = completions[0].usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 100, 10)
    assert usage.cost_usd is None
    assert completions[0].first.finish_reason in ("stop", "end_turn")


async def test_parameters_are_translated_for_anthropic(tmp_path: Path) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Kea"}]
        request = Request.of(
            messages,
            model=ANTHROPIC,
            params={"api_base": server.root, "api_key": KEY, "stop": "x", "timeout": 3},
        )
        await provider.complete(request)
        await provider.aclose()
    (body,) = server.sent()
    assert body["system"] == "Be short."
    assert body["messages"] == [{"role": "user", "content": "Kea"}]
    assert (body["max_tokens"], body["stop_sequences"]) == (4096, ["x"])
    assert not {"stop", "timeout", "api_base"} & set(body)


@both
async def test_a_line_separator_in_an_answer_ends_no_line(tmp_path: Path, model: str) -> None:
    text = "one\u2028two\x85three\u2029"
    with BatchServer(lambda *_: text) as server:
        assert await answers(tmp_path, server, model, "Kea") == [text]


async def test_equal_requests_at_the_same_time_are_sent_once(tmp_path: Path) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        requests = [query(server, OPENAI, "Kea") for _ in range(3)]
        assert await ask_all(provider, *requests) == ["About: Kea"] * 3
        await provider.aclose()
    assert sum(len(made.requests) for made in server.batches) == 1


async def test_each_model_has_batches_of_its_own(tmp_path: Path) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        models = (OPENAI, "openai/gpt-4.1", ANTHROPIC)
        texts = await ask_all(provider, *(query(server, model, "Kea") for model in models))
        await provider.aclose()
    assert texts == ["About: Kea"] * 3
    assert server.created() == 3


async def test_what_is_too_much_for_one_batch_goes_into_several(tmp_path: Path) -> None:
    with BatchServer() as server:
        text = "Kea" * 200
        texts = await answers(
            tmp_path, server, OPENAI, *(f"{text}{i}" for i in range(3)), max_mb=0.0018
        )
        assert texts == [f"About: {text}{i}" for i in range(3)]
        assert sorted(len(made.requests) for made in server.batches) == [1, 2]
        (error,) = await answers(tmp_path, server, OPENAI, text * 9, max_mb=0.002)
        assert "`calls.max_mb`" in str(error)


async def test_it_waits_as_long_as_something_new_comes(tmp_path: Path) -> None:
    # The test is the clock: each of the first two waits brings another request.
    waits: list[float] = []
    with BatchServer(polls=0) as server, anyio.fail_after(LONGEST_S):
        async with anyio.create_task_group() as tasks:

            async def sleep(seconds: float) -> None:
                waits.append(seconds)
                if len(waits) <= 2:
                    tasks.start_soon(provider.complete, query(server, OPENAI, f"Kea {len(waits)}"))
                    for _ in range(10):
                        await anyio.lowlevel.checkpoint()

            provider = BatchProvider(config(tmp_path, wait_s=4.0), sleep=sleep)
            tasks.start_soon(provider.complete, query(server, OPENAI, "Kea"))
        await provider.aclose()
    assert waits[:3] == [4.0, 4.0, 4.0]
    assert [len(made.requests) for made in server.batches] == [3]


# What goes wrong


@both
@pytest.mark.parametrize(
    "failure", [(500, "overloaded_error"), (429, "api_error"), "expired", None]
)
async def test_what_failed_is_sent_again_in_the_next_batch(
    tmp_path: Path, model: str, failure: Fate
) -> None:
    def fate(body: Mapping[str, Any], batch: int) -> Fate:
        text = body["messages"][-1]["content"]
        return failure if text == "Tui" and batch == 0 else text

    end = "expired" if failure == "expired" else "completed"
    with BatchServer(fate, ends=[end]) as server:
        assert await answers(tmp_path, server, model, "Kea", "Tui") == ["Kea", "Tui"]
    assert [len(made.requests) for made in server.batches] == [2, 1]
    first, second = server.batches
    assert second.requests[0] in first.requests


@both
async def test_what_fails_each_time_is_given_up(tmp_path: Path, model: str) -> None:
    with BatchServer(lambda *_: "expired") as server:
        (error,) = await answers(tmp_path, server, model, "Kea", retries=2)
    assert isinstance(error, ProviderError)
    assert "3 batches gave no answer" in str(error)
    assert "expired" in str(error)
    assert "SECRET" not in str(error)
    assert server.created() == 3


@both
async def test_what_is_refused_is_not_sent_again(tmp_path: Path, model: str) -> None:
    def fate(body: Mapping[str, Any], _: int) -> Fate:
        text = body["messages"][-1]["content"]
        return (400, "invalid_request_error") if text == "Tui" else text

    with BatchServer(fate) as server:
        text, error = await answers(tmp_path, server, model, "Kea", "Tui")
    assert text == "Kea"
    assert isinstance(error, ProviderRefusedError)
    assert error.status == 400
    assert "invalid_request_error" in str(error)
    assert "SECRET" not in str(error)
    assert server.created() == 1


@both
async def test_who_cancels_a_batch_gets_what_was_answered(tmp_path: Path, model: str) -> None:
    def fate(body: Mapping[str, Any], _: int) -> Fate:
        text = body["messages"][-1]["content"]
        return "cancelled" if text == "Tui" else text

    with BatchServer(fate, ends=["cancelled"]) as server:
        text, error = await answers(tmp_path, server, model, "Kea", "Tui")
        assert text == "Kea"
        assert isinstance(error, ProviderRefusedError)
        assert "cancelled" in str(error)
        assert server.created() == 1


async def test_a_batch_that_fails_its_validation_says_why(tmp_path: Path) -> None:
    with BatchServer(ends=["failed:invalid_json_line"]) as server:
        errors = await answers(tmp_path, server, OPENAI, "Kea", "Tui")
        assert all(isinstance(error, ProviderRefusedError) for error in errors)
        assert "invalid_json_line in line 1" in str(errors[0])
        assert "SECRET" not in str(errors[0])
        assert server.created() == 1
        # Nothing of it was paid: the next run sends it anew.
        assert await answers(tmp_path, server, OPENAI, "Kea") == ["About: Kea"]


async def test_what_is_too_much_at_once_waits_for_those_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeping, go_on = anyio.Event(), anyio.Event()

    async def sleep(seconds: float) -> None:
        if seconds == POLL_S and not sleeping.is_set():
            # The first batch is not looked at before the second was refused.
            sleeping.set()
            await go_on.wait()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "exceeds what the provider accepts now" in record.getMessage():
                go_on.set()

    caplog.set_level(logging.INFO, "resay")
    monkeypatch.setattr(logging.getLogger("resay"), "handlers", [Heard()])
    texts: list[str | ProviderError] = []

    async def ask() -> None:
        texts.extend(await ask_all(provider, query(server, OPENAI, "Tui")))

    ends = ["completed", "failed:token_limit_exceeded"]
    with BatchServer(ends=ends, polls=0) as server:
        settings = {"max_requests": 1, "retries": 0, "poll_s": POLL_S}
        provider = BatchProvider(config(tmp_path, **settings), sleep=sleep)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(provider.complete, query(server, OPENAI, "Kea"))
            await sleeping.wait()
            tasks.start_soon(ask)
        await provider.aclose()
    assert texts == ["About: Tui"]
    assert len(server.batches) == 3


async def test_what_is_too_much_by_itself_says_what_to_lower(tmp_path: Path) -> None:
    with BatchServer(ends=["failed:token_limit_exceeded"] * 2) as server:
        (error,) = await answers(tmp_path, server, OPENAI, "Kea", retries=1)
    assert "lower `calls.max_requests`" in str(error)
    assert server.created() == 2


@both
async def test_looking_goes_on_where_it_fails(tmp_path: Path, model: str) -> None:
    faults = [Fault("GET", "/batch_0", 503), Fault("GET", "/batch_0", None)]
    with BatchServer(faults=faults) as server:
        assert await answers(tmp_path, server, model, "Kea") == ["About: Kea"]
    assert server.created() == 1


@both
async def test_who_waits_is_told_when_looking_fails_too_often(tmp_path: Path, model: str) -> None:
    with BatchServer(faults=[Fault("GET", "/batch_0", 503)] * 20) as server:
        assert await answers(tmp_path / "20", server, model, "Kea") == ["About: Kea"]
        server.faults = [Fault("GET", "/batch_1", 503)] * 21
        (error,) = await answers(tmp_path / "21", server, model, "Kea")
        assert isinstance(error, ProviderError)
        assert error.status == 503
        assert not server.faults
        # It is looked at again by the next run.
        assert await answers(tmp_path / "21", server, model, "Kea") == ["About: Kea"]
    assert server.created() == 2


async def test_results_that_break_off_are_read_again(tmp_path: Path) -> None:
    with BatchServer(faults=[Fault("GET", "/content", None)]) as server:
        assert await answers(tmp_path, server, OPENAI, "Kea") == ["About: Kea"]
    assert server.created() == 1


@both
async def test_a_batch_that_is_gone_is_sent_again(
    tmp_path: Path, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with BatchServer(faults=[Fault("GET", "/batch_0", 404)]) as server:
        assert await answers(tmp_path, server, model, "Kea") == ["About: Kea"]
    assert server.created() == 2
    assert "'batch_0' no longer exists at the provider" in caplog.text


@both
async def test_a_wrong_key_is_told_at_once(tmp_path: Path, model: str) -> None:
    post = "/files" if model == OPENAI else "/batches"
    with BatchServer(faults=[Fault("POST", post, 401)]) as server:
        (error,) = await answers(tmp_path, server, model, "Kea")
    assert isinstance(error, ProviderRefusedError)
    assert error.status == 401
    assert "check the API key" in str(error)
    assert KEY not in str(error)
    assert "SECRET" not in str(error)


@both
async def test_submitting_is_tried_again_as_the_provider_asks(tmp_path: Path, model: str) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    post = "/files" if model == OPENAI else "/batches"
    with BatchServer(polls=0, faults=[Fault("POST", post, 429, {"retry-after": "7"})]) as server:
        provider = BatchProvider(config(tmp_path, wait_s=1.0, poll_s=2.0), sleep=sleep)
        assert await ask_all(provider, query(server, model, "Kea")) == ["About: Kea"]
        await provider.aclose()
    assert waits == [1.0, 7.0, 2.0]
    assert len(server.batches) == 1


@both
async def test_a_batch_whose_making_was_not_confirmed_is_found(tmp_path: Path, model: str) -> None:
    with BatchServer(faults=[Fault("POST", "/batches", None, after=True)]) as server:
        assert await answers(tmp_path, server, model, "Kea") == ["About: Kea"]
    assert len(server.batches) == 1


@both
async def test_it_looks_less_and_less_often_or_when_it_is_told(tmp_path: Path, model: str) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 7:
            server.waits = {"retry-after": "42"}
        if len(waits) == 8:
            server.waits = {"retry-after": "9999"}

    with BatchServer(polls=7) as server:
        settings = {"wait_s": 1.0, "poll_s": 8.0, "longest_poll_s": 20.0, "max_requests": 1}
        provider = BatchProvider(config(tmp_path, **settings), sleep=sleep)
        assert await ask_all(provider, query(server, model, "Kea")) == ["About: Kea"]
        await provider.aclose()
    assert [wait for wait in waits if wait != 1.0][:4] == [8.0, 12.0, 18.0, 20.0]
    assert waits[-2:] == [42.0, 3600.0]


@pytest.mark.parametrize("model", ["mistral/small", "bedrock/claude", "unheard-of", None])
async def test_a_model_without_a_batch_api_is_refused(tmp_path: Path, model: Any) -> None:
    provider = BatchProvider(config(tmp_path), sleep=once_idle)
    with pytest.raises(ProviderRefusedError, match=r"no Batch API is known|no model was named"):
        await provider.complete(Request.of("Kea", model=model))
    await provider.aclose()


@pytest.mark.parametrize(("name", "path"), [("gpt-4.1-mini", "/v1"), ("claude-haiku-4-5", "")])
async def test_a_well_known_name_needs_no_provider(tmp_path: Path, name: str, path: str) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        request = Request.of(
            "Kea", model=name, params={"api_base": f"{server.root}{path}", "api_key": KEY}
        )
        assert await ask_all(provider, request) == ["About: Kea"]
        await provider.aclose()


@needs("openai", "anthropic")
@both
async def test_a_missing_key_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    # Where Anthropic's SDK looks for a key besides.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    provider = BatchProvider(config(tmp_path), sleep=once_idle)
    with pytest.raises(ProviderRefusedError, match="needs an API key"):
        await provider.complete(
            Request.of("Kea", model=model, params={"api_base": "http://127.0.0.1:9/v1"})
        )
    await provider.aclose()


async def test_what_json_does_not_know_is_refused(tmp_path: Path) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path), sleep=once_idle)
        with pytest.raises(ProviderRefusedError, match="JSON"):
            await provider.complete(query(server, OPENAI, "Kea", metadata=object()))
        await provider.aclose()
        assert not server.log


async def test_an_answer_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    class Odd(BatchServer):
        def _line(self, made: Any, request: Any) -> dict[str, Any] | None:
            line = super()._line(made, request)
            return line and {**line, "response": {"status_code": 200, "body": {"choices": []}}}

    with Odd() as server:
        (error,) = await answers(tmp_path, server, OPENAI, "Kea")
    assert "cannot be read" in str(error)


async def test_it_streams_nothing(tmp_path: Path) -> None:
    provider = BatchProvider(config(tmp_path), sleep=once_idle)
    with pytest.raises(ConfigurationError, match="cannot be streamed"):
        provider.stream(Request.of("Kea", model=OPENAI))


# Going away and coming back


async def test_what_nobody_waits_for_any_more_is_not_submitted(tmp_path: Path) -> None:
    asleep, go_on = anyio.Event(), anyio.Event()

    async def sleep(_: float) -> None:
        asleep.set()
        await go_on.wait()

    with BatchServer(polls=0) as server:
        provider = BatchProvider(config(tmp_path), sleep=sleep)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(provider.complete, query(server, OPENAI, "Kea"))
            await asleep.wait()
            async with anyio.create_task_group() as others:
                others.start_soon(provider.complete, query(server, OPENAI, "Tui"))
                await anyio.wait_all_tasks_blocked()
                others.cancel_scope.cancel()
            go_on.set()
        await provider.aclose()
    assert [body["messages"][-1]["content"] for body in server.sent(0)] == ["Kea"]
    assert server.created() == 1


async def test_who_still_waits_when_it_is_closed_is_told(tmp_path: Path) -> None:
    with BatchServer() as server:
        server.hold = True
        provider = BatchProvider(config(tmp_path), sleep=once_idle)

        async def close() -> None:
            assert await anyio.to_thread.run_sync(server.polled.wait, LONGEST_S)
            await provider.aclose()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close)
            (error,) = await ask_all(provider, query(server, OPENAI, "Kea"))
        assert "the batch provider was closed; run again" in str(error)
        server.hold = False
        assert await answers(tmp_path, server, OPENAI, "Kea") == ["About: Kea"]
    assert server.created() == 1


def left_behind(folder: Path, server: BatchServer, model: str, *texts: str) -> None:
    """Submit, and go away while the batch is looked at."""

    async def run() -> None:
        provider = BatchProvider(config(folder, max_requests=len(texts)), sleep=once_idle)
        requests = [query(server, model, text) for text in texts]
        asking = asyncio.create_task(ask_all(provider, *requests))
        seen = server.made if server.mute_creation else server.polled
        assert await anyio.to_thread.run_sync(seen.wait, LONGEST_S)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(run())


@both
def test_another_loop_waits_for_the_batch_of_the_one_before(tmp_path: Path, model: str) -> None:
    with BatchServer() as server:
        server.hold = True
        left_behind(tmp_path, server, model, "Kea", "Tui")
        server.hold = False
        texts = asyncio.run(answers(tmp_path, server, model, "Tui", "Kea"))
        assert texts == ["About: Tui", "About: Kea"]
        assert server.created() == 1
        # What has come once is there, even where the provider is not.
        texts = asyncio.run(answers(tmp_path, server, model, "Kea"))
    assert texts == ["About: Kea"]
    assert server.created() == 1


def test_a_process_that_is_killed_pays_once(tmp_path: Path) -> None:
    program = """
import asyncio, json, sys
sys.path[:0] = sys.argv[3:]
from resay import Request
from resay.providers.batching import BatchCallsConfig
from resay.providers.batching.layer import BatchProvider

async def main() -> None:
    config = BatchCallsConfig(state=sys.argv[1], wait_s=60.0, poll_s=0.0, max_requests=2)
    provider = BatchProvider(config)
    asked = [
        Request.of(text, model=model, params={"api_base": base, "api_key": "sk-another"})
        for model, base in json.loads(sys.argv[2]).items()
        for text in ("Kea", "Tui")
    ]
    await asyncio.gather(*map(provider.complete, asked))

asyncio.run(main())
"""
    with ExitStack() as stack:
        servers = {model: stack.enter_context(BatchServer()) for model in MODELS}
        for server in servers.values():
            server.hold = True
        bases = {m: query(server, m, "Kea").params["api_base"] for m, server in servers.items()}
        given = [config(tmp_path).state, json.dumps(bases), *filter(None, sys.path)]
        process = subprocess.Popen([sys.executable, "-c", program, *given])
        try:
            assert all(server.polled.wait(LONGEST_S) for server in servers.values())
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for model, server in servers.items():
            server.hold = False
            # Only one of them at first: all of its batch is kept.
            texts = asyncio.run(answers(tmp_path, server, model, "Kea"))
            texts += asyncio.run(answers(tmp_path, server, model, "Tui", "Weka"))
            assert texts == ["About: Kea", "About: Tui", "About: Weka"]
            assert [len(made.requests) for made in server.batches] == [2, 1]


@both
def test_a_batch_whose_id_was_never_noted_is_found(tmp_path: Path, model: str) -> None:
    with BatchServer() as server:
        # Others of the account have batches too.
        assert asyncio.run(answers(tmp_path / "other", server, model, "Weka")) == ["About: Weka"]
        server.made.clear()
        server.mute_creation = True
        left_behind(tmp_path, server, model, "Kea", "Tui")
        server.mute_creation = False
        # Whoever comes back may ask for less.
        assert asyncio.run(answers(tmp_path, server, model, "Tui")) == ["About: Tui"]
    assert len(server.batches) == 2


def test_the_batch_of_another_is_not_taken_for_ones_own_twice(tmp_path: Path) -> None:
    with BatchServer() as server:
        server.mute_creation = True
        left_behind(tmp_path, server, ANTHROPIC, "Kea")
        server.mute_creation = False
        # It did not arrive, and somebody else made one of the same size then.
        server.batches[0].requests[0]["custom_id"] = "theirs"
        assert asyncio.run(answers(tmp_path, server, ANTHROPIC, "Kea")) == ["About: Kea"]
    assert len(server.batches) == 2


def test_of_two_batches_none_is_guessed_to_be_ones_own(tmp_path: Path) -> None:
    with BatchServer() as server:
        server.mute_creation = True
        left_behind(tmp_path, server, ANTHROPIC, "Kea")
        server.mute_creation = False
        asyncio.run(answers(tmp_path / "other", server, ANTHROPIC, "Tui"))
        assert asyncio.run(answers(tmp_path, server, ANTHROPIC, "Kea")) == ["About: Kea"]
    assert len(server.batches) == 3


def test_what_was_never_submitted_is_submitted(tmp_path: Path) -> None:
    with BatchServer() as server:
        server.mute_creation = True
        left_behind(tmp_path, server, OPENAI, "Kea")
        # It did not arrive after all.
        server.mute_creation = False
        server.batches.clear()
        assert asyncio.run(answers(tmp_path, server, OPENAI, "Kea")) == ["About: Kea"]
    assert len(server.batches) == 1


def test_a_tenant_never_gets_what_another_asked(tmp_path: Path) -> None:
    async def ask(server: BatchServer, tenant: str) -> list[Any]:
        provider = BatchProvider(config(tmp_path, max_requests=1), sleep=once_idle)
        request = Request.of(
            "Kea", model=OPENAI, tenant=tenant, params={"api_base": server.root, "api_key": KEY}
        )
        request = Request.of(request, params={"api_base": f"{server.root}/v1"})
        try:
            return await ask_all(provider, request)
        finally:
            await provider.aclose()

    with BatchServer() as server:
        asyncio.run(ask(server, "a"))
        asyncio.run(ask(server, "b"))
        assert server.created() == 2
        asyncio.run(ask(server, "a"))
    assert server.created() == 2


def test_what_is_old_is_forgotten(tmp_path: Path) -> None:
    with BatchServer() as server:
        asyncio.run(answers(tmp_path, server, OPENAI, "Kea"))
        with sqlite3.connect(config(tmp_path).state) as state:
            state.execute("UPDATE batches SET made = made - 101")
        state.close()
        asyncio.run(answers(tmp_path, server, OPENAI, "Kea", ttl_s=100.0))
    assert server.created() == 2


# The state


def test_the_state_holds_no_key_and_is_its_owners(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "resay")
    with BatchServer() as server:
        asyncio.run(answers(tmp_path, server, OPENAI, "Kea"))
    path = Path(config(tmp_path).state)
    for file in path.parent.iterdir():
        assert KEY.encode() not in file.read_bytes()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("resay")]
    assert "submitted 1 requests as batch 'batch_0'" in messages
    assert not any("Kea" in line or KEY in line for line in messages)


@pytest.mark.parametrize("content", [b"no database at all", None])
def test_a_state_that_cannot_be_used_says_so(tmp_path: Path, content: bytes | None) -> None:
    path = Path(config(tmp_path).state)
    path.parent.mkdir()
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA user_version = 7")
        other.close()
    else:
        path.write_bytes(content)
    with BatchServer() as server:
        (error,) = asyncio.run(answers(tmp_path, server, OPENAI, "Kea"))
    assert "`calls.state`" in str(error)
    assert not server.batches


def test_it_can_be_pickled(tmp_path: Path) -> None:
    provider = pickle.loads(pickle.dumps(BatchProvider(config(tmp_path), sleep=once_idle)))
    assert repr(provider) == repr(BatchProvider(config(tmp_path), sleep=once_idle))


# Through litellm


@needs_litellm
async def test_azure_is_asked_through_litellm(tmp_path: Path) -> None:
    with BatchServer() as server:
        provider = BatchProvider(config(tmp_path, max_requests=2), sleep=once_idle)
        params = {"api_base": server.root, "api_key": KEY, "api_version": "2024-10-21"}
        requests = [Request.of(text, model="azure/mini", params=params) for text in ("Kea", "Tui")]
        assert await ask_all(provider, *requests) == ["About: Kea", "About: Tui"]
        await provider.aclose()
    assert server.created() == 1
    assert [body["model"] for body in server.sent()] == ["mini", "mini"]
