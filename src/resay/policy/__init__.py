"""The policy: a YAML file that says what to check, how, and what to do with the result."""

from __future__ import annotations

from resay.policy.auto import Allowance, ChainBudget, allowance
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
    default_text,
    policy_schema,
)

__all__ = [
    "Allowance",
    "Annotate",
    "Block",
    "ChainBudget",
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
    "default_text",
    "policy_schema",
]
