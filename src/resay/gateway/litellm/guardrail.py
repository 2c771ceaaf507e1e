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

from pydantic import BaseModel, ConfigDict, Field

from resay._internal.strict import Strict
from resay.adapters.policies import failed_check, verdict_data
from resay.adapters.relaying import Relay
from resay.adapters.upstream import KnownProvider
from resay.core.usage import Usage
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.engine.actions import Answer
from resay.gateway.checking import Reply, Shared, read_as, sources_of
from resay.gateway.guarding import Wanted
from resay.gateway.refusing import RefusedError
from resay.gateway.routing import Routing
from resay.guard import Guard
from resay.providers.apis import CHAT_COMPLETIONS, Body, Request
from resay.providers.base import Completion, Sources

# OpenAI's API returns at most this many answers at once.
_MOST_ANSWERS = 128
_UNKNOWN = (
    "the gateway does not know what was asked; have LiteLLM ask it before the call too"
    " (`mode: [pre_call, post_call]`), and the same process or one with the same `state`"
)
_OTHERS_MARK = (
    "the call is marked as a sample, but not by this gateway; gateways that stand for each other"
    " must have the same upstream key"
)


class GuardrailParams(Strict):
    """Resay's part of the proxy's configuration, from `additional_provider_specific_params`."""

    policy: str | None = Field(
        default=None,
        max_length=64,
        description="The name of the policy, where no header `x-resay-policy` says it.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="Whom to ask at the gateway's upstream in place of the model that LiteLLM"
        " names, which its upstream may not know.",
    )


