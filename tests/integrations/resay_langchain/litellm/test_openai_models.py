from __future__ import annotations

from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import BaseModel, Field, SecretStr

from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of, request_of

openai = pytest.importorskip("langchain_openai")

pytestmark = pytest.mark.anyio

PARAMS = {
    "temperature": 0.3,
    "max_tokens": 9,
    "top_p": 0.4,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "logit_bias": {5: 1},
    "stop": ["END"],
    "service_tier": "flex",
    "organization": "org-1",
    "default_headers": {"X-Team": "7"},
    "extra_body": {"repetition_penalty": 1.1},
    "model_kwargs": {"user": "u", "extra_headers": {"X-Call": "8"}},
}
QUESTION: list[BaseMessage] = [HumanMessage("Who?")]


class Person(BaseModel):
    """A person."""

    name: str


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    return openai.ChatOpenAI(
        **{"api_key": "sk-own", "base_url": f"{url}/v1", "model": "gpt-4.1-mini"} | fields
    )


def azure(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    given = {"api_key": "ak-own", "azure_endpoint": url, "api_version": "2024-10-21"}
    return openai.AzureChatOpenAI(**given | {"azure_deployment": "mine"} | fields)


def same(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what means the same: no stream is the default, and no content none."""
    messages = [{k: v for k, v in m.items() if v is not None} for m in body["messages"]]
    kept = {k: v for k, v in body.items() if k != "stream" or v}
    return kept | {"messages": messages}


@pytest.mark.parametrize(
    "conversation", ["question", "earlier", "parts", "in_a_row", "image", "tool_use"]
)
@pytest.mark.parametrize("fields", [{}, PARAMS])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    own, through = await twice(chat(recorder.url, **fields), request.getfixturevalue(conversation))
    assert own.path == through.path == "/v1/chat/completions"
    assert own.headers == through.headers
    assert own.headers["authorization"] == "Bearer sk-own"
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("gpt-4o-mini", {}),
        ("gpt-3.5-turbo-instruct", {}),
        ("o3-mini", {"reasoning_effort": "low", "max_tokens": 5}),
        ("gpt-5-mini", {"reasoning_effort": "minimal", "verbosity": "low"}),
        ("gpt-5.4-mini", {"reasoning_effort": "low"}),
        ("llama-3.1-8b", {"reasoning_effort": "low", "temperature": 0.2}),
        ("openai/gpt-oss-120b", {"reasoning_effort": "low"}),
        ("anthropic/claude-sonnet-4", {"temperature": 0.2}),
        ("mistral-large-latest", {"frequency_penalty": 0.2}),
    ],
)
async def test_any_model_at_any_server_is_asked_the_same(
    recorder: Any, twice: Any, question: Any, model: str, fields: dict[str, Any]
) -> None:
    own, through = await twice(chat(recorder.url, model=model, **fields), question)
    assert (own.path, own.headers) == (through.path, through.headers)
    assert same(own.body) == same(through.body)


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"tool_choice": "any"},
        {"tool_choice": "weather", "strict": True, "parallel_tool_calls": False},
    ],
)
async def test_tools_are_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any, choice: dict[str, Any]
) -> None:
    model = chat(recorder.url)
    kwargs = model.bind_tools([weather], **choice).kwargs
    own, through = await twice(model, tool_use, kwargs)
    assert own.body["tools"]
    assert same(own.body) == same(through.body)


# Older langchain-openai dumps what the SDK parsed, whose types do not know the schema's class.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
async def test_structured_output_is_the_same(
    recorder: Any, twice: Any, question: Any, method: str
) -> None:
    model = chat(recorder.url)
    kwargs = model.with_structured_output(Person, method=method).first.kwargs
    own, through = await twice(model, question, kwargs)
    assert own.body.keys() & {"response_format", "tools"}
    assert same(own.body) == same(through.body)


async def test_the_arguments_of_a_call_win(recorder: Any, twice: Any, question: Any) -> None:
    kwargs = {"stop": ["X"], "temperature": 0.9, "max_tokens": 3, "model": "gpt-4o", "user": "v"}
    own, through = await twice(chat(recorder.url, **PARAMS), question, kwargs)
    assert own.body["model"] == "gpt-4o"
    assert same(own.body) == same(through.body)


async def test_azure_is_asked_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any
) -> None:
    fields = {k: v for k, v in PARAMS.items() if k != "extra_body"}
    model = azure(recorder.url, **fields)
    own, through = await twice(model, tool_use, model.bind_tools([weather]).kwargs)
    path = "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert own.path == through.path == path
    assert own.headers == through.headers
    assert own.headers["api-key"] == "ak-own"
    # The deployment is in the path; what the body calls the model does not count.
    own.body.pop("model")
    through.body.pop("model")
    assert same(own.body) == same(through.body)


async def test_azure_takes_a_token(recorder: Any, twice: Any, question: Any) -> None:
    own, through = await twice(azure(recorder.url, api_key=None, azure_ad_token="t"), question)
    assert own.headers == through.headers
    assert own.headers["authorization"] == "Bearer t"


async def test_the_environment_is_read_as_the_model_reads_it(
    recorder: Any, twice: Any, question: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{recorder.url}/env")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-env")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-env")
    model = openai.ChatOpenAI(model="gpt-4.1-mini")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name)
    own, through = await twice(model, question)
    assert own.path == through.path == "/env/chat/completions"
    assert own.headers == through.headers
    assert own.headers["openai-project"] == "project-env"


def test_what_resay_sets_itself_is_left_out() -> None:
    kwargs = {"n": 3, "seed": 1, "logprobs": True, "top_logprobs": 2, "stream": False}
    fields = {"store": True, "streaming": True, "timeout": 3, "max_retries": 9}
    query = request_of(chat(**fields), QUESTION, {**kwargs, "metadata": {"a": "b"}})
    assert query.messages == ({"role": "user", "content": "Who?"},)
    assert set(query.params) == {"api_key", "api_base", "allowed_openai_params"}


def test_a_connection_has_what_the_model_asks_for() -> None:
    query = connection_of(chat(**PARAMS))
    assert (query.model, query.messages) == ("openai/gpt-4.1-mini", ())
    assert query.params["temperature"] == 0.3
    assert query.params["max_completion_tokens"] == 9
    assert "sk-own" not in repr(query)


class Own(openai.ChatOpenAI):
    pass


class Later(openai.ChatOpenAI):
    """What a later version may be: it has a field that is not known yet."""

    novelty: str | None = None
    extras: dict[str, str] = Field(default_factory=dict)


Later.__module__, Later.__qualname__ = "langchain_openai.chat_models.base", "ChatOpenAI"


@pytest.mark.parametrize("fields", [{"novelty": "x"}, {"novelty": ""}, {"extras": {"a": "b"}}])
def test_an_unknown_field_makes_a_model_unmapped(fields: dict[str, Any]) -> None:
    given = {"api_key": "k", "base_url": "http://127.0.0.1:9", "model": "m"}
    assert connection_of(Later(**given)).model == "openai/m"
    with pytest.raises(UnmappedError, match=f"sets '{next(iter(fields))}'"):
        connection_of(Later(**given, **fields))


async def _token() -> str:
    return "t"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"use_responses_api": True}, "Responses API"),
        ({"output_version": "responses/v1"}, "Responses API"),
        ({"reasoning": {"effort": "low"}}, "reasoning"),
        ({"model": "gpt-5-pro"}, "Responses API"),
        ({"model": "o1-pro", "use_responses_api": False}, "Responses API"),
        ({"model": "gpt-5.1-codex", "use_responses_api": False}, "Responses API"),
        ({"model": "responses/gpt-4.1"}, "Responses API"),
        ({"api_key": lambda: "k"}, "no fixed key"),
        ({"api_key": _token}, "custom client"),
        ({"default_query": {"a": "b"}}, "default_query"),
        ({"openai_proxy": "http://127.0.0.1:9"}, "'openai_proxy'"),
        ({"http_async_client": httpx.AsyncClient()}, "http_async_client"),
        ({"rate_limiter": InMemoryRateLimiter()}, "rate_limiter"),
        ({"client": object()}, "custom client"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_a_model_is_unmapped(fields: dict[str, Any], reason: str) -> None:
    model = chat(**fields)
    with pytest.raises(UnmappedError, match=reason):
        connection_of(model)


@pytest.mark.parametrize("field", ["client", "async_client", "root_async_client"])
def test_a_client_put_in_later_makes_a_model_unmapped(field: str) -> None:
    model = chat()
    setattr(model, field, openai.ChatOpenAI(api_key="other", model="m").async_client)
    with pytest.raises(UnmappedError, match="custom client"):
        connection_of(model)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"openai_api_version": None}, "endpoint and version"),
        ({"azure_ad_token_provider": lambda: "t", "api_key": None}, "azure_ad_token_provider"),
        ({"azure_deployment": "mistral-large"}, "elsewhere"),
        ({"azure_deployment": None}, "names no model"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_an_azure_model_is_unmapped(
    fields: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = azure(**{k: v for k, v in fields.items() if k != "openai_api_version"})
    if "openai_api_version" in fields:
        monkeypatch.setattr(model, "openai_api_version", None)
    with pytest.raises(UnmappedError, match=reason):
        connection_of(model)


@pytest.mark.parametrize(
    ("fields", "kwargs", "reason"),
    [
        ({}, {"tools": [{"type": "web_search"}]}, "Responses API"),
        ({}, {"functions": []}, "'functions'"),
        ({}, {"modalities": ["text", "audio"]}, "'modalities'"),
        ({"model_kwargs": {"web_search_options": {}}}, {}, "'web_search_options'"),
        ({"prompt_cache_options": {"mode": "explicit"}}, {}, "prompt_cache_options"),
        ({"model": "o3", "temperature": 0.2}, {}, "temperature"),
        (
            {"model": "gpt-5.4-mini"},
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            "Responses API",
        ),
        (
            {},
            {"tools": [{"type": "function", "function": {"name": "f"}, "defer": True}]},
            "no plain function",
        ),
    ],
)
# Older langchain-openai moves what it does not know into `model_kwargs`.
@pytest.mark.filterwarnings("ignore:WARNING! prompt_cache_options:UserWarning")
def test_a_call_is_unmapped(fields: dict[str, Any], kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(**fields), QUESTION, kwargs)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (HumanMessage([{"type": "input_audio", "input_audio": {}}]), "'input_audio'"),
        (HumanMessage([{"type": "mystery"}]), "'mystery'"),
        (HumanMessage(["a text alone", "another"]), "type None"),
        (AIMessage("", additional_kwargs={"audio": {"id": "a"}}), "'audio'"),
        (AIMessage("", additional_kwargs={"function_call": {}}), "'function_call'"),
    ],
)
def test_a_message_is_unmapped(message: BaseMessage, reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), [message, *QUESTION], {})


def test_a_subclass_is_unmapped() -> None:
    with pytest.raises(UnmappedError, match="Own is not known"):
        connection_of(Own(api_key=SecretStr("k"), model="m"))


def test_a_role_of_ones_own_is_sent() -> None:
    query = request_of(chat(), [ChatMessage("Be brief.", role="developer"), *QUESTION], {})
    assert query.messages[0] == {"role": "developer", "content": "Be brief."}


def test_another_way_of_building_requests_is_unmapped(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chat()
    monkeypatch.setattr(type(model), "_get_request_payload", None)
    with pytest.raises(UnmappedError, match="in another way"):
        connection_of(model)
