"""The provider that users' tests get: chat completions, a judge, documents and faults."""

from __future__ import annotations

import gc
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from resay import Guard
from resay.errors import ConfigurationError
from resay.scorers.common.per_sample import render as render_all
from resay.testing import (
    CutConnection,
    EmptyAnswer,
    Fault,
    Garbled,
    Hang,
    IdenticalSamples,
    IgnoreN,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
    Slow,
    Stall,
    Subject,
    World,
)

BRIDGE = "Tell me about the Sydney Harbour Bridge."
JUDGE = (
    "Context: The bridge was opened in 1932.\n\nSentence: {}\n\n"
    "Is the sentence supported by the context above? Answer Yes or No.\n\nAnswer: "
)
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"
LISTED = render_all(["Opened in 1932.", "Opened in 1933."], "Opened in 1932.")


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def sdk(provider: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=provider.base_url, api_key="k-secret", max_retries=0) as sdk:
        yield sdk


def chat(question: str = BRIDGE, **params: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": question}], **params}


def post(provider: SimulatedProvider, body: Any, **how: Any) -> httpx.Response:
    return httpx.post(f"{provider.base_url}/chat/completions", json=body, verify=False, **how)


def address_of(provider: SimulatedProvider) -> tuple[str, int]:
    host, port = provider.root_url.removeprefix("http://").split(":")
    return host, int(port)


def texts(sdk: openai.OpenAI, *said: Any, **params: Any) -> list[str]:
    done = sdk.chat.completions.create(**chat(*said, **params))
    return [choice.message.content or "" for choice in done.choices]


def test_answers_differ_and_their_usage_adds_up(
    provider: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    done = sdk.chat.completions.create(**chat(n=3))

    assert [model.id for model in sdk.models.list()] == ["simulated"]
    assert len({choice.message.content for choice in done.choices}) == 3
    assert [choice.index for choice in done.choices] == [0, 1, 2]
    assert done.usage.prompt_tokens == provider.prompt_tokens == 8
    assert done.usage.completion_tokens == provider.completion_tokens
    assert done.usage.total_tokens == done.usage.completion_tokens + 8


def test_a_stream_says_the_same(provider: SimulatedProvider, sdk: openai.OpenAI) -> None:
    whole = texts(sdk, temperature=0)
    options = {"include_usage": True}
    params = chat(temperature=0, stream=True, stream_options=options)
    chunks = list(sdk.chat.completions.create(**params))
    without_usage = list(sdk.chat.completions.create(**chat(temperature=0, stream=True)))

    *text_chunks, usage = chunks
    assert "".join(chunk.choices[0].delta.content or "" for chunk in text_chunks) == whole[0]
    assert text_chunks[-1].choices[0].finish_reason == "stop"
    assert (usage.choices, usage.usage.prompt_tokens) == ([], 8)
    assert all(chunk.usage is None for chunk in without_usage)
    assert provider.prompt_tokens == 16
    assert [request.stream for request in provider.requests] == [False, True, True]


def test_the_seed_and_the_number_of_calls_fix_the_text() -> None:
    def play(seed: int, *questions: str) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        with SimulatedProvider(seed=seed) as provider:
            for question in questions:
                done = post(provider, chat(question)).json()
                texts.setdefault(question, []).append(done["choices"][0]["message"]["content"])
        return texts

    first = play(1, BRIDGE, "Canberra?", BRIDGE)
    assert first == play(1, "Canberra?", BRIDGE, BRIDGE)
    assert len(set(first[BRIDGE])) == 2
    assert first[BRIDGE] != play(2, BRIDGE, BRIDGE)[BRIDGE]


def test_parameters_are_obeyed(sdk: openai.OpenAI) -> None:
    assert texts(sdk, temperature=0) == texts(sdk, temperature=0)
    assert texts(sdk, seed=3, n=2) == texts(sdk, seed=3, n=2) != texts(sdk, seed=4, n=2)
    (choice,) = sdk.chat.completions.create(**chat(max_tokens=3)).choices
    assert (choice.message.content, choice.finish_reason) == ("The Sydney Harbour", "length")


def test_a_world_of_ones_own() -> None:
    world = World([Subject("Ombra", facts=("Ombra is a valley.",))])
    parts: Any = [{"type": "text", "text": "What is Ombra?"}, {"type": "image_url"}]
    with SimulatedProvider(world=world) as provider:
        done = post(provider, chat(parts)).json()
    assert done["choices"][0]["message"]["content"] == "Ombra is a valley."


def test_it_is_a_judge(sdk: openai.OpenAI) -> None:
    assert texts(sdk, JUDGE.format("It was opened in 1932.")) == ["Yes"]
    assert texts(sdk, JUDGE.format("It was opened in 1933."), n=2) == ["No", "No"]
    assert texts(sdk, LISTED) == ["1: supported\n2: contradicted"]


@pytest.mark.anyio
@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("mode", ["together", "per_sample", "per_pair"])
async def test_a_guard_flags_what_it_makes_up_and_nothing_else(
    provider: SimulatedProvider, mode: str
) -> None:
    policy = {"chain": [{"method": "prompt", "mode": mode}], "sampling": {"confidence": None}}
    answer = await Guard(policy, model="openai/simulated").aask(BRIDGE, params=provider.params)
    (bridge,) = (s for s in World.default().subjects if s.name == "Sydney Harbour Bridge")
    facts = {wording for fact in bridge.wordings for wording in fact}

    assert answer.verdict.decision == "flagged"
    for sentence in answer.verdict.sentences:
        assert sentence.flagged is (sentence.text not in facts)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (RateLimited(retry_after_s=0.25), 429),
        (ServerError(503), 503),
        (Refused(404), 404),
    ],
)
def test_errors_are_openais(provider: SimulatedProvider, fault: Fault, status: int) -> None:
    provider.set_faults(fault)
    answer = post(provider, chat())

    assert answer.status_code == status
    assert answer.json()["error"]["message"]
    assert answer.headers.get("retry-after") == ("0.25" if status == 429 else None)
    assert answer.headers["x-request-id"] == "req_0"
    (record,) = provider.requests
    assert (record.fault, record.status) == (type(fault).__name__, status)
    assert record.ended_s >= record.started_s
    provider.clear_faults()
    assert post(provider, chat()).status_code == 200


