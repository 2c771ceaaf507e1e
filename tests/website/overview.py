"""Draws the path of an answer for docs/how-it-works.md: `python -m website.overview`.

The tests compare the file with what this module draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["PICTURE", "drawing"]

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "how-it-works.svg"
_WIDTH, _HEIGHT = 880, 354
_TITLE_HEIGHT, _LINE_HEIGHT, _PADDING = 26, 19, 12


@dataclass(frozen=True)
class Line:
    """A line of text in a box.

    Attributes:
        text: The text.
        kind: Its class in the style: `text`, `good` or `bad`.
    """

    text: str
    kind: str = "text"


@dataclass(frozen=True)
class Box:
    """A step of a check, with an example of what it holds.

    Attributes:
        left: Its left edge.
        top: Its upper edge.
        width: Its width.
        title: Its name.
        lines: The example.
        optional: Whether a check can do without it.
    """

    left: int
    top: int
    width: int
    title: str
    lines: Sequence[Line]
    optional: bool = False

    @property
    def height(self) -> int:
        """Its height."""
        return _TITLE_HEIGHT + _LINE_HEIGHT * len(self.lines) + _PADDING


@dataclass(frozen=True)
class Arrow:
    """An arrow along straight lines from point to point."""

    points: Sequence[tuple[int, int]]


BOXES = (
    Box(12, 74, 172, "Question", (Line("Tell me about the bridge."),)),
    Box(220, 74, 142, "Your model", (Line("asked N + 1 times"),)),
    Box(400, 16, 244, "Answer", (Line("The bridge opened in 1932."), Line("It has 31 lamps."))),
    Box(
        400,
        116,
        244,
        "Samples",
        (
            Line("It has 11 lamps and opened in 1932."),
            Line("… opened in 1932. It has 22 lamps."),
            Line("Opened in 1932, it has 33 lamps."),
        ),
    ),
    Box(676, 16, 192, "Claims", (Line("The bridge opened in 1932."), Line("It has 31 lamps."))),
    Box(12, 258, 172, "Documents", (Line("if you have any"),), optional=True),
    Box(
        220,
        246,
        192,
        "Method",
        (Line("facts: compares, no calls"), Line("prompt: a judge decides")),
    ),
    Box(
        448,
        246,
        190,
        "Verdict: flagged",
        (
            Line("0.25  The bridge opened …", "good"),
            Line("0.80  It has 31 lamps.", "bad"),
        ),
    ),
    Box(
        674,
        246,
        194,
        "Policy's action",
        (
            Line("annotate: add the verdict"),
            Line("block: withhold it"),
            Line("regenerate: repair it"),
        ),
    ),
)
ARROWS = (
    Arrow(((184, 102), (216, 102))),
    Arrow(((362, 94), (382, 94), (382, 54), (396, 54))),
    Arrow(((362, 112), (382, 112), (382, 158), (396, 158))),
    Arrow(((644, 54), (672, 54))),
    Arrow(((772, 92), (772, 222), (318, 222), (318, 242))),
    Arrow(((508, 211), (508, 222))),
    Arrow(((184, 287), (216, 287))),
    Arrow(((412, 287), (444, 287))),
    Arrow(((638, 287), (670, 287))),
)
# Colours that read on white and on black.
_STYLE = """
text { font-family: system-ui, -apple-system, Helvetica, Arial, sans-serif; fill: #1f2328; }
text { font-size: 12px; }
text.title { font-size: 14px; font-weight: 600; }
.good { fill: #1a7f37; }
.bad { fill: #cf222e; font-weight: 600; }
rect { fill: #eaf2fb; stroke: #7aa7d9; }
rect.optional { fill: none; stroke: #8c959f; stroke-dasharray: 5 4; }
path { fill: none; stroke: #59636e; stroke-width: 1.5; }
marker path { fill: #59636e; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .good { fill: #57d364; }
  .bad { fill: #ff7b72; }
  rect { fill: #15263a; stroke: #3d6ea5; }
  path { stroke: #9198a1; }
  marker path { fill: #9198a1; }
}
"""
_ARROW_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)


def drawing() -> str:
    """Return the picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        "<title>From a question to an answer that was checked</title>",
        f"<style>{_STYLE}</style>",
        _ARROW_HEAD,
    ]
    for arrow in ARROWS:
        points = "L".join(f"{x} {y}" for x, y in arrow.points)
        lines.append(f'<path d="M{points}" marker-end="url(#head)"/>')
    for box in BOXES:
        lines += _box(box)
    return "\n".join([*lines, "</svg>", ""])


def _box(box: Box) -> list[str]:
    kind = ' class="optional"' if box.optional else ""
    text_left = box.left + _PADDING
    lines = [
        f'<rect{kind} x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" '
        'rx="6"/>',
        f'<text class="title" x="{text_left}" y="{box.top + 21}">{escape(box.title)}</text>',
    ]
    for index, line in enumerate(box.lines):
        baseline = box.top + _TITLE_HEIGHT + _LINE_HEIGHT * index + 15
        lines.append(
            f'<text class="{line.kind}" x="{text_left}" y="{baseline}">{escape(line.text)}</text>'
        )
    return lines


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    main()
