"""Checks the answers in another gateway's response, in limited time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from resay import Answer, HallucinationBlocked, Verdict
from resay.adapters import GuardRuntime
from resay.adapters.apis import Api, ApiRequest, Body
from resay.adapters.relay import Relay
from resay.errors import ConfigurationError
from resay_server.gateway.endpoints import EndpointState, missing_for_check, upstream_of
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.guarded_request import RequestContext
from resay_server.gateway.routing import Routing

_FOREIGN_TAG = (
    "the request is tagged as a sample, but not by this gateway; gateways behind the same address"
    " must have the same upstream key"
)


@dataclass(frozen=True, slots=True)
class CheckedResponse:
    """A checked response.

    Attributes:
        body: The response as the policy wants it shown; None if it is withheld by an error.
        answers: Its answers, with their verdicts.
        blocked_reason: Why it is withheld; None if it is not.
    """

    body: Body | None
    answers: tuple[Answer, ...]
    blocked_reason: str | None = None

    @property
    def reason(self) -> str:
        """The reasons of the verdicts, in one line without content."""
        return "; ".join(dict.fromkeys(answer.verdict.reason for answer in self.answers))


class ResponseCheck:
    """Checks the answers in responses to one request.

    Args:
        context: The webhook's call.
        api: The API of the request.
        body: The request that another gateway has answered.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.
        sender: The other gateway, for messages.
        tag: What the request has where a sample has its tag.
        unknown_question: Why the body has no question; None if it has one.

    Raises:
        RefusedError: The request is not valid.
    """

    def __init__(
        self,
        context: RequestContext,
        api: Api,
        body: Body,
        routing: Routing,
        shared: EndpointState,
        *,
        sender: str,
        tag: str,
        unknown_question: str | None = None,
    ) -> None:
        self._context, self._api = context, api
        self._answers: list[Answer] = []
        self._relay = Relay(
            context.guard, api, shows_draft=False, detail="none", on_answer=self._answers.append
        )
        self._request = _read(self._relay, body, context.call.tenant)
        self._upstream = upstream_of(context, self._request, routing, shared.sample_tags, api=api)
        self._shared = shared
        self._sender = sender
        self._tag = tag
        self._unknown_question = unknown_question

    @property
    def model(self) -> str | None:
        """The model that the request names."""
        return self._request.model or None

    @property
    def question(self) -> str | None:
        """The question; None if it is unknown."""
        return self._request.request.question or None

    async def check(self, response: Body) -> CheckedResponse:
        """Check a response, and act as the policy says.

        Args:
            response: The response.
        """
        try:
            return await self._checked(response)
        except HallucinationBlocked as error:
            withheld = Answer("", "", "block", error.verdict, error.verdict.usage)
            return CheckedResponse(None, (withheld,), blocked_reason=str(error))

    async def _checked(self, response: Body) -> CheckedResponse:
        obstacle = self._obstacle()
        if obstacle is not None:
            return await self._undecided(response, obstacle)
        waited_s = time.monotonic() - self._context.call.received_s
        body: Body | None = None
        with anyio.move_on_after(max(self._shared.webhook_s - waited_s, 0.0)):
            body = await self._relay.acheck(self._request, response, self._upstream)
        if body is None:
            limit_s = self._shared.webhook_s
            reason = f"the check took longer than {limit_s:g} s; raise `limits.webhook_s`"
            return await self._undecided(response, reason)
        return CheckedResponse(body, _without_main_call(self._answers))

    async def _undecided(self, response: Body, reason: str) -> CheckedResponse:
        runtime = GuardRuntime(self._context.guard)
        verdict = Verdict(decision="inconclusive", score=None, reason=reason)
        answers: list[Answer] = []
        for completion in self._api.completions(response):
            runtime.report(verdict, self._request.request)
            answers.append(runtime.apply(completion.text, verdict))
        outcomes = [await self._relay.outcome(answer) for answer in answers]
        return CheckedResponse(self._api.answered(response, outcomes), tuple(answers))

    def _obstacle(self) -> str | None:
        """Return why the response cannot be checked, or None."""
        if self._shared.sample_tags.has_tag_prefix(self._tag):
            # Samples of samples would never end.
            return _FOREIGN_TAG
        return missing_for_check(
            GuardRuntime(self._context.guard),
            sender=self._sender,
            model=self.model,
            unknown_question=self._unknown_question,
        )


def _read(relay: Relay, body: Body, tenant: str | None) -> ApiRequest:
    try:
        return relay.read(body, tenant=tenant, answered=True)
    except ConfigurationError as error:
        raise RefusedError(400, "invalid_request", str(error)) from None


def _without_main_call(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return answers without the usage of the call that the other gateway has paid for."""
    return tuple(replace(answer, usage=answer.verdict.usage) for answer in answers)
