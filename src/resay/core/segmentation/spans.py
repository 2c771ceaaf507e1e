"""Spans: the start and the end of a part of a text."""

from __future__ import annotations

Span = tuple[int, int]
"""The start and end (exclusive) of a part of a text, in code points."""
