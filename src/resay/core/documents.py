"""What a retriever finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Document"]


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of trusted text, small enough to be read by a model beside others.

    Attributes:
        id: What tells it from all others of its retriever: `guide.md#3`, a URL, a key. It stands in
            verdicts, also where those are kept without content.
        text: The text.
        score: How well it fits the search, in the retriever's own units; None where it does not
            say. Only the order in which documents come is relied on.
        metadata: Whatever else is known of it; `title` and `url` are shown where they are.
    """

    id: str
    text: str = field(repr=False)
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def title(self) -> str:
        """What to call it: its title, or else its id."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) and title.strip() else self.id
