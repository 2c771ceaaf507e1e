"""Verdicts as JSON of earlier versions, such as those in existing journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

_IN_UNITS = {"why": "reason"}
_IN_STEPS = {"why": "reason", "note": "error", "skipped": "skip_reason", "remark": "verdict_reason"}
_IN_ATTEMPTS = {"why": "reason", "note": "error"}


def with_current_keys(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict with today's keys in place of those that earlier versions wrote.

    Args:
        verdict: A verdict as JSON, of any version. What is malformed is left for the validation.
    """
    current = dict(verdict)
    for key, names in (("sentences", _IN_UNITS), ("claims", _IN_UNITS), ("steps", _IN_STEPS)):
        if key in current:
            current[key] = _renamed_items(current[key], names)
    regeneration = current.get("regeneration")
    if isinstance(regeneration, Mapping) and "attempts" in regeneration:
        attempts = _renamed_items(regeneration["attempts"], _IN_ATTEMPTS)
        current["regeneration"] = {**regeneration, "attempts": attempts}
    return current


def _renamed_items(items: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        return items
    renamed: list[Any] = []
    for item in cast("Sequence[Any]", items):
        if isinstance(item, Mapping):
            fields = cast("Mapping[str, Any]", item)
            renamed.append({names.get(name, name): value for name, value in fields.items()})
        else:
            renamed.append(item)
    return renamed
