"""What a retriever is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, TypeGuard, get_args, runtime_checkable

from resay.core.references import Document

MetadataValue: TypeAlias = str | bool | int | float
"""A value that metadata may be searched for."""

Language: TypeAlias = Literal[
    "auto",
    "none",
    "ca",
    "da",
    "de",
    "el",
    "en",
    "es",
    "eu",
    "fi",
    "fr",
    "ga",
    "hu",
    "hy",
    "id",
    "it",
    "lt",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sr",
    "sv",
    "tr",
]
"""The language of a folder's texts: detected for each, none, or this one."""

LANGUAGES: tuple[str, ...] = tuple(one for one in get_args(Language) if len(one) == 2)
"""The languages whose inflected words can be found."""


def is_language(text: str) -> TypeGuard[Language]:
    """Return whether a text is one of them, auto or none."""
    return text in get_args(Language)


def id_of(text: str) -> str:
    """Return an id for a text: always the same one, and another for another text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@runtime_checkable
class Retriever(Protocol):
    """Finds trusted text. It may be used from any number of concurrent requests.

    Where `retrieve` takes a keyword `tenant` too, it is given on whose behalf the request is, or
    None: for collections with documents that not everybody may see.
    """

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find documents.

        Args:
            query: What to search for, in words.
            k: How many documents are wanted at the most, at least 1.

        Returns:
            The documents that fit best, best first; none where nothing fits.

        Raises:
            Exception: The search failed; whoever asked goes on without it.
        """
        ...


@runtime_checkable
class PreparesRetrieval(Protocol):
    """A retriever that has something to open or to read before its first use."""

    async def prepare(self) -> None:
        """Do what the first search would otherwise wait for.

        Raises:
            ConfigurationError: It cannot be had as configured.
        """
        ...
