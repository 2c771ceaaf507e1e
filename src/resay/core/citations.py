"""Citations that a provider attaches to an answer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation that a provider attached to an answer, outside its text.

    Attributes:
        start: The start of the words it belongs to, in code points of the answer.
        end: Their end (exclusive); equal to `start` if the citation follows them.
        id: The cited id, if any, such as that of a file.
        title: The cited title.
        url: The cited address.
        quote: The quoted words of the document.
    """

    start: int
    end: int
    id: str | None = None
    title: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    quote: str | None = field(default=None, repr=False)
