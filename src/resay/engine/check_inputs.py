"""Material that the caller supplies for a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from resay._internal.event_loops import compute
from resay.core.logprobs import TokenLogprob
from resay.core.reasoning import without_reasoning
from resay.providers.limits import Budget


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """Material supplied by the caller for a check.

    Attributes:
        references: Trusted texts.
        samples: Other responses to the same question; None if none were given.
        logprobs: The response's tokens with their probabilities, if known.
        budget: The budget of a request with several answers; None for a budget of its own.
    """

    references: Sequence[str] = ()
    samples: Sequence[str] | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    budget: Budget | None = None

    async def without_reasoning(self) -> CheckInputs:
        """Return the same material without the models' reasoning in the samples."""
        samples = self.samples
        if samples is None:
            return self

        def strip() -> list[str]:
            return [without_reasoning(text) for text in samples]

        return replace(self, samples=await compute(strip, chars=sum(map(len, samples))))
