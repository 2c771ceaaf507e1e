from __future__ import annotations

import gc
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx
import openai
import pytest

from resay.errors import ConfigurationError
from resay.scorers.common.per_sample import render as render_all
from simulation import (
    CutConnection,
    EmptyAnswer,
    Hang,
    IdenticalSamples,
    IgnoreN,
    IgnoreStreamOptions,
    MalformedJson,
    RateLimited,
    Refused,
    RefusedStreamOptions,
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
HEADERS = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "unit": {"enum": ["C", "F"]},
                },
            },
        },
    }
]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


def chat(question: str = BRIDGE, **params: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": question}], **params}


def post(provider: SimulatedProvider, body: Any = None, **how: Any) -> httpx.Response:
    # Loading the certificates takes longer than the request, which needs none.
    url = f"{provider.base_url}/chat/completions"
    return httpx.post(url, json=body or chat(), verify=False, **how)


def texts(response: httpx.Response) -> list[str]:
    return [choice["message"]["content"] for choice in response.json()["choices"]]


def client(provider: SimulatedProvider) -> openai.OpenAI:
    return openai.OpenAI(base_url=provider.base_url, api_key="k-secret", max_retries=0)


def async_client(provider: SimulatedProvider) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=provider.base_url, api_key="k-secret", max_retries=0)


# Real clients


def test_openai_gets_n_different_answers_with_logprobs(provider: SimulatedProvider) -> None:
    with client(provider) as sdk:
        done = sdk.chat.completions.create(**chat(n=3, logprobs=True, top_logprobs=2))
        models = [model.id for model in sdk.models.list()]

    assert models == ["simulated"]
    assert len({choice.message.content for choice in done.choices}) == 3
    assert [choice.index for choice in done.choices] == [0, 1, 2]
    assert done._request_id
    for choice in done.choices:
        listed = choice.logprobs.content
        assert "".join(token.token for token in listed) == choice.message.content
        assert all(token.logprob <= 0 and len(token.top_logprobs) == 2 for token in listed)
        assert all(t.top_logprobs[0].logprob >= t.top_logprobs[1].logprob for t in listed)
        assert min(token.logprob for token in listed) < -0.5 < max(t.logprob for t in listed)
    assert done.usage.completion_tokens == sum(len(c.logprobs.content) for c in done.choices)
    assert done.usage.prompt_tokens == 8
    assert done.usage.total_tokens == done.usage.completion_tokens + 8


def test_openai_streams(provider: SimulatedProvider) -> None:
    asked = chat(temperature=0, logprobs=True)
    with client(provider) as sdk:
        whole = sdk.chat.completions.create(**asked)
        with sdk.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
        with sdk.chat.completions.create(**asked, stream=True) as stream:
            bare = list(stream)

    *said, finish, usage = chunks
    assert said[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content for chunk in said)
    assert text == whole.choices[0].message.content
    assert [c.choices[0].logprobs.content[0].token for c in said[1:]] == [
        c.choices[0].delta.content for c in said[1:]
    ]
    assert finish.choices[0].finish_reason == "stop"
    assert usage.choices == []
    assert usage.usage == whole.usage
    assert [chunk.usage for chunk in bare] == [None] * len(bare)
    # The stream without a usage chunk reported none.
    assert provider.completion_tokens == 2 * whole.usage.completion_tokens
    assert provider.prompt_tokens == 2 * whole.usage.prompt_tokens
    assert [request.stream for request in provider.requests] == [False, True, True]


