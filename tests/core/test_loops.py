from __future__ import annotations

import pytest

from resay import Passage
from resay.core.loops import find_loop

PLANETS = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
ENDS = ["human ingenuity", "human curiosity", "the human spirit", "human courage", "human hope"]

LOOPS = {
    "a sentence": "The mission's a testament to the power of human ingenuity. " * 9,
    "after an answer": "It was launched in 1977. It left the solar system. "
    + "It is still in contact with Earth, and it is still sending data. " * 6,
    "cut off": "The bridge opened in 1932. " + "The bridge is very, very long and " * 12,
    "a list": "\n".join(f"{i + 1}. {PLANETS[i % 8]}" for i in range(33)),
    "bullets": "\n".join("- The bridge is one of the best in all of the world." for _ in range(9)),
    "in a line": ", ".join(PLANETS[i % 8] for i in range(33)),
    "one word": "The answer is " + "very " * 60,
    "two sentences": "The capital is Sydney. No, the capital is Canberra. " * 8,
    "paragraphs": "\n\n".join(
        ["The bridge is a steel arch that was opened in 1932, and it carries trains, cars, bicycles"
         " and people on foot from one shore of the harbour to the other."] * 4
    ),
    "lines": "The mission is a success\n" * 20,
    "Chinese": "这座桥很长，也很漂亮。" * 12,
    "beginnings": " ".join(
        f"The mission's a testament to the power of {ENDS[i % 5]}." for i in range(9)
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_a_loop_is_found(text: str) -> None:
    loop = find_loop(Passage.of(text), "Tell me about it.")
    assert loop is not None
    assert loop.times >= 4
    assert "the answer is a loop" in loop.reason


OTHERS = {
    "prose": "The bridge opened in 1932. It is a steel arch. John Bradfield designed it.",
    "a list": "\n".join(f"{i + 1}. {planet}" for i, planet in enumerate(PLANETS)),
    "a long list": "\n".join(f"- Item {i} of the list is here" for i in range(60)),
    "a plan": "\n".join(f"- Day {i + 1}: {'Rest' if i % 2 else 'Run 5 km'}" for i in range(30)),
    "answers": "\n".join(f"{i}. {'Yes' if i % 3 else 'No'}" for i in range(1, 20)),
    "a table": "| Year | Open |\n|---|---|\n" + "| 1932 | yes, it was open all year |\n" * 30,
    "code": "```python\n" + "print('hello world, this is a test')\n" * 30 + "```\n",
    "a refrain": "\n\n".join(
        f"The river ran by stone {i}\nAnd nobody was there at all\n"
        "Oh, come back home, my darling\nOh, come back home to me"
        for i in ("one", "two", "six", "ten")
    ),
    "a chorus": "She sings and dances, yeah, yeah, yeah\n" * 4,
    "facts": " ".join(f"The square root of {i * i} is {i}." for i in range(2, 20)),
    "capitals": " ".join(
        f"The capital city of {a} is {b}."
        for a, b in [("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Peru", "Lima"),
                     ("Chile", "Santiago"), ("Japan", "Tokyo"), ("Cuba", "Havana")]
    ),
    "a speech": "I have a dream that one day we shall be free. I have a dream that my children will"
    " play together. I have a dream today. We shall go on.",
    "said thrice": "It is never, never too late. It is never too late. It is never too late.",
    "laughter": "Ha ha ha ha ha ha! That is a good one.",
    "a rule": "-" * 400 + "\n\nThe end.",
    "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_plain_repetition_is_no_loop(text: str) -> None:
    assert find_loop(Passage.of(text), "Tell me about it.") is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Write 'I will not be late again' 100 times.", "I will not be late again. " * 100),
        ("Say hello thirty times", "Hello " * 30),
    ],
)
def test_a_repetition_that_was_asked_for_is_none(question: str, text: str) -> None:
    assert find_loop(Passage.of(text), question) is None
    assert find_loop(Passage.of(text), "How are you?") is not None


def test_the_reason_counts_what_is_repeated() -> None:
    loop = find_loop(Passage.of("It is long and it is grey. " * 9))
    assert loop is not None
    assert loop.words == ("it", "is", "long", "and", "it", "is", "grey")
    assert loop.reason == "the answer is a loop: it repeats the same 7 words 9 times in a row"
