"""What the gateway's own endpoints share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resay import Answer
from resay.adapters import GuardRuntime
from resay.adapters.apis import CHAT_COMPLETIONS, Api, ApiRequest, Body
from resay.adapters.limits import SharedState
from resay.adapters.relay import Relay
from resay.adapters.settings import message_of
from resay.adapters.threads import cancel_once
from resay.adapters.upstream import Upstream, default_provider
from resay.errors import ConfigurationError, UncheckableError
from resay_server.gateway.config import GatewayConfig
from resay_server.gateway.conversations import Conversations
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.guarded_request import RequestContext
from resay_server.gateway.harmless_params import HarmlessParams
from resay_server.gateway.logs import one_line
from resay_server.gateway.policies import Policies
from resay_server.gateway.routing import Routing
from resay_server.gateway.sample_tags import SampleTags
from resay_server.gateway.shared import SharedConversations
from resay_server.journal import Journal

M = TypeVar("M", bound=BaseModel)
_MOST_PROBLEMS = 20
LONGEST_NAME = 64
"""The maximum length of a client's own name or id in an error message, in characters."""
# SDKs wait for at most a minute before they retry.
_FAILED_S = 120.0
_MOST_FAILED = 1024
_FAILED_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the gateway's own endpoints.

    Attributes:
        body: The body.
        answers: The answers that were checked.
        model: The model that supposedly wrote them; None if unknown.
        question: The question; None if unknown.
        policy: The policy that was applied; None for the one that the request named.
        refused: The error to send instead of the body, if an answer is withheld by an error.
    """

    body: Body
    answers: tuple[Answer, ...] = ()
    model: str | None = None
    question: str | None = None
    policy: str | None = None
    refused: RefusedError | None = None


class EndpointState:
    """State shared by all requests of one gateway.

    Args:
        config: The gateway's configuration.
        policies: Its policies.
        state: State shared with other gateways.
        journal: The journal for verdicts; None for none.

    Attributes:
        policies: The policies.
        journal: The journal.
        conversations: Requests remembered until their answers are checked.
        failed: Samples drawn for requests whose main call failed.
        sample_tags: Tags the gateway's own requests.
        webhook_s: The seconds within which webhooks are answered.
    """

    def __init__(
        self,
        config: GatewayConfig,
        policies: Policies,
        state: SharedState | None,
        journal: Journal | None,
    ) -> None:
        key = None if config.upstream is None else config.upstream.api_key
        self.policies = policies
        self.journal = journal
        self.conversations = SharedConversations(state)
        self.failed = Conversations(
            max_count=_MOST_FAILED, max_bytes=_FAILED_BYTES, ttl_s=_FAILED_S
        )
        self.sample_tags = SampleTags(None if key is None else key.get_secret_value())
        self.webhook_s = config.limits.webhook_s


Handler = Callable[[RequestContext, Body, Routing, EndpointState], Awaitable[Reply]]
"""Handles a request. It raises a `RefusedError` on failure."""


class ForeignFields(BaseModel):
    """What is read of the format of another gateway, whose other fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, hide_input_in_errors=True)


def read_as(model: type[M], body: Body) -> M:
    """Validate a request's body with a model.

    Raises:
        RefusedError: It is not valid; the message lists every problem, without the values.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        problems = list(dict.fromkeys(_problems(error)))
    # Outside of the handler, so that no chained exception carries the values.
    message = "; ".join(problems[:_MOST_PROBLEMS])
    if len(problems) > _MOST_PROBLEMS:
        message += f"; and {len(problems) - _MOST_PROBLEMS} more"
    raise RefusedError(400, "invalid_request", f"the request is not valid: {message}")


def _problems(error: ValidationError) -> Iterator[str]:
    for details in error.errors(include_url=False, include_input=False):
        path = ".".join(one_line(str(step), LONGEST_NAME) for step in details["loc"])
        message = message_of(details)
        if details["type"] == "missing":
            message = "required, but missing"
        if details["type"] == "extra_forbidden":
            message = "unknown field"
        yield f"{path}: {message}" if path else message


def upstream_of(
    context: RequestContext,
    api_request: ApiRequest,
    routing: Routing,
    sample_tags: SampleTags,
    *,
    api: Api = CHAT_COMPLETIONS,
    payer: str = "",
) -> Upstream:
    """Return how to send the requests for a check of an existing answer.

    Args:
        context: The request.
        api_request: The question, as a request.
        routing: The routing to upstreams.
        sample_tags: Tags requests to the upstream.
        api: The API of the request.
        payer: Further text to separate cached samples by payer.
    """
    call = context.call

    async def ask(body: Body) -> Body:
        # Each gets its own tag, because LiteLLM keys its records by it.
        tagged = sample_tags.tagged(call)
        return await cancel_once(routing.ask(tagged, api.path, body))

    async def takes_n() -> bool:
        return routing.takes_n(api_request.body)

    policy = context.guard.policy
    return Upstream(
        ask,
        f"{routing.source(call, context.client)} {payer}",
        lambda: HarmlessParams(default_provider(), api_request.request, policy),
        takes_n=takes_n,
        cost_usd=routing.cost_usd,
    )


def refusal(context: RequestContext, api: Api, body: Body) -> str | None:
    """Return why the policy refuses a request before another gateway sends it, or None.

    Raises:
        RefusedError: The request is not valid.
    """
    try:
        Relay(context.guard, api).read(body, tenant=context.call.tenant)
    except UncheckableError as error:
        return str(error)
    except ConfigurationError as error:
        raise RefusedError(400, "invalid_request", str(error)) from None
    return None


def missing_for_check(
    runtime: GuardRuntime, *, sender: str, model: str | None, unknown_question: str | None
) -> str | None:
    """Return why another gateway's answer cannot be checked, or None if it can.

    Args:
        runtime: The guard.
        sender: The other gateway, for the message.
        model: The model that wrote the answer; None if unknown.
        unknown_question: Why the question is unknown; None if it is known.
    """
    remedy = f", and {sender} gives none"
    problem = runtime.missing_inputs({"references": remedy, "logprobs": remedy})
    if problem is not None:
        return problem
    if unknown_question is None:
        return f"{sender} names no model" if model is None and _asks_model(runtime) else None
    method = runtime.required_by("samples") or runtime.required_by("question")
    return None if method is None else f"method {method!r} needs the question: {unknown_question}"


def _asks_model(runtime: GuardRuntime) -> bool:
    """Return whether the model that wrote an answer is called again."""
    draws = runtime.required_by("samples") is not None and runtime.policy.sampling.model is None
    return draws or runtime.asking_response_model is not None
