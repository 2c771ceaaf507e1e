"""What people import who embed Resay in a framework, a client or a gateway.

This module has the values and helpers, its submodules the machinery: `upstream` and `relay` guard
an SDK's requests, `models`, `litellm_models` and `policies` a framework's, `verdicts` writes
verdicts into answers. `apis` has the JSON formats of the providers' APIs, `providers` the layers
around a provider, `methods` the methods that combine others with their formulas, `pages` HTML,
`terminal` text, `event_loops` and `sqlite` what belongs to a loop and a file, `observers` the
traces of tools. All of it stays.
"""

from __future__ import annotations

from resay._internal.event_loops import (
    compute,
    relay_stream,
    relay_verdicts,
    run_sync,
    sync_version,
)
from resay._internal.importing import import_named, is_async, load_optional, require_optional
from resay._internal.nesting import inside_guard, marked
from resay._internal.notify import arelay_stream, arelay_verdicts
from resay._internal.telemetry import (
    TraceContext,
    current_trace_context,
    trace_context_from,
    trace_context_of,
    use_trace_context,
)
from resay.adapters.runtime import GuardRuntime
from resay.core.call_log import CallLog
from resay.core.check_context import CheckContext
from resay.core.decision import Action, Decision
from resay.core.documents import named_text
from resay.core.failures import tally
from resay.core.logprobs import field_of, read_logprobs, tokens_of
from resay.core.provider_params import CONNECTION_PARAMS
from resay.core.reasoning import without_reasoning
from resay.core.references import given_references
from resay.core.request import Message
from resay.core.usage import last_reported
from resay.core.verdict import OnVerdict
from resay.engine.actions import act, withheld_stops
from resay.engine.regeneration.instructions import without_instructions
from resay.engine.regeneration.prompts import format_for_judge
from resay.engine.requirements import Input
from resay.policy import Annotate, Block, Regenerate, Sampling, Threshold
from resay.providers.caching import source_of
from resay.retrieval.base import id_of

__all__ = [
    "CONNECTION_PARAMS",
    "Action",
    "Annotate",
    "Block",
    "CallLog",
    "CheckContext",
    "Decision",
    "GuardRuntime",
    "Input",
    "Message",
    "OnVerdict",
    "Regenerate",
    "Sampling",
    "Threshold",
    "TraceContext",
    "act",
    "arelay_stream",
    "arelay_verdicts",
    "compute",
    "current_trace_context",
    "field_of",
    "format_for_judge",
    "given_references",
    "id_of",
    "import_named",
    "inside_guard",
    "is_async",
    "last_reported",
    "load_optional",
    "marked",
    "named_text",
    "read_logprobs",
    "relay_stream",
    "relay_verdicts",
    "require_optional",
    "run_sync",
    "source_of",
    "sync_version",
    "tally",
    "tokens_of",
    "trace_context_from",
    "trace_context_of",
    "use_trace_context",
    "withheld_stops",
    "without_instructions",
    "without_reasoning",
]
