"""The guardrail of LiteLLM's proxy."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks

from resay.actions import Answer
from resay.adapting import PolicyLike, guard_of, inside_guard, verdict_data
from resay.errors import ConfigurationError, HallucinationBlocked
from resay.guard import Guard
from resay_litellm._answering import Request, checked, guarded
from resay_litellm._chat import CHAT
from resay_litellm._messages import MESSAGES
from resay_litellm._outcome import can_block, told
from resay_litellm._responses import RESPONSES
from resay_litellm._router import Target
from resay_litellm._shape import Shape

__all__ = ["ResayGuardrail"]

_SHAPES: tuple[Shape, ...] = (CHAT, MESSAGES, RESPONSES)


class ResayGuardrail(CustomGuardrail):
    """Checks what models answer through LiteLLM's proxy.

    The proxy makes one for each entry of its `guardrails` that names this class, and calls its
    hooks after the model has answered.

    Args:
        policy: What to check, and how: the path of a policy file, the policy itself as a mapping, a
            `Policy` or a `Guard`; None for the file that `RESAY_POLICY` names, or the default.
        **kwargs: The other `litellm_params` of the guardrail.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It asks for what there is not in a proxy.
        ValueError: The guardrail's `mode` is not `post_call`.
    """

    def __init__(self, policy: PolicyLike = None, **kwargs: Any) -> None:
        self.resay_guard = guard_of(policy)
        _check(self.resay_guard)
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
            The response with its verdict, or the policy's message in its place; what is no text of
            a model comes back as it is.

        Raises:
            HTTPException: It is withheld and the policy says `exit: raise`; the status is 422.
        """
        shape = self._shape_of(data, response)
        if shape is None or not shape.completions(response) or told(response) is not None:
            return response
        request = Request(self.resay_guard, shape, data, Target.of(data, response))
        since = time.time()
        try:
            answer = await checked(request, response)
        except HallucinationBlocked as error:
            self._record(data, verdict_data(error.verdict, "block"), since)
            raise _refused(error) from None
        verdict = verdict_data(answer.verdict, answer.action)
        self._record(data, _bare(answer), since)
        if answer.blocked:
            return shape.withheld(response, answer.text, verdict)
        only = can_block(self.resay_guard.policy)
        return shape.annotated(response, verdict, first_only=only)

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
        shape = self._shape_of(request_data, first)
        if shape is None:
            yield first
            async for piece in pieces:
                yield piece
            return
        request = Request(self.resay_guard, shape, request_data, Target.of(request_data, response))
        since, begun = time.time(), False
        try:
            async with aclosing(guarded(request, first, pieces)) as parts:
                async for part in parts:
                    if isinstance(part, Answer):
                        self._record(request_data, _bare(part), since)
                    else:
                        begun = True
                        yield part
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

    def _shape_of(self, data: Mapping[str, Any], response: object) -> Shape | None:
        if inside_guard():
            return None
        return next((shape for shape in _SHAPES if shape.fits(data, response)), None)

    def _record(self, data: dict[str, Any], verdict: dict[str, Any], since: float) -> None:
        """Note for LiteLLM's own logs what was found, without a word of the answer."""
        now = time.time()
        guardrail: Any = self
        guardrail.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response=verdict,
            request_data=data,
            guardrail_status="guardrail_intervened" if verdict["action"] == "block" else "success",
            start_time=since,
            end_time=now,
            duration=now - since,
            event_type=GuardrailEventHooks.post_call,
        )


def _bare(answer: Answer) -> dict[str, Any]:
    return {**answer.verdict.to_dict(content=False), "action": answer.action}


def _check(guard: Guard) -> None:
    if method := guard.needing("references"):
        raise ConfigurationError(
            f"method {method!r} compares with references, and a proxy has none; leave"
            " `evidence: references` out"
        )
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
