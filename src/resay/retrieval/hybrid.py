"""Search with several retrievers concurrently, merge their results, and rerank them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from resay.core.documents import Document
from resay.errors import ConfigurationError, ScorerError
from resay.models import ModelConfig, config_of, pair_classifier
from resay.models.windows import cut
from resay.retrieval.function import as_retriever

_log = logging.getLogger(__name__)

_RANK_OFFSET = 60
# With less room, a part of a document would be too short to judge.
_MIN_DOCUMENT_TOKENS = 16
# The maximum number of parts of a long document to score, from its beginning.
_MAX_PARTS = 8


def fused(rankings: Sequence[Sequence[Document]]) -> list[Document]:
    """Merge several rankings, by the sum of 1 / (60 + rank) over them.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.

    Args:
        rankings: The documents of each search, best first.

    Returns:
        Each document once, best first. Documents with the same id or the same text are merged; the
        first one is returned.
    """
    return [document for document, _ in _fused(rankings, [1.0] * len(rankings))]


def _fused(
    rankings: Sequence[Sequence[Document]], weights: Sequence[float]
) -> list[tuple[Document, float]]:
    """Return each document with its fusion score."""
    sums: dict[int, float] = {}
    documents: list[Document] = []
    by_id: dict[str, int] = {}
    by_text: dict[str, int] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        counted: set[int] = set()
        for rank, document in enumerate(ranking, 1):
            text = " ".join(document.text.split())
            index = by_id.get(document.id, by_text.get(text, len(documents)))
            by_id.setdefault(document.id, index)
            by_text.setdefault(text, index)
            if index == len(documents):
                documents.append(document)
            if index not in counted:
                counted.add(index)
                sums[index] = sums.get(index, 0.0) + weight / (_RANK_OFFSET + rank)
    return [(documents[i], sums[i]) for i in sorted(sums, key=lambda i: -sums[i])]


class Reranker:
    """A cross-encoder, which scores the relevance of a document to a query.

    A document that exceeds the model's window is scored in parts, and gets the score of the best.

    Args:
        model: A folder, a model on the Hugging Face hub, or its settings. It has one output.

    Raises:
        ConfigurationError: The settings are invalid.
        MissingDependencyError: A package that the model needs is not installed.
    """

    def __init__(self, model: str | Mapping[str, Any] | ModelConfig) -> None:
        config = config_of(model)
        self.name = config.display_name
        self._model = pair_classifier(config)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: The model cannot be loaded, or has more than one output.
            ScorerError: The model's server does not answer.
        """
        await self._model.prepare()
        labels = await self._model.labels()
        if len(labels) != 1:
            raise ConfigurationError(
                f"the model {self.name!r} returns {len(labels)} labels, and a reranker needs one"
                " score; name a cross-encoder that was trained for search"
            )

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return each text's relevance to a query, from 0 to 1.

        Raises:
            ConfigurationError: See `prepare`.
            ScorerError: The query is too long for the model, or the model failed.
        """
        await self.prepare()
        pairs: list[tuple[str, str]] = []
        text_indices: list[int] = []
        for index, parts in enumerate(await self._parts(query, texts)):
            pairs += [(query, part) for part in parts]
            text_indices += [index] * len(parts)
        scores = [-math.inf] * len(texts)
        rows = (await self._model.classify(pairs)).tolist()
        for index, (score,) in zip(text_indices, rows, strict=True):
            if not math.isfinite(score):
                raise ScorerError(f"the reranker {self.name!r} returned a non-finite score")
            scores[index] = max(scores[index], score)
        return scores

    async def _parts(self, query: str, texts: Sequence[str]) -> list[list[str]]:
        max_tokens = await self._model.max_input_tokens()
        if max_tokens is None:
            return [[text] for text in texts]
        query_tokens, *lengths = await self._model.lengths([query, *texts])
        max_document_tokens = max_tokens - query_tokens
        if max_document_tokens < _MIN_DOCUMENT_TOKENS:
            raise ScorerError(
                f"a search of {query_tokens} tokens leaves the reranker {self.name!r} no room for"
                " documents; shorten it, or name a model that reads more"
            )
        parts: list[list[str]] = []
        for text, length in zip(texts, lengths, strict=True):
            if length <= max_document_tokens:
                parts.append([text])
            else:
                windows = await cut(text, max_document_tokens, self._model)
                parts.append(windows[:_MAX_PARTS])
        return parts


class HybridRetriever:
    """Searches with several retrievers concurrently, and merges their results.

    The rankings are merged by reciprocal rank fusion; see `fused`. A reranker then reorders the
    best documents. If a retriever fails or times out, the results of the others are used; if the
    reranker does, the order of the fusion is. Both are logged, without the query.

    Args:
        parts: The retrievers, at least one: any arguments for `as_retriever`.
        fetch_k: The number of documents from each retriever and for the reranker; raised to the
            number requested.
        reranker: The reranker; None = the fusion alone.
        weights: The weight of each retriever's ranking; equal weights if empty.
        timeout_s: The time limit in seconds for the retrievers, and again for the reranker.

    Raises:
        ConfigurationError: There are no retrievers, a different number of weights, or a part that
            cannot be used as a retriever.
    """

    def __init__(
        self,
        parts: Sequence[object],
        *,
        fetch_k: int = 20,
        reranker: Reranker | None = None,
        weights: Sequence[float] = (),
        timeout_s: float = 5.0,
    ) -> None:
        if not parts:
            raise ConfigurationError("a hybrid retriever needs at least one retriever in `of`")
        if weights and len(weights) != len(parts):
            raise ConfigurationError(
                f"there are {len(weights)} weights for {len(parts)} retrievers; give one for each"
            )
        self._parts = [as_retriever(part) for part in parts]
        self._fetch_k = fetch_k
        self._reranker = reranker
        self._weights = tuple(weights) or (1.0,) * len(parts)
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"HybridRetriever({self._parts!r})"

    async def prepare(self) -> None:
        """Prepare all parts and the reranker.

        Raises:
            ConfigurationError: One of them does not work as configured.
            ResayError: A server does not answer.
        """
        for part in self._parts:
            await part.prepare()
        if self._reranker is not None:
            await self._reranker.prepare()

    async def retrieve(
        self, query: str, *, k: int, tenant: str | None = None
    ) -> Sequence[Document]:
        """Find documents.

        Args:
            query: The query in natural language.
            k: The maximum number of documents, at least 1.
            tenant: The tenant of the request, passed to the retrievers that take it.

        Returns:
            The documents, best first, each once. The score is the reranker's, from 0 to 1, or else
            that of the fusion.

        Raises:
            Exception: All retrievers failed; it is the error of the first.
        """
        count = max(k, self._fetch_k)
        rankings = await self._search(query, count, tenant)
        scored = _fused(rankings, self._weights)[:count]
        if self._reranker is not None and scored:
            scored = await self._rerank(self._reranker, query, scored)
        return [replace(document, score=score) for document, score in scored[:k]]

    async def _search(self, query: str, count: int, tenant: str | None) -> list[Sequence[Document]]:
        rankings: list[Sequence[Document]] = [()] * len(self._parts)
        failures: dict[int, Exception] = {}

        async def search(index: int) -> None:
            try:
                with anyio.fail_after(self._timeout_s):
                    part = self._parts[index]
                    rankings[index] = await part.retrieve(query, k=count, tenant=tenant)
            # Any failure here must not lose the results of the others.
            except Exception as error:
                failures[index] = error

        async with anyio.create_task_group() as tasks:
            for index in range(len(self._parts)):
                tasks.start_soon(search, index)
        if len(failures) == len(self._parts):
            raise failures[0]
        for index, error in sorted(failures.items()):
            _log.warning(
                "part %d of %d, %r, failed with %s; the search goes on without it",
                index + 1,
                len(self._parts),
                self._parts[index],
                type(error).__name__,
            )
        return rankings

    async def _rerank(
        self, reranker: Reranker, query: str, scored: list[tuple[Document, float]]
    ) -> list[tuple[Document, float]]:
        documents = [document for document, _ in scored]
        try:
            with anyio.fail_after(self._timeout_s):
                scores = await reranker.scores(query, [document.text for document in documents])
        except Exception as error:
            _log.warning(
                "the reranker %r failed with %s; the order of the fusion stays",
                reranker.name,
                type(error).__name__,
            )
            return scored
        # A stable sort: ties keep the order of the fusion.
        return sorted(zip(documents, scores, strict=True), key=lambda pair: -pair[1])
