"""The `calls` section of a policy: send requests live, or through Batch APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field

from resay._internal.strict import Strict

BATCH_SHARE = 0.5
"""The price of a request in a batch, as a fraction of its live price: at OpenAI, Anthropic, Azure
and Vertex AI."""


class LiveCallsConfig(Strict):
    """Send each request at once, and wait for its answer."""

    via: Literal["live"] = Field(
        default="live", description="Send each request at once, and wait for its answer."
    )


class BatchCallsConfig(Strict):
    """Collect requests, and send them through the provider's Batch API at half the price."""

    via: Literal["batch"] = Field(
        default="batch",
        description="Collect the requests of all checks, and send them through the provider's Batch"
        " API: at half the price, answered within a day. For recorded answers only.",
    )
    state: str = Field(
        min_length=1,
        description="The file, on a local disk, that records the requests of each batch and their"
        " answers; created if missing, readable only by its owner. With it, a restarted run finds"
        " the batches of the previous one.",
    )
    wait_s: float = Field(
        default=5.0,
        ge=0,
        le=3600,
        description="Submit the collected requests after this many seconds without a new one.",
    )
    max_requests: int = Field(
        default=50_000,
        ge=1,
        description="The maximum number of requests in a batch, or the API's own limit if that is"
        " lower.",
    )
    max_mb: float = Field(
        default=100.0,
        gt=0,
        description="The maximum size of a batch in megabytes (10^6 bytes), or the API's own limit"
        " if that is lower. A batch is in memory while it is sent.",
    )
    poll_s: float = Field(
        default=30.0,
        ge=0,
        description="Seconds before the first check whether a batch has ended; later checks follow"
        " at growing intervals, or when the provider says.",
    )
    longest_poll_s: float = Field(
        default=300.0, ge=0, description="The longest interval between these checks, in seconds."
    )
    retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="The number of times that a failed or expired request is sent again, in the"
        " next batch.",
    )
    ttl_s: float = Field(
        default=2_419_200.0,
        gt=0,
        description="Seconds until a batch and its answers are deleted from the file; by default 28"
        " days, because Anthropic keeps results for 29.",
    )


CallsConfig = LiveCallsConfig | BatchCallsConfig


def calls_configs() -> Mapping[str, type[BaseModel]]:
    """Return the classes of a policy's `calls`, by their `via`."""
    return {"live": LiveCallsConfig, "batch": BatchCallsConfig}
