"""The APIs by which language models are asked, as JSON. Pure functions: nothing is sent here."""

from __future__ import annotations

from resay.providers.apis.base import (
    Api,
    Body,
    Event,
    EventReader,
    Outcome,
    Request,
    encoded,
    json_bytes,
)
from resay.providers.apis.completions import CHAT_COMPLETIONS, COMPLETIONS
from resay.providers.apis.messages import MESSAGES
from resay.providers.apis.responses import RESPONSES

__all__ = [
    "CHAT_COMPLETIONS",
    "COMPLETIONS",
    "MESSAGES",
    "RESPONSES",
    "Api",
    "Body",
    "Event",
    "EventReader",
    "Outcome",
    "Request",
    "encoded",
    "json_bytes",
]
