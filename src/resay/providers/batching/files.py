"""Batch APIs in OpenAI's format, whose requests and results are files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from resay._internal.importing import load_optional
from resay._internal.retries import retry_after_s
from resay.core.request import Request
from resay.providers.apis.chat_completions import CHAT_COMPLETIONS
from resay.providers.apis.values import mapping
from resay.providers.base import Completions, sent_messages
from resay.providers.base_urls import base_url_in
from resay.providers.batching.base import (
    MAX_LISTED,
    MB,
    BatchStatus,
    LostBatch,
    Result,
    code_in,
    is_temporary,
    lines_of,
    parse_line,
    parse_response,
    read_answer,
    translate,
)
from resay.providers.batching.destinations import Destination, sent_params

_PATH = "/v1/chat/completions"
_FILE = "resay.jsonl"
_NAME = "resay"
# The whole batch was refused, because providers limit pending requests per model.
_AT_CAPACITY = ("token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded")
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

    def entry(self, request_id: str, request: Request) -> Mapping[str, Any]:
        """Return a request in the format of a batch entry."""
        messages = sent_messages(request)
        body = {**sent_params(request), "model": self._destination.model, "messages": messages}
        return {"custom_id": request_id, "method": "POST", "url": _PATH, "body": body}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Upload the requests, and create a batch from them."""
        try:
            file = await self._upload(b"\n".join(lines))
            return await self._create(file, {_NAME: submission})
        except Exception as error:
            raise translate(error, self._destination.api, "submitting a batch") from error

    async def status(self, batch: str) -> BatchStatus:
        """Return the progress of a batch."""
        try:
            retrieved, after = await self._retrieve(batch)
        except Exception as error:
            raise translate(error, self._destination.api, f"retrieving {batch!r}") from error
        if retrieved.status not in _ENDED:
            return BatchStatus(retry_after_s=after)
        has_failed = retrieved.status == "failed"
        # litellm returns an empty string for a missing file.
        files = filter(None, (retrieved.output_file_id, retrieved.error_file_id))
        return BatchStatus(
            ended=True,
            cancelled=retrieved.status == "cancelled",
            problem=_problem(retrieved) if has_failed else None,
            at_capacity=has_failed and any(str(e.code) in _AT_CAPACITY for e in _errors(retrieved)),
            files=tuple(files),
        )

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:
        """Yield the results of the requests: those answered and those that failed."""
        for file in status.files:
            async with aclosing(self._content(file)) as lines:
                try:
                    async for line in lines:
                        result = _openai_result(parse_line(line)) if line.strip() else None
                        if result is not None:
                            yield result
                except Exception as error:
                    operation = f"reading the results of {batch!r}"
                    raise translate(error, self._destination.api, operation) from error

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a response."""
        return read_answer(CHAT_COMPLETIONS, body, self._destination.model)


def _errors(batch: Any) -> Sequence[Any]:
    return getattr(getattr(batch, "errors", None), "data", None) or ()


def _problem(batch: Any) -> str:
    """Return why a batch was refused, by codes alone: messages may repeat the prompts."""
    codes: list[str] = []
    for error in _errors(batch)[:3]:
        code = code_in({"code": error.code})
        codes.append(f"{code} in line {error.line}" if error.line else code)
    return "; ".join(codes) or "no reason given"


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
        kind = "failed" if is_temporary(status) else "refused"
        reason = f"HTTP {status} ({code_in(body.get('error'))})"
        return Result(name, kind, reason=reason, status=status)
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
        connection = destination.connection
        try:
            self._client: Any = openai.AsyncOpenAI(
                api_key=connection.get("api_key"),
                base_url=base_url_in(connection),
                organization=connection.get("organization"),
                default_headers=connection.get("extra_headers") or connection.get("headers"),
                max_retries=0,
            )
        except openai.OpenAIError as error:
            raise translate(error, destination.api, "making a client") from error

    async def _upload(self, content: bytes) -> str:
        file = await self._client.files.create(file=(_FILE, content), purpose="batch")
        return file.id

    async def _create(self, file: str, name: Mapping[str, str]) -> str:
        batch = await self._client.batches.create(
            input_file_id=file, endpoint=_PATH, completion_window="24h", metadata=dict(name)
        )
        return batch.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return the id of the batch with the name, among the newest."""
        try:
            page = await self._client.batches.list(limit=MAX_LISTED)
        except Exception as error:
            raise translate(error, self._destination.api, "listing batches") from error
        names = {mapping(batch.metadata).get(_NAME): batch.id for batch in page.data}
        return names.get(lost.submission)

    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        raw = await self._client.batches.with_raw_response.retrieve(batch)
        return await parse_response(raw), retry_after_s(raw.headers)

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
        self._params = {
            **destination.connection,
            "custom_llm_provider": destination.api,
            "max_retries": 0,
        }

    async def _upload(self, content: bytes) -> str:
        file = await self._litellm.acreate_file(
            file=(_FILE, content), purpose="batch", **self._params
        )
        return file.id

    async def _create(self, file: str, name: Mapping[str, str]) -> str:
        batch = await self._litellm.acreate_batch(
            input_file_id=file,
            endpoint=_PATH,
            completion_window="24h",
            metadata=dict(name),
            **self._params,
        )
        return batch.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return None: it is unknown which providers retain a batch's name."""
        del lost
        return None

    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        return await self._litellm.aretrieve_batch(batch_id=batch, **self._params), None

    async def _content(self, file: str) -> AsyncGenerator[str]:
        content = await self._litellm.afile_content(file_id=file, **self._params)
        for line in content.content.decode("utf-8", "replace").split("\n"):
            yield line

    async def aclose(self) -> None:
        """Do nothing: the connections are litellm's."""
