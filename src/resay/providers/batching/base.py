"""The seam to the Batch APIs, and what they share: where requests go, and what became of them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, Literal, Protocol

from resay._internal.retrying import retry_after_s
from resay.core.query import CONNECTION_PARAMS, Query
from resay.errors import ProviderError, ProviderRefusedError, ProviderTimeoutError
from resay.providers.apis.base import mapping, text
from resay.providers.base import Completions
from resay.providers.caching.cache import keys_of
from resay.providers.unreachable import unreachable_by

MB = 1_000_000
# Requests are the same where these are, whatever key pays and in whatever headers it stands.
_WHERE = ("api_base", "api_version", "base_url", "custom_llm_provider", "organization")
# What litellm takes and no API knows, or what a request in a file cannot have.
_NOT_SENT = frozenset(
    {
        "additional_drop_params",
        "drop_params",
        "n",
        "request_timeout",
        "stream",
        "stream_options",
        "timeout",
    }
)
# Of litellm, for Vertex AI: project, location and credentials.
_VERTEX = "vertex_"
_OPENAI_NAMES = ("gpt-", "chatgpt-", "o1", "o3", "o4")
_THROUGH_LITELLM = ("azure", "vertex_ai")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request goes, who pays, and which model answers.

    Attributes:
        api: Who is asked: `openai`, `anthropic`, or a provider behind litellm.
        model: The model as the API calls it.
        connection: The parameters that say where it goes and who pays. It may hold a key.
    """

    api: str
    model: str
    connection: Mapping[str, Any] = field(repr=False)

    @property
    def through_litellm(self) -> bool:
        """Whether litellm speaks to it."""
        return self.api in _THROUGH_LITELLM

    @property
    def key(self) -> str:
        """What is the same for requests that go into one batch."""
        known = json.dumps(self.connection, sort_keys=True, default=repr)
        return f"{self.api}\n{self.model}\n{known}"

    @classmethod
    def of(cls, query: Query) -> Destination:
        """Return where a query goes.

        Raises:
            ProviderRefusedError: No Batch API is known that answers it.
        """
        if not query.model:
            raise ProviderRefusedError(
                "no model was named; pass `model`, such as 'openai/gpt-4.1-mini'"
            )
        connection = {k: v for k, v in query.params.items() if _is_connection(k)}
        api, slash, model = query.model.partition("/")
        if connection.get("custom_llm_provider"):
            api, model = str(connection["custom_llm_provider"]), query.model.removeprefix(f"{api}/")
        elif not slash:
            api, model = _placed(query.model), query.model
        if api not in ("openai", "anthropic", *_THROUGH_LITELLM):
            raise ProviderRefusedError(
                f"no Batch API is known for the model {query.model!r}; name one of 'openai/…',"
                " 'anthropic/…', 'azure/…' or 'vertex_ai/…', or leave `calls.via: batch` out"
            )
        return cls(api, model, connection)


def _placed(model: str) -> str:
    if model.startswith(_OPENAI_NAMES):
        return "openai"
    return "anthropic" if model.startswith("claude-") else ""


def request_id(query: Query) -> str | None:
    """Return what a request is called in a batch: the same whenever the same is asked.

    It is a hash of the tenant, the model, the messages, the parameters and the index, without what
    pays: the run after a crash finds its requests with another key too.

    Args:
        query: What is asked.

    Returns:
        64 hexadecimal digits; None where the query holds a value that JSON does not know.
    """
    where = {k: v for k, v in query.params.items() if k in _WHERE}
    params = {**where, **sent_params(query)}
    keys = keys_of(replace(query, params=params), 1, version="batch/1")
    return None if keys is None else keys[0]


def sent_params(query: Query) -> dict[str, Any]:
    """Return the parameters of a query that go into the request itself."""
    return {
        name: value
        for name, value in query.params.items()
        if not (name in _NOT_SENT or _is_connection(name))
    }


