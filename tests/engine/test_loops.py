"""Answers that repeat themselves until something stops them."""

from __future__ import annotations

import pytest

from resay import Guard
from support.writing import MODES, QUESTION, Mode, Server, ask, policy, read

pytestmark = pytest.mark.anyio

FIRST = "The bridge opened in 1932."
LOOP = "It is long and it is grey. "
SAMPLES = [f"{FIRST} {LOOP * count}" for count in (8, 9, 10, 11)]
REASON = "the answer is a loop: it repeats the same 7 words 9 times in a row"


@pytest.mark.parametrize("method", ["facts", "ngram"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_loop_is_not_consistent_whatever_its_samples_say(method: str, mode: Mode) -> None:
    response = f"{FIRST} {LOOP * 9}"
    settings = {"chain": [{"method": method}], "threshold": {"passage": None, "sentence": 0.99}}
    parts, answer = await read(Server(response, SAMPLES), mode, **settings)
    assert "".join(part.text for part in parts) == answer.text == response
    assert answer.verdict.decision == "inconclusive"
    assert answer.verdict.reason.startswith(f"{REASON}; otherwise every sentence <= ")
    assert answer.action == "annotate"


async def test_on_error_says_what_becomes_of_a_loop() -> None:
    response = f"{FIRST} {LOOP * 9}"
    blocked = await ask(Server(response, SAMPLES), on_error="block")
    assert (blocked.action, REASON in blocked.verdict.reason) == ("block", True)
    checked = await Guard(policy(), provider=Server("", [])).acheck(
        response, question=QUESTION, samples=SAMPLES
    )
    assert checked.decision == "inconclusive"


async def test_a_flagged_loop_stays_flagged_and_says_so() -> None:
    response = f"The bridge opened in 1950. {LOOP * 9}"
    verdict = (await ask(Server(response, SAMPLES))).verdict
    assert verdict.flagged
    assert verdict.reason.endswith(REASON)


async def test_an_answer_that_was_asked_to_repeat_is_checked_like_others() -> None:
    response = LOOP * 9
    guard = Guard(policy(), provider=Server("", []))
    asked = f"Write '{LOOP.strip()}' nine times."
    verdict = await guard.acheck(response, question=asked, samples=[LOOP * 9, LOOP * 8, LOOP * 7])
    assert "loop" not in verdict.reason
