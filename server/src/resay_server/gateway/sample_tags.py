"""Tags on requests for samples, by which the gateway recognizes them if they come back.

If its upstream is another gateway that has this one check all answers, each sample would otherwise
be checked with samples of its own, without end. LiteLLM takes the id of a call from the header
`x-litellm-call-id` and passes it to its guardrails; Portkey passes on the `x-portkey-metadata`, and
agentgateway the `x-request-id`. Other upstreams ignore these headers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from resay_server.gateway.calls import WEBHOOKS, Call

_HEADER, _METADATA_HEADER = b"x-litellm-call-id", b"x-portkey-metadata"
METADATA_KEY = "resay_sample"
"""The key of the tag in Portkey's metadata."""
_PREFIX = "resay."
_TAG = re.compile(
    r"(?P<payload>resay\.(?P<expires>[0-9]{1,12})\.[0-9a-f]{16})\.(?P<signature>[0-9a-f]{32})"
)
_VALID_S = 3600
_PURPOSE = b"resay: marks on samples"


class SampleTags:
    """Creates unforgeable tags, each for one request, and recognizes them for an hour.

    Args:
        secret: A secret shared by the gateway's processes, so that they recognize each other's
            tags; None for a secret of this process.
        clock: Returns the time, in seconds since the epoch.
    """

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        key = secrets.token_bytes(32) if secret is None else secret.encode()
        self._key = hmac.digest(key, _PURPOSE, hashlib.sha256)
        self._clock = clock

    def tagged(self, call: Call) -> Call:
        """Return a client's request as one for a sample: in OpenAI's API, with a tag."""
        tag = self.create()
        replaced = (_HEADER, _METADATA_HEADER)
        headers = [(name, value) for name, value in call.headers if name not in replaced]
        headers.append((_HEADER, tag.encode()))
        headers.append((_METADATA_HEADER, json.dumps({METADATA_KEY: tag}).encode()))
        request_id = tag if call.own in WEBHOOKS else call.request_id
        return replace(call, request_id=request_id, query=b"", headers=headers, dialect="openai")

    def create(self) -> str:
        """Return a new tag."""
        payload = f"{_PREFIX}{int(self._clock()) + _VALID_S}.{secrets.token_hex(8)}"
        return f"{payload}.{self._signature(payload)}"

    def recognizes(self, name: str) -> bool:
        """Return whether a call's id is one of our tags."""
        match = _TAG.fullmatch(name)
        if match is None or int(match["expires"]) < self._clock():
            return False
        return hmac.compare_digest(self._signature(match["payload"]), match["signature"])

    @staticmethod
    def has_tag_prefix(name: str) -> bool:
        """Return whether a call's id begins like a tag, valid or not."""
        return name.startswith(_PREFIX)

    def _signature(self, payload: str) -> str:
        return hmac.digest(self._key, payload.encode(), hashlib.sha256).hex()[:32]
