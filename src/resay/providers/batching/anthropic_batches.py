"""Anthropic's Message Batches API: one request with all, and one stream of results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from resay._internal.importing import load_optional
from resay._internal.retrying import retry_after_s
from resay.core.query import Query
from resay.errors import ProviderError
from resay.providers.apis.messages import MESSAGES
from resay.providers.apis.reading import mapping, text
from resay.providers.base import Completions
from resay.providers.batching.base import (
    MB,
    Destination,
    Result,
    Sought,
    Standing,
    code_in,
    lines_of,
    parsed,
    parsed_by,
    sent_params,
    translated,
)

# The API wants a limit of every request; this is what litellm gives where none is set.
_MAX_TOKENS = 4096
_LOOKED_THROUGH = 100
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
                    result = _result(parsed(line)) if line.strip() else None
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


def _result(line: Mapping[str, Any]) -> Result | None:
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
