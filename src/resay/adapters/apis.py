"""The JSON formats of the providers' APIs: requests, answers and streams, without any I/O."""

from __future__ import annotations

from resay.providers.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Api,
    ApiRequest,
    Body,
    Event,
    EventReader,
    Outcome,
    StreamEnd,
    encoded,
    json_bytes,
    refusal_without_answer,
)
from resay.providers.apis.values import (
    as_json,
    is_yes,
    listed,
    mapping,
    mappings,
    named,
    number,
    text,
)

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
    "as_json",
    "encoded",
    "is_yes",
    "json_bytes",
    "listed",
    "mapping",
    "mappings",
    "named",
    "number",
    "refusal_without_answer",
    "text",
]
