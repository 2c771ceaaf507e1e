"""`response_format`: in which form an answer is wanted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field

from simulation.body import Body, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ResponseFormat"]

_QUOTED = re.compile(r"(?<!\w)(['\"`])([A-Za-z_]\w*)\1(?!\w)")


class _JsonSchema(Body):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    schema_: dict[str, Any] = Field(default_factory=dict[str, Any], alias="schema")


class ResponseFormat(Body):
    """The form of an answer: text, any JSON object, or one that satisfies a schema."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: _JsonSchema | None = None

    def check(self, texts: Iterable[str]) -> None:
        """Check it against the texts of the conversation.

        Raises:
            InvalidRequestError: The schema is missing; or any JSON will do, but nobody spoke of
                JSON.
        """
        if self.type == "json_schema" and self.json_schema is None:
            where = "response_format.json_schema"
            raise InvalidRequestError(f"Missing required parameter: {where!r}.", where)
        if self.type == "json_object" and not any("json" in text.lower() for text in texts):
            raise InvalidRequestError(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of"
                " type 'json_object'.",
                "messages",
            )

    def schema_for(self, texts: Sequence[str]) -> dict[str, Any] | None:
        """Return the schema of the answer, None where it is to be text.

        Args:
            texts: The texts of the conversation. Where any JSON object will do, the last of them
                that holds a JSON schema is obeyed; in want of one, the last that names keys, in
                quotes; in want of both, the object has an "answer".
        """
        if self.json_schema is not None and self.type == "json_schema":
            return self.json_schema.schema_
        if self.type != "json_object":
            return None
        found = (schema for text in reversed(texts) if (schema := _schema_in(text)))
        return next(found, _with_keys(["answer"]))


def _schema_in(text: str) -> dict[str, Any] | None:
    written = _object_in(text)
    if written is not None and isinstance(written.get("properties"), dict):
        return written
    keys = list(dict.fromkeys(key for _, key in _QUOTED.findall(text)))
    return _with_keys(keys) if keys else None


def _object_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    while start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        return cast("dict[str, Any]", found)
    return None


def _with_keys(keys: Sequence[str]) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in keys}
    return {"type": "object", "properties": properties, "required": list(keys)}
