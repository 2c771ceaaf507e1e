"""The Batch APIs of OpenAI and Anthropic, their common interface, and request destinations."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, Literal, Protocol

from resay._internal.importing import load_optional
from resay._internal.retries import retry_after_s
from resay.core.query import CONNECTION_PARAMS, Query
from resay.errors import SEE_CAUSE, ProviderError, ProviderRefusedError, ProviderTimeoutError
from resay.providers.apis.base import mapping, text
from resay.providers.apis.completions import CHAT_COMPLETIONS
from resay.providers.apis.messages import MESSAGES
from resay.providers.base import Completions
from resay.providers.caching.cache import keys_of
from resay.providers.unreachable import UNUSABLE_STATUSES, unreachable_by

MB = 1_000_000
# Parameters that identify an endpoint. Keys and headers do not: equal requests stay equal.
_WHERE = ("api_base", "api_version", "base_url", "custom_llm_provider", "organization")
# Parameters that only litellm has, or that a request in a file cannot have.
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
# Prefix of litellm's Vertex AI parameters: project, location and credentials.
_VERTEX = "vertex_"
_OPENAI_NAMES = ("gpt-", "chatgpt-", "o1", "o3", "o4")
_THROUGH_LITELLM = ("azure", "vertex_ai")


@dataclass(frozen=True, slots=True)
class Destination:
    """The API, account and model of a request.

    Attributes:
        api: The API: `openai`, `anthropic`, or a provider behind litellm.
        model: The model's name at the API.
        connection: The parameters for endpoint and account. It may hold a key.
    """

    api: str
    model: str
    connection: Mapping[str, Any] = field(repr=False)

    @property
    def through_litellm(self) -> bool:
        """Whether requests go through litellm."""
        return self.api in _THROUGH_LITELLM

    @property
    def key(self) -> str:
        """The key shared by requests that can go into one batch."""
        known = json.dumps(self.connection, sort_keys=True, default=repr)
        return f"{self.api}\n{self.model}\n{known}"

    @classmethod
    def of(cls, query: Query) -> Destination:
        """Return the destination of a query.

        Raises:
            ProviderRefusedError: No Batch API is known for it.
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
    """Return a request's name in a batch: the same for the same question.

    It is a hash of the tenant, the model, the messages, the parameters and the index, without the
    account: the run after a crash finds its requests with another key too.

    Args:
        query: The query.

    Returns:
        64 hexadecimal digits; None if the query holds a value that JSON cannot represent.
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
        known: Ids of the known batches, which it cannot be.
    """

    submission: str
    started_at: float
    requests: int
    known: frozenset[str]


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

    def entry(self, request_id: str, query: Query) -> Mapping[str, Any]:
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


def encoded(entry: Mapping[str, Any]) -> bytes:
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


def parsed(line: str) -> Mapping[str, Any]:
    """Parse a line of a results file; return an empty mapping if it is invalid."""
    try:
        return mapping(json.loads(line))
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return {}


def code_in(error: object) -> str:
    """Return an error's code; never its message, which may repeat the prompt."""
    known = mapping(error)
    code = text(known.get("code")) or text(known.get("type"))
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


