"""What may be chosen of the segmentation."""

from __future__ import annotations

from typing import Literal

Splitter = Literal["builtin", "sentencex"]
"""The rules that end sentences in prose."""
