"""Several retrievers searched at the same time, put together, and put into order by a model."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from resay.core.references import Document
from resay.errors import ConfigurationError, ScorerError
from resay.models import ModelConfig, config_of, pair_classifier
from resay.models.windows import cut
from resay.retrieval.function import as_retriever

_log = logging.getLogger(__name__)

_RANK_OFFSET = 60
# Less is no part of a document that a model could tell anything of.
_LEAST_ROOM = 16
# A long document is read in so many parts, from its beginning.
_MOST_PARTS = 8


def fused(rankings: Sequence[Sequence[Document]]) -> list[Document]:
    """Put several rankings together, by the sum of 1 / (60 + rank) over them.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.

    Args:
        rankings: Documents, best first, of each search.

    Returns:
        Each document once, best first. Documents with the same id or the same text are one, as the
        first ranking that has it gives it.
    """
    return [document for document, _ in _fused(rankings, [1.0] * len(rankings))]


def _fused(
    rankings: Sequence[Sequence[Document]], weights: Sequence[float]
) -> list[tuple[Document, float]]:
    """Return each document with its sum."""
    sums: dict[int, float] = {}
    documents: list[Document] = []
    by_id: dict[str, int] = {}
    by_text: dict[str, int] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        counted: set[int] = set()
        for rank, document in enumerate(ranking, 1):
            text = " ".join(document.text.split())
            place = by_id.get(document.id, by_text.get(text, len(documents)))
            by_id.setdefault(document.id, place)
            by_text.setdefault(text, place)
            if place == len(documents):
                documents.append(document)
            if place not in counted:
                counted.add(place)
                sums[place] = sums.get(place, 0.0) + weight / (_RANK_OFFSET + rank)
    return [(documents[i], sums[i]) for i in sorted(sums, key=lambda i: -sums[i])]


class Reranker:
    """A cross-encoder: it reads a search and a document together, and says how well they fit.

    A document that is longer than the model reads is read in parts, and counts as much as the best
    of them.

    Args:
        model: A folder, a model on the Hugging Face hub, or its settings. It has one output.

    Raises:
        ConfigurationError: The settings are not valid.
        MissingDependencyError: What the model needs is not installed.
    """

    def __init__(self, model: str | Mapping[str, Any] | ModelConfig) -> None:
        config = config_of(model)
        self.called = config.called
        self._model = pair_classifier(config)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be had, or has more than one output.
            ScorerError: Its server does not answer.
        """
        await self._model.prepare()
        labels = await self._model.labels()
        if len(labels) != 1:
            raise ConfigurationError(
                f"the model {self.called!r} gives {len(labels)} labels, and a reranker one number;"
                " name a cross-encoder that was trained for search"
            )

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text fits a search, from 0 to 1.

        Raises:
            ConfigurationError: See `prepare`.
            ScorerError: The search is too long for the model, or the model failed.
        """
        await self.prepare()
        parts = await self._parts(query, texts)
        pairs = [(query, part) for of_text in parts for part in of_text]
        rows = (await self._model.classify(pairs)).tolist()
        if not all(math.isfinite(score) for (score,) in rows):
            raise ScorerError(f"the reranker {self.called!r} gave something that is no number")
        rest = (score for (score,) in rows)
        return [max(next(rest) for _ in of_text) for of_text in parts]

    async def _parts(self, query: str, texts: Sequence[str]) -> list[list[str]]:
        room = await self._model.room()
        if room is None:
            return [[text] for text in texts]
        asked, *lengths = await self._model.lengths([query, *texts])
        left = room - asked
        if left < _LEAST_ROOM:
            raise ScorerError(
                f"a search of {asked} tokens leaves the reranker {self.called!r} no room for"
                " documents; shorten it, or name a model that reads more"
            )
        return [
            [text] if length <= left else (await cut(text, left, self._model))[:_MOST_PARTS]
            for text, length in zip(texts, lengths, strict=True)
        ]


class HybridRetriever:
    """Searches with several retrievers at the same time, and puts together what they find.

    The rankings are put together by reciprocal rank fusion; see `fused`. With a reranker, the best
    of that are put into the order that it gives. A retriever that fails, or takes too long, does
    not lose what the others found, and a reranker that does leaves the order as it was; both are
    logged, without what was searched for.

    Args:
        parts: The retrievers, at least one: whatever `as_retriever` takes.
        fetch_k: How many documents each is asked for, and how many the reranker reads; at least as
            many as are wanted.
        reranker: Who puts the documents into order; None = the fusion alone.
        weights: How much the ranking of each part counts; all the same where there are none.
        timeout_s: How many seconds the parts may take, and then the reranker.

    Raises:
        ConfigurationError: There are no parts, or not as many weights as parts, or one is nothing
            that finds documents.
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
            ConfigurationError: One of them cannot be had as configured.
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
            query: What to search for, in words.
            k: How many documents are wanted at the most, at least 1.
            tenant: On whose behalf; the parts that take it get it.

        Returns:
            The documents, best first, each once. The score is the reranker's, from 0 to 1, or else
            the sum of the fusion.

        Raises:
            Exception: All parts failed; it is the error of the first.
        """
        count = max(k, self._fetch_k)
        found = _fused(await self._searched(query, count, tenant), self._weights)[:count]
        if self._reranker is not None and found:
            found = await self._reranked(self._reranker, query, found)
        return [replace(document, score=score) for document, score in found[:k]]

    async def _searched(
        self, query: str, count: int, tenant: str | None
    ) -> list[Sequence[Document]]:
        rankings: list[Sequence[Document]] = [()] * len(self._parts)
        failures: dict[int, Exception] = {}

        async def search(place: int) -> None:
            try:
                with anyio.fail_after(self._timeout_s):
                    part = self._parts[place]
                    rankings[place] = await part.retrieve(query, k=count, tenant=tenant)
            # Whatever it is, it must not cost what the others find.
            except Exception as error:
                failures[place] = error

        async with anyio.create_task_group() as tasks:
            for place in range(len(self._parts)):
                tasks.start_soon(search, place)
        if len(failures) == len(self._parts):
            raise failures[0]
        for place, error in sorted(failures.items()):
            _log.warning(
                "part %d of %d, %r, failed with %s; the search goes on without it",
                place + 1,
                len(self._parts),
                self._parts[place],
                type(error).__name__,
            )
        return rankings

    async def _reranked(
        self, reranker: Reranker, query: str, found: list[tuple[Document, float]]
    ) -> list[tuple[Document, float]]:
        documents = [document for document, _ in found]
        try:
            with anyio.fail_after(self._timeout_s):
                scores = await reranker.scores(query, [document.text for document in documents])
        except Exception as error:
            _log.warning(
                "the reranker %r failed with %s; the order of the fusion stays",
                reranker.called,
                type(error).__name__,
            )
            return found
        # Stable: where the model makes no difference, the fusion does.
        return sorted(zip(documents, scores, strict=True), key=lambda pair: -pair[1])
