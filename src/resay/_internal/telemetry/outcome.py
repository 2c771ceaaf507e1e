"""What is told of a check that has ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from resay._internal.telemetry.attributes import AttributeValue

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of a check that has ended.

    Attributes:
        decision: What was decided.
        reason: Why, in one line without content.
        score: The score of the passage, in [0, 1]; None where there is none.
        action: What was done with the answer; None where there was nothing to do, because a
            response was only checked.
        samples: How many samples were compared.
        calls: What the check cost, without the main call: requests.
        tokens: The same in tokens.
        cost_usd: The same in dollars; None where that is unknown.
        elapsed_s: Wall-clock seconds.
        response_id: What the provider calls the response, where that is known.
        flagged: The flagged sentences. Content: shown only where the application asks for it.
    """

    decision: str
    reason: str
    score: float | None
    action: str | None
    samples: int
    calls: int
    tokens: int
    cost_usd: float | None
    elapsed_s: float
    response_id: str | None = None
    flagged: tuple[str, ...] = field(default=(), repr=False)

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """What a span says of it."""
        return {
            "resay.decision": self.decision,
            "resay.action": self.action,
            "resay.score": self.score,
            "resay.samples": self.samples,
            "resay.calls": self.calls,
            "resay.tokens": self.tokens,
            "resay.cost_usd": self.cost_usd,
            "gen_ai.response.id": self.response_id,
        }
