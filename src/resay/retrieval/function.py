"""Adapt the application's functions and objects to find documents and references."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, cast

import anyio.to_thread

from resay._internal.importing import import_named, import_path_of, is_async, is_import_path
from resay._internal.nesting import marked
from resay.core.query import Query
from resay.core.references import Document, Reference, own_reference
from resay.errors import ConfigurationError
from resay.retrieval.base import PreparesRetrieval, id_of

_Ask = Callable[[str, int, str | None], Awaitable[Any]]


def as_retriever(found: object) -> AdaptedRetriever:
    """Make a retriever of an object or a function that finds documents.

    Args:
        found: An object with `retrieve(query, *, k)`, or a function that takes the query and
            optionally `k`. If it takes `tenant`, it receives the tenant of the request or None.
            Either may be asynchronous; synchronous code runs in a thread. It returns texts,
            `Document`s, or mappings with `text` and optionally `id`, `score` and `metadata`; other
            keys count as metadata too.

    Returns:
        A retriever that returns at most k documents, without empty ones. A document without an id
        gets one derived from its text. Its `retrieve` raises any error of the function, and
        TypeError for an invalid result. Guards inside the function are inactive.

    Raises:
        ConfigurationError: `found` is neither.
    """
    return _made(found, import_path_of(found))


def find_retriever(name: str) -> AdaptedRetriever:
    """Import an object or a function, and make a retriever of it.

    Args:
        name: The import path, `package.module:name`, of an argument for `as_retriever`.

    Raises:
        ConfigurationError: It cannot be imported, or cannot be used as a retriever.
    """
    return _made(import_named(name), name)


def _made(found: object, name: str) -> AdaptedRetriever:
    if isinstance(found, AdaptedRetriever):
        return found
    if isinstance(found, type):
        raise ConfigurationError(f"{name!r} is a class; name an object of it, or a function")
    retrieve = getattr(found, "retrieve", None)
    if callable(retrieve):
        return AdaptedRetriever(_asking_object(retrieve, name), name, found)
    if not callable(found):
        raise ConfigurationError(
            f"{name!r} is of the type {type(found).__name__!r}; name a function, or an object with"
            " `retrieve(query, *, k)`. What LangChain and LlamaIndex retrieve with goes through"
            " `as_retriever` of resay_langchain or resay_llamaindex"
        )
    return AdaptedRetriever(_asking(found, name), name, found)


def _asking_object(retrieve: Callable[..., Any], name: str) -> _Ask:
    if not _can_be_called(retrieve, "", k=1):
        raise ConfigurationError(
            f"{name!r} has a `retrieve` that does not take `(query, *, k)`; for one of"
            " LlamaIndex's, use `as_retriever` of resay_llamaindex"
        )
    return _calling(retrieve, retrieve, by_name=True)


def _asking(function: Callable[..., Any], name: str) -> _Ask:
    if _takes(function, "k") and _can_be_called(function, "", k=1):
        return _calling(function, function, by_name=True)
    if _can_be_called(function, ""):
        return _calling(function, _without_k(function))
    if _can_be_called(function, "", 1):
        return _calling(function, function)
    raise ConfigurationError(
        f"{name!r} must take one argument, what to search for, and may take `k`, how many documents"
        " are wanted, and `tenant`"
    )


def _calling(
    function: Callable[..., Any], ask: Callable[..., Any], *, by_name: bool = False
) -> _Ask:
    separates = _takes(function, "tenant")

    async def asking(query: str, k: int, tenant: str | None) -> Any:
        further: dict[str, Any] = {"tenant": tenant} if separates else {}
        call = partial(ask, query, k=k, **further) if by_name else partial(ask, query, k, **further)
        return await _found(function, call)

    return asking


async def _found(function: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """Call a function, in a thread unless it is asynchronous, and return its result."""
    if is_async(function):
        found = call()
    else:
        # Abandoned on cancellation, so that a function that hangs cannot delay a deadline.
        found = await anyio.to_thread.run_sync(_listed, call, abandon_on_cancel=True)
    return await found if inspect.isawaitable(found) else found


def _without_k(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(query: str, _k: int, **further: Any) -> Any:
        return function(query, **further)

    return call


def _listed(call: Callable[[], Any]) -> Any:
    found = call()
    # Run generators here, in the thread, where they do not block the event loop.
    return list(cast("Iterator[Any]", found)) if inspect.isgenerator(found) else found


def _can_be_called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    further = {"tenant": None} if _takes(function, "tenant") else {}
    try:
        inspect.signature(function).bind(*args, **kwargs, **further)
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

    def __init__(self, ask: _Ask, name: str, found: object) -> None:
        self._ask = ask
        self._name = name
        self._found = found

    def __repr__(self) -> str:
        return f"as_retriever({self._name!r})"

    async def prepare(self) -> None:
        """Prepare the wrapped object, if it can be prepared."""
        if isinstance(self._found, PreparesRetrieval):
            await self._found.prepare()

    async def retrieve(
        self, query: str, *, k: int, tenant: str | None = None
    ) -> Sequence[Document]:
        """Find documents; see `Retriever`."""
        # It may call guarded models, which would retrieve documents again.
        with marked():
            found: object = await self._ask(query, k, tenant)
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
            raise TypeError(
                f"{self._name!r} returned {_kind(cast('object', found))}; return a list of texts or"
                " documents"
            )
        documents = [self._document(item) for item in cast("Iterable[object]", found)]
        return [document for document in documents if document.text.strip()][:k]

    def _document(self, item: object) -> Document:
        if isinstance(item, str):
            return Document(id_of(item), item)
        if isinstance(item, Document):
            found = {"id": item.id, "text": item.text, "score": item.score}
            return self._read({**found, "metadata": item.metadata})
        if isinstance(item, Mapping):
            return self._read(dict(cast("Mapping[str, Any]", item)))
        raise TypeError(
            f"{self._name!r} returned {_kind(item)} among what it found; return texts, documents,"
            " or mappings with `text`"
        )

    def _read(self, item: dict[str, Any]) -> Document:
        text, made, score = item.pop("text", None), item.pop("id", None), item.pop("score", None)
        metadata: Any = item.pop("metadata", None) or {}
        if not isinstance(text, str):
            raise self._wrong("text", text)
        if score is not None and not isinstance(score, Real):
            raise self._wrong("score", score)
        if not isinstance(metadata, Mapping):
            raise self._wrong("metadata", metadata)
        return Document(
            id_of(text) if made in (None, "") else str(made),
            text,
            float(score) if score is not None and math.isfinite(score) else None,
            {**item, **cast("Mapping[str, Any]", metadata)},
        )

    def _wrong(self, key: str, value: object) -> TypeError:
        return TypeError(f"{self._name!r} returned a document with {_kind(value)} as its {key!r}")


def _kind(value: object) -> str:
    return f"something of the type {type(value).__module__}.{type(value).__qualname__}"


# The maximum number of references taken from a function.
_MOST = 1_000


class ReferenceFunction:
    """A function that a policy names in `references.from`.

    Args:
        path: The import path, `package.module:function`.

    Raises:
        ConfigurationError: There is no such function, or it does not take one argument.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        found: Any = import_named(path)
        if not callable(found):
            raise ConfigurationError(f"{path!r} is not a function; name one")
        try:
            inspect.signature(found).bind({})
        except TypeError as error:
            raise ConfigurationError(
                f"{path!r} must take one argument, the request as a mapping"
            ) from error
        except ValueError:
            pass  # Some functions written in C have no signature.
        self._function = cast("Callable[[Mapping[str, Any]], Any]", found)

    async def find(self, query: Query) -> Sequence[Reference]:
        """Call the function, in a thread unless it is asynchronous.

        Args:
            query: The query. The function receives a copy of the client's request.

        Raises:
            TypeError: The function returns anything but texts and mappings with a text.
            Exception: Any error of the function.
        """
        found = await _found(self._function, partial(self._function, _copied(query.request)))
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
            raise TypeError("a list of texts or documents was expected")
        items = list(cast("Iterable[object]", found))[:_MOST]
        if not all(isinstance(item, (str, Mapping)) for item in items):
            raise TypeError("texts, or mappings with a `text`, were expected")
        made = (own_reference(item, f"{self.path}[{i}]") for i, item in enumerate(items))
        return [reference for reference in made if reference is not None]


def reference_functions(places: Iterable[str]) -> tuple[ReferenceFunction, ...]:
    """Return the functions among the sources of references.

    Raises:
        ConfigurationError: A function cannot be imported, or cannot be called with a request.
    """
    return tuple(ReferenceFunction(place) for place in places if is_import_path(place))


def _copied(value: Any) -> Any:
    """Return a deep copy of a request's mappings and lists, which a function may modify."""
    if isinstance(value, Mapping):
        return {k: _copied(item) for k, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in cast("Sequence[Any]", value)]
    return value
