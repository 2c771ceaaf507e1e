"""Tells a model's reasoning from its answer where both are in one text.

Many servers return reasoning in a field of its own. Those without a parser for the model leave it
in the text, between marks: `<think>…</think>`, or only up to `</think>` where the chat template
has opened the tag in the prompt.

An answer may also be about such marks. So an opening mark counts only where the text begins, and
once the text has shown reasoning also at the beginning of a line. A closing mark without an opening
one counts only where no sentence mentions it. In doubt, text is answer: it is scored.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from resay._internal.patterns import lazy_pattern
from resay.core.reasoning_marks import (
    AFTER_ANSWER,
    ALL_MARKS,
    ANY_MARK,
    BEFORE_ANSWER,
    FIRST_OF_MARK,
    ReasoningMarks,
)
from resay.core.segmentation.spans import Span

_SPACE = lazy_pattern(r"[\s\ufeff\u200b]*")
_CODE_FENCE = lazy_pattern(r"^[ ]{0,3}(?:`{3}|~{3})", re.MULTILINE)
_OPENING_QUOTES = frozenset("\"'“‘«„(`")
_CLOSING_QUOTES = frozenset("\"'”’»“)`")
# A sentence goes on after a mark that it mentions.
_MENTIONED_AFTER = lazy_pattern(
    r"[.,;:)]|[ \t]+(?:is|are|was|were|and|or|to|tags?|tokens?|elements?|blocks?|marks?|means?"
    r"|opens?|closes?|ends?|starts?|begins?|wraps?|encloses?|denotes?|indicates?|before|after"
    r"|und|oder|ist|et|ou|est)\b(?![:.)])"
)
# What stands between two marks that a sentence mentions together.
_BETWEEN_MENTIONED = lazy_pattern(
    r"\s*(?:and|or|to|/|&|,|\.{2,3}|…|-|–|und|oder|bis|et|ou|y|e|o|,\s*and)?\s*"
)
_SENTENCE_END = lazy_pattern(r"[.!?…。！？:\"”’»)*\]}`$]\Z")
# After these words, a mark is what the sentence speaks of.
_MENTIONED_BEFORE = lazy_pattern(
    r"\b(?:the|a|an|with|by|and|or|tag|token|is|like|between|to|of|in|using|use|write|called|named"
    r"|close|add|put|type|emit|as|at|before|after|und|mit|avec|con|von|de|the\ tag)\Z",
    re.IGNORECASE,
)
_INDENTED = lazy_pattern(r" {4}|\t")
_LIST_MARKER = lazy_pattern(r"\s*(?:[-*+•>|]|\d{1,3}[.)])")
_LINE_END = lazy_pattern(r"[ \t]*(?:[\r\n]|\Z)")
# As far as this, a line is read back from a mark, and a text back from its end.
_LINE_CHARS = 400
_MARK_CHARS = 200
# So many quoted marks are passed over in search of one that closes.
_MAX_QUOTED = 50


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text whose reasoning is told from its answer.

    Attributes:
        text: The text.
        reasoning: The spans of its reasoning, with the marks around them and around the answer, in
            order; none if all of it is answer.
        start: Where the answer begins.
        end: Where it ends.
        unclosed: The closing mark that is missing, if the text ends inside its reasoning; else
            empty.
        is_unopened: Whether its reasoning has a closing mark but no opening one.
    """

    text: str
    reasoning: tuple[Span, ...]
    start: int
    end: int
    unclosed: str = ""
    is_unopened: bool = False

    @classmethod
    def only_answer(cls, text: str) -> SplitText:
        """Return a text without reasoning."""
        return cls(text=text, reasoning=(), start=0, end=len(text))

    @property
    def is_unanswered(self) -> bool:
        """Whether there is reasoning, and no word of an answer."""
        return bool(self.reasoning) and not self.answer.strip()

    @property
    def answer(self) -> str:
        """The answer: `text[start:end]`, with line breaks for each character of reasoning in it."""
        parts: list[str] = []
        position = self.start
        for start, end in self.reasoning:
            if start >= position and end <= self.end:
                parts += [self.text[position:start], "\n" * (end - start)]
                position = end
        parts.append(self.text[position : self.end])
        return "".join(parts)


