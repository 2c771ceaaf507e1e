"""A callback for litellm's SDK: verdicts on what `litellm.acompletion` gives."""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponse

from resay.adapters import OnVerdict, PolicyLike, Relay, guard_of, inside_guard, marked, verdict_in
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Block, Regenerate
from resay_litellm._asking import Target, upstream_of, user_params
from resay_litellm._formats import CHAT, field


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
        if field(call_type, "value") != "acompletion" or verdict_in(response) is not None:
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
    model, messages = data.get("model"), data.get("messages") or field(log, "messages")
    asked = {**user_params(data), "messages": [_plain(message) for message in messages]}
    if model is None:
        provider = field(field(response, "_hidden_params"), "custom_llm_provider")
        return {**asked, "model": field(log, "model"), "custom_llm_provider": provider}
    return {**asked, "model": model}


def _plain(message: Any) -> Any:
    # litellm takes its own objects too.
    return message.model_dump(exclude_none=True) if hasattr(message, "model_dump") else message


def _check(guard: Guard) -> None:
    policy = guard.policy
    if isinstance(policy.action, Block):
        raise ConfigurationError(
            "`action: block` cannot be done by a callback, because litellm passes over what it"
            " raises; use `action: annotate`, or guard the proxy with ResayGuardrail"
        )
    if isinstance(policy.action, Regenerate) and isinstance(policy.action.otherwise, Block):
        raise ConfigurationError(
            "`otherwise: block` cannot be done by a callback, because litellm passes over what it"
            " raises; use `otherwise: annotate`, or guard the proxy with ResayGuardrail"
        )
    for key, value in (("on_error", policy.on_error), ("unscored", policy.unscored)):
        if value == "block":
            raise ConfigurationError(
                f"`{key}: block` cannot be done by a callback, because litellm passes over what it"
                f" raises; use `{key}: annotate`, or guard the proxy with ResayGuardrail"
            )
    guard.refuse({"references": ", and a callback knows none; leave `evidence: references` out"})
    if policy.sampling.via == "native":
        raise ConfigurationError(
            "`sampling.via` is 'native', but everything goes through litellm here; leave it out"
        )
