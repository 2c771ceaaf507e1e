from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from resay.adapters.upstream import UnmappedError
from resay.providers.litellm import LiteLLMProvider
from resay_langchain._litellm.requests import connection_of, request_of

aws = pytest.importorskip("langchain_aws")

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("aws_read_once")]

PARAMS = {
    "temperature": 0.3,
    "top_p": 0.4,
    "max_tokens": 9,
    "stop": ["END"],
    "default_headers": {"X-Team": "7"},
    "aws_session_token": "session",
}
CLAUDE = "anthropic.claude-3-5-sonnet-20240620-v1:0"
QUESTION = [HumanMessage("Who?")]


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's, and no look at the service that hands out roles."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def chat(url: str = "http://127.0.0.1:9", **fields: Any) -> Any:
    keys = {"aws_access_key_id": "AKOWN", "aws_secret_access_key": "secret"}
    given = {"endpoint_url": url, "model": CLAUDE, "region_name": "us-west-2"}
    return aws.ChatBedrockConverse(**keys | given | fields)


def same(value: Any) -> Any:
    """Leave out that a tool went well and that there is no system text: the defaults."""
    if isinstance(value, list):
        return [same(item) for item in value]
    if not isinstance(value, dict):
        return value
    defaults = [("status", "success"), ("system", [])]
    return {k: same(v) for k, v in value.items() if (k, v) not in defaults}


def assert_same(own: Any, through: Any) -> None:
    assert own.path == through.path
    # The rest is the signature, over a time and headers of each library's own.
    scopes = [one.headers.pop("authorization").partition(",")[0] for one in (own, through)]
    assert scopes[0].split("/")[0] == "AWS4-HMAC-SHA256 Credential=AKOWN"
    assert [scope.split("/")[2:] for scope in scopes] == [
        ["us-west-2", "bedrock", "aws4_request"]
    ] * 2
    assert own.headers == through.headers
    assert same(own.body) == same(through.body)
    assert "hallucination" not in str(through.body)


@pytest.mark.parametrize("conversation", ["question", "earlier", "image"])
@pytest.mark.parametrize("fields", [{}, PARAMS])
async def test_a_request_is_the_same(
    recorder: Any, twice: Any, request: Any, conversation: str, fields: dict[str, Any]
) -> None:
    model = chat(recorder.url, **fields)
    assert_same(*await twice(model, request.getfixturevalue(conversation)))


@pytest.mark.parametrize(
    "model",
    [
        "us.amazon.nova-lite-v1:0",
        "meta.llama3-1-8b-instruct-v1:0",
        "openai.gpt-oss-20b-1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
)
async def test_any_model_is_asked_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any, model: str
) -> None:
    made = chat(recorder.url, model=model, temperature=0.3, max_tokens=5)
    assert_same(*await twice(made, tool_use, made.bind_tools([weather]).kwargs))


@pytest.mark.parametrize("choice", ["auto", "any", "weather"])
async def test_tools_are_the_same(
    recorder: Any, twice: Any, tool_use: Any, weather: Any, choice: str
) -> None:
    model = chat(recorder.url)
    kwargs = model.bind_tools([weather], tool_choice=choice).kwargs
    assert_same(*await twice(model, tool_use, kwargs))


async def test_the_arguments_of_a_call_win(recorder: Any, twice: Any, question: Any) -> None:
    kwargs = {"stop": ["X"], "max_tokens": 3, "temperature": 0.9}
    assert_same(*await twice(chat(recorder.url, **PARAMS), question, kwargs))


async def test_a_key_of_bedrock_is_sent(recorder: Any, litellm: Any) -> None:
    # The model itself sends it by HTTPS only.
    keys = {"aws_access_key_id": None, "aws_secret_access_key": None, "bedrock_api_key": "b-own"}
    await LiteLLMProvider().complete(request_of(chat(recorder.url, **keys), QUESTION, {}))
    assert recorder.arrived[0].headers["authorization"] == "Bearer b-own"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"guardrails": {"guardrailIdentifier": "g"}}, "'guardrail_config'"),
        ({"guard_last_turn_only": True, "guardrails": {"a": "b"}}, "guard"),
        ({"aws_access_key_id": None, "aws_secret_access_key": None}, "no fixed key|credentials"),
        ({"request_metadata": {"a": "b"}}, "'request_metadata'"),
        ({"model": "arn:aws:bedrock:us-west-2::foundation-model/x", "provider": "x"}, "ARN"),
    ],
)
def test_a_model_is_unmapped(
    fields: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = chat(**fields)
    with pytest.raises(UnmappedError, match=reason):
        connection_of(model)


def test_a_client_of_its_own_makes_it_unmapped() -> None:
    other = chat(aws_access_key_id="AKOTHER").client
    with pytest.raises(UnmappedError, match="custom client"):
        connection_of(chat(client=other))


@pytest.mark.parametrize(
    "fields",
    [
        {"system": ["Be brief."]},
        {"additional_model_request_fields": {"top_k": 3}},
        {"performance_config": {"latency": "optimized"}},
        {"service_tier": "flex"},
        {"raw_blocks": [{}]},
        {"output_config": {}},
    ],
    ids=",".join,
)
def test_what_shapes_the_answer_and_is_not_translated_is_unmapped(fields: dict[str, Any]) -> None:
    with pytest.raises(UnmappedError, match=f"sets '{next(iter(fields))}'"):
        connection_of(chat(**fields))


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"toolConfig": {"tools": []}}, "'toolConfig'"),
        ({"tools": [{"cachePoint": {"type": "default"}}]}, "no plain function"),
        ({"tool_choice": {"none": {}}}, "unknown shape"),
        ({"response_format": {}}, "'response_format'"),
    ],
)
def test_a_call_is_unmapped(kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), QUESTION, kwargs)


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
