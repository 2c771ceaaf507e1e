from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel

from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of, request_of

anthropic = pytest.importorskip("langchain_anthropic")

pytestmark = [
    pytest.mark.anyio,
    # Any model will be, one day.
    pytest.mark.filterwarnings("ignore:The model '.*' is deprecated:DeprecationWarning"),
]

PARAMS = {
    "temperature": 0.3,
    "top_k": 5,
    "max_tokens": 77,
    "stop": ["END"],
    "default_headers": {"X-Team": "7"},
}
QUESTION: list[BaseMessage] = [HumanMessage("Who?")]


class Person(BaseModel):
    """A person."""

    name: str


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    given = {"api_key": "sk-ant-own", "base_url": url, "model": "claude-sonnet-4-6"}
    return anthropic.ChatAnthropic(**given | fields)


def blocks(content: Any) -> list[Any]:
    # A text alone is the same as a list of it; a result is none of an error unless it says so.
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [
        {
            k: blocks(v) if k == "content" else v
            for k, v in block.items()
            if (k, v) != ("is_error", False)
        }
        for block in listed
    ]


def same(body: dict[str, Any]) -> dict[str, Any]:
    messages = [m | {"content": blocks(m["content"])} for m in body["messages"]]
    changed: dict[str, Any] = {"messages": messages}
    if "system" in body:
        changed["system"] = blocks(body["system"])
    if "tools" in body:
        # "custom" is the default.
        changed["tools"] = [{"type": "custom", **t} for t in body["tools"]]
    return body | changed


def assert_same(own: Any, through: Any) -> None:
    assert own.path == through.path == "/v1/messages"
    # The version is that of Anthropic's package, and litellm has one of its own. They differ in
    # which requests are refused. litellm always sends the key in the older header, too.
    for headers in (own.headers, through.headers):
        headers.pop("anthropic-version")
        assert "sk-ant-own" in (headers.get("authorization", "") + headers.pop("x-api-key", ""))
    assert own.headers == through.headers
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize("conversation", ["question", "earlier", "parts", "in_a_row", "image"])
@pytest.mark.parametrize("fields", [{}, PARAMS])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    model = chat(recorder.url, **fields)
    own, through = await twice(model, request.getfixturevalue(conversation))
    assert_same(own, through)


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"tool_choice": "auto"},
        {"tool_choice": "any"},
        {"tool_choice": "weather", "parallel_tool_calls": False},
        {"parallel_tool_calls": True},
    ],
)
async def test_tools_are_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any, choice: dict[str, Any]
) -> None:
    model = chat(recorder.url)
    own, through = await twice(model, tool_use, model.bind_tools([weather], **choice).kwargs)
    assert own.body["tools"]
    assert_same(own, through)


async def test_an_answer_in_anthropics_own_shape_is_the_same(
    recorder: Any, twice: Any, weather: Any
) -> None:
    call = {"id": "toolu_1", "name": "weather"}
    said = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "input": {"city": "Bonn"}, **call},
    ]
    conversation = [
        HumanMessage("Will it rain?"),
        AIMessage(said, tool_calls=[{"args": {"city": "Bonn"}, **call}]),
        ToolMessage([{"type": "text", "text": "Rain."}], tool_call_id="toolu_1"),
        HumanMessage("Sure?"),
    ]
    model = chat(recorder.url)
    own, through = await twice(model, conversation, model.bind_tools([weather]).kwargs)
    assert_same(own, through)


async def test_messages_in_a_row_are_the_same(recorder: Any, twice: Any) -> None:
    conversation = [
        SystemMessage("Be brief."),
        SystemMessage([{"type": "text", "text": "Be kind."}]),
        AIMessage("Hello."),
        HumanMessage("Who?"),
        HumanMessage([{"type": "text", "text": "Was it Ada?"}]),
    ]
    assert_same(*await twice(chat(recorder.url), conversation))


async def test_structured_output_by_a_tool_is_the_same(
    recorder: Any, twice: Any, question: Any
) -> None:
    model = chat(recorder.url)
    kwargs = model.with_structured_output(Person).first.kwargs
    own, through = await twice(model, question, kwargs)
    assert own.body["tool_choice"] == {"type": "tool", "name": "Person"}
    assert_same(own, through)


async def test_the_arguments_of_a_call_win(recorder: Any, twice: Any, question: Any) -> None:
    kwargs = {"stop": ["X"], "temperature": 0.9, "max_tokens": 3, "model": "claude-haiku-4-5"}
    own, through = await twice(chat(recorder.url, **PARAMS), question, kwargs)
    assert own.body["model"] == "claude-haiku-4-5"
    assert_same(own, through)


