from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of, request_of

genai = pytest.importorskip("langchain_google_genai")

pytestmark = pytest.mark.anyio

PARAMS = {
    "temperature": 0.3,
    "top_k": 3,
    "top_p": 0.4,
    "max_output_tokens": 9,
    "additional_headers": {"X-Team": "7"},
}
QUESTION = [HumanMessage("Who?")]


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    given = {"base_url": url, "google_api_key": "g-own", "model": "gemini-2.5-flash"}
    return genai.ChatGoogleGenerativeAI(**given | {"transport": "rest"} | fields)


def same(value: Any) -> Any:
    """Write names one way: the API reads both; and one answer is the default."""
    if isinstance(value, list):
        return [same(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if (k, v) != ("candidateCount", 1)}
    return {re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", k): same(v) for k, v in kept.items()}


def assert_same(own: Any, through: Any) -> None:
    path, _, query = own.path.partition("?")
    assert path == through.path
    # How enumerations are written in the answer.
    assert query == "%24alt=json%3Benum-encoding%3Dint"
    assert own.headers == through.headers
    assert own.headers["x-goog-api-key"] == "g-own"
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize("conversation", ["question", "earlier", "image"])
@pytest.mark.parametrize("fields", [{}, PARAMS, {"model": "models/gemini-3-pro-preview"}])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    model = chat(recorder.url, **fields)
    assert_same(*await twice(model, request.getfixturevalue(conversation)))


async def test_the_arguments_of_a_call_are_the_same(
    recorder: Any, twice: Any, question: Any
) -> None:
    # A limit can be given to a call in the request only: LangChain's client does not take it.
    assert_same(*await twice(chat(recorder.url), question, {"stop": ["X"]}))
    query = request_of(chat(**PARAMS), QUESTION, {"max_output_tokens": 3})
    assert query.params["max_tokens"] == 3


def test_at_google_only_the_key_is_said() -> None:
    fields = {"base_url": None, "transport": None, "stop": ["X"], "n": 2}
    query = connection_of(chat(**fields))
    assert query.model == "gemini/gemini-2.5-flash"
    assert query.params == {"api_key": "g-own", "temperature": 0.7}


@pytest.mark.parametrize(
    "fields",
    [
        {"cached_content": "c"},
        {"convert_system_message_to_human": True},
        {"include_thoughts": False},
        {"thinking_budget": 0},
        {"thinking_level": "low"},
        {"response_mime_type": "application/json"},
        {"safety_settings": {7: 1}},
    ],
    ids=",".join,
)
def test_what_shapes_the_answer_and_is_not_translated_is_unmapped(fields: dict[str, Any]) -> None:
    with pytest.raises(UnmappedError, match=f"sets '{next(iter(fields))}'"):
        connection_of(chat(**fields))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"transport": "grpc", "base_url": "127.0.0.1:9"}, "gRPC"),
        ({"client_options": {"api_endpoint": "127.0.0.1:9"}}, "'client_options'"),
        ({"model_kwargs": {"x": 1}}, "'model_kwargs'"),
    ],
)
def test_a_model_is_unmapped(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        connection_of(chat(**fields))


@pytest.mark.parametrize("name", ["tools", "safety_settings", "generation_config", "temperature"])
def test_a_call_is_unmapped(name: str) -> None:
    with pytest.raises(UnmappedError, match=f"called with '{name}'"):
        request_of(chat(), QUESTION, {name: {"a": 1}})


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("a", tool_calls=[{"id": "c", "name": "f", "args": {}}]),
        ToolMessage("a", tool_call_id="c"),
        AIMessage("a", additional_kwargs={"__gemini_function_call_thought_signatures__": {}}),
        HumanMessage([{"type": "media", "mime_type": "a/b", "data": ""}]),
        HumanMessage([{"type": "image_url", "image_url": "http://127.0.0.1:9/a.png"}]),
    ],
)
def test_a_message_is_unmapped(message: Any) -> None:
    with pytest.raises(UnmappedError, match="is given"):
        request_of(chat(), [message, *QUESTION], {})


@pytest.mark.parametrize(
    ("conversation", "reason"), [("parts", "several parts"), ("in_a_row", "in a row")]
)
def test_what_must_be_joined_is_unmapped(
    request: pytest.FixtureRequest, conversation: str, reason: str
) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), request.getfixturevalue(conversation), {})


async def test_parts_of_other_messages_are_the_same(recorder: Any, twice: Any, parts: Any) -> None:
    assert_same(*await twice(chat(recorder.url), parts[1:]))