def translated(error: Exception, api: str, doing: str) -> ProviderError:
    """Translate an SDK's error into one of ours, without the provider's words.

    Args:
        error: The SDK's error.
        api: The API of the failed call.
        doing: The operation that failed.
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
        message = f"{what}: {unreachable}; check `api_base`"
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
    lost = "Connection" in name or "Protocol" in name or "Read" in name
    return ProviderError(f"{what} with {name}", retryable=lost)


async def parsed_by(raw: Any) -> Any:
    """Parse an SDK's raw response, which newer SDK versions do asynchronously."""
    found = raw.parse()
    return await found if isawaitable(found) else found


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    r"""Yield the lines of a file as it arrives.

    Only `\n` ends a line: other line boundaries of Python and httpx may occur inside a text.
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


_PATH = "/v1/chat/completions"
_FILE = "resay.jsonl"
# How many of the newest batches are searched for a name; enough right after a submission.
_LOOKED_THROUGH = 100
_NAME = "resay"
# The whole batch was refused, because providers limit pending requests per model.
_FULL = ("token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded")
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class FileBatches(ABC):
    """Base class for APIs in OpenAI's format; `BatchApi` documents the methods.

    Args:
        destination: The endpoint, account and model.
    """

    max_requests = 50_000
    max_bytes = 200 * MB

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    @abstractmethod
    async def _upload(self, content: bytes) -> str:
        """Upload a file of requests and return its id."""

    @abstractmethod
    async def _create(self, file: str, name: Mapping[str, str]) -> str:
        """Create a batch from a file and return its id."""

    @abstractmethod
    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        """Return a batch, and the seconds the provider asks to wait before the next poll."""

    @abstractmethod
    def _content(self, file: str) -> AsyncGenerator[str]:
        """Yield the lines of a file."""

    def entry(self, request_id: str, query: Query) -> Mapping[str, Any]:
        """Return a request in the format of a batch entry."""
        messages = [dict(message) for message in query.messages]
        body = {**sent_params(query), "model": self._destination.model, "messages": messages}
        return {"custom_id": request_id, "method": "POST", "url": _PATH, "body": body}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Upload the requests, and create a batch from them."""
        try:
            file = await self._upload(b"\n".join(lines))
            return await self._create(file, {_NAME: submission})
        except Exception as error:
            raise translated(error, self._destination.api, "submitting a batch") from error

    async def status(self, batch: str) -> BatchStatus:
        """Return the progress of a batch."""
        try:
            found, after = await self._retrieve(batch)
        except Exception as error:
            raise translated(error, self._destination.api, f"looking at {batch!r}") from error
        if found.status not in _ENDED:
            return BatchStatus(retry_after_s=after)
        # litellm returns an empty string for a missing file.
        files = (found.output_file_id, found.error_file_id)
        return BatchStatus(
            ended=True,
            cancelled=found.status == "cancelled",
            problem=_problem(found) if found.status == "failed" else None,
            at_capacity=found.status == "failed" and any(code in _FULL for code in _codes(found)),
            files=tuple(file for file in files if file),
        )

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:
        """Yield the results of the requests: those answered and those that failed."""
        for file in status.files:
            async with aclosing(self._content(file)) as lines:
                try:
                    async for line in lines:
                        result = _openai_result(parsed(line)) if line.strip() else None
                        if result is not None:
                            yield result
                except Exception as error:
                    doing = f"reading the results of {batch!r}"
                    raise translated(error, self._destination.api, doing) from error

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a response."""
        answers = CHAT_COMPLETIONS.completions(body)
        if not answers:
            model = self._destination.model
            raise ProviderError(f"{model!r} answered in a form that cannot be read")
        return Completions(answers[:1], CHAT_COMPLETIONS.usage(body))


def _codes(batch: Any) -> list[str]:
    errors = getattr(getattr(batch, "errors", None), "data", None) or ()
    return [str(error.code) for error in errors if error.code]


def _problem(batch: Any) -> str:
    """Return why a batch was refused, by codes alone: messages may repeat the prompts."""
    errors = getattr(getattr(batch, "errors", None), "data", None) or ()
    told = [
        code_in({"code": error.code}) + (f" in line {error.line}" if error.line else "")
        for error in errors[:3]
    ]
    return "; ".join(told) or "no reason given"


def _openai_result(line: Mapping[str, Any]) -> Result | None:
    name = line.get("custom_id")
    if not isinstance(name, str):
        return None
    response, error = mapping(line.get("response")), mapping(line.get("error"))
    status = response.get("status_code")
    if isinstance(status, int) and not error:
        body = mapping(response.get("body"))
        if 200 <= status < 300:
            return Result(name, "answered", body)
        why = f"HTTP {status} ({code_in(body.get('error'))})"
        return Result(
            name, "failed" if is_temporary(status) else "refused", reason=why, status=status
        )
    code = code_in(error)
    # All but cancelled requests may succeed the next time: `batch_expired`, for example.
    return Result(name, "cancelled" if code == "batch_cancelled" else "failed", reason=code)


class OpenAIBatches(FileBatches):
    """OpenAI's own Batch API, or that of a compatible server; uses OpenAI's SDK.

    Raises:
        MissingDependencyError: The SDK is not installed.
        ProviderRefusedError: There is no key.
    """

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        openai = load_optional(
            "openai", package="openai", extra="openai", purpose="OpenAI's Batch API"
        )
        given = destination.connection
        try:
            self._client: Any = openai.AsyncOpenAI(
                api_key=given.get("api_key"),
                base_url=given.get("api_base") or given.get("base_url"),
                organization=given.get("organization"),
                default_headers=given.get("extra_headers") or given.get("headers"),
                max_retries=0,
            )
        except openai.OpenAIError as error:
            raise translated(error, destination.api, "making a client") from error

    async def _upload(self, content: bytes) -> str:
        made = await self._client.files.create(file=(_FILE, content), purpose="batch")
        return made.id

    async def _create(self, file: str, name: Mapping[str, str]) -> str:
        made = await self._client.batches.create(
            input_file_id=file, endpoint=_PATH, completion_window="24h", metadata=dict(name)
        )
        return made.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return the id of the batch with the name, among the newest."""
        try:
            page = await self._client.batches.list(limit=_LOOKED_THROUGH)
        except Exception as error:
            raise translated(error, self._destination.api, "listing batches") from error
        names = {mapping(batch.metadata).get(_NAME): batch.id for batch in page.data}
        return names.get(lost.submission)

    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        raw = await self._client.batches.with_raw_response.retrieve(batch)
        return await parsed_by(raw), retry_after_s(raw.headers)

    async def _content(self, file: str) -> AsyncGenerator[str]:
        async with (
            self._client.files.with_streaming_response.content(file) as response,
            aclosing(lines_of(response.iter_bytes())) as lines,
        ):
            async for line in lines:
                yield line

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


