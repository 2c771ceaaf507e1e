"""Adapt the application's functions and objects to find documents and references."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, cast

import anyio.to_thread

from resay._internal.construction import create, load_plugin
from resay._internal.importing import import_named, import_path_of, is_async, is_import_path
from resay._internal.nesting import marked
from resay.core.check_context import CheckContext
from resay.core.documents import Document
from resay.core.references import Reference, own_reference
from resay.errors import ConfigurationError
from resay.retrieval.base import PreparesRetrieval, id_of

_Search = Callable[[str, int, str | None], Awaitable[Any]]


def as_retriever(source: object) -> AdaptedRetriever:
    """Make a retriever of an object or a function that finds documents.

    Args:
        source: An object with `retrieve(query, *, k)`, or a function that takes the query and
            optionally `k`. If it takes `tenant`, it receives the tenant of the request or None.
            Either may be asynchronous; synchronous code runs in a thread. It returns texts,
            `Document`s, or mappings with `text` and optionally `id`, `score` and `metadata`; other
            keys count as metadata too.

    Returns:
        A retriever that returns at most k documents, without empty ones. A document without an id
        gets one derived from its text. Its `retrieve` raises any error of the function, and
        TypeError for an invalid result. Guards inside the function are inactive.

    Raises:
        ConfigurationError: `source` is neither.
    """
    return _adapt(source, import_path_of(source))


def import_retriever(
    name: str, settings: Mapping[str, object] | None = None, *, where: str = ""
) -> AdaptedRetriever:
    """Import an object or a function, and make a retriever of it.

    Args:
        name: The import path, `package.module:name`, of an argument for `as_retriever`; or the
            name of an entry point in the group `resay.retrievers`. A class is created.
        settings: The arguments of the class.
        where: Where the policy names it, for the error.

    Raises:
        ConfigurationError: It cannot be imported or created, or cannot be used as a retriever.
    """
    plugin = load_plugin("resay.retrievers", name)
    if isinstance(plugin, type):
        what = f"the retriever {name!r}"
        plugin = create(plugin, settings or {}, f"{where}: {what}" if where else what)
    return _adapt(plugin, name)


def _adapt(source: object, name: str) -> AdaptedRetriever:
    if isinstance(source, AdaptedRetriever):
        return source
    if isinstance(source, type):
        raise ConfigurationError(f"{name!r} is a class; name an object of it, or a function")
    retrieve = getattr(source, "retrieve", None)
    if callable(retrieve):
        return AdaptedRetriever(_call_object(retrieve, name), name, source)
    if not callable(source):
        raise ConfigurationError(
            f"{name!r} is of the type {type(source).__name__!r}; name a function, or an object with"
            " `retrieve(query, *, k)`. What LangChain and LlamaIndex retrieve with goes through"
            " `as_retriever` of resay_langchain or resay_llamaindex"
        )
    return AdaptedRetriever(_call_function(source, name), name, source)


def _call_object(retrieve: Callable[..., Any], name: str) -> _Search:
    if not _can_be_called(retrieve, "", k=1):
        raise ConfigurationError(
            f"{name!r} has a `retrieve` that does not take `(query, *, k)`; for one of"
            " LlamaIndex's, use `as_retriever` of resay_llamaindex"
        )
    return _with_tenant(retrieve, retrieve, by_name=True)


def _call_function(function: Callable[..., Any], name: str) -> _Search:
    if _takes(function, "k") and _can_be_called(function, "", k=1):
        return _with_tenant(function, function, by_name=True)
    if _can_be_called(function, ""):
        return _with_tenant(function, _without_k(function))
    if _can_be_called(function, "", 1):
        return _with_tenant(function, function)
    raise ConfigurationError(
        f"{name!r} must take one argument, what to search for, and may take `k`, how many documents"
        " are wanted, and `tenant`"
    )


def _with_tenant(
    function: Callable[..., Any], search: Callable[..., Any], *, by_name: bool = False
) -> _Search:
    takes_tenant = _takes(function, "tenant")

    async def run(query: str, k: int, tenant: str | None) -> Any:
        options: dict[str, Any] = {"tenant": tenant} if takes_tenant else {}
        if by_name:
            return await _call(function, partial(search, query, k=k, **options))
        return await _call(function, partial(search, query, k, **options))

    return run


async def _call(function: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """Call a function, in a thread unless it is asynchronous, and return its result."""
    if is_async(function):
        result = call()
    else:
        # Abandoned on cancellation, so that a function that hangs cannot delay a deadline.
        result = await anyio.to_thread.run_sync(_listed, call, abandon_on_cancel=True)
    return await result if inspect.isawaitable(result) else result


def _without_k(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(query: str, _k: int, **options: Any) -> Any:
        return function(query, **options)

    return call


def _listed(call: Callable[[], Any]) -> Any:
    result = call()
    # Run generators here, in the thread, where they do not block the event loop.
    return list(cast("Iterator[Any]", result)) if inspect.isgenerator(result) else result


def _can_be_called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    options = {"tenant": None} if _takes(function, "tenant") else {}
    try:
        inspect.signature(function).bind(*args, **kwargs, **options)
    except TypeError:
        return False
    except ValueError:
        pass  # Some functions written in C have no signature.
    return True


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except ValueError:
        return False


class AdaptedRetriever:
    """A retriever around the application's code; created by `as_retriever`."""

    def __init__(self, search: _Search, name: str, source: object) -> None:
        self._search = search
        self._name = name
        self._source = source

    def __repr__(self) -> str:
        return f"as_retriever({self._name!r})"

    async def prepare(self) -> None:
        """Prepare the wrapped object, if it can be prepared."""
        if isinstance(self._source, PreparesRetrieval):
            await self._source.prepare()

    async def retrieve(
        self, query: str, *, k: int, tenant: str | None = None
    ) -> Sequence[Document]:
        """Find documents; see `Retriever`."""
        # It may call guarded models, which would retrieve documents again.
        with marked():
            results: object = await self._search(query, k, tenant)
        if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
            raise TypeError(
                f"{self._name!r} returned {_kind(cast('object', results))}; return a list of texts"
                " or documents"
            )
        documents = [self._document(item) for item in cast("Iterable[object]", results)]
        return [document for document in documents if document.text.strip()][:k]

    def _document(self, item: object) -> Document:
        if isinstance(item, str):
            return Document(id_of(item), item)
        if isinstance(item, Document):
            fields = {"id": item.id, "text": item.text, "score": item.score}
            return self._read({**fields, "metadata": item.metadata})
        if isinstance(item, Mapping):
            return self._read(dict(cast("Mapping[str, Any]", item)))
        raise TypeError(
            f"{self._name!r} returned {_kind(item)} among its results; return texts, documents, or"
            " mappings with `text`"
        )

    def _read(self, item: dict[str, Any]) -> Document:
        text = item.pop("text", None)
        document_id = item.pop("id", None)
        score = item.pop("score", None)
        metadata: Any = item.pop("metadata", None) or {}
        if not isinstance(text, str):
            raise self._wrong("text", text)
        if score is not None and not isinstance(score, Real):
            raise self._wrong("score", score)
        if not isinstance(metadata, Mapping):
            raise self._wrong("metadata", metadata)
        return Document(
            id=id_of(text) if document_id in (None, "") else str(document_id),
            text=text,
            score=float(score) if score is not None and math.isfinite(score) else None,
            metadata={**item, **cast("Mapping[str, Any]", metadata)},
        )

    def _wrong(self, key: str, value: object) -> TypeError:
        return TypeError(f"{self._name!r} returned a document with {_kind(value)} as its {key!r}")


