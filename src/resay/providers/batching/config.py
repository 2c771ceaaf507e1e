"""The `calls` section of a policy: send requests live, or through Batch APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from resay._internal.strict import Strict


class LiveCallsConfig(Strict):
    """Send each request at once, and wait for its answer."""

    via: Literal["live"] = Field(
        default="live", description="Ask at once, and wait for each answer."
    )


class BatchCallsConfig(Strict):
    """Collect requests, and send them through the provider's Batch API at half the price."""

    via: Literal["batch"] = Field(
        default="batch",
        description="Collect the requests of all checks, and ask through the provider's Batch API:"
        " at half the price, within a day. For recorded answers only.",
    )
    state: str = Field(
        min_length=1,
        description="The file, on a local disk, that remembers which batch has which requests, and"
        " their answers; made where it is missing, and readable to its owner only. With it, a run"
        " that is started again finds the batches of the one before.",
    )
    wait_s: float = Field(
        default=5.0,
        ge=0,
        le=3600,
        description="Submit what was collected once nothing new came for this many seconds.",
    )
    max_requests: int = Field(
        default=50_000,
        ge=1,
        description="Submit at the latest with this many requests; the API's own limit counts where"
        " it is lower.",
    )
    max_mb: float = Field(
        default=100.0,
        gt=0,
        description="Submit at the latest with this many megabytes (10^6 bytes); the API's own"
        " limit counts where it is lower. They are in memory while they are sent.",
    )
    poll_s: float = Field(
        default=30.0,
        ge=0,
        description="Look after this many seconds whether a batch has ended, then at growing"
        " intervals, or when the provider says.",
    )
    longest_poll_s: float = Field(
        default=300.0, ge=0, description="Look at least this often, in seconds."
    )
    retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="How often a request that failed or expired is sent again, in the next batch.",
    )
    ttl_s: float = Field(
        default=2_419_200.0,
        gt=0,
        description="Seconds until a batch and its answers are forgotten; by default 28 days,"
        " because Anthropic keeps results for 29.",
    )


CallsConfig = LiveCallsConfig | BatchCallsConfig


def calls_configs() -> Mapping[str, type[BaseModel]]:
    """Return the classes of a policy's `calls`, by their `via`."""
    return {"live": LiveCallsConfig, "batch": BatchCallsConfig}
