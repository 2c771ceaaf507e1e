"""Base class of methods that compare the passage with one sample at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import anyio

from resay._internal.event_loops import compute
from resay.core.failures import tally
from resay.core.passage import Passage
from resay.core.scores import Scores, mean_score
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample

# Cost of averaging one column entry, in characters; see `compute`.
_AVERAGING = 6

Row = tuple[float | None, ...]


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

    scores: Row
    failures: tuple[str, ...] = ()
    undetermined: int = 0
    raw: Row = ()
    passage: float | None = None
    silent: tuple[bool, ...] = ()
    denied: tuple[bool, ...] = ()


class SampleScorer(ABC):
    """Base class of methods that compare the passage with one sample at a time.

    A sentence's score is the mean of its entries over the samples' columns; if they have unbounded
    entries, the mean of those, clipped to [0, 1]. If references take the place of samples
    (`evidence: references`), one supporting document is enough: the score is that of the document
    that supports the sentence best, among those that mention it. If the evidence has a stopping
    rule, samples are drawn in waves, and only as many are compared as the rule asks for.
    """

    name: ClassVar[str]
    traits: ScorerTraits = ScorerTraits(adapts=True, stops=True, by_sentence=True)
    needs: frozenset[Need] = frozenset({"samples"})

    @property
    def any_of(self) -> bool:
        """Whether one supporting text is enough, as with documents but not with samples."""
        return getattr(getattr(self, "config", None), "evidence", None) == "references"

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
        seen, wanted = 0, rule.min_samples if rule else samples.available
        while pending:
            await self._compare(seen, wanted, pending)
            seen = len(self.columns)
            if rule is None or seen < wanted or seen >= samples.available:
                return
            known = [self.columns[i] for i in sorted(self.columns)]
            work = rule.remaining(
                [column.raw or column.scores for column in known],
                [column.passage for column in known],
                bounded=not any(column.raw for column in known),
            )
            pending, wanted = work.sentences, seen + work.more

    async def _compare(self, seen: int, wanted: int, pending: frozenset[int]) -> None:
        async with anyio.create_task_group() as tasks:
            async for sample in self.evidence.samples.first(wanted, after=seen):
                tasks.start_soon(self._compare_with, sample, pending)

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
        columns = [self.columns[i] for i in sorted(self.columns)]
        included = [self.compared_sentences[i] for i in sorted(self.columns)]
        sentences = range(len(self.passage.sentences))
        compared = list(zip(columns, included, strict=True))
        rows = [[c.scores[i] for c, of in compared if i in of] for i in sentences]
        failures = tuple(failure for column in columns for failure in column.failures)
        undetermined = sum(column.undetermined for column in columns)
        silent = _silent(columns, len(sentences))
        if self.scorer.any_of:
            found = tuple(column.scores for column in columns)
            means = best_scores(found, silent, len(sentences))
            raw = _raw_best(columns, len(sentences))
            passage = min((c.passage for c in columns if c.passage is not None), default=None)
        else:
            means = [mean_score(row) for row in rows]
            raw = _raw_means(columns, len(sentences))
            passage = mean_score([c.passage for c in columns])
        if raw:
            means = [min(max(value, 0.0), 1.0) for value in raw]
        return Scores(
            sentences=tuple(means),
            passage=passage,
            raw=raw,
            columns=tuple(column.scores for column in columns),
            silent=silent,
            reasons=tuple(_why(row, any_of=self.scorer.any_of) for row in rows),
            failures=failures,
            undetermined=undetermined,
            error=why_inconclusive(rows, failures, undetermined),
            denied=_denied(columns, len(sentences)),
        )


def _widened(column: Column, compared: Iterable[int], count: int) -> Column:
    """Return a column over some sentences as a column over all of them."""
    places = sorted(compared)

    def spread(row: Row) -> Row:
        known = dict(zip(places, row, strict=True)) if row else {}
        return tuple(known.get(i) for i in range(count)) if row else ()

    silent = {i for i, is_silent in zip(places, column.silent, strict=False) if is_silent}
    denied = {i for i, is_denied in zip(places, column.denied, strict=False) if is_denied}
    return Column(
        spread(column.scores),
        column.failures,
        column.undetermined,
        spread(column.raw),
        silent=tuple(i in silent for i in range(count)),
        denied=tuple(i in denied for i in range(count)) if column.denied else (),
    )


def _silent(columns: Sequence[Column], sentences: int) -> tuple[tuple[int, ...], ...]:
    reporting = [(n, column.silent) for n, column in enumerate(columns) if any(column.silent)]
    if not reporting:
        return ()
    return tuple(tuple(n for n, silent in reporting if silent[i]) for i in range(sentences))


def _denied(columns: Sequence[Column], sentences: int) -> tuple[bool, ...]:
    reporting = [column.denied for column in columns if column.denied]
    if not reporting:
        return ()
    return tuple(any(denied[i] for denied in reporting) for i in range(sentences))


def best_scores(
    columns: Sequence[Row], silent: Sequence[Sequence[int]], sentences: int
) -> list[float | None]:
    """Return for each sentence the entry of the document that supports it best.

    A document that does not mention the sentence counts only if none does, so that a sentence which
    one document contradicts and none supports is contradicted.

    Args:
        columns: One for each document.
        silent: For each sentence the documents that do not mention it; empty if unknown.
        sentences: Number of sentences.
    """
    found: list[float | None] = []
    for i in range(sentences):
        quiet = frozenset(silent[i]) if silent else frozenset[int]()
        row = [(n, c[i]) for n, c in enumerate(columns)]
        known = [(n, score) for n, score in row if score is not None]
        speaking = [score for n, score in known if n not in quiet]
        found.append(min(speaking or (score for _, score in known), default=None))
    return found


def _raw_best(columns: Sequence[Column], sentences: int) -> tuple[float, ...]:
    known = [column.raw for column in columns if column.raw]
    best = [
        min((v for raw in known if (v := raw[i]) is not None), default=None)
        for i in range(sentences)
    ]
    found = tuple(value for value in best if value is not None)
    return found if len(found) == sentences else ()


def _raw_means(columns: Sequence[Column], sentences: int) -> tuple[float, ...]:
    means = [mean_score([c.raw[i] for c in columns if c.raw]) for i in range(sentences)]
    known = tuple(mean for mean in means if mean is not None)
    return known if len(known) == sentences else ()


def _why(row: list[float | None], *, any_of: bool) -> str | None:
    known = [score for score in row if score is not None]
    if not known:
        return None
    if any_of and len(known) > 1 and (support := sum(score <= 0.5 for score in known)):
        return f"supported by {support} of {len(known)} texts compared"
    return why_of(known)


def why_of(entries: Collection[float]) -> str:
    """Return how many comparisons are against a sentence, or else for it, or undecided.

    Args:
        entries: The entries of its comparisons.
    """
    against = sum(entry > 0.5 for entry in entries)
    support = sum(entry < 0.5 for entry in entries)
    if against:
        return f"not supported by {against} of {len(entries)} texts compared"
    if support:
        return f"supported by {support} of {len(entries)} texts compared"
    return f"undecided by {len(entries)} of {len(entries)} texts compared"


def why_inconclusive(
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
        return f"{missing} of {len(cells)} comparisons failed ({tally(failures)})"
    if undetermined * 2 > len(cells):
        return f"{undetermined} of {len(cells)} judge answers could not be read"
    return None
