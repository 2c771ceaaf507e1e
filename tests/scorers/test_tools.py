from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from resay import Guard, HallucinationBlocked, Policy, PolicyError, Request, Verdict
from resay.core.quantities import Quantity
from resay.plugins import Completion, Completions, ToolCall

pytestmark = pytest.mark.anyio

POLICY: dict[str, Any] = {
    "chain": [{"method": "ngram"}],
    "tools": "arguments",
    "sampling": {"max": 4, "min": 3, "confidence": None},
    "cache": {"store": "none"},
}
NOT_GIVEN = "appears in neither the conversation nor a tool's result"


def tool(name: str, /, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TEXT = {"type": "string"}
TOOLS = [tool("refund", order=TEXT, amount={"type": "number"}), tool("look_up", name=TEXT)]
QUESTION = "Give me the money for order ORD-4711 back, 25 euros."


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(name, json.dumps(arguments))


def calling(*calls: ToolCall, text: str = "") -> Completion:
    placed = (ToolCall(c.name, c.arguments, i) for i, c in enumerate(calls))
    return Completion(text, "tool_calls", calls=tuple(placed))


class Recorded:
    """Answers with completions as they are: the first one, and then the others."""

    def __init__(self, first: Completion, others: Sequence[Completion]) -> None:
        self._first = first
        self._others = iter(others)
        self.queries: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.queries.append(request)
        answer = self._first if len(self.queries) == 1 else next(self._others)
        return Completions((answer,))


async def checked(
    first: Completion,
    *others: Completion,
    question: Any = QUESTION,
    policy: dict[str, Any] = POLICY,
    **params: Any,
) -> Verdict:
    recorded = Recorded(first, others)
    asked: dict[str, Any] = {"tools": TOOLS, **params}
    answer = await Guard(policy, provider=recorded).aask(Request.of(question, params=asked))
    assert answer.completion is first
    return answer.verdict


def scores(verdict: Verdict) -> dict[str, float | None]:
    return {sentence.text: sentence.score for sentence in verdict.sentences}


def made_up(verdict: Verdict) -> list[str]:
    return [s.text for s in verdict.sentences if s.reason and NOT_GIVEN in s.reason]


RIGHT = calling(call("refund", order="ORD-4711", amount=25))


async def test_calls_are_passed_on_unchecked_unless_the_policy_wants_it() -> None:
    off = {key: value for key, value in POLICY.items() if key != "tools"}
    recorded = Recorded(RIGHT, [])
    answer = await Guard(off, provider=recorded).aask(Request.of(QUESTION, params={"tools": TOOLS}))
    assert answer.verdict.skipped
    assert answer.verdict.reason == "the answer calls tools"
    assert len(recorded.queries) == 1
    with pytest.raises(PolicyError, match="tools"):
        Policy.of({**POLICY, "tools": "names"})


async def test_each_argument_is_compared_with_those_of_the_samples() -> None:
    first = calling(call("refund", order="ORD-4711", amount=52))
    verdict = await checked(first, *[RIGHT] * 4)
    assert scores(verdict) == {
        'tools[0]: "refund"': 0.0,
        'refund.order: "ORD-4711"': 0.0,
        "refund.amount: 52": 1.0,
    }
    assert verdict.flagged
    assert verdict.structured
    (sentence,) = verdict.flagged_sentences
    assert sentence.contradicted_by is not None
    assert sentence.contradicted_by.text == "refund.amount: 25"
    assert verdict.samples == 4


async def test_samples_that_call_nothing_or_another_tool_count() -> None:
    others = [RIGHT, RIGHT, calling(call("look_up", name="x")), Completion("What for?")]
    verdict = await checked(RIGHT, *others)
    assert set(scores(verdict).values()) == {0.5}
    assert verdict.samples == 4


async def test_a_sample_that_says_nothing_does_not_count() -> None:
    verdict = await checked(RIGHT, RIGHT, RIGHT, RIGHT, Completion(""))
    assert verdict.samples == 3
    assert verdict.decision == "consistent"


async def test_several_calls_are_compared_by_their_tools_and_then_in_order() -> None:
    one, two = call("look_up", name="ORD-4711"), call("look_up", name="euros")
    refund = call("refund", order="ORD-4711", amount=25)
    other = calling(refund, one, two)
    verdict = await checked(calling(one, refund, two), other, other, other, other)
    assert [s.text for s in verdict.sentences] == [
        'tools[0]: "look_up"',
        'tools[1]: "refund"',
        'tools[2]: "look_up"',
        'look_up.name: "ORD-4711"',
        'refund.order: "ORD-4711"',
        "refund.amount: 25",
        '["look_up 2"].name: "euros"',
    ]
    assert set(scores(verdict).values()) == {0.0}


async def test_samples_are_drawn_with_the_tools_and_only_for_an_answer_with_calls() -> None:
    recorded = Recorded(RIGHT, [RIGHT] * 4)
    await Guard(POLICY, provider=recorded).aask(Request.of(QUESTION, params={"tools": TOOLS}))
    assert [query.params.get("tools") for query in recorded.queries] == [TOOLS] * 5
    words = Recorded(Completion("Order ORD-4711 was paid back."), [RIGHT] * 4)
    answer = await Guard(POLICY, provider=words).aask(Request.of(QUESTION, params={"tools": TOOLS}))
    assert "only 0 usable samples" in answer.verdict.reason
    assert not answer.verdict.structured


async def test_too_few_samples_decide_nothing() -> None:
    verdict = await checked(RIGHT, RIGHT, *[Completion("")] * 3)
    assert verdict.inconclusive
    assert "only 1 usable sample" in verdict.reason


async def test_fields_that_are_ignored_have_no_score() -> None:
    policy = {**POLICY, "structured": {"ignore": ["refund.amount"]}}
    first = calling(call("refund", order="ORD-4711", amount=52))
    verdict = await checked(first, *[RIGHT] * 4, policy=policy)
    assert verdict.decision == "consistent"
    assert scores(verdict)["refund.amount: 52"] is None


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
async def test_a_call_without_arguments_is_its_name(arguments: str) -> None:
    bare = calling(ToolCall("tick", arguments))
    verdict = await checked(bare, *[calling(ToolCall("tick", "{}"))] * 4)
    assert scores(verdict)['tools[0]: "tick"'] == 0.0


async def test_arguments_that_are_no_object_are_compared_as_text() -> None:
    patch = calling(ToolCall("apply", "*** Begin Patch\nORD-4711"))
    other = calling(ToolCall("apply", "*** Begin Patch\nORD-9"))
    verdict = await checked(patch, patch, patch, patch, other)
    assert scores(verdict)['apply: "*** Begin Patch\\nORD-4711"'] == 0.25


# Values that nobody gave

CONVERSATION = [
    {"role": "system", "content": "Today is 23 November 2026. The shop is Wexford & Sons."},
    {"role": "user", "content": "I am Mara Okonkwo, mara@example.org. Where is my parcel?"},
    {
        "role": "assistant",
        "content": "I will look.",
        "tool_calls": [
            {"id": "1", "function": {"name": "look_up", "arguments": '{"name": "C-99817"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"order": "A-5512", "weight_kg": 2.5}'},
    {"role": "user", "content": [{"type": "text", "text": "Send it on in three days, 20 % off."}]},
]
OPTION = tool("book", unit={"type": "string", "enum": ["Parcel Plus"]}, limit={"default": 40})


@pytest.mark.parametrize(
    "value",
    [
        "Mara Okonkwo",
        "okonkwo, mara",
        "mara@example.org",
        "A-5512",
        "a5512",
        2.5,
        "2026-11-23",
        3,
        "3 days",
        0.2,
        0,
        1,
        True,
        None,
        "",
        "celsius",
        "EUR",
        "Parcel Plus",
        40,
        "The parcel of Mara Okonkwo is to be sent in three days",
    ],
)
async def test_values_that_were_given_are_not_named(value: Any) -> None:
    first = calling(call("book", value=value))
    verdict = await checked(first, *[first] * 4, question=CONVERSATION, tools=[OPTION])
    assert made_up(verdict) == []
    assert verdict.decision == "consistent"


@pytest.mark.parametrize(
    "value",
    [
        "Lena Vogt",
        "Mara Vogt",
        "lena@example.org",
        "A-5513",
        "C-99817",
        "5",
        55,
        2.7,
        "2026-11-24",
        "https://parcels.example/track",
        "陈伟",
        "Dear Sir, your invoice was cancelled yesterday because nobody had signed it properly",
        "The parcel of Mara Okonkwo is to be sent in nine days",
    ],
)
async def test_values_that_nobody_gave_are_named_and_keep_their_score(value: Any) -> None:
    first = calling(call("book", value=value))
    verdict = await checked(first, *[first] * 4, question=CONVERSATION, tools=[OPTION])
    assert [made.split(":")[0] for made in made_up(verdict)] == ["book.value"]
    assert verdict.decision == "consistent"
    assert NOT_GIVEN not in str(verdict.to_dict(content=False))


async def test_references_that_are_given_count_as_known() -> None:
    first = calling(call("look_up", name="Garmo"))
    request = Request.of("Which bridge is it?", params={"tools": TOOLS})
    for references, expected in (([], ['look_up.name: "Garmo"']), (["The Garmo bridge."], [])):
        recorded = Recorded(first, [first] * 4)
        answer = await Guard(POLICY, provider=recorded).aask(request, references=references)
        assert made_up(answer.verdict) == expected


# What becomes of them


async def test_flagged_calls_are_withheld_where_the_policy_blocks() -> None:
    first = calling(call("refund", order="ORD-9", amount=25))
    policy = {**POLICY, "action": {"do": "block", "message": "Not now."}}
    recorded = Recorded(first, [RIGHT] * 4)
    answer = await Guard(policy, provider=recorded).aask(
        Request.of(QUESTION, params={"tools": TOOLS})
    )
    assert answer.blocked
    assert answer.text == "Not now."
    raising = {**POLICY, "action": {"do": "block", "exit": "raise"}}
    with pytest.raises(HallucinationBlocked):
        await checked(first, *[RIGHT] * 4, policy=raising)


async def test_words_beside_calls_are_left_as_they_are() -> None:
    first = calling(call("refund", order="ORD-9", amount=25), text="I refund it. ")
    recorded = Recorded(first, [RIGHT] * 4)
    answer = await Guard(POLICY, provider=recorded).aask(
        Request.of(QUESTION, params={"tools": TOOLS})
    )
    assert answer.flagged
    assert answer.annotated() == "I refund it. "


@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
async def test_streams_check_calls_at_their_end(mode: Any) -> None:
    first = calling(call("refund", order="ORD-9", amount=25))
    recorded = Recorded(first, [RIGHT] * 4)
    guard = Guard({**POLICY, "stream_mode": mode}, provider=recorded)
    async with guard.astream(Request.of(QUESTION, params={"tools": TOOLS})) as stream:
        _ = [part async for part in stream]
    assert stream.answer.flagged
    assert [s.text for s in stream.answer.verdict.flagged_sentences] == ['refund.order: "ORD-9"']


async def test_a_long_value_is_searched_for_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = re.search

    def recorded(pattern: Any, text: str, *flags: Any) -> Any:
        searched.append(str(pattern))
        return search(pattern, text, *flags)

    monkeypatch.setattr("resay.scorers.tools.re.search", recorded)
    key = "MIIBIjANBgkqhkiG9w0B" * 100
    one, other = calling(call("refund", order=key)), calling(call("refund", order=key[::-1]))
    given = await checked(one, one, one, one, one, question=f"Refund what {key} bought.")
    assert made_up(given) == []
    assert (
        made_up(await checked(other, one, one, one, one, question=f"Refund what {key} bought."))
        != []
    )
    assert all(len(pattern) < 2000 for pattern in searched)


async def test_a_long_list_of_numbers_is_not_compared_number_by_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[object] = []
    supported_by = Quantity.supported_by

    def counted(self: Quantity, other: Quantity) -> float:
        compared.append(other)
        return supported_by(self, other)

    monkeypatch.setattr(Quantity, "supported_by", counted)
    numbers = " ".join(f"{10 + i} km" for i in range(500))
    told = " ".join(f"{10 + i} km" for i in reversed(range(500)))
    one = calling(call("refund", order=numbers))
    assert (
        made_up(await checked(one, one, one, one, one, question=f"Refund {told} and 3 miles."))
        == []
    )
    assert len(compared) < 5000


CLAIM = "The shop was founded in 1999 by Zorblatt."


@pytest.mark.parametrize("tools", ["none", "arguments"])
@pytest.mark.parametrize("mode", [None, "after", "hold", "buffer"])
@pytest.mark.parametrize("on_unscored", ["annotate", "block"])
async def test_claims_next_to_a_call_are_listed(tools: str, mode: Any, on_unscored: str) -> None:
    first = calling(call("refund", order="ORD-4711", amount=25), text=f"{CLAIM} Let me look.")
    policy = {**POLICY, "tools": tools, "on_unscored": on_unscored, "action": {"do": "block"}}
    guard = Guard(policy, provider=Recorded(first, [RIGHT] * 4))
    request = Request.of(QUESTION, params={"tools": TOOLS})
    if mode is None:
        answer = await guard.aask(request)
    else:
        async with guard.astream(request, stream_mode=mode) as stream:
            async for _ in stream:
                pass
        answer = stream.answer
    (stretch,) = answer.verdict.unscored
    assert (stretch.kind, stretch.text) == ("prose", CLAIM)
    assert answer.response[stretch.start : stretch.end] == CLAIM
    assert answer.verdict.decision == ("skipped" if tools == "none" else "consistent")
    assert "not scored: 1" in answer.verdict.reason
    assert answer.blocked == (on_unscored == "block")


async def test_non_claims_next_to_a_call_are_not_listed() -> None:
    first = calling(call("refund", order="ORD-4711", amount=25), text="Let me look.")
    verdict = await checked(first, *[RIGHT] * 4)
    assert (verdict.decision, verdict.unscored) == ("consistent", ())
