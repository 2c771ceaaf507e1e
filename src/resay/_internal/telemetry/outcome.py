"""The outcome of a check, as span attributes and as a log record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NewType

from resay._internal.plurals import counted

AttributeValue = str | bool | int | float | Sequence[str] | None
"""The value of an attribute. Attributes that are None are left out."""
EVALUATION = "hallucination.consistency"
"""The name of the evaluation in OpenTelemetry's event and on the span."""
TraceContext = NewType("TraceContext", object)
"""The parent of new spans."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The reported outcome of a finished check.

    Attributes:
        decision: The decision.
        reason: Its reason, in one line without content.
        score: The score of the passage, in [0, 1]; None if there is none.
        action: The action on the answer; None if a response was only checked.
        samples: Number of samples compared.
        calls: Calls of the check, without the main call.
        tokens: Tokens of these calls.
        cost_usd: Cost of these calls in dollars; None if unknown.
        elapsed_s: Wall-clock seconds.
        response_id: The provider's ID of the response, if known.
        flagged: The flagged sentences. Content: exported only if the application asks for it.
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
        """Its attributes on the span."""
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
        """Its attributes in OpenInference's format."""
        return {
            "evaluations.0.evaluation.name": EVALUATION,
            "evaluations.0.evaluation.score": self.score,
            "evaluations.0.evaluation.label": self.decision,
            "evaluations.0.evaluation.explanation": self.reason,
            "evaluations.0.evaluation.annotator_kind": "CODE",
        }


request_id: ContextVar[str | None] = ContextVar("resay_request_id", default=None)
"""The application's ID of the current request; if set, log records contain it."""
_log = logging.getLogger("resay")


def log_outcome(outcome: Outcome, *, model: str | None, policy: Sequence[str]) -> None:
    """Log the outcome of a check at level INFO, without content.

    Args:
        outcome: The outcome.
        model: The model that was called.
        policy: The methods of the policy.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    done = f", {outcome.action}" if outcome.action else ""
    calls = counted(outcome.calls, "call")
    message = f"{outcome.decision}{done}: {outcome.reason}; {calls}"
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
        # The application's record factory may have set the same field; `extra` would raise then.
        if name not in vars(record):
            setattr(record, name, value)
    _log.handle(record)
