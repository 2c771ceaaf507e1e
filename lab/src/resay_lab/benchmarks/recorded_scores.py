"""Scores of models for texts with documents, recorded in a file.

A model takes hours on a CPU, and its weights cannot be had everywhere. What it says about a text is
recorded once, in JSON Lines: the set, the row, a digest of the text with its documents and its
question, the method and the model, the scores of the sentences, the spans and the seconds. The file
contains no text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

from resay import Usage
from resay.errors import ConfigurationError
from resay.plugins import ModelConfig, Scores, UnsupportedSpan
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.grounded import Judged, model_of
from resay_lab.benchmarks.measuring import Item, Measured
from resay_lab.benchmarks.rows import DataRow, parse_row, read_lines


class _Row(DataRow):
    set: str
    row: int
    digest: str
    method: str
    model: str
    scores: tuple[float | None, ...]
    spans: tuple[tuple[tuple[int, int, float], ...], ...] = ()
    seconds: float


class _Key(NamedTuple):
    digest: str
    method: str
    model: str


class RecordedScores:
    """Recorded scores.

    Args:
        path: The file; None for none.
        records: Whether `add` writes to it.

    Raises:
        ConfigurationError: The file is invalid.
    """

    def __init__(self, path: Path | None, *, records: bool = False) -> None:
        self._path = path
        self._records = records
        self._rows: dict[_Key, _Row] = {}
        if path is None or not path.exists():
            return
        lines = read_lines(path)
        for index in range(len(lines)):
            row = parse_row(_Row, lines, index, path)
            self._rows[_Key(row.digest, row.method, row.model)] = row

    def of(self, entry: BenchEntry, judged: Judged) -> Measured | None:
        """Return what an entry's model said about a text; None if that is not recorded."""
        if not self._rows or not entry.takes_model:
            return None
        row = self._rows.get(_key(entry, judged.item))
        # A sentence may be split otherwise by now.
        if row is None or len(row.scores) != len(judged.item.passage.sentences):
            return None
        spans = tuple(tuple(starmap(UnsupportedSpan, of_sentence)) for of_sentence in row.spans)
        scores = Scores(sentences=row.scores, spans=spans)
        return Measured(scores, Usage(), row.seconds)

    def add(
        self, name: str, entry: BenchEntry, measured: Iterable[tuple[Judged, Measured]]
    ) -> None:
        """Append what an entry's model says to the file, if it records.

        Args:
            name: The set's name.
            entry: The entry.
            measured: The texts with their scores.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        if not self._records or self._path is None or not entry.takes_model:
            return
        lines = [_line(name, entry, judged, result) for judged, result in measured]
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(lines))
        except OSError as error:
            raise ConfigurationError(
                f"cannot write {str(self._path)!r}: {error.strerror}"
            ) from error


def _line(name: str, entry: BenchEntry, judged: Judged, result: Measured) -> str:
    key = _key(entry, judged.item)
    row = {
        "set": name,
        "row": judged.item.index,
        **key._asdict(),
        "scores": result.scores.sentences,
        "spans": [list(map(_triple, of_sentence)) for of_sentence in result.scores.spans],
        "seconds": result.seconds,
    }
    return json.dumps(row) + "\n"


def _triple(span: UnsupportedSpan) -> tuple[int, int, float]:
    return span.start, span.end, span.score


def _key(entry: BenchEntry, item: Item) -> _Key:
    question = item.request.question if item.request else None
    texts = [item.passage.text, list(item.references), question]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return _Key(digest=digest[:32], method=entry.name, model=_model_key(entry))


def _model_key(entry: BenchEntry) -> str:
    """Return the name of an entry's model, with the settings on which its scores depend."""
    model = dict(entry.config(None)).get("model")
    if not isinstance(model, ModelConfig):
        return model_of(entry)
    settings = model.model_dump(
        include={"revision", "file", "precision", "max_tokens"}, exclude_defaults=True
    )
    return " ".join([model_of(entry), *(f"{name}={value}" for name, value in settings.items())])
