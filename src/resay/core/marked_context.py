"""Finds the context that a prompt marks off by tags, fences, labels or numbers.

By rules, in time linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_alternatives, all_words

_WORD: Final = lazy_pattern(r"[^\W\d_]+")
_ASIDE: Final = lazy_pattern(r"\([^()]{0,100}\)")
_LABEL: Final = lazy_pattern(
    r"[ \t]{0,3}[#>*_=\[ -]{0,8}(?P<words>[^\n:：]{1,160}?)[\]*_ ]{0,4}[:：]"
    r"[*_]{0,3}(?P<rest>[^\n]*)"
)
_HEADING: Final = lazy_pattern(
    r"[ \t]{0,3}(?:#{1,6}|[*_]{2}|-{3,}|={3,})[ \t]*(?P<words>[^\n*_=#-]{1,80}?)[ \t]*"
    r"(?:[*_]{2}|-{3,}|={3,})?[ \t]*"
)
_MARK: Final = lazy_pattern(r"[ \t]{0,3}([-=#*~_\"'<>]{3,80}|[`~]{3,}[\w-]{0,20}|<<<+|>>>+)[ \t]*")
_PASSAGE: Final = lazy_pattern(
    r"[ \t]{0,3}[*_#]{0,4}[ \t]?(?:\[(?P<mark>[\w.-]{1,24})\][ \t]?[:.)-]?"
    r"|(?P<noun>[^\W\d_]{3,12})[ \t]?[#№]?[ \t]?\[?(?P<number>\d{1,3}|[A-Z])\]?"
    r"(?P<title>[ \t]?[(–—-][^\n:]{0,100})?[*_]{0,2}[:.]"
    r"|(?P<plain>\d{1,3})[.)][ \t])[*_]{0,2}[ \t]?"
)
_TAG: Final = lazy_pattern(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]{0,40})(?P<rest>[^<>]{0,300})>")
_ATTRIBUTE: Final = lazy_pattern(
    r"(?:id|index|number|n|title|name|source|url|href)\s*=\s*[\"']?([^\"'>\s][^\"'>]{0,200})"
)
# Names of tags besides the nouns for context.
_TAG_NAMES: Final = frozenset(
    ("search_result", "search_results", "item", "result", "kb", "retrieved", "quote")
)
# How many open tags are searched for the one that a tag closes.
_MAX_OPEN_TAGS: Final = 8
_MIN_WORDS: Final = 3
_MAX_LABEL_WORDS: Final = 6
_MAX_HEADING_WORDS: Final = 5
_MAX_QUESTION_LABEL_WORDS: Final = 4
_MAX_QUESTION_CHARS: Final = 400
_MAX_ANNOUNCEMENT_CHARS: Final = 200
# The beginning of a line that is searched for an instruction.
_MAX_INSTRUCTION_CHARS: Final = 400


class MarkedSpan(NamedTuple):
    """A part of a text that is marked off as context.

    Attributes:
        start: Its start.
        end: Its end (exclusive).
        label: Its label: `2` for "[2] ...".
        before_question: Whether the label of a question follows.
    """

    start: int
    end: int
    label: str | None
    before_question: bool = False


def marked_spans(text: str) -> list[MarkedSpan]:
    """Return the context that a text marks off, in order.

    Args:
        text: A message.
    """
    tagged = _tagged_spans(text)
    return sorted([*tagged, *_labelled_spans(text, tagged)], key=lambda span: span.start)


def requires_context(text: str) -> bool:
    """Return whether a line tells the model to answer from the context, documents and so on."""
    for line in text.splitlines():
        start = line[:_MAX_INSTRUCTION_CHARS]
        if _from_pattern().search(start) and _names_context(start):
            return True
    return False


def makes_context_optional(text: str) -> bool:
    """Return whether a line says that using the context is optional."""
    for line in text.splitlines():
        start = line[:_MAX_INSTRUCTION_CHARS]
        if (
            _optional_pattern().search(start)
            and _from_pattern().search(start)
            and not _only_pattern().search(start)
        ):
            return _names_context(start)
    return False


def _nouns() -> frozenset[str]:
    return all_words("context", "nouns")


@cache
def _words_of_labels() -> frozenset[str]:
    return _nouns() | all_words("context", "label_words")


@cache
def _from_pattern() -> re.Pattern[str]:
    words = all_alternatives("context", "from")
    return re.compile(
        rf"\b(?:{words})\b|{all_alternatives('context', 'from_anywhere')}", re.IGNORECASE
    )


@cache
def _optional_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{all_alternatives('context', 'optional')})\b", re.IGNORECASE)


@cache
def _only_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{all_alternatives('context', 'only')})\b", re.IGNORECASE)


@cache
def _nouns_anywhere() -> re.Pattern[str]:
    return re.compile(all_alternatives("context", "nouns_anywhere"))


def _names_context(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    return not _nouns().isdisjoint(words) or _nouns_anywhere().search(text) is not None


def _announces_context(line: str) -> bool:
    """Whether a line announces context: "Context information is below."."""
    return (
        len(line) <= _MAX_ANNOUNCEMENT_CHARS
        and _names_context(line)
        and line.rstrip().endswith((".", ":", "：", "。"))
    )


class _OpenTag(NamedTuple):
    """A tag that is not closed yet.

    Attributes:
        name: Its name.
        start: The start of its content.
        label: Its label, or that of the tag around it.
        spans_before: The number of spans that end before it.
    """

    name: str
    start: int
    label: str | None
    spans_before: int


def _tagged_spans(text: str) -> list[MarkedSpan]:
    """Return the contents of the innermost tags that are named for documents."""
    open_tags: list[_OpenTag] = []
    spans: list[MarkedSpan] = []
    for tag in _TAG.finditer(text):
        name = tag["name"].casefold().replace("-", "_")
        if not _is_named_for_documents(name):
            continue
        if tag["end"]:
            opened = _close_tag(open_tags, name)
            # A tag that contains documents is not one itself.
            if opened is not None and len(spans) == opened.spans_before:
                content = text[opened.start : tag.start()]
                if len(_WORD.findall(content)) >= _MIN_WORDS:
                    spans.append(MarkedSpan(opened.start, tag.start(), opened.label))
        elif not tag["rest"].endswith("/"):
            label = open_tags[-1].label if open_tags else None
            attribute = _ATTRIBUTE.search(tag["rest"])
            if attribute is not None:
                label = attribute[1].strip()
            open_tags.append(
                _OpenTag(name=name, start=tag.end(), label=label, spans_before=len(spans))
            )
    return spans


def _is_named_for_documents(name: str) -> bool:
    if name in _TAG_NAMES or name in _nouns():
        return True
    for word in name.split("_"):
        for form in (word, word.rstrip("s")):
            if form in _TAG_NAMES or form in _nouns():
                return True
    return False


def _close_tag(open_tags: list[_OpenTag], name: str) -> _OpenTag | None:
    """Remove the last open tag of a name, and those inside it, and return it."""
    oldest = max(len(open_tags) - _MAX_OPEN_TAGS, 0)
    for index in reversed(range(oldest, len(open_tags))):
        if open_tags[index].name == name:
            opened = open_tags[index]
            del open_tags[index:]
            return opened
    return None


def _labelled_spans(text: str, tagged: Sequence[MarkedSpan]) -> list[MarkedSpan]:
    """Return the context marked off by labels, fences and numbers, outside of tags."""
    parser = _LineParser(text)
    end = 0
    tag_index = 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        while tag_index < len(tagged) and tagged[tag_index].end <= start:
            tag_index += 1
        if tag_index < len(tagged) and tagged[tag_index].start < end:
            parser.close(start)
        else:
            parser.read(start, end)
    parser.close(len(text))
    return parser.spans


@dataclass(slots=True)
class _Passage:
    """A passage of a block.

    Attributes:
        start: Its start.
        end: Its end; that of the last one is where its block ends.
        label: Its label.
    """

    start: int
    end: int
    label: str | None


@dataclass(slots=True)
class _Block:
    """A part of a text that is marked off as context, up to the current line.

    Attributes:
        start: Its start.
        mark: The line that begins and ends it, such as a fence; None if there is none.
        passages: Its numbered passages.
        has_marks: Whether one of them has a mark or a noun, "[1]" or "Document 1:". Lines with a
            plain number are then clauses inside a passage, not passages.
    """

    start: int
    mark: str | None = None
    passages: list[_Passage] = field(default_factory=list[_Passage])
    has_marks: bool = False

    def begin_passage(self, line_start: int, start: int, label: str | None) -> None:
        """End the current passage before a line, and begin one after the line's label."""
        if self.passages:
            self.passages[-1].end = line_start
        elif line_start > self.start:
            self.passages.append(_Passage(start=self.start, end=line_start, label=None))
        self.passages.append(_Passage(start=start, end=start, label=label))


