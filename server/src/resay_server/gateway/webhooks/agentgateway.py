"""`POST /request` and `POST /response`: the guardrail webhook of agentgateway and kgateway.

They call the first with the messages before a model call, and the second with the answers after
it, without the question. So the question is remembered in between, under the client's header
`x-request-id`, which both calls have if the webhook's `headers` say so.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from resay.adapters.apis import CHAT_COMPLETIONS, Body, mapping, mappings, text
from resay_server.gateway.calls import REQUEST_ID
from resay_server.gateway.endpoints import EndpointState, ForeignFields, Reply, read_as, refusal
from resay_server.gateway.guarded_request import RequestContext
from resay_server.gateway.routing import Routing
from resay_server.gateway.webhooks.response_check import ResponseCheck

_MODEL = b"x-resay-model"
_UNKNOWN_QUESTION = (
    "the gateway does not know the question; let both webhooks send the client's `x-request-id`,"
    " and call the same process or one with the same `state`"
)
_REJECTED_STATUS, _WITHHELD_STATUS = 400, 422


class PromptMessages(ForeignFields):
    """The messages of a request."""

    messages: list[dict[str, Any]] = Field(description="The messages, with role and text.")


class AgentgatewayRequest(ForeignFields):
    """A request to a model."""

    body: PromptMessages = Field(description="The messages.")


class ResponseChoices(ForeignFields):
    """The answers of a model."""

    choices: list[dict[str, Any]] = Field(description="The answers, each with its `message`.")


class AgentgatewayResponse(ForeignFields):
    """The response of a model."""

    body: ResponseChoices = Field(description="The answers.")


class AgentgatewayAction(BaseModel):
    """What to do: pass (only a `reason`), mask (new answers as `body`) or reject (a text)."""

    body: ResponseChoices | str | None = Field(
        default=None, description="The answers to pass on instead, or the message of an error."
    )
    status_code: int | None = Field(default=None, description="The status of the error.")
    reason: str = Field(description="The reason, in one line without content.")


class AgentgatewayReply(BaseModel):
    """The answer to agentgateway."""

    action: AgentgatewayAction = Field(description="What to do.")


async def agentgateway_request(
    context: RequestContext, body: Body, routing: Routing, shared: EndpointState
) -> Reply:
    """Remember a question.

    Args:
        context: The request.
        body: An `AgentgatewayRequest`.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        An `AgentgatewayReply`, which rejects what the policy refuses.

    Raises:
        RefusedError: It is not valid.
    """
    del routing
    webhook = read_as(AgentgatewayRequest, body)
    key = _key(context)
    if shared.sample_tags.recognizes(key or ""):
        return _pass("the request is for a sample")
    request: dict[str, Any] = {"messages": webhook.body.messages}
    model = context.call.header(_MODEL)
    if model:
        request["model"] = model
    reason = refusal(context, CHAT_COMPLETIONS, request)
    if reason is not None:
        return _reject(reason, _REJECTED_STATUS)
    if key is not None and not shared.sample_tags.has_tag_prefix(key):
        await shared.conversations.remember(_name(context, key), request)
    return _pass("the model has not answered yet")


async def agentgateway_response(
    context: RequestContext, body: Body, routing: Routing, shared: EndpointState
) -> Reply:
    """Check the answers of a model.

    Args:
        context: The request.
        body: An `AgentgatewayResponse`.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        An `AgentgatewayReply`.

    Raises:
        RefusedError: It is not valid.
    """
    webhook = read_as(AgentgatewayResponse, body)
    key = _key(context)
    if shared.sample_tags.recognizes(key or ""):
        return _pass("the answer is a sample")
    response = _completion(webhook.body.choices)
    if not CHAT_COMPLETIONS.completions(response):
        return _pass("there is no answer that could be checked")
    question = None if key is None else await shared.conversations.recall(_name(context, key))
    request: dict[str, Any] = dict(question or {"messages": list[Any]()})
    model = request.get("model") or context.call.header(_MODEL)
    if model:
        request["model"] = model
    check = ResponseCheck(
        context,
        CHAT_COMPLETIONS,
        request,
        routing,
        shared,
        sender="agentgateway",
        tag=key or "",
        unknown_question=None if question is not None else _UNKNOWN_QUESTION,
    )
    checked = await check.check(response)
    if checked.body is None:
        reply = _reject(checked.blocked_reason or checked.reason, _WITHHELD_STATUS)
    else:
        shown = _texts(checked.body)
        reply = _pass(checked.reason)
        if shown != _texts(response):
            reply = _mask(webhook.body.choices, shown, checked.reason)
    return Reply(reply.body, checked.answers, model=check.model, question=check.question)


def _key(context: RequestContext) -> str | None:
    """Return the id of the client's request, under which both calls belong together."""
    return context.call.header(REQUEST_ID)


def _name(context: RequestContext, key: str) -> Hashable:
    return (context.call.tenant, context.client, "agentgateway", key)


def _completion(choices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return answers as a response of chat completions."""
    return {
        "choices": [
            {
                "index": index,
                "message": {**mapping(choice.get("message")), "role": "assistant"},
                "finish_reason": "stop",
            }
            for index, choice in enumerate(choices)
        ]
    }


def _texts(response: Body) -> list[str]:
    choices = mappings(response.get("choices"))
    return [text(mapping(choice.get("message")).get("content")) for choice in choices]


def _pass(reason: str) -> Reply:
    return _reply(AgentgatewayAction(reason=reason))


def _reject(reason: str, status: int) -> Reply:
    return _reply(AgentgatewayAction(body=reason, status_code=status, reason=reason))


def _mask(choices: Sequence[Mapping[str, Any]], shown: Sequence[str], reason: str) -> Reply:
    masked = [
        {"message": {"role": text(mapping(choice.get("message")).get("role")), "content": content}}
        for choice, content in zip(choices, shown, strict=True)
    ]
    return _reply(AgentgatewayAction(body=ResponseChoices(choices=masked), reason=reason))


def _reply(action: AgentgatewayAction) -> Reply:
    return Reply(AgentgatewayReply(action=action).model_dump(exclude_none=True))
