"""The tools, called by the official SDK's client in the same process."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import CallToolResult, TextContent

from resay import Guard, Policy
from resay.core.request import Request
from resay.testing import ScriptedProvider
from resay_mcp import create_server

pytestmark = pytest.mark.anyio

DOCUMENTS = [
    {"text": "The Sydney Harbour Bridge opened in March 1932.", "name": "bridge.md"},
    "The bridge carries eight lanes of traffic.",
]
RIGHT, WRONG = "The bridge opened in March 1932.", "The bridge opened in May 1947."
WORDS = {"chain": ["facts"]}


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The protocol of the client: with a handshake and sessions, or the later one without."""
    return request.param


def sampling(answers: list[str], **policy: Any) -> Guard:
    chain = {"chain": ["facts"], "sampling": {"max": 3, "min": 2}, "cache": {"store": "none"}}
    return Guard({**chain, **policy}, model="m", provider=ScriptedProvider(answers))


async def called(guard: Guard, tool: str, mode: str = "auto", **arguments: Any) -> CallToolResult:
    async with Client(create_server(guard), mode=mode) as client:
        return await client.call_tool(tool, arguments)


def message_of(result: CallToolResult) -> str:
    assert result.is_error
    assert result.structured_content is None
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.all_turns
async def test_an_answer_is_compared_with_documents(mode: str) -> None:
    result = await called(
        Guard(WORDS),
        "check_against_documents",
        mode,
        response=f"{WRONG} It carries eight lanes of traffic.",
        documents=DOCUMENTS,
    )
    checked = result.structured_content
    assert checked["decision"] == "flagged"
    wrong, right = checked["claims"]
    assert (wrong["verdict"], wrong["start"], wrong["end"]) == ("contradicted", 0, len(WRONG))
    assert wrong["contradicted_by"] == {"text": DOCUMENTS[0]["text"], "source": "bridge.md"}
    assert (right["verdict"], right["supported_by"]) == ("supported", ["document 2"])
    assert checked["session"]["limit_reached"] is None


async def test_what_no_document_says_is_flagged_whatever_the_policy_says() -> None:
    policy = {**WORDS, "references": {"unmentioned": "samples"}}
    provider = ScriptedProvider(["It is painted grey."] * 9)
    guard = Guard(policy, model="m", provider=provider)
    result = await called(
        guard, "check_against_documents", response="It is painted grey.", documents=DOCUMENTS
    )
    (claim,) = result.structured_content["claims"]
    assert claim["verdict"] == "unsupported"
    assert provider.queries == []


async def test_an_answer_is_compared_with_what_the_model_says_when_asked_again() -> None:
    guard = sampling(["It has 6 lanes.", "It has 8 lanes.", "It has 10 lanes."])
    arguments = {"response": "It has 4 lanes.", "question": "How many lanes has it?"}
    checked = (await called(guard, "check_answer", **arguments)).structured_content
    assert checked["decision"] == "flagged"
    assert checked["samples"] == 3
    assert checked["usage"]["calls"] == checked["session"]["calls"] == 3
    (claim,) = checked["claims"]
    assert claim["contradicted_by"]["source"].startswith("sample ")


async def test_an_answer_is_compared_with_given_samples() -> None:
    samples = ["It has 6 lanes.", "It has 8 lanes.", "It has 10 lanes."]
    result = await called(Guard(WORDS), "check_answer", response="It has 4 lanes.", samples=samples)
    assert result.structured_content["decision"] == "flagged"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [(RIGHT, "supported"), (WRONG, "contradicted"), ("It is painted grey.", "unsupported")],
)
async def test_a_claim_is_verified_against_documents(claim: str, verdict: str) -> None:
    result = await called(Guard(WORDS), "verify_claim", claim=claim, documents=DOCUMENTS)
    checked = result.structured_content
    assert checked["verdict"] == verdict
    assert checked["supported_by"] == (["bridge.md"] if claim == RIGHT else [])
    assert (checked["contradicted_by"] is not None) == (claim == WRONG)


TWICE = "The Sydney Harbour Bridge opened in March 1932. It is made of steel."


