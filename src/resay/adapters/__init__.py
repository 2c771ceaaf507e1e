"""What the adapters to frameworks share. Applications need none of it."""

from __future__ import annotations

from resay._internal.event_loops import carried, carrying
from resay._internal.nesting import inside_guard, marked
from resay._internal.telling import acarried, acarrying
from resay.adapters.policies import (
    VERDICT_KEY,
    PolicyLike,
    check_client_policy,
    guard_of,
    refuse_without_writer,
    verdict_data,
    verdict_in,
)
from resay.adapters.relaying import Relay, aparts_of, parts_of
from resay.adapters.threads import cancelled_once, in_thread, read_in_threads
from resay.adapters.upstream import (
    LEFT_OUT,
    OPENAI_PARAMS,
    StreamedError,
    UnmappedError,
    Upstream,
    check_chat_completions,
    is_about_parameters,
    litellm_provider,
)
from resay.core.verdict import OnVerdict

__all__ = [
    "LEFT_OUT",
    "OPENAI_PARAMS",
    "VERDICT_KEY",
    "OnVerdict",
    "PolicyLike",
    "Relay",
    "StreamedError",
    "UnmappedError",
    "Upstream",
    "acarried",
    "acarrying",
    "aparts_of",
    "cancelled_once",
    "carried",
    "carrying",
    "check_chat_completions",
    "check_client_policy",
    "guard_of",
    "in_thread",
    "inside_guard",
    "is_about_parameters",
    "litellm_provider",
    "marked",
    "parts_of",
    "read_in_threads",
    "refuse_without_writer",
    "verdict_data",
    "verdict_in",
]
