"""The outcome of a check: span attributes, and one log record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NewType

AttributeValue = str | bool | int | float | Sequence[str] | None
"""What an attribute can be. None leaves it out."""
EVALUATION = "hallucination.consistency"
"""What the evaluation is called in OpenTelemetry's event and on the span."""
Place = NewType("Place", object)
"""A place in the tree of spans."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is reported of a check that has ended.

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
            **({} if self.decision == "skipped" else self._evaluation),
        }

    @property
    def _evaluation(self) -> dict[str, AttributeValue]:
        """The same as OpenInference has it."""
        return {
            "evaluations.0.evaluation.name": EVALUATION,
            "evaluations.0.evaluation.score": self.score,
            "evaluations.0.evaluation.label": self.decision,
            "evaluations.0.evaluation.explanation": self.reason,
            "evaluations.0.evaluation.annotator_kind": "CODE",
        }


request_id: ContextVar[str | None] = ContextVar("resay_request_id", default=None)
"""What the application calls the request it is serving; set it, and log records name it."""
_log = logging.getLogger("resay")


def log_outcome(outcome: Outcome, *, model: str | None, policy: Sequence[str]) -> None:
    """Log how a check has ended, at level INFO and without content.

    Args:
        outcome: How it has ended.
        model: The model that was asked.
        policy: The methods of the policy.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    done = f", {outcome.action}" if outcome.action else ""
    message = f"{outcome.decision}{done}: {outcome.reason}; {outcome.calls} calls"
    record = _log.makeRecord(
        _log.name, logging.INFO, __file__, 0, "%s in %.2f s", (message, outcome.elapsed_s), None
    )
    fields = {
        "request_id": request_id.get(),
        "model": model,
        "policy": list(policy),
        "decision": outcome.decision,
        "action": outcome.action,
        "score": outcome.score,
        "samples": outcome.samples,
        "calls": outcome.calls,
        "tokens": outcome.tokens,
        "cost_usd": outcome.cost_usd,
        "elapsed_s": outcome.elapsed_s,
    }
    for name, value in fields.items():
        # A record factory of the application's may have set the same; `extra` would fail on that.
        if name not in vars(record):
            setattr(record, name, value)
    _log.handle(record)
