"""Parameters under the names of one API and of OpenAI's chat completions, by which queries go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from resay.providers.apis.reading import mapping

__all__ = ["Names", "changes"]


@dataclass(frozen=True, slots=True)
class Names:
    """What the parameters of chat completions are called elsewhere.

    Attributes:
        paths: Where a parameter stands, by its name in chat completions, if not under that name.
        unknown: Parameters of chat completions that have no counterpart.
        turned: What makes of a value what the API takes.
    """

    paths: Mapping[str, tuple[str, ...]]
    unknown: frozenset[str]
    turned: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Any])

    def applied(self, body: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body with parameters of chat completions; None takes one out."""
        applied = dict(body)
        for name, value in params.items():
            if value is None or name not in self.unknown:
                turned = value if value is None else self.turned.get(name, _same)(value)
                applied = _put(applied, self.paths.get(name, (name,)), turned)
        return applied


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ, with their values after; None for those taken out."""
    gone: dict[str, Any] = dict.fromkeys(name for name in before if name not in after)
    absent = object()
    return gone | {k: v for k, v in after.items() if before.get(k, absent) != v}


def _put(body: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *inner = path
    if inner:
        value = _put(mapping(body.get(name)), tuple(inner), value) or None
    if value is None:
        return {k: v for k, v in body.items() if k != name}
    return {**body, name: value}


def _same(value: Any) -> Any:
    return value
