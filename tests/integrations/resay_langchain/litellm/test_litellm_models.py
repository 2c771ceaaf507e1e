from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel

from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of, request_of

pytest.importorskip("litellm")
langchain_litellm = pytest.importorskip("langchain_litellm")

pytestmark = pytest.mark.anyio

PARAMS = {
    "temperature": 0.3,
    "top_p": 0.4,
    "max_tokens": 8,
    "organization": "org-1",
    "extra_headers": {"X-Team": "7"},
    "model_kwargs": {"frequency_penalty": 0.1, "user": "u"},
}
QUESTION: list[BaseMessage] = [HumanMessage("Who?")]


class Person(BaseModel):
    """A person."""

    name: str


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    given = {"api_base": f"{url}/v1", "api_key": "sk-own", "model": "openai/gpt-4.1-mini"}
    return langchain_litellm.ChatLiteLLM(**given | fields)


def same(body: dict[str, Any]) -> dict[str, Any]:
    """Read arguments of tools, which are the same in ASCII; no content is the same as none."""
    messages = []
    for message in body["messages"]:
        calls = [
            call | {"function": call["function"] | {"arguments": _read(call)}}
            for call in message.get("tool_calls", [])
        ]
        content = message.get("content") or None
        messages.append(message | {"tool_calls": calls, "content": content})
    return body | {"messages": messages}


def _read(call: dict[str, Any]) -> Any:
    arguments = call["function"]["arguments"]
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def assert_same(own: Any, through: Any) -> None:
    assert (own.path, own.headers) == (through.path, through.headers)
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize(
    "conversation", ["question", "earlier", "parts", "in_a_row", "image", "tool_use"]
)
@pytest.mark.parametrize("fields", [{}, PARAMS])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    model = chat(recorder.url, **fields)
    own, through = await twice(model, request.getfixturevalue(conversation))
    assert own.headers["authorization"] == "Bearer sk-own"
    assert_same(own, through)


@pytest.mark.parametrize("choice", [{}, {"tool_choice": "any"}, {"tool_choice": "weather"}])
async def test_tools_are_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any, choice: dict[str, Any]
) -> None:
    model = chat(recorder.url)
    assert_same(*await twice(model, tool_use, model.bind_tools([weather], **choice).kwargs))


@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
async def test_structured_output_is_the_same(
    recorder: Any, twice: Any, question: Any, method: str
) -> None:
    model = chat(recorder.url)
    kwargs = model.with_structured_output(Person, method=method).first.kwargs
    assert_same(*await twice(model, question, kwargs))


@pytest.mark.parametrize(
    "fields",
    [
        {"api_key": None, "openai_api_key": "sk-own"},
        {"api_key": None, "model_kwargs": {"api_key": "sk-own"}},
        {"api_key": None, "openai_api_key": "sk-own", "anthropic_api_key": "sk-other"},
        {"model": "mine", "custom_llm_provider": "openai", "base_model": "gpt-4o"},
        {"model": "ignored", "model_name": "openai/gpt-4o"},
        {"use_responses_api": False},
    ],
)
async def test_a_key_and_a_provider_are_found(
    recorder: Any, twice: Any, question: Any, fields: dict[str, Any]
) -> None:
    own, through = await twice(chat(recorder.url, **fields), question)
    assert own.headers["authorization"] == "Bearer sk-own"
    assert_same(own, through)


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "anthropic/claude-sonnet-4-6", "top_k": 4},
        {"model": "ollama_chat/llama3.2", "num_ctx": 512},
    ],
)
async def test_other_providers_are_asked_the_same(
    recorder: Any, twice: Any, question: Any, fields: dict[str, Any]
) -> None:
    assert_same(*await twice(chat(recorder.url, **fields, api_base=recorder.url), question))


async def test_the_arguments_of_a_call_win(recorder: Any, twice: Any, question: Any) -> None:
    kwargs = {"stop": ["X"], "temperature": 0.9, "max_tokens": 3, "user": "v", "n": None}
    assert_same(*await twice(chat(recorder.url, **PARAMS), question, kwargs))


def test_what_resay_sets_itself_is_left_out() -> None:
    model = chat(n=3, streaming=True, stream_options={}, request_timeout=3, max_retries=9)
    kwargs = {"seed": 1, "logprobs": True, "metadata": {}, "store": True, "timeout": 1}
    query = request_of(model, QUESTION, kwargs)
    assert query.params == {"api_key": "sk-own", "api_base": "http://127.0.0.1:9/v1"}


def test_without_keys_litellm_looks_for_one() -> None:
    query = connection_of(langchain_litellm.ChatLiteLLM(model="gpt-4.1-mini"))
    assert (query.model, query.params) == ("gpt-4.1-mini", {})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param(
            {"use_responses_api": True},
            "Responses API",
            marks=pytest.mark.skipif(
                "use_responses_api" not in langchain_litellm.ChatLiteLLM.model_fields,
                reason="this version of langchain-litellm knows no Responses API",
            ),
        ),
        (
            {"api_key": None, "openai_api_key": "k", "model": "gpt-4o"},
            "model 'gpt-4o' names no provider",
        ),
    ],
)
def test_a_model_is_unmapped(fields: dict[str, Any], reason: str) -> None:
    model = chat(**fields)
    with pytest.raises(UnmappedError, match=reason):
        connection_of(model)


@pytest.mark.parametrize(
    ("fields", "kwargs", "reason"),
    [
        ({"model_kwargs": {"mock_response": "x"}}, {}, "'mock_response'"),
        ({"model_kwargs": {"fallbacks": ["x"]}}, {}, "'fallbacks'"),
        ({}, {"model": "other"}, "'model'"),
        ({}, {"api_base": "http://127.0.0.1:8"}, "'api_base'"),
        ({}, {"web_search_options": {}}, "'web_search_options'"),
        ({}, {"tools": [{"type": "web_search"}]}, "no plain function"),
    ],
)
def test_a_call_is_unmapped(fields: dict[str, Any], kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(**fields), QUESTION, kwargs)


@pytest.mark.parametrize("key", ["reasoning_content", "thinking_blocks", "reasoning_items", "name"])
def test_a_message_is_unmapped(key: str) -> None:
    message = AIMessage("a", additional_kwargs={key: "x"})
    with pytest.raises(UnmappedError, match=key):
        request_of(chat(), [message, *QUESTION], {})


async def test_a_link_to_an_image_is_the_same(recorder: Any, twice: Any) -> None:
    link = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/a.png"}}
    assert_same(*await twice(chat(recorder.url), [HumanMessage([link])]))


async def test_what_litellm_is_told_counts_for_the_model_too(
    litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "drop_params", True)
    assert connection_of(chat()).model == "openai/gpt-4.1-mini"
