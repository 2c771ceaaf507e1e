"""The documentation pages, their code blocks, and an environment that answers their requests."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from resay import Guard, Verdict
from resay_lab.batch import RowScorer
from simulation import SimulatedProvider

__all__ = [
    "EXAMPLES",
    "PAGES",
    "ROOT",
    "Snippet",
    "answered_by",
    "create_files",
    "installed_for",
    "modules",
    "remove_output",
    "snippets",
]

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The first line of a block that is a module with its tests.
_MODULE = re.compile(r"# (\w+\.py)\n")
_INSTALL = "$ pip install "


@dataclass(frozen=True, slots=True)
class Snippet:
    """A code block of a page.

    Attributes:
        page: The page's name.
        text: The block.
        installed: The arguments of the page's last `pip install` before it; `resay` if there is
            none.
    """

    page: str
    text: str
    installed: tuple[str, ...]


def snippets(language: str) -> list[Snippet]:
    """Return the blocks of a language on all pages."""
    found = [found for page in PAGES for kind, found in _blocks_of(page) if kind == language]
    return [snippet for snippet in found if _MODULE.match(snippet.text) is None]


def modules() -> dict[str, str]:
    """Return the blocks that are modules with tests, by the file that the first line names."""
    named: dict[str, str] = {}
    for page in PAGES:
        for _, snippet in _blocks_of(page):
            if match := _MODULE.match(snippet.text):
                named[match[1]] = snippet.text
    return named


def _blocks_of(page: Path) -> list[tuple[str, Snippet]]:
    found: list[tuple[str, Snippet]] = []
    installed = ("resay",)
    for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        found.append((kind, Snippet(page.name, text, installed)))
        for line in text.splitlines():
            if line.startswith(_INSTALL):
                installed = tuple(shlex.split(line.removeprefix(_INSTALL), comments=True))
    return found


def installed_for(example: Path) -> tuple[str, ...]:
    """Return the arguments of the `pip install` that an example's docstring names."""
    lines = re.findall(r"^pip install (.+)$", example.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 1, example.name
    return tuple(shlex.split(lines[0]))


def answered_by(provider: SimulatedProvider) -> Mapping[str, str]:
    """Return environment variables that redirect all calls of the pages to a simulated provider."""
    return {
        "OPENAI_API_KEY": "simulated",
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_API_BASE": provider.base_url,  # LlamaIndex knows only this one
        "LLM_URL": provider.base_url,
        "ANTHROPIC_API_KEY": "simulated",
        "ANTHROPIC_BASE_URL": provider.root_url,
    }


def create_files(folder: Path) -> None:
    """Create the files that the pages take for granted."""
    (folder / "policy.yaml").write_text(snippets("yaml")[0].text)
    (folder / "answer.txt").write_text("The bridge opened in 1932. It has 31 lamps.")
    (folder / "verdict.json").write_text(json.dumps(Verdict("consistent", 0.0, "fine").to_dict()))
    rows = [
        {
            "question": "Tell me about the bridge.",
            "lang": "en" if lamps % 2 else "de",
            "response": f"The bridge opened in 1932. It has {lamps} lamps.",
            "samples": [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)],
        }
        for lamps in range(30, 40)
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "ngram.yaml").write_text("chain: [{method: ngram}]\n")
    scored = RowScorer(Guard(folder / "ngram.yaml")).fill(rows)
    (folder / "scored.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scored))
    for name, lamps in (("a", 11), ("b", 22), ("c", 33)):
        (folder / f"{name}.txt").write_text(f"The bridge opened in 1932. It has {lamps} lamps.")


def remove_output(folder: Path, words: list[str]) -> None:
    """Remove the file that a command writes: others read it, and a batch replaces no output."""
    if "--out" in words:
        (folder / words[words.index("--out") + 1]).unlink(missing_ok=True)
