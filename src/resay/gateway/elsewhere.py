"""Asking the models that a policy names, on behalf of clients nobody knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from resay.adapters import OPENAI_PARAMS
from resay.core.query import Query
from resay.errors import ProviderRefusedError
from resay.policy import Policy
from resay.providers.base import Completions, Layer, Provider

__all__ = ["Elsewhere"]

# What says how to answer, and never where to ask or who pays.
_HARMLESS = (OPENAI_PARAMS | {"max_tokens", "top_k"}) - {"extra_body", "extra_headers"}


class Elsewhere(Layer):
    """Keeps from litellm what a client says beside its question.

    litellm takes addresses, keys, headers and whole other models among its parameters, and fetches
    what messages refer to.

    Args:
        inner: Who is asked.
        asked: What the client asked.
        policy: The policy; its own parameters are kept.
    """

    def __init__(self, inner: Provider, asked: Query, policy: Policy) -> None:
        super().__init__(inner)
        self._messages = asked.messages
        self._kept = _HARMLESS | frozenset(policy.sampling.params)

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider.

        Raises:
            ProviderRefusedError: The client's messages refer to something that is to be fetched.
        """
        # Judges are asked with the policy's parameters alone.
        if query.messages != self._messages:
            return await self.inner.complete(query, n=n)
        if any(_refers(message.get("content")) for message in query.messages):
            raise ProviderRefusedError(
                "the messages refer to other addresses, which a gateway has nobody fetch"
            )
        params = {k: v for k, v in query.params.items() if k in self._kept}
        return await self.inner.complete(replace(query, params=params), n=n)


def _refers(content: object) -> bool:
    """Return whether parts of a message, other than texts, hold an address."""
    parts = cast("list[object]", content) if isinstance(content, list) else []
    mappings = [cast("Mapping[str, object]", part) for part in parts if isinstance(part, Mapping)]
    return any(_holds_address(part) for part in mappings if part.get("type") != "text")


def _holds_address(value: object) -> bool:
    if isinstance(value, str):
        return "://" in value
    if isinstance(value, Mapping):
        return any(_holds_address(v) for v in cast("Mapping[str, object]", value).values())
    if isinstance(value, (list, tuple)):
        return any(_holds_address(v) for v in cast("Sequence[object]", value))
    return False
