"""References that mention a claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grounds:
    """A reference that mentions a claim.

    Attributes:
        reference: Its index among the verdict's references.
        supports: Whether it supports the claim; otherwise it says something else.
        start: The start of the relevant words in its text, in code points, if known.
        end: Their end (exclusive).
    """

    reference: int
    supports: bool
    start: int | None = None
    end: int | None = None