def split_reasoning(text: str, *, is_complete: bool = True) -> SplitText:
    """Tell the reasoning in a text from the answer.

    Args:
        text: What a model wrote.
        is_complete: Whether nothing follows, so that a mark that may close the reasoning has to.

    Returns:
        The text, split. Without any marks of reasoning, all of it is answer.
    """
    if _has_marks(text):
        return _Splitting(text, is_complete=is_complete).split()
    return SplitText.only_answer(text)


def without_reasoning(text: str) -> str:
    """Return the answer in a text, without the reasoning around or inside it."""
    return split_reasoning(text).answer


def notice_after(shown: str, notice: str, *, line_break: str = "\n") -> str:
    """Return a notice as a paragraph of its own after a text that was shown.

    Args:
        shown: The text before it.
        notice: The notice; nothing is added to an empty one.
        line_break: The line break of the text.

    Returns:
        The notice, after what it needs to be seen: the mark that closes open reasoning, because
        clients hide what follows an open one, and line breaks.
    """
    if not notice or not shown.strip():
        return notice
    unclosed = split_reasoning(shown).unclosed
    before = f"{shown}{unclosed}"
    missing_breaks = 2
    while missing_breaks and before.endswith("\n"):
        before = before.removesuffix("\n").removesuffix("\r")
        missing_breaks -= 1
    line_breaks = line_break * missing_breaks
    return f"{unclosed}{line_breaks}{notice}"


def _has_marks(text: str) -> bool:
    # Most texts have none of these characters, which are found much faster than a mark.
    if any(map(text.__contains__, FIRST_OF_MARK)) and ANY_MARK.search(text):
        return True
    start = _after_space(text, 0)
    return any(marks.opening.match(text, start) for marks in ALL_MARKS if marks.needs_both)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _first_after(marks: Sequence[re.Match[str]], position: int) -> int:
    """Return the index of the first mark that begins at a position or after it."""
    return bisect_left(marks, position, key=re.Match[str].start)


