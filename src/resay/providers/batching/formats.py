"""The Batch APIs of OpenAI and Anthropic."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from resay._internal.importing import load_optional
from resay._internal.retrying import retry_after_s
from resay.core.query import Query
from resay.errors import ProviderError
from resay.providers.apis.base import mapping, text
from resay.providers.apis.completions import CHAT_COMPLETIONS
from resay.providers.apis.messages import MESSAGES
from resay.providers.base import Completions
from resay.providers.batching.base import (
    MB,
    Destination,
    Result,
    Sought,
    Standing,
    code_in,
    lines_of,
    may_pass,
    parsed,
    parsed_by,
    sent_params,
    translated,
)

_PATH = "/v1/chat/completions"
_FILE = "resay.jsonl"
# What a batch is called is found in the newest so many: it is looked for right after it was made.
_LOOKED_THROUGH = 100
_NAME = "resay"
# The whole batch was refused, because what waits at the provider is limited for each model.
_FULL = ("token_limit_exceeded", "request_limit_exceeded", "batch_limit_exceeded")
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class FileBatches(ABC):
    """What APIs in OpenAI's shapes have in common; `BatchApi` says what each method is for.

    Args:
        destination: Where it is, and which model answers.
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
        """Make a batch of a file and return its id."""

    @abstractmethod
    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        """Return a batch, and when the provider wants to be asked for it again."""

    @abstractmethod
    def _content(self, file: str) -> AsyncGenerator[str]:
        """Yield the lines of a file."""

    def entry(self, request_id: str, query: Query) -> Mapping[str, Any]:
        """Return a request as it stands in a batch."""
        messages = [dict(message) for message in query.messages]
        body = {**sent_params(query), "model": self._destination.model, "messages": messages}
        return {"custom_id": request_id, "method": "POST", "url": _PATH, "body": body}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Upload the requests, and make a batch of them."""
        try:
            file = await self._upload(b"\n".join(lines))
            return await self._create(file, {_NAME: submission})
        except Exception as error:
            raise translated(error, self._destination.api, "submitting a batch") from error

    async def look(self, batch: str) -> Standing:
        """Return how far a batch is."""
        try:
            found, after = await self._retrieve(batch)
        except Exception as error:
            raise translated(error, self._destination.api, f"looking at {batch!r}") from error
        if found.status not in _ENDED:
            return Standing(retry_after_s=after)
        # litellm gives an empty text where there is none.
        files = (found.output_file_id, found.error_file_id)
        return Standing(
            ended=True,
            cancelled=found.status == "cancelled",
            problem=_problem(found) if found.status == "failed" else None,
            full=found.status == "failed" and any(code in _FULL for code in _codes(found)),
            files=tuple(file for file in files if file),
        )

    async def results(self, batch: str, standing: Standing) -> AsyncIterator[Result]:
        """Return what became of the requests: those answered and those that failed."""
        for file in standing.files:
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
    """Say why a batch was refused, by the codes alone: messages may repeat what was asked."""
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
        return Result(name, "failed" if may_pass(status) else "refused", why=why, status=status)
    code = code_in(error)
    # Anything but a cancelled one may be answered the next time: `batch_expired`, say.
    return Result(name, "cancelled" if code == "batch_cancelled" else "failed", why=code)


class OpenAIBatches(FileBatches):
    """OpenAI's own, or that of a server which has the same; by OpenAI's SDK.

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

    async def find(self, sought: Sought) -> str | None:
        """Return the id of the batch that has the name, among the newest."""
        try:
            page = await self._client.batches.list(limit=_LOOKED_THROUGH)
        except Exception as error:
            raise translated(error, self._destination.api, "listing batches") from error
        names = {mapping(batch.metadata).get(_NAME): batch.id for batch in page.data}
        return names.get(sought.submission)

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
    """Those of Azure and Vertex AI, which litellm gives OpenAI's shapes.

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

    async def find(self, sought: Sought) -> str | None:
        """Say no: which providers keep what a batch is called is not known."""
        del sought
        return None

    async def _retrieve(self, batch: str) -> tuple[Any, float | None]:
        return await self._litellm.aretrieve_batch(batch_id=batch, **self._given), None

    async def _content(self, file: str) -> AsyncGenerator[str]:
        content = await self._litellm.afile_content(file_id=file, **self._given)
        for line in content.content.decode("utf-8", "replace").split("\n"):
            yield line

    async def aclose(self) -> None:
        """Do nothing: the connections are litellm's."""


# The API wants a limit of every request; this is what litellm gives where none is set.
_MAX_TOKENS = 4096
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
# How far clocks may be apart, and how long it may take until a batch that is submitted is made.
_SKEW_S = 60.0
_LATEST_S = 900.0
# Whoever answers these says the same the next time.
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
    """Anthropic's own, by its SDK; `BatchApi` says what each method is for.

    Args:
        destination: Where it is, and which model answers.

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
        """Return a request as it stands in a batch."""
        made = {"model": self._destination.model, "max_tokens": _MAX_TOKENS}
        params = MESSAGES.fresh(made, replace(query, params=sent_params(query)))
        return {"custom_id": request_id, "params": params}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Make a batch. Anthropic's have no names."""
        del submission
        try:
            requests = [json.loads(line) for line in lines]
            made = await self._client.messages.batches.create(requests=requests)
        except Exception as error:
            raise translated(error, self._destination.api, "submitting a batch") from error
        return made.id

    async def find(self, sought: Sought) -> str | None:
        """Return the id of the one batch that was made then and has as many requests.

        Anthropic's batches have no names. Where it is another after all, the requests are missing
        in its results, and are sent again.
        """
        try:
            page = await self._client.messages.batches.list(limit=_LOOKED_THROUGH)
        except Exception as error:
            raise translated(error, self._destination.api, "listing batches") from error
        fitting = [
            batch.id
            for batch in page.data
            if batch.id not in sought.known
            and -_SKEW_S <= batch.created_at.timestamp() - sought.begun <= _LATEST_S
            and sum(getattr(batch.request_counts, name) for name in _COUNTS) == sought.requests
        ]
        return fitting[0] if len(fitting) == 1 else None

    async def look(self, batch: str) -> Standing:
        """Return how far a batch is."""
        try:
            raw = await self._client.messages.batches.with_raw_response.retrieve(batch)
            found = await parsed_by(raw)
        except Exception as error:
            raise translated(error, self._destination.api, f"looking at {batch!r}") from error
        if found.processing_status != "ended":
            return Standing(retry_after_s=retry_after_s(raw.headers))
        return Standing(ended=True, files=(batch,))

    async def results(self, batch: str, standing: Standing) -> AsyncIterator[Result]:
        """Return what became of the requests, in whatever order."""
        del standing
        batches = self._client.messages.batches.with_streaming_response
        try:
            async with (
                batches.results(batch) as response,
                aclosing(lines_of(response.iter_bytes())) as lines,
            ):
                async for line in lines:
                    result = _anthropic_result(parsed(line)) if line.strip() else None
                    if result is not None:
                        yield result
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
        return Result(name, "cancelled", why="canceled")
    if kind == "expired":
        return Result(name, "failed", why="expired")
    # The error stands in an answer of its own: {"type": "error", "error": {"type": ...}}.
    error = mapping(result.get("error"))
    code = code_in(mapping(error.get("error")) or error)
    fate = "refused" if code in _LASTING else "failed"
    return Result(name, fate, why=code, status=_STATUS.get(code))
