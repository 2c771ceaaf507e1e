"""The main call of a request: its answer is the one that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from resay.core.request import Request
from resay.core.verdict import Verdict
from resay.engine.actions import Answer, act
from resay.engine.marks import MarkWriter
from resay.errors import DeadlineExceededError
from resay.policy import Policy
from resay.providers.base import Completion, Provider
from resay.providers.metering import Metered

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class MainCall:
    """The main call.

    request: The request.
    provider: The provider to call.
    meter: Measures the usage.
    """

    request: Request
    provider: Provider
    meter: Metered

    def apply(
        self,
        policy: Policy,
        verdict: Verdict,
        completion: Completion,
        *,
        text: str | None = None,
        withheld: bool = False,
        shown: int = 0,
        writer: MarkWriter | None = None,
    ) -> Answer:
        """Act on a verdict, adding up the usage of the main call and the check.

        Args:
            policy: The policy.
            verdict: The result of the check.
            completion: The model's answer.
            text: The text that the verdict is about, if that is not the model's answer.
            withheld: Whether part of it was withheld already.
            shown: How much of it was released already, in code points.
            writer: Has the marks in what was released.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        return act(
            policy,
            completion.text if text is None else text,
            verdict,
            usage=self.meter.usage + verdict.usage,
            completion=completion,
            withheld=withheld,
            shown=shown,
            writer=writer,
        )


def deadline_error(request: Request, policy: Policy) -> DeadlineExceededError:
    """Return the error for a main call that took too long."""
    model = repr(request.model) if request.model else "the model"
    return DeadlineExceededError(
        f"{model} did not answer within {policy.limits.deadline_s:g} s; raise `limits.deadline_s`"
    )
