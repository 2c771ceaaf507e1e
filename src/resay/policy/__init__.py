"""The policy: a YAML file that says what to check, how, and what to do with the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.policy.actions import Annotate as Annotate
    from resay.policy.actions import Block as Block
    from resay.policy.actions import MarkStyle as MarkStyle
    from resay.policy.allowance import Allowance as Allowance
    from resay.policy.auto import ChainBudget as ChainBudget
    from resay.policy.limits import Limits as Limits
    from resay.policy.limits import ProcessLimits as ProcessLimits
    from resay.policy.model import Policy as Policy
    from resay.policy.model import StreamMode as StreamMode
    from resay.policy.model import default_text as default_text
    from resay.policy.model import marks_problem as marks_problem
    from resay.policy.model import policy_schema as policy_schema
    from resay.policy.regenerate import Regenerate as Regenerate
    from resay.policy.sampling import Params as Params
    from resay.policy.sampling import Sampling as Sampling
    from resay.policy.structured import Structured as Structured
    from resay.policy.threshold import Threshold as Threshold
    from resay.providers.prices import Price as Price
    from resay.providers.prices import Prices as Prices
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.policy.actions": ("Annotate", "Block", "MarkStyle"),
            "resay.policy.regenerate": ("Regenerate",),
            "resay.policy.allowance": ("Allowance",),
            "resay.policy.auto": ("ChainBudget",),
            "resay.policy.limits": ("Limits", "ProcessLimits"),
            "resay.policy.model": (
                "Policy",
                "StreamMode",
                "default_text",
                "marks_problem",
                "policy_schema",
            ),
            "resay.policy.sampling": ("Params", "Sampling"),
            "resay.policy.structured": ("Structured",),
            "resay.policy.threshold": ("Threshold",),
            "resay.providers.prices": ("Price", "Prices"),
        },
    )
