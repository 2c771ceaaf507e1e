"""What becomes of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from pydantic import BaseModel

from resay import Guard, HallucinationBlocked, Policy, UncheckableError
from resay.adapters import marked
from resay.errors import ConfigurationError, PolicyError
from resay_anthropic import VERDICT_KEY, HallucinationMiddleware, guard_client, verdict_of
from simulation import SimulatedProvider
from support.known_world import KNOWN, MADE_UP

pytestmark = pytest.mark.anyio

POLICY = {"chain": [{"method": "ngram"}], "sampling": {"max": 3}}
MESSAGE = "I do not know."
BLOCKING = {**POLICY, "action": {"do": "block", "message": MESSAGE}}
RAISING = {**POLICY, "action": {"do": "block", "exit": "raise"}}
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
TOOL: Any = {"name": "look_up", "description": "Look a place up.", "input_schema": PLACE}
SEARCH: Any = {"type": "web_search_20250305", "name": "web_search"}
IMAGE: Any = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}

Guarded = Callable[[Any], Any]


class Founding(BaseModel):
    name: str
    year: int


def asked(question: Any = KNOWN, **further: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "simulated", "max_tokens": 300, "messages": messages, **further}


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content)


@pytest.mark.all_turns
async def test_a_message_has_its_verdict(guarded: Guarded, line: Any) -> None:
    message = await guarded(POLICY).ask(**asked())
    verdict = verdict_of(message)
    assert type(message) is anthropic.types.Message
    assert verdict is not None
    assert (verdict.decision, verdict.samples, verdict.via) == ("consistent", 3, "native")
    assert "".join(s.text for s in verdict.sentences) == text_of(message).replace(". ", ".")
    assert (line.sent, len(line.samples)) == (1, 3)
    dumped = message.model_dump()
    assert dumped[VERDICT_KEY]["action"] == "allow"
    assert verdict_of(dumped) == verdict


async def test_an_invention_is_flagged(guarded: Guarded) -> None:
    message = await guarded(POLICY).ask(**asked(MADE_UP))
    assert verdict_of(message).decision == "flagged"
    assert message.hallucination["action"] == "annotate"
    assert "Zorblatt" in text_of(message)


async def test_a_flagged_message_is_withheld(guarded: Guarded) -> None:
    message = await guarded(BLOCKING).ask(**asked(MADE_UP))
    assert text_of(message) == MESSAGE
    assert message.stop_reason == "refusal"
    assert "Zorblatt" not in message.model_dump_json()
    assert verdict_of(message).flagged


async def test_a_flagged_message_is_an_exception(guarded: Guarded, line: Any) -> None:
    with pytest.raises(HallucinationBlocked) as error:
        await guarded(RAISING).ask(**asked(MADE_UP))
    assert error.value.verdict.flagged
    assert (line.sent, len(line.samples)) == (1, 3)


async def test_judges_are_asked_by_the_client(guarded: Guarded, line: Any) -> None:
    policy = {"chain": [{"method": "prompt", "form": "published"}], "sampling": {"max": 2}}
    message = await guarded(policy).ask(**asked(MADE_UP))
    assert verdict_of(message).flagged
    assert line.sent == 1
    judged = [request for request in line.samples if "Zorblatt?" not in str(request.body)]
    assert judged
    assert {request.body["model"] for request in judged} == {"simulated"}


async def test_samples_are_asked_like_the_message(guarded: Guarded, line: Any) -> None:
    client = guarded(POLICY)
    await client.ask(
        **asked(system="Be brief.", metadata={"user_id": "u"}),
        extra_headers={"x-tenant": "t", "Idempotency-Key": "once"},
        extra_body={"temperature": 0.3, "top_k": 5},
        timeout=20,
    )
    main = next(r for r in line.provider.requests if r not in line.samples)
    for sample in line.samples:
        assert sample.path == main.path == "/v1/messages"
        assert sample.headers["x-tenant"] == "t"
        assert sample.headers["x-stainless-retry-count"] == "0"
        assert "once" not in sample.headers.values()
        body: Any = sample.body
        assert body["system"] == "Be brief."
        assert body["messages"] == main.body["messages"]
        assert body["temperature"] == 0.3
        assert "stream" not in body


async def test_a_policy_says_how_warm_samples_are(guarded: Guarded, line: Any) -> None:
    policy = {**POLICY, "sampling": {"max": 3, "temperature": 0.9}}
    await guarded(policy).ask(**asked(), extra_body={"temperature": 0.3})
    assert {sample.body["temperature"] for sample in line.samples} == {0.9}


@pytest.mark.all_turns
async def test_an_object_is_compared_by_its_fields(guarded: Guarded) -> None:
    message = await guarded(POLICY).parse(**asked(), output_format=Founding)
    assert isinstance(message.parsed_output, Founding)
    verdict: Any = verdict_of(message)
    assert verdict.structured
    assert verdict.samples == 3


async def test_an_object_has_no_place_for_a_message(guarded: Guarded) -> None:
    policy = {**BLOCKING, "threshold": {"passage": 0.01, "sentence": 0.01}}
    with pytest.raises(HallucinationBlocked):
        await guarded(policy).parse(**asked(MADE_UP), output_format=Founding)


async def test_calls_of_tools_are_passed_on(guarded: Guarded, line: Any) -> None:
    message = await guarded(BLOCKING).ask(**asked(f"{KNOWN} [[tool]]"), tools=[TOOL])
    assert message.stop_reason == "tool_use"
    assert verdict_of(message).decision == "skipped"
    assert line.samples == []


async def test_an_answer_from_a_result_is_checked_with_its_history(
    guarded: Guarded, line: Any
) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"place": "Canberra"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Founded in 1913."}
    turns = [
        {"role": "user", "content": KNOWN},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    message = await guarded(POLICY).ask(**asked() | {"messages": turns}, tools=[TOOL])
    assert verdict_of(message).samples == 3
    assert all(sample.body["messages"] == turns for sample in line.samples)


@pytest.mark.parametrize(
    "further",
    [
        {"tools": [SEARCH]},
        {"extra_body": {"container": "container_1"}},
        {"extra_body": {"mcp_servers": [{"type": "url", "name": "m", "url": "https://m"}]}},
    ],
    ids=["server tool", "container", "mcp server"],
)
async def test_what_samples_would_do_again_is_not_sampled(
    guarded: Guarded, line: Any, further: dict[str, Any]
) -> None:
    message = await guarded(POLICY).ask(**asked(), **further)
    verdict: Any = verdict_of(message)
    assert verdict.decision == "skipped"
    assert verdict.reason
    assert line.samples == []
    sent = line.sent
    with pytest.raises(UncheckableError) as caught:
        await guarded(POLICY | {"action": {"do": "block"}}).ask(**asked(), **further)
    assert isinstance(caught.value, anthropic.AnthropicError)
    assert caught.value.field in ("tools", "container", "mcp_servers")
    assert line.sent == sent


async def test_images_go_with_the_samples(guarded: Guarded, line: Any) -> None:
    content = [IMAGE, {"type": "text", "text": KNOWN}]
    message = await guarded(POLICY).ask(**asked(content))
    assert verdict_of(message).samples == 3
    assert all(sample.body["messages"][0]["content"] == content for sample in line.samples)


async def test_thinking_goes_with_the_samples(guarded: Guarded, line: Any) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = await guarded(POLICY).ask(**asked(max_tokens=2000, thinking=thinking))
    assert verdict_of(message).samples == 3
    assert all(sample.body["thinking"] == thinking for sample in line.samples)


@pytest.mark.all_turns
async def test_inside_a_guard_it_does_nothing(guarded: Guarded, line: Any) -> None:
    client = guarded(POLICY)
    with marked():
        message = await client.ask(**asked())
    assert verdict_of(message) is None
    assert line.samples == []


async def test_of_two_the_outer_acts(async_client: AsyncAnthropic, line: Any) -> None:
    inner = guard_client(async_client, POLICY)
    outer = HallucinationMiddleware(BLOCKING)
    client = inner.with_options(middleware=[outer, *inner.middleware])
    message = await client.messages.create(**asked(MADE_UP))
    assert text_of(message) == MESSAGE
    assert len(line.samples) == 3


class Reading(anthropic.Middleware):
    """Parses every response, as the SDK's own middleware does; the SDK keeps what comes of it."""

    def handle(self, request: Any, call_next: Any) -> Any:
        response = call_next(request)
        response.parse()
        return response


