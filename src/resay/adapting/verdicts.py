"""A verdict as frameworks pass it on."""

from __future__ import annotations

from typing import Any

from resay.verdict import Verdict

__all__ = ["VERDICT_KEY", "verdict_data"]

VERDICT_KEY = "hallucination"
"""Where the verdict stands in what a framework says of an answer beside its words."""


def verdict_data(verdict: Verdict, action: str) -> dict[str, Any]:
    """Return what users of a framework see of a verdict.

    Args:
        verdict: The verdict.
        action: What was done. When the answer was withheld, its words are left out here too.

    Returns:
        The verdict as JSON-ready values, with `action`.
    """
    return {**verdict.to_dict(content=action != "block"), "action": action}
