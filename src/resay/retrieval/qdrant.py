"""A retriever that searches the vector database Qdrant by meaning."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import anyio.to_thread
import httpx

from resay._internal.event_loops import PerLoop
from resay._internal.importing import load_optional, require_optional
from resay.core.references import Document
from resay.errors import ConfigurationError, ResayError
from resay.models import ModelConfig, SentenceEmbedder, config_of, sentence_embedder
from resay.providers import LiteLLMEmbedder
from resay.retrieval.base import MetadataValue

# Callers limit the time of searches themselves; this is the limit for everything else.
_PATIENCE_S = 60
_FIXES = {
    401: "check `api_key`",
    403: "check `api_key`",
    404: "check `url` and `collection`",
}


class Store(Protocol):
    """A database with collections. It may be used from any thread and event loop."""

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of Qdrant's client.

        Raises:
            ConfigurationError: The database or the key cannot be used.
            ResayError: Any other failure. Qdrant's message is left out, since it may repeat the
                request.
        """
        ...

    async def has(self, collection: str) -> bool:
        """Return whether a collection exists; raise the same errors as `ask`."""
        ...

    async def aclose(self) -> None:
        """Close the database; the next call opens it again."""
        ...


def store_at(path: str | None, url: str | None, api_key: str | None) -> Store:
    """Return the database at a path or URL, the same one for the same arguments.

    Args:
        path: The folder of a local database.
        url: The URL of a server; exactly one of the two must be given.
        api_key: The server's key.

    Raises:
        ConfigurationError: Neither or both are given, or the one given cannot be used.
    """
    if path is not None and url is None:
        return _folder(Path(path).resolve())
    if url is not None and path is None:
        return _server(url, api_key)
    raise ConfigurationError("set either `path` (a folder) or `url` (a server)")


# A folder can be opened only once, so the process shares one client, whose methods block.
class _Folder:
    """A local database, opened on first use, and closed when the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._client: Any = None
        self._pid: int | None = None

    async def ask(self, method: str, **arguments: Any) -> Any:
        # Abandoned on cancellation, since the thread may have to wait for the lock.
        return await anyio.to_thread.run_sync(
            partial(self._ask, method, **arguments), abandon_on_cancel=True
        )

    async def has(self, collection: str) -> bool:
        # Opening would create the folder.
        if not self._path.is_dir():
            return False
        return await self.ask("collection_exists", collection_name=collection)

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self._close)

    def _ask(self, method: str, **arguments: Any) -> Any:
        if self._forked():
            raise self._in_use()
        with self._lock:
            if self._client is None:
                self._client, self._pid = self._open(), os.getpid()
            try:
                return getattr(self._client, method)(**arguments)
            except Exception as error:
                name = type(error).__name__
        raise ResayError(f"Qdrant failed in {str(self._path)!r} at {method} ({name})")

    def _open(self) -> Any:
        if self._is_locked():
            raise self._in_use()
        client = _client_module().QdrantClient
        try:
            opened = client(path=str(self._path), force_disable_check_same_thread=True)
        except Exception as error:
            raise ConfigurationError(
                f"the Qdrant folder {str(self._path)!r} cannot be opened ({type(error).__name__});"
                " see that it is one, and that this process may write to it"
            ) from error
        # Earlier than by the client's finalizer, which leaves files open.
        atexit.register(self._close)
        return opened

    # Qdrant checks the lock too, but leaves the lock file open if it fails.
    def _is_locked(self) -> bool:
        lock = self._path / ".lock"
        if not lock.is_file():
            return False
        portalocker = _load("portalocker")
        with lock.open("r+b") as file:
            try:
                flags = portalocker.LockFlags
                portalocker.lock(file, flags.EXCLUSIVE | flags.NON_BLOCKING)
            except portalocker.LockException:
                return True
            portalocker.unlock(file)
        return False

    def _close(self) -> None:
        if self._forked():
            return
        with self._lock:
            client, self._client = self._client, None
        atexit.unregister(self._close)
        if client is not None:
            client.close()

    # A forked process has a copy of the client, and must not use or unlock its parent's database.
    def _forked(self) -> bool:
        return self._client is not None and self._pid != os.getpid()

    def _in_use(self) -> ConfigurationError:
        return ConfigurationError(
            f"the Qdrant folder {str(self._path)!r} is open already, in another process or by"
            " another client, and can be open once; run a Qdrant server and give its `url`"
        )


class _Server:
    """A server, with a client per event loop, closed when the loop shuts down."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._url = _checked(url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise ConfigurationError(
                "`api_key` has characters in it that no HTTP header can hold; check where it comes"
                " from"
            )
        self._api_key = api_key
        self._clients: PerLoop[Any] = PerLoop(self._connect, _disconnect)

    async def ask(self, method: str, **arguments: Any) -> Any:
        if "qdrant_client" not in sys.modules:
            # In a thread, because the import would block the event loop for too long.
            await anyio.to_thread.run_sync(_client_module)
        client = await self._clients.get()
        try:
            return await getattr(client, method)(**arguments)
        except Exception as error:
            failure = _failure(error, method)
        # Without its cause, which contains the address and the request.
        raise failure

    async def has(self, collection: str) -> bool:
        return await self.ask("collection_exists", collection_name=collection)

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _connect(self) -> Any:
        return _client_module().AsyncQdrantClient(
            url=self._url,
            api_key=self._api_key,
            timeout=_PATIENCE_S,
            # The check would request the server's version in a thread, and print warnings.
            check_compatibility=False,
            # Loading certificates is slow, and plain HTTP needs none.
            verify=self._url.startswith("https:"),
        )