def test_at_anthropic_the_key_goes_in_one_header() -> None:
    assert connection_of(chat("https://api.anthropic.com/")).params == {
        "api_key": "sk-ant-own",
        "api_base": "https://api.anthropic.com",
        "max_tokens": chat().max_tokens,
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"betas": ["b"]}, "'betas'"),
        ({"anthropic_proxy": "http://127.0.0.1:9"}, "'anthropic_proxy'"),
        ({"model_kwargs": {"service_tier": "auto"}}, "'model_kwargs'"),
        ({"inference_geo": "us"}, "'inference_geo'"),
        ({"user_profile_id": "p"}, "'user_profile_id'"),
        ({"api_key": ""}, "no fixed key"),
        ({"api_key": "sk-ant-oat01-x"}, "a token"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_a_model_is_unmapped(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        connection_of(chat(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"mcp_servers": [{"type": "url", "url": "http://127.0.0.1:9", "name": "m"}]},
        {"context_management": {"edits": []}},
        {"container": "c"},
        {"reuse_last_container": True},
        {"output_config": {"effort": "low"}},
        {"effort": "low"},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ],
    ids=",".join,
)
def test_what_shapes_the_answer_and_is_not_translated_is_unmapped(fields: dict[str, Any]) -> None:
    with pytest.raises(UnmappedError, match="ChatAnthropic sets"):
        connection_of(chat(**fields))


@pytest.mark.parametrize("variable", ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"])
def test_what_only_anthropics_package_reads_makes_it_unmapped(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "X-A: b")
    with pytest.raises(UnmappedError, match=variable):
        connection_of(chat())


FORCED = {"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"}}


@pytest.mark.parametrize(
    ("fields", "kwargs", "reason"),
    [
        ({}, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "provider runs"),
        ({}, {"tools": [{"name": "f", "input_schema": {}, "cache_control": {}}]}, "cache_control"),
        ({}, {"tools": [{"name": "f", "input_schema": {}, "strict": True}]}, "strict"),
        ({}, {"tool_choice": {"type": "some"}}, "unknown shape"),
        ({}, {"tool_choice": "any"}, "unknown shape"),
        ({}, {"response_format": {"type": "json_object"}}, "response_format"),
        ({}, {"output_config": {"format": {}}}, "output_config"),
        ({}, {"thinking": {"type": "disabled"}}, "thinking"),
        ({}, {"cache_control": {"type": "ephemeral"}}, "cache_control"),
        ({"model": "claude-2.1"}, {}, "another way"),
        ({"model": "claude-opus-4-7", "temperature": 0.2}, {}, "all of its parameters"),
        ({"model": "claude-opus-5-5"}, FORCED, "all of its parameters"),
    ],
)
def test_a_call_is_unmapped(fields: dict[str, Any], kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(**fields), QUESTION, kwargs)


CALL: Any = {"id": "c", "name": "f", "args": {}, "type": "tool_call"}
CITED = {"type": "text", "text": "a", "citations": [{"type": "char_location"}]}


@pytest.mark.parametrize(
    ("conversation", "reason"),
    [
        ([AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}])], "'thinking'"),
        ([AIMessage([{"type": "redacted_thinking", "data": "x"}])], "'redacted_thinking'"),
        ([AIMessage([{"type": "server_tool_use", "id": "s", "name": "w"}])], "'server_tool_use'"),
        ([AIMessage([CITED])], "'text' that is not plain"),
        ([AIMessage("a", invalid_tool_calls=[CALL | {"args": "{", "error": None}])], "not be read"),
        ([AIMessage("a", additional_kwargs={"reasoning_content": "hm"})], "reasoning_content"),
        ([HumanMessage([{"type": "text", "text": "a", "cache_control": {}}])], "not plain"),
        ([HumanMessage([{"type": "document", "source": {}}])], "'document'"),
        ([HumanMessage([{"type": "image_url", "image_url": {"url": "http://a/b"}}])], "not plain"),
        ([HumanMessage([{"type": "file", "base64": "", "mime_type": "a/b"}])], "'file'"),
        ([HumanMessage(" ")], "empty message"),
        ([AIMessage([])], "empty message"),
        ([HumanMessage([{"type": "text", "text": ""}])], "empty message"),
        ([SystemMessage("a"), HumanMessage("b"), SystemMessage("c")], "not the first"),
        ([AIMessage("a"), AIMessage("b")], "two answers"),
        ([ChatMessage("a", role="critic")], "ChatMessage"),
        ([AIMessage("", tool_calls=[CALL]), ToolMessage("a", tool_call_id="c")], "no tools"),
        ([ToolMessage("a", tool_call_id="c", status="error")], "tool's error|no tools"),
        ([AIMessage("", tool_calls=[CALL | {"id": "f.1:0"}])], "unusual id"),
    ],
)
def test_a_conversation_is_unmapped(conversation: list[BaseMessage], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), [*conversation, *QUESTION], {})


def test_a_tools_error_is_unmapped() -> None:
    failed = ToolMessage("a", tool_call_id="c", status="error")
    conversation = [*QUESTION, AIMessage("", tool_calls=[CALL]), failed]
    with pytest.raises(UnmappedError, match="tool's error"):
        request_of(chat(), conversation, {"tools": FORCED["tools"]})


def test_going_on_with_an_answer_is_unmapped() -> None:
    with pytest.raises(UnmappedError, match="continues a prefilled answer"):
        request_of(chat(), [*QUESTION, AIMessage("It was")], {})


def test_no_content_and_no_key_is_in_a_reason() -> None:
    secret = "sk-ant-own"  # the key of `chat`
    message = HumanMessage([{"type": "text", "text": "private words", "cache_control": {}}])
    with pytest.raises(UnmappedError) as caught:
        request_of(chat(), [message], {})
    assert "private" not in str(caught.value)
    assert secret not in str(caught.value)
