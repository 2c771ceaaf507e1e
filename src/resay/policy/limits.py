"""What a check may spend: the section `limits`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from resay._internal.strict import LazySection, Strict

if TYPE_CHECKING:
    from resay.providers.shared_limits import SharedLimitsConfig
else:
    SharedLimitsConfig = Annotated[
        Any, LazySection("resay.providers.shared_limits:SharedLimitsConfig")
    ]

Seconds = Annotated[float, Field(gt=0)]
AutoLimit = Annotated[int, Field(ge=1)] | Literal["auto"] | None
"""A number, none, or `auto`: what `allowance` returns."""


class ProcessLimits(Strict):
    """Limits for all checks of this process together."""

    concurrency: int | None = Field(
        default=None, ge=1, le=10_000, description="Concurrent calls; null = no limit."
    )
    calls_per_minute: int | None = Field(
        default=None, ge=1, description="Calls per minute (sliding); null = no limit."
    )


class SessionLimits(Strict):
    """Limits for the checks of one session of `resay mcp` together."""

    calls: int | None = Field(
        default=None, ge=1, description="Calls, including retries; null = no limit."
    )
    cost_usd: float | None = Field(default=None, gt=0, description="Dollars; null = no limit.")
    checking_s: Seconds | None = Field(
        default=None, description="Seconds that its checks may take together; null = no limit."
    )


class Limits(Strict):
    """Limits for a check."""

    deadline_s: Seconds | None = Field(
        default=120.0, description="Seconds for the whole guarded request; null = no limit."
    )
    timeout_s: Seconds | None = Field(
        default=60.0,
        description="Seconds for one call of the check (a sample or a judge's answer); null = no"
        " limit.",
    )
    calls: AutoLimit = Field(
        default="auto",
        description="Calls per check, including retries; auto = 100, plus 2 per sentence and sample"
        " (counting at least 10 samples), at most 1,000; null = no limit.",
    )
    tokens: AutoLimit = Field(
        default="auto",
        description="Prompt and completion tokens per check; auto = 50,000, plus 1,000 per"
        " sentence and sample (counting at least 10 samples), at most 500,000, plus an allowance"
        " for the length of the request and the references; null = no limit.",
    )
    cost_usd: float | None = Field(
        default=None, gt=0, description="Dollars per check; null = no limit."
    )
    concurrency: int = Field(
        default=16, ge=1, le=1000, description="Concurrent calls of one check."
    )
    retries: int = Field(default=2, ge=0, le=10, description="Retries of a failed call.")
    process: ProcessLimits = Field(
        default=ProcessLimits.with_defaults(),
        description="Combined limits for all checks of this process.",
    )
    session: SessionLimits = Field(
        default=SessionLimits.with_defaults(),
        description="Combined limits for the checks of one session of an agent (`resay mcp`).",
    )
    shared: SharedLimitsConfig | None = Field(
        default=None,
        description="Combined limits for the checks of several processes and machines, shared"
        " through Redis; needs resay[redis]. null = each process has its own limits.",
    )

    def deadline_of(self, started: float) -> float:
        """Return when a request must be finished that came at this time."""
        return started + (self.deadline_s or math.inf)
