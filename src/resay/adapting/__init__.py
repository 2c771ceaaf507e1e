"""What the adapters to frameworks share. Applications need none of it."""

from __future__ import annotations

from resay.adapting.mapping import (
    LEFT_OUT,
    OPENAI_PARAMS,
    UnmappedError,
    check_chat_completions,
    litellm_provider,
)
from resay.adapting.nesting import inside_guard, marked
from resay.adapting.parts import aparts_of, parts_of
from resay.adapting.policies import PolicyLike, guard_of
from resay.adapting.verdicts import VERDICT_KEY, verdict_data

__all__ = [
    "LEFT_OUT",
    "OPENAI_PARAMS",
    "VERDICT_KEY",
    "PolicyLike",
    "UnmappedError",
    "aparts_of",
    "check_chat_completions",
    "guard_of",
    "inside_guard",
    "litellm_provider",
    "marked",
    "parts_of",
    "verdict_data",
]
