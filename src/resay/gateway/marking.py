"""Marks on the samples that the gateway draws, by which it knows them when they come back.

Where its upstream is a LiteLLM proxy that has the gateway check all answers, it is asked to check
its own samples too: without a mark each would be checked by samples of its own, without end.

LiteLLM takes the name of a call from the header `x-litellm-call-id` and tells it to its guardrails
with what is asked and with what is answered. Other upstreams pass over the header.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from resay.gateway.calls import Call

__all__ = ["Marks"]

_HEADER = b"x-litellm-call-id"
_FORM = re.compile(r"resay\.([0-9]{1,12})\.[0-9a-f]{16}\.([0-9a-f]{32})")
_LIKE = "resay."
_VALID_S = 3600
_PURPOSE = b"resay: marks on samples"


class Marks:
    """Makes marks that nobody else can make, each for one request, and knows them for an hour.

    Args:
        secret: What only the gateway's processes know, so that each knows the marks of the others;
            None for one of this process's own.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        key = secrets.token_bytes(32) if secret is None else secret.encode()
        self._key = hmac.digest(key, _PURPOSE, hashlib.sha256)
        self._clock = clock

    def marked(self, call: Call) -> Call:
        """Return a client's request as one for a sample: by OpenAI's API, with a mark."""
        kept = [(name, value) for name, value in call.headers if name != _HEADER]
        headers = [*kept, (_HEADER, self.make().encode())]
        return replace(call, query=b"", headers=headers, dialect="openai")

    def make(self) -> str:
        """Return a mark."""
        said = f"{_LIKE}{int(self._clock()) + _VALID_S}.{secrets.token_hex(8)}"
        return f"{said}.{self._sum(said)}"

    def knows(self, name: str) -> bool:
        """Return whether a call's name is a mark of ours."""
        form = _FORM.fullmatch(name)
        if form is None or int(form[1]) < self._clock():
            return False
        return hmac.compare_digest(self._sum(name[: -len(form[2]) - 1]), form[2])

    @staticmethod
    def seems(name: str) -> bool:
        """Return whether a call's name is like a mark, whoever made it."""
        return name.startswith(_LIKE)

    def _sum(self, said: str) -> str:
        return hmac.digest(self._key, said.encode(), hashlib.sha256).hex()[:32]
