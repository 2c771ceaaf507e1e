"""What goes wrong when a data set is fetched."""

from __future__ import annotations

from resay.errors import ResayError

__all__ = ["FetchError"]


class FetchError(ResayError):
    """A home could not be reached, or what it gave is not the data set.

    Attributes:
        address: Which of its files.
    """

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address!r}: {reason}")
        self.address = address
