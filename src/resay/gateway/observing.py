"""What others may know of what the gateway does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.providers.apis import Body

logger = logging.getLogger("resay.gateway")

_GRAVITY = {"flagged": 3, "inconclusive": 2, "consistent": 1, "skipped": 0}


@dataclass(frozen=True, slots=True)
class Observation:
    """One request whose answer was guarded, or was to be.

    Attributes:
        request_id: What the request is called.
        api: What was spoken: `chat`, `completions`, `responses`, `messages` or `check`.
        model: The model that the client asked for; None where it named none.
        policy: The name of the policy.
        tenant: On whose behalf it was asked.
        client: Whose key the client came with, where the gateway has keys.
        stream: Whether the answer was streamed.
        status: The HTTP status that the client was given; 499 where it went away before.
        answers: Each answer with its verdict and its words, also of those that were withheld.
        unguarded: Whether the answer was passed on because too much was asked at the same time.
        question: What was asked; None where it was not read.
        request: All that was asked; None where it was not read.
        elapsed_s: How long it took until the answer was complete, in seconds.
        complete: Whether the client got all of it.
    """

    request_id: str
    api: str
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

    @property
    def answer(self) -> Answer | None:
        """The answer that stands for all of them, the gravest; None where there is none."""
        return gravest(self.answers)

    @property
    def verdict(self) -> Verdict | None:
        """Its verdict."""
        return self.answer.verdict if self.answer else None

    @property
    def action(self) -> str | None:
        """What was done with it; `unguarded` where nobody looked, None without an answer."""
        if self.unguarded:
            return "unguarded"
        return self.answer.action if self.answer else None

    @property
    def usage(self) -> Usage:
        """What the client's own call cost."""
        alone = [answer.usage.since(answer.verdict.usage) for answer in self.answers]
        # Several answers came with one call.
        return replace(sum(alone, Usage()), calls=alone[0].calls if alone else 0)

    @property
    def check_usage(self) -> Usage:
        """What the checks cost, and what was written again."""
        return sum((answer.verdict.usage for answer in self.answers), Usage())


def gravest(answers: Sequence[Answer]) -> Answer | None:
    """Return the answer that stands for all, by its verdict; None where there are none."""
    return max(answers, key=lambda answer: _GRAVITY[answer.verdict.decision], default=None)


Observer = Callable[[Observation], None]
"""Is told of each guarded request once, when it is over, on the gateway's event loop.

It must not block. What it raises is logged and harms no answer.
"""


def notify(observer: Observer, observation: Observation) -> None:
    """Tell an observer, whatever it does."""
    try:
        observer(observation)
    except Exception as error:
        logger.warning(
            "the observer failed with %s (request %s)",
            type(error).__name__,
            observation.request_id,
        )
