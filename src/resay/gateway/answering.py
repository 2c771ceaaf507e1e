"""What the gateway answers itself: checks of answers that come from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from resay.gateway.calls import CHECK, LITELLM_GUARDRAIL, Headers
from resay.gateway.checking import check
from resay.gateway.guarding import Wanted, headers_of, observed
from resay.gateway.litellm_guardrail import check_for_litellm
from resay.gateway.observing import Observation
from resay.gateway.outgoing import Outgoing
from resay.gateway.refusing import RefusedError
from resay.gateway.replying import Handler, Reply, Shared
from resay.gateway.routing import Routing
from resay.providers.apis import Body, json_bytes

__all__ = ["Answering"]

_HANDLERS: Mapping[str, Handler] = {CHECK: check, LITELLM_GUARDRAIL: check_for_litellm}


class Answering:
    """Answers one request.

    Args:
        wanted: What is wanted.
        body: The request's body.
        client: How the upstream is asked.
        outgoing: Where the answer goes.
        shared: What all requests of the gateway share.
    """

    def __init__(
        self,
        wanted: Wanted,
        body: Body,
        client: Routing,
        outgoing: Outgoing,
        shared: Shared,
    ) -> None:
        self._wanted = wanted
        self._body = body
        self._client = client
        self._outgoing = outgoing
        self._shared = shared
        self._reply = Reply({})
        self._began_s = time.monotonic()

    async def run(self) -> None:
        """Answer it, or say why not."""
        handler = _HANDLERS[self._wanted.call.own or ""]
        try:
            self._reply = await handler(self._wanted, self._body, self._client, self._shared)
        except RefusedError as error:
            self._reply = Reply({}, refused=error)
        if self._reply.refused is not None:
            await self._outgoing.refuse(self._reply.refused)
            return
        content = json_bytes(self._reply.body)
        headers: Headers = [
            (b"content-type", b"application/json"),
            *headers_of(self._reply.answers),
        ]
        await self._outgoing.whole(200, headers, content)

    def observation(self) -> Observation:
        """Return what observers are told, once it is over."""
        reply = self._reply
        wanted = replace(self._wanted, policy=reply.policy or self._wanted.policy)
        return replace(
            observed(wanted, self._outgoing, self._body),
            answers=reply.answers,
            question=reply.question,
            elapsed_s=time.monotonic() - self._began_s,
            api="check",
            model=reply.model,
        )
