"""The providers of a request's calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from resay._internal.lazy_types import lazy_type

if TYPE_CHECKING:
    from resay.core.verdict import Via
    from resay.providers.base import Provider
    from resay.providers.limits import Budget
else:
    Via = lazy_type("resay.core.verdict", "Via")
    Provider = lazy_type("resay.providers.base", "Provider")
    Budget = lazy_type("resay.providers.limits", "Budget")


@dataclass(frozen=True, slots=True)
class Sources:
    """The provider for each kind of call. Adapters use it to route calls separately.

    Attributes:
        main: Provides the response.
        samples: Provides the samples.
        judge: Answers for judges: those named in the policy, and the response's own model.
        via: How samples are drawn, for the verdict.
        finds_references: Whether answers come with the trusted texts they were written from.
        model: The model that answers a request naming none, for its price; None if unknown.
        budget: The budget that the checks of a request's several answers share; None for one of its
            own.
    """

    main: Provider
    samples: Provider
    judge: Provider
    via: Via = "native"
    finds_references: bool = False
    model: str | None = None
    budget: Budget | None = None

    @classmethod
    def all(cls, provider: Provider, via: Via = "native") -> Sources:
        """Use one provider for everything."""
        return cls(main=provider, samples=provider, judge=provider, via=via)
