"""JSON request and response formats of language model APIs. Pure functions, without any I/O."""

from __future__ import annotations

from resay.providers.apis.base import Api, ApiRequest, Outcome
from resay.providers.apis.chat_completions import CHAT_COMPLETIONS
from resay.providers.apis.completions import COMPLETIONS
from resay.providers.apis.endings import (
    StreamEnd,
    event_without_answer,
    is_error,
    is_error_event,
    refusal_without_answer,
    without_answer,
)
from resay.providers.apis.events import Event, EventReader, encoded
from resay.providers.apis.messages import MESSAGES
from resay.providers.apis.responses import RESPONSES
from resay.providers.apis.values import Body, json_bytes

__all__ = [
    "CHAT_COMPLETIONS",
    "COMPLETIONS",
    "MESSAGES",
    "RESPONSES",
    "Api",
    "ApiRequest",
    "Body",
    "Event",
    "EventReader",
    "Outcome",
    "StreamEnd",
    "encoded",
    "event_without_answer",
    "is_error",
    "is_error_event",
    "json_bytes",
    "refusal_without_answer",
    "without_answer",
]
