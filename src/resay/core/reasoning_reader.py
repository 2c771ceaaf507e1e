"""Tells a model's reasoning from its answer while the text arrives."""

from __future__ import annotations

from dataclasses import replace

from resay.core.reasoning import SplitText, split_reasoning
from resay.core.reasoning_marks import BEGUN_MARK, BEGUN_TAG, DECISIVE_MARK, FIRST_OF_MARK

# So many characters are awaited after a mark before the text is split.
_LOOK_AHEAD = 24
# The longest opening mark, and as far as this a text is read back from its end.
_LONGEST_OPENING = 80
_MARK_CHARS = 200
# The longest mark that consists of ordinary words: "here's my response:".
_WORD_MARK_CHARS = 24
# So often is a text split again before its end.
_MAX_SPLITS = 64


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
        # The length at which the text is split, after a mark; None if there is no reason to.
        self._split_at: int | None = None
        self._mark_end = 0
        self._split = SplitText.only_answer("")
        self._split_count = 0
        self._returned: list[str] = []
        self._held = ""

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
            return SplitText(
                text=text, reasoning=self._split.reasoning, start=self.start, end=len(text)
            )
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
        parts.reverse()
        return "".join(parts)[max(position - start, 0) :]

    @property
    def has_reasoning(self) -> bool:
        """Whether reasoning was seen so far."""
        return bool(self._split.reasoning)

    @property
    def start(self) -> int:
        """Where the answer begins; the end of the text so far if it has not begun yet."""
        if self._split_at is not None and self._is_before_answer:
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
        self._find_marks(text)
        if self._is_undecided:
            if self._may_open_reasoning():
                return ""
            self._is_undecided = False
            if self._split_at is None:
                self._held = self.text
                return self._release("")
        if self._split_at is not None:
            is_due = self._length >= self._split_at and self._split_count < _MAX_SPLITS
            return self._settle() if is_due else ""
        return "" if self._split.unclosed else self._release(text)

    def finish(self) -> str:
        """Return the rest of the answer; all of it if `restarts` has grown."""
        self._is_undecided = False
        return self._settle(is_end=True)

    def _find_marks(self, text: str) -> None:
        """Find the marks that end in the next part of the text, after which it is to be split."""
        window = self._tail + text
        for mark in DECISIVE_MARK.finditer(window):
            if mark.end() > len(self._tail):
                end = self._length - len(window) + mark.end()
                if self._split_at is None:
                    self._mark_end = end
                self._split_at = end + _LOOK_AHEAD
        # Most texts have no other mark, and all of the tail is read again with each part.
        has_other = not FIRST_OF_MARK.isdisjoint(window)
        self._tail = window[-_MARK_CHARS:] if has_other else window[-_WORD_MARK_CHARS:]

    def _may_open_reasoning(self) -> bool:
        """Whether the text so far is blank, or may be the beginning of an opening mark."""
        beginning = self.text.strip("\ufeff\u200b \t\r\n")
        if not beginning or BEGUN_TAG.match(beginning):
            return True
        longest = _LONGEST_OPENING if beginning.startswith("<|") else _LOOK_AHEAD
        return beginning[0] in FIRST_OF_MARK and len(beginning) < longest

    def _settle(self, *, is_end: bool = False) -> str:
        """Split the text so far again, and return what is new of the answer."""
        self._split_at = None
        self._split_count += 1
        self._split = split_reasoning(self.text, is_complete=is_end)
        answer, returned = self._split.answer, "".join(self._returned)
        if not answer.startswith(returned):
            self.restarts += 1
            returned = ""
        self._returned = [returned]
        self._held = answer[len(returned) :]
        if self._is_before_answer and not self._split.unclosed:
            # Nothing but white space has followed the mark.
            self._split_at, self._mark_end = self._length + 1, self._length
        return self._release("", is_end=is_end)

    def _release(self, text: str, *, is_end: bool = False) -> str:
        """Return the held text and another, but for the end that may belong to a mark."""
        answer = self._held + text
        self._held = ""
        if self.has_reasoning and not is_end:
            begun = BEGUN_MARK.search(answer, max(0, len(answer) - _MARK_CHARS))
            if begun is not None:
                answer, self._held = answer[: begun.start()], begun.group()
        if answer:
            self._returned.append(answer)
        return answer
