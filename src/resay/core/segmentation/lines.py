"""What a single line of Markdown is, looked at by itself: without its markers and white space."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "Fence",
    "is_definition",
    "is_delimiter_row",
    "is_heading",
    "is_rule",
    "is_tags",
    "parse_fence",
]

_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]*>\s*)+\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """The line that opens fenced code.

    Attributes:
        mark: "`" or "~".
        length: How many of them; the closing line has at least as many.
        quotes: How many quote markers stand before it.
    """

    mark: str
    length: int
    quotes: int

    def closed_by(self, body: str) -> bool:
        """Whether the line closes the code."""
        return len(body) >= self.length and not body.strip(self.mark)


def parse_fence(body: str, quotes: int) -> Fence | None:
    """The fence the line is, or None; a line with inline code between backticks is none."""
    mark = body[:1]
    if mark not in {"`", "~"} or not body.startswith(mark * 3):
        return None
    info = body.lstrip(mark)
    if mark == "`" and "`" in info:
        return None
    return Fence(mark, len(body) - len(info), quotes)


def is_rule(body: str) -> bool:
    """Whether the line, which is not empty, draws a line: `---`, `* * *`, `___`, `===`."""
    if body[0] not in "-*_=":
        return False
    compact = body.replace(" ", "").replace("\t", "")
    return len(compact) >= 3 and not compact.strip(body[0])


def is_heading(body: str) -> bool:
    """Whether the line is a heading such as `## Title`."""
    if not body.startswith("#"):
        return False
    title = body.lstrip("#")
    return len(body) - len(title) <= 6 and (not title or title[0].isspace())


def is_delimiter_row(body: str) -> bool:
    """Whether the line is the one below a table's head: `|---|:-:|`."""
    if "|" not in body or body.strip("|-: \t"):
        return False
    cells = [cell.strip() for cell in body.strip("|").split("|")]
    return all(cell.strip(":") and not cell.strip(":").strip("-") for cell in cells)


def is_definition(body: str) -> bool:
    """Whether the line is `[label]: destination "title"` with a destination like an address."""
    if not body.startswith("[") or body.startswith("[^"):
        return False
    label, found, rest = body[1:1000].partition("]:")
    target, _, title = rest.strip().partition(" ")
    if not (found and label and target) or "[" in label or "]" in label:
        return False
    title = title.strip()
    titled = not title or (title[0] in "\"'(" and title[-1] in "\"')" and len(title) > 1)
    return titled and (target[0] in "<#/" or "/" in target or ":" in target or "@" in target)


def is_tags(body: str) -> bool:
    """Whether the line is HTML tags and nothing else."""
    return _TAGS.match(body) is not None
