from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of, request_of

ollama = pytest.importorskip("langchain_ollama")

pytestmark = pytest.mark.anyio

PARAMS = {
    "temperature": 0.3,
    "top_k": 3,
    "top_p": 0.4,
    "num_ctx": 512,
    "num_predict": 7,
    "num_gpu": 1,
    "num_thread": 2,
    "repeat_penalty": 1.2,
    "repeat_last_n": 4,
    "mirostat": 1,
    "mirostat_eta": 0.1,
    "mirostat_tau": 0.2,
    "tfs_z": 0.5,
    "stop": ["END"],
    "keep_alive": "5m",
    "format": "json",
    "reasoning": False,
    "client_kwargs": {"headers": {"X-Team": "7"}},
}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
WHOLE = {"stream": False}  # what the model itself is told, so that the answer is in one piece


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    return ollama.ChatOllama(**{"base_url": url, "model": "llama3.2"} | fields)


def same(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is empty, which is the same as what is not there."""
    messages = [{k: v for k, v in m.items() if v or k == "role"} for m in body["messages"]]
    return {k: v for k, v in body.items() if v != []} | {"messages": messages}


def assert_same(own: Any, through: Any) -> None:
    assert own.path == through.path == "/api/chat"
    assert own.headers == through.headers
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize("conversation", ["question", "earlier", "parts", "in_a_row", "image"])
@pytest.mark.parametrize("fields", [{}, PARAMS])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    model = chat(recorder.url, **fields)
    assert_same(*await twice(model, request.getfixturevalue(conversation), WHOLE))


@pytest.mark.parametrize(
    "fields",
    [
        {"format": SCHEMA},
        {"reasoning": True},
        {"model": "gpt-oss:20b", "reasoning": "high"},
        {"client_kwargs": {"headers": {"Authorization": "Bearer own"}}},
    ],
)
async def test_a_model_is_the_same(
    recorder: Any, twice: Any, question: Any, fields: dict[str, Any]
) -> None:
    assert_same(*await twice(chat(recorder.url, **fields), question, WHOLE))


async def test_tools_are_the_same(recorder: Any, twice: Any, tool_use: Any, weather: Any) -> None:
    model = chat(recorder.url)
    kwargs = model.bind_tools([weather], tool_choice="any", strict=True).kwargs
    own, through = await twice(model, tool_use, {**kwargs, **WHOLE})
    assert own.body["tools"]
    # litellm 1.110 also names the calls, which Ollama's client does not.
    for message in through.body["messages"]:
        for call in message.get("tool_calls", ()):
            call.pop("id", None)
    assert_same(own, through)


async def test_messages_are_put_together_as_the_model_does(recorder: Any, twice: Any) -> None:
    conversation = [
        HumanMessage(["Who?", {"type": "text", "text": "Was it Ada?"}]),
        SystemMessage("Be brief."),
        AIMessage(""),
        ToolMessage("No.", tool_call_id="odd id", status="error"),
    ]
    assert_same(*await twice(chat(recorder.url), conversation, WHOLE))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"format": "json"},
        {"keep_alive": 3, "reasoning": True, "model": "qwen3", "stop": ["X"]},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
    ],
)
async def test_the_arguments_of_a_call_are_the_same(
    recorder: Any, twice: Any, question: Any, kwargs: dict[str, Any]
) -> None:
    assert_same(*await twice(chat(recorder.url), question, {**kwargs, **WHOLE}))


@pytest.mark.parametrize("given", [None, {"headers": {"X-Team": "7"}}])
async def test_a_password_in_the_url_is_sent(
    recorder: Any, twice: Any, question: Any, given: dict[str, Any] | None
) -> None:
    url = recorder.url.replace("http://", "http://me:pw@")
    own, through = await twice(chat(url, client_kwargs=given), question, WHOLE)
    assert own.headers["authorization"] == "Basic bWU6cHc="
    assert_same(own, through)


async def test_the_environment_is_read_as_the_model_reads_it(
    recorder: Any, twice: Any, question: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", recorder.url)
    model = ollama.ChatOllama(model="llama3.2")
    monkeypatch.delenv("OLLAMA_HOST")
    assert_same(*await twice(model, question, WHOLE))


def test_what_resay_sets_itself_is_left_out() -> None:
    model = chat(seed=1, logprobs=True, top_logprobs=2)
    kwargs = {"stream": True, "logprobs": True, "seed": 4}
    query = request_of(model, [HumanMessage("Who?")], kwargs)
    assert query.params == {"api_base": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"client_kwargs": {"verify": False}}, "'verify'"),
        ({"async_client_kwargs": {"timeout": 3}}, "'async_client_kwargs'"),
        ({"sync_client_kwargs": {"timeout": 3}}, "'sync_client_kwargs'"),
    ],
)
def test_a_model_is_unmapped(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        connection_of(chat(**fields))


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"options": {"num_ctx": 3}}, "'options'"),
        ({"tools": [{"type": "function"}]}, "no plain function"),
        ({"tool_choice": "any"}, "'tool_choice'"),
    ],
)
def test_a_call_is_unmapped(kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), [HumanMessage("Who?")], kwargs)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (AIMessage("a", additional_kwargs={"reasoning_content": "hm"}), "reasoning_content"),
        (HumanMessage([{"type": "image_url", "image_url": "http://a/b.png"}]), "'image_url'"),
        (HumanMessage([{"type": "audio", "base64": "", "mime_type": "audio/wav"}]), "'audio'"),
    ],
)
def test_a_message_is_unmapped(message: Any, reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), [message], {})
