"""JSON request and response formats of language model APIs. Pure functions, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.providers.apis.base import Api as Api
    from resay.providers.apis.base import ApiRequest as ApiRequest
    from resay.providers.apis.base import Outcome as Outcome
    from resay.providers.apis.chat_completions import CHAT_COMPLETIONS as CHAT_COMPLETIONS
    from resay.providers.apis.completions import COMPLETIONS as COMPLETIONS
    from resay.providers.apis.endings import StreamEnd as StreamEnd
    from resay.providers.apis.endings import event_without_answer as event_without_answer
    from resay.providers.apis.endings import is_error as is_error
    from resay.providers.apis.endings import is_error_event as is_error_event
    from resay.providers.apis.endings import refusal_without_answer as refusal_without_answer
    from resay.providers.apis.endings import without_answer as without_answer
    from resay.providers.apis.events import Event as Event
    from resay.providers.apis.events import EventReader as EventReader
    from resay.providers.apis.events import encoded as encoded
    from resay.providers.apis.messages import MESSAGES as MESSAGES
    from resay.providers.apis.responses import RESPONSES as RESPONSES
    from resay.providers.apis.values import Body as Body
    from resay.providers.apis.values import json_bytes as json_bytes
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.providers.apis.base": ("Api", "ApiRequest", "Outcome"),
            "resay.providers.apis.chat_completions": ("CHAT_COMPLETIONS",),
            "resay.providers.apis.completions": ("COMPLETIONS",),
            "resay.providers.apis.endings": (
                "StreamEnd",
                "event_without_answer",
                "is_error",
                "is_error_event",
                "refusal_without_answer",
                "without_answer",
            ),
            "resay.providers.apis.events": ("Event", "EventReader", "encoded"),
            "resay.providers.apis.messages": ("MESSAGES",),
            "resay.providers.apis.responses": ("RESPONSES",),
            "resay.providers.apis.values": ("Body", "json_bytes"),
        },
    )
