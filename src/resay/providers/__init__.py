"""Talking to LLMs: whatever answers queries is a `Provider`, and whatever adds to one wraps it."""

from resay.providers.base import (
    Completion,
    Completions,
    Layer,
    Provider,
    TokenLogprob,
    TopLogprob,
)
from resay.providers.fanout import FanOut
from resay.providers.layers import Limited, Metered, Retrying, TimeLimited
from resay.providers.litellm import LiteLLMProvider
from resay.providers.logprobs import WithLogprobs
from resay.providers.replay import ReplayProvider, ScriptedProvider

__all__ = [
    "Completion",
    "Completions",
    "FanOut",
    "Layer",
    "Limited",
    "LiteLLMProvider",
    "Metered",
    "Provider",
    "ReplayProvider",
    "Retrying",
    "ScriptedProvider",
    "TimeLimited",
    "TokenLogprob",
    "TopLogprob",
    "WithLogprobs",
]
