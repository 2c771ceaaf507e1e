"""Observations of guarded requests, for observers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from resay import Answer, Usage, Verdict
from resay.adapters.apis import Body
from resay.plugins import ApiName, VerdictRecord

logger = logging.getLogger("resay.gateway")

_GRAVITY = {"flagged": 3, "inconclusive": 2, "consistent": 1, "skipped": 0}


@dataclass(frozen=True, slots=True)
class Observation:
    """One guarded request, or one that was to be guarded.

    Attributes:
        request_id: The id of the request.
        api: The API: `chat`, `completions`, `responses`, `messages` or `check`.
        model: The model that the client requested; None if it named none.
        policy: The name of the policy.
        tenant: The tenant of the request.
        client: The owner of the client's key, if the gateway has keys.
        stream: Whether the answer was streamed.
        status: The HTTP status sent to the client; 499 if it disconnected before.
        answers: Each answer with its verdict and its words, including withheld ones.
        unguarded: Whether the answer was passed on unchecked because of overload.
        question: The question; None if it was not read.
        request: The request's body; None if it was not read.
        elapsed_s: Time until the answer was complete, in seconds.
        complete: Whether the client received all of it.
        error: The code of the gateway's error, if the client received one.
        cause: Why the gateway or the upstream failed, without any content; None if neither did.
    """

    request_id: str
    api: ApiName
    model: str | None
    policy: str
    tenant: str | None
    client: str | None
    stream: bool
    status: int
    answers: tuple[Answer, ...] = field(default=(), repr=False)
    unguarded: bool = False
    question: str | None = field(default=None, repr=False)
    request: Body | None = field(default=None, repr=False)
    elapsed_s: float = 0.0
    complete: bool = False
    error: str | None = None
    cause: str | None = None

    @property
    def answer(self) -> Answer | None:
        """The answer with the gravest verdict, which represents all; None if there is none."""
        return worst_answer(self.answers)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on that answer."""
        answer = self.answer
        return answer.verdict if answer else None

    @property
    def action(self) -> str | None:
        """The action taken; `unguarded` if it was not checked, None without an answer."""
        if self.unguarded:
            return "unguarded"
        answer = self.answer
        return answer.action if answer else None

    @property
    def usage(self) -> Usage:
        """The usage of the client's own call."""
        alone = [answer.usage.since(answer.verdict.usage) for answer in self.answers]
        if len(alone) == 1:
            return alone[0]
        # Several answers came with a single call.
        return replace(sum(alone, Usage()), calls=alone[0].calls if alone else 0)

    @property
    def check_usage(self) -> Usage:
        """The usage of the checks and of regenerations."""
        if len(self.answers) == 1:
            return self.answers[0].verdict.usage
        return sum((answer.verdict.usage for answer in self.answers), Usage())

    @property
    def record(self) -> VerdictRecord | None:
        """The record of the answer with the gravest verdict; None if there is none."""
        answer = self.answer
        if answer is None:
            return None
        return VerdictRecord(
            verdict=answer.verdict,
            action=answer.action,
            policy=self.policy,
            model=self.model,
            api=self.api,
            request_id=self.request_id,
            tenant=self.tenant,
            question=self.question,
            usage=self.usage,
            check_usage=self.check_usage,
            latency_s=self.elapsed_s,
        )


def worst_answer(answers: Sequence[Answer]) -> Answer | None:
    """Return the answer with the gravest verdict; None if there are none."""
    if len(answers) == 1:
        return answers[0]
    return max(answers, key=lambda answer: _GRAVITY[answer.verdict.decision], default=None)


Observer = Callable[[Observation], None]
"""Called once for each guarded request when it is over, on the gateway's event loop.

It must not block. Its exceptions are logged and do not affect the answer.
"""


def notify(observer: Observer, observation: Observation) -> None:
    """Call an observer, logging its exceptions."""
    try:
        observer(observation)
    except Exception as error:
        logger.warning(
            "the observer failed with %s (request %s)",
            type(error).__name__,
            observation.request_id,
        )
