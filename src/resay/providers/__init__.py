"""LLM access: every backend implements `Provider`, and added behaviour wraps one."""

from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    Gathered,
    Layer,
    Provider,
    Streams,
    TokenLogprob,
    TopLogprob,
    begin_stream,
    open_stream,
)
from resay.providers.layers import FanOut, Limited, Retrying, TimeLimited, WithLogprobs
from resay.providers.limits import Budget, Budgeted, ProcessLimits, process_limiter
from resay.providers.litellm import LiteLLMProvider
from resay.providers.litellm_embedder import LiteLLMEmbedder
from resay.providers.prices import Metered
from resay.providers.replay import ReplayProvider, ScriptedProvider

__all__ = [
    "Budget",
    "Budgeted",
    "Chunk",
    "Completion",
    "Completions",
    "FanOut",
    "Gathered",
    "Layer",
    "Limited",
    "LiteLLMEmbedder",
    "LiteLLMProvider",
    "Metered",
    "ProcessLimits",
    "Provider",
    "ReplayProvider",
    "Retrying",
    "ScriptedProvider",
    "Streams",
    "TimeLimited",
    "TokenLogprob",
    "TopLogprob",
    "WithLogprobs",
    "begin_stream",
    "open_stream",
    "process_limiter",
]
