"""The log of a conversation's tool calls, of conversations that nobody would write."""

from __future__ import annotations

from typing import Any

import pytest

from resay.core.call_log import CallLog, _Reader
from resay.core.passage import Passage
from resay.scorers.actions import calls, claims, missing_calls
from resay.scorers.actions.words import action_words


def call(call_id: object = "", name: str = "send_mail") -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}


def result(content: object, call_id: object = None, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def results(*messages: dict[str, Any]) -> list[str | None]:
    return [logged.result for logged in CallLog.of(messages).calls]


def test_results_belong_to_the_calls_that_they_name() -> None:
    assert results(call("a"), call("b"), result("2", "b"), result("1", "a")) == ["1", "2"]
    assert results(call("a"), call("a"), result("1", "a"), result("2", "a")) == ["1", "2"]
    assert results(call("a"), call(), result("1", "other")) == [None, "1"]
    assert results(call(name="x"), call(name="y"), result("1", name="y")) == [None, "1"]
    assert results(call("a"), call("b"), result("1"), result("2"), result("3")) == ["1", "2"]
    assert results(call(["x"]), result("1", ["x"])) == ["1"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "a", "name": "send_mail", "input": {}},
        {"type": "function_call", "call_id": "a", "id": "f", "name": "send_mail"},
    ],
)
def test_a_call_that_is_in_a_message_twice_is_one(block: dict[str, Any]) -> None:
    message = {**call("a"), "content": [{"type": "text", "text": "I'll do so."}, block]}
    assert results(message, result("1", "a")) == ["1"]
    other = {**block, "id": "b", "call_id": "b"}
    assert results({**message, "content": [block, other]}, result("2", "b")) == [None, "2"]


def test_calls_that_an_agent_writes_as_text_are_read() -> None:
    log = CallLog.of(
        [
            {"role": "user", "content": "Mail Ada the plan."},
            {
                "role": "assistant",
                "content": 'Thought: her address?\nAction: find\nAction Input: {"name": "Ada"}',
            },
            {"role": "user", "content": "Observation: ada@x.example"},
            {
                "role": "assistant",
                "content": "Action: send_mail\nAction Input: ada@x.example\n"
                "Observation: sent\nThought: done\nFinal Answer: I sent it.",
            },
        ]
    )
    assert [(logged.name, logged.arguments, logged.result) for logged in log.calls] == [
        ("find", {"name": "Ada"}, "ada@x.example"),
        ("send_mail", "ada@x.example", "sent"),
    ]
    assert {logged.turn for logged in log.calls} == {log.turn} == {1}


def test_further_results_of_a_log_belong_to_its_calls() -> None:
    log = CallLog.of([call("a"), call("b")])
    item = {"type": "function_call_output", "call_id": "b", "output": "2"}
    assert [logged.result for logged in log.extended([item]).calls] == [None, "2"]


def test_no_call_is_searched_through_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    class Calls(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            nonlocal steps
            steps += 1
            return super().__getitem__(index)

        def __iter__(self) -> Any:
            nonlocal steps
            steps += len(self)
            return super().__iter__()

    reader = _Reader()
    reader.calls = Calls()
    count = 500
    for number in range(count):
        reader.read(call(f"c{number}"))
    for number in reversed(range(count)):
        reader.read(result("ok", f"c{number}"))
    assert all(logged.result == "ok" for logged in list.__iter__(reader.calls))
    assert steps <= 8 * count


def test_no_answer_is_searched_through_for_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    pattern = claims._CODE_OR_QUOTE

    class Counting:
        def search(self, text: str, start: int = 0) -> Any:
            nonlocal searched
            searched += len(text) - start
            return pattern.search(text, start)

    monkeypatch.setattr(claims, "_CODE_OR_QUOTE", Counting())
    text = "I saved the note. " * 200
    sentences = claims.read_sentences(Passage.of(text), action_words("en"))
    assert all(sentence.claims for sentence in sentences)
    assert searched <= 2 * len(text)


@pytest.mark.parametrize("content", [{(1, 2): 3}, {1: None}, [None], 7, b"x", {"a": {1, 2}}])
def test_results_may_be_any_object(content: object) -> None:
    (text,) = results(call("a"), result(content, "a"))
    assert text


@pytest.mark.parametrize("role", [["tool"], {"a": 1}, 7, None])
def test_roles_may_be_anything(role: object) -> None:
    assert results(call("a"), {"role": role, "content": "x"}, result("1", "a")) == ["1"]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (calls._TEXT_ERROR, "error: no"),
        (claims._RULE, "\n---\n"),
        (claims._CODE_OR_QUOTE, "> quoted"),
        (missing_calls._SHOWN, "> quoted"),
    ],
)
def test_patterns_of_lines_start_on_their_line(pattern: Any, line: str) -> None:
    """One that starts on any empty line before it takes the square of their number."""
    empty = "\n" * 50
    match = pattern.search(f"{empty}{line}\n")
    assert match is not None
    assert match.start() >= len(empty) - 1
