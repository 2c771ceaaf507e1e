"""Work grows in proportion to the text: counted in instructions, not in seconds."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import anyio
import pytest

from resay import Passage, Request
from resay.core.call_log import CallLog
from resay.core.references import Reference
from resay.plugins import Evidence, Sample, Samples
from resay.scorers import facts, references, samples
from resay.scorers.actions import scorer as actions
from resay.scorers.actions.scorer import Actions
from resay.scorers.common import fact_comparison, opposition, sample_index
from resay.scorers.common.sample_index import Indexing
from resay.scorers.common.verbatim import long_numbers
from resay.scorers.facts import Facts
from resay.scorers.references import References

BETWEEN = {"one name": " ", "many names": ", ", "sentences": ". ", "numbers": " {} "}


def text_of(form: str, count: int) -> str:
    letters = "abcdefghij"
    words = ("N" + "".join(letters[int(d)] for d in f"{n:05}") for n in range(count))
    return "".join(word + BETWEEN[form].format(30_000 + n) for n, word in enumerate(words))


def steps_of(method: Facts | References | Actions, text: str, evidence: Evidence) -> int:
    """Count the instructions that a method executes to compare a text, loops included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    async def score() -> None:
        sys.settrace(trace)
        try:
            await method.score(Passage.of(text), evidence)
        finally:
            sys.settrace(None)

    anyio.run(score)
    return count


@pytest.fixture(autouse=True)
def on_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything computed where it is counted, and not on worker threads."""

    async def compute(work: Callable[[], Any], *, chars: float) -> Any:
        return work()

    for module in (facts, references, samples, actions):
        monkeypatch.setattr(module, "compute", compute)
    # So many numbers are compared with each other; with fewer, a short text has more.
    monkeypatch.setattr(fact_comparison, "_MAX_POSITIONS", 16)
    for module in (opposition, sample_index):
        monkeypatch.setattr(module, "MAX_QUANTITIES", 16)


@pytest.fixture(autouse=True)
def tables_are_read(on_this_thread: None) -> None:
    """Compare something first: the tables of the languages are compiled once for a process."""
    text = text_of("numbers", 2)
    sources = (Reference(text, "references[0]"),)
    given = Evidence(Samples([text]), references=Samples([text]), sources=sources)
    for method in (Facts(), References(References.Config(by="words"))):
        anyio.run(method.score, Passage.of(text), given)
    anyio.run(Actions().score, Passage.of(claims_of(2)), evidence_of_calls(4))


@pytest.mark.parametrize("form", BETWEEN)
@pytest.mark.all_turns
def test_by_words_a_longer_text_takes_proportionally_more(form: str) -> None:
    counts: list[int] = []
    for size in (100, 400):
        text = text_of(form, size)
        documents = [text, text_of(form, size + 1)]
        sources = tuple(Reference(text, f"references[{i}]") for i, text in enumerate(documents))
        given = Evidence(Samples(()), references=Samples(documents), sources=sources)
        method = References(References.Config(by="words"))
        counts.append(steps_of(method, text, given))
    assert 2 * counts[0] < counts[1] < 5 * counts[0]


@pytest.mark.parametrize("form", BETWEEN)
@pytest.mark.all_turns
def test_by_samples_a_longer_text_takes_proportionally_more(form: str) -> None:
    counts: list[int] = []
    for size in (150, 600):
        text = text_of(form, size)
        given = Evidence(Samples([text, text_of(form, size + 1)]))
        counts.append(steps_of(Facts(), text, given))
    assert 2 * counts[0] < counts[1] < 5 * counts[0]


@pytest.mark.all_turns
def test_a_sentence_with_more_numbers_takes_proportionally_more() -> None:
    documents = ["The north region sold 120 units. The south region sold 80 units."]
    sources = (Reference(documents[0], "references[0]"),)
    given = Evidence(Samples(()), references=Samples(documents), sources=sources)
    counts: list[int] = []
    for size in (100, 400):
        text = f"Twice {'12 ' * size}is in total {'14 ' * size}."
        counts.append(steps_of(References(References.Config(by="words")), text, given))
    assert counts[1] < 5 * counts[0]


def evidence_of_calls(count: int) -> Evidence:
    """Return the evidence of an agent that cancelled some bookings."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Cancel the bookings of Ann Lee, and tell Bo Ray."}
    ]
    for n in range(count):
        arguments = json.dumps({"id": f"b{n:05}", "to": f"p{n}@x.example"})
        function = {"name": "cancel_booking" if n % 2 else "list_bookings", "arguments": arguments}
        result = json.dumps({"ref": f"r{n:05}", "status": "cancelled", "name": f"Guest {n}"})
        messages += [
            {"role": "assistant", "tool_calls": [{"id": f"c{n}", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": result},
        ]
    return Evidence(Samples(()), request=Request(tuple(messages)), call_log=CallLog.of(messages))


def claims_of(count: int) -> str:
    return " ".join(
        f"I cancelled b{n:05} for Ann Lee. Bo Ray was also told. The one of {n} June is gone, too."
        for n in range(count)
    )


@pytest.mark.all_turns
def test_a_longer_conversation_takes_proportionally_more() -> None:
    counts = [steps_of(Actions(), claims_of(4), evidence_of_calls(size)) for size in (50, 200)]
    assert 2 * counts[0] < counts[1] < 5 * counts[0]


@pytest.mark.all_turns
def test_more_claims_of_actions_take_proportionally_more() -> None:
    counts = [steps_of(Actions(), claims_of(size), evidence_of_calls(30)) for size in (10, 40)]
    assert 2 * counts[0] < counts[1] < 5 * counts[0]


@pytest.mark.parametrize("text", ["1" * 140 + "a", "AB12" * 12 + "a", "1 " * 60 + "a"])
def test_what_ends_like_no_number_is_not_divided_in_all_ways(text: str) -> None:
    # By dividing its digits in all ways, the first one alone would take minutes.
    list(long_numbers(text, ()))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("it cost $99 in all.", "$99"),
        ("it cost $99.5 in all.", "$99"),
        ("it cost a$99.", "$99"),
        ("a 1932 and b1932 and 1932b", "1932"),
        ("b1932", "1932"),
        ("19 march 1932", "19 march 1932"),
        ("119 march 1932", "19 march 1932"),
        ("19 march 19321", "19 march 1932"),
        ("1932 march 19", "19 march 1932"),
        ("straße 7", "straße"),
        ("", "1932"),
    ],
)
def test_a_text_is_found_word_for_word(text: str, written: str) -> None:
    index = Indexing("", "")([Sample(0, text)])
    literal = re.compile(rf"(?<!\w){re.escape(written)}(?!\w)")
    assert index.has_literally(0, written) == (literal.search(text) is not None)
