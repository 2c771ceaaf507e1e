"""Rerankers behind the API of Cohere and Jina, which many services have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from resay.models.arrays import doubles, stack
from resay.models.remote.batches import CachedRequest, replace_surrogates
from resay.models.remote.http import Reply, Server

if TYPE_CHECKING:
    from resay.models.base import Doubles, Pair
    from resay.models.config import ModelConfig


class RerankClassifier:
    """A reranker as a `PairClassifier` of one label, with queries as the first texts.

    Each query is one request with all its texts. The service itself truncates texts that are too
    long for the model, and its own scores are returned, usually from 0 to 1.

    Args:
        config: The service's URL, with or without a trailing `/rerank`, and its name for the model.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._server = Server(config, "the rerank server", suffix="/rerank")
        self._works = CachedRequest(self._try)

    async def prepare(self) -> None:
        """Check that the service responds, with one request.

        Raises:
            ConfigurationError: It does not accept the key, or there is no such service.
            ScorerError: It does not respond.
        """
        await self._works.get()

    async def labels(self) -> tuple[str, ...]:
        """Return the name of the score; see `PairClassifier`."""
        return ("relevance",)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return 0 for each text: the service does not count tokens."""
        return [0] * len(texts)

    async def max_input_tokens(self) -> None:
        """Return None: texts may have any length."""

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Return the relevance of the second texts to the first, of shape (pairs, 1)."""
        encodable: list[Pair] = []
        texts_by_query: dict[str, dict[str, None]] = {}
        for query, text in pairs:
            pair = (replace_surrogates(query), replace_surrogates(text) or " ")
            encodable.append(pair)
            texts_by_query.setdefault(pair[0], {})[pair[1]] = None
        requests = [self._rerank(query, list(texts)) for query, texts in texts_by_query.items()]
        scores: dict[Pair, float] = {}
        results = await asyncio.gather(*requests)
        for (query, texts), query_scores in zip(texts_by_query.items(), results, strict=True):
            for text, score in zip(texts, query_scores, strict=True):
                scores[query, text] = score
        return stack([doubles([scores[pair]], 1) for pair in encodable], 1)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()

    async def _rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        body = {"query": query or " ", "documents": list(texts), "top_n": len(texts)}
        if self._config.name:
            body["model"] = self._config.name
        return await self._server.post("/rerank", body, lambda reply: _scores(reply, len(texts)))

    async def _try(self) -> bool:
        await self._rerank("a", ["a"])
        return True


def _scores(reply: Reply, count: int) -> list[float]:
    # The best results come first; the index identifies the text.
    scores = {int(row["index"]): float(row["relevance_score"]) for row in reply.body["results"]}
    if set(scores) != set(range(count)):
        raise ValueError("not one score for each text")
    return doubles([scores[index] for index in range(count)], 1).tolist()
