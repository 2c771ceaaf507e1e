"""Sentence scores that SelfCheckGPT's authors' code gave on WikiBio, where they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from pydantic import Field

from resay.benchmarks.entries import Entry
from resay.benchmarks.loading import Lenient, parse_row, read_lines
from resay.benchmarks.measuring import Item, Measured
from resay.core.verdict import Scores, Usage
from resay.errors import ConfigurationError

__all__ = ["Recorded", "recorded_scores"]

_RECORDED = "wikibio_gpt3_recorded.jsonl"


class Recorded(Entry):
    """A row of recorded scores, which no scorer of ours computes."""

    __slots__ = ()

    @property
    def needs_judge(self) -> bool:
        """Nobody is asked."""
        return False


class _Row(Lenient):
    nli: list[float] | None = Field(default=None, alias="nli_scores")
    bertscore: list[float] | None = Field(default=None, alias="bert_scores")

    def of(self, method: str) -> list[float] | None:
        """Return the scores of a method."""
        return {"nli": self.nli, "bertscore": self.bertscore}[method]


def recorded_scores(
    data: Path, entries: Sequence[Entry], items: Sequence[Item]
) -> dict[str, list[Measured]]:
    """Read recorded scores.

    Args:
        data: The folder they are in.
        entries: What is to be measured.
        items: The passages.

    Returns:
        For each entry that is `Recorded`, by its name, one result for each passage, without a
        score where none is recorded.

    Raises:
        ConfigurationError: The file cannot be read, or does not fit the passages.
    """
    wanted = [entry for entry in entries if isinstance(entry, Recorded)]
    if not wanted:
        return {}
    path = data / _RECORDED
    lines = read_lines(path)
    rows = {item.index: parse_row(_Row, lines, item.index, path) for item in items}
    return {
        entry.name: [_measured(item, rows[item.index].of(entry.method)) for item in items]
        for entry in wanted
    }


def _measured(item: Item, scores: Sequence[float] | None) -> Measured:
    count = len(item.passage.sentences)
    if scores is not None and len(scores) != count:
        raise ConfigurationError(
            f"the recorded scores of row {item.index!r} are not one for each of its {count}"
            " sentences"
        )
    if scores is None:
        return Measured(Scores((None,) * count), Usage(), 0.0)
    clipped = tuple(min(max(score, 0.0), 1.0) for score in scores)
    found = Scores(clipped, raw=tuple(scores), raw_passage=fmean(scores))
    return Measured(found, Usage(), 0.0)
