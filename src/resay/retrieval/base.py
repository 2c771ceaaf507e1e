"""The protocols that retrievers implement."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from resay.core.documents import Document

MetadataValue: TypeAlias = str | bool | int | float
"""A metadata value to filter by."""


def id_of(text: str) -> str:
    """Return an id for a text, derived from its hash."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@runtime_checkable
class Retriever(Protocol):
    """Finds trusted text. It must support concurrent requests.

    If `retrieve` also takes a keyword `tenant`, it receives the tenant of the request or None, for
    collections with documents that not everybody may see.
    """

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        """Find documents.

        Args:
            query: The query in natural language.
            k: The maximum number of documents, at least 1.

        Returns:
            The best matches, best first; empty if nothing matches.

        Raises:
            Exception: The search failed; the caller continues without it.
        """
        ...


@runtime_checkable
class PreparesRetrieval(Protocol):
    """A retriever with something to open or load before its first use."""

    async def prepare(self) -> None:
        """Do the work that the first search would otherwise wait for.

        Raises:
            ConfigurationError: The retriever does not work as configured.
        """
        ...
