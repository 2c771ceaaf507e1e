"""The node of LangGraph, without a provider; tests/frameworks runs it in graphs of two versions."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from resay import Guard, Verdict
from resay.adapters import GuardRuntime, marked
from resay.errors import ConfigurationError, MissingDependencyError
from resay_frameworks import verdict_of
from resay_frameworks.langgraph import HallucinationNode, route_by_verdict

pytestmark = pytest.mark.anyio

QUESTION = HumanMessage("When did the Sydney Harbour Bridge open?")
RIGHT = "The Sydney Harbour Bridge opened in 1932."
WRONG = "The Sydney Harbour Bridge opened in 1947."
POLICY = {
    "chain": [{"method": "facts"}],
    "sampling": {"max": 3, "confidence": None},
    "limits": {"retries": 0},
    "cache": {"store": "none"},
}


class Model(BaseChatModel):
    """A chat model that always says the same, or fails."""

    text: str | None = RIGHT
    asked: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        self.asked.append(messages)
        if self.text is None:
            raise ValueError(WRONG)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.text))])


def state_with(*answers: AIMessage) -> dict[str, Any]:
    return {"messages": [QUESTION, *answers]}


async def call(node: HallucinationNode, state: Any, turn: str) -> dict[str, Any]:
    return node.invoke(state) if turn == "blocking" else await node.ainvoke(state)


turns = pytest.mark.parametrize("turn", ["blocking", "async"])


@turns
@pytest.mark.parametrize("answer", [WRONG, RIGHT])
async def test_the_verdict_is_in_the_state(turn: str, answer: str) -> None:
    model = Model()
    changes = await call(
        HallucinationNode(POLICY, model=model), state_with(AIMessage(answer)), turn
    )
    assert changes.keys() == {"hallucination"}
    verdict = verdict_of(changes)
    assert verdict is not None
    assert verdict.flagged == (answer == WRONG)
    assert route_by_verdict(changes) == ("flagged" if answer == WRONG else "passed")
    assert [[message.content for message in messages] for messages in model.asked] == [
        [QUESTION.content]
    ] * 3


async def test_a_withheld_answer_is_replaced_in_its_place() -> None:
    node = HallucinationNode({**POLICY, "action": {"do": "block"}}, model=Model())
    answer = AIMessage(WRONG, id="answer-1", response_metadata={"logprobs": WRONG})
    changes = node.invoke(state_with(answer))
    (message,) = changes["messages"]
    assert message.id == "answer-1"
    assert "1947" not in str(changes)
    assert route_by_verdict(changes) == "flagged"


async def test_what_is_no_answer_is_left_alone() -> None:
    node = HallucinationNode(POLICY, model=Model())
    calling = AIMessage("", tool_calls=[ToolCall(name="search", args={}, id="1")])
    for state in ({"messages": []}, {}, state_with(), state_with(calling)):
        assert node.invoke(state) == {}
    assert route_by_verdict({}) == "passed"


@turns
async def test_a_model_that_fails_loses_no_answer(turn: str) -> None:
    model = Model(text=None)
    changes = await call(HallucinationNode(POLICY, model=model), state_with(AIMessage(WRONG)), turn)
    assert changes.keys() == {"hallucination"}
    assert changes["hallucination"]["decision"] == "inconclusive"
    assert "1947" not in changes["hallucination"]["reason"]
    assert route_by_verdict(changes) == "passed"


async def test_documents_of_the_state_are_compared_with() -> None:
    chain = [{"method": "references", "by": "words"}]
    node = HallucinationNode({**POLICY, "chain": chain}, documents_key="documents")
    state = state_with(AIMessage(WRONG))
    for document in (RIGHT, Document(RIGHT)):
        assert node.invoke({**state, "documents": [document]})["hallucination"]["flagged"]
    undecided = node.invoke(state)["hallucination"]
    assert (undecided["decision"], undecided["action"]) == ("inconclusive", "annotate")


async def test_a_guard_is_used_as_it_is() -> None:
    class Provider:
        async def takes_n(self, request: Any) -> bool:
            return False

        async def complete(self, request: Any, *, n: int = 1) -> Any:
            raise ValueError

    model = Model()
    guard = Guard(POLICY, provider=Provider())
    changes = HallucinationNode(guard, model=model).invoke(state_with(AIMessage(WRONG)))
    assert changes["hallucination"]["decision"] == "inconclusive"
    assert not model.asked


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "method 'facts' needs samples; pass `model`"),
        (
            {"chain": [{"method": "references", "by": "words"}]},
            "method 'references' compares with references, and HallucinationNode gets none",
        ),
        ({"chain": [{"method": "logprobs"}]}, "which HallucinationNode does not get"),
    ],
)
def test_what_the_policy_needs_is_asked_for_at_once(changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        HallucinationNode({**POLICY, **changes})
    assert message in str(raised.value)


def test_a_judge_is_asked_for_at_once() -> None:
    with pytest.raises(ConfigurationError) as raised:
        HallucinationNode({"chain": [{"method": "references"}]}, documents_key="documents")
    assert "found in this HallucinationNode; pass `model`, or name a judge" in str(raised.value)


@turns
@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_conversation_that_cannot_be_read_loses_no_answer(turn: str, on_error: str) -> None:
    node = HallucinationNode({**POLICY, "on_error": on_error}, model=Model())
    unreadable = HumanMessage([{"type": "text", "secret": "1"}])
    changes = await call(node, {"messages": [unreadable, AIMessage(WRONG)]}, turn)
    verdict = changes["hallucination"]
    assert verdict["decision"] == "inconclusive"
    assert verdict["reason"].startswith("the check failed with ")
    assert "secret" not in verdict["reason"]
    assert ("messages" in changes) == (on_error == "block")


@pytest.mark.parametrize("fails", ["no", "reading", "checking"])
async def test_a_listener_runs_on_the_loop_of_its_caller(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ValueError(WRONG)

    threads: list[int] = []

    async def listen(verdict: Verdict) -> None:
        threads.append(threading.get_ident())
        assert (verdict.decision == "inconclusive") == (fails != "no")

    if fails == "checking":
        monkeypatch.setattr(GuardRuntime, "aask_with", fail)
    question = HumanMessage([{"type": "text", "secret": "1"}]) if fails == "reading" else QUESTION
    node = HallucinationNode(POLICY, model=Model(), on_verdict=listen)
    await node.ainvoke({"messages": [question, AIMessage(WRONG)]})
    assert threads == [threading.get_ident()]


def test_an_inner_guard_leaves_the_answer_to_the_outer_one() -> None:
    reported: list[Any] = []
    node = HallucinationNode(POLICY, model=Model(), on_verdict=reported.append)
    with marked():
        changes = node.invoke(state_with(AIMessage(WRONG)))
    assert changes["hallucination"]["decision"] == "skipped"
    assert not reported


def test_claims_of_actions_are_compared_with_the_calls_of_the_conversation() -> None:
    node = HallucinationNode({"chain": [{"method": "actions"}]})
    asked = HumanMessage("Book table 4 for Kim.")
    calling = AIMessage("", tool_calls=[ToolCall(name="save_booking", args={"table": 4}, id="1")])
    returned = ToolMessage('{"id": 4711, "status": "ok"}', tool_call_id="1")
    answer = AIMessage("I have saved your booking (id 4711).")
    done = node.invoke({"messages": [asked, calling, returned, answer]})
    assert done["hallucination"]["decision"] == "consistent"
    not_done = node.invoke({"messages": [asked, answer]})
    assert not_done["hallucination"]["decision"] == "flagged"


@pytest.mark.parametrize(("status", "decision"), [("success", "consistent"), ("error", "flagged")])
def test_a_result_that_is_marked_as_an_error_failed(status: Any, decision: str) -> None:
    node = HallucinationNode({"chain": [{"method": "actions"}]})
    calling = AIMessage("", tool_calls=[ToolCall(name="save_note", args={}, id="1")])
    returned = ToolMessage("disk", tool_call_id="1", status=status)
    messages = [("user", "Save the note."), calling, returned, AIMessage("I saved the note.")]
    assert node.invoke({"messages": messages})["hallucination"]["decision"] == decision


@pytest.mark.usefixtures("no_litellm")
def test_what_the_own_model_cannot_do_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="HallucinationNode draws its samples itself"):
        HallucinationNode({**POLICY, "sampling": {"via": "litellm"}}, model=Model())
    policy = {"chain": [{"method": "prompt", "judge": "anthropic/judge"}]}
    with pytest.raises(MissingDependencyError, match="anthropic/judge"):
        HallucinationNode(policy, model=Model())