@pytest.mark.anyio
async def test_async_openai_streams_each_choice(provider: SimulatedProvider) -> None:
    async with async_client(provider) as sdk:
        said = ["", ""]
        async with await sdk.chat.completions.create(**chat(n=2, stream=True)) as stream:
            async for chunk in stream:
                said[chunk.choices[0].index] += chunk.choices[0].delta.content or ""

    assert said[0] != said[1]
    assert all(text.startswith("The Sydney Harbour Bridge is") for text in said)


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_is_called_once(provider: SimulatedProvider, stream: bool) -> None:
    question = {"role": "user", "content": "[[tool]] What is the weather at Canberra?"}
    async with async_client(provider) as sdk:
        if stream:
            async with sdk.chat.completions.stream(
                model="m", messages=[question], tools=TOOLS
            ) as events:
                done = await events.get_final_completion()
        else:
            done = await sdk.chat.completions.create(model="m", messages=[question], tools=TOOLS)
        (call,) = done.choices[0].message.tool_calls
        answered = [
            question,
            {"role": "assistant", "tool_calls": [call.model_dump(exclude={"index"})]},
            {"role": "tool", "tool_call_id": call.id, "content": "Sunny."},
        ]
        after = await sdk.chat.completions.create(model="m", messages=answered, tools=TOOLS)

    assert done.choices[0].finish_reason == "tool_calls"
    assert not done.choices[0].message.content
    assert call.function.name == "weather"
    arguments = json.loads(call.function.arguments)
    assert arguments["city"] == "Canberra"
    assert isinstance(arguments["days"], int)
    assert arguments["unit"] in ("C", "F")
    assert "Canberra is the capital" in after.choices[0].message.content or (
        "The capital of Australia is Canberra" in after.choices[0].message.content
    )


@pytest.mark.anyio
async def test_litellm_completes_streams_and_counts(
    provider: SimulatedProvider, litellm: Any
) -> None:
    asked = chat(n=2) | {"model": "openai/simulated", **provider.params, "max_retries": 0}
    done = await litellm.acompletion(**asked)
    stream = await litellm.acompletion(
        **asked | {"stream": True, "n": 1, "stream_options": {"include_usage": True}}
    )
    chunks = [chunk async for chunk in stream]

    assert len({choice.message.content for choice in done.choices}) == 2
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said.startswith("The Sydney Harbour Bridge is")
    streamed = chunks[-1].usage
    assert provider.prompt_tokens == done.usage.prompt_tokens + streamed.prompt_tokens
    assert provider.completion_tokens == done.usage.completion_tokens + streamed.completion_tokens


# What it says


def test_the_seed_and_the_order_of_calls_fix_the_text() -> None:
    def play(seed: int, *questions: str) -> dict[str, list[str]]:
        said: dict[str, list[str]] = {}
        with SimulatedProvider(seed=seed) as provider:
            for question in questions:
                said.setdefault(question, []).extend(texts(post(provider, chat(question, n=2))))
        return said

    first = play(1, BRIDGE, "Canberra?", BRIDGE)
    assert first == play(1, "Canberra?", BRIDGE, BRIDGE)
    assert len(set(first[BRIDGE])) == 4
    assert first[BRIDGE] != play(2, BRIDGE, BRIDGE)[BRIDGE]


def test_temperature_zero_and_a_seed_give_the_same_text_each_time(
    provider: SimulatedProvider,
) -> None:
    cold = [texts(post(provider, chat(temperature=0)))[0] for _ in range(2)]
    seeded = [texts(post(provider, chat(seed=3, n=2))) for _ in range(2)]
    other = texts(post(provider, chat(seed=4, n=2)))

    assert cold[0] == cold[1]
    assert seeded[0] == seeded[1] != other
    assert seeded[0][0] != seeded[0][1]


def test_a_world_of_ones_own() -> None:
    world = World([Subject("Ombra", facts=("Ombra is a valley.",))])
    with SimulatedProvider(world=world) as provider:
        image = {"type": "image_url", "image_url": {"url": "https://ombra.example/valley.png"}}
        parts = [{"type": "text", "text": "What is Ombra?"}, image]
        assert texts(post(provider, chat(parts))) == ["Ombra is a valley."]


def test_it_answers_as_a_judge(provider: SimulatedProvider) -> None:
    yes = post(
        provider, chat(JUDGE.format("It was opened in 1932."), logprobs=True, top_logprobs=2)
    )
    no = post(provider, chat(JUDGE.format("It was opened in 1933."), n=2))
    listed = post(
        provider,
        chat(render_all(["Opened in 1932.", "Opened in 1933."], "Opened in 1932.")),
    )

    assert texts(yes) == ["Yes"]
    (token,) = yes.json()["choices"][0]["logprobs"]["content"]
    assert [top["token"] for top in token["top_logprobs"]] == ["Yes", "No"]
    assert texts(no) == ["No", "No"]
    assert texts(listed) == ["1: supported\n2: contradicted"]


