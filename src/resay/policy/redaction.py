"""What messages about a policy show of its values: no secrets, and no environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from resay._internal.patterns import lazy_pattern
from resay.policy.document import Document, Path, truncated

CREDENTIALS = lazy_pattern(r"://[^/\s]*@")
_SECRET_KEY = lazy_pattern(
    r"(?:api|access|operator|private)_?key|token|secret|authorization|passw|credential|cookie",
    re.IGNORECASE,
)
_HIDDEN = "'***'"
# Shorter ones would also match inside ordinary words.
_MIN_SECRET_CHARS = 6
_IDENTIFIER = lazy_pattern(r"[\w-]+")


def is_secret(path: Path) -> bool:
    """Return whether the value at a path may be a secret, by the keys above it."""
    return any(
        isinstance(step, str) and (step == "params" or _SECRET_KEY.search(step)) for step in path
    )


def displayed(path: Path, document: Document) -> str:
    """Return a value as messages show it."""
    if is_secret(path):
        return _HIDDEN
    position = document.positions.get(path)
    if position is not None and position.written is not None:
        # Values from the environment must not appear in logs.
        return f"the value of {truncated(position.written)}"
    value = document.value_at(path)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and CREDENTIALS.search(value):
        return _HIDDEN
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return truncated(value)


def redacted(message: str, path: Path, document: Document) -> str:
    """Return a message about the value at a path without secrets of the document.

    Args:
        message: The message, which may be from third-party code.
        path: The path of the value.
        document: The document.
    """
    for secret in _secrets(document):
        message = message.replace(secret, "***")
    for name in _names_from_environment(path, document):
        message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "***", message)
    return message


def _secrets(document: Document) -> list[str]:
    """Return the secrets of a document, the longest first."""
    secrets: set[str] = set()
    for path, text in _texts(document.data, ()):
        if is_secret(path) or CREDENTIALS.search(text):
            secrets.add(text)
    for path, position in document.positions.items():
        if position.written is not None:
            secrets.add(str(document.value_at(path)))
    long_enough = [secret for secret in secrets if len(secret) >= _MIN_SECRET_CHARS]
    return sorted(long_enough, key=len, reverse=True)


def _texts(data: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, value in cast("dict[str, object]", data).items():
            yield from _texts(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(cast("list[object]", data)):
            yield from _texts(value, (*path, i))


def _names_from_environment(path: Path, document: Document) -> list[str]:
    """Return the parts of a value that only its variables contain, such as a module's name.

    A message about `package.module:name` names the module and the name separately.
    """
    position = document.positions.get(path)
    if position is None or position.written is None:
        return []
    names = _IDENTIFIER.findall(str(document.value_at(path)))
    written = _IDENTIFIER.findall(position.written)
    return sorted((name for name in names if name not in written), key=len, reverse=True)
