"""Sentences as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resay.core.sentence_verdict import SentenceVerdict
from resay.errors import ConfigurationError

COLUMNS = (
    *("sentence", "start", "end", "score", "band", "flagged", "by", "reason"),
    *("contradicted_by", "speaker"),
)
"""The columns of a frame of sentences."""


def frame_of(sentences: Sequence[SentenceVerdict]) -> Any:
    """Return sentences as a pandas data frame, one row each.

    Args:
        sentences: The sentences.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    rows = [_row(sentence) for sentence in sentences]
    return _pandas().DataFrame(rows, columns=list(COLUMNS))


def _row(sentence: SentenceVerdict) -> tuple[object, ...]:
    contradiction = sentence.contradicted_by
    return (
        sentence.text,
        sentence.start,
        sentence.end,
        sentence.score,
        sentence.band,
        sentence.flagged,
        sentence.by,
        sentence.reason,
        contradiction and contradiction.text,
        contradiction and contradiction.speaker,
    )


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ModuleNotFoundError:
        pass
    raise ConfigurationError("a data frame needs 'pandas'; install it with: pip install pandas")
