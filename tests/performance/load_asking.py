"""The load generator: many requests at a time, over connections that stay open."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from performance.load_servers import MODEL
from resay.adapters import load_optional, require_optional

__all__ = [
    "CHAT",
    "COUNT",
    "Sent",
    "Subject",
    "body_of",
    "client",
    "problem_in",
    "require_client",
    "send",
]

CHAT, COUNT = "/v1/chat/completions", "/v1/messages/count_tokens"
_TIMEOUT_S = 300.0
_JSON = {"content-type": "application/json"}
_DONE = b"data: [DONE]\n\n"
_OK = 200
_NEEDED = {"package": "aiohttp", "extra": "litellm", "purpose": "the gateway's bench"}
_DECISION = re.compile(rb'"hallucination":\s*\{\s*"decision":\s*"(\w+)"')
_SAMPLES = re.compile(rb'"samples":\s*(\d+)')


@dataclass(frozen=True, slots=True)
class Subject:
    """A server that is measured, and the requests that it gets.

    Attributes:
        name: Its name in the table.
        server: The server that gets the requests.
        path: The path of the requests.
        streamed: Whether the answer is streamed.
        policy: The name of the policy; None for the server's own.
        decisions: The allowed decisions; empty for a server without verdicts.
        samples: How many samples it must have compared; None for any number.
        least: The goal for its rate, as a multiple of LiteLLM's, if there is one.
    """

    name: str
    server: Literal["upstream", "litellm", "gateway"]
    path: str = CHAT
    streamed: bool = False
    policy: str | None = None
    decisions: frozenset[str] = field(default=frozenset())
    samples: int | None = None
    least: float | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of its requests."""
        return _JSON if self.policy is None else {**_JSON, "x-resay-policy": self.policy}


@dataclass(frozen=True, slots=True)
class Sent:
    """One request that was sent, and its answer.

    Attributes:
        seconds: The time to the whole answer, in seconds.
        problem: What was wrong with the answer; None where nothing was.
    """

    seconds: float
    problem: str | None = None


def body_of(subject: Subject, number: int) -> bytes:
    """Return the body that asks a question.

    Args:
        subject: Who is asked.
        number: The number of the question.
    """
    question = f"Tell me about the lighthouse at Quarrel Point. ({number})"
    body: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": question}]}
    return json.dumps({**body, "stream": True} if subject.streamed else body).encode()


def require_client() -> None:
    """See that there is an HTTP client, before anything is started.

    Raises:
        MissingDependencyError: aiohttp is not installed.
    """
    require_optional("aiohttp", **_NEEDED)


@asynccontextmanager
async def client() -> AsyncGenerator[Any]:
    """Have an HTTP client that opens as many connections as requests run beside each other.

    Raises:
        MissingDependencyError: aiohttp, which comes with litellm, is not installed.
    """
    aiohttp = load_optional("aiohttp", **_NEEDED)
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield session


async def send(session: Any, url: str, subject: Subject, body: bytes) -> Sent:
    """Send a request and read its answer to the end.

    Args:
        session: The client.
        url: The server's address.
        subject: Who is asked.
        body: What is asked.
    """
    started = time.perf_counter()
    try:
        async with session.post(url + subject.path, data=body, headers=subject.headers) as response:
            data = await response.read()
    # Whatever the client raises, no answer came; what it raises need not be aiohttp's own.
    except Exception as error:
        return Sent(time.perf_counter() - started, type(error).__name__)
    seconds = time.perf_counter() - started
    return Sent(seconds, problem_in(subject, response.status, data))


def problem_in(subject: Subject, status: int, data: bytes) -> str | None:
    """Return what is wrong with an answer; None where nothing is.

    Args:
        subject: Who gave it.
        status: Its status.
        data: Its body.
    """
    if status != _OK:
        return f"status {status}"
    if subject.streamed and not data.endswith(_DONE):
        return "a stream without its end"
    # Reading all of an answer would cost more than asking for it.
    decisions = [match.decode() for match in _DECISION.findall(data)]
    if len(decisions) != bool(subject.decisions) or not subject.decisions.issuperset(decisions):
        return f"decisions {decisions!r}"
    samples = _SAMPLES.search(data)
    if subject.samples is not None and (samples is None or int(samples[1]) != subject.samples):
        return "another number of samples"
    return None
