"""What LiteLLM calls: a guardrail of its proxy, and a callback of its SDK."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.guardrails import GuardrailEventHooks
from litellm.types.utils import ModelResponse

from resay._internal.importing import import_named
from resay.adapters import (
    VERDICT_KEY,
    OnVerdict,
    PolicyLike,
    Relay,
    Upstream,
    guard_of,
    inside_guard,
    marked,
    verdict_data,
    verdict_in,
)
from resay.core.logprobs import field_of
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Block
from resay.providers.apis import Body, Event, Request
from resay_litellm._asking import Target, upstream_of, user_params
from resay_litellm._formats import CHAT, FORMATS, Format


class ResayGuardrail(CustomGuardrail):
    """Checks what models answer through LiteLLM's proxy.

    The proxy makes one for each entry of its `guardrails` that names this class, and calls its
    hooks after the model has answered.

    Args:
        policy: What to check, and how: the path of a policy file, the policy itself as a mapping, a
            `Policy` or a `Guard`; None for the file that `RESAY_POLICY` names, or the default.
        on_verdict: Called with each `resay.Verdict`; a function, or where to import one from, as
            `package.module:name`. What an async function returns is awaited, what it raises is
            logged.
        **kwargs: The other `litellm_params` of the guardrail.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It asks for what there is not in a proxy.
        ValueError: The guardrail's `mode` is not `post_call`.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        on_verdict: OnVerdict | str | None = None,
        **kwargs: Any,
    ) -> None:
        listener = import_named(on_verdict) if isinstance(on_verdict, str) else on_verdict
        self.resay_guard = guard_of(policy, on_verdict=listener)
        self.resay_guard.refuse(
            {"references": ", and a proxy has none; leave `evidence: references` out"}
        )
        _check_via(self.resay_guard)
        guardrail: Any = super()
        guardrail.__init__(supported_event_hooks=[GuardrailEventHooks.post_call], **kwargs)

    @classmethod
    def get_supported_event_hooks(cls) -> list[GuardrailEventHooks]:
        """Return when the proxy may call it."""
        return [GuardrailEventHooks.post_call]

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Leave a deployment's answer alone: the proxy calls the guardrail itself."""

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Check a response.

        Returns:
            The response with its verdict, also where another answer or the policy's message is in
            its place; what is no text of a model comes back as it is.

        Raises:
            HTTPException: It is withheld and the policy says `exit: raise`; the status is 422.
        """
        form = self._format_of(data, response)
        if form is None or verdict_in(response) is not None:
            return response
        relay, request, upstream = self._reading(form, data, response)
        body, since = form.body(response), time.time()
        try:
            checked = await relay.acheck(request, body, upstream)
        except HallucinationBlocked as error:
            self._record(data, verdict_data(error.verdict, "block"), since)
            raise _refused(error) from None
        if checked is body:
            return response
        self._record(data, checked[VERDICT_KEY], since)
        return form.given(response, checked)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Check a stream, as the policy's `stream` says.

        Yields:
            Pieces of the stream; the verdict is in the one that ends the answer.

        Raises:
            HTTPException: It is withheld and the policy says `exit: raise`.
            GuardrailRaisedException: The same, when the reader has some of it already: the proxy
                makes the stream's last event of it.
        """
        pieces: AsyncIterator[Any] = response.__aiter__()
        try:
            first = await anext(pieces)
        except StopAsyncIteration:
            return
        whole = _put_back(first, pieces)
        form = self._format_of(request_data, first)
        if form is None:
            async for piece in whole:
                yield piece
            return
        relay, request, upstream = self._reading(form, request_data, response)
        since, begun = time.time(), False
        try:
            async with aclosing(relay.aevents(request, form.events(whole), upstream)) as events:
                async for event in events:
                    if (verdict := _verdict_in(event)) is not None:
                        self._record(request_data, verdict, since)
                    begun = True
                    yield form.piece(event)
        except HallucinationBlocked as error:
            self._record(request_data, verdict_data(error.verdict, "block"), since)
            raise (self._broken_off(error) if begun else _refused(error)) from None

    def _broken_off(self, error: HallucinationBlocked) -> Exception:
        # The proxy hangs up on an HTTPException when the status is sent already.
        return GuardrailRaisedException(
            self.guardrail_name,
            f"hallucination_blocked: {error.verdict.reason}",
            should_wrap_with_default_message=False,
            status_code=422,
            blocked_content=True,
        )

    def _format_of(self, data: Body, response: object) -> Format | None:
        if inside_guard():
            return None
        return next((form for form in FORMATS if form.fits(data, response)), None)

    def _reading(
        self, form: Format, data: Body, response: object
    ) -> tuple[Relay, Request, Upstream]:
        target = Target.of(data, response)
        # LiteLLM counts what a stream cost when it is read.
        relay = Relay(self.resay_guard, form.api, to_the_end=True)
        request = relay.read({**user_params(data), "model": target.model})
        return relay, request, upstream_of(form, target, request.body)

    def _record(self, data: dict[str, Any], told: Body, since: float) -> None:
        """Note for LiteLLM's own logs what was found, without a word of the answer."""
        now = time.time()
        verdict = Verdict.from_dict(told)
        intervened = told["action"] == "block" or verdict.regenerated
        guardrail: Any = self
        guardrail.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response={**verdict.to_dict(content=False), "action": told["action"]},
            request_data=data,
            guardrail_status="guardrail_intervened" if intervened else "success",
            start_time=since,
            end_time=now,
            duration=now - since,
            event_type=GuardrailEventHooks.post_call,
        )


