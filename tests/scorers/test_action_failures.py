"""Failed calls that an answer passes over, for `actions`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resay import Guard, Verdict

GUARD = Guard({"chain": [{"method": "actions"}], "cache": {"store": "none"}})
BOOK = ("book_table", {"place": "Olmo", "people": 4})
SAVE = ("save_note", {"text": "Olmo, four people"})


def checked(answer: str, *calls: tuple[tuple[str, dict[str, Any]], object]) -> Verdict:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "A table for four at Olmo."}]
    for index, ((name, arguments), result) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{index}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        content = result if isinstance(result, str) else json.dumps(result)
        messages.append({"role": "tool", "tool_call_id": f"c{index}", "content": content})
    return GUARD.check(answer, question=messages)


def verdicts(verdict: Verdict) -> list[str | None]:
    return [part.verdict for claim in verdict.claims for part in claim.parts]


@pytest.mark.parametrize("result", [{"error": "full"}, {"booked": 0, "count": 0}])
def test_an_answer_that_passes_over_a_failure_is_flagged(result: object) -> None:
    verdict = checked("The Olmo awaits your party.", (BOOK, result))
    assert verdicts(verdict) == ["failed"]
    contradiction = next(iter(verdict.claims)).contradicted_by
    assert contradiction is not None
    assert contradiction.text.startswith("book_table: ")


@pytest.mark.parametrize(
    "answer",
    [
        "The Olmo has no table.",
        "Unfortunately, this was not possible. The Olmo awaits you another day.",
        "Shall I try the Olmo at nine?",
        "Enjoy the evening!",
    ],
)
def test_a_failure_that_is_told_or_not_spoken_of_is_not_flagged(answer: str) -> None:
    assert not checked(answer, (BOOK, {"error": "full"})).flagged


def test_a_failure_that_a_later_call_makes_good_is_not_flagged() -> None:
    calls = ((BOOK, {"error": "timeout"}), (BOOK, {"booking": "B-12"}))
    assert not checked("The Olmo awaits your party.", *calls).flagged
    other = ("reserve_table", {"place": "Olmo"})
    assert not checked("The Olmo awaits you.", (BOOK, {"error": "x"}), (other, "done")).flagged


def test_of_several_calls_each_failure_has_its_own_words() -> None:
    calls = [(("start_job", {"job": f"J-{n}"}), {"status": "done"}) for n in (71, 72)]
    calls.append((("start_job", {"job": "J-73"}), {"status": "queued"}))
    assert not checked("J-71 and J-72 are busy.", *calls).flagged
    assert verdicts(checked("And J-73 is busy.", *calls)) == ["failed"]


def test_of_a_list_of_results_each_failed_entry_counts() -> None:
    result = [{"lamp": "porch", "state": "unavailable"}, {"lamp": "stairs", "state": "off"}]
    call = ("switch_lamps", {"to": "off"})
    assert verdicts(checked("So is the porch.", (call, result))) == ["failed"]
    assert not checked("So are the stairs.", (call, result)).flagged
