"""Snowballing Correction on WikiBio: a method's scores as they are, and in each form."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from resay.benchmarks.entries import Entry
from resay.benchmarks.judges import BenchJudge
from resay.benchmarks.measuring import Item, Measured
from resay.benchmarks.wikibio_figures import Label, figures, star_ap
from resay.scorers import ScorerConfig
from resay.scorers.evidence import Evidence
from resay.scorers.snowballing import Snowballing

__all__ = ["UNCORRECTED", "Correction", "compare", "correct"]

UNCORRECTED = "uncorrected"
"""What the scores without a correction are called."""

_FORMS: Mapping[str, Snowballing.Config] = {
    "published": Snowballing.Config(),
    "normalised": Snowballing.Config(normalise=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction(Entry):
    """A method followed by `snowballing`: a row as it is, and a row for each form.

    Attributes:
        base: The method that is measured, once for all rows.
    """

    base: Entry

    @property
    def needs_judge(self) -> bool:
        """Whether the method asks a judge; the correction asks nobody."""
        return self.base.needs_judge

    def config(self, judge: BenchJudge | None, **settings: Any) -> ScorerConfig:
        """Return the configuration of the method."""
        return self.base.config(judge, **settings)


async def correct(
    items: Sequence[Item], results: Sequence[Measured]
) -> dict[str, Sequence[Measured]]:
    """Correct a method's scores in each form.

    Args:
        items: What was measured.
        results: What the method says of them.

    Returns:
        By the form's name the corrected scores, those without a correction first. All are made of
        scores in [0, 1], also where the method has unbounded values of its own: `snowballing` gets
        to see no others.
    """
    before = [replace(r, scores=replace(r.scores, raw=(), raw_passage=None)) for r in results]
    corrected: dict[str, Sequence[Measured]] = {UNCORRECTED: before}
    for form, config in _FORMS.items():
        scorer = Snowballing(config)
        corrected[form] = [
            await _corrected(scorer, item, result)
            for item, result in zip(items, before, strict=True)
        ]
    return corrected


async def _corrected(scorer: Snowballing, item: Item, before: Measured) -> Measured:
    started = time.perf_counter()
    scores = await scorer.score(item.passage, Evidence(scores=before.scores.sentences))
    return Measured(scores, before.usage, before.seconds + time.perf_counter() - started)


def compare(
    entry: Correction,
    labels: Sequence[Sequence[Label]],
    forms: Mapping[str, Sequence[Measured]],
) -> Iterator[str]:
    """Yield whether the correction helps.

    Args:
        entry: The correction.
        labels: For each passage the labels of its sentences.
        forms: What `correct` returned.
    """
    found = {form: figures(labels, results) for form, results in forms.items()}
    for form in _FORMS:
        changes = [
            _change(title, found[UNCORRECTED][key], found[form][key])
            for title, key in (("ROC", "roc_auc"), ("AP", "average_precision"))
        ]
        yield f"{entry.name}, {form}: {' and '.join(changes)}."
    ones = [
        f"{sum(score == 1.0 for r in results for score in r.sentences)} {form}"
        for form, results in forms.items()
    ]
    stars = [_show(star_ap(labels, results)) for results in forms.values()]
    yield (
        f"{entry.name}: scores of exactly 1: {', '.join(ones)}. In NonFact* the trapezoidal rule"
        f" flatters such ties; as average precision it is {', '.join(stars)}."
    )


def _change(title: str, before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return f"there is no {title}"
    if before == after:
        return f"leaves {title} at {after:.2f}"
    verb = "raises" if after > before else "lowers"
    return f"{verb} {title} from {before:.2f} to {after:.2f}"


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
