"""The headings of Markdown, and the metadata above it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FrontMatter", "Heading", "front_matter", "heading_of"]

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<body>[\w-]+:.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r"^title:[ \t]*(?P<title>.*)$", re.MULTILINE)
_ANCHOR = re.compile(r"(?<!\s)\s*\{#[^{}]*\}\s*\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        level: How deep it is; 1 is a title, 0 stands above all headings.
        text: What it says, without markup.
    """

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """YAML between two lines of dashes at the top of a file.

    Attributes:
        end: Where it ends (exclusive), in code points; 0 where there is none.
        title: The title it gives; empty where it gives none.
    """

    end: int
    title: str


def front_matter(text: str) -> FrontMatter:
    """Find the metadata a Markdown file begins with."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(0, "")
    title = _TITLE.search(match["body"])
    return FrontMatter(match.end(), title["title"].strip().strip("\"' ") if title else "")


def heading_of(block: str) -> Heading:
    """Read a block that is a heading: `## Title`, or a title with a line of `=` or `-` below."""
    lines = block.strip().splitlines()
    first = lines[0].strip()
    marks = len(first) - len(first.lstrip("#"))
    if marks:
        return Heading(marks, _plain(first.strip("#")))
    return Heading(1 if lines[-1].strip().startswith("=") else 2, _plain(first))


def _plain(markup: str) -> str:
    text = _LINK.sub(r"\1", _ANCHOR.sub("", markup))
    return " ".join(_EMPHASIS.sub("", text).strip("# \t").split())
