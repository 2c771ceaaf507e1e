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
from dataclasses import dataclass, replace
from functools import cached_property

from resay.core.segmentation.spans import Span

_SPACE = re.compile(r"[\s\ufeff\u200b]*")
_NAME = (
    r"(?:[a-z]{1,12}[:_])?"
    r"(?:think|thinking|thought|thoughts|reasoning|reflection|reflect|scratchpad|monologue|cot"
    r"|chain_of_thought)"
    r"(?:[:_][a-z]{1,12})?"
)
_HARMONY = r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*"
_HARMONY_MESSAGE = r"[^<]{0,80}<\|message\|>"


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks around reasoning that a family of models writes.

    opening: Matches the opening mark.
    closing: Matches the closing mark.
    written: The closing mark, with `{name}` for the name in the opening mark.
    needs_both: Whether the opening mark means nothing without the closing one, because it consists
        of ordinary words; the closing mark then means nothing without the opening one either.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    written: str
    needs_both: bool = False


def _marks(opening: str, closing: str, written: str, *, needs_both: bool = False) -> _Marks:
    return _Marks(
        opening=re.compile(opening, re.IGNORECASE),
        closing=re.compile(closing, re.IGNORECASE),
        written=written,
        needs_both=needs_both,
    )


_ALL_MARKS = (
    # DeepSeek, Qwen, GLM, EXAONE, Phi, Nemotron, Hunyuan, Ernie, Seed, LongCat, and prompts.
    _marks(
        rf"<\s*(?P<name>{_NAME})(?:\s(?:[^<>]{{0,200}}[^<>/\s])?\s*)?>",
        rf"<\s*/\s*(?P<name>{_NAME})\s*>",
        "</{name}>",
    ),
    _marks(r"<\|think(?:ing)?\|>", r"<\|/think(?:ing)?\|>", "<|/think|>"),
    # Kimi.
    _marks(r"◁\s*think\s*▷", r"◁\s*/\s*think\s*▷", "◁/think▷"),
    # Magistral. In small letters it is a link or a label.
    _marks(r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])", "[/THINK]"),
    # Sky-T1, OpenThinker.
    _marks(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", "<|end_of_thought|>"),
    # Cohere.
    _marks(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", "<|END_THINKING|>"),
    # Apertus.
    _marks(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", "<|inner_suffix|>"),
    # Pangu.
    _marks(r"\[unused16\]", r"\[unused17\]", "[unused17]"),
    # Gemma.
    _marks(r"<\|channel>\s*thought\b", r"<channel\|>", "<channel|>"),
    # gpt-oss.
    _marks(
        rf"{_HARMONY}(?:analysis|commentary){_HARMONY_MESSAGE}",
        rf"(?:<\|(?:end|return|call)\|>\s*)?{_HARMONY}final{_HARMONY_MESSAGE}",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    # gpt-oss, where the server has dropped the special tokens.
    _marks(r"analysis(?=(?-i:[A-Z\n]))", r"assistant\s?final", "assistantfinal", needs_both=True),
    # Granite.
    _marks(
        r"here(?:'s|’s|\sis)\smy\sthought\sprocess:",
        r"here(?:'s|’s|\sis)\smy\sresponse:",
        "Here is my response:",
        needs_both=True,
    ),
)
_ANY_MARK = re.compile(
    r"(?=[<\[◁])(?:"
    + "|".join(
        re.sub(r"\?P<name>", "?:", pattern.pattern)
        for marks in _ALL_MARKS
        if not marks.needs_both
        for pattern in (marks.opening, marks.closing)
    )
    + ")",
    re.IGNORECASE,
)
_WORDS_AT_START = tuple(marks.opening for marks in _ALL_MARKS if marks.needs_both)
# What a model writes around its answer once it has reasoned.
_AROUND_ANSWER = re.compile(
    r"<\s*(?P<name>answer|response|output|solution|final|final_answer|final_response)\s*>"
    r"|<\|(?:begin_of_solution|START_RESPONSE|START_TEXT)\|>",
    re.IGNORECASE,
)
_AFTER_ANSWER = re.compile(
    r"\s*(?:<\s*/\s*(?:answer|response|output|solution|final|final_answer|final_response)\s*>"
    r"|<\|(?:end_of_solution|END_RESPONSE|END_TEXT|return|end|im_end|endoftext|eot_id)\|>)\s*\Z",
    re.IGNORECASE,
)
_CODE_FENCE = re.compile(r"^[ ]{0,3}(?:`{3}|~{3})", re.MULTILINE)
_OPENING_QUOTES = "\"'“‘«„(`"
_CLOSING_QUOTES = "\"'”’»“)`"
# A sentence goes on after a mark that it mentions.
_MENTIONED_AFTER = re.compile(
    r"[.,;:)]|[ \t]+(?:is|are|was|were|and|or|to|tags?|tokens?|elements?|blocks?|marks?|means?"
    r"|opens?|closes?|ends?|starts?|begins?|wraps?|encloses?|denotes?|indicates?|before|after"
    r"|und|oder|ist|et|ou|est)\b(?![:.)])"
)
# What stands between two marks that a sentence mentions together.
_BETWEEN_MENTIONED = re.compile(
    r"\s*(?:and|or|to|/|&|,|\.{2,3}|…|-|–|und|oder|bis|et|ou|y|e|o|,\s*and)?\s*"
)
_SENTENCE_END = re.compile(r"[.!?…。！？:\"”’»)*\]}`$]\Z")
# After these words, a mark is what the sentence speaks of.
_MENTIONED_BEFORE = re.compile(
    r"\b(?:the|a|an|with|by|and|or|tag|token|is|like|between|to|of|in|using|use|write|called|named"
    r"|close|add|put|type|emit|as|at|before|after|und|mit|avec|con|von|de|the\ tag)\Z",
    re.IGNORECASE,
)


_INDENTED = re.compile(r" {4}|\t")
_LIST_MARKER = re.compile(r"\s*(?:[-*+•>|]|\d{1,3}[.)])")
_LINE_END = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
# As far as this, a line is read back from a mark, and a text back from its end.
_LINE_CHARS = 400
_MARK_CHARS = 200
# While a text arrives: the marks that change what is known of it, so many characters to wait for
# after one, how often a text is split again before its end, and an end that may belong to a mark.
_READ_MARK = re.compile(
    "|".join(
        [_ANY_MARK.pattern]
        + [marks.closing.pattern for marks in _ALL_MARKS if marks.needs_both]
        + [re.sub(r"\?P<name>", "?:", _AROUND_ANSWER.pattern)]
        + [_AFTER_ANSWER.pattern.removesuffix(r"\s*\Z")]
    ),
    re.IGNORECASE,
)
_LOOK_AHEAD = 24
_LONGEST_OPENING = 80
_FIRST_OF_MARK = frozenset("<[◁")
_BEGUN_TAG = re.compile(rf"<\s*{_NAME}\s[^<>]{{0,200}}\Z", re.IGNORECASE)
_MOST_SPLITS = 64
_BEGUN_MARK = re.compile(r"\s*(?:[<\[◁][^<>\[\]▷]{0,80})?\Z")
# So many quoted marks are passed over in search of one that closes.
_MOST_QUOTED = 50


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
        return _Splitter(text, is_complete=is_complete).split()
    return SplitText(text, (), 0, len(text))


def without_reasoning(text: str) -> str:
    """Return the answer in a text, without the reasoning around or inside it."""
    return split_reasoning(text).answer


def notice_after(shown: str, notice: str) -> str:
    """Return a notice as a paragraph of its own after a text that was shown.

    Args:
        shown: The text before it.
        notice: The notice; nothing is added to an empty one.

    Returns:
        The notice, after what it needs to be seen: the mark that closes open reasoning, because
        clients hide what follows an open one, and line breaks.
    """
    if not notice or not shown.strip():
        return notice
    unclosed = split_reasoning(shown).unclosed
    written = f"{shown}{unclosed}"
    breaks = 2
    while breaks and written.endswith("\n"):
        written = written[:-1]
        breaks -= 1
    line_breaks = "\n" * breaks
    return f"{unclosed}{line_breaks}{notice}"


def _has_marks(text: str) -> bool:
    if _ANY_MARK.search(text) is not None:
        return True
    space = _SPACE.match(text)
    start = space.end() if space else 0
    return any(words.match(text, start) for words in _WORDS_AT_START)


class _Splitter:
    """Splits one text. Takes time linear in its length, whatever marks it has."""

    def __init__(self, text: str, *, is_complete: bool) -> None:
        self._text = text
        self._is_complete = is_complete
        self._spans: list[Span] = []
        self._closings: dict[str, list[re.Match[str]]] = {}

    def split(self) -> SplitText:
        text = self._text
        unclosed, position = self._read_leading(0)
        is_unopened = False
        if not self._spans and not unclosed:
            closing = self._unopened_end()
            if closing is None:
                return SplitText(text, (), 0, len(text))
            self._spans.append((0, closing.end()))
            is_unopened = bool(text[: closing.start()].strip())
            unclosed, position = self._read_leading(closing.end())
        if unclosed:
            everything = ((0, len(text)),)
            return SplitText(text, everything, len(text), len(text), unclosed, is_unopened)
        around = _AROUND_ANSWER.match(text, position)
        start = self._after_space(around.end()) if around else position
        self._spans = [(0, start)]
        unclosed = self._read_later(start)
        end = self._end_of_answer(start)
        if end < len(text):
            self._spans.append((end, len(text)))
        return SplitText(text, tuple(self._spans), start, end, unclosed, is_unopened)

    def _read_leading(self, position: int) -> tuple[str, int]:
        """Read the blocks of reasoning that follow each other from a position on.

        Returns:
            The closing mark that the last block lacks, or nothing, and where the answer begins.
        """
        position = self._after_space(position)
        while True:
            repeated = self._closing_at(position) if self._spans else None
            if repeated is not None:
                self._spans.append((position, repeated))
                position = self._after_space(repeated)
                continue
            opened = self._opening_at(position)
            if opened is None:
                return "", position
            marks, opening = opened
            closing = self._closing_of(marks, opening)
            is_mentioned = _MENTIONED_AFTER.match(self._text, opening.end()) is not None
            if closing is None:
                is_text = marks.needs_both or is_mentioned
                return ("" if is_text else _written(marks, opening)), position
            between = _BETWEEN_MENTIONED.fullmatch(self._text, opening.end(), closing.start())
            if (is_mentioned or between) and _MENTIONED_AFTER.match(self._text, closing.end()):
                return "", position
            self._spans.append((position, closing.end()))
            position = self._after_space(closing.end())

    def _read_later(self, start: int) -> str:
        """Read the blocks inside the answer; return the closing mark that the last one lacks."""
        text, position = self._text, start
        while (mark := _ANY_MARK.search(text, position)) is not None:
            position = mark.end()
            opened = self._opening_at(mark.start())
            if opened is None or opened[0].needs_both or self._line_before(mark.start()).strip():
                continue
            marks, opening = opened
            is_mentioned = _MENTIONED_AFTER.match(text, opening.end())
            if is_mentioned or self._is_in_fence(start, mark.start()):
                continue
            closing = self._closing_of(marks, opening)
            if closing is None:
                self._spans.append((mark.start(), len(text)))
                return _written(marks, opening)
            self._spans.append((mark.start(), closing.end()))
            position = closing.end()
        return ""

    def _end_of_answer(self, start: int) -> int:
        """Return where the marks after the answer begin, or the end of the text."""
        end = len(self._text)
        last = self._spans[-1][1]
        while after := _AFTER_ANSWER.search(self._text, max(start, last, end - _MARK_CHARS), end):
            end = after.start()
        return end

    def _closing_at(self, position: int) -> int | None:
        """Return the end of a closing mark at a position: a repeated one, or a needless one."""
        for marks in _ALL_MARKS:
            closing = None if marks.needs_both else marks.closing.match(self._text, position)
            if closing is not None and not _MENTIONED_AFTER.match(self._text, closing.end()):
                return closing.end()
        return None

    def _opening_at(self, position: int) -> tuple[_Marks, re.Match[str]] | None:
        for marks in _ALL_MARKS:
            opening = marks.opening.match(self._text, position)
            if opening is not None:
                return marks, opening
        return None

    def _closing_of(self, marks: _Marks, opening: re.Match[str]) -> re.Match[str] | None:
        """Return the mark that closes reasoning.

        That is the first that is not quoted, preferably of the same name, and not that of a block
        inside. If all are quoted, the code or the quotation around the last one was not closed.
        """
        name = opening.groupdict().get("name")
        closings = self._closings_of(marks, name)
        index = bisect_left(closings, opening.end(), key=re.Match[str].start)
        if name is not None and not marks.needs_both and index < len(closings):
            inner = self._openings_between(marks, name, opening.end(), closings[index].start())
            if inner:
                outer = self._outer_closing(marks, name, closings[index:], len(inner) + 1)
                if outer is not None or not self._is_complete:
                    return outer
        if index == len(closings) and name is not None and self._is_complete:
            closings = self._closings_of(marks, None)
            index = bisect_left(closings, opening.end(), key=re.Match[str].start)
        for closing in closings[index : index + _MOST_QUOTED]:
            if not self._is_quoted(closing):
                return closing
        return closings[-1] if index < len(closings) and self._is_complete else None

    def _openings_between(
        self, marks: _Marks, name: str, start: int, end: int
    ) -> list[re.Match[str]]:
        """Return the opening marks of a name between two positions, without quoted ones."""
        openings: list[re.Match[str]] = []
        for opening in marks.opening.finditer(self._text, start, end):
            is_same = opening.groupdict().get("name", "").casefold() == name.casefold()
            is_mentioned = _MENTIONED_AFTER.match(self._text, opening.end())
            if is_same and not is_mentioned and not self._is_quoted(opening):
                openings.append(opening)
        return openings

    def _outer_closing(
        self, marks: _Marks, name: str, closings: Sequence[re.Match[str]], depth: int
    ) -> re.Match[str] | None:
        """Return the mark that closes a block around others, or None.

        Reasoning that only mentions an opening mark has no such closing mark.

        Args:
            marks: The marks.
            name: Their name.
            closings: The closing marks of that name after the blocks inside have begun.
            depth: How many blocks are open before the first of them.
        """
        position = closings[0].start()
        for closing in closings[:_MOST_QUOTED]:
            depth += len(self._openings_between(marks, name, position, closing.start()))
            position = closing.end()
            depth -= not self._is_quoted(closing)
            if depth == 0:
                is_end = not self._text[closing.end() :].strip()
                return closing if self._closes_alone(closing) and not is_end else None
        return None

    def _closings_of(self, marks: _Marks, name: str | None) -> list[re.Match[str]]:
        """Return the closing marks in the text, of one name or of any."""
        key = f"{marks.written}{name}".casefold()
        if key not in self._closings:
            closings = list(marks.closing.finditer(self._text))
            if name is not None:
                closings = [c for c in closings if c["name"].casefold() == name.casefold()]
            self._closings[key] = closings
        return self._closings[key]

    def _unopened_end(self) -> re.Match[str] | None:
        """Return the closing mark before which all is reasoning, or None."""
        for marks in _ALL_MARKS:
            if marks.needs_both:
                continue
            last = len(self._text)
            for opening in marks.opening.finditer(self._text):
                if not self._is_quoted(opening):
                    last = opening.start()
                    break
            for closing in self._closings_of(marks, None):
                if closing.start() > last:
                    break
                if self._closes_alone(closing):
                    return closing
        return None

    def _closes_alone(self, closing: re.Match[str]) -> bool:
        """Whether a closing mark without an opening one ends reasoning, or is only mentioned."""
        if self._is_quoted(closing) or _MENTIONED_AFTER.match(self._text, closing.end()):
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
        return bool(_LINE_END.match(self._text, closing.end())) and not (
            _MENTIONED_BEFORE.search(bare)
        )

    def _is_quoted(self, mark: re.Match[str]) -> bool:
        """Whether a mark is in inline code, or alone in quotes."""
        line = self._line_before(mark.start())
        if line.count("`") % 2:
            return True
        before, after = line[-1:], self._text[mark.end() : mark.end() + 1]
        opens = before != "" and before in _OPENING_QUOTES and not line[-2:-1].isalnum()
        return opens and after != "" and after in _CLOSING_QUOTES

    def _line_before(self, position: int) -> str:
        """Return the beginning of a line up to a position, or the end of it if it is long."""
        first = max(0, position - _LINE_CHARS)
        return self._text[max(first, self._text.rfind("\n", first, position) + 1) : position]

    def _is_in_fence(self, start: int, position: int) -> bool:
        before = bisect_left(self._fences, position) - bisect_left(self._fences, start)
        return before % 2 == 1

    @cached_property
    def _fences(self) -> list[int]:
        return [match.start() for match in _CODE_FENCE.finditer(self._text)]

    def _after_space(self, position: int) -> int:
        match = _SPACE.match(self._text, position)
        return match.end() if match else position


def _written(marks: _Marks, opening: re.Match[str]) -> str:
    return marks.written.format(**opening.groupdict())


class ReasoningReader:
    """Tells reasoning from the answer in a text that is still arriving.

    What it returns of the answer is final unless `restarts` grows: only a closing mark shows that
    the text before it was reasoning if the prompt had opened it. The end of the text settles what
    is left in doubt, so that everything is then as `split_reasoning` has it.

    Attributes:
        restarts: How often text returned before turned out not to be part of the answer.
    """

    def __init__(self) -> None:
        self.restarts = 0
        self._parts: list[str] = []
        self._length = 0
        self._tail = ""
        self._is_undecided = True
        self._due: int | None = None
        self._mark_end = 0
        self._split = SplitText("", (), 0, 0)
        self._count = 0
        self._returned: list[str] = []
        self._waiting = ""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def split(self) -> SplitText:
        """The text so far, split as far as that is known; after the end, for good."""
        text = self.text
        if len(self._split.text) == len(text):
            return self._split
        if not self.has_reasoning or self._is_before_answer:
            return SplitText(text, self._split.reasoning, self.start, len(text))
        return replace(self._split, text=text, end=len(text))

    def since(self, position: int) -> str:
        """Return the text so far from a position on."""
        parts: list[str] = []
        start = self._length
        for part in reversed(self._parts):
            if start <= position:
                break
            start -= len(part)
            parts.append(part)
        return "".join(reversed(parts))[max(position - start, 0) :]

    @property
    def has_reasoning(self) -> bool:
        """Whether reasoning was seen so far."""
        return bool(self._split.reasoning)

    @property
    def start(self) -> int:
        """Where the answer begins; the end of the text so far if it has not begun yet."""
        if self._due is not None and self._is_before_answer:
            # What follows the mark may be answer.
            return self._mark_end
        if self._is_undecided or self._is_before_answer:
            return self._length
        return self._split.start

    @property
    def _is_before_answer(self) -> bool:
        return self.has_reasoning and self._split.start == len(self._split.text)

    def feed(self, text: str) -> str:
        """Process the next part of the text.

        Args:
            text: Any number of characters; parts may end anywhere.

        Returns:
            The next part of the answer; all of it so far if `restarts` has grown.
        """
        self._parts.append(text)
        self._length += len(text)
        window = self._tail + text
        for mark in _READ_MARK.finditer(window):
            if mark.end() > len(self._tail):
                end = self._length - len(window) + mark.end()
                if self._due is None:
                    self._mark_end = end
                self._due = end + _LOOK_AHEAD
        self._tail = window[-_MARK_CHARS:]
        if self._is_undecided:
            begun = self.text.strip("\ufeff\u200b \t\r\n")
            longest = _LONGEST_OPENING if begun.startswith("<|") else _LOOK_AHEAD
            may_open = begun[:1] in _FIRST_OF_MARK and len(begun) < longest
            if not begun or may_open or _BEGUN_TAG.match(begun):
                return ""
            self._is_undecided = False
            if self._due is None:
                self._waiting = self.text
                return self._next("")
        if self._due is not None:
            is_settled = self._length >= self._due and self._count < _MOST_SPLITS
            return self._settle() if is_settled else ""
        return "" if self._split.unclosed else self._next(text)

    def finish(self) -> str:
        """Return the rest of the answer; all of it if `restarts` has grown."""
        self._is_undecided = False
        return self._settle(is_end=True)

    def _settle(self, *, is_end: bool = False) -> str:
        """Split the text so far again, and return what is new of the answer."""
        self._due = None
        self._count += 1
        self._split = split_reasoning(self.text, is_complete=is_end)
        answer, returned = self._split.answer, "".join(self._returned)
        if not answer.startswith(returned):
            self.restarts += 1
            returned = ""
        self._returned = [returned]
        self._waiting = answer[len(returned) :]
        if self._is_before_answer and not self._split.unclosed:
            # Nothing but white space has followed the mark.
            self._due, self._mark_end = self._length + 1, self._length
        return self._next("", is_end=is_end)

    def _next(self, text: str, *, is_end: bool = False) -> str:
        """Return what waits and a text, but for the end that may belong to a mark."""
        answer = self._waiting + text
        self._waiting = ""
        begun = _BEGUN_MARK.search(answer, max(0, len(answer) - _MARK_CHARS))
        if begun is not None and self.has_reasoning and not is_end:
            answer, self._waiting = answer[: begun.start()], begun.group()
        if answer:
            self._returned.append(answer)
        return answer
