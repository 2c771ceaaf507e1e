"""Replacements of sentences: parsing, fitting and applying them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from resay._internal.patterns import lazy_pattern
from resay.core.documents import Document
from resay.core.passage import Passage
from resay.engine.regeneration.citations import parse_citations
from resay.engine.regeneration.prompts import REMOVE

_GAP = " \t\u00a0\u3000"
_MARKS = lazy_pattern(r"(?:>>>|<<<|\s)*")
# The beginning of a line such as "Opened: 1932".
_FIELD_LABEL = lazy_pattern(r"(?P<lead>[> \t]*)(?P<label>[^\s:：>][^\n:：]{0,60}[:：])")
# The start of a list item or a quotation without any text in its line.
_EMPTY_ITEM = lazy_pattern(
    r"[ \t]*(?:>[ \t]*)*(?:#{1,6}|\||(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\])?)?[ \t]*"
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of a sentence.

    Attributes:
        text: The words; empty if the sentence is removed.
        citations: The ids of the documents that the model cited for it.
    """

    text: str
    citations: tuple[str, ...] = ()


def parse_replacement(answer: str, documents: Sequence[Document]) -> Replacement | None:
    """Parse the replacement of a sentence from a model's answer.

    Args:
        answer: The answer.
        documents: The documents it was shown.

    Returns:
        The replacement; None if the answer contains no words.
    """
    written = parse_citations(_bare(answer), len(documents))
    # A paragraph does not fit in the place of a sentence.
    text = " ".join(_bare(written.text).split())
    if not text:
        return None
    if text.strip(" .*_`'\"[]").upper() == REMOVE:
        return Replacement("")
    numbers = written.citations(-1, len(written.text))
    return Replacement(text, tuple(documents[number - 1].id for number in numbers))


def in_form_of(written: str, original: str) -> str:
    """Return a replacement in the form of its sentence: one line, a table's row, or several fields.

    Args:
        written: The replacement.
        original: The sentence.
    """
    if written.count("|") != original.count("|"):
        # For a table's row, a model that knows tables adds the outer bars.
        written = written.strip().removeprefix("|").removesuffix("|").strip()
    position = 0
    for line, following in pairwise(original.splitlines(keepends=True)):
        field = _FIELD_LABEL.match(following)
        start = -1 if field is None else written.find(f" {field['label']}", position)
        if field is None or start < 0:
            continue
        line_break = line[len(line.rstrip()) :] + field["lead"]
        before = written[:start].rstrip() + line_break
        written = before + written[start:].lstrip()
        position = len(before) + len(field["label"])
    return written


def _bare(text: str) -> str:
    """Return a text without markers and space around it."""
    text = text[_end_of_marks(text) :]
    return text[: len(text) - _end_of_marks(text[::-1])]


def _end_of_marks(text: str) -> int:
    match = _MARKS.match(text)
    return match.end() if match else 0


def without_repeats(draft: Passage, repairs: Mapping[int, Replacement]) -> dict[int, Replacement]:
    """Return repairs without duplicates: text that the draft already contains is removed instead.

    Two sentences in doubt may be corrected to the same fact.
    """
    texts = {_plain(s.text) for i, s in enumerate(draft.sentences) if i not in repairs}
    without: dict[int, Replacement] = {}
    for i, repair in sorted(repairs.items()):
        plain = _plain(repair.text)
        without[i] = Replacement("") if plain in texts else repair
        texts.add(plain)
    return without


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


@dataclass(frozen=True, slots=True)
class RepairedText:
    """A draft with its repairs.

    Attributes:
        text: The new text.
        spans: The start and end of each sentence of the draft in it, in code points; both are the
            same for a removed sentence.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls, draft: Passage, repairs: Mapping[int, Replacement], *, floor: int = 0
    ) -> RepairedText:
        """Apply replacements to a draft.

        Args:
            draft: The draft.
            repairs: The replacements of its sentences, by sentence index.
            floor: The length of the text that must not change, in code points.
        """
        parts: list[str] = []
        spans: list[tuple[int, int]] = []
        position = length = 0
        for i, sentence in enumerate(draft.sentences):
            start, end, words = sentence.start, sentence.end, sentence.text
            if i in repairs:
                words = repairs[i].text
                if not words:
                    start, end = _removal_span(draft.text, start, end, max(position, floor))
            parts += [draft.text[position:start], words]
            length += start - position
            spans.append((length, length + len(words)))
            length += len(words)
            position = end
        parts.append(draft.text[position:])
        return cls("".join(parts), tuple(spans))

    def origin(self, start: int, end: int) -> tuple[int, ...]:
        """Return the indices of the draft's sentences that overlap a span of the new text."""
        return tuple(
            i
            for i, (sentence_start, sentence_end) in enumerate(self.spans)
            if sentence_start < end and sentence_end > start
        )


def _removal_span(text: str, start: int, end: int, floor: int) -> tuple[int, int]:
    """Return the span to remove with a sentence, so that no gap remains.

    That is the whole line if it contains nothing else, or the space on one side.
    """
    line = text.rfind("\n", floor, start) + 1 or floor
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    follows_line = line == 0 or text[line - 1] == "\n"
    begins_line = follows_line and _EMPTY_ITEM.fullmatch(text[line:start]) is not None
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
