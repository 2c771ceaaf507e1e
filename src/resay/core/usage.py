"""What LLM calls cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What LLM calls cost.

    Attributes:
        calls: Requests sent, failed and cancelled ones included.
        prompt_tokens: Tokens read, as reported by the provider.
        completion_tokens: Tokens written, as reported by the provider.
        cost_usd: Dollars, or None when the price of any of the calls is unknown. A cancelled call
            is taken to cost what an answered one of the same kind cost on average.
        cancelled: How many of the calls were cancelled before they were answered.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cancelled: int = 0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.cancelled + other.cancelled,
        )

    def since(self, earlier: Usage) -> Usage:
        """Return what was added to an earlier state of the same meter."""
        known = self.cost_usd is not None and earlier.cost_usd is not None
        return Usage(
            self.calls - earlier.calls,
            self.prompt_tokens - earlier.prompt_tokens,
            self.completion_tokens - earlier.completion_tokens,
            (self.cost_usd or 0.0) - (earlier.cost_usd or 0.0) if known else None,
            self.cancelled - earlier.cancelled,
        )

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens
