"""The policy: a YAML file that says what to check, how, and what to do with the result."""

from __future__ import annotations

from resay.policy.actions import Annotate, Block, MarkStyle, Regenerate
from resay.policy.allowance import Allowance, allowance
from resay.policy.auto import ChainBudget
from resay.policy.limits import Limits, ProcessLimits
from resay.policy.model import (
    Policy,
    StreamMode,
    default_text,
    marks_problem,
    policy_schema,
)
from resay.policy.sampling import Params, Sampling
from resay.policy.structured import Structured
from resay.policy.threshold import Threshold
from resay.providers.prices import Price, Prices

__all__ = [
    "Allowance",
    "Annotate",
    "Block",
    "ChainBudget",
    "Limits",
    "MarkStyle",
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
    "marks_problem",
    "policy_schema",
]
