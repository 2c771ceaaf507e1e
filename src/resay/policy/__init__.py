"""The policy: a YAML file that says what to check, how, and what to do about it."""

from __future__ import annotations

from resay.policy.allowance import Allowance, allowance
from resay.policy.model import (
    Annotate,
    Block,
    Limits,
    Params,
    Policy,
    Price,
    Prices,
    ProcessLimits,
    Regenerate,
    Sampling,
    StreamMode,
    Structured,
    Threshold,
    policy_schema,
)

__all__ = [
    "Allowance",
    "Annotate",
    "Block",
    "Limits",
    "Params",
    "Policy",
    "Price",
    "Prices",
    "ProcessLimits",
    "Regenerate",
    "Sampling",
    "StreamMode",
    "Structured",
    "Threshold",
    "allowance",
    "policy_schema",
]
