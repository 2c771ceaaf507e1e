"""Writes the pages of docs/reference, which are made from the code: `make reference`.

The keys of policies and of gateway files and the fields of verdicts come from their JSON Schemas,
the methods from the docstrings of their modules.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resay.plugins import registry
from resay.policy import policy_schema
from resay_server.gateway import GatewayConfig
from resay_server.gateway.openapi.document import document

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"


def reference_pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {
        "policy.md": policy_page(policy_schema()),
        "methods.md": methods_page(registry()),
        "verdict.md": verdict_page(document()["components"]["schemas"]),
        "gateway.md": gateway_page(GatewayConfig.model_json_schema()),
    }


# The policy ---------------------------------------------------------------------------------------


def policy_page(schema: Mapping[str, Any]) -> str:
    """Return the keys of a policy, as tables.

    Args:
        schema: The JSON Schema of policies.
    """
    introduction = (
        "Every key of a policy file, from the JSON Schema that `resay policy schema` prints."
        " `resay policy check FILE` reports mistakes with file and line. [How a check"
        " runs](../runtime.md) and [Methods](../methods.md) explain the keys. `${NAME}` stands for"
        " an environment variable wherever a value does."
    )
    return _schema_page("Policy keys", introduction, schema, schema["$defs"])


def verdict_page(schemas: Mapping[str, Any]) -> str:
    """Return the fields of a verdict, as tables.

    Args:
        schemas: The schemas of the gateway's OpenAPI document.
    """
    introduction = (
        "The JSON of a verdict, as `Verdict.to_dict()` returns it and responses have it under"
        " `hallucination`. The attributes of `resay.Verdict` have the same names. Where content is"
        " left out, texts are missing, and scores and offsets stay."
    )
    return _schema_page(
        "Verdict fields", introduction, schemas["Verdict"], schemas, with_defaults=False
    )


def gateway_page(schema: Mapping[str, Any]) -> str:
    """Return the keys of a gateway file, as tables.

    Args:
        schema: The JSON Schema of gateway files.
    """
    introduction = (
        "Every key of the file that `resay serve --config` reads: [The gateway](../gateway.md)."
    )
    return _schema_page("Gateway keys", introduction, schema, schema["$defs"])


def _schema_page(
    title: str,
    introduction: str,
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    *,
    with_defaults: bool = True,
) -> str:
    """Return a table of an object's keys, and one of each object in it."""
    lines = [f"# {title}", "", introduction, ""]
    keys = _Keys(definitions, with_defaults=with_defaults)
    lines += keys.table(schema)
    while keys.left:
        name, given = keys.left.popleft()
        lines += [f"## {name}", ""]
        if given.get("description"):
            lines += [inline(given["description"]), ""]
        lines += keys.table(given)
    return "\n".join(lines) + "\n"


class _Keys:
    """Writes tables of keys, and finds which tables there must be.

    Args:
        definitions: The `$defs` of the schema.
        with_defaults: Whether tables say which keys are required, and the defaults of others.
    """

    def __init__(self, definitions: Mapping[str, Any], *, with_defaults: bool = True) -> None:
        self._with_defaults = with_defaults
        self.left: deque[tuple[str, Mapping[str, Any]]] = deque()
        self._definitions = definitions
        self._names: dict[tuple[object, ...], str] = {}

    def table(self, given: Mapping[str, Any]) -> list[str]:
        """Return the keys of an object."""
        lines = ["| key | type | default | |", "|---|---|---|---|"]
        if not self._with_defaults:
            lines = ["| field | type | |", "|---|---|---|"]
        for key, one in given.get("properties", {}).items():
            row = [f"`{key}`", self._type(one, key), inline(one.get("description", ""))]
            if self._with_defaults:
                default = "required" if key in given.get("required", ()) else ""
                if "default" in one and not isinstance(one["default"], dict):
                    default = f"`{json.dumps(one['default'])}`"
                row.insert(2, default)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        return [*lines, ""]

    def _type(self, given: Mapping[str, Any], key: str) -> str:
        """Return a type as people write it."""
        if "$ref" in given:
            return self._type(self._definitions[given["$ref"].rpartition("/")[2]], key)
        if "properties" in given:
            return self._link(given, key)
        if "const" in given:
            return f"`{given['const']}`"
        if "enum" in given:
            return ", ".join(f"`{one}`" for one in given["enum"])
        if several := given.get("anyOf", given.get("oneOf")):
            kinds = [self._type(one, key) for one in several if one.get("pattern") != r"\$\{"]
            return " or ".join(dict.fromkeys(kinds))
        if given.get("type") == "array":
            return "list of " + self._type(given.get("items", {}), key)
        values: list[Any] = [
            given.get("additionalProperties"),
            *given.get("patternProperties", {}).values(),
        ]
        if kinds := [self._type(value, key) for value in values if isinstance(value, dict)]:
            return "mapping to " + kinds[0]
        return _bounded(given)

    def _link(self, given: Mapping[str, Any], key: str) -> str:
        """Return a link to an object's own table."""
        # The schema repeats an object wherever it can be: one table is enough.
        same = (given.get("title"), given.get("description"), *given["properties"])
        if same not in self._names:
            properties = given["properties"]
            constants = {k: one["const"] for k, one in properties.items() if "const" in one}
            kind = constants.get("method") or next(iter(constants.values()), None)
            if kind is None and "method" in properties and self._with_defaults:
                kind = "your own"
            name = f"{key}: {kind}" if kind else key
            if name in self._names.values():
                name = f"{name} ({given['title']})"
            self._names[same] = name
            self.left.append((name, given))
        name = self._names[same]
        return f"[{name.partition(': ')[2] or name}](#{_slug(name)})"


def _bounded(given: Mapping[str, Any]) -> str:
    names = {"string": "text", "boolean": "true or false", "object": "mapping"}
    kind = str(given.get("type", "anything"))
    bounds = [
        f"{sign} {given[key]:.10g}"
        for key, sign in (
            *(("minimum", "≥"), ("exclusiveMinimum", ">")),
            *(("maximum", "≤"), ("exclusiveMaximum", "<")),
        )
        if key in given
    ]
    return " ".join([names.get(kind, kind), ", ".join(bounds)]).strip()


def _slug(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name.lower()).strip("-")


def inline(text: str) -> str:
    """Return a text as one line of Markdown."""
    return " ".join(text.split()).replace("${", "$\\{").replace("<", "&lt;")


# The methods --------------------------------------------------------------------------------------


def methods_page(scorers: Mapping[str, type[Any]]) -> str:
    """Return what the module of each method says: its paper, its equations and its cost.

    Args:
        scorers: The scorer classes by method name.
    """
    lines = [
        "# Methods and their papers",
        "",
        "What each method computes, with the sections and equations of its paper:"
        " [Methods](../methods.md) says which to choose.",
        "",
    ]
    for name, scorer in scorers.items():
        title, _, text = inspect.cleandoc(sys.modules[scorer.__module__].__doc__ or "").partition(
            "\n"
        )
        settings = f"[Settings](policy.md#{_slug(f'chain: {name}')})"
        lines += [f"## {title.rstrip('.')}", "", settings, "", _escaped(text.strip()), ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a docstring as Markdown that shows its prose as it is; formulas are indented."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)
            continue
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [re.sub(r"([<*_|])", r"\\\1", prose) for prose in parts[::2]]
        lines.append("".join(parts))
    return "\n".join(lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in reference_pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
