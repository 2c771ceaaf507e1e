"""`POST /beta/litellm_basic_guardrail_api`: LiteLLM's generic guardrail API.

Every LiteLLM proxy can call it with configuration alone. It sends the question before the call
(`input_type: request`), and the answer after it (`response`), without the question. So the question
is remembered in between, under LiteLLM's id of the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from resay import Answer, HallucinationBlocked, Verdict
from resay.adapters import GuardRuntime
from resay.adapters.apis import CHAT_COMPLETIONS, ApiRequest, Body
from resay.adapters.relay import Relay
from resay.adapters.settings import Strict
from resay.adapters.verdicts import aanswer_data
from resay_server.gateway.endpoints import (
    EndpointState,
    ForeignFields,
    Reply,
    missing_for_check,
    read_as,
    refusal,
    upstream_of,
)
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.guarded_request import RequestContext
from resay_server.gateway.routing import Routing

# OpenAI's API returns at most this many answers at once.
_MOST_ANSWERS = 128
_UNKNOWN_QUESTION = (
    "the gateway does not know the question; configure LiteLLM to call it before the call too"
    " (`mode: [pre_call, post_call]`), and to call the same process or one with the same `state`"
)
_FOREIGN_TAG = (
    "the call is tagged as a sample, but not by this gateway; gateways behind the same address"
    " must have the same upstream key"
)


class GuardrailParams(Strict):
    """Resay's part of the proxy's configuration, from `additional_provider_specific_params`."""

    policy: str | None = Field(
        default=None,
        max_length=64,
        description="The name of the policy; the header `x-resay-policy` takes precedence.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The model to call at the gateway's upstream instead of the one that LiteLLM"
        " names, which the upstream may not know.",
    )


class GuardrailRequest(ForeignFields):
    """LiteLLM's request. Resay ignores its other fields."""

    input_type: Literal["request", "response"] = Field(
        description="Whether the texts are from a request or a response."
    )
    texts: list[str] | None = Field(
        default=None, description="The texts of the request or response."
    )
    structured_messages: list[dict[str, Any]] | None = Field(
        default=None, description="The conversation; only in a request."
    )
    tools: list[dict[str, Any]] | None = Field(
        default=None, description="The tools that the model may call; only in a request."
    )
    model: str | None = Field(default=None, description="LiteLLM's name of the model.")
    litellm_call_id: str | None = Field(
        default=None, description="LiteLLM's id of the call; its request and response share it."
    )
    request_data: dict[str, Any] | None = Field(
        default=None, description="Data about the call, such as the hash of its LiteLLM key."
    )
    additional_provider_specific_params: GuardrailParams | None = Field(
        default=None, description="Resay's part of the proxy's configuration."
    )

    @property
    def params(self) -> GuardrailParams:
        """Resay's part of the proxy's configuration."""
        return self.additional_provider_specific_params or GuardrailParams()

    @property
    def payer(self) -> str:
        """The hash of the call's LiteLLM key; empty if unknown."""
        return str((self.request_data or {}).get("user_api_key_hash") or "")


class GuardrailResponse(BaseModel):
    """The action for LiteLLM to take, and the verdicts."""

    action: Literal["BLOCKED", "NONE", "GUARDRAIL_INTERVENED"] = Field(
        description="What LiteLLM should do: return the response unchanged (`NONE`), return `texts`"
        " instead (`GUARDRAIL_INTERVENED`), or return an error (`BLOCKED`)."
    )
    blocked_reason: str | None = Field(
        default=None, description="Why the response is blocked, without its text."
    )
    texts: list[str] | None = Field(default=None, description="The texts to return.")
    hallucination: list[dict[str, Any]] | None = Field(
        default=None, description="The verdict on each text, with the action taken."
    )


async def check_for_litellm(
    context: RequestContext, body: Body, routing: Routing, shared: EndpointState
) -> Reply:
    """Answer a LiteLLM proxy.

    Args:
        context: The request.
        body: A `GuardrailRequest`.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        A `GuardrailResponse`.

    Raises:
        RefusedError: It is not valid.
    """
    guardrail_request = read_as(GuardrailRequest, body)
    name = guardrail_request.litellm_call_id or ""
    if shared.sample_tags.recognizes(name):
        return _no_action()
    key = (context.call.tenant, context.client, guardrail_request.payer, name)
    if guardrail_request.input_type == "request":
        conversation = _conversation(guardrail_request)
        if conversation is not None and name and not shared.sample_tags.has_tag_prefix(name):
            await shared.conversations.remember(key, conversation)
        context = _with_policy(context, guardrail_request.params, shared)
        reason = None if conversation is None else refusal(context, CHAT_COMPLETIONS, conversation)
        return _no_action() if reason is None else _blocked(reason)
    context = _with_policy(context, guardrail_request.params, shared)
    check = _AnswerCheck(
        context=context,
        guardrail_request=guardrail_request,
        conversation=await shared.conversations.recall(key),
        routing=routing,
        shared=shared,
    )
    return await check.reply()


def _no_action() -> Reply:
    return Reply(GuardrailResponse(action="NONE").model_dump(exclude_none=True))


