"""The kinds of sentences."""

from __future__ import annotations

from typing import Literal

SentenceUnit = Literal["sentence", "item", "heading", "head", "row", "code"]
"""The kind of a sentence: running text, a list item, a heading, a table's header or one row. A
claim may also be a name in code."""
