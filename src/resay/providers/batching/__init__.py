"""Requests through the providers' Batch APIs, at half the price and within a day."""

from resay.providers.batching.config import (
    BATCH_SHARE,
    BatchCallsConfig,
    CallsConfig,
    LiveCallsConfig,
    calls_configs,
)

__all__ = [
    "BATCH_SHARE",
    "BatchCallsConfig",
    "CallsConfig",
    "LiveCallsConfig",
    "calls_configs",
]
