"""What the answers share that the gateway gives itself.

Marks on the samples that the gateway draws, by which it knows them when they come back.

Where its upstream is a LiteLLM proxy that has the gateway check all answers, it is asked to check
its own samples too: without a mark each would be checked by samples of its own, without end.

LiteLLM takes the name of a call from the header `x-litellm-call-id` and tells it to its guardrails
with what is asked and with what is answered. Other upstreams pass over the header.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from resay.adapters import Upstream, cancelled_once, litellm_provider
from resay.adapters.upstream import JudgeProvider, SampleProvider
from resay.engine.actions import Answer
from resay.gateway.calls import Call
from resay.gateway.config import GatewayConfig
from resay.gateway.elsewhere import Elsewhere
from resay.gateway.guarding import Wanted
from resay.gateway.logs import one_line
from resay.gateway.policies import Policies
from resay.gateway.refusing import RefusedError
from resay.gateway.remembering import Conversations
from resay.gateway.routing import Routing
from resay.providers.apis import CHAT_COMPLETIONS, Body, Request
from resay.providers.base import Provider
from resay.providers.routes import Sources

__all__ = ["Handler", "Marks", "Reply", "Shared", "read_as", "sources_of"]

_HEADER = b"x-litellm-call-id"
_FORM = re.compile(r"resay\.([0-9]{1,12})\.[0-9a-f]{16}\.([0-9a-f]{32})")
_LIKE = "resay."
_VALID_S = 3600
_PURPOSE = b"resay: marks on samples"


class Marks:
    """Makes marks that nobody else can make, each for one request, and knows them for an hour.

    Args:
        secret: What only the gateway's processes know, so that each knows the marks of the others;
            None for one of this process's own.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        key = secrets.token_bytes(32) if secret is None else secret.encode()
        self._key = hmac.digest(key, _PURPOSE, hashlib.sha256)
        self._clock = clock

    def marked(self, call: Call) -> Call:
        """Return a client's request as one for a sample: by OpenAI's API, with a mark."""
        kept = [(name, value) for name, value in call.headers if name != _HEADER]
        headers = [*kept, (_HEADER, self.make().encode())]
        return replace(call, query=b"", headers=headers, dialect="openai")

    def make(self) -> str:
        """Return a mark."""
        said = f"{_LIKE}{int(self._clock()) + _VALID_S}.{secrets.token_hex(8)}"
        return f"{said}.{self._sum(said)}"

    def knows(self, name: str) -> bool:
        """Return whether a call's name is a mark of ours."""
        form = _FORM.fullmatch(name)
        if form is None or int(form[1]) < self._clock():
            return False
        return hmac.compare_digest(self._sum(name[: -len(form[2]) - 1]), form[2])

    @staticmethod
    def seems(name: str) -> bool:
        """Return whether a call's name is like a mark, whoever made it."""
        return name.startswith(_LIKE)

    def _sum(self, said: str) -> str:
        return hmac.digest(self._key, said.encode(), hashlib.sha256).hex()[:32]


M = TypeVar("M", bound=BaseModel)

_MOST_PROBLEMS = 20
_LONGEST_NAME = 64
# SDKs wait for a minute at most before they try again.
_FAILED_S = 120.0
_MOST_FAILED = 1024
_FAILED_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """What the gateway says.

    Attributes:
        body: What it says.
        answers: The answers that were checked.
        model: The model that is said to have written them; None where that is not known.
        question: What was asked; None where that is not known.
        policy: The policy by which they were checked; None for the one that the request named.
        refused: What it says in place of the body, where an answer is withheld by an error.
    """

    body: Body
    answers: tuple[Answer, ...] = ()
    model: str | None = None
    question: str | None = None
    policy: str | None = None
    refused: RefusedError | None = None


class Shared:
    """What all requests of one gateway share.

    Args:
        config: What the gateway was told.
        policies: Its policies.

    Attributes:
        policies: The policies.
        conversations: What is checked when it was answered.
        failed: What was drawn for requests whose main call has failed.
        marks: Marks what the gateway asks.
    """

    def __init__(self, config: GatewayConfig, policies: Policies) -> None:
        key = None if config.upstream is None else config.upstream.api_key
        self.policies = policies
        self.conversations = Conversations()
        self.failed = Conversations(_MOST_FAILED, _FAILED_BYTES, _FAILED_S)
        self.marks = Marks(None if key is None else key.get_secret_value())


Handler = Callable[[Wanted, Body, Routing, Shared], Awaitable[Reply]]
"""Answers a request. It raises a `RefusedError` where it does not."""


def read_as(model: type[M], body: Body) -> M:
    """Return a request's body as a model of it.

    Raises:
        RefusedError: It is none; every problem is named, and nothing of what was said.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        problems = list(dict.fromkeys(_problems(error)))
    # Outside of the handler, so that no traceback drags the values along.
    told = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    told += f"; and {more} more" if more > 0 else ""
    raise RefusedError(400, "invalid_request", f"the request is not valid: {told}")


def _problems(error: ValidationError) -> Iterator[str]:
    for details in error.errors(include_url=False, include_input=False):
        place = ".".join(one_line(str(step), _LONGEST_NAME) for step in details["loc"])
        message = details["msg"].removeprefix("Value error, ")
        if details["type"] == "missing":
            message = "required, but missing"
        if details["type"] == "extra_forbidden":
            message = "there is no such field"
        yield f"{place}: {message}" if place else message


def sources_of(
    wanted: Wanted,
    request: Request,
    client: Routing,
    marks: Marks,
    *,
    main: Provider | None = None,
    payer: str = "",
) -> Sources:
    """Return who is asked about an answer that is there already.

    Args:
        wanted: What is wanted.
        request: What the answer answers, as a request for chat completions.
        client: How the upstream is asked.
        marks: Marks what is asked of it.
        main: Who gives the answer, where it is asked for.
        payer: What else tells one's cached samples from another's.
    """
    call = wanted.call

    async def ask(body: Body) -> Body:
        # Each with a mark of its own: LiteLLM keeps its records by it.
        asked = client.ask(marks.marked(call), CHAT_COMPLETIONS.path, body)
        return await cancelled_once(asked)

    async def takes_n() -> bool:
        return client.takes_n(request.body)

    policy = wanted.guard.policy
    upstream = Upstream(
        ask,
        f"{client.source(call, wanted.client)} {payer}",
        lambda: Elsewhere(litellm_provider(), request.query, policy),
        takes_n=takes_n,
        cost_usd=client.cost_usd,
    )
    judge = JudgeProvider(CHAT_COMPLETIONS, request.body, upstream)
    samples = SampleProvider(CHAT_COMPLETIONS, request, upstream)
    via = "native" if policy.sampling.model is None else "litellm"
    return Sources(main or judge, samples, judge, via)
