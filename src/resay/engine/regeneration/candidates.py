"""Candidate answers: drafts with some sentences replaced or removed, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from resay.core.passage import Passage
from resay.core.verdict import Document, SentenceVerdict, Verdict, over
from resay.engine.regeneration.prompts import REMOVE, unmarked
from resay.policy import Threshold

_GAP = " \t\u00a0\u3000"
_MARKS = re.compile(r"(?:>>>|<<<|\s)*")
# What a list item or a quotation begins with, where nothing else stands in its line.
_EMPTY_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\])?)?[ \t]*")


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
    if begins_line and _EMPTY_ITEM.fullmatch(text[line:start]) and not text[end:stop].strip():
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


_RANKS = {"consistent": 0, "flagged": 1, "inconclusive": 2, "skipped": 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that may be given.

    Attributes:
        passage: The answer.
        verdict: What is known of it.
        named: Which of its sentences were written from documents, by their places, with the ids of
            those that the model named for each.
        repairs: What stands in place of sentences of the draft, by their places there.
        places: Where each sentence of the draft stands in it, where it is a repaired draft.
        abstains: Which of its sentences say what the documents do not tell, and claim nothing.
        attempt: Which attempt wrote it, from 0; None for the draft.
    """

    passage: Passage
    verdict: Verdict
    named: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    repairs: Mapping[int, Replacement] = field(default_factory=dict[int, Replacement])
    places: tuple[tuple[int, int], ...] = ()
    abstains: frozenset[int] = frozenset()
    attempt: int | None = None

    @property
    def rank(self) -> tuple[int, int, float]:
        """What to order by, best first: decision, flagged sentences, passage score."""
        verdict = self.verdict
        score = 1.0 if verdict.score is None else verdict.score
        return _RANKS[verdict.decision], len(verdict.flagged_sentences), score


def in_doubt(verdict: Verdict, threshold: Threshold) -> tuple[int, ...]:
    """Return which sentences of a flagged answer are to be repaired.

    Where none is flagged by itself, those over the threshold of the passage; where there is none
    either, all.
    """
    sentences = verdict.sentences
    flagged = tuple(i for i, s in enumerate(sentences) if s.flagged)
    above = tuple(i for i, s in enumerate(sentences) if over(s.score, threshold.passage))
    return flagged or above or tuple(range(len(sentences)))


def kept_in(
    passage: Passage, known: Verdict, doubtful: Collection[int]
) -> dict[int, SentenceVerdict]:
    """Return which sentences of an answer need not be looked at again.

    Args:
        passage: The answer.
        known: What was found of another version of it.
        doubtful: The sentences of that version that are in doubt.

    Returns:
        By their places, the sentences that stood in the other version and were not in doubt there,
        with what was found of them.
    """
    sure = {s.text: s for i, s in enumerate(known.sentences) if i not in doubtful}
    for i in doubtful:
        sure.pop(known.sentences[i].text, None)
    return {i: sure[s.text] for i, s in enumerate(passage.sentences) if s.text in sure}
