"""The names of an input's columns, and the arguments of a check that they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from resay.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the input's columns.

    None means the attribute's own name, for rows that have such a column. A column that is named
    must be in each row.

    Attributes:
        response: The text to check.
        question: The question it answers.
        messages: The conversation it answers, in OpenAI's format, in place of a question.
        samples: Other responses to the same question: a list, or a string with a JSON list.
        references: Trusted texts, in the same form.
        id: The row's id.
    """

    response: str | None = None
    question: str | None = None
    messages: str | None = None
    samples: str | None = None
    references: str | None = None
    id: str | None = None

    def arguments(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the response of a row and the other arguments for `Guard.check`.

        Args:
            values: The row.

        Raises:
            ConfigurationError: A column is missing, or has the wrong type.
        """
        response = self._value("response", values)
        if response is None and "response" not in values and self.response is None:
            raise ConfigurationError(
                "the row has no column 'response'; pass the name of the column with the responses"
            )
        if not isinstance(response, str):
            raise ConfigurationError(
                f"column {self.response or 'response'!r} must contain text, not"
                f" {type(response).__name__}; pass the name of the column with the responses"
            )
        question: Any = self._value("messages", values) or self._value("question", values)
        if isinstance(question, str):
            question = _list_or_text("messages", question, _is_message)
        given: dict[str, Any] = {"question": question or None}
        if (samples := self._value("samples", values)) is not None:
            given["samples"] = _texts("samples", samples)
        if (references := self._value("references", values)) is not None:
            given["references"] = _texts("references", references)
        return response, given

    def id_of(self, values: Mapping[str, Any]) -> str | None:
        """Return a row's own id; None if it has none."""
        name = self.id or "id"
        return None if values.get(name) is None else str(values[name])

    def to_dict(self) -> dict[str, str | None]:
        """Return the names, JSON-ready."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _value(self, role: str, values: Mapping[str, Any]) -> Any:
        name = getattr(self, role)
        if name is not None and name not in values:
            raise ConfigurationError(f"the row has no column {name!r}")
        return values.get(name or role)


def _texts(role: str, value: Any) -> list[str]:
    if isinstance(value, str):
        if not value.strip():
            return []
        value = _list_or_text(role, value, _is_text)
        value = [value] if isinstance(value, str) else value
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise ConfigurationError(f"column {role!r} must contain a list of strings")
    return texts


# A list as JSON, or as Python's `repr`, which is no JSON.
_LIST = re.compile(r"""\s*\[\s*(?:\{\s*)?["'].*["'](?:\s*\})?\s*,?\s*\]\s*""", re.DOTALL)


def _is_text(item: object) -> bool:
    return isinstance(item, str)


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and "role" in item


def _list_or_text(role: str, text: str, is_item: Callable[[object], bool]) -> Any:
    """Return the list that a text contains as JSON, or the text: "[1] Moor, Ada: …" is no list.

    Args:
        role: The column's role, for messages.
        text: The text.
        is_item: Recognizes the items of such a list; a list without any of them is a text.
    """
    if not text.lstrip().startswith("["):
        return text
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        if not _LIST.fullmatch(text):
            return text
        raise ConfigurationError(
            f"column {role!r} contains a list that is not valid JSON"
        ) from None
    return value if not value or any(map(is_item, value)) else text
