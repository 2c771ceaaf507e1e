"""What pushes verdicts to a tracing tool implements `Observer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from resay._internal.telemetry import current_trace_ids
from resay.core.decision import Decision


@dataclass(frozen=True, slots=True)
class Place:
    """The trace and span that a verdict belongs to, in the tool's terms.

    Attributes:
        trace_id: The trace.
        span_id: The span, observation, run or call in it; None for the trace itself.
        context: Anything else that the observer needs to find it.
    """

    trace_id: str
    span_id: str | None = None
    context: Any = field(default=None, repr=False)


place: ContextVar[Place | None] = ContextVar("resay_place", default=None)
"""The place of this request's verdicts. Set it if the tool's current trace is not the right one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict in the form that is pushed.

    Attributes:
        id: A unique id; a finding that is pushed twice keeps it.
        name: The policy's name for the score.
        decision: `flagged`, `consistent` or `inconclusive`; `skipped` if an abstention replaced
            the answer.
        score: The score of the passage from 0, supported, to 1, or None; from 0 to 1, supported, if
            the policy sets `score: good`.
        reason: The verdict's reason: one line without content.
        metadata: The action, policy, model, request, cost and so on; unknown values are omitted.
        flagged: The flagged sentences if the policy sets `content: true`; otherwise empty.
    """

    id: str
    name: str
    decision: Decision
    score: float | None
    reason: str
    metadata: Mapping[str, str | int | float]
    flagged: tuple[str, ...] = field(default=(), repr=False)

    @property
    def details(self) -> dict[str, Any]:
        """The metadata, plus the flagged sentences, if any."""
        content = {"flagged_sentences": list(self.flagged)} if self.flagged else {}
        return {**self.metadata, **content}


class Observer(Protocol):
    """Pushes findings to a tool. Subclass it, or provide the same methods."""

    def place(self) -> Place | None:
        """Return the current place in the context of an answer. It must be quick.

        The default is the current OpenTelemetry span, or the check's own span if there is none.

        Returns:
            The place, or None not to push the verdict.
        """
        ids = current_trace_ids()
        return Place(*ids) if ids else None

    def send(self, findings: Sequence[tuple[Place, Finding]], /) -> None:
        """Push findings from the background thread. If it raises, they count as lost.

        Args:
            findings: At most 100 findings, each with its place.
        """
        ...

    def flush(self) -> None:
        """Wait until all sent findings have left the process. By default, `send` waits itself."""
