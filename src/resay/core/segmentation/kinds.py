"""The kinds of a text's parts."""

from __future__ import annotations

from typing import Literal

Kind = Literal["prose", "heading", "code", "table", "rule", "math", "html", "definition"]
"""The kind of a block of lines."""
SentenceUnit = Literal["sentence", "item", "heading", "head", "row", "code"]
"""The kind of a sentence: running text, a list item, a heading, a table's header or one row. A
claim may also be a name in code."""