class GuardrailRequest(BaseModel):
    """LiteLLM's request. Resay ignores its other fields."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, hide_input_in_errors=True)

    input_type: Literal["request", "response"] = Field(description="What the texts are of.")
    texts: list[str] | None = Field(default=None, description="What was said, text by text.")
    structured_messages: list[dict[str, Any]] | None = Field(
        default=None, description="The conversation, of a request."
    )
    tools: list[dict[str, Any]] | None = Field(
        default=None, description="The tools that the model may call, of a request."
    )
    model: str | None = Field(default=None, description="The model, as LiteLLM calls it.")
    litellm_call_id: str | None = Field(
        default=None, description="What LiteLLM calls the call, the same before and after it."
    )
    request_data: dict[str, Any] | None = Field(
        default=None, description="Whose key of LiteLLM's it came with."
    )
    additional_provider_specific_params: GuardrailParams | None = Field(
        default=None, description="What the proxy's configuration says of Resay."
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
    """The instruction to LiteLLM."""

    action: Literal["BLOCKED", "NONE", "GUARDRAIL_INTERVENED"] = Field(
        description="Nothing, give the `texts` in place of those that were said, or an error."
    )
    blocked_reason: str | None = Field(default=None, description="Why, without what was said.")
    texts: list[str] | None = Field(default=None, description="What to say, text by text.")
    hallucination: list[dict[str, Any]] | None = Field(
        default=None, description="The verdict on each text, with what was done."
    )


async def check_for_litellm(wanted: Wanted, body: Body, client: Routing, shared: Shared) -> Reply:
    """Answer a LiteLLM proxy.

    Args:
        wanted: The request.
        body: A `GuardrailRequest`.
        client: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        A `GuardrailResponse`.

    Raises:
        RefusedError: It is not valid.
    """
    asked = read_as(GuardrailRequest, body)
    name = asked.litellm_call_id or ""
    if shared.marks.knows(name):
        return _nothing()
    key = (wanted.tenant, wanted.client, asked.payer, name)
    if asked.input_type == "request":
        conversation = _conversation(asked)
        if conversation is not None and name and not shared.marks.seems(name):
            await shared.conversations.remember(key, conversation)
        return _nothing()
    wanted = _chosen(wanted, asked.params, shared)
    known = await shared.conversations.recall(key)
    work = _Work(wanted, asked, known, client, shared)
    return await work.reply()


def _nothing() -> Reply:
    return Reply(GuardrailResponse(action="NONE").model_dump(exclude_none=True))


def _conversation(asked: GuardrailRequest) -> Body | None:
    """Return the conversation as a request for chat completions; None if there is none."""
    messages = [dict(message) for message in asked.structured_messages or ()]
    texts = asked.texts or []
    if not messages and len(texts) == 1:
        # Of several texts, the roles are unknown.
        messages = [{"role": "user", "content": texts[0]}]
    if not messages:
        return None
    known = {"model": asked.model, "messages": messages, "tools": asked.tools}
    return {name: value for name, value in known.items() if value}


def _chosen(wanted: Wanted, params: GuardrailParams, shared: Shared) -> Wanted:
    """Apply the policy that the proxy's configuration names.

    LiteLLM may let its clients add to these parameters. A header has precedence.
    """
    if params.policy is None or wanted.call.policy is not None:
        return wanted
    policy, guard = shared.policies.get(params.policy)
    return replace(wanted, policy=policy, guard=guard)


@dataclass(frozen=True, slots=True)
class _Checked:
    """The outcome of one text.

    Attributes:
        answer: The answer to return in its place.
        blocked: Why it is blocked; None if it is not.
    """

    answer: Answer
    blocked: str | None = None


class _Work:
    """Checks the answers to one call."""

    def __init__(
        self,
        wanted: Wanted,
        asked: GuardrailRequest,
        conversation: Body | None,
        client: Routing,
        shared: Shared,
    ) -> None:
        self._wanted = wanted
        self._asked = asked
        self._client = client
        self._shared = shared
        self._knows_question = conversation is not None
        known: dict[str, Any] = dict(conversation or {"messages": list[Any]()})
        self._model: str | None = asked.params.model or known.get("model") or asked.model
        known |= {} if self._model is None else {"model": self._model}
        relay = Relay(wanted.guard, CHAT_COMPLETIONS)
        request = relay.read(known)
        query = replace(request.query, tenant=wanted.tenant)
        self._request: Request = replace(request, query=query)

    async def reply(self) -> Reply:
        """Check each text separately: they may be parts of one answer, so are not samples."""
        texts = self._asked.texts or []
        if len(texts) > _MOST_ANSWERS:
            message = f"the request is not valid: texts: more than {_MOST_ANSWERS} answers"
            raise RefusedError(400, "invalid_request", message)
        checked = await asyncio.gather(*map(self._checked, texts))
        return Reply(
            _told(texts, checked).model_dump(exclude_none=True),
            tuple(one.answer for one in checked),
            self._model,
            self._request.query.question or None,
            self._wanted.policy,
        )

    async def _checked(self, text: str) -> _Checked:
        try:
            return _Checked(await self._answer(text))
        except HallucinationBlocked as error:
            gone = Answer("", "", "block", error.verdict, error.verdict.usage)
            return _Checked(gone, str(error))

    async def _answer(self, text: str) -> Answer:
        guard, query = self._wanted.guard, self._request.query
        reason = self._obstacle()
        if reason is not None:
            return guard.apply(text, Verdict("inconclusive", None, reason))
        try:
            answer = await guard.aask_with(query, self._sources(text))
        except HallucinationBlocked:
            raise
        # As for guarded answers: the verdict reports the failure.
        except Exception as error:
            return guard.apply(text, failed_check(error))
        # The answer itself was paid for elsewhere.
        return replace(answer, usage=answer.verdict.usage)

    def _obstacle(self) -> str | None:
        """Return why LiteLLM's request does not allow a check, or None."""
        guard = self._wanted.guard
        if self._shared.marks.seems(self._asked.litellm_call_id or ""):
            # Samples of samples would never end.
            return _OTHERS_MARK
        none = ", and LiteLLM gives none"
        if problem := guard.missing({"references": none, "logprobs": none}):
            return problem
        if self._knows_question:
            return None if self._model or not _asks_model(guard) else "LiteLLM names no model"
        if method := guard.needing("samples") or guard.needing("query"):
            return f"method {method!r} needs the question: {_UNKNOWN}"
        return None

    def _sources(self, text: str) -> Sources:
        return sources_of(
            self._wanted,
            self._request,
            self._client,
            self._shared.marks,
            main=KnownProvider(Completion(text), Usage()),
            payer=self._asked.payer,
        )


def _asks_model(guard: Guard) -> bool:
    """Return whether the model that wrote an answer is called again."""
    draws = guard.needing("samples") is not None and guard.policy.sampling.model is None
    return draws or guard.asking_response_model is not None


def _told(texts: Sequence[str], checked: Sequence[_Checked]) -> GuardrailResponse:
    told = [verdict_data(one.answer.verdict, one.answer.action) for one in checked]
    blocked = next((one.blocked for one in checked if one.blocked is not None), None)
    if blocked is not None:
        return GuardrailResponse(action="BLOCKED", blocked_reason=blocked, hallucination=told)
    given = [one.answer.text for one in checked]
    if given != list(texts):
        return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=given, hallucination=told)
    return GuardrailResponse(action="NONE", hallucination=told)
