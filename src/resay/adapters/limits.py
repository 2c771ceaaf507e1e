"""Limits that several processes and machines share."""

from __future__ import annotations

from resay.providers.limits import using_ledger
from resay.providers.shared_limits import (
    SharedLimits,
    SharedState,
    SharedStateConfig,
    SharedTotals,
    open_state,
)

__all__ = [
    "SharedLimits",
    "SharedState",
    "SharedStateConfig",
    "SharedTotals",
    "open_state",
    "using_ledger",
]
