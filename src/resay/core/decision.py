"""How a check ends."""

from __future__ import annotations

from typing import Literal

__all__ = ["Decision"]

Decision = Literal["consistent", "flagged", "inconclusive", "skipped"]