@pytest.mark.parametrize(
    ("claim", "documents", "reason"),
    [
        (RIGHT, DOCUMENTS, "bridge.md supports it"),
        (WRONG, DOCUMENTS, "bridge.md contradicts it"),
        ("The bridge carries eight lanes.", DOCUMENTS, "document 2 supports it"),
        (WRONG, [*DOCUMENTS, TWICE], "bridge.md and document 3 contradict it"),
        ("It is painted grey.", DOCUMENTS, "no document has its facts"),
    ],
)
async def test_reasons_call_documents_as_the_caller_does(
    claim: str, documents: list[Any], reason: str
) -> None:
    result = await called(Guard(WORDS), "verify_claim", claim=claim, documents=documents)
    checked = result.structured_content
    assert checked["reason"] == reason
    assert checked["compared_with"] == f"{len(documents)} documents"
    result = await called(
        Guard(WORDS), "check_against_documents", response=claim, documents=documents
    )
    checked = result.structured_content
    assert [claim["reason"] for claim in checked["claims"]] == [reason]
    assert "reference" not in checked["reason"]


async def test_blank_documents_are_ignored_and_the_others_have_their_names() -> None:
    documents = [" ", {"text": "", "name": "empty.md"}, *DOCUMENTS]
    result = await called(Guard(WORDS), "verify_claim", claim=WRONG, documents=documents)
    checked = result.structured_content
    assert checked["reason"] == "bridge.md contradicts it"
    assert checked["compared_with"] == f"{len(DOCUMENTS)} documents"
    result = await called(
        Guard(WORDS), "check_against_documents", response="It has 4 lanes.", documents=["", TWICE]
    )
    assert result.structured_content["claims"][0]["reason"].startswith("no document")
    for tool in ("verify_claim", "check_against_documents"):
        name = "claim" if tool == "verify_claim" else "response"
        result = await called(Guard(WORDS), tool, documents=["", "\n"], **{name: WRONG})
        assert message_of(result).endswith("documents: must not all be blank")


async def test_a_claim_without_documents_and_without_a_model_has_nothing_to_compare_with() -> None:
    message = message_of(await called(Guard(WORDS), "verify_claim", claim=WRONG))
    assert message.startswith("there is nothing to compare the claim with: pass `documents`, or")
    assert "`--model`" in message
    # The tool has neither.
    assert "sample" not in message
    assert "question" not in message


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("It opened in May 1947.", "supported"),
        ("It opened in March 1932.", "contradicted"),
        ("I do not know.", "unsupported"),
    ],
)
async def test_a_claim_is_verified_by_asking_about_it(answer: str, verdict: str) -> None:
    questions: list[str] = []

    def reply(request: Request) -> str:
        questions.append(request.question)
        return answer

    policy = {**WORDS, "sampling": {"max": 3, "min": 2}, "cache": {"store": "none"}}
    guard = Guard(policy, model="m", provider=ScriptedProvider(reply))
    checked = (await called(guard, "verify_claim", claim=WRONG)).structured_content
    assert checked["verdict"] == verdict
    assert checked["usage"]["calls"] == len(questions) == 3
    assert checked["compared_with"] == "3 answers of the model, asked about the claim"
    assert all(WRONG in question for question in questions)


