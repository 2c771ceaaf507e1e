"""What a question to a judge looks like, and how one is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from resay.testing.world import World

__all__ = ["Asked", "Form", "at_first_and_last", "at_last", "in_last", "numbered"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what there is to answer it with.

    Attributes:
        parts: What the question is made of, by the names its form gives them.
        world: What the simulated model knows.
        rng: Where it draws what it makes up from; an answer that makes nothing up leaves it alone.
    """

    parts: Mapping[str, str]
    world: World
    rng: random.Random


Recogniser = Callable[[Sequence[str]], "Mapping[str, str] | None"]
"""Takes the user's messages, oldest first, and returns the question's parts, or None."""


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of question.

    Attributes:
        recognise: Finds its parts in the user's messages; None where they ask something else.
        answer: Answers it.
    """

    recognise: Recogniser
    answer: Callable[[Asked], str]


def in_last(pattern: str) -> Recogniser:
    """Recognise a question that stands somewhere in the last message.

    Args:
        pattern: A regular expression whose named groups are the parts; its dot matches everything.
    """
    compiled = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return lambda said: _parts(compiled.search(said[-1]))


def at_last(pattern: str) -> Recogniser:
    """Recognise a question that is the whole of the last message; see `in_last`."""
    compiled = re.compile(pattern, re.DOTALL | re.MULTILINE)
    return lambda said: _parts(compiled.fullmatch(said[-1].strip()))


def at_first_and_last(first: str, last: str) -> Recogniser:
    """Recognise a conversation by the whole of its first and its last message; see `in_last`."""
    opening, closing = at_last(first), at_last(last)

    def recognise(said: Sequence[str]) -> Mapping[str, str] | None:
        began = opening(said[:1]) if len(said) > 1 else None
        ended = closing(said) if began is not None else None
        return None if began is None or ended is None else {**began, **ended}

    return recognise


def _parts(match: re.Match[str] | None) -> Mapping[str, str] | None:
    return None if match is None else match.groupdict("")


_NUMBERED = re.compile(r"\s*(\d+)\s*[.):]\s*(.*)")


def numbered(text: str) -> list[str]:
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
