"""The interface of Batch APIs, and what they have in common."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Literal, Protocol

from resay._internal.retries import retry_after_s
from resay.core.request import Request
from resay.errors import SEE_CAUSE, ProviderError, ProviderRefusedError, ProviderTimeoutError
from resay.providers.apis.base import Api
from resay.providers.apis.values import mapping, text
from resay.providers.base import Completions
from resay.providers.statuses import UNUSABLE_STATUSES
from resay.providers.unreachable import unreachable_by

MB = 1_000_000
MAX_LISTED = 100
"""How many of the newest batches are searched for a lost one; enough right after a submission."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The progress of a batch.

    Attributes:
        ended: Whether it has ended.
        cancelled: Whether it was cancelled.
        problem: Why the provider refused it as a whole; None if it did not.
        at_capacity: Whether it was refused because too many requests are pending already.
        files: The files with the results, for APIs that write files.
        retry_after_s: Seconds until the next poll, if the provider says.
    """

    ended: bool = False
    cancelled: bool = False
    problem: str | None = None
    at_capacity: bool = False
    files: tuple[str, ...] = ()
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class LostBatch:
    """A batch that may or may not have been created.

    Attributes:
        submission: Its name.
        started_at: When it was submitted, in seconds since the epoch.
        requests: Number of its requests.
        other_batches: Ids of the recorded batches, which it cannot be.
    """

    submission: str
    started_at: float
    requests: int
    other_batches: frozenset[str]


ResultKind = Literal["answered", "failed", "refused", "cancelled"]
"""`failed` requests may succeed the next time, `refused` ones cannot."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request of a batch.

    Attributes:
        request_id: The request.
        kind: Its result.
        body: The response, if it was answered.
        reason: What went wrong, without the provider's own words: `HTTP 400 (invalid_value)`.
        status: The HTTP status, if there was one.
    """

    request_id: str
    kind: ResultKind
    body: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    reason: str = ""
    status: int | None = None


class BatchApi(Protocol):
    """One provider's Batch API, for one destination.

    Its methods raise ProviderError, with `retryable` if the same call may succeed later.

    Attributes:
        max_requests: Maximum number of requests in a batch.
        max_bytes: Maximum size of a batch, in bytes.
    """

    max_requests: int
    max_bytes: int

    def entry(self, request_id: str, request: Request) -> Mapping[str, Any]:
        """Return a request in the format of a batch entry."""
        ...

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Create a batch.

        Args:
            lines: The requests, each as JSON.
            submission: A name for the batch, so that it can be found if no answer arrived.

        Returns:
            The batch's id.
        """
        ...

    async def find(self, lost: LostBatch) -> str | None:
        """Return the id of a batch that may have been created; None if it cannot be found."""
        ...

    async def status(self, batch: str) -> BatchStatus:
        """Return the progress of a batch."""
        ...

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:
        """Yield the results of the requests of a batch that has ended."""
        ...

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a response, with its tokens but not its cost."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """Encode a request as a line of a file.

    Raises:
        ProviderRefusedError: It holds a value that JSON cannot represent.
    """
    try:
        return json.dumps(entry, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise ProviderRefusedError(
            "a request holds a value that JSON cannot represent, so it cannot be batched; check the"
            " provider parameters"
        ) from None


def parse_line(line: str) -> Mapping[str, Any]:
    """Parse a line of a results file; return an empty mapping if it is invalid."""
    try:
        return mapping(json.loads(line))
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return {}


def code_in(error: object) -> str:
    """Return an error's code; never its message, which may repeat the prompt."""
    fields = mapping(error)
    code = text(fields.get("code")) or text(fields.get("type"))
    return code if code.replace("_", "").isalnum() and len(code) <= 64 else "no code"


def is_temporary(status: int) -> bool:
    """Return whether a request that failed with this status may succeed the next time."""
    return status in (408, 409, 429) or status >= 500


_HINTS = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check `api_base`, and whether there is a Batch API",
    429: "the provider limits the rate",
}


def read_answer(api: Api, body: Mapping[str, Any], model: str) -> Completions:
    """Return the answer in a response, with its tokens but not its cost.

    Args:
        api: The API of the response.
        body: The response. A batch asks for one answer; more would be ignored.
        model: The model, for the error.

    Raises:
        ProviderError: It has no answer that can be read.
    """
    answers = api.completions(body)
    if not answers:
        raise ProviderError(f"{model!r} answered in a form that cannot be read")
    return Completions(answers[:1], api.usage(body))


def translate(error: Exception, api: str, operation: str) -> ProviderError:
    """Translate an SDK's error into one of ours, without the provider's words.

    Args:
        error: The SDK's error.
        api: The API of the failed call.
        operation: The operation that failed.
    """
    if isinstance(error, ProviderError):
        return error
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    what = f"{operation} failed at the Batch API of {api!r}"
    if "Timeout" in name or isinstance(error, TimeoutError):
        return ProviderTimeoutError(f"{what}: no answer in time ({name})", retryable=True)
    unreachable = unreachable_by(error)
    if unreachable is not None:
        message = f"{what}: {unreachable.reason}; {unreachable.remedy}"
        return ProviderError(message, retryable=True, unusable=True)
    if isinstance(status, int):
        hint = _HINTS.get(status, SEE_CAUSE)
        message = f"{what} with {name} (HTTP {status}); {hint}"
        if not is_temporary(status):
            is_unusable = status in UNUSABLE_STATUSES
            return ProviderRefusedError(message, status=status, unusable=is_unusable)
        headers = getattr(getattr(error, "response", None), "headers", None)
        after = retry_after_s(headers)
        return ProviderError(message, status=status, retry_after_s=after, retryable=True)
    if "api_key" in str(error) or "credentials" in str(error):
        return ProviderRefusedError(
            f"{what}: it needs an API key; set its environment variable or pass `api_key`",
            status=401,
            unusable=True,
        )
    is_disconnected = "Connection" in name or "Protocol" in name or "Read" in name
    return ProviderError(f"{what} with {name}", retryable=is_disconnected)


async def parse_response(raw: Any) -> Any:
    """Parse an SDK's raw response, which newer SDK versions do asynchronously."""
    response = raw.parse()
    return await response if isawaitable(response) else response


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    r"""Yield the lines of a file as it arrives.

    Only `\n` ends a line: other line boundaries of Python and httpx may occur inside a text.
    """
    # A line may arrive in many pieces: they are joined once, at its end.
    pieces: list[bytes] = []
    async for chunk in chunks:
        *line_ends, beginning = chunk.split(b"\n")
        for line_end in line_ends:
            pieces.append(line_end)
            yield b"".join(pieces).decode("utf-8", "replace")
            pieces = []
        pieces.append(beginning)
    yield b"".join(pieces).decode("utf-8", "replace")
