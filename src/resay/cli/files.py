"""Reading what the user names on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

from typer.core import TyperCommand

from resay.errors import ConfigurationError

__all__ = ["SeveralValues", "read_logprobs", "read_text", "read_texts"]

_SEVERAL = ("--samples", "--references")


class SeveralValues(TyperCommand):
    """A command whose file options take several values: `--samples a.txt b.txt`."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values, which is what the parser understands."""
        spread: list[str] = []
        option: str | None = None
        has_value = False
        for word in args:
            if word.startswith("-") and word != "-":
                option, has_value = (word if word in _SEVERAL else None), False
            elif option:
                spread += [option] if has_value else []
                has_value = True
            spread.append(word)
        return super().parse_args(ctx, spread)


def read_text(name: str | Path) -> str:
    """Read a text file, or stdin for `-`.

    Raises:
        ConfigurationError: It cannot be read as UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if str(name) == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(name)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{str(name)!r} is not UTF-8 text") from error


def read_texts(path: Path) -> list[str]:
    """Read one text from a file, or many from a JSON list or JSON Lines of strings.

    Raises:
        ConfigurationError: The file cannot be read or holds something else.
    """
    text = read_text(path)
    if path.suffix not in (".json", ".jsonl"):
        return [text]
    try:
        lines = [line for line in text.split("\n") if line.strip()]
        data: Any = json.loads(text) if path.suffix == ".json" else [json.loads(x) for x in lines]
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not valid JSON: {error}") from error
    items = cast("list[object]", data) if isinstance(data, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise ConfigurationError(f"{str(path)!r} must hold strings only, as a list or one per line")
    return texts


def read_logprobs(path: Path) -> list[dict[str, Any]]:
    """Read the tokens of a response from a JSON file.

    Args:
        path: The file: a list of tokens as OpenAI's `logprobs.content` has them, or an object with
            such a list in `content`.

    Raises:
        ConfigurationError: The file cannot be read or holds something else.
    """
    try:
        data: Any = json.loads(read_text(path))
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not valid JSON: {error}") from error
    content = cast("dict[str, object]", data).get("content") if isinstance(data, dict) else data
    items = cast("list[object]", content) if isinstance(content, list) else [None]
    tokens = [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
    if len(tokens) < len(items):
        raise ConfigurationError(
            f"{str(path)!r} must hold a list of tokens, as OpenAI's `logprobs.content` is one"
        )
    return tokens
