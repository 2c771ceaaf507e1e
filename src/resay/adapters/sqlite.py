"""Private SQLite files, and transactions in them."""

from __future__ import annotations

from resay._internal.sqlite import open_database, transaction

__all__ = ["open_database", "transaction"]
