"""The parameters of clients' requests that may reach litellm."""

from __future__ import annotations

from dataclasses import replace

from resay import Policy, Request
from resay.adapters.upstream import OPENAI_PARAMS
from resay.errors import ProviderRefusedError
from resay.plugins import Completions, Layer, Provider
from resay_server.gateway.addresses import contains_address

# Parameters that control the answer, and never the address or the payer.
HARMLESS = (OPENAI_PARAMS | {"max_tokens", "top_k"}) - {"extra_body", "extra_headers"}


class HarmlessParams(Layer):
    """Passes only the question and harmless parameters of a client's request to litellm.

    litellm accepts addresses, keys, headers and entire other models as parameters, and fetches URLs
    in messages.

    Args:
        inner: The wrapped provider.
        request: The client's request.
        policy: The policy; its own parameters are kept.
    """

    def __init__(self, inner: Provider, request: Request, policy: Policy) -> None:
        super().__init__(inner)
        self._messages = request.messages
        self._allowed = HARMLESS | frozenset(policy.sampling.params)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Call the wrapped provider.

        Raises:
            ProviderRefusedError: The client's messages contain a reference to be fetched.
        """
        # Judges are called with the policy's parameters only.
        if request.messages != self._messages:
            return await self.inner.complete(request, n=n)
        if any(contains_address(message.get("content"), "text") for message in request.messages):
            raise ProviderRefusedError(
                "the messages contain URLs, and the gateway does not fetch them; send the content"
                " itself"
            )
        params = {k: v for k, v in request.params.items() if k in self._allowed}
        return await self.inner.complete(replace(request, params=params), n=n)
