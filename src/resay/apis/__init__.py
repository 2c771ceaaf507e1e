"""The APIs by which language models are asked, as JSON. Pure functions: nothing is sent here."""

from __future__ import annotations

from resay.apis.base import Api, Body, Event, Outcome, Request
from resay.apis.chat import CHAT_COMPLETIONS
from resay.apis.completions import COMPLETIONS
from resay.apis.messages import MESSAGES
from resay.apis.responses import RESPONSES
from resay.apis.sse import EventReader, encoded, json_bytes

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
