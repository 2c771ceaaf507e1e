"""The messages that docs/troubleshooting.md quotes are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from resay import Guard, Policy
from resay.errors import ConfigurationError

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SOURCES = ("src", "server/src", "lab/src", "integrations")
# litellm's own.
OTHERS = ("LiteLLM: model cost map fetch failed",)
FACTS = {"chain": [{"method": "facts"}]}
BY_REFERENCES = {"chain": [{"method": "ngram", "evidence": "references"}]}
VARIABLE = "\N{HORIZONTAL ELLIPSIS}"


def quoted() -> Iterator[str]:
    """Yield the messages in the first column of the tables of messages and reasons."""
    tables = re.findall(r"^\| (?:message|reason) \|.*?\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert len(tables) == 6
    for table in tables:
        for row in table.splitlines():
            cell = row.removeprefix("| ").partition(" | ")[0]
            yield from re.findall(r"`([^`]+)`", cell)


@cache
def texts() -> tuple[str, ...]:
    """Return all texts of the code; what an f-string fills in is `…`."""
    found: list[str] = []
    for root in SOURCES:
        for path in sorted((ROOT / root).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(
                    node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
                )
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts = [
                        str(value.value) if isinstance(value, ast.Constant) else VARIABLE
                        for value in node.values
                    ]
                    found.append("".join(parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if id(node) not in docstrings:
                        found.append(node.value)
                elif isinstance(node, ast.ClassDef):
                    found.append(node.name)
    return tuple(found)


# What composes its message from parts.
MISTAKES: tuple[Callable[[], object], ...] = (
    lambda: Policy.parse("chain: [{method: factz}]\ntreshold: {}\nlimits: 5\n"),
    lambda: Guard(FACTS).check("It opened in 1932."),
    lambda: Guard(BY_REFERENCES).check("It opened in 1932."),
)


@cache
def raised() -> tuple[str, ...]:
    """Return the messages of some mistakes."""
    messages: list[str] = []
    for mistake in MISTAKES:
        with pytest.raises(ConfigurationError) as raising:
            mistake()
        messages.append(str(raising.value))
    return tuple(messages)


@pytest.mark.parametrize("message", [text for text in quoted() if text not in OTHERS])
def test_a_quoted_message_is_in_the_code(message: str) -> None:
    pattern = re.compile(".*".join(map(re.escape, message.split(VARIABLE))), re.DOTALL)
    assert any(map(pattern.search, (*texts(), *raised()))), message
