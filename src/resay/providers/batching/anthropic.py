"""Anthropic's Batch API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from resay._internal.importing import load_optional
from resay._internal.retries import retry_after_s
from resay.core.request import Request
from resay.providers.apis.messages import MESSAGES
from resay.providers.apis.values import mapping, text
from resay.providers.base import Completions
from resay.providers.base_urls import base_url_in
from resay.providers.batching.base import (
    MAX_LISTED,
    MB,
    BatchStatus,
    LostBatch,
    Result,
    code_in,
    lines_of,
    parse_line,
    parse_response,
    read_answer,
    translate,
)
from resay.providers.batching.destinations import Destination, sent_params

# The API requires a limit in every request; this is litellm's default.
_MAX_TOKENS = 4096
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
# Maximum clock difference, and the maximum delay between submitting a batch and its creation.
_SKEW_S = 60.0
_MAX_DELAY_S = 900.0
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
_STATUSES = {
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
        connection = destination.connection
        try:
            self._client: Any = anthropic.AsyncAnthropic(
                api_key=connection.get("api_key"),
                base_url=base_url_in(connection),
                default_headers=connection.get("extra_headers") or connection.get("headers"),
                max_retries=0,
            )
        except anthropic.AnthropicError as error:
            raise translate(error, destination.api, "making a client") from error

    def entry(self, request_id: str, request: Request) -> Mapping[str, Any]:
        """Return a request in the format of a batch entry."""
        body = {"model": self._destination.model, "max_tokens": _MAX_TOKENS}
        params = MESSAGES.fresh(body, replace(request, params=sent_params(request)))
        return {"custom_id": request_id, "params": params}

    async def submit(self, lines: Sequence[bytes], submission: str) -> str:
        """Create a batch. Anthropic's have no names."""
        del submission
        try:
            requests = [json.loads(line) for line in lines]
            batch = await self._client.messages.batches.create(requests=requests)
        except Exception as error:
            raise translate(error, self._destination.api, "submitting a batch") from error
        return batch.id

    async def find(self, lost: LostBatch) -> str | None:
        """Return the id of the one batch created at that time with as many requests.

        Anthropic's batches have no names. If it is another batch after all, its results lack the
        requests, which are then sent again.
        """
        try:
            page = await self._client.messages.batches.list(limit=MAX_LISTED)
        except Exception as error:
            raise translate(error, self._destination.api, "listing batches") from error
        matches: list[str] = []
        for batch in page.data:
            delay_s = batch.created_at.timestamp() - lost.started_at
            requests = sum(getattr(batch.request_counts, name) for name in _COUNTS)
            is_in_time = -_SKEW_S <= delay_s <= _MAX_DELAY_S
            if batch.id not in lost.other_batches and is_in_time and requests == lost.requests:
                matches.append(batch.id)
        return matches[0] if len(matches) == 1 else None

    async def status(self, batch: str) -> BatchStatus:
        """Return the progress of a batch."""
        try:
            raw = await self._client.messages.batches.with_raw_response.retrieve(batch)
            retrieved = await parse_response(raw)
        except Exception as error:
            raise translate(error, self._destination.api, f"retrieving {batch!r}") from error
        if retrieved.processing_status != "ended":
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
                        result = _anthropic_result(parse_line(line)) if line.strip() else None
                        if result is not None:
                            yield result
            finally:
                await response.close()
        except Exception as error:
            operation = f"reading the results of {batch!r}"
            raise translate(error, self._destination.api, operation) from error

    def read(self, body: Mapping[str, Any]) -> Completions:
        """Return the answer in a message."""
        return read_answer(MESSAGES, body, self._destination.model)

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
    kind = "refused" if code in _LASTING else "failed"
    return Result(name, kind, reason=code, status=_STATUSES.get(code))
