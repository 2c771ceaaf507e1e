"""One log record for each check that has ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar

from resay._internal.telemetry.outcome import Outcome

__all__ = ["log_outcome", "request_id"]

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