def test_what_is_said_can_be_wrong(provider: SimulatedProvider, sdk: openai.OpenAI) -> None:
    provider.set_faults(IgnoreN())
    assert len(texts(sdk, n=3)) == 1
    provider.set_faults(IdenticalSamples())
    assert len(set(texts(sdk, n=3))) == 1
    provider.set_faults(EmptyAnswer())
    assert texts(sdk, n=2) == ["", ""]
    provider.set_faults(Garbled("refusal"))
    assert texts(sdk, JUDGE.format("It was opened."))[0].startswith("I'm sorry")
    assert texts(sdk)[0].startswith("The Sydney")


def test_a_garbled_judge_can_be_read_when_it_is_asked_once_more(
    provider: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    bodies = [
        {"role": "user", "content": JUDGE.format("It was opened in 1932.")},
        {"role": "assistant", "content": "Who knows?"},
        {"role": "user", "content": "Answer with Yes or No and nothing else."},
    ]
    provider.set_faults(Garbled())
    done = sdk.chat.completions.create(model="m", messages=bodies)
    assert done.choices[0].message.content == "Yes"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_can_break_off(
    provider: SimulatedProvider, sdk: openai.OpenAI, stream: bool
) -> None:
    provider.set_faults(CutConnection())
    with pytest.raises(httpx.RemoteProtocolError):
        post(provider, chat(stream=stream))
    provider.set_faults(MalformedJson())
    with pytest.raises(json.JSONDecodeError):
        list(sdk.chat.completions.create(**chat(stream=stream)))
    assert [record.fault for record in provider.requests] == ["CutConnection", "MalformedJson"]


@pytest.mark.parametrize("fault", [Hang(), Stall()])
@pytest.mark.parametrize("stream", [False, True])
def test_what_hangs_goes_on_when_released(
    provider: SimulatedProvider, fault: Fault, stream: bool
) -> None:
    provider.set_faults(fault)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post, provider, chat(stream=stream))
        provider.wait_calls(1)
        time.sleep(0.05)
        assert not waiting.done()
        with pytest.raises(TimeoutError, match="1 unanswered"):
            provider.wait_idle(0.01)
        provider.release()
        assert waiting.result().status_code == 200
    provider.wait_idle()


def test_it_forgets_a_client_that_left(provider: SimulatedProvider) -> None:
    provider.set_faults(Hang())
    with pytest.raises(httpx.ReadTimeout):
        post(provider, chat(), timeout=0.05)
    provider.wait_idle()


