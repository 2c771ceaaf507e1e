"""Requests through the providers' Batch APIs, at half the price and within a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.providers.batching.config import BATCH_SHARE as BATCH_SHARE
    from resay.providers.batching.config import BatchCallsConfig as BatchCallsConfig
    from resay.providers.batching.config import CallsConfig as CallsConfig
    from resay.providers.batching.config import LiveCallsConfig as LiveCallsConfig
    from resay.providers.batching.config import calls_configs as calls_configs
    from resay.providers.batching.layer import BatchProvider as BatchProvider
    from resay.providers.batching.layer import open_batches as open_batches
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.providers.batching.config": (
                "BATCH_SHARE",
                "BatchCallsConfig",
                "CallsConfig",
                "LiveCallsConfig",
                "calls_configs",
            ),
            "resay.providers.batching.layer": ("BatchProvider", "open_batches"),
        },
    )
