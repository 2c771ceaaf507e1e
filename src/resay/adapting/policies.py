"""Making a guard of whatever an adapter is given."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from resay.guard import Guard
from resay.policy import Policy

__all__ = ["PolicyLike", "guard_of"]

PolicyLike = Guard | Policy | str | PathLike[str] | Mapping[str, Any] | None


def guard_of(policy: PolicyLike) -> Guard:
    """Return a guard as it is, and make one of whatever describes a policy.

    Raises:
        PolicyError: The policy is not valid.
    """
    return policy if isinstance(policy, Guard) else Guard(policy)