def test_a_middleware_inside_may_have_read_the_message(sync_client: Anthropic, line: Any) -> None:
    client = sync_client.with_middleware(Reading())
    message = guard_client(client, BLOCKING).messages.create(**asked(MADE_UP))
    assert text_of(message) == MESSAGE
    assert verdict_of(message) is not None


def test_raw_responses_have_it_in_their_json(sync_client: Anthropic) -> None:
    client = guard_client(sync_client, POLICY)
    raw: Any = client.messages.with_raw_response.create(**asked())
    verdict = verdict_of(raw)
    assert verdict is not None
    assert verdict_of(raw.parse()) == verdict_of(raw.http_response.json()) == verdict
    with client.messages.with_streaming_response.create(**asked()) as response:
        assert verdict_of(response.json()) == verdict_of(response) is not None


def test_the_http_response_itself_may_be_wanted(sync_client: Anthropic) -> None:
    client = guard_client(sync_client, POLICY)
    http = package(sync_client)
    response = client.post("/v1/messages", body=asked(), cast_to=http.Response)
    assert isinstance(response, http.Response)
    assert verdict_of(response.json()) is not None


def package(client: Any) -> Any:
    from resay.adapters.http import package_of

    return package_of(type(client._client))


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.messages.count_tokens(model="m", messages=asked()["messages"]),
        lambda client: client.models.list(),
    ],
    ids=["count_tokens", "models"],
)
def test_everything_else_is_left_alone(
    sync_client: Anthropic, provider: SimulatedProvider, call: Callable[[Any], Any]
) -> None:
    assert verdict_of(call(guard_client(sync_client, POLICY))) is None
    assert provider.calls == 1


def test_beta_messages_are_guarded(sync_client: Anthropic) -> None:
    message = guard_client(sync_client, POLICY).beta.messages.create(**asked())
    assert verdict_of(message) is not None


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ({"chain": [{"method": "logprobs"}]}, "probabilities"),
        (
            {"chain": [{"method": "prompt", "form": "published", "evidence": "references"}]},
            "references",
        ),
        ({**POLICY, "sampling": {"via": "litellm"}}, "sampling.model"),
    ],
)
def test_a_policy_that_cannot_work_is_refused(policy: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        HallucinationMiddleware(policy)


def test_a_policy_can_be_given_in_every_form() -> None:
    policy = Policy.of(POLICY)
    assert HallucinationMiddleware(policy).guard.policy == policy
    guard = Guard(policy)
    assert HallucinationMiddleware(guard).guard is guard
    with pytest.raises(PolicyError):
        HallucinationMiddleware({"chain": "none"})


@pytest.mark.parametrize("thing", [None, {}, "text", {VERDICT_KEY: 3}, object()])
def test_there_may_be_no_verdict(thing: object) -> None:
    assert verdict_of(thing) is None