def test_max_tokens_cuts_the_answer(provider: SimulatedProvider) -> None:
    choice = post(provider, chat(max_tokens=3)).json()["choices"][0]

    assert choice["message"]["content"] == "The Sydney Harbour"
    assert choice["finish_reason"] == "length"
    assert provider.completion_tokens == 3


# Errors


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{not json", None),
        (b"[1]", None),
        (b"\xff", None),
        (b"{}", "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": [{"role": "user", "content": "x"}], "n": 0}', "n"),
        (b'{"messages": [{"role": "user", "content": "x"}], "top_logprobs": 21}', "top_logprobs"),
    ],
)
def test_a_bad_body_gets_400(provider: SimulatedProvider, body: bytes, param: str | None) -> None:
    response = httpx.post(f"{provider.base_url}/chat/completions", content=body)

    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert provider.requests[0].status == 400


def test_unknown_routes_and_methods_get_json(provider: SimulatedProvider) -> None:
    lost = httpx.get(f"{provider.base_url}/lost")
    wrong = httpx.get(f"{provider.base_url}/chat/completions")

    assert (lost.status_code, wrong.status_code) == (404, 405)
    assert "/v1/lost" in lost.json()["error"]["message"]
    assert [request.path for request in provider.requests] == ["/v1/lost", "/v1/chat/completions"]


def test_records_hold_the_request_but_no_key(provider: SimulatedProvider) -> None:
    before = time.monotonic()
    with client(provider) as sdk:
        sdk.chat.completions.create(**chat(n=2))

    (record,) = provider.requests
    assert (record.path, record.body["n"]) == ("/v1/chat/completions", 2)
    assert (record.status, record.fault, record.stream) == (200, None, False)
    assert not record.disconnected
    assert before <= record.started_s <= record.ended_s <= time.monotonic()
    assert record.headers["content-type"] == "application/json"
    assert "k-secret" not in json.dumps(dict(record.headers))
    assert BRIDGE not in repr(record)


# Faults


