"""The simulated provider as a judge: it compares words, and says what it sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FUNCTION_WORDS", "SUPPORT", "WORD", "fold", "judge", "stems"]

SUPPORT = 0.6
"""The share of a sentence's words that a text must have to speak of the same thing."""

WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word, or a number with its separators."""

_LISTED = """a about after all also although an and any are as at be because been before being both
but by can could did do does during each for from had has have he her hers him his how i if in into
is it its may me might more most my no nor not of on one only or other our please she should since
so some such tell than that the their them then there these they this those through to under until
up us was we were what when where which while who whom whose why will with would you your"""
FUNCTION_WORDS = frozenset(_LISTED.split())
"""Words that say nothing about what a sentence is about, in lower case."""

_ONE = re.compile(
    r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
    r"Is the sentence supported by the context above\?",
    re.DOTALL,
)
_MANY = re.compile(
    r"^\s*Context:(?P<context>.*)^\s*Sentences:(?P<list>.*)", re.DOTALL | re.MULTILINE
)
_NUMBERED = re.compile(r"\s*(\d+)\s*[.):]\s*(.*)")


def judge(prompt: str) -> str | None:
    """Answer a judge's prompt honestly, by looking.

    Two forms are known. SelfCheckGPT's asks about one sentence ("Context: …", "Sentence: …", "Is
    the sentence supported by the context above?") and is answered Yes or No. The other has a block
    "Context:" and, after "Sentences:", one numbered sentence per line; it is answered with one line
    per sentence, "1: Yes". A sentence is supported when the context has all its numbers and names
    and at least 60 % of its other words, function words left out.

    Args:
        prompt: The text of the last message.

    Returns:
        The answer; None when the prompt is not a judge's.
    """
    if one := _ONE.search(prompt):
        return _yes_or_no(one["sentence"], one["context"])
    many = _MANY.search(prompt)
    sentences = _numbered(many["list"]) if many else []
    if not many or not sentences:
        return None
    answers = [_yes_or_no(sentence, many["context"]) for sentence in sentences]
    return "\n".join(f"{number}: {answer}" for number, answer in enumerate(answers, 1))


def _numbered(text: str) -> list[str]:
    """Return the items of a numbered list; a line without the next number continues an item."""
    items: list[str] = []
    for line in text.strip().splitlines():
        mark = _NUMBERED.match(line)
        if mark and int(mark[1]) == len(items) + 1:
            items.append(mark[2])
        elif items:
            items[-1] += "\n" + line
    # What stands behind an empty line after the last item is an instruction.
    return [*items[:-1], *(re.split(r"\n\s*\n", item)[0] for item in items[-1:])]


def _yes_or_no(sentence: str, context: str) -> str:
    said, present = WORD.findall(sentence), WORD.findall(context)
    exact = {fold(word) for word in said if word[0].isdigit() or word[0].isupper()}
    missing = exact - FUNCTION_WORDS - {fold(word) for word in present}
    wanted, found = stems(said), stems(present)
    supported = not missing and len(wanted & found) >= SUPPORT * len(wanted)
    return "Yes" if supported else "No"


def fold(word: str) -> str:
    """Return a word without possessive, or a number without thousands separators."""
    if word[0].isdigit():
        return re.sub(r",(?=\d{3}(?:\D|$))", "", word)
    return re.sub(r"['’]s?$", "", word.casefold())


def stems(words: Sequence[str]) -> set[str]:
    """Return the stems of all words that are neither function words nor numbers."""
    kept = {fold(word) for word in words if not word[0].isdigit()} - FUNCTION_WORDS
    return {re.sub(r"(?:ing|ed|es|s|e)$", "", word) for word in kept}
