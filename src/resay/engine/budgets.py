"""The budgets of checks, by the size of the question and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from resay.core.request import Request
from resay.policy import Allowance, Policy
from resay.policy.allowance import allowance
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
    tokens = 0
    # No recursion: a conversation may be nested more deeply than Python's stack.
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            tokens += 0 if part.startswith("data:") else len(part.encode("utf-8", "replace")) // 4
        elif isinstance(part, Mapping):
            items = cast("Mapping[str, object]", part).items()
            parts.extend(item for key, item in items if key not in ("data", "file_data"))
        elif isinstance(part, (list, tuple)):
            parts.extend(cast("Sequence[object]", part))
    return tokens
