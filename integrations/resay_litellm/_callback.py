"""A callback for litellm in an application."""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponse

from resay import Guard
from resay.adapters import Block, GuardRuntime, OnVerdict, field_of, inside_guard, marked
from resay.adapters.policies import PolicyLike, guard_of
from resay.adapters.relay import Relay
from resay.adapters.verdicts import verdict_of
from resay.errors import ConfigurationError
from resay_litellm._formats import CHAT
from resay_litellm._guardrail import check_via
from resay_litellm._requests import Target, user_params
from resay_litellm._upstream import upstream_of


class HallucinationCallback(CustomLogger):
    """Adds a verdict to every response of `litellm.acompletion`.

    ```python
    litellm.callbacks = [HallucinationCallback("policy.yaml")]
    response = await litellm.acompletion("openai/gpt-4.1-mini", messages)
    response.hallucination["decision"]
    ```

    A callback cannot withhold a response, because litellm ignores its exceptions, but it can
    replace it with a regenerated one. It sees neither streams nor blocking `litellm.completion`.

    Args:
        policy: A `Policy`, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `Retriever`, or anything that
            `resay.retrieval.as_retriever` accepts. It replaces the policy's retriever.
        on_verdict: Called with each `resay.Verdict`. If it is async, it is awaited. Its exceptions
            are logged.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a callback cannot do, or it regenerates
            and has no retriever.
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
            The response with its verdict in `hallucination`, or None to leave it unchanged.
        """
        if inside_guard() or not isinstance(response, ModelResponse) or not response.choices:
            return None
        if field_of(call_type, "value") != "acompletion" or verdict_of(response) is not None:
            return None
        relay = Relay(self.resay_guard, CHAT.api)
        api_request = relay.read(_request_body(request_data, response), answered=True)
        target = Target(None, api_request.body["model"])
        body = CHAT.body(response)
        with marked():
            checked = await relay.acheck(
                api_request, body, upstream_of(CHAT, target, api_request.body)
            )
        return None if checked is body else CHAT.response(response, checked)


def _request_body(data: dict[str, Any], response: ModelResponse) -> dict[str, Any]:
    log = data.get("litellm_logging_obj")
    # Positional arguments are only in the log object, whose model lacks its provider.
    model, messages = data.get("model"), data.get("messages") or field_of(log, "messages")
    # litellm accepts its own message objects too.
    plain = [m.model_dump(exclude_none=True) if hasattr(m, "model_dump") else m for m in messages]
    body = {**user_params(data), "messages": plain}
    if model is None:
        provider = field_of(field_of(response, "_hidden_params"), "custom_llm_provider")
        return {**body, "model": field_of(log, "model"), "custom_llm_provider": provider}
    return {**body, "model": model}


def _check(guard: Guard) -> None:
    policy = guard.policy
    blocking = {
        "action": isinstance(policy.action, Block),
        "otherwise": isinstance(getattr(policy.action, "otherwise", None), Block),
        "on_error": policy.on_error == "block",
        "on_unscored": policy.on_unscored == "block",
    }
    for key, blocks in blocking.items():
        if blocks:
            raise ConfigurationError(
                f"a callback cannot do `{key}: block`, because litellm ignores its exceptions;"
                f" use `{key}: annotate`, or guard the proxy with HallucinationGuardrail"
            )
    remedy = ", and a callback knows none; use `evidence: documents`"
    GuardRuntime(guard).require_inputs({"references": remedy})
    check_via(guard)
