"""What is decided about a response, its sentences and its claims, and what is done about it."""

from __future__ import annotations

from typing import Literal

Decision = Literal["consistent", "flagged", "inconclusive", "skipped"]

Action = Literal["allow", "annotate", "block", "regenerate"]
"""What became of a response."""

Band = Literal["supported", "doubtful", "unsupported", "contradicted"]
"""The band of a score. Up to `threshold.doubtful` it is supported, above it doubtful. Above
`threshold.sentence` it is flagged: unsupported if nobody says it, contradicted if somebody denies
it."""

FLAGGED: frozenset[Band | None] = frozenset({"unsupported", "contradicted"})
"""The bands of what is flagged."""
