"""The parameters of requests, and their names in each API."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resay.core.request import Request
from resay.providers.apis.values import Body, mapping

HOSTED = "the provider would run its tools once more for every sample"
UNKNOWN_TOOL = "Resay does not know a tool, and the provider may run it once more for every sample"
# The types, or their beginnings, of the tools that providers run, and Google's keys for them.
_PROVIDER_RUN = (
    "browser_search",
    "code_execution",
    "codeExecution",
    "code_interpreter",
    "file_search",
    "googleSearch",
    "google_search",
    "image_generation",
    "mcp",
    "shell",
    "tool_search",
    "urlContext",
    "url_context",
    "web_fetch",
    "web_search",
)


def unrepeatable_tools(kinds: Iterable[str]) -> str:
    """Return why a request must not be repeated that offers tools the application does not run.

    Args:
        kinds: The types of those tools, or their keys if they have no type.
    """
    is_hosted = any(kind.startswith(_PROVIDER_RUN) for kind in kinds)
    return HOSTED if is_hosted else UNKNOWN_TOOL


def object_tools(names: Sequence[str], choice: object, forced: Collection[str]) -> tuple[str, ...]:
    """Return the only tool offered, if it must be called: a way to request an object.

    Args:
        names: The names of the offered tools.
        choice: The request's tool choice.
        forced: The choices that force a tool call.
    """
    return (names[0],) if len(names) == 1 and names[0] and choice in forced else ()


def tools_for_continuation(body: Body, request: Request, none: object) -> dict[str, Any]:
    """Return the parameters a request needs to continue a conversation with tool calls.

    Some providers refuse such a conversation without its tools. No tool may be called again.

    Args:
        body: The request of the main call.
        request: The request.
        none: The API's tool choice that forbids calls.
    """
    has_calls = any(m.get("role") == "tool" or m.get("tool_calls") for m in request.messages)
    if has_calls and body.get("tools") and "tools" not in request.params:
        return {"tools": body["tools"], "tool_choice": none}
    return {}


@dataclass(frozen=True, slots=True)
class Names:
    """Map the parameter names of chat completions to those of another API.

    Attributes:
        paths: The path of a parameter, by its chat completions name, if it differs from that name.
        unknown: Parameters of chat completions without a counterpart.
        converters: Functions that convert a parameter's value for the API.
    """

    paths: Mapping[str, tuple[str, ...]]
    unknown: frozenset[str]
    converters: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Any])

    def apply(self, body: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body with chat completions parameters applied; None removes one."""
        applied = dict(body)
        for name, value in params.items():
            if value is not None and name in self.unknown:
                continue
            convert = self.converters.get(name)
            if value is not None and convert is not None:
                value = convert(value)
            applied = _put(applied, self.paths.get(name, (name,)), value)
        return applied


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ, with their values after; None for those removed."""
    removed: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    changed = {k: v for k, v in after.items() if k not in before or before[k] != v}
    return removed | changed


def _put(body: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *inner = path
    if inner:
        value = _put(mapping(body.get(name)), tuple(inner), value) or None
    if value is None:
        return {k: v for k, v in body.items() if k != name}
    return {**body, name: value}
