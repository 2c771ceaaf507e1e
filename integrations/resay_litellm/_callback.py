"""A callback for litellm's SDK: verdicts on what `litellm.acompletion` gives."""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponse

from resay.adapting import (
    VERDICT_KEY,
    PolicyLike,
    guard_of,
    inside_guard,
    litellm_provider,
    marked,
    verdict_data,
)
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.query import Query
from resay.sources import Sources
from resay_litellm._chat import CHAT
from resay_litellm._outcome import failed, field, of_several, told
from resay_litellm._providers import Answered

__all__ = ["HallucinationCallback"]


class HallucinationCallback(CustomLogger):
    """Puts a verdict on every response of `litellm.acompletion`.

    ```python
    litellm.callbacks = [HallucinationCallback("policy.yaml")]
    response = await litellm.acompletion("openai/gpt-4.1-mini", messages)
    response.hallucination["decision"]
    ```

    It cannot withhold a response, because litellm passes over what a callback raises. It sees
    neither streams nor the blocking `litellm.completion`.

    Args:
        policy: What to check, and how: a `Policy`, a path, a mapping or a `Guard`; None for the
            file that `RESAY_POLICY` names, or the default.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It asks for what a callback cannot do.
    """

    def __init__(self, policy: PolicyLike = None) -> None:
        logger: Any = super()
        logger.__init__()
        self.resay_guard = guard_of(policy)
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
        if field(call_type, "value") != "acompletion" or told(response) is not None:
            return None
        completions = CHAT.completions(response)
        query = _query(request_data, response, self.resay_guard)
        provider = litellm_provider()
        sources = Sources(
            Answered(completions[0], CHAT.usage(response)), provider, provider, "litellm"
        )
        try:
            with marked():
                answer = await self.resay_guard.arun(query, sources)
        # litellm would pass over it, and nobody would hear that nothing was checked.
        except Exception as error:
            answer = self.resay_guard.apply(completions[0].text, failed(error))
        answer = of_several(answer, len(completions))
        setattr(response, VERDICT_KEY, verdict_data(answer.verdict, answer.action))
        return response


def _query(data: dict[str, Any], response: ModelResponse, guard: Guard) -> Query:
    log = data.get("litellm_logging_obj")
    # What was given by position is only there, and the model without its provider.
    model, messages = data.get("model"), data.get("messages") or field(log, "messages")
    if model is None:
        provider = field(field(response, "_hidden_params"), "custom_llm_provider")
        model, data = field(log, "model"), {**data, "custom_llm_provider": provider}
    query = CHAT.read({**data, "messages": messages})
    unchecked = query.unchecked if guard.needing("samples") else None
    return Query(
        query.messages,
        model,
        query.params,
        object_tools=query.object_tools,
        unchecked=unchecked,
    )


def _check(guard: Guard) -> None:
    policy = guard.policy
    if policy.action.do == "block":
        raise ConfigurationError(
            "`action: block` cannot be done by a callback, because litellm passes over what it"
            " raises; use `action: annotate`, or guard the proxy with ResayGuardrail"
        )
    if policy.on_error == "block":
        raise ConfigurationError(
            "`on_error: block` cannot be done by a callback, because litellm passes over what it"
            " raises; use `on_error: annotate`, or guard the proxy with ResayGuardrail"
        )
    if method := guard.needing("references"):
        raise ConfigurationError(
            f"method {method!r} compares with references, and a callback knows none; leave"
            " `evidence: references` out"
        )
    if policy.sampling.via == "native":
        raise ConfigurationError(
            "`sampling.via` is 'native', but everything goes through litellm here; leave it out"
        )