class _Splitting:
    """One text that is being split. Takes time linear in its length, whatever marks it has."""

    def __init__(self, text: str, *, is_complete: bool) -> None:
        self._text = text
        self._is_complete = is_complete
        self._spans: list[Span] = []
        self._closings_by_name: dict[str, list[re.Match[str]]] = {}

    def split(self) -> SplitText:
        text = self._text
        unclosed, position = self._read_leading_blocks(0)
        is_unopened = False
        if not self._spans and not unclosed:
            closing = self._unopened_end()
            if closing is None:
                return SplitText.only_answer(text)
            self._spans.append((0, closing.end()))
            is_unopened = bool(text[: closing.start()].strip())
            unclosed, position = self._read_leading_blocks(closing.end())
        if unclosed:
            return SplitText(
                text=text,
                reasoning=((0, len(text)),),
                start=len(text),
                end=len(text),
                unclosed=unclosed,
                is_unopened=is_unopened,
            )
        before_answer = BEFORE_ANSWER.match(text, position)
        start = _after_space(text, before_answer.end()) if before_answer else position
        self._spans = [(0, start)]
        unclosed = self._read_inner_blocks(start)
        end = self._end_of_answer(start)
        if end < len(text):
            self._spans.append((end, len(text)))
        return SplitText(
            text=text,
            reasoning=tuple(self._spans),
            start=start,
            end=end,
            unclosed=unclosed,
            is_unopened=is_unopened,
        )

    def _read_leading_blocks(self, position: int) -> tuple[str, int]:
        """Read the blocks of reasoning that follow each other from a position on.

        Returns:
            The closing mark that the last block lacks, or nothing, and where the answer begins.
        """
        position = _after_space(self._text, position)
        while True:
            needless_end = self._needless_closing_end(position) if self._spans else None
            if needless_end is not None:
                self._spans.append((position, needless_end))
                position = _after_space(self._text, needless_end)
                continue
            opened = self._opening_at(position)
            if opened is None:
                return "", position
            marks, opening = opened
            closing = self._closing_of(marks, opening)
            is_mentioned = self._is_mentioned(opening)
            if closing is None:
                is_text = marks.needs_both or is_mentioned
                return ("" if is_text else marks.closing_for(opening)), position
            between = _BETWEEN_MENTIONED.fullmatch(self._text, opening.end(), closing.start())
            if (is_mentioned or between) and self._is_mentioned(closing):
                return "", position
            self._spans.append((position, closing.end()))
            position = _after_space(self._text, closing.end())

    def _read_inner_blocks(self, start: int) -> str:
        """Read the blocks inside the answer; return the closing mark that the last one lacks."""
        text, position = self._text, start
        while (mark := ANY_MARK.search(text, position)) is not None:
            position = mark.end()
            opened = self._opening_at(mark.start())
            if opened is None or opened[0].needs_both or self._line_before(mark.start()).strip():
                continue
            marks, opening = opened
            if self._is_mentioned(opening) or self._is_in_fence(start, mark.start()):
                continue
            closing = self._closing_of(marks, opening)
            if closing is None:
                self._spans.append((mark.start(), len(text)))
                return marks.closing_for(opening)
            self._spans.append((mark.start(), closing.end()))
            position = closing.end()
        return ""

    def _end_of_answer(self, start: int) -> int:
        """Return where the marks after the answer begin, or the end of the text."""
        end = len(self._text)
        _, last_end = self._spans[-1]
        while after := AFTER_ANSWER.search(
            self._text, max(start, last_end, end - _MARK_CHARS), end
        ):
            end = after.start()
        return end

    def _needless_closing_end(self, position: int) -> int | None:
        """Return the end of a closing mark at a position, where nothing is open; None without."""
        for marks in ALL_MARKS:
            closing = None if marks.needs_both else marks.closing.match(self._text, position)
            if closing is not None and not self._is_mentioned(closing):
                return closing.end()
        return None

    def _opening_at(self, position: int) -> tuple[ReasoningMarks, re.Match[str]] | None:
        for marks in ALL_MARKS:
            opening = marks.opening.match(self._text, position)
            if opening is not None:
                return marks, opening
        return None

    def _closing_of(self, marks: ReasoningMarks, opening: re.Match[str]) -> re.Match[str] | None:
        """Return the mark that closes reasoning.

        That is the first that is not quoted, preferably of the same name, and not that of a block
        inside. If all are quoted, the code or the quotation around the last one was not closed.
        """
        name = opening.groupdict().get("name")
        closings = self._closings(marks, name)
        first = _first_after(closings, opening.end())
        if name is not None and not marks.needs_both and first < len(closings):
            inner = self._openings_between(marks, name, opening.end(), closings[first].start())
            if inner:
                candidates = closings[first : first + _MAX_QUOTED]
                outer = self._outer_closing(marks, name, candidates, len(inner) + 1)
                if outer is not None or not self._is_complete:
                    return outer
        if name is not None and self._is_complete and first == len(closings):
            closings = self._closings(marks, None)
            first = _first_after(closings, opening.end())
        for closing in closings[first : first + _MAX_QUOTED]:
            if not self._is_quoted(closing):
                return closing
        return closings[-1] if first < len(closings) and self._is_complete else None

    def _openings_between(
        self, marks: ReasoningMarks, name: str, start: int, end: int
    ) -> list[re.Match[str]]:
        """Return the opening marks of a name between two positions, without quoted ones."""
        openings: list[re.Match[str]] = []
        for opening in marks.opening.finditer(self._text, start, end):
            is_same = opening.groupdict().get("name", "").casefold() == name.casefold()
            if is_same and not self._is_mentioned(opening) and not self._is_quoted(opening):
                openings.append(opening)
        return openings

    def _outer_closing(
        self, marks: ReasoningMarks, name: str, closings: Sequence[re.Match[str]], depth: int
    ) -> re.Match[str] | None:
        """Return the mark that closes a block around others, or None.

        Reasoning that only mentions an opening mark has no such closing mark.

        Args:
            marks: The marks.
            name: Their name.
            closings: The first closing marks of that name after the blocks inside have begun.
            depth: How many blocks are open before the first of them.
        """
        position = closings[0].start()
        for closing in closings:
            depth += len(self._openings_between(marks, name, position, closing.start()))
            position = closing.end()
            depth -= not self._is_quoted(closing)
            if depth == 0:
                is_end = not self._text[closing.end() :].strip()
                return closing if self._closes_alone(closing) and not is_end else None
        return None

    def _closings(self, marks: ReasoningMarks, name: str | None) -> list[re.Match[str]]:
        """Return the closing marks in the text, of one name or of any."""
        key = f"{marks.template}{name}".casefold()
        if key not in self._closings_by_name:
            closings = list(marks.closing.finditer(self._text))
            if name is not None:
                closings = [c for c in closings if c["name"].casefold() == name.casefold()]
            self._closings_by_name[key] = closings
        return self._closings_by_name[key]

    def _unopened_end(self) -> re.Match[str] | None:
        """Return the closing mark before which all is reasoning, or None."""
        for marks in ALL_MARKS:
            if marks.needs_both:
                continue
            first_opening = len(self._text)
            for opening in marks.opening.finditer(self._text):
                if not self._is_quoted(opening):
                    first_opening = opening.start()
                    break
            for closing in self._closings(marks, None):
                if closing.start() > first_opening:
                    break
                if self._closes_alone(closing):
                    return closing
        return None

    def _closes_alone(self, closing: re.Match[str]) -> bool:
        """Whether a closing mark without an opening one ends reasoning, or is only mentioned."""
        if self._is_quoted(closing) or self._is_mentioned(closing):
            return False
        if self._is_in_fence(0, closing.start()):
            return False
        line = self._line_before(closing.start())
        bare = line.rstrip()
        if not bare:
            # Not in indented code, nor below the words that announce it.
            before = self._text[max(0, closing.start() - _LINE_CHARS) : closing.start()].rstrip()
            return not (_INDENTED.match(line) or _MENTIONED_BEFORE.search(before))
        if _LIST_MARKER.fullmatch(bare):
            return False
        if bare == line or _SENTENCE_END.search(bare):
            return True
        ends_line = _LINE_END.match(self._text, closing.end()) is not None
        return ends_line and not _MENTIONED_BEFORE.search(bare)

    def _is_mentioned(self, mark: re.Match[str]) -> bool:
        """Whether a sentence goes on after a mark that it speaks of."""
        return _MENTIONED_AFTER.match(self._text, mark.end()) is not None

    def _is_quoted(self, mark: re.Match[str]) -> bool:
        """Whether a mark is in inline code, or alone in quotes."""
        line = self._line_before(mark.start())
        if line.count("`") % 2:
            return True
        before, after = line[-1:], self._text[mark.end() : mark.end() + 1]
        is_opened = before in _OPENING_QUOTES and not line[-2:-1].isalnum()
        return is_opened and after in _CLOSING_QUOTES

    def _line_before(self, position: int) -> str:
        """Return the beginning of a line up to a position, or the end of it if it is long."""
        first = max(0, position - _LINE_CHARS)
        return self._text[max(first, self._text.rfind("\n", first, position) + 1) : position]

    def _is_in_fence(self, start: int, position: int) -> bool:
        """Whether a fence that was opened after a start is still open at a position."""
        fence_lines = bisect_left(self._fences, position) - bisect_left(self._fences, start)
        return fence_lines % 2 == 1

    @cached_property
    def _fences(self) -> list[int]:
        return [match.start() for match in _CODE_FENCE.finditer(self._text)]
