"""Documents that are found by a retriever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of trusted text, small enough for a model to read several at once.

    Attributes:
        id: Its unique id in its retriever: `guide.md#3`, a URL, a key. Appears in verdicts,
            including those stored without content.
        text: The text.
        score: Its relevance to the search, in the retriever's own units; None if unknown. Only the
            order of documents is relied on.
        metadata: Anything else about it; `title` and `url` are shown if present.
    """

    id: str
    text: str = field(repr=False)
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def title(self) -> str:
        """Its display name: its title, or else its id."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) and title.strip() else self.id


# Where frameworks write the name of the text that a document is from.
_NAME_KEYS = ("title", "file_name", "filename", "source", "file_path", "url")


def named_text(text: str, metadata: Mapping[str, Any]) -> Document | str:
    """Return a framework's text as a document if its metadata name it, or else the text alone.

    Args:
        text: The text.
        metadata: Its metadata, as LangChain, LlamaIndex and Haystack write them.
    """
    for key in _NAME_KEYS:
        name = metadata.get(key)
        if isinstance(name, str) and name.strip():
            return Document(name, text)
    return text
