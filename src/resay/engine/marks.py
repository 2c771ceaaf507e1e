"""Marks that a reader of an answer sees: warnings, and citations of sources."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from resay._internal.patterns import lazy_pattern
from resay.core.documents import Document
from resay.core.marks import Mark, with_marks
from resay.core.reasoning import notice_after, split_reasoning
from resay.core.verdict import Verdict
from resay.engine.caveats import Caveat, CaveatKind
from resay.policy import MarkStyle

_FOOTNOTE = lazy_pattern(r"\[\^(\d{1,6})\]")
_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})(.*)")
_LABELS: dict[CaveatKind, str] = {
    "contradicted": "Contradicted",
    "unsupported": "Unsupported",
    "not checked": "Not checked",
}
# The last characters of a word that a footnote directly after it would become part of: an address,
# and the text of a link.
_NEEDS_SPACE = lazy_pattern(r"(\]|://\S*)\Z")


def inline_marks(
    caveats: Sequence[Caveat],
    response: str,
    *,
    marker: str | None = None,
    unscored: str = " [not checked]",
) -> list[Mark]:
    """Return the marks `[unsupported]`, `[contradicted]` and `[not checked]` for caveats.

    Args:
        caveats: The caveats, in order.
        response: The response, as far as it is known.
        marker: The mark of what is flagged, in place of the first two.
        unscored: The mark of what was not scored.
    """
    marks: list[Mark] = []
    for caveat in caveats:
        if caveat.kind == "not checked":
            label = unscored
        else:
            label = f" [{caveat.kind}]" if marker is None else marker
        marks.append(Mark(caveat.position, _placed(label, caveat, response)))
    return marks


def _placed(label: str, caveat: Caveat, response: str) -> str:
    """Return a label as it follows what it is about."""
    if not caveat.is_apart:
        return label
    line_break = _line_break_of(response)
    paragraph = f"`{caveat.name}`{label}" if caveat.name else label.strip()
    # What follows a block of code in the next line would go on in the same paragraph.
    following = response[caveat.position :]
    ends = not following.strip() or following.startswith(line_break * 2)
    end = "" if ends else line_break
    return f"{line_break}{line_break}{paragraph}{end}"


def _line_break_of(response: str) -> str:
    """Return the line break that a response uses first."""
    before, _, _ = response.partition("\n")
    return "\r\n" if before.endswith("\r") else "\n"


class MarkWriter:
    """Writes the marks of one answer, as its text is released.

    Args:
        style: Their style.
        in_text: Whether they may be in the text. Otherwise it was shown before its check, and all
            of them are in a list after it.

    Attributes:
        marks: The marks so far.
    """

    def __init__(self, style: MarkStyle, *, in_text: bool = True) -> None:
        self._style: MarkStyle = style
        self._in_text = in_text
        self._first_number = 1
        # Each footnote, or line of the list, with its number.
        self._notes: dict[str, int] = {}
        self.marks: list[Mark] = []

    def add(self, caveats: Sequence[Caveat], response: str) -> list[Mark]:
        """Return the marks for caveats.

        Args:
            caveats: The next caveats, in order.
            response: The response, as far as it is known.
        """
        if self._style == "inline" and self._in_text:
            marks = inline_marks(caveats, response)
        else:
            marks = self._noted(caveats, response)
        self.marks += marks
        return marks

    def _noted(self, caveats: Sequence[Caveat], response: str) -> list[Mark]:
        if not self._notes:
            numbers = [int(number) for number in _FOOTNOTE.findall(response)]
            self._first_number = max(numbers, default=0) + 1
        marks: list[Mark] = []
        for caveat in caveats:
            note = _note(caveat) if self._in_text else _list_item(caveat)
            number = self._notes.setdefault(note, self._first_number + len(self._notes))
            if self._in_text:
                marks.append(Mark(caveat.position, _reference(caveat, number, response)))
        return marks

    def finish(self, response: str) -> list[Mark]:
        """Return the marks at the end of the response: its footnotes, or the list."""
        if not self._notes:
            return []
        lines = [] if self._in_text else ["Not confirmed:"]
        for note, number in self._notes.items():
            lines.append(f"[^{number}]: {note}" if self._in_text else f"- {note}")
        line_break = _line_break_of(response)
        notice = notice_after(
            with_marks(response, self.marks), line_break.join(lines), line_break=line_break
        )
        end = Mark(len(response), closed_fence(response) + notice)
        self.marks.append(end)
        return [end]


def _reference(caveat: Caveat, number: int, response: str) -> str:
    reference = f"[^{number}]"
    if caveat.is_apart:
        return _placed(reference, caveat, response)
    last_word = response[max(caveat.position - 200, 0) : caveat.position]
    return f" {reference}" if _NEEDS_SPACE.search(last_word) else reference


def _note(caveat: Caveat) -> str:
    label = _LABELS[caveat.kind]
    return f"{label}: {caveat.evidence}" if caveat.evidence else f"{label}."


def _list_item(caveat: Caveat) -> str:
    words = f"`{caveat.name}`" if caveat.name else f"“{caveat.words}”"
    if caveat.is_about_all:
        words = "The whole answer"
    elif caveat.kind == "not checked" and caveat.is_apart:
        words = caveat.words.capitalize()
    label = _LABELS[caveat.kind].lower()
    return f"{words}: {label}; {caveat.evidence}" if caveat.evidence else f"{words}: {label}"


def closed_fence(response: str) -> str:
    """Return what closes a block of code in which a response ends; empty if it ends in none."""
    fence = ""
    for line in response.splitlines():
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1]
        elif _closes(match, fence):
            fence = ""
    return f"{_line_break_of(response)}{fence}" if fence else ""


def _closes(match: re.Match[str], fence: str) -> bool:
    """Return whether a fence closes the block that another one opens."""
    return match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip()


def _is_one_block(text: str) -> bool:
    """Return whether a text is one block of code and nothing else."""
    first, *others = text.splitlines() or [""]
    opening = _FENCE.match(first)
    if opening is None:
        return False
    for index, line in enumerate(others, 1):
        match = _FENCE.match(line)
        if match is not None and _closes(match, opening[1]):
            return index == len(others)
    return False


def is_for_programs(response: str) -> bool:
    """Return whether a response is JSON or one block of code, which a program reads."""
    answer = split_reasoning(response).answer.strip()
    if _is_one_block(answer):
        return True
    if not answer.startswith(("{", "[")):
        return False
    try:
        json.loads(answer)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return False
    return True


def begins_like_data(text: str) -> bool:
    """Return whether a response that begins with this text may be for programs."""
    return text.lstrip().startswith(("{", "[", "```", "~~~"))


def cited(response: str, verdict: Verdict, marks: Sequence[Mark] = ()) -> str:
    """Return a response with marks such as [1] after its sentences, and a list of its sources.

    Args:
        response: The response.
        verdict: The verdict on it.
        marks: Other marks in it, in order.

    Returns:
        The marked text; without citations if it cites nothing.
    """
    sources = verdict.regeneration.sources if verdict.regeneration else ()
    if not sources:
        return with_marks(response, marks)
    numbers = {source.id: number for number, source in enumerate(sources, 1)}
    citations: list[Mark] = []
    for sentence in verdict.sentences:
        label = "".join(f"[{numbers[id_]}]" for id_ in sentence.citations if id_ in numbers)
        if label:
            citations.append(Mark(sentence.end, f" {label}"))
    lines = [f"[{numbers[source.id]}] {_describe(source)}" for source in sources]
    in_order = sorted([*citations, *marks], key=lambda mark: mark.position)
    return "\n".join([f"{with_marks(response, in_order).rstrip()}\n\nSources:", *lines])


def _describe(source: Document) -> str:
    url = source.metadata.get("url")
    location = url if isinstance(url, str) and url.strip() else source.id
    description = source.title if source.title == location else f"{source.title} ({location})"
    return " ".join(description.split())
