"""Rerankers behind `/rerank`, as Cohere, Jina and vLLM have it.

What is said here about these services was read in their documentation; no real one could be tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from resay.models.arrays import doubles, stack
from resay.models.remote.batches import Once, without_halves
from resay.models.remote.http import Reply, Server

if TYPE_CHECKING:
    from resay.models.base import Doubles, Pair
    from resay.models.config import ModelConfig


class RerankClassifier:
    """A reranker: a `PairClassifier` of one label, whose first texts are searches.

    Each search is one request with all its texts. What is too long for the model the service
    itself cuts, and the number of a text is the service's own, from 0 to 1 as a rule.

    Args:
        config: Where the service is, with or without `/rerank` at the end, and the model's name
            there.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._server = Server(config, "the rerank server", suffix="/rerank")
        self._works = Once(self._try)

    async def prepare(self) -> None:
        """See that the service answers, by one request.

        Raises:
            ConfigurationError: It does not take the key, or there is no such service.
            ScorerError: It does not answer.
        """
        await self._works.get()

    async def labels(self) -> tuple[str, ...]:
        """Return the name of what it gives; see `PairClassifier`."""
        return ("relevance",)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return 0 for each text: the service does not count."""
        return [0] * len(texts)

    async def room(self) -> None:
        """Return None: it takes texts of any length."""

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Return how relevant the second texts are to the first, of shape (pairs, 1)."""
        sound = [(without_halves(query), without_halves(text) or " ") for query, text in pairs]
        asked: dict[str, dict[str, None]] = {}
        for query, text in sound:
            asked.setdefault(query, {})[text] = None
        rows = await asyncio.gather(*(self._ask(q, list(texts)) for q, texts in asked.items()))
        known = {
            (query, text): score
            for (query, texts), scores in zip(asked.items(), rows, strict=True)
            for text, score in zip(texts, scores, strict=True)
        }
        return stack([doubles([known[pair]], 1) for pair in sound], 1)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()

    async def _ask(self, query: str, texts: Sequence[str]) -> list[float]:
        body = {"query": query or " ", "documents": list(texts), "top_n": len(texts)}
        if self._config.name:
            body["model"] = self._config.name
        return await self._server.post("/rerank", body, lambda reply: _scores(reply, len(texts)))

    async def _try(self) -> bool:
        await self._ask("a", ["a"])
        return True


def _scores(reply: Reply, wanted: int) -> list[float]:
    # The best come first; the index says which text it is.
    rows = {int(row["index"]): float(row["relevance_score"]) for row in reply.body["results"]}
    if set(rows) != set(range(wanted)):
        raise ValueError("not one score for each text")
    return doubles([rows[place] for place in range(wanted)], 1).tolist()
