"""`POST /webhooks/portkey`: Portkey's guardrail "Webhook".

Portkey calls it before and after a model call, with the request and the response as they are, and
waits for 3 s. It passes on what `transformedData` has in place of the response, and treats a false
`verdict` as the guardrail's settings say: it denies, falls back, retries or only records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from resay.adapters.apis import CHAT_COMPLETIONS, COMPLETIONS, MESSAGES, Api, Body
from resay_server.gateway.endpoints import EndpointState, ForeignFields, Reply, read_as, refusal
from resay_server.gateway.guarded_request import RequestContext
from resay_server.gateway.observation import worst_answer
from resay_server.gateway.routing import Routing
from resay_server.gateway.sample_tags import METADATA_KEY
from resay_server.gateway.webhooks.response_check import (
    CheckedResponse,
    ResponseCheck,
)

_APIS: Mapping[str, Api] = {
    "chatComplete": CHAT_COMPLETIONS,
    "complete": COMPLETIONS,
    "messages": MESSAGES,
}


class PortkeyMessage(ForeignFields):
    """A request or a response, as Portkey passes it on."""

    data: dict[str, Any] | None = Field(default=None, alias="json", description="Its body.")


class PortkeyWebhookRequest(ForeignFields):
    """Portkey's request. Resay ignores its other fields."""

    event_type: Literal["beforeRequestHook", "afterRequestHook"] = Field(
        alias="eventType", description="Whether the model was called already."
    )
    request: PortkeyMessage = Field(description="The request to the model.")
    response: PortkeyMessage | None = Field(default=None, description="The model's response.")
    request_type: str | None = Field(
        default=None,
        alias="requestType",
        description="The API: `chatComplete`, `complete` or `messages`; others are not checked.",
    )
    metadata: dict[str, Any] | None = Field(default=None, description="Portkey's metadata.")


class PortkeyData(BaseModel):
    """What Portkey logs, without content."""

    decision: str = Field(description="The decision; `skipped` if nothing was checked.")
    action: str = Field(description="The action that was taken.")
    score: float | None = Field(default=None, description="The score of the answer, if any.")
    reason: str = Field(description="The reason, in one line.")


class PortkeyWebhookResponse(BaseModel):
    """The answer to Portkey."""

    verdict: bool = Field(
        description="False if the policy refuses the request or withholds the answer."
    )
    data: PortkeyData = Field(description="What Portkey logs, without content.")
    transformed_data: dict[str, Any] | None = Field(
        default=None,
        alias="transformedData",
        description="The response to pass on instead, as `response.json`, if it is changed.",
    )


async def portkey(
    context: RequestContext, body: Body, routing: Routing, shared: EndpointState
) -> Reply:
    """Answer Portkey's webhook.

    Args:
        context: The request.
        body: A `PortkeyWebhookRequest`.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        A `PortkeyWebhookResponse`.

    Raises:
        RefusedError: It is not valid.
    """
    webhook = read_as(PortkeyWebhookRequest, body)
    api = _APIS.get(webhook.request_type or "chatComplete")
    request = webhook.request.data or {}
    tag = str((webhook.metadata or {}).get(METADATA_KEY) or "")
    if shared.sample_tags.recognizes(tag):
        return _skipped("the request is for a sample")
    if api is None or not request:
        return _skipped("requests of this kind are not checked")
    if webhook.event_type == "beforeRequestHook":
        reason = refusal(context, api, request)
        if reason is None:
            return _skipped("the model has not answered yet")
        data = PortkeyData(decision="skipped", action="block", reason=reason)
        return _reply(PortkeyWebhookResponse(verdict=False, data=data))
    response = (webhook.response or PortkeyMessage()).data or {}
    if not api.completions(response):
        return _skipped("there is no answer that could be checked")
    check = ResponseCheck(context, api, request, routing, shared, sender="Portkey", tag=tag)
    checked = await check.check(response)
    reply = _reply(_response(checked, response))
    return Reply(reply.body, checked.answers, model=check.model, question=check.question)


def _response(checked: CheckedResponse, response: Body) -> PortkeyWebhookResponse:
    answer = worst_answer(checked.answers)
    data = PortkeyData(
        decision="skipped" if answer is None else answer.verdict.decision,
        action="allow" if answer is None else answer.action,
        score=None if answer is None else answer.verdict.score,
        reason=checked.blocked_reason or checked.reason,
    )
    changed = checked.body is not None and checked.body != response
    return PortkeyWebhookResponse(
        verdict=all(answer.action != "block" for answer in checked.answers),
        data=data,
        transformedData={"response": {"json": checked.body}} if changed else None,
    )


def _skipped(reason: str) -> Reply:
    data = PortkeyData(decision="skipped", action="allow", reason=reason)
    return _reply(PortkeyWebhookResponse(verdict=True, data=data))


def _reply(response: PortkeyWebhookResponse) -> Reply:
    return Reply(response.model_dump(by_alias=True, exclude_none=True))
