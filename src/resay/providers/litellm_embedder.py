"""Embeddings by servers with OpenAI's API, and by every model that litellm supports."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import anyio

from resay._internal.nesting import marked
from resay._internal.retries import retrier
from resay._internal.telemetry import Span, span
from resay.core.request import Request
from resay.core.usage import Usage
from resay.errors import (
    ConfigurationError,
    ProviderError,
    ProviderTimeoutError,
)
from resay.providers.apis.values import mapping
from resay.providers.limits import ProcessLimits
from resay.providers.litellm_client import PER_CALL, clients, load_litellm, translate, usage_of
from resay.providers.litellm_problems import problem_if_not_installed
from resay.providers.openai_compatible import OpenAICompatibleProvider, is_compatible
from resay.providers.prices import Prices


class _Zero(int):
    def __bool__(self) -> bool:
        return True


_PER_EMBEDDING: Mapping[str, Any] = {
    **{key: value for key, value in PER_CALL.items() if key != "stream"},
    # litellm 1.106 evaluates `max_retries or 2` for embeddings, so its 0 has to be truthy.
    "max_retries": _Zero(),
}


class LiteLLMEmbedder:
    """Embed texts with any model that litellm supports, named in its notation.

    A server with OpenAI's API is asked directly, without litellm, if `api_base` names it.

    Requests are retried, limited and counted here; see `usage`. Errors contain neither the texts
    nor the provider's own words.

    Args:
        model: The embedding model (`openai/text-embedding-3-small`).
        api_base: Base URL, for servers with OpenAI's API; None = litellm's default.
        api_key: The provider's key; None = from the environment.
        dimensions: Number of dimensions to request; None = the model's default.
        batch: Maximum number of texts per request, at least 1.
        timeout_s: Timeout of a request, in seconds.
        retries: How often a failed request is sent again.
        concurrency: Maximum number of concurrent requests, at least 1.

    Attributes:
        model: The model.

    Raises:
        ConfigurationError: `batch` or `concurrency` is less than 1.
        MissingDependencyError: litellm is needed and not installed.
        ProviderRefusedError: It is not installed, and would not know the model.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch: int = 64,
        timeout_s: float = 30.0,
        retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        options = {"api_base": api_base, "api_key": api_key, "dimensions": dimensions}
        params = {name: value for name, value in options.items() if value is not None}
        self._direct_request = Request((), model, {**params, "timeout": timeout_s})
        self._is_direct = is_compatible(self._direct_request)
        problem = None if self._is_direct else problem_if_not_installed(self._direct_request)
        if problem is not None:
            raise problem
        if batch < 1:
            raise ConfigurationError(f"`batch` is {batch!r}; give 1 or more")
        self._kwargs: dict[str, Any] = {
            **_PER_EMBEDDING,
            "timeout": timeout_s,
            # litellm would not send it to other models behind OpenAI's API.
            "allowed_openai_params": ["dimensions"],
            **params,
        }
        self.model = model
        self._dimensions = dimensions
        self._batch = batch
        self._timeout_s = timeout_s
        self._attempts = partial(retrier, retries, 0.5)
        self._slots = ProcessLimits(concurrency)
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """Usage of the requests that were answered, in all event loops and threads."""
        return self._usage

    async def prepare(self) -> None:
        """Load what requests need."""
        if self._is_direct:
            await OpenAICompatibleProvider().prepare()
        else:
            await load_litellm()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts.

        Args:
            texts: Any number of texts.

        Returns:
            One embedding per text, in their order, all of the same length.

        Raises:
            ProviderRefusedError: The request is wrong and would be refused again.
            ProviderTimeoutError: No answer arrived in time.
            ProviderError: Anything else that went wrong, such as an answer with too few embeddings.
        """
        # Lone surrogates cannot be encoded, and empty texts are refused.
        encodable = [text.encode(errors="replace").decode() or " " for text in texts]
        embeddings: list[list[float]] = []
        for start in range(0, len(encodable), self._batch):
            batch = encodable[start : start + self._batch]
            batch_embeddings: list[list[float]] = await self._attempts()(self._request, batch)
            embeddings += batch_embeddings
        if len(set(map(len, embeddings))) > 1:
            raise ProviderError(f"{self.model!r} returned embeddings of different lengths")
        return embeddings

    async def _request(self, texts: Sequence[str]) -> list[list[float]]:
        ask = self._ask_server if self._is_direct else self._ask_litellm
        attributes = {"gen_ai.request.model": self.model, "resay.texts": len(texts)}
        async with self._slots:
            with span("resay.embed", attributes) as active_span:
                items, usage = await ask(texts)
                self._count(usage, active_span)
                return self._read(items, len(texts))

    async def _ask_server(self, texts: Sequence[str]) -> tuple[object, Usage]:
        """Return the items of a server's response, and its usage."""
        try:
            with anyio.fail_after(self._timeout_s):
                body = await OpenAICompatibleProvider().embed(self._direct_request, texts)
        except TimeoutError:
            raise ProviderTimeoutError(f"{self.model!r} did not answer in time") from None
        reported = mapping(body.get("usage")).get("prompt_tokens")
        usage = Usage(calls=1, prompt_tokens=reported if isinstance(reported, int) else 0)
        cost_usd = Prices().cost_usd(self.model, usage)
        return body.get("data"), replace(usage, cost_usd=cost_usd)

    async def _ask_litellm(self, texts: Sequence[str]) -> tuple[object, Usage]:
        """Return the items of litellm's response, and its usage."""
        litellm = await load_litellm()
        await clients.get()  # so that they are closed with the loop
        try:
            with marked(), anyio.fail_after(self._timeout_s):
                answer = await litellm.aembedding(
                    model=self.model, input=list(texts), **self._kwargs
                )
        except Exception as error:
            failure = translate(error, self.model, "see the provider's log")
        else:
            usage = usage_of(answer, answer._hidden_params.get("response_cost"))  # noqa: SLF001 - documented
            return answer.data, usage
        # Raised without its cause, which may repeat the texts.
        raise failure

    def _count(self, usage: Usage, active_span: Span) -> None:
        with self._lock:
            self._usage += usage
        active_span.set(
            {"gen_ai.usage.input_tokens": usage.prompt_tokens, "resay.cost_usd": usage.cost_usd}
        )

    def _read(self, items: Any, count: int) -> list[list[float]]:
        try:
            numbered = sorted(map(_embedding, items))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            name = type(error).__name__
            raise ProviderError(
                f"{self.model!r} answered in a form that cannot be read ({name}); check that it is"
                " an embedding model"
            ) from None
        indices = [index for index, _ in numbered]
        embeddings = [embedding for _, embedding in numbered]
        if indices != list(range(count)):
            raise ProviderError(
                f"{self.model!r} returned {len(indices)} embeddings for {count} texts, not one for"
                " each"
            )
        sizes = set(map(len, embeddings))
        if self._dimensions is not None and sizes != {self._dimensions}:
            raise ProviderError(
                f"{self.model!r} returned embeddings of {max(sizes)} numbers, but `dimensions` is"
                f" {self._dimensions}; leave it out, or name a model that supports it"
            )
        for embedding in embeddings:
            if not all(map(math.isfinite, embedding)):
                raise ProviderError(f"{self.model!r} returned non-numeric embeddings")
        return embeddings


def _embedding(item: Any) -> tuple[int, list[float]]:
    """Return the index of an embedding's text, and its numbers."""
    fields = cast("Mapping[str, Any]", item if isinstance(item, dict) else vars(item))
    return int(fields["index"]), [float(number) for number in fields["embedding"]]
