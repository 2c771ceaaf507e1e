"""Draws what a terminal showed, as SVG. Its text can be selected; nothing is loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

__all__ = ["WIDTH", "Output", "drawing"]

WIDTH = 92
# As rich's, without the fonts that it loads from elsewhere.
_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" \
xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-matrix text {{ white-space: pre; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
ANIMATION</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
  <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
# Where animations are not wanted, or not known, all lines are there from the beginning.
_ANIMATION = """\
@keyframes appear {{ from {{ opacity: 0; }} }}
@media (prefers-reduced-motion: no-preference) {{
{rules}
}}
"""


@dataclass(frozen=True)
class Output:
    """What appears in a terminal at one time.

    Attributes:
        text: Its text, with ANSI codes.
        delay_s: When it appears, in seconds.
    """

    text: str
    delay_s: float = 0.0


def drawing(outputs: Sequence[Output], *, title: str, name: str) -> str:
    """Return the picture of a terminal.

    Args:
        outputs: What appears in it, from top to bottom.
        title: The title of its window.
        name: The prefix of names in the picture.
    """
    rules: list[str] = []
    with Path(os.devnull).open("w") as null:
        console = Console(record=True, width=WIDTH, file=null, force_terminal=True)
        line_index = 0
        for output in outputs:
            lines = Text.from_ansi(output.text).wrap(console, WIDTH)
            for line in lines:
                console.print(line)
                if output.delay_s:
                    rules.append(
                        f'[clip-path="url(#{name}-line-{line_index})"] '
                        f"{{ animation: appear 1ms {output.delay_s:.2f}s both; }}"
                    )
                line_index += 1
    animation = _ANIMATION.format(rules="\n".join(rules)) if rules else ""
    svg = console.export_svg(title=title, code_format=_SVG, unique_id=name)
    # Copied text has spaces that a shell understands.
    return svg.replace("ANIMATION", animation).replace("&#160;", " ")