@pytest.mark.parametrize(
    ("fault", "error", "status"),
    [
        (RateLimited(retry_after_s=0.25), openai.RateLimitError, 429),
        (RateLimited(), openai.RateLimitError, 429),
        (ServerError(), openai.InternalServerError, 500),
        (ServerError(503), openai.InternalServerError, 503),
        (Refused(), openai.AuthenticationError, 401),
        (Refused(404), openai.NotFoundError, 404),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_as_openai_sees_them(
    provider: SimulatedProvider,
    fault: Any,
    error: type[openai.APIStatusError],
    status: int,
    stream: bool,
) -> None:
    provider.set_faults(fault)
    with client(provider) as sdk, pytest.raises(error) as caught:
        sdk.chat.completions.create(**chat(stream=stream))

    assert caught.value.status_code == status
    assert caught.value.request_id
    wanted = "0.25" if getattr(fault, "retry_after_s", None) else None
    assert caught.value.response.headers.get("retry-after") == wanted
    (record,) = provider.requests
    assert (record.fault, record.status) == (type(fault).__name__, status)
    assert provider.completion_tokens == 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_connection(
    provider: SimulatedProvider, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    provider.set_faults(CutConnection(first=1))
    received: list[bytes] = []
    with caplog.at_level(logging.DEBUG, "uvicorn"):
        with pytest.raises(httpx.RemoteProtocolError):
            _read_into(received, provider, chat(stream=stream))
        provider.wait_idle()
        uvicorn = [record for record in caplog.records if record.name.startswith("uvicorn")]
        assert uvicorn == []
        assert logging.getLogger("uvicorn.access").propagate

    assert received
    assert provider.requests[0].fault == "CutConnection"
    assert provider.requests[0].disconnected
    assert provider.completion_tokens == 0
    assert post(provider).status_code == 200


def _read_into(received: list[bytes], provider: SimulatedProvider, body: Any) -> None:
    url = f"{provider.base_url}/chat/completions"
    with httpx.Client() as http, http.stream("POST", url, json=body) as response:
        assert response.status_code == 200
        received.extend(response.iter_raw())


@pytest.mark.parametrize("stream", [False, True])
def test_malformed_json(provider: SimulatedProvider, stream: bool) -> None:
    provider.set_faults(MalformedJson())
    response = post(provider, chat(stream=stream))

    assert response.status_code == 200
    assert response.headers["content-type"].split(";")[0] == (
        "text/event-stream" if stream else "application/json"
    )
    bodies = [part.removeprefix("data: ") for part in response.text.strip().split("\n\n")]
    broken = [body for body in bodies if body != "[DONE]" and not _is_json(body)]
    assert len(broken) == 1
    assert broken[0].startswith("{")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_faults_in_what_is_said(provider: SimulatedProvider) -> None:
    provider.set_faults(IgnoreN())
    assert len(texts(post(provider, chat(n=4)))) == 1
    provider.set_faults(IdenticalSamples())
    assert len({*texts(post(provider, chat(n=2))), *texts(post(provider))}) == 1
    provider.set_faults(EmptyAnswer())
    assert texts(post(provider, chat(n=2))) == ["", ""]
    assert post(provider).json()["usage"]["completion_tokens"] == 0
    provider.clear_faults()
    assert provider.faults == ()
    assert len({*texts(post(provider, chat(n=2))), *texts(post(provider))}) == 3


def test_slow_and_latency_delay_the_answer() -> None:
    with SimulatedProvider(latency_s=0.02, jitter_s=0.01, faults=[Slow(0.05, after=1)]) as provider:
        post(provider)
        post(provider)
        took = [request.ended_s - request.started_s for request in provider.requests]

    assert took[0] >= 0.02
    assert took[1] >= 0.07
    assert provider.requests[1].fault == "Slow"


def test_a_judge_has_a_latency_of_its_own() -> None:
    with SimulatedProvider(latency_s=0.05, judge_latency_s=0.0) as provider:
        post(provider)
        post(provider, {**chat(), "messages": [{"role": "user", "content": JUDGE.format("So.")}]})
        asked, judged = (request.ended_s - request.started_s for request in provider.requests)
    assert asked >= 0.05
    assert judged < asked


def test_a_record_says_what_its_answer_reported() -> None:
    with SimulatedProvider(seed=3) as provider:
        used = [post(provider, chat(n=n)).json()["usage"] for n in (1, 2)]
        provider.set_faults(ServerError())
        post(provider)
        *answered, failed = provider.requests
    assert [r.prompt_tokens for r in answered] == [u["prompt_tokens"] for u in used]
    assert [r.completion_tokens for r in answered] == [u["completion_tokens"] for u in used]
    assert [r.tokens for r in answered] == [u["total_tokens"] for u in used]
    assert failed.tokens == 0
    assert provider.prompt_tokens == sum(r.prompt_tokens for r in answered)


def test_a_stream_spreads_its_chunks_over_the_latency() -> None:
    with (
        SimulatedProvider(latency_s=0.08, first_token_s=0.03) as provider,
        httpx.Client() as http,
        http.stream(
            "POST", f"{provider.base_url}/chat/completions", json=chat(stream=True)
        ) as response,
    ):
        came = [time.monotonic() for _ in response.iter_raw()]
        (record,) = provider.requests

    assert came[0] - record.started_s >= 0.03
    assert came[-1] - record.started_s >= 0.075
    assert len(came) > 3


def test_faults_strike_whom_they_should(provider: SimulatedProvider) -> None:
    def statuses(*bodies: dict[str, Any]) -> list[int]:
        return [post(provider, body).status_code for body in bodies]

    judging = chat(JUDGE.format("It was opened."))
    provider.set_faults(ServerError(only="judge"))
    assert statuses(judging, chat(), judging) == [500, 200, 500]
    provider.set_faults(ServerError(only="chat", after=1, first=2))
    assert statuses(chat(), judging, chat(), chat(), chat()) == [200, 200, 500, 500, 200]
    provider.set_faults(RateLimited(first=1), ServerError(first=1))
    assert statuses(chat(), chat(), chat()) == [429, 500, 200]
    provider.set_faults(ServerError(probability=0.0))
    assert statuses(chat()) == [200]
    assert httpx.get(f"{provider.base_url}/models").status_code == 200


def test_probability_is_drawn_from_the_seed() -> None:
    def play(seed: int) -> list[int]:
        with SimulatedProvider(seed=seed, faults=[ServerError(probability=0.5)]) as provider:
            return [post(provider).status_code for _ in range(16)]

    assert play(1) == play(1) != play(2)
    assert set(play(1)) == {200, 500}


def test_an_error_does_not_change_what_is_said_afterwards() -> None:
    with SimulatedProvider() as calm, SimulatedProvider(faults=[ServerError(first=1)]) as shaky:
        post(shaky)
        assert texts(post(calm)) == texts(post(shaky))


# Waiting, leaving, stopping


def test_hung_requests_go_on_when_released(provider: SimulatedProvider) -> None:
    provider.set_faults(Hang())
    with ThreadPoolExecutor(3) as pool:
        hung = [pool.submit(post, provider) for _ in range(2)]
        provider.wait_calls(2)
        assert provider.in_flight == 2
        assert provider.requests[0].ended_s is None
        with pytest.raises(TimeoutError, match="2 in flight"):
            provider.wait_idle(timeout_s=0.01)
        provider.release()
        assert [request.result().status_code for request in hung] == [200, 200]
        provider.wait_idle()
        assert provider.in_flight == 0

        later = pool.submit(post, provider)
        provider.wait_calls(3)
        assert provider.in_flight == 1
        provider.release()
        assert later.result().status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("fault", [Hang(), Slow(60.0)])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_ends_its_request(
    provider: SimulatedProvider, fault: Any, stream: bool
) -> None:
    provider.set_faults(fault)
    async with async_client(provider) as sdk, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: sdk.chat.completions.create(**chat(stream=stream)))
        await anyio.to_thread.run_sync(provider.wait_calls, 1)
        assert (provider.in_flight, provider.open_connections) == (1, 1)
        tasks.cancel_scope.cancel()

    await anyio.to_thread.run_sync(provider.wait_idle)
    (record,) = provider.requests
    assert (record.status, record.fault) == (None, type(fault).__name__)
    assert record.ended_s is not None
    assert record.disconnected


def test_a_client_that_leaves_a_stream_ends_it() -> None:
    with SimulatedProvider(latency_s=60.0) as provider, client(provider) as sdk:
        with sdk.chat.completions.create(**chat(stream=True)) as stream:
            next(stream)
            assert provider.in_flight == 1
        provider.wait_idle()
        assert (provider.requests[0].status, provider.requests[0].disconnected) == (200, True)


@pytest.mark.parametrize("stream", [False, True])
def test_half_an_answer_and_the_rest_when_released(
    provider: SimulatedProvider, stream: bool
) -> None:
    provider.set_faults(Stall(first=1))
    url = f"{provider.base_url}/chat/completions"
    with httpx.Client() as http, http.stream("POST", url, json=chat(stream=stream)) as response:
        arriving = response.iter_raw()
        received = [next(arriving)]
        assert (provider.in_flight, provider.completion_tokens) == (1, 0)
        provider.release()
        received += arriving
    said = b"".join(received).decode()
    if stream:
        assert said.endswith("data: [DONE]\n\n")
    else:
        assert json.loads(said)["usage"]["completion_tokens"] == provider.completion_tokens > 0
    assert (provider.requests[0].fault, provider.requests[0].disconnected) == ("Stall", False)


def test_a_provider_of_older_days_refuses_or_ignores_stream_options(
    provider: SimulatedProvider,
) -> None:
    bare, counted = chat(stream=True), chat(stream=True, stream_options={"include_usage": True})
    provider.set_faults(RefusedStreamOptions(first=1, status=422))
    assert [post(provider, body).status_code for body in (bare, counted, counted)] == [
        200,
        422,
        200,
    ]
    provider.set_faults(IgnoreStreamOptions())
    assert '"usage"' not in post(provider, counted).text


@pytest.mark.parametrize("sent", [b"", b"POST /v1/cha", HEADERS + b"{"])
def test_half_a_request_does_not_keep_it_alive(sent: bytes) -> None:
    with SimulatedProvider() as provider:
        host, port = provider.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        half = socket.create_connection((host, int(port)))
        half.sendall(sent)
        assert httpx.get(f"{provider.base_url}/models").status_code == 200
    with half:
        assert half.recv(1) == b""
    assert provider.calls == 1


@pytest.mark.parametrize("fault", [Hang(), Slow(60.0)])
def test_stopping_ends_everything_at_once(fault: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        with SimulatedProvider(faults=[fault]) as provider:
            waiting = [pool.submit(post, provider) for _ in range(2)]
            provider.wait_calls(2)
            url = provider.base_url
            stopping = time.monotonic()
        assert time.monotonic() - stopping < 1.0
        assert [type(w.exception()) for w in waiting] == [httpx.RemoteProtocolError] * 2

    assert not [t for t in threading.enumerate() if t.name.startswith("resay-loopback")]
    assert (provider.in_flight, provider.open_connections, provider.calls) == (0, 0, 2)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")
    provider.release()
    with pytest.raises(ConfigurationError, match="does not run"):
        _ = provider.base_url


def test_stopping_while_connections_come_in_leaves_none_open() -> None:
    for _ in range(20):
        with SimulatedProvider(faults=[Hang()]) as provider:
            host, port = provider.base_url.removeprefix("http://").removesuffix("/v1").split(":")
            sockets = [socket.create_connection((host, int(port))) for _ in range(3)]
            for connection in sockets:
                connection.sendall(HEADERS + b"{}       ")
        for connection in sockets:
            connection.close()
    # Whatever was left open warns when it is collected, and a warning fails the test.
    gc.collect()


def test_idle_connections_do_not_keep_it_alive() -> None:
    with httpx.Client() as http:
        with SimulatedProvider() as provider:
            assert http.get(f"{provider.base_url}/models").status_code == 200
            assert provider.open_connections == 1
        assert provider.open_connections == 0


def test_it_can_start_again_but_not_twice(provider: SimulatedProvider) -> None:
    with pytest.raises(ConfigurationError, match="runs already"):
        provider.start()
    provider.stop()
    provider.stop()
    provider.start()

    assert post(provider).status_code == 200


@pytest.mark.anyio
async def test_fifty_at_once() -> None:
    questions = [f"Who was Zebulon Quist the {i}?" for i in range(50)]

    async def play(order: list[str]) -> dict[str, str]:
        said: dict[str, str] = {}
        with SimulatedProvider(faults=[Hang()]) as provider:
            async with async_client(provider) as sdk, anyio.create_task_group() as tasks:

                async def ask(question: str) -> None:
                    done = await sdk.chat.completions.create(**chat(question))
                    said[question] = done.choices[0].message.content

                for question in order:
                    tasks.start_soon(ask, question)
                await anyio.to_thread.run_sync(provider.wait_calls, 50)
                assert (provider.in_flight, provider.open_connections) == (50, 50)
                provider.release()
            assert (provider.calls, provider.in_flight) == (50, 0)
        return said

    first = await play(questions)
    assert first == await play(questions[::-1])
    assert len(set(first.values())) == 50


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: SimulatedProvider(latency_s=-1), "-1 s"),
        (lambda: SimulatedProvider(judge_latency_s=-2), "-2 s"),
        (lambda: SimulatedProvider(faults=[RateLimited]), "not a fault"),
        (lambda: RateLimited(retry_after_s=-0.5), "-0.5"),
        (lambda: ServerError(429), "429"),
        (lambda: Refused(429), "RateLimited for 429"),
        (lambda: Refused(500), "500"),
        (lambda: Slow(-2), "-2"),
        (lambda: Hang(probability=1.5), "1.5"),
        (lambda: Hang(first=-1), "first is -1"),
        (lambda: Hang(after=-1), "after is -1"),
        (lambda: Hang(only="judges"), "'judges'"),
    ],
)
def test_what_cannot_work_is_refused_with_the_value(build: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        build()