async def _put_back(first: Any, others: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    yield first
    async for piece in others:
        yield piece


def _verdict_in(event: Event) -> Body | None:
    return event.body.get(VERDICT_KEY) or field_of(event.body.get("response"), VERDICT_KEY)


def _check_via(guard: Guard) -> None:
    if guard.policy.sampling.via == "native":
        raise ConfigurationError(
            "`sampling.via` is 'native', but everything goes through litellm here; leave it out"
        )


def _refused(error: HallucinationBlocked) -> Exception:
    # Outside of the proxy there is nobody to answer with a status.
    if find_spec("fastapi") is None:
        return error
    fastapi: Any = import_module("fastapi")
    verdict = verdict_data(error.verdict, "block")
    return fastapi.HTTPException(422, detail={"error": "hallucination_blocked", "verdict": verdict})


class HallucinationCallback(CustomLogger):
    """Puts a verdict on every response of `litellm.acompletion`.

    ```python
    litellm.callbacks = [HallucinationCallback("policy.yaml")]
    response = await litellm.acompletion("openai/gpt-4.1-mini", messages)
    response.hallucination["decision"]
    ```

    It cannot withhold a response, because litellm passes over what a callback raises, but it can
    give another that was regenerated. It sees neither streams nor the blocking
    `litellm.completion`.

    Args:
        policy: What to check, and how: a `Policy`, a path, a mapping or a `Guard`; None for the
            file that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: a `Retriever`, or
            whatever else `resay.retrieval.as_retriever` takes; in place of the one that the policy
            names.
        on_verdict: Called with each `resay.Verdict`. What an async function returns is awaited,
            what it raises is logged.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It asks for what a callback cannot do, or it regenerates and there is no
            retriever.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        logger: Any = super()
        logger.__init__()
        self.resay_guard = guard_of(policy, retriever, on_verdict)
        _check(self.resay_guard)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Check a response.

        Returns:
            The response with its verdict in `hallucination`; None to leave it as it is.
        """
        if inside_guard() or not isinstance(response, ModelResponse) or not response.choices:
            return None
        if field_of(call_type, "value") != "acompletion" or verdict_in(response) is not None:
            return None
        relay = Relay(self.resay_guard, CHAT.api)
        request = relay.read(_asked(request_data, response))
        target = Target(None, request.body["model"])
        body = CHAT.body(response)
        with marked():
            checked = await relay.acheck(request, body, upstream_of(CHAT, target, request.body))
        return None if checked is body else CHAT.given(response, checked)


def _asked(data: dict[str, Any], response: ModelResponse) -> dict[str, Any]:
    log = data.get("litellm_logging_obj")
    # What was given by position is only there, and the model without its provider.
    model, messages = data.get("model"), data.get("messages") or field_of(log, "messages")
    asked = {**user_params(data), "messages": [_plain(message) for message in messages]}
    if model is None:
        provider = field_of(field_of(response, "_hidden_params"), "custom_llm_provider")
        return {**asked, "model": field_of(log, "model"), "custom_llm_provider": provider}
    return {**asked, "model": model}


def _plain(message: Any) -> Any:
    # litellm takes its own objects too.
    return message.model_dump(exclude_none=True) if hasattr(message, "model_dump") else message


def _check(guard: Guard) -> None:
    policy = guard.policy
    blocking = {
        "action": isinstance(policy.action, Block),
        "otherwise": isinstance(getattr(policy.action, "otherwise", None), Block),
        "on_error": policy.on_error == "block",
        "unscored": policy.unscored == "block",
    }
    for key, blocks in blocking.items():
        if blocks:
            raise ConfigurationError(
                f"`{key}: block` cannot be done by a callback, because litellm passes over what it"
                f" raises; use `{key}: annotate`, or guard the proxy with ResayGuardrail"
            )
    guard.refuse({"references": ", and a callback knows none; leave `evidence: references` out"})
    _check_via(guard)