def test_a_client_that_leaves_a_stream_ends_it() -> None:
    with SimulatedProvider(latency_s=60.0) as provider:
        with (
            httpx.Client(base_url=provider.base_url) as http,
            http.stream("POST", "/chat/completions", json=chat(stream=True)) as response,
        ):
            next(response.iter_raw())
        provider.wait_idle()
        (record,) = provider.requests
        assert (record.status, record.disconnected, record.tokens) == (200, True, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_half_an_answer_reports_its_usage_when_it_is_whole(
    provider: SimulatedProvider, stream: bool
) -> None:
    provider.set_faults(Stall())
    body = chat(stream=stream, stream_options={"include_usage": True})
    with (
        httpx.Client(base_url=provider.base_url) as http,
        http.stream("POST", "/chat/completions", json=body) as response,
    ):
        parts = response.iter_raw()
        next(parts)
        assert provider.completion_tokens == 0
        provider.release()
        list(parts)
    provider.wait_idle()
    assert provider.completion_tokens > 0
    assert not provider.requests[0].disconnected


@pytest.mark.parametrize("sent", [b"", b"POST /v1/cha", HEAD + b"{"])
def test_half_a_request_does_not_keep_it_alive(sent: bytes) -> None:
    with SimulatedProvider() as provider:
        half = socket.create_connection(address_of(provider))
        half.sendall(sent)
        assert httpx.get(f"{provider.base_url}/models").status_code == 200
    with half:
        assert half.recv(1) == b""
    assert provider.calls == 1


def test_stopping_while_connections_come_in_leaves_none_open() -> None:
    for _ in range(20):
        with SimulatedProvider(faults=[Hang()]) as provider:
            sockets = [socket.create_connection(address_of(provider)) for _ in range(3)]
            for connection in sockets:
                connection.sendall(HEAD + b"{}       ")
        for connection in sockets:
            connection.close()
    # Whatever was left open warns when it is collected, and a warning fails the test.
    gc.collect()


def test_a_body_may_come_in_chunks_and_be_long(provider: SimulatedProvider) -> None:
    data = json.dumps(chat(f"{'word ' * 200_000}\n{BRIDGE}")).encode()
    chunks = iter([data[:10], data[10:]])
    answer = httpx.post(f"{provider.base_url}/chat/completions", content=chunks, timeout=30)
    assert answer.status_code == 200
    assert provider.requests[0].headers["transfer-encoding"] == "chunked"
    assert provider.prompt_tokens > 200_000


def test_fifty_at_once_get_what_each_would_get_alone() -> None:
    def play(questions: list[str]) -> dict[str, str]:
        def ask(question: str) -> str:
            return post(provider, chat(question)).json()["choices"][0]["message"]["content"]

        with (
            SimulatedProvider(faults=[Hang()]) as provider,
            ThreadPoolExecutor(len(questions)) as pool,
        ):
            answers = pool.map(ask, questions)
            provider.wait_calls(len(questions))
            provider.release()
            return dict(zip(questions, answers, strict=True))

    questions = [f"Who was Zebulon Quist the {number}?" for number in range(50)]
    assert play(questions) == play(questions[::-1])


def test_it_stops_whatever_waits() -> None:
    provider = SimulatedProvider(faults=[Hang()])
    provider.start()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post, provider, chat())
        provider.wait_calls(1)
        provider.stop()
        with pytest.raises(httpx.HTTPError):
            waiting.result()
    with pytest.raises(ConfigurationError, match="is not running"):
        _ = provider.base_url


def test_it_takes_its_time() -> None:
    with SimulatedProvider(latency_s=0.1, faults=[Slow(0.1)]) as provider:
        started = time.monotonic()
        post(provider, chat())
        assert time.monotonic() - started >= 0.2
        provider.clear_faults()
        post(provider, chat(stream=True))
        assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{not json", None),
        (b"[1]", None),
        (b"{}", "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": [{"role": "user", "content": "x"}], "n": 0}', "n"),
    ],
)
def test_a_bad_request_is_refused(
    provider: SimulatedProvider, body: bytes, param: str | None
) -> None:
    answer = httpx.post(f"{provider.base_url}/chat/completions", content=body, verify=False)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param)


def test_other_paths_and_methods_are_refused(provider: SimulatedProvider) -> None:
    with httpx.Client(base_url=provider.base_url, verify=False) as client:
        assert client.get("/lost").status_code == 404
        assert client.get("/chat/completions").status_code == 405
        assert client.get("/models?limit=1").status_code == 200


def test_records_hold_the_request_but_no_key(
    provider: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    texts(sdk, n=2)
    (record,) = provider.requests
    assert (record.path, record.body["n"]) == ("/v1/chat/completions", 2)
    assert record.headers["content-type"] == "application/json"
    assert "k-secret" not in json.dumps(dict(record.headers))
    assert BRIDGE not in repr(record)
    assert record.completion_tokens == provider.completion_tokens


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a duration"):
        SimulatedProvider(latency_s=-1)
    with pytest.raises(ConfigurationError, match="not a fault"):
        SimulatedProvider(faults=["slow"])  # type: ignore[list-item]
    with (
        SimulatedProvider() as provider,
        pytest.raises(ConfigurationError, match="already running"),
    ):
        provider.start()


def test_it_needs_no_extra() -> None:
    code = (
        "import sys; from resay.testing import SimulatedProvider;"
        "SimulatedProvider().start();"
        "sys.exit(bool({'starlette', 'uvicorn', 'openai'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