class LiteLLMBatches(FileBatches):
    """The Batch APIs of Azure and Vertex AI, which litellm converts to OpenAI's format.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self._litellm: Any = load_optional(
            "litellm",
            package="litellm",
            extra="litellm",
            purpose=f"the Batch API of {destination.api!r}",
        )
        given = dict(destination.connection)
        given.pop("custom_llm_provider", None)
        self._given = {**given, "custom_llm_provider": destination.api, "max_retries": 0}

    async def _upload(self, content: bytes) -> str:
        made = await self._litellm.acreate_file(
            file=(_FILE, content), purpose="batch", **self._given
        )
        return made.id

    async def _create(self, file: str, name: Mapping[str, str]) -> str:
        made = await self._litellm.acreate_batch(
            input_file_id=file,
            endpoint=_PATH,
            completion_window="24h",
            metadata=dict(name),
            **self._given,
        )
        return made.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return None: it is unknown which providers retain a batch's name."""
        del lost
        return None

    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        return await self._litellm.aretrieve_batch(batch_id=batch, **self._given), None

    async def _content(self, file: str) -> AsyncGenerator[str]:
        content = await self._litellm.afile_content(file_id=file, **self._given)
        for line in content.content.decode("utf-8", "replace").split("\n"):
            yield line

    async def aclose(self) -> None:
        """Do nothing: the connections are litellm's."""


# The API requires a limit in every request; this is litellm's default.
_MAX_TOKENS = 4096
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
# Maximum clock difference, and the maximum delay between submitting a batch and its creation.
_SKEW_S = 60.0
_LATEST_S = 900.0
# Errors that would occur again on a retry.
_LASTING = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)
_STATUS = {
    "authentication_error": 401,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "permission_error": 403,
    "request_too_large": 413,
}