@pytest.mark.all_turns
async def test_results_have_the_form_that_is_promised(mode: str) -> None:
    async with Client(create_server(Guard(WORDS)), mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            *("check_answer", "check_against_documents", "verify_claim"),
        ]
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            assert tool.description
            assert tool.annotations
            assert tool.annotations.read_only_hint
            arguments = {"response": WRONG, "documents": DOCUMENTS}
            if tool.name == "verify_claim":
                arguments = {"claim": WRONG, "documents": DOCUMENTS}
            if tool.name == "check_answer":
                arguments = {"response": WRONG, "samples": [RIGHT] * 3}
            Draft202012Validator(tool.input_schema).validate(arguments)
            result = await client.call_tool(tool.name, arguments)
            assert tool.output_schema is not None
            Draft202012Validator(tool.output_schema).validate(result.structured_content)
            (content,) = result.content
            assert isinstance(content, TextContent)
            assert WRONG in content.text or tool.name == "verify_claim"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("check_answer", {}, "the arguments are not valid: response: required, but missing"),
        ("check_answer", {"response": " "}, "the arguments are not valid: response: must not be"),
        (
            "check_answer",
            {"response": WRONG, "answer": WRONG},
            "the arguments are not valid: answer: unknown argument",
        ),
        (
            "check_against_documents",
            {"response": WRONG, "documents": []},
            "the arguments are not valid: documents: List should have at least 1 item",
        ),
        (
            "check_against_documents",
            {"response": WRONG, "documents": [{"text": WRONG, "name": 7}]},
            "the arguments are not valid: documents.0.name: Input should be a valid string",
        ),
        (
            "check_answer",
            {"response": WRONG},
            "method 'facts' needs samples; pass `samples`, or the question and the `--model` of"
            " `resay mcp` to draw them from",
        ),
        (
            "check_everything",
            {"response": WRONG},
            "there is no such tool; there are check_answer, check_against_documents, verify_claim",
        ),
    ],
)
async def test_errors_say_what_to_do_and_hold_no_content(
    tool: str, arguments: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text = message_of(await called(Guard(WORDS), tool, **arguments))
    assert text.startswith(message)
    assert "1947" not in text + caplog.text


async def test_a_failure_is_an_error_without_its_message(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError(WRONG)

    monkeypatch.setattr(Guard, "acheck", fail)
    text = message_of(await called(Guard(WORDS), "verify_claim", claim=WRONG, documents=DOCUMENTS))
    assert text == "the check failed: RuntimeError"
    assert "the tool verify_claim failed: RuntimeError" in caplog.text
    assert WRONG not in caplog.text


async def test_a_session_has_limits() -> None:
    guard = sampling(
        ["It has 6 lanes.", "It has 8 lanes.", "It has 10 lanes."] * 3,
        limits={"session": {"calls": 4}},
    )
    arguments = {"response": "It has 4 lanes.", "question": "How many lanes has it?"}
    async with Client(create_server(guard), mode="legacy") as client:
        first = (await client.call_tool("check_answer", arguments)).structured_content
        assert first["decision"] == "flagged"
        assert first["session"]["limit_reached"] is None
        second = (await client.call_tool("check_answer", arguments)).structured_content
        third = (await client.call_tool("check_answer", arguments)).structured_content
        by_words = await client.call_tool("verify_claim", {"claim": WRONG, "documents": DOCUMENTS})
    reached = "the session has used its 4 calls; raise `limits.session.calls`"
    for limited in (second, third):
        assert limited["decision"] == "inconclusive"
        assert limited["session"]["calls"] == 4
        assert limited["session"]["limit_reached"] == reached
    assert reached in third["reason"]
    # What needs no calls is still checked.
    assert by_words.structured_content["verdict"] == "contradicted"


async def test_time_and_dollars_are_limited_too() -> None:
    timed = Guard({**WORDS, "limits": {"session": {"checking_s": 1e-9}}})
    async with Client(create_server(timed)) as client:
        arguments = {"claim": WRONG, "documents": DOCUMENTS}
        for _ in range(2):
            checked = (await client.call_tool("verify_claim", arguments)).structured_content
    assert checked["verdict"] == "undecided"
    assert "1e-09 s of checking" in checked["reason"]
    assert "1e-09 s of checking" in checked["session"]["limit_reached"]

    unpriced = sampling(["It has 6 lanes."] * 9, limits={"session": {"cost_usd": 1.0}})
    question = {"response": "It has 4 lanes.", "question": "How many lanes has it?"}
    checked = (await called(unpriced, "check_answer", **question)).structured_content
    reached = checked["session"]["limit_reached"]
    assert reached.startswith("the price of a call is unknown")


def test_the_limits_are_in_the_policy() -> None:
    policy = Policy.of({**WORDS, "limits": {"session": {"calls": 3, "cost_usd": 0.5}}})
    assert policy.limits.session.calls == 3
    assert Policy.default().limits.session.checking_s is None
