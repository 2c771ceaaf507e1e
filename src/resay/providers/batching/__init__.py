"""Requests through the providers' Batch APIs, at half the price and within a day."""

from resay.providers.batching.config import (
    BatchCallsConfig,
    CallsConfig,
    LiveCallsConfig,
    calls_configs,
)
from resay.providers.batching.layer import BATCH_SHARE, BatchProvider, open_batches

__all__ = [
    "BATCH_SHARE",
    "BatchCallsConfig",
    "BatchProvider",
    "CallsConfig",
    "LiveCallsConfig",
    "calls_configs",
    "open_batches",
]
