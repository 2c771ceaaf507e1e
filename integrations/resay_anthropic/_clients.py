"""Clients that are there already."""

from __future__ import annotations

from typing import Any, TypeVar

from resay.adapters import OnVerdict, PolicyLike
from resay.errors import ConfigurationError
from resay_anthropic._middleware import HallucinationMiddleware

__all__ = ["guard_client"]

C = TypeVar("C")


def guard_client(
    client: C,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> C:
    """Return a client like the one given, guarded.

    It shares its connections with the one given, which stays as it is. Its other middleware stands
    behind the guard, and so handles samples too.

    Args:
        client: A client of Anthropic's SDK: `Anthropic`, `AsyncAnthropic`, those for Bedrock,
            Vertex AI and Foundry, or one of a class of your own.
        policy: As for `HallucinationMiddleware`. It takes the place of the policy of a guarded
            client.
        retriever: As for `HallucinationMiddleware`.
        on_verdict: As for `HallucinationMiddleware`.

    Returns:
        A client of the same class, with a `HallucinationMiddleware`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It is no such client, the policy asks for what cannot be had of one, or
            it regenerates and there is no retriever.
    """
    guarded: Any = client
    # The classes share no public base, but all take middleware the same way.
    takes_middleware = hasattr(guarded, "middleware") and hasattr(guarded, "with_options")
    if isinstance(guarded, type) or not takes_middleware:
        raise ConfigurationError(
            f"guard_client takes a client of Anthropic's SDK that takes middleware, not a"
            f" {type(client).__name__!r}"
        )
    others = [m for m in guarded.middleware if not isinstance(m, HallucinationMiddleware)]
    ours = HallucinationMiddleware(policy, retriever=retriever, on_verdict=on_verdict)
    return guarded.with_options(middleware=[ours, *others])
