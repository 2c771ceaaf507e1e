"""A retriever that searches the vector database Qdrant by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

from resay._internal.importing import require_optional
from resay.core.documents import Document
from resay.errors import ConfigurationError
from resay.models import ModelConfig, SentenceEmbedder, config_of, sentence_embedder
from resay.providers import LiteLLMEmbedder
from resay.retrieval.base import MetadataValue
from resay.retrieval.qdrant_store import load_client, store_at

_ID = "resay_id"
"""The payload key of the document's id, since Qdrant's own ids must be UUIDs or numbers."""
_BATCH_SIZE = 64


class QdrantRetriever:
    """Finds the documents of a collection whose embeddings are most similar to the query's.

    The collection is in a local folder, which only one process at a time can open, or on a server.
    All retrievers of the process with the same folder or server share one client; for a server,
    there is one per event loop, closed when the loop shuts down.

    Args:
        collection: The collection.
        model: The embedding model that the collection was filled with: a folder, a model on the
            Hugging Face hub, or its settings. Alternatively, pass `embedding`.
        embedding: The provider's embedding model that the collection was filled with: its name as
            litellm names it, or an embedder.
        path: The folder of a local database.
        url: The URL of a server; exactly one of the two must be given.
        api_key: The server's key.
        text_key: The payload key of the text. Points without text are not returned.
        query_prefix: A prefix that the model needs before a query.
        tenant_key: The payload key of the tenant. If set, a request finds only its own tenant's
            documents, and must have a tenant.
        filter: The payload that a point must have to be found: for each key a value, or a list of
            which any matches. Numbers match numbers, and texts match the same text.

    Raises:
        ConfigurationError: Not exactly one of `path` and `url` is given, or of `model` and
            `embedding`; or the URL or the key cannot be used, or the filter has no values for a
            key.
        MissingDependencyError: A package that it needs is not installed.
    """

    def __init__(
        self,
        collection: str,
        *,
        model: str | Mapping[str, Any] | ModelConfig | None = None,
        embedding: str | LiteLLMEmbedder | None = None,
        path: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        text_key: str = "text",
        query_prefix: str = "",
        tenant_key: str | None = None,
        filter: Mapping[str, MetadataValue | Sequence[MetadataValue]] | None = None,  # noqa: A002 - its name in policies
    ) -> None:
        require_optional(
            "qdrant_client",
            package="qdrant-client",
            extra="qdrant",
            purpose="the retriever 'qdrant'",
        )
        self._collection = collection
        self._store = store_at(path, url, api_key)
        self._model_name, self._model = _embedding_model(model, embedding)
        self._text_key = text_key
        self._query_prefix = query_prefix
        self._tenant_key = tenant_key
        self._filter = {key: _values(key, value) for key, value in (filter or {}).items()}
        self._vector_name: str | None = None
        self._is_checked = False

    def __repr__(self) -> str:
        return f"QdrantRetriever({self._collection!r})"

    async def prepare(self) -> None:
        """Load the model, and check that the collection exists and matches it.

        Raises:
            ConfigurationError: The model or the collection is not available, or they do not match.
            ResayError: A server does not answer.
        """
        await self._model.prepare()
        await self._check()

    async def retrieve(
        self, query: str, *, k: int, tenant: str | None = None
    ) -> Sequence[Document]:
        """Find documents.

        Args:
            query: The query in natural language.
            k: The maximum number of documents, at least 1.
            tenant: The tenant whose documents to search, if there is a `tenant_key`.

        Returns:
            The documents, best first. The id is the document's if `add` added it, else the point's.
            The score is Qdrant's: the cosine for collections created by `add`.

        Raises:
            ConfigurationError: The collection is not available, its points have no text, or the
                tenant is missing.
            ResayError: The search failed.
        """
        await self._check()
        (vector,) = await self._embed([self._query_prefix + query])
        answer = await self._store.ask(
            "query_points",
            collection_name=self._collection,
            query=vector,
            using=self._vector_name,
            query_filter=self._conditions(tenant),
            limit=k,
            with_payload=True,
        )
        points: list[Any] = answer.points
        documents = list(filter(None, map(self._document, points)))
        if points and not documents:
            raise ConfigurationError(
                f"none of the points found in the collection {self._collection!r} has a text under"
                f" {self._text_key!r}; name its key as `text_key`"
            )
        return documents

    def _conditions(self, tenant: str | None) -> Any:
        models = _models()
        must = [_any_of(models, key, values) for key, values in self._filter.items()]
        if self._tenant_key is not None:
            if tenant is None:
                raise ConfigurationError(
                    f"the collection {self._collection!r} has documents of several tenants, and the"
                    " request names none; pass `tenant`"
                )
            must.append(_any_of(models, self._tenant_key, (tenant,)))
        return models.Filter(must=must) if must else None

    async def add(self, documents: Iterable[Document], *, prefix: str = "") -> None:
        """Add documents to the collection, which is created if it does not exist.

        A document replaces one with the same id. Empty documents are skipped. The title is embedded
        with the text, since a section seldom says what its page is about.

        Args:
            documents: Any number of documents; their metadata must be JSON. Their scores are not
                stored.
            prefix: A prefix that the model needs before a document, such as `passage: `.

        Raises:
            ConfigurationError: The model or the collection is not available, or they do not match;
                or a metadata key is reserved, such as that of the text.
            ResayError: A document could not be added. Earlier ones may have been.
        """
        if not await self._store.has(self._collection):
            await self._create()
        await self._check()
        nonempty = (document for document in documents if document.text.strip())
        while batch := list(islice(nonempty, _BATCH_SIZE)):
            vectors = await self._embed([prefix + _with_title(document) for document in batch])
            points = [self._point(*item) for item in zip(batch, vectors, strict=True)]
            await self._store.ask(
                "upsert", collection_name=self._collection, points=points, wait=True
            )

    async def aclose(self) -> None:
        """Close the folder, or the connections of the running event loop.

        The next search opens them again. They are also closed for all other users in the process.
        """
        await self._store.aclose()

    async def _check(self) -> None:
        if self._is_checked:
            return
        if not await self._store.has(self._collection):
            raise ConfigurationError(
                f"there is no collection {self._collection!r} in Qdrant; fill it with"
                " `QdrantRetriever.add`, or check `collection`"
            )
        info = await self._store.ask("get_collection", collection_name=self._collection)
        name, size = self._single_vector(info.config.params.vectors)
        expected = await self._size()
        if size != expected:
            raise ConfigurationError(
                f"the collection {self._collection!r} has vectors of {size} numbers, and the model"
                f" {self._model_name!r} makes {expected}; name the model it was filled with"
            )
        self._vector_name = name
        self._is_checked = True

    def _single_vector(self, vectors: Any) -> tuple[str | None, int]:
        """Return the name of a collection's vectors, or None, and their size."""
        if not isinstance(vectors, Mapping):
            return None, getattr(vectors, "size", 0)
        named = cast("Mapping[str, Any]", vectors)
        if len(named) != 1:
            raise ConfigurationError(
                f"each point of the collection {self._collection!r} has several vectors"
                f" ({', '.join(map(repr, sorted(named)))}); use a collection with one"
            )
        ((name, params),) = named.items()
        return name, params.size

    async def _create(self) -> None:
        size = await self._size()
        models = _models()
        cosine = models.VectorParams(size=size, distance=models.Distance.COSINE)
        await self._store.ask(
            "create_collection", collection_name=self._collection, vectors_config=cosine
        )

    async def _size(self) -> int:
        (vector,) = await self._embed(["size"])
        return len(vector)

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        rows = await self._model.embed(texts)
        return rows if isinstance(rows, list) else rows.tolist()

    def _point(self, document: Document, vector: list[float]) -> Any:
        for key in (self._text_key, _ID):
            if key in document.metadata:
                raise ConfigurationError(
                    f"the document {document.id!r} has metadata under {key!r}, which is reserved;"
                    " rename it"
                )
        payload = {**document.metadata, self._text_key: document.text, _ID: document.id}
        vectors = vector if self._vector_name is None else {self._vector_name: vector}
        point_id = str(uuid5(NAMESPACE_URL, document.id))
        return _models().PointStruct(id=point_id, vector=vectors, payload=payload)

    def _document(self, point: Any) -> Document | None:
        payload: dict[str, Any] = dict(point.payload or {})
        text = payload.pop(self._text_key, None)
        document_id = payload.pop(_ID, point.id)
        if not isinstance(text, str) or not text.strip():
            return None
        return Document(id=str(document_id), text=text, score=point.score, metadata=payload)


