"""Puts sentences in place of others, and reads what a model wrote to stand there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resay.core.passage import Passage
from resay.core.verdict import Document
from resay.engine.regeneration.prompts import REMOVE, unmarked

_GAP = " \t\u00a0\u3000"
_MARKS = re.compile(r"(?:>>>|<<<|\s)*")
# What a list item or a quotation begins with, where nothing else stands in its line.
_EMPTY_ITEM = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:#{1,6}|\||(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\])?)?[ \t]*"
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stands in place of a sentence.

    Attributes:
        text: The words; empty where the sentence is removed.
        named: The ids of the documents the model named for it.
    """

    text: str
    named: tuple[str, ...] = ()


def replacement_in(answer: str, documents: Sequence[Document]) -> Replacement | None:
    """Read what a model wrote in place of a sentence.

    Args:
        answer: Its answer.
        documents: The documents it was shown.

    Returns:
        The replacement; None where there are no words.
    """
    written = unmarked(_bare(answer), len(documents))
    # Where the sentence stood, there is no place for a paragraph.
    text = " ".join(_bare(written.text).split())
    if not text:
        return None
    if text.strip(" .*_`'\"[]").upper() == REMOVE:
        return Replacement("")
    named = written.named(-1, len(written.text))
    return Replacement(text, tuple(documents[number - 1].id for number in named))


def _bare(text: str) -> str:
    """Return a text without marks and space around it."""
    text = text[_end_of_marks(text) :]
    return text[: len(text) - _end_of_marks(text[::-1])]


def _end_of_marks(text: str) -> int:
    match = _MARKS.match(text)
    return match.end() if match else 0


def without_repeats(draft: Passage, repairs: Mapping[int, Replacement]) -> dict[int, Replacement]:
    """Return repairs that say nothing twice: what stands in the draft already is removed instead.

    Two sentences in doubt may be corrected by the same fact.
    """
    said = {_plain(s.text) for i, s in enumerate(draft.sentences) if i not in repairs}
    kept: dict[int, Replacement] = {}
    for i, repair in sorted(repairs.items()):
        plain = _plain(repair.text)
        kept[i] = Replacement("") if plain in said else repair
        said.add(plain)
    return kept


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


@dataclass(frozen=True, slots=True)
class Repaired:
    """A draft with its repairs.

    Attributes:
        text: The new text.
        places: Where each sentence of the draft stands in it: start and end in code points, the
            same for one that was removed.
    """

    text: str
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, draft: Passage, repairs: Mapping[int, Replacement], *, floor: int = 0) -> Repaired:
        """Put replacements into a draft.

        Args:
            draft: The draft.
            repairs: What to put in place of its sentences, by their places.
            floor: Up to where nothing of it may change, in code points.
        """
        parts: list[str] = []
        places: list[tuple[int, int]] = []
        position = length = 0
        for i, sentence in enumerate(draft.sentences):
            start, end, words = sentence.start, sentence.end, sentence.text
            if i in repairs:
                words = repairs[i].text
                if not words:
                    start, end = _taken_out(draft.text, start, end, max(position, floor))
            parts += [draft.text[position:start], words]
            length += start - position
            places.append((length, length + len(words)))
            length += len(words)
            position = end
        return cls("".join([*parts, draft.text[position:]]), tuple(places))

    def origin(self, start: int, end: int) -> tuple[int, ...]:
        """Return which sentences of the draft stand in a stretch of the new text."""
        return tuple(i for i, (a, b) in enumerate(self.places) if a < end and b > start)


def _taken_out(text: str, start: int, end: int, floor: int) -> tuple[int, int]:
    """Return what goes with a sentence that is removed, so that no hole stays.

    A whole line where nothing else stood in it, or the space on one side.
    """
    line = text.rfind("\n", floor, start) + 1 or floor
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    begins_line = line == 0 or text[line - 1] == "\n"
    begins_line = begins_line and _EMPTY_ITEM.fullmatch(text[line:start]) is not None
    if begins_line and not text[end:stop].strip("# \t\r|"):
        return line, min(stop + 1, len(text))
    after = end
    while after < stop and text[after] in _GAP:
        after += 1
    if after < stop or not text[:start].strip():
        return start, after
    before = start
    while before > floor and text[before - 1] in _GAP:
        before -= 1
    return before, end
