"""Draws the three distributions for docs/architecture.md: `python -m website.architecture`.

Each picture is a stack of layers; a package may import those below it. The tests compare the files
with what this module draws, and its layers with the packages that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["DISTRIBUTIONS", "Box", "Distribution", "svg_of"]

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
_WIDTH, _LAYER, _BOX, _GAP, _LEFT = 880, 74, 56, 10, 12


@dataclass(frozen=True)
class Box:
    """A package, or several that belong together.

    Attributes:
        name: Its name.
        about: What is in it, in a few words.
        theirs: Whether it belongs to another distribution.
    """

    name: str
    about: str
    theirs: bool = False


@dataclass(frozen=True)
class Distribution:
    """A distribution and its layers, the highest first."""

    name: str
    title: str
    layers: Sequence[Sequence[Box]]

    @property
    def packages(self) -> set[str]:
        """The names of its own packages."""
        return {
            name
            for layer in self.layers
            for box in layer
            if not box.theirs
            for name in box.name.split(" · ")
        }


PUBLISHED = (
    Box("resay", "Guard, Policy, Verdict, Answer", theirs=True),
    Box("resay.plugins", "to extend it", theirs=True),
    Box("resay.adapters", "to embed it", theirs=True),
    Box("resay.commands", "what commands share", theirs=True),
)
DISTRIBUTIONS = (
    Distribution(
        "resay",
        "resay: the guard",
        (
            (
                Box("resay_openai · resay_anthropic", "guarded clients"),
                Box("resay_langchain · resay_llamaindex", "guarded chains and agents"),
            ),
            (
                Box("resay_frameworks", "guard objects of frameworks"),
                Box("resay_litellm · resay_observers", "hooks and tools"),
                Box("resay_mcp", "tools for agents"),
                Box("resay_pytest", "a fixture for tests"),
            ),
            (
                Box("cli · commands", "resay ask, check, demo, ..."),
                Box("adapters", "what embeds a guard"),
            ),
            (Box("guard", "the public entry point"),),
            (Box("guard_core", "what a guard is made of"),),
            (Box("reporting", "verdicts: terminal, HTML, tools"),),
            (Box("engine", "one request, from the question to the answer; regeneration"),),
            (Box("policy", "the YAML file, typed"), Box("plugins", "what extensions import")),
            (Box("retrieval", "search for documents"),),
            (Box("scorers", "one published method per file"),),
            (
                Box("providers", "models: retries, limits, caches, prices"),
                Box("models", "neural models"),
                Box("testing", "simulated models"),
            ),
            (Box("core", "values: passage, claims, verdict; text without models"),),
            (
                Box("lang", "words and prompts, a file per language"),
                Box("_internal", "event loops, imports, telemetry"),
                Box("errors", "the exceptions"),
            ),
        ),
    ),
    Distribution(
        "resay-server",
        "resay-server: for operators",
        (
            (Box("commands", "resay serve, journal, label"),),
            (Box("gateway", "guards the requests that pass through it"),),
            (Box("dashboard", "the journal in a browser"),),
            (Box("rechecks", "recorded answers, checked again"),),
            (Box("labelling", "samples, labels, agreement"),),
            (Box("journal", "the database of verdicts"),),
            PUBLISHED,
        ),
    ),
    Distribution(
        "resay-lab",
        "resay-lab: for data scientists and researchers",
        (
            (Box("commands", "resay batch, calibrate, bench"),),
            (
                Box("batch", "many answers: files, Ray, Batch APIs"),
                Box("benchmarks", "published benchmarks"),
            ),
            (Box("calibration", "thresholds and weights from labels"),),
            PUBLISHED,
        ),
    ),
)
# Colours that read on white and on black.
_STYLE = """
text { font-family: system-ui, -apple-system, Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.name { font-size: 14px; font-weight: 600; }
.about { font-size: 12px; fill: #59636e; }
rect { fill: #eaf2fb; stroke: #7aa7d9; }
rect.theirs { fill: none; stroke: #8c959f; stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .about { fill: #9198a1; }
  rect { fill: #15263a; stroke: #3d6ea5; }
}
"""


def svg_of(distribution: Distribution) -> str:
    """Return the picture of a distribution."""
    height = 44 + _LAYER * len(distribution.layers)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(distribution.title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="26">{escape(distribution.title)}</text>',
    ]
    for index, layer in enumerate(distribution.layers):
        width = (_WIDTH - 2 * _LEFT - _GAP * (len(layer) - 1)) / len(layer)
        top = 44 + index * _LAYER
        for column, box in enumerate(layer):
            left = _LEFT + column * (width + _GAP)
            middle = left + width / 2
            kind = ' class="theirs"' if box.theirs else ""
            lines += [
                f'<rect{kind} x="{left:.0f}" y="{top}" width="{width:.0f}" height="{_BOX}" '
                'rx="6"/>',
                f'<text class="name" x="{middle:.0f}" y="{top + 24}" text-anchor="middle">'
                f"{escape(box.name)}</text>",
                f'<text class="about" x="{middle:.0f}" y="{top + 43}" text-anchor="middle">'
                f"{escape(box.about)}</text>",
            ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Write the pictures."""
    for distribution in DISTRIBUTIONS:
        path = PICTURES / f"{distribution.name}.svg"
        path.write_text(svg_of(distribution), encoding="utf-8")


if __name__ == "__main__":
    main()
