"""Documents found by meaning, in the vector database Qdrant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from uuid import NAMESPACE_URL, uuid5

from resay._internal.optional import load_optional, require_optional
from resay.core.verdict import Document
from resay.errors import ConfigurationError
from resay.models import ModelConfig, config_of, sentence_embedder
from resay.retrieval.qdrant_stores import store_at

if TYPE_CHECKING:
    from resay.models.base import Floats

__all__ = ["QdrantRetriever"]

_PURPOSE = "the retriever 'qdrant'"
_ID = "resay_id"
"""Where the payload of a point keeps its document's id: Qdrant takes only UUIDs and numbers."""
_AT_ONCE = 64


class QdrantRetriever:
    """Finds the documents of a collection whose embeddings are most like the query's.

    The collection is in a folder, which one process at a time can open, or on a server. Everybody
    in the process who uses the same folder or server shares one client; for a server there is one
    for each event loop, closed when the loop shuts down.

    Args:
        collection: The collection.
        model: The embedding model it was filled with: a folder, a model on the Hugging Face hub, or
            its settings.
        path: The folder of a database without a server.
        url: The address of a server; one of the two is given.
        api_key: The server's key.
        text_key: Where the payload of a point has its text. A point without one is not found.
        query_prefix: What the model wants before a query.
        tenant_key: Where the payload of a point says whose it is. Only what is the request's
            tenant's is found then, and nothing without one.

    Raises:
        ConfigurationError: Neither a folder nor a server is given, or both are, or the address or
            the key cannot be used.
        MissingDependencyError: What it needs is not installed.
    """

    def __init__(
        self,
        collection: str,
        *,
        model: str | Mapping[str, Any] | ModelConfig,
        path: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        text_key: str = "text",
        query_prefix: str = "",
        tenant_key: str | None = None,
    ) -> None:
        require_optional("qdrant_client", package="qdrant-client", extra="qdrant", purpose=_PURPOSE)
        self._collection = collection
        self._store = store_at(path, url, api_key)
        config = config_of(model)
        self._model_name = config.called
        self._model = sentence_embedder(config)
        self._text_key = text_key
        self._query_prefix = query_prefix
        self._tenant_key = tenant_key
        self._vector_name: str | None = None
        self._is_checked = False

    def __repr__(self) -> str:
        return f"QdrantRetriever({self._collection!r})"

    async def prepare(self) -> None:
        """Load the model, and see that the collection is there and goes with it.

        Raises:
            ConfigurationError: The model or the collection cannot be had, or do not go together.
            ResayError: A server does not answer.
        """
        await self._model.prepare()
        await self._check()

    async def retrieve(
        self, query: str, *, k: int, tenant: str | None = None
    ) -> Sequence[Document]:
        """Find documents.

        Args:
            query: What to search for, in words.
            k: How many documents are wanted at the most, at least 1.
            tenant: Whose documents are searched, where there is a `tenant_key`.

        Returns:
            The documents, best first. The id is that of the document where `add` put it there, else
            the point's; the score is Qdrant's, for the collections that `add` makes the cosine.

        Raises:
            ConfigurationError: The collection cannot be had, its points have no text, or it is not
                said for which tenant of several to search.
            ResayError: The search failed.
        """
        await self._check()
        (vector,) = await self._embedded([self._query_prefix + query])
        answer = await self._store.ask(
            "query_points",
            collection_name=self._collection,
            query=vector,
            using=self._vector_name,
            query_filter=self._of_tenant(tenant),
            limit=k,
            with_payload=True,
        )
        points: list[Any] = answer.points
        documents = [found for point in points if (found := self._document(point))]
        if points and not documents:
            raise ConfigurationError(
                f"no point that was found in the collection {self._collection!r} has a text under"
                f" {self._text_key!r}; name its key as `text_key`"
            )
        return documents

    def _of_tenant(self, tenant: str | None) -> Any:
        if self._tenant_key is None:
            return None
        if tenant is None:
            raise ConfigurationError(
                f"the collection {self._collection!r} has documents of several tenants, and the"
                " request names none; pass `tenant`"
            )
        models = _models()
        match = models.MatchValue(value=tenant)
        return models.Filter(must=[models.FieldCondition(key=self._tenant_key, match=match)])

    async def add(self, documents: Iterable[Document], *, prefix: str = "") -> None:
        """Add documents to the collection, which is made where there is none.

        A document takes the place of one with the same id. Empty ones are left out.

        Args:
            documents: Any number of documents; their metadata must be JSON. Their scores are not
                kept.
            prefix: What the model wants before a text that is to be found: `passage: `, say.

        Raises:
            ConfigurationError: The model or the collection cannot be had, or do not go together; or
                metadata stands under the key of the text.
            ResayError: A document could not be added. Those before it may have been.
        """
        if not await self._store.has(self._collection):
            await self._make()
        await self._check()
        wanted = (document for document in documents if document.text.strip())
        while batch := list(islice(wanted, _AT_ONCE)):
            vectors = await self._embedded([prefix + document.text for document in batch])
            points = [self._point(d, vector) for d, vector in zip(batch, vectors, strict=True)]
            await self._store.ask(
                "upsert", collection_name=self._collection, points=points, wait=True
            )

    async def aclose(self) -> None:
        """Close the folder, or the connections of the running event loop.

        The next search opens them again. Others in the process who use the same ones lose them too,
        for as long.
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
        name, size = self._only(info.config.params.vectors)
        expected = await self._size()
        if size != expected:
            raise ConfigurationError(
                f"the collection {self._collection!r} has vectors of {size} numbers, and the model"
                f" {self._model_name!r} makes {expected}; name the model it was filled with"
            )
        self._vector_name = name
        self._is_checked = True

    def _only(self, vectors: Any) -> tuple[str | None, int]:
        """Return the name of a collection's vectors, None where they have none, and their size."""
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

    async def _make(self) -> None:
        size = await self._size()
        models = _models()
        cosine = models.VectorParams(size=size, distance=models.Distance.COSINE)
        await self._store.ask(
            "create_collection", collection_name=self._collection, vectors_config=cosine
        )

    async def _size(self) -> int:
        (vector,) = await self._embedded(["size"])
        return len(vector)

    async def _embedded(self, texts: Sequence[str]) -> list[list[float]]:
        rows: Floats = await self._model.embed(texts)
        return rows.tolist()

    def _point(self, document: Document, vector: list[float]) -> Any:
        for key in (self._text_key, _ID):
            if key in document.metadata:
                raise ConfigurationError(
                    f"the document {document.id!r} has metadata under {key!r}, which is taken; name"
                    " it otherwise"
                )
        payload = {**document.metadata, self._text_key: document.text, _ID: document.id}
        named = vector if self._vector_name is None else {self._vector_name: vector}
        made = str(uuid5(NAMESPACE_URL, document.id))
        return _models().PointStruct(id=made, vector=named, payload=payload)

    def _document(self, point: Any) -> Document | None:
        payload: dict[str, Any] = dict(point.payload or {})
        text = payload.pop(self._text_key, None)
        kept = payload.pop(_ID, point.id)
        if not isinstance(text, str) or not text.strip():
            return None
        return Document(str(kept), text, point.score, payload)


def _models() -> Any:
    return load_optional(
        "qdrant_client.models", package="qdrant-client", extra="qdrant", purpose=_PURPOSE
    )
