"""Base class of methods that compare the passage with one sample at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import anyio

from resay._internal.event_loops import compute
from resay._internal.plurals import counted
from resay.core.failures import tally
from resay.core.passage import Passage
from resay.core.scores import Scores, any_denied, mean_score
from resay.scorers.base import TEXTS_COMPARED, Need, SampleConfig, ScorerTraits
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample

# Cost of averaging one column entry, in characters; see `compute`.
_AVERAGING = 6

Entries = tuple[float | None, ...]
"""The scores of each sentence compared with a sample; None if it has none."""


@dataclass(frozen=True, slots=True)
class Column:
    """The result of comparing the passage with one sample.

    Attributes:
        scores: One score per sentence in [0, 1]; None if the comparison failed.
        failures: Kinds of failed calls, one per call.
        undetermined: Number of judge answers that could not be parsed.
        raw: The method's own unbounded entries if it has any, None in the same places as `scores`.
        passage: The score of the passage as a whole, if the method has one.
        silent: Whether the sample says nothing about each sentence; empty if the method does not
            report it.
        denied: Whether the sample says something else, as opposed to nothing, about each sentence;
            empty if the method does not tell these apart.
    """

    scores: Entries
    failures: tuple[str, ...] = ()
    undetermined: int = 0
    raw: Entries = ()
    passage: float | None = None
    silent: tuple[bool, ...] = ()
    denied: tuple[bool, ...] = ()


class SampleScorer(ABC):
    """Base class of methods that compare the passage with one sample at a time.

    A sentence's score is the mean of its entries over the samples' columns; if they have unbounded
    entries, the mean of those, clipped to [0, 1]. If documents take the place of samples
    (`evidence: documents` or `references`), one supporting document is enough: the score is that of
    the document that supports the sentence best, among those that mention it. If the evidence has a
    stopping rule, samples are drawn in waves, and only as many are compared as the rule asks for.
    """

    name: ClassVar[str]
    traits: ScorerTraits = ScorerTraits(adapts=True, stops=True, by_sentence=True)
    needs: frozenset[Need] = frozenset({"samples"})

    @property
    def any_of(self) -> bool:
        """Whether one supporting text is enough, as with documents but not with samples."""
        # A plug-in may have no settings.
        config = getattr(self, "config", None)
        return isinstance(config, SampleConfig) and config.replaces_samples

    @abstractmethod
    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every sentence of the passage with one sample.

        Args:
            passage: The passage; its `sentences` are compared.
            sample: The sample.
            evidence: The rest of the evidence.

        Returns:
            One column, as long as `passage.sentences`.
        """

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with samples as they arrive until enough is known, and average the columns.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The samples, the stopping rule, and everything `compare` needs.

        Returns:
            Sentence scores, and the columns they average, in the order of the samples.
        """
        comparison = _Comparison(self, passage, evidence)
        try:
            await comparison.run()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                evidence.partial_scores.append(await comparison.scored())
            raise
        return await comparison.scored()


@dataclass(slots=True)
class _Comparison:
    """The comparison of one passage in progress.

    Attributes:
        columns: Columns by sample index, each as long as the passage's sentences.
        compared_sentences: The sentences compared in each column.
    """

    scorer: SampleScorer
    passage: Passage
    evidence: Evidence
    columns: dict[int, Column] = field(default_factory=dict[int, Column])
    compared_sentences: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])

    async def run(self) -> None:
        rule, samples = self.evidence.stopping, self.evidence.samples
        pending = frozenset(range(len(self.passage.sentences)))
        compared, required = 0, rule.min_samples if rule else samples.available
        while pending:
            async with anyio.create_task_group() as tasks:
                async for sample in samples.first(required, after=compared):
                    tasks.start_soon(self._compare_with, sample, pending)
            compared = len(self.columns)
            if rule is None or compared < required or compared >= samples.available:
                return
            columns = [self.columns[i] for i in sorted(self.columns)]
            work = rule.remaining(
                [column.raw or column.scores for column in columns],
                [column.passage for column in columns],
                bounded=not any(column.raw for column in columns),
            )
            pending, required = work.sentences, compared + work.more

    async def _compare_with(self, sample: Sample, pending: frozenset[int]) -> None:
        count = len(self.passage.sentences)
        everything = len(pending) == count
        part = self.passage if everything else self.passage.only(pending)
        column = await self.scorer.compare(part, sample, self.evidence)
        self.compared_sentences[sample.index] = pending
        self.columns[sample.index] = column if everything else _widened(column, pending, count)

    async def scored(self) -> Scores:
        """Return the scores so far, averaged off the event loop if that takes long."""
        entries = len(self.columns) * len(self.passage.sentences)
        return await compute(self.scores, chars=_AVERAGING * entries)

    def scores(self) -> Scores:
        indexes = sorted(self.columns)
        columns = [self.columns[index] for index in indexes]
        sentences = range(len(self.passage.sentences))
        # By sentence, the entries of the samples with which it was compared.
        entries: list[list[float | None]] = [[] for _ in sentences]
        for index in indexes:
            for sentence in self.compared_sentences[index]:
                entries[sentence].append(self.columns[index].scores[sentence])
        rows = [tuple(of_sentence) for of_sentence in entries]
        # Many sentences have the same entries.
        different_rows = set(rows)
        failures = tuple(failure for column in columns for failure in column.failures)
        undetermined = sum(column.undetermined for column in columns)
        silent = _silent(columns, len(sentences))
        if self.scorer.any_of:
            means = best_scores([column.scores for column in columns], silent, len(sentences))
            raw = _pooled_raw(columns, len(sentences), _lowest)
            passage = _lowest([column.passage for column in columns])
        else:
            mean_of = {row: mean_score(row) for row in different_rows}
            means = [mean_of[row] for row in rows]
            raw = _pooled_raw(columns, len(sentences), mean_score)
            passage = mean_score([column.passage for column in columns])
        if raw:
            means = [min(max(value, 0.0), 1.0) for value in raw]
        reason_of = {row: _reason(row, any_of=self.scorer.any_of) for row in different_rows}
        return Scores(
            sentences=tuple(means),
            passage=passage,
            raw=raw,
            columns=tuple(column.scores for column in columns),
            silent=silent,
            reasons=tuple(reason_of[row] for row in rows),
            failures=failures,
            undetermined=undetermined,
            error=inconclusive_reason(rows, failures, undetermined),
            denied=any_denied([column.denied for column in columns]),
        )


def _widened(column: Column, compared: Iterable[int], count: int) -> Column:
    """Return a column over some sentences as a column over all of them."""
    positions = sorted(compared)

    def widened_entries(entries: Entries) -> Entries:
        if not entries:
            return ()
        by_sentence = dict(zip(positions, entries, strict=True))
        return tuple(by_sentence.get(i) for i in range(count))

    def widened_flags(flags: tuple[bool, ...]) -> tuple[bool, ...]:
        flagged = {i for i, flag in zip(positions, flags, strict=False) if flag}
        return tuple(i in flagged for i in range(count))

    return Column(
        scores=widened_entries(column.scores),
        failures=column.failures,
        undetermined=column.undetermined,
        raw=widened_entries(column.raw),
        silent=widened_flags(column.silent),
        denied=widened_flags(column.denied) if column.denied else (),
    )


def _silent(columns: Sequence[Column], sentences: int) -> tuple[tuple[int, ...], ...]:
    """Return for each sentence the columns whose samples say nothing about it."""
    if not any(any(column.silent) for column in columns):
        return ()
    silent: list[list[int]] = [[] for _ in range(sentences)]
    for position, column in enumerate(columns):
        for sentence, is_silent in enumerate(column.silent):
            if is_silent:
                silent[sentence].append(position)
    return tuple(map(tuple, silent))


def best_scores(
    columns: Sequence[Entries], silent: Sequence[Sequence[int]], sentences: int
) -> list[float | None]:
    """Return for each sentence the entry of the document that supports it best.

    A document that does not mention the sentence counts only if none does, so that a sentence which
    one document contradicts and none supports is contradicted.

    Args:
        columns: One for each document.
        silent: For each sentence the documents that do not mention it; empty if unknown.
        sentences: Number of sentences.
    """
    best: list[float | None] = []
    for sentence in range(sentences):
        silent_columns = frozenset(silent[sentence]) if silent else frozenset[int]()
        row = [column[sentence] for column in columns]
        mentioning = [score for position, score in enumerate(row) if position not in silent_columns]
        score = _lowest(mentioning)
        best.append(_lowest(row) if score is None else score)
    return best


def _lowest(scores: Iterable[float | None]) -> float | None:
    return min((score for score in scores if score is not None), default=None)


def _pooled_raw(
    columns: Sequence[Column],
    sentences: int,
    pool: Callable[[Sequence[float | None]], float | None],
) -> tuple[float, ...]:
    """Return the pooled unbounded entries of each sentence; none if one of them has none."""
    rows = [column.raw for column in columns if column.raw]
    pooled: list[float] = []
    for sentence in range(sentences):
        value = pool([row[sentence] for row in rows])
        if value is None:
            return ()
        pooled.append(value)
    return tuple(pooled)


def _reason(row: Entries, *, any_of: bool) -> str | None:
    entries = [score for score in row if score is not None]
    if not entries:
        return None
    support = sum(entry <= 0.5 for entry in entries)
    if any_of and len(entries) > 1 and support:
        return f"supported by {support} of {len(entries)} {TEXTS_COMPARED}"
    return support_reason(entries)


def support_reason(entries: Collection[float]) -> str:
    """Return how many comparisons are against a sentence, or else for it, or undecided.

    Args:
        entries: The entries of its comparisons.
    """
    against = sum(entry > 0.5 for entry in entries)
    support = sum(entry < 0.5 for entry in entries)
    if against:
        return f"not supported by {against} of {len(entries)} {TEXTS_COMPARED}"
    if support:
        return f"supported by {support} of {len(entries)} {TEXTS_COMPARED}"
    return f"undecided by {len(entries)} of {len(entries)} {TEXTS_COMPARED}"


def inconclusive_reason(
    rows: Sequence[Sequence[float | None]], failures: Sequence[str], undetermined: int
) -> str | None:
    """Return why the comparisons support no decision, or None if they do.

    Args:
        rows: The entries of each sentence; None for a failed call.
        failures: Kinds of failed calls, one per call.
        undetermined: Number of judge answers that could not be parsed.
    """
    cells = [score for row in rows for score in row]
    # Without failures, a missing entry means that the method has no opinion on the sentence.
    missing = sum(score is None for score in cells) if failures else 0
    # With half of the comparisons gone, the mean of the rest is not the score of the method.
    if missing * 2 > len(cells):
        return f"{missing} of {counted(len(cells), 'comparison')} failed ({tally(failures)})"
    if undetermined * 2 > len(cells):
        return f"{undetermined} of {counted(len(cells), 'comparison')} could not be read"
    return None