def _is_connection(name: str) -> bool:
    return name in CONNECTION_PARAMS or name.startswith(_VERTEX)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch is.

    Attributes:
        ended: Whether nothing more comes.
        cancelled: Whether somebody cancelled it.
        problem: Why the provider refused it as a whole; None where it did not.
        full: Whether it was refused because too much is waiting there already.
        files: Where the results are, for APIs that put them into files.
        retry_after_s: When to look again, where the provider says.
    """

    ended: bool = False
    cancelled: bool = False
    problem: str | None = None
    full: bool = False
    files: tuple[str, ...] = ()
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """A batch of which it is not known whether it was made.

    Attributes:
        submission: What it is called.
        begun: When it was submitted, in seconds since the epoch.
        requests: How many it has.
        known: The ids of the batches that are known, of which it is none.
    """

    submission: str
    begun: float
    requests: int
    known: frozenset[str]


Fate = Literal["answered", "failed", "refused", "cancelled"]
"""`failed` may be otherwise the next time, `refused` not."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one request of a batch.

    Attributes:
        request_id: Which.
        fate: What became of it.
        body: The response, where it was answered.
        why: What went wrong, without the provider's own words: `HTTP 400 (invalid_value)`.
        status: The HTTP status, where there was one.
    """

    request_id: str
    fate: Fate
    body: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    why: str = ""
    status: int | None = None


class BatchApi(Protocol):
    """One provider's Batch API, for one destination.

    All its methods raise ProviderError: `retryable` where the same call may succeed later.

    Attributes:
        max_requests: How many requests a batch may have.
        max_bytes: How many bytes a batch may have.
    """

    max_requests: int
    max_bytes: int

    def entry(self, request_id: str, query: Query) -> Mapping[str, Any]:
        """Return a request as it stands in a batch."""
        ...

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Make a batch.

        Args:
            lines: The requests, each as JSON.
            submission: What the batch is called, so that it can be found where no answer came.

        Returns:
            The batch's id.
        """
        ...

    async def find(self, sought: Sought) -> str | None:
        """Return the id of a batch that may have been made; None where none can be found."""
        ...

    async def look(self, batch: str) -> Standing:
        """Return how far a batch is."""
        ...

    def results(self, batch: str, standing: Standing) -> AsyncIterator[Result]:
        """Return what became of the requests of a batch that has ended."""
        ...

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a response, with what it took but not what it cost."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def encoded(entry: Mapping[str, Any]) -> bytes:
    """Return a request as a line of a file.

    Raises:
        ProviderRefusedError: It holds what JSON does not know.
    """
    try:
        return json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise ProviderRefusedError(
            "a request holds what JSON does not know, and cannot go into a batch; look at the"
            " provider parameters"
        ) from None


def parsed(line: str) -> Mapping[str, Any]:
    """Return a line of a file of results; an empty mapping where it cannot be read."""
    try:
        return mapping(json.loads(line))
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return {}


def code_in(error: object) -> str:
    """Return what an error calls itself; never its message, which may repeat what was asked."""
    known = mapping(error)
    code = text(known.get("code")) or text(known.get("type"))
    return code if code.replace("_", "").isalnum() and len(code) <= 64 else "no code"


def may_pass(status: int) -> bool:
    """Return whether a request that failed with this status may succeed the next time."""
    return status in (408, 409, 429) or status >= 500


_HINTS = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check `api_base`, and whether there is a Batch API",
    429: "the provider limits the rate",
}


def translated(error: Exception, api: str, doing: str) -> ProviderError:
    """Return an error of an SDK as one of ours, without the words of the provider.

    Args:
        error: What the SDK raised.
        api: Whose Batch API was asked.
        doing: What was tried.
    """
    if isinstance(error, ProviderError):
        return error
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    what = f"{doing} failed at the Batch API of {api!r}"
    if "Timeout" in name or isinstance(error, TimeoutError):
        return ProviderTimeoutError(f"{what}: no answer in time ({name})", retryable=True)
    unreachable = unreachable_by(error)
    if unreachable is not None:
        return ProviderError(f"{what}: {unreachable}; check `api_base`", retryable=True)
    if isinstance(status, int):
        hint = _HINTS.get(status, "see the error's __cause__")
        message = f"{what} with {name} (HTTP {status}); {hint}"
        if not may_pass(status):
            return ProviderRefusedError(message, status=status)
        headers = getattr(getattr(error, "response", None), "headers", None)
        after = retry_after_s(headers)
        return ProviderError(message, status=status, retry_after_s=after, retryable=True)
    if "api_key" in str(error) or "credentials" in str(error):
        return ProviderRefusedError(
            f"{what}: it needs an API key; set its environment variable or pass `api_key`",
            status=401,
        )
    lost = "Connection" in name or "Protocol" in name or "Read" in name
    return ProviderError(f"{what} with {name}", retryable=lost)


async def parsed_by(raw: Any) -> Any:
    """Return what an SDK reads of a raw response, which its newer versions give later."""
    found = raw.parse()
    return await found if isawaitable(found) else found


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    r"""Yield the lines of a file as it comes.

    Only `\n` ends one: what else Python and httpx take for the end of a line may stand in a text.
    """
    rest: list[bytes] = []
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            rest.append(line)
            yield b"".join(rest).decode("utf-8", "replace")
            rest = []
        rest.append(last)
    yield b"".join(rest).decode("utf-8", "replace")
