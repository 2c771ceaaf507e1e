"""Who answers what."""

from __future__ import annotations

from dataclasses import dataclass

from resay.core.verdict import Via
from resay.providers.base import Provider

__all__ = ["Sources"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Who answers what. Adapters use it to send each kind of call its own way.

    Attributes:
        main: Gives the response.
        samples: Gives the samples.
        judge: Answers for judges, those named in the policy and the response's own model.
        via: Which way samples are drawn, for the verdict.
        finds_references: Whether answers come with the trusted texts they were written from.
        model: Who answers a query that names no model, for its price; None where that is not known.
    """

    main: Provider
    samples: Provider
    judge: Provider
    via: Via = "native"
    finds_references: bool = False
    model: str | None = None

    @classmethod
    def all(cls, provider: Provider, via: Via = "native") -> Sources:
        """Let one provider answer everything."""
        return cls(provider, provider, provider, via)