class AnthropicBatches:
    """Anthropic's Batch API, by its SDK; `BatchApi` documents the methods.

    Args:
        destination: The endpoint, account and model.

    Raises:
        MissingDependencyError: The SDK is not installed.
    """

    max_requests = 100_000
    max_bytes = 256 * MB

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        anthropic = load_optional(
            "anthropic",
            package="anthropic",
            extra="anthropic",
            purpose="Anthropic's Message Batches API",
        )
        given = destination.connection
        try:
            self._client: Any = anthropic.AsyncAnthropic(
                api_key=given.get("api_key"),
                base_url=given.get("api_base") or given.get("base_url"),
                default_headers=given.get("extra_headers") or given.get("headers"),
                max_retries=0,
            )
        except anthropic.AnthropicError as error:
            raise translated(error, destination.api, "making a client") from error

    def entry(self, request_id: str, query: Query) -> Mapping[str, Any]:
        """Return a request in the format of a batch entry."""
        made = {"model": self._destination.model, "max_tokens": _MAX_TOKENS}
        params = MESSAGES.fresh(made, replace(query, params=sent_params(query)))
        return {"custom_id": request_id, "params": params}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Create a batch. Anthropic's have no names."""
        del submission
        try:
            requests = [json.loads(line) for line in lines]
            made = await self._client.messages.batches.create(requests=requests)
        except Exception as error:
            raise translated(error, self._destination.api, "submitting a batch") from error
        return made.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return the id of the one batch created at that time with as many requests.

        Anthropic's batches have no names. If it is another batch after all, its results lack the
        requests, which are then sent again.
        """
        try:
            page = await self._client.messages.batches.list(limit=_LOOKED_THROUGH)
        except Exception as error:
            raise translated(error, self._destination.api, "listing batches") from error
        fitting = [
            batch.id
            for batch in page.data
            if batch.id not in lost.known
            and -_SKEW_S <= batch.created_at.timestamp() - lost.started_at <= _LATEST_S
            and sum(getattr(batch.request_counts, name) for name in _COUNTS) == lost.requests
        ]
        return fitting[0] if len(fitting) == 1 else None

    async def status(self, batch: str) -> BatchStatus:
        """Return the progress of a batch."""
        try:
            raw = await self._client.messages.batches.with_raw_response.retrieve(batch)
            found = await parsed_by(raw)
        except Exception as error:
            raise translated(error, self._destination.api, f"looking at {batch!r}") from error
        if found.processing_status != "ended":
            return BatchStatus(retry_after_s=retry_after_s(raw.headers))
        return BatchStatus(ended=True, files=(batch,))

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:
        """Yield the results of the requests, in any order."""
        del status
        try:
            # What `with_streaming_response.results` does in versions of the SDK that have it.
            response: Any = await self._client.messages.batches.results(
                batch, extra_headers={"X-Stainless-Raw-Response": "stream"}
            )
            try:
                async with aclosing(lines_of(response.iter_bytes())) as lines:
                    async for line in lines:
                        result = _anthropic_result(parsed(line)) if line.strip() else None
                        if result is not None:
                            yield result
            finally:
                await response.close()
        except Exception as error:
            doing = f"reading the results of {batch!r}"
            raise translated(error, self._destination.api, doing) from error

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a message."""
        answers = MESSAGES.completions(body)
        if not answers:
            model = self._destination.model
            raise ProviderError(f"{model!r} answered in a form that cannot be read")
        return Completions(answers, MESSAGES.usage(body))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def _anthropic_result(line: Mapping[str, Any]) -> Result | None:
    name, result = line.get("custom_id"), mapping(line.get("result"))
    if not isinstance(name, str):
        return None
    kind = text(result.get("type"))
    if kind == "succeeded":
        return Result(name, "answered", mapping(result.get("message")))
    if kind == "canceled":
        return Result(name, "cancelled", reason="canceled")
    if kind == "expired":
        return Result(name, "failed", reason="expired")
    # The error is nested in a response of its own: {"type": "error", "error": {"type": ...}}.
    error = mapping(result.get("error"))
    code = code_in(mapping(error.get("error")) or error)
    fate = "refused" if code in _LASTING else "failed"
    return Result(name, fate, reason=code, status=_STATUS.get(code))
