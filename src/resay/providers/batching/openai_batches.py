"""OpenAI's Batch API, and what has its shapes: a file of requests, a batch, files of results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from resay._internal.importing import load_optional
from resay._internal.retrying import retry_after_s
from resay.core.query import Query
from resay.errors import ProviderError
from resay.providers.apis.completions import CHAT_COMPLETIONS
from resay.providers.apis.reading import mapping
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
                        result = _result(parsed(line)) if line.strip() else None
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


def _result(line: Mapping[str, Any]) -> Result | None:
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