def _kind(value: object) -> str:
    return f"something of the type {type(value).__module__}.{type(value).__qualname__}"


# The maximum number of references taken from a function.
_MAX_REFERENCES = 1_000


class ReferenceFunction:
    """A function that a policy names in `references.from`.

    Args:
        path: The import path, `package.module:function`.

    Raises:
        ConfigurationError: There is no such function, or it does not take one argument.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        function: Any = import_named(path)
        if not callable(function):
            raise ConfigurationError(f"{path!r} is not a function; name one")
        try:
            inspect.signature(function).bind({})
        except TypeError as error:
            raise ConfigurationError(
                f"{path!r} must take one argument, the request as a mapping"
            ) from error
        except ValueError:
            pass  # Some functions written in C have no signature.
        self._function = cast("Callable[[Mapping[str, Any]], Any]", function)

    async def find(self, context: CheckContext) -> Sequence[Reference]:
        """Call the function, in a thread unless it is asynchronous.

        Args:
            context: The context. The function receives a copy of the client's request.

        Raises:
            TypeError: The function returns anything but texts and mappings with a text.
            Exception: Any error of the function.
        """
        results = await _call(
            self._function, partial(self._function, _deep_copy(context.client_request))
        )
        if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
            raise TypeError("a list of texts or documents was expected")
        items = list(cast("Iterable[object]", results))[:_MAX_REFERENCES]
        if not all(isinstance(item, (str, Mapping)) for item in items):
            raise TypeError("texts, or mappings with a `text`, were expected")
        references = (own_reference(item, f"{self.path}[{i}]") for i, item in enumerate(items))
        return [reference for reference in references if reference is not None]


def reference_functions(sources: Iterable[str]) -> tuple[ReferenceFunction, ...]:
    """Return the functions among the sources of references.

    Raises:
        ConfigurationError: A function cannot be imported, or cannot be called with a request.
    """
    return tuple(ReferenceFunction(source) for source in sources if is_import_path(source))


def _deep_copy(value: Any) -> Any:
    """Return a deep copy of a request's mappings and lists, which a function may modify."""
    if isinstance(value, Mapping):
        return {k: _deep_copy(item) for k, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_deep_copy(item) for item in cast("Sequence[Any]", value)]
    return value
