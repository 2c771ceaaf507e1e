"""Tools and the choice among them, in the shape that litellm takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from resay.adapters import UnmappedError

__all__ = ["anthropic_choice", "anthropic_tools", "check_openai_tools"]

_ANTHROPIC_TOOL = frozenset({"name", "description", "input_schema"})


def check_openai_tools(tools: object, who: str) -> None:
    """See that all tools are functions, in OpenAI's shape.

    Raises:
        UnmappedError: One is something else, such as a tool that the provider runs itself.
    """
    for tool in cast("list[Any]", tools or []):
        if not isinstance(tool, Mapping) or set(cast("Mapping[str, Any]", tool)) != {
            "type",
            "function",
        }:
            raise UnmappedError(f"{who} has a tool that is no plain function")
        if tool["type"] != "function":
            raise UnmappedError(f"{who} has a tool that the provider runs")


def anthropic_tools(tools: object, who: str) -> list[dict[str, Any]]:
    """Translate tools from Anthropic's shape to OpenAI's.

    Raises:
        UnmappedError: One is more than a function.
    """
    translated: list[dict[str, Any]] = []
    for tool in cast("list[Any]", tools or []):
        if not isinstance(tool, Mapping) or not {"name", "input_schema"} <= tool.keys():
            raise UnmappedError(f"{who} has a tool that the provider runs")
        function = {str(k): v for k, v in cast("Mapping[Any, Any]", tool).items()}
        if further := function.keys() - _ANTHROPIC_TOOL:
            raise UnmappedError(f"{who} has a tool with {min(further)!r}")
        function["parameters"] = function.pop("input_schema")
        translated.append({"type": "function", "function": function})
    return translated


def anthropic_choice(choice: object, who: str) -> dict[str, Any]:
    """Translate the choice among tools from Anthropic's shape to litellm's parameters.

    Raises:
        UnmappedError: It is none that is known.
    """
    if not isinstance(choice, Mapping):
        raise UnmappedError(f"{who} has a tool choice of an unknown shape")
    parts = dict(cast("Mapping[str, Any]", choice))
    kind, name = parts.pop("type", None), parts.pop("name", None)
    alone: bool | None = parts.pop("disable_parallel_tool_use", None)
    words = {"auto": "auto", "any": "required", "none": "none"}
    if parts or (kind not in words and not (kind == "tool" and isinstance(name, str))):
        raise UnmappedError(f"{who} has a tool choice of an unknown shape")
    chosen = words.get(kind) or {"type": "function", "function": {"name": name}}
    parallel = {} if alone is None else {"parallel_tool_calls": not alone}
    return {"tool_choice": chosen, **parallel}
