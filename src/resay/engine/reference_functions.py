"""Functions of an application's own that say what a request is to be answered from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import anyio.to_thread

from resay._internal.importing import import_named, is_async, is_import_path
from resay.core.query import Query
from resay.core.references import Reference, own_reference
from resay.errors import ConfigurationError

# What is found may be made one by one; nobody reads more.
_MOST = 1_000


class ReferenceFunction:
    """A function that a policy names in `references.from`.

    Args:
        path: Where it is, `package.module:function`.

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
            pass  # Some functions written in C do not say what they take.
        self._function = cast("Callable[[Mapping[str, Any]], Any]", found)

    async def find(self, query: Query) -> Sequence[Reference]:
        """Ask it, in a thread of its own unless it is asynchronous.

        Args:
            query: What is asked. The function gets a copy of what the client sent.

        Raises:
            TypeError: It returns something else than texts and mappings with a text.
            Exception: Whatever it raises.
        """
        asked = _copied(query.request)
        if is_async(self._function):
            found: Any = await self._function(asked)
        else:
            call = partial(_listed, self._function, asked)
            # Abandoned, so that a function that hangs does not hold up a deadline.
            found = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            found = await found if inspect.isawaitable(found) else found
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
            raise TypeError("a list of texts or documents was expected")
        items = list(cast("Iterable[object]", found))[:_MOST]
        if not all(isinstance(item, (str, Mapping)) for item in items):
            raise TypeError("texts, or mappings with a `text`, were expected")
        made = (own_reference(item, f"{self.path}[{i}]") for i, item in enumerate(items))
        return [reference for reference in made if reference is not None]


def reference_functions(places: Iterable[str]) -> tuple[ReferenceFunction, ...]:
    """Return the functions among the places that references are taken from.

    Raises:
        ConfigurationError: One cannot be imported, or not be called with a request.
    """
    return tuple(ReferenceFunction(place) for place in places if is_import_path(place))


def _listed(function: Callable[[Mapping[str, Any]], Any], asked: Mapping[str, Any]) -> Any:
    found = function(asked)
    # What is made one by one is made here, where it holds up nobody.
    return list(found) if inspect.isgenerator(found) else found


def _copied(value: Any) -> Any:
    """Return what a function may change without changing the request."""
    if isinstance(value, Mapping):
        return {k: _copied(item) for k, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in cast("Sequence[Any]", value)]
    return value
