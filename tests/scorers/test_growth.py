"""Work grows in proportion to the text: counted in calls, not in seconds."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from resay import Guard

BETWEEN = {"one name": " ", "many names": ", ", "sentences": ". ", "numbers": " {} "}


def text_of(form: str, count: int) -> str:
    letters = "abcdefghij"
    words = ("N" + "".join(letters[int(d)] for d in f"{n:05}") for n in range(count))
    return "".join(word + BETWEEN[form].format(30_000 + n) for n, word in enumerate(words))


def calls_of(text: str, policy: dict[str, Any], **evidence: Any) -> int:
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    guard = Guard(policy)
    guard.check("A first check.", **evidence)
    sys.setprofile(profile)
    try:
        guard.check(text, **evidence)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("form", BETWEEN)
@pytest.mark.all_turns
def test_by_words_a_longer_text_takes_proportionally_more(form: str) -> None:
    counts = []
    for size in (300, 1_200):
        text = text_of(form, size)
        policy: dict[str, Any] = {"chain": [{"method": "references", "by": "words"}]}
        counts.append(calls_of(text, policy, references=[text, text_of(form, size + 1)]))
    assert counts[1] < 6 * counts[0]
