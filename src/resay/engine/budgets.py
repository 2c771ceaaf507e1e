"""The budgets of checks, by the size of the question and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from resay.core.request import Request
from resay.policy import Allowance, Policy, allowance
from resay.providers.limits import Budget


def shared_budget(policy: Policy, request: Request) -> Budget:
    """Return a budget for the checks of several answers to a request."""
    tokens = question_tokens(request)
    return budget_of(policy, allowance(0, samples=policy.sampling.max, question_tokens=tokens))


def budget_of(policy: Policy, allowed: Allowance) -> Budget:
    """Return a budget with a policy's limits.

    Args:
        policy: The policy.
        allowed: What replaces those of its limits that are `auto`.
    """
    limits = policy.limits
    return Budget(
        calls=allowed.calls if limits.calls == "auto" else limits.calls,
        tokens=allowed.tokens if limits.tokens == "auto" else limits.tokens,
        cost_usd=limits.cost_usd,
    )


def question_tokens(request: Request) -> int:
    """Estimate the number of tokens in a request's messages and tools."""
    return estimated_tokens([*request.messages, request.params.get("tools")])


def estimated_tokens(value: object) -> int:
    """Estimate the number of tokens in a value's texts; images and files count as none."""
    if isinstance(value, str):
        return 0 if value.startswith("data:") else len(value.encode("utf-8", "replace")) // 4
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return sum(
            estimated_tokens(part) for key, part in items if key not in ("data", "file_data")
        )
    if isinstance(value, (list, tuple)):
        return sum(map(estimated_tokens, cast("Sequence[object]", value)))
    return 0
