"""The cost of LLM calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of LLM calls.

    Attributes:
        calls: Requests sent, including failed and cancelled ones.
        prompt_tokens: Prompt tokens, as reported by the provider.
        completion_tokens: Completion tokens, as reported by the provider.
        cost_usd: Dollars; None if the price of any call is unknown. A cancelled call is assumed to
            cost the average of answered calls of the same kind.
        cancelled: Calls that were cancelled before they were answered.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cancelled: int = 0

    def __add__(self, other: Usage) -> Usage:
        cost_usd = None
        if self.cost_usd is not None and other.cost_usd is not None:
            cost_usd = self.cost_usd + other.cost_usd
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=cost_usd,
            cancelled=self.cancelled + other.cancelled,
        )

    def updated(self, later: Usage) -> Usage:
        """Return the usage of one request after a later report about the same request.

        Of the numbers that are reported more than once, the last counts. A report leaves out a
        number by 0, and the cost by None or 0.

        Args:
            later: The later report.
        """
        cost_usd = self.cost_usd
        if later.cost_usd or cost_usd is None:
            cost_usd = later.cost_usd
        return Usage(
            calls=max(self.calls, later.calls),
            prompt_tokens=later.prompt_tokens or self.prompt_tokens,
            completion_tokens=later.completion_tokens or self.completion_tokens,
            cost_usd=cost_usd,
            cancelled=max(self.cancelled, later.cancelled),
        )

    def since(self, earlier: Usage) -> Usage:
        """Return the difference to an earlier reading of the same meter."""
        cost_usd = None
        if self.cost_usd is not None and earlier.cost_usd is not None:
            cost_usd = self.cost_usd - earlier.cost_usd
        return Usage(
            calls=self.calls - earlier.calls,
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            cost_usd=cost_usd,
            cancelled=self.cancelled - earlier.cancelled,
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


def last_reported(reports: Iterable[Usage | None]) -> Usage | None:
    """Return the usage of one request from all reports about it, of which each may repeat others.

    Args:
        reports: The reports in their order; None for a piece of the answer that reports nothing.

    Returns:
        The usage; None if nothing reports it.
    """
    usage: Usage | None = None
    for report in reports:
        if report is not None:
            usage = report if usage is None else usage.updated(report)
    return usage