def _blocked(reason: str) -> Reply:
    blocked = GuardrailResponse(action="BLOCKED", blocked_reason=reason)
    return Reply(blocked.model_dump(exclude_none=True))


def _conversation(guardrail_request: GuardrailRequest) -> Body | None:
    """Return the conversation as a request for chat completions; None if there is none."""
    messages = [dict(message) for message in guardrail_request.structured_messages or ()]
    texts = guardrail_request.texts or []
    if not messages and len(texts) == 1:
        # Of several texts, the roles are unknown.
        messages = [{"role": "user", "content": texts[0]}]
    if not messages:
        return None
    conversation = {
        "model": guardrail_request.model,
        "messages": messages,
        "tools": guardrail_request.tools,
    }
    return {name: value for name, value in conversation.items() if value}


def _with_policy(
    context: RequestContext, params: GuardrailParams, shared: EndpointState
) -> RequestContext:
    """Apply the policy that the proxy's configuration names.

    LiteLLM may let its clients add to these parameters. A header has precedence.
    """
    if params.policy is None or context.call.policy is not None:
        return context
    policy, guard = shared.policies.choose(params.policy, brings_answer=True)
    return replace(context, policy=policy, guard=guard)


@dataclass(frozen=True, slots=True)
class _TextOutcome:
    """The outcome of one text.

    Attributes:
        answer: The answer to return in its place.
        blocked_reason: Why it is blocked; None if it is not.
    """

    answer: Answer
    blocked_reason: str | None = None


class _AnswerCheck:
    """Checks the answers to one call."""

    def __init__(
        self,
        context: RequestContext,
        guardrail_request: GuardrailRequest,
        conversation: Body | None,
        routing: Routing,
        shared: EndpointState,
    ) -> None:
        self._context = context
        self._guardrail_request = guardrail_request
        self._shared = shared
        self._knows_question = conversation is not None
        body: dict[str, Any] = dict(conversation or {"messages": list[Any]()})
        self._model: str | None = (
            guardrail_request.params.model or body.get("model") or guardrail_request.model
        )
        if self._model is not None:
            body["model"] = self._model
        relay = Relay(context.guard, CHAT_COMPLETIONS)
        self._request: ApiRequest = relay.read(body, tenant=context.call.tenant, answered=True)
        self._upstream = upstream_of(
            context,
            self._request,
            routing,
            shared.sample_tags,
            payer=guardrail_request.payer,
        )

    async def reply(self) -> Reply:
        """Check each text separately: they may be parts of one answer, so are not samples."""
        texts = self._guardrail_request.texts or []
        if len(texts) > _MOST_ANSWERS:
            message = f"the request is not valid: texts: more than {_MOST_ANSWERS} answers"
            raise RefusedError(400, "invalid_request", message)
        outcomes = await asyncio.gather(*map(self._outcome, texts))
        answers = tuple(outcome.answer for outcome in outcomes)
        body = _guardrail_response(texts, outcomes).model_dump(exclude_none=True)
        detail = self._context.detail
        if detail != "none":
            # pydantic would copy it on the event loop.
            body["hallucination"] = [
                await aanswer_data(answer, detail=detail) for answer in answers
            ]
        return Reply(
            body=body,
            answers=answers,
            model=self._model,
            question=self._request.request.question or None,
            policy=self._context.policy,
        )

    async def _outcome(self, text: str) -> _TextOutcome:
        try:
            return _TextOutcome(await self._answer(text))
        except HallucinationBlocked as error:
            withheld = Answer("", "", "block", error.verdict, error.verdict.usage)
            return _TextOutcome(withheld, blocked_reason=str(error))

    async def _answer(self, text: str) -> Answer:
        guard, reason = self._context.guard, self._obstacle()
        if reason is not None:
            return GuardRuntime(guard).apply(text, Verdict("inconclusive", None, reason))
        answers: list[Answer] = []
        relay = Relay(guard, CHAT_COMPLETIONS, on_answer=answers.append)
        message = {"role": "assistant", "content": text}
        response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        await relay.acheck(self._request, response, self._upstream)
        # The answer itself was paid for elsewhere.
        return replace(answers[0], usage=answers[0].verdict.usage)

    def _obstacle(self) -> str | None:
        """Return why LiteLLM's request does not allow a check, or None."""
        runtime = GuardRuntime(self._context.guard)
        if self._shared.sample_tags.has_tag_prefix(self._guardrail_request.litellm_call_id or ""):
            # Samples of samples would never end.
            return _FOREIGN_TAG
        return missing_for_check(
            runtime,
            sender="LiteLLM",
            model=self._model or None,
            unknown_question=None if self._knows_question else _UNKNOWN_QUESTION,
        )


def _guardrail_response(
    texts: Sequence[str], outcomes: Sequence[_TextOutcome]
) -> GuardrailResponse:
    for outcome in outcomes:
        if outcome.blocked_reason is not None:
            return GuardrailResponse(action="BLOCKED", blocked_reason=outcome.blocked_reason)
    answers = [outcome.answer.text for outcome in outcomes]
    if answers != list(texts):
        return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=answers)
    return GuardrailResponse(action="NONE")