class _PassageLabel(NamedTuple):
    """The label of a numbered passage at the beginning of its line.

    Attributes:
        end: Its end in the line.
        text: The number or mark.
        form: A mark ("[2]"), a noun with a number ("Document 2:"), or a plain number ("2.").
    """

    end: int
    text: str | None
    form: str


class _LineParser:
    """Finds context marked off by labels, fences and numbers, line by line.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._block: _Block | None = None
        self._is_announced = False
        self.spans: list[MarkedSpan] = []

    def read(self, start: int, end: int) -> None:
        """Process the next line."""
        line = self._text[start:end].rstrip("\r\n")
        block, mark = self._block, _MARK.fullmatch(line)
        if mark is not None:
            self._read_mark(mark[1], start, end)
        elif block is not None and block.mark is not None:
            label = self._passage_label(line)
            if label is not None:
                block.begin_passage(start, start + label.end, label.text)
        else:
            self._read_words(line, start)

    def close(self, end: int, *, before_question: bool = False) -> None:
        """End the block, if one is open.

        Args:
            end: Its end.
            before_question: Whether the label of a question ends it.
        """
        block, self._block = self._block, None
        if block is None:
            return
        if block.mark is None:
            end = _before_question(self._text, block.start, end)
        if not block.passages:
            self.spans.append(MarkedSpan(block.start, end, None, before_question))
            return
        block.passages[-1].end = end
        for passage in block.passages:
            if passage.start < passage.end:
                self.spans.append(
                    MarkedSpan(passage.start, passage.end, passage.label, before_question)
                )

    def _read_mark(self, mark: str, start: int, end: int) -> None:
        block = self._block
        if block is not None and block.mark is not None:
            closes = mark[0] == ">" if block.mark[0] == "<" else mark[:3] == block.mark[:3]
            if closes:
                self.close(start)
        elif self._is_announced or (
            block is not None and not self._text[block.start : start].strip()
        ):
            self._block = _Block(end, mark)
        elif block is not None:
            # A separator line between passages.
            block.begin_passage(start, end, None)
        self._is_announced = False

    def _read_words(self, line: str, start: int) -> None:
        passage_label = self._passage_label(line)
        label = None
        if passage_label is None or passage_label.form != "noun":
            label = _label_in(line)
        if label is not None:
            self.close(start, before_question=label.is_of_question)
            if not label.is_of_question:
                self._block = _Block(start + label.end)
        elif passage_label is not None:
            if self._block is None:
                self._block = _Block(start, has_marks=passage_label.form != "number")
            self._block.begin_passage(start, start + passage_label.end, passage_label.text)
        if line.strip():
            self._is_announced = self._block is None and label is None and _announces_context(line)

    def _passage_label(self, line: str) -> _PassageLabel | None:
        """Return the label of the passage that a line begins, or None.

        Outside of a block, only "[2]" and "Document 2:" begin a passage. In a block with such
        passages, lines with a plain number are clauses of a passage.
        """
        block = self._block
        match = _PASSAGE.match(line)
        if match is None:
            return None
        if match["noun"] is not None:
            if match["noun"].casefold() not in _nouns():
                return None
            label = _PassageLabel(match.end(), match["number"], "noun")
        elif match["plain"] is not None:
            label = _PassageLabel(match.end(), match["plain"], "number")
            if block is None or block.has_marks:
                return None
        else:
            label = _PassageLabel(match.end(), match["mark"], "mark")
            if block is None and not match["mark"].isdigit():
                return None
        if block is not None and label.form != "number":
            block.has_marks = True
        return label


class _Label(NamedTuple):
    """A label or heading of context, or of what follows it.

    Attributes:
        end: Its end in the line.
        is_of_question: Whether it is that of a question or task, which ends the context.
    """

    end: int
    is_of_question: bool


def _label_in(line: str) -> _Label | None:
    """Return the label or heading at the beginning of a line, or None."""
    match = _LABEL.match(line)
    if match is not None:
        words = _WORD.findall(_ASIDE.sub("", match["words"].casefold()))
        if _is_question_label(words):
            return _Label(match.start("rest"), is_of_question=True)
        is_short = len(words) <= _MAX_LABEL_WORDS and _words_of_labels().issuperset(words)
        if not _nouns().isdisjoint(words) and (is_short or not match["rest"].strip(" *_\t")):
            return _Label(match.start("rest"), is_of_question=False)
        return None
    heading = _HEADING.fullmatch(line)
    words = _WORD.findall(heading["words"].casefold()) if heading else []
    if _is_question_label(words):
        return _Label(len(line), is_of_question=True)
    is_short = len(words) <= _MAX_HEADING_WORDS and _words_of_labels().issuperset(words)
    if is_short and not _nouns().isdisjoint(words):
        return _Label(len(line), is_of_question=False)
    return None


def _is_question_label(words: Sequence[str]) -> bool:
    is_short = 0 < len(words) <= _MAX_QUESTION_LABEL_WORDS
    return is_short and words[-1] in all_words("context", "question_labels")


def _before_question(text: str, start: int, end: int) -> int:
    """Return the end of a block, before its last paragraph if that asks something."""
    block = text[start:end].rstrip()
    gap = block.rfind("\n\n")
    last_paragraph = block[gap:].strip() if gap >= 0 else ""
    if len(last_paragraph) <= _MAX_QUESTION_CHARS and last_paragraph.endswith(("?", "？")):
        return start + gap
    return end
