"""The seam to everything that can answer a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from resay.logprobs import TokenLogprob, TopLogprob
from resay.query import Query
from resay.verdict import Usage

__all__ = ["Completion", "Completions", "Layer", "Provider", "TokenLogprob", "TopLogprob"]


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: What the model wrote; empty for a pure tool call.
        finish_reason: Why it stopped, as the provider says.
        logprobs: Its tokens, where they were asked for and the provider returned them.
        raw: The provider's own object for this answer, untouched.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    raw: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Completions:
    """The answers to one query.

    Attributes:
        items: The answers that arrived.
        usage: What they cost.
        failures: Requests that failed while others succeeded.
    """

    items: tuple[Completion, ...]
    usage: Usage = field(default_factory=Usage)
    failures: tuple[Exception, ...] = ()

    @property
    def first(self) -> Completion:
        """The first answer."""
        return self.items[0]


class Provider(Protocol):
    """Anything that answers queries.

    Whatever adds behaviour (retries, a limit, a meter) wraps one and is one; see `Layer`.
    """

    async def takes_n(self, query: Query) -> bool:
        """Return whether one request may ask for several answers to this query."""
        ...

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            query: What to ask.
            n: How many answers to ask for; more than 1 only where `takes_n` says so. A provider
                may return fewer: `FanOut` is what makes up the number.

        Returns:
            At least one answer, at most n.

        Raises:
            ProviderError: No answer could be had.
        """
        ...


class Layer:
    """A provider that wraps another and passes everything on. Override what you add to."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner

    async def takes_n(self, query: Query) -> bool:
        """Ask the wrapped provider."""
        return await self.inner.takes_n(query)

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider."""
        return await self.inner.complete(query, n=n)
