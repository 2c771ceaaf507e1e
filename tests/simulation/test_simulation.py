"""The simulator's additions to `resay.testing`, by the clients of the APIs that it speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest
from pydantic import BaseModel

from simulation import (
    BrokenStream,
    Fault,
    IgnoreLogprobs,
    IgnoreStreamOptions,
    RefusedLogprobs,
    RefusedStreamOptions,
    ServerError,
    SimulatedInference,
    SimulatedProvider,
)

BRIDGE = "Tell me about the Sydney Harbour Bridge."
QUESTION: list[Any] = [{"role": "user", "content": BRIDGE}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]
PARAMETERS = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["location", "days"],
}
FUNCTION = {"name": "get_weather", "description": "Get the weather.", "parameters": PARAMETERS}
SAME: Any = {"extra_body": {"temperature": 0}}
RESULT = "14 degrees and rain"


class Opening(BaseModel):
    opened_year: int
    painter: str
    rivets: int


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def sdk(provider: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as sdk:
        yield sdk


@pytest.fixture
def claude(provider: SimulatedProvider) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=provider.root_url, api_key="k", max_retries=0) as claude:
        yield claude


def text_of(sdk: openai.OpenAI, **params: Any) -> str:
    done = sdk.chat.completions.create(**{"model": "m", "messages": QUESTION} | params)
    return done.choices[0].message.content or ""


def test_every_api_gives_the_same_answer(sdk: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    chat = text_of(sdk, temperature=0)
    response = sdk.responses.create(model="m", input=BRIDGE, temperature=0)
    message = claude.messages.create(**SAME, model="m", max_tokens=500, messages=QUESTION)
    completion = sdk.completions.create(model="m", prompt=BRIDGE, temperature=0, max_tokens=500)

    assert response.output_text == message.content[0].text == chat
    assert completion.choices[0].text == f" {chat}"
    assert response.usage.total_tokens == 8 + response.usage.output_tokens
    assert message.usage.output_tokens == response.usage.output_tokens
    counted = claude.messages.count_tokens(model="m", messages=QUESTION)
    assert counted.input_tokens == message.usage.input_tokens == 8


def test_every_api_streams_its_answer(sdk: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    chat = text_of(sdk, temperature=0)
    with sdk.responses.stream(model="m", input=BRIDGE, temperature=0) as stream:
        assert stream.get_final_response().output_text == chat
    with claude.messages.stream(**SAME, model="m", max_tokens=500, messages=QUESTION) as stream:
        assert stream.get_final_text() == chat
        assert stream.get_final_message().stop_reason == "end_turn"
    chunks = sdk.completions.create(
        model="m", prompt=BRIDGE, temperature=0, max_tokens=500, stream=True
    )
    assert "".join(chunk.choices[0].text for chunk in chunks) == f" {chat}"


def test_tokens_have_probabilities(sdk: openai.OpenAI) -> None:
    params = {"model": "m", "messages": QUESTION, "logprobs": True, "top_logprobs": 2}
    choice = sdk.chat.completions.create(**params).choices[0]
    tokens = choice.logprobs.content
    chunks = list(sdk.chat.completions.create(**params, stream=True))
    streamed = [t for c in chunks if c.choices[0].logprobs for t in c.choices[0].logprobs.content]
    response = sdk.responses.create(
        model="m", input=BRIDGE, include=["message.output_text.logprobs"], top_logprobs=2
    )

    assert "".join(token.token for token in tokens) == choice.message.content
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 2 for token in tokens)
    assert any(token.logprob < -0.8 for token in tokens)
    assert any(token.logprob < -0.8 for token in streamed)
    assert any(token.logprob < -0.8 for token in response.output[0].content[0].logprobs)


def test_a_prompt_has_probabilities(sdk: openai.OpenAI) -> None:
    text = "Canberra was founded in 1913."
    params = {"model": "m", "prompt": text, "max_tokens": 0}
    echo = sdk.completions.create(**params, echo=True, logprobs=2).choices[0].logprobs
    vllm = sdk.completions.create(**params, extra_body={"prompt_logprobs": 1}).choices[0]

    assert "".join(echo.tokens) == text
    assert echo.token_logprobs[0] is None
    assert echo.text_offset[:2] == [0, len("Canberra")]
    assert len(vllm.model_extra["prompt_logprobs"]) == len(echo.tokens) + 1


@pytest.mark.parametrize("stop", [".", ["1932", "."]])
def test_an_answer_ends_at_a_stop(
    sdk: openai.OpenAI, claude: anthropic.Anthropic, stop: Any
) -> None:
    text = text_of(sdk, temperature=0, stop=stop)
    message = claude.messages.create(
        **SAME, model="m", max_tokens=500, messages=QUESTION, stop_sequences=[*stop]
    )
    assert text
    assert "." not in text
    assert message.stop_reason == "stop_sequence"


def test_chats_call_tools_and_repeat_results(sdk: openai.OpenAI) -> None:
    tools: Any = [{"type": "function", "function": FUNCTION}]
    params: Any = {"model": "m", "tools": tools}
    choice = sdk.chat.completions.create(**params, messages=WEATHER).choices[0]
    (call,) = choice.message.tool_calls
    chunks = sdk.chat.completions.create(**params, messages=WEATHER, stream=True)
    deltas = [c.choices[0].delta.tool_calls[0] for c in chunks if c.choices[0].delta.tool_calls]
    asked = [*WEATHER, choice.message.model_dump(exclude_none=True)]
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": RESULT}

    assert (choice.finish_reason, call.function.name) == ("tool_calls", "get_weather")
    assert {"location", "days"} == set(json.loads(call.function.arguments))
    assert {"location", "days"} == set(json.loads("".join(d.function.arguments for d in deltas)))
    assert RESULT in text_of(sdk, **params, messages=[*asked, result])
    assert text_of(sdk, **params, messages=WEATHER, tool_choice="none")
    with pytest.raises(openai.BadRequestError):
        text_of(sdk, **params, messages=[*asked, *QUESTION])


def test_responses_call_tools_and_repeat_results(sdk: openai.OpenAI) -> None:
    params: Any = {"model": "m", "tools": [{"type": "function", **FUNCTION}]}
    (call,) = sdk.responses.create(**params, input=WEATHER).output
    with sdk.responses.stream(**params, input=WEATHER) as stream:
        (streamed,) = stream.get_final_response().output
    result = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
    response = sdk.responses.create(**params, input=[*WEATHER, call.model_dump(), result])

    assert {"location", "days"} == set(json.loads(call.arguments))
    assert streamed.name == "get_weather"
    assert RESULT in response.output_text


def test_messages_call_tools_and_repeat_results(claude: anthropic.Anthropic) -> None:
    tool = {"name": "get_weather", "description": "Get the weather.", "input_schema": PARAMETERS}
    params: Any = {"model": "m", "max_tokens": 500, "tools": [tool]}
    message = claude.messages.create(**params, messages=WEATHER)
    with claude.messages.stream(**params, messages=WEATHER) as stream:
        streamed = stream.get_final_message()
    (call,) = message.content
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    asked = [*WEATHER, {"role": "assistant", "content": [call.model_dump()]}]
    answer = claude.messages.create(
        **params, messages=[*asked, {"role": "user", "content": [result]}]
    )

    assert message.stop_reason == streamed.stop_reason == "tool_use"
    assert {"location", "days"} == set(call.input) == set(streamed.content[0].input)
    assert RESULT in answer.content[0].text


def test_known_fields_are_the_same_and_others_are_not(
    sdk: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    chats = sdk.chat.completions.parse(
        model="m", messages=QUESTION, response_format=Opening, n=4
    ).choices
    objects = [choice.message.parsed for choice in chats]
    objects.append(sdk.responses.parse(model="m", input=BRIDGE, text_format=Opening).output_parsed)
    message = claude.messages.parse(
        model="m", max_tokens=500, messages=QUESTION, output_format=Opening
    )
    objects.append(message.parsed_output)

    assert {item.opened_year for item in objects} == {1932}
    assert len({item.painter for item in objects}) > 1
    assert len({item.rivets for item in objects}) > 1


@pytest.mark.parametrize(
    ("fault", "params"),
    [
        (RefusedLogprobs(), {"logprobs": True}),
        (RefusedStreamOptions(), {"stream": True, "stream_options": {"include_usage": True}}),
    ],
)
def test_parameters_are_refused(provider: SimulatedProvider, fault: Fault, params: Any) -> None:
    provider.set_faults(fault)
    url = f"{provider.base_url}/chat/completions"
    body = {"model": "m", "messages": QUESTION}
    assert httpx.post(url, json={**body, **params}).status_code == 400
    assert httpx.post(url, json=body).status_code == 200


def test_parameters_are_ignored(provider: SimulatedProvider, sdk: openai.OpenAI) -> None:
    provider.set_faults(IgnoreLogprobs())
    done = sdk.chat.completions.create(model="m", messages=QUESTION, logprobs=True)
    assert done.choices[0].logprobs is None
    provider.set_faults(IgnoreStreamOptions())
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    assert not any(
        c.usage for c in sdk.chat.completions.create(model="m", messages=QUESTION, **options)
    )


def test_a_stream_ends_in_the_middle(provider: SimulatedProvider, sdk: openai.OpenAI) -> None:
    whole = text_of(sdk, temperature=0)
    provider.set_faults(BrokenStream())
    params: Any = {"model": "m", "messages": QUESTION, "temperature": 0, "stream": True}
    text = "".join(c.choices[0].delta.content or "" for c in sdk.chat.completions.create(**params))
    assert whole.startswith(text)
    assert 0 < len(text) < len(whole)
    provider.set_faults(BrokenStream({"error": {"message": "Overloaded."}}))
    with pytest.raises(openai.APIError, match=r"Overloaded\."):
        list(sdk.chat.completions.create(**params))


def test_errors_of_the_messages_api(
    provider: SimulatedProvider, claude: anthropic.Anthropic
) -> None:
    params: Any = {"model": "m", "max_tokens": 9, "messages": QUESTION}
    assert [model.id for model in claude.models.list()] == ["simulated"]
    provider.set_faults(ServerError(529))
    with pytest.raises(anthropic.APIStatusError) as caught:
        claude.messages.create(**params)
    assert caught.value.body["error"]["type"] == "overloaded_error"
    assert caught.value.request_id == "req_1"


@pytest.mark.parametrize("path", ["chat/completions", "completions", "responses", "messages"])
@pytest.mark.parametrize("body", [{}, {"messages": [3], "input": [3], "prompt": [{}]}, [1]])
def test_a_bad_request_is_refused(provider: SimulatedProvider, path: str, body: Any) -> None:
    assert httpx.post(f"{provider.base_url}/{path}", json=body).status_code == 400


def test_connections_and_requests_are_counted(provider: SimulatedProvider) -> None:
    with httpx.Client(base_url=provider.base_url) as http:
        http.get("/models")
        assert (provider.open_connections, provider.in_flight) == (1, 0)
        assert len(provider.requests_to("/v1/models")) == 1
    provider.wait_calls(1, path="/v1/models")
    with pytest.raises(TimeoutError):
        provider.wait_calls(2, 0.01, path="/v1/models")


def test_inference_servers_classify_and_embed() -> None:
    pair = ["It opened in 1932.", "It opened in 1933."]
    with SimulatedInference(api_key="s3cret") as tei:
        assert httpx.post(f"{tei.url}/predict", json={"inputs": pair}).status_code == 401
        headers = {"authorization": "Bearer s3cret"}
        answer = httpx.post(f"{tei.url}/predict", json={"inputs": pair}, headers=headers)
        assert answer.json()[0]["label"] == "contradiction"
        assert "s3cret" not in repr([record.headers for record in tei.requests])
    with SimulatedInference(api="vllm", serves="embedder", max_tokens=9) as vllm:
        embeddings = f"{vllm.url}/v1/embeddings"
        data = httpx.post(embeddings, json={"input": pair}).json()["data"]
        assert [len(row["embedding"]) for row in data] == [16, 16]
        assert httpx.post(embeddings, json={"input": "word " * 9}).status_code == 400
        vllm.set_faults(ServerError(503))
        assert httpx.post(embeddings, json={"input": pair}).status_code == 503