def _embedding_model(
    model: str | Mapping[str, Any] | ModelConfig | None, embedding: str | LiteLLMEmbedder | None
) -> tuple[str, SentenceEmbedder | LiteLLMEmbedder]:
    """Return the embedding model's name for messages, and the model."""
    if model is not None and embedding is None:
        config = config_of(model)
        return config.display_name, sentence_embedder(config)
    if embedding is not None and model is None:
        embedder = LiteLLMEmbedder(embedding) if isinstance(embedding, str) else embedding
        return embedder.model, embedder
    raise ConfigurationError("pass either `model` or `embedding`, not both or neither")


def _values(key: str, value: MetadataValue | Sequence[MetadataValue]) -> tuple[MetadataValue, ...]:
    values = (value,) if isinstance(value, (str, bool, int, float)) else tuple(value)
    if not values:
        # In Qdrant, everything meets a condition without values.
        raise ConfigurationError(f"`filter` has no values for {key!r}; add some, or remove the key")
    return values


def _any_of(models: Any, key: str, values: Sequence[MetadataValue]) -> Any:
    """Return the condition that a payload has any of some values under a key."""
    conditions = [_equals(models, key, value) for value in values]
    return conditions[0] if len(conditions) == 1 else models.Filter(should=conditions)


def _equals(models: Any, key: str, value: MetadataValue) -> Any:
    # Qdrant matches floats by range only.
    if isinstance(value, float):
        return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _models() -> Any:
    return load_client("qdrant_client.models")


def _with_title(document: Document) -> str:
    return document.text if document.title == document.id else f"{document.title}\n{document.text}"
