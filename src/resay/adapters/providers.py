"""Providers, and the layers around them, for those who call models themselves.

A layer is a provider around another: `Retrying(Limited(LiteLLMProvider(), limiter), 2)`. A guard
adds its own; put none around the provider of a guard.
"""

from __future__ import annotations

from resay.providers.batching import BATCH_SHARE, BatchCallsConfig
from resay.providers.default import DefaultProvider
from resay.providers.layers import AnswersOnly, Limited, Retrying, TimeLimited, draw
from resay.providers.litellm import LiteLLMProvider
from resay.providers.metering import Metered
from resay.providers.openai_compatible import OpenAICompatibleProvider
from resay.providers.prices import Price, Prices
from resay.providers.replay import ReplayProvider, ScriptedProvider
from resay.providers.unusable import collecting_unusable
from resay.scorers.judge import prober_of

__all__ = [
    "BATCH_SHARE",
    "AnswersOnly",
    "BatchCallsConfig",
    "DefaultProvider",
    "Limited",
    "LiteLLMProvider",
    "Metered",
    "OpenAICompatibleProvider",
    "Price",
    "Prices",
    "ReplayProvider",
    "Retrying",
    "ScriptedProvider",
    "TimeLimited",
    "collecting_unusable",
    "draw",
    "prober_of",
]
