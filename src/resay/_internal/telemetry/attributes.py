"""What spans are told, and where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType

__all__ = ["AttributeValue", "Place"]

AttributeValue = str | bool | int | float | Sequence[str] | None
"""What an attribute can be. None leaves it out."""

Place = NewType("Place", object)
"""A place in the tree of spans."""
