"""What models on a server have in common, whatever the server's product."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from resay.errors import ResayError, ScorerError
from resay.models.arrays import means
from resay.models.remote.batches import (
    CachedRequest,
    Outcomes,
    Part,
    RequestBatcher,
    ResultCache,
    by_size,
    cut,
    flat,
    regroup,
    replace_surrogates,
    weights,
)
from resay.models.remote.http import Server, TooLargeError

if TYPE_CHECKING:
    from resay.models.base import Doubles, Floats
    from resay.models.config import ModelConfig

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

PROBE = "a"
"""A text that every tokenizer knows, for finding the special tokens around a text."""


class ModelServer(ABC):
    """A server of a model: its requests in batches, and the texts that it can read.

    Args:
        config: The server's settings.
        server: The HTTP client.
        max_lengths: The maximum number of texts in a request for their lengths; None = as many as
            in other requests.

    Attributes:
        config: The server's settings.
        server: The HTTP client.
        text_edges: The number of special tokens around a single text.
    """

    def __init__(
        self, config: ModelConfig, server: Server, *, max_lengths: int | None = None
    ) -> None:
        self.config = config
        self.server = server
        self.text_edges = CachedRequest(self._request_text_edges)
        self._lengths: RequestBatcher[str, int] = self.batcher(
            self._request_lengths, size=lambda text, _: len(text), max_items=max_lengths
        )

    @abstractmethod
    async def max_items(self, *, refresh: bool = False) -> int:
        """Return the maximum number of items in a request; `refresh` to request it again."""

    @abstractmethod
    async def max_tokens(self) -> int | None:
        """Return the model's maximum input length, including special tokens; None = no limit."""

    @abstractmethod
    def too_long_message(self, max_tokens: int | None) -> str:
        """Return the message of the error for a text that the server refuses."""

    @abstractmethod
    async def _request_lengths(self, texts: Sequence[str]) -> list[int]:
        """Request the number of tokens in each text, without special tokens."""

    @abstractmethod
    async def _request_text_edges(self) -> int:
        """Request the number of special tokens around a single text."""

    def batcher(
        self,
        send: Callable[[Sequence[K]], Awaitable[Sequence[R]]],
        *,
        size: Callable[[K, R], int],
        max_items: int | None = None,
    ) -> RequestBatcher[K, R]:
        """Batch items of concurrent callers, and split requests that are too large."""

        async def limit() -> int:
            server_limit = await self.max_items()
            return min(server_limit, max_items or server_limit)

        async def fresh_limit() -> int:
            return await self.max_items(refresh=True)

        async def split(items: Sequence[K]) -> Outcomes[R]:
            outcomes = await by_size(items, send, fresh_limit)
            return [await self._explain(outcome) for outcome in outcomes]

        return RequestBatcher(
            split,
            max_items=limit,
            window_s=self.config.window_ms / 1000,
            cache=ResultCache(self.config.cache_mb * 1e6, size),
        )

    async def _explain(self, outcome: R | ResayError) -> R | ResayError:
        if not isinstance(outcome, TooLargeError):
            return outcome
        return ScorerError(self.too_long_message(await self.max_tokens()))

    async def max_input_tokens(self, edges: int) -> int | None:
        """Return the number of tokens that fit beside the given number of special tokens."""
        limits = [await self.max_tokens(), self.config.max_tokens]
        limits = [limit for limit in limits if limit is not None]
        return max(min(limits) - edges, 0) if limits else None

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        encodable = list(map(replace_surrogates, texts))
        # Servers refuse an empty text.
        counts = iter(await self._lengths.map(list(filter(None, encodable))))
        return [next(counts) if text else 0 for text in encodable]

    async def cut(self, texts: Sequence[str]) -> list[list[Part]]:
        """Split texts into parts that the model can read."""
        # Servers refuse empty texts. For most tokenizers, a blank is no token.
        encodable = [replace_surrogates(text) or " " for text in texts]
        max_tokens = await self.max_input_tokens(await self.text_edges.get())
        return await cut(encodable, max_tokens, self.lengths)


class _Classifier(Protocol):
    """A classifier of pairs that also reads single texts."""

    async def prepare(self) -> None: ...

    async def labels(self) -> tuple[str, ...]: ...

    async def lengths(self, texts: Sequence[str]) -> list[int]: ...

    async def max_text_tokens(self) -> int | None: ...

    async def classify_texts(self, texts: Sequence[str]) -> Doubles: ...

    async def aclose(self) -> None: ...


class SingleTextClassifier:
    """A `TextClassifier`, by a classifier of pairs that also reads single texts.

    Args:
        classifier: The classifier.
    """

    def __init__(self, classifier: _Classifier) -> None:
        self._classifier = classifier

    async def prepare(self) -> None:
        """Check that the server responds, and serves a classifier.

        Raises:
            ConfigurationError: It does not classify as configured, or there is no such server.
            ScorerError: It does not respond.
        """
        await self._classifier.prepare()

    async def labels(self) -> tuple[str, ...]:
        """Return the label names; see `TextClassifier`."""
        return await self._classifier.labels()

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        return await self._classifier.lengths(texts)

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a text; None = no limit."""
        return await self._classifier.max_text_tokens()

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Classify texts; see `TextClassifier`."""
        return await self._classifier.classify_texts(texts)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._classifier.aclose()


class RemoteSentenceEmbedder(ABC):
    """A sentence embedder on a server.

    A text longer than the model's input is split at white space into parts of similar length. Their
    embeddings, each of length 1, are averaged, weighted by their tokens.

    Args:
        model_server: The server.
    """

    def __init__(self, model_server: ModelServer) -> None:
        self._model_server = model_server
        self._rows: RequestBatcher[str, Floats] = model_server.batcher(
            self._request_embeddings, size=text_bytes
        )

    @abstractmethod
    async def prepare(self) -> None:
        """Check that the server responds, and serves an embedder.

        Raises:
            ConfigurationError: It serves no embedder, or there is no such server.
            ScorerError: It does not respond.
        """

    @abstractmethod
    async def _request_embeddings(self, texts: Sequence[str]) -> list[Floats]:
        """Request the embedding of each text, of length 1."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts; see `SentenceEmbedder`. Without texts, the array has shape (0, 0)."""
        if texts:
            await self.prepare()
        parts = await self._model_server.cut(texts)
        rows = regroup(await self._rows.map(flat(parts)), parts)
        return means(rows, weights(parts))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._model_server.server.aclose()


def text_bytes(text: str, row: Doubles | Floats) -> int:
    """Return the size of a text and its result in a cache."""
    return len(text) + row.nbytes
