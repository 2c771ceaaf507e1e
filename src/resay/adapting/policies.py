"""Making a guard of whatever an adapter is given."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Policy

__all__ = ["PolicyLike", "check_client_policy", "guard_of"]

PolicyLike = Guard | Policy | str | PathLike[str] | Mapping[str, Any] | None


def guard_of(policy: PolicyLike) -> Guard:
    """Return a guard as it is, and make one of whatever describes a policy.

    Raises:
        PolicyError: The policy is not valid.
    """
    return policy if isinstance(policy, Guard) else Guard(policy)


def check_client_policy(guard: Guard, client: str) -> None:
    """See whether a guard can check what a client is answered.

    Args:
        guard: The guard.
        client: What it guards, for the error.

    Raises:
        ConfigurationError: The policy asks for what cannot be had of a client.
    """
    sampling = guard.policy.sampling
    if method := guard.needing("references"):
        raise ConfigurationError(
            f"method {method!r} compares with references, and {client} has none to give; leave"
            " `evidence: references` out, or call `Guard.check` with `references`"
        )
    if sampling.via == "litellm" and sampling.model is None:
        raise ConfigurationError(
            f"`sampling.via` is 'litellm', but samples are asked for by {client} itself; leave it"
            " out, or name a `sampling.model`"
        )
    if sampling.via == "native" and sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {sampling.model!r}, which is asked through litellm; leave"
            " `via: native` out"
        )
