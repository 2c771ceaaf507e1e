"""Verdicts as JSON of earlier versions, such as those in existing journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

# The keys of earlier versions and those of today, by where they are in a verdict.
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "sentences": {"why": "reason"},
    "claims": {"why": "reason"},
    "contradicted_by": {"claimed": "claim_span", "said": "evidence_span"},
    "steps": {
        "why": "reason",
        "note": "error",
        "skipped": "skip_reason",
        "remark": "verdict_reason",
    },
    "regeneration": {},
    "attempts": {"why": "reason", "note": "error"},
}


def with_current_keys(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict with today's keys in place of those that earlier versions wrote.

    Args:
        verdict: A verdict as JSON, of any version. What is malformed is left for the validation.
    """
    current: dict[str, Any] = {}
    try:
        for key, value in verdict.items():
            current[key] = _renamed(value, key) if key in _RENAMED else value
    # Nothing that we wrote is nested that deeply: the validation says what is wrong.
    except RecursionError:
        return dict(verdict)
    return current


def _renamed(value: Any, parent: str) -> Any:
    if isinstance(value, Mapping):
        renamed: dict[str, Any] = {}
        for key, item in cast("Mapping[str, Any]", value).items():
            name = _RENAMED[parent].get(key, key)
            renamed[name] = _renamed(item, key) if key in _RENAMED else item
        if parent == "contradicted_by" and renamed.get("source") == "second":
            renamed["source"] = "second_opinion"
        return renamed
    if isinstance(value, (list, tuple)):
        return [_renamed(item, parent) for item in cast("Sequence[Any]", value)]
    return value