async def _disconnect(client: Any) -> None:
    await client.close()


# Shared by all retrievers: a folder permits only one client, and connections can be reused.
_folder = cache(_Folder)
_server = cache(_Server)


def _client_module() -> Any:
    return _load("qdrant_client")


def _load(module: str) -> Any:
    return load_optional(
        module, package="qdrant-client", extra="qdrant", purpose="the retriever 'qdrant'"
    )


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.geturl()  # with its scheme in lower case
    except ValueError:
        pass
    # Without the given URL, which may contain a password.
    raise ConfigurationError(
        "`url` is not the address of a server; give one like 'http://localhost:6333'"
    )


def _failure(error: Exception, method: str) -> ResayError:
    if isinstance(error, ResayError):
        return error
    status = getattr(error, "status_code", None)
    if status in _FIXES:
        return ConfigurationError(
            f"the Qdrant server answered {method} with HTTP {status}; {_FIXES[status]}"
        )
    if status is not None:
        return ResayError(
            f"the Qdrant server answered {method} with HTTP {status}; see the server's log"
        )
    cause = getattr(error, "source", error)
    if isinstance(cause, httpx.HTTPError):
        return ResayError(
            f"the Qdrant server cannot be reached ({type(cause).__name__}); see that it runs, and"
            " check `url`"
        )
    return ResayError(f"Qdrant failed at {method} ({type(cause).__name__})")


_PURPOSE = "the retriever 'qdrant'"
_ID = "resay_id"
"""The payload key of the document's id, since Qdrant's own ids must be UUIDs or numbers."""
_AT_ONCE = 64


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
        require_optional("qdrant_client", package="qdrant-client", extra="qdrant", purpose=_PURPOSE)
        self._collection = collection
        self._store = store_at(path, url, api_key)
        self._model_name, self._model = _embedding_model(model, embedding)
        self._text_key = text_key
        self._query_prefix = query_prefix
        self._tenant_key = tenant_key
        self._filter = {key: _listed(key, wanted) for key, wanted in (filter or {}).items()}
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
        (vector,) = await self._embedded([self._query_prefix + query])
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
        documents = [found for point in points if (found := self._document(point))]
        if points and not documents:
            raise ConfigurationError(
                f"no point that was found in the collection {self._collection!r} has a text under"
                f" {self._text_key!r}; name its key as `text_key`"
            )
        return documents

    def _conditions(self, tenant: str | None) -> Any:
        models = _models()
        must = [_any_of(models, key, wanted) for key, wanted in self._filter.items()]
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
            await self._make()
        await self._check()
        wanted = (document for document in documents if document.text.strip())
        while batch := list(islice(wanted, _AT_ONCE)):
            vectors = await self._embedded([prefix + _titled(document) for document in batch])
            points = [self._point(d, vector) for d, vector in zip(batch, vectors, strict=True)]
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


def _embedding_model(
    model: str | Mapping[str, Any] | ModelConfig | None, embedding: str | LiteLLMEmbedder | None
) -> tuple[str, SentenceEmbedder | LiteLLMEmbedder]:
    """Return the embedding model's name for messages, and the model."""
    if model is not None and embedding is None:
        config = config_of(model)
        return config.display_name, sentence_embedder(config)
    if embedding is not None and model is None:
        asked = LiteLLMEmbedder(embedding) if isinstance(embedding, str) else embedding
        return asked.model, asked
    raise ConfigurationError("give either `model` or `embedding`, one of a provider's")


def _listed(key: str, wanted: MetadataValue | Sequence[MetadataValue]) -> tuple[MetadataValue, ...]:
    values = (wanted,) if isinstance(wanted, (str, bool, int, float)) else tuple(wanted)
    if not values:
        # In Qdrant, everything meets a condition without values.
        raise ConfigurationError(f"`filter` has no values for {key!r}; give some, or leave it out")
    return values


def _any_of(models: Any, key: str, wanted: Sequence[MetadataValue]) -> Any:
    """Return the condition that a payload has any of some values under a key."""
    conditions = [_equals(models, key, value) for value in wanted]
    return conditions[0] if len(conditions) == 1 else models.Filter(should=conditions)


def _equals(models: Any, key: str, value: MetadataValue) -> Any:
    # Qdrant matches floats by range only.
    if isinstance(value, float):
        return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _models() -> Any:
    return load_optional(
        "qdrant_client.models", package="qdrant-client", extra="qdrant", purpose=_PURPOSE
    )


def _titled(document: Document) -> str:
    return document.text if document.title == document.id else f"{document.title}\n{document.text}"
