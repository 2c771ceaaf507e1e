"""A guardrail for LiteLLM's proxy."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from resay import Guard, HallucinationBlocked, Verdict
from resay.adapters import GuardRuntime, OnVerdict, field_of, import_named, inside_guard
from resay.adapters.apis import ApiRequest, Body, Event
from resay.adapters.policies import PolicyLike, guard_of
from resay.adapters.relay import Events, Relay
from resay.adapters.upstream import Upstream
from resay.adapters.verdicts import VERDICT_KEY, verdict_data, verdict_of
from resay.errors import ConfigurationError
from resay_litellm._formats import FORMATS, Format
from resay_litellm._requests import Target, user_params
from resay_litellm._upstream import upstream_of


class HallucinationGuardrail(CustomGuardrail):
    """Checks the models' answers in LiteLLM's proxy.

    The proxy creates one instance for each entry of its `guardrails` that names this class, and
    calls its hooks after the model has answered.

    Args:
        policy: A path to a policy file, a mapping with the same contents, a `Policy` or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        on_verdict: Called with each `resay.Verdict`: a function, or the place to import one from,
            as `package.module:name`. If it is async, it is awaited. Its exceptions are logged.
        **kwargs: The other `litellm_params` of the guardrail.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a proxy cannot provide.
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
        GuardRuntime(self.resay_guard).require_inputs(
            {"references": ", and a proxy has none; use `evidence: documents`"}
        )
        check_via(self.resay_guard)
        guardrail: Any = super()
        guardrail.__init__(supported_event_hooks=[GuardrailEventHooks.post_call], **kwargs)

    @classmethod
    def get_supported_event_hooks(cls) -> list[GuardrailEventHooks]:
        """Return the hooks in which the proxy may call this guardrail."""
        return [GuardrailEventHooks.post_call]

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Do nothing: the proxy calls the guardrail itself."""

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Check a response.

        Returns:
            The response with its verdict, also if it is regenerated or replaced with the policy's
            message. A response that holds no text of a model is returned unchanged.

        Raises:
            HTTPException: The answer was withheld and the policy says `exit: raise`; status 422.
        """
        form = self._format_of(data, response)
        if form is None or verdict_of(response) is not None:
            return response
        relay, request, upstream = self._reading(form, data, response)
        body, started_s = form.body(response), time.time()
        try:
            checked = await relay.acheck(request, body, upstream)
        except HallucinationBlocked as error:
            self._record(data, verdict_data(error.verdict, "block"), started_s)
            raise _refused(error) from None
        if checked is body:
            return response
        if VERDICT_KEY in checked:
            self._record(data, checked[VERDICT_KEY], started_s)
        return form.response(response, checked)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Check a stream, as the policy's `stream_mode` says.

        Yields:
            Chunks of the stream; the one that ends the answer holds the verdict.

        Raises:
            HTTPException: The answer was withheld and the policy says `exit: raise`.
            GuardrailRaisedException: The same, if the client has received a part already: the proxy
                turns the exception into the stream's last event.
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
        started_s, has_begun = time.time(), False
        try:
            groups = _one_by_one(form.events(whole))
            async with aclosing(relay.aevents(request, groups, upstream)) as events:
                async for group in events:
                    for event in group:
                        body = event.body
                        data = body.get(VERDICT_KEY) or field_of(body.get("response"), VERDICT_KEY)
                        if data is not None:
                            self._record(request_data, data, started_s)
                        has_begun = True
                        yield form.piece(event)
        except HallucinationBlocked as error:
            self._record(request_data, verdict_data(error.verdict, "block"), started_s)
            raise (self._interruption(error) if has_begun else _refused(error)) from None

    def _interruption(self, error: HallucinationBlocked) -> Exception:
        # For an HTTPException, the proxy would drop the connection once the status has been sent.
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
    ) -> tuple[Relay, ApiRequest, Upstream]:
        target = Target.of(data, response)
        # LiteLLM computes the cost of a stream while it is read.
        relay = Relay(self.resay_guard, form.api, drain=True)
        api_request = relay.read({**user_params(data), "model": target.model}, answered=True)
        return relay, api_request, upstream_of(form, target, api_request.body)

    def _record(self, request_data: dict[str, Any], data: Body, started_s: float) -> None:
        """Record the verdict in LiteLLM's own logs, without any text of the answer."""
        ended_s = time.time()
        verdict = Verdict.from_dict(data)
        action = data["action"]
        intervened = action == "block" or verdict.regenerated
        guardrail: Any = self
        guardrail.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response={**verdict.to_dict(content=False), "action": action},
            request_data=request_data,
            guardrail_status="guardrail_intervened" if intervened else "success",
            start_time=started_s,
            end_time=ended_s,
            duration=ended_s - started_s,
            event_type=GuardrailEventHooks.post_call,
        )


async def _put_back(first: Any, others: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    yield first
    async for piece in others:
        yield piece


async def _one_by_one(events: AsyncGenerator[Event]) -> AsyncGenerator[Events]:
    async with aclosing(events):
        async for event in events:
            yield [event]


def check_via(guard: Guard) -> None:
    if guard.policy.sampling.via == "native":
        raise ConfigurationError(
            "`sampling.via` is 'native', but everything goes through litellm here; leave it out"
        )


def _refused(error: HallucinationBlocked) -> Exception:
    # Outside the proxy, no client waits for a status.
    if find_spec("fastapi") is None:
        return error
    fastapi: Any = import_module("fastapi")
    verdict = verdict_data(error.verdict, "block")
    return fastapi.HTTPException(422, detail={"error": "hallucination_blocked", "verdict": verdict})
