"""LLM access: every backend implements `Provider`, and added behaviour wraps one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.providers.base import Chunk as Chunk
    from resay.providers.base import Completion as Completion
    from resay.providers.base import Completions as Completions
    from resay.providers.base import Gathered as Gathered
    from resay.providers.base import Layer as Layer
    from resay.providers.base import Provider as Provider
    from resay.providers.base import Streams as Streams
    from resay.providers.base import TokenLogprob as TokenLogprob
    from resay.providers.base import TopLogprob as TopLogprob
    from resay.providers.base import begin_stream as begin_stream
    from resay.providers.base import open_stream as open_stream
    from resay.providers.base import prepare as prepare
    from resay.providers.default import DefaultProvider as DefaultProvider
    from resay.providers.layers import FanOut as FanOut
    from resay.providers.layers import Limited as Limited
    from resay.providers.layers import Retrying as Retrying
    from resay.providers.layers import TimeLimited as TimeLimited
    from resay.providers.layers import WithLogprobs as WithLogprobs
    from resay.providers.limits import Budget as Budget
    from resay.providers.limits import Budgeted as Budgeted
    from resay.providers.limits import ProcessLimits as ProcessLimits
    from resay.providers.limits import process_limiter as process_limiter
    from resay.providers.litellm import LiteLLMProvider as LiteLLMProvider
    from resay.providers.litellm_embedder import LiteLLMEmbedder as LiteLLMEmbedder
    from resay.providers.metering import Metered as Metered
    from resay.providers.replay import ReplayProvider as ReplayProvider
    from resay.providers.replay import ScriptedProvider as ScriptedProvider
    from resay.providers.shared_limits import shared_limiter as shared_limiter
    from resay.providers.sources import Sources as Sources
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.providers.base": (
                "Chunk",
                "Completion",
                "Completions",
                "Gathered",
                "Layer",
                "Provider",
                "Streams",
                "TokenLogprob",
                "TopLogprob",
                "begin_stream",
                "open_stream",
                "prepare",
            ),
            "resay.providers.default": ("DefaultProvider",),
            "resay.providers.layers": (
                "FanOut",
                "Limited",
                "Retrying",
                "TimeLimited",
                "WithLogprobs",
            ),
            "resay.providers.limits": ("Budget", "Budgeted", "ProcessLimits", "process_limiter"),
            "resay.providers.litellm": ("LiteLLMProvider",),
            "resay.providers.litellm_embedder": ("LiteLLMEmbedder",),
            "resay.providers.metering": ("Metered",),
            "resay.providers.replay": ("ReplayProvider", "ScriptedProvider"),
            "resay.providers.shared_limits": ("shared_limiter",),
            "resay.providers.sources": ("Sources",),
        },
    )
