"""Measures combinations of methods on the WikiBio GPT-3 data set.

The members are measured once, each with the scorer that a policy uses. The parameters of
`combination` and `ensemble` are learned from some of the passages and measured on the others, so
that no passage contributes to the parameters that score it. The folds are the passages' row numbers
modulo the number of folds and, to see how much depends on that, random ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Any, Protocol

import anyio.to_thread

from resay import Usage
from resay.adapters.methods import Scale, log_odds
from resay.errors import ConfigurationError
from resay.plugins import Scores
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.measuring import (
    COST_COLUMNS,
    RECORDED,
    BenchJudge,
    Measured,
    cost_of,
    measure,
    policy_text,
)
from resay_lab.benchmarks.table import Column, ResultTable, Row, shown
from resay_lab.benchmarks.wikibio import (
    FIGURE_COLUMNS,
    Corpus,
    explain,
    figures,
    is_wrong,
    notes_on,
    star_ap,
)
from resay_lab.calibration.weights import Learned, Values, learn, learn_sum, learn_unweighted


class Model(Protocol):
    """Learned parameters that can score passages."""

    def score(self, values: Values) -> list[float | None]:
        """Return the scores of a passage's sentences."""
        ...


Learner = Callable[[Sequence[Values], Sequence[Sequence[bool]]], Model]
"""Learns a model from the values of passages and whether their sentences are wrong."""


def out_of_fold(
    learner: Learner,
    passages: Sequence[Values],
    wrong: Sequence[Sequence[bool]],
    folds: Sequence[int],
) -> list[list[float | None]]:
    """Score each passage with a model learned without the passage's fold.

    Args:
        learner: Learns the models.
        passages: The values of each passage.
        wrong: For each passage, whether each of its sentences is wrong.
        folds: The fold of each passage; at least two different folds.

    Returns:
        The scores of each passage's sentences.

    Raises:
        ConfigurationError: Nothing can be learned without one of the folds.
    """
    models: dict[int, Model] = {}
    for fold in sorted(set(folds)):
        training = [i for i, other in enumerate(folds) if other != fold]
        models[fold] = learner([passages[i] for i in training], [wrong[i] for i in training])
    return [models[fold].score(values) for fold, values in zip(folds, passages, strict=True)]


def random_folds(passages: int, folds: int, seed: int) -> list[int]:
    """Assign passages to folds at random, as evenly as possible.

    Args:
        passages: The number of passages.
        folds: The number of folds.
        seed: The same seed gives the same assignment on every machine.

    Returns:
        The fold of each passage.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    order = sorted(range(passages), key=lambda _: rng.random())
    assigned = [0] * passages
    for position, passage in enumerate(order):
        assigned[passage] = position % folds
    return assigned


COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("learned", "learned"),
    Column("judge", "judge"),
    *FIGURE_COLUMNS,
    *COST_COLUMNS,
)
"""The columns of the printed table."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A method and its results on every passage."""

    entry: BenchEntry
    results: Sequence[Measured]

    @property
    def scale(self) -> Scale:
        return "raw" if any(result.scores.raw for result in self.results) else "log_odds"

    def score(self, passage: int, sentence: int) -> float | None:
        return self.results[passage].scores.of_sentence(sentence)

    def value(self, passage: int, sentence: int) -> float | None:
        return self.results[passage].scores.value_of_sentence(sentence)

    def scaled(self, passage: int, sentence: int) -> float | None:
        if self.scale == "raw":
            return self.value(passage, sentence)
        score = self.score(passage, sentence)
        return None if score is None else log_odds(score)


Value = Callable[[_Member, int, int], float | None]


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to combine several scores into one.

    Attributes:
        method: The scorer that implements it in a policy.
        variant: Its name among the forms of the same method.
        value: Returns the value of a member that it combines.
        learn: Learns its parameters.
    """

    method: str
    variant: str
    value: Value
    learn: Learner


_LEANING = _Form("combination", "leaning", _Member.scaled, learn)
_SUM = _Form("ensemble", "least squares", _Member.score, learn_sum)
_FORMS = (
    _SUM,
    _Form("combination", "unweighted", _Member.value, lambda ps, _: learn_unweighted(ps)),
    _Form("combination", "weighted", _Member.scaled, partial(learn, leans=(0.0,))),
    _LEANING,
)


def check_folds(corpus: Corpus, folds: int) -> None:
    """Check that every fold has a passage.

    Args:
        corpus: The passages.
        folds: The number of folds.

    Raises:
        ConfigurationError: There are too few passages.
    """
    count = len({item.index % folds for item in corpus.items})
    if count < folds:
        raise ConfigurationError(
            f"{folds!r} folds need as many passages, at least; there are"
            f" {len(corpus.items)} passages, for {count} of the folds"
        )


async def run(
    corpus: Corpus,
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    folds: int = 5,
    assignments: int = 20,
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods and their combinations.

    Args:
        corpus: The passages.
        entries: The members.
        judge: The judge; may be None if no member needs one.
        folds: The number of folds, at least 2.
        assignments: The number of random assignments to folds.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each passage of each member.

    Returns:
        One row for each member and each form of their combination. `about` and the notes contain
        the parameters learned from all passages.

    Raises:
        ConfigurationError: There are too few passages, or nothing can be learned from them.
        MissingDependencyError: scikit-learn or scipy is not installed.
        ProviderError: A live judge failed to answer.
    """
    metrics.require()
    check_folds(corpus, folds)
    if judge is not None:
        await judge.prepare()
    members: list[_Member] = []
    for entry in entries:
        member_judge = judge if entry.needs_judge else None
        results = await measure(
            entry.config(member_judge),
            entry.of(corpus.items),
            member_judge,
            concurrency=concurrency,
            done=done,
        )
        members.append(_Member(entry, results))
    bench = _Bench(corpus, members, judge, folds)
    return await anyio.to_thread.run_sync(bench.table, assignments)


class _Bench:
    """Evaluates the combinations of the members' values."""

    def __init__(
        self, corpus: Corpus, members: Sequence[_Member], judge: BenchJudge | None, folds: int
    ) -> None:
        self._corpus = corpus
        self._members = members
        self._judge = judge
        self._folds = folds
        self._wrong = [[is_wrong(label) for label in labels] for labels in corpus.labels]

    def table(self, assignments: int) -> ResultTable:
        folds = [item.index % self._folds for item in self._corpus.items]
        learned = learn(self._values(_LEANING), self._wrong)
        held_out = {form: self._out_of_fold(form, folds) for form in _FORMS}
        rows: list[Row] = []
        for member in self._members:
            entry = member.entry
            rows.append(self._row_of(entry.method, entry.variant, None, [member], member.results))
        for form, results in held_out.items():
            rows.append(self._row(form, "out of fold", results))
        if assignments:
            rows += self._random_rows(assignments)
        rows.append(self._row(_LEANING, "in sample", self._scored(_LEANING, learned.rounded())))
        about = {
            "passages": len(self._corpus.items),
            "folds": self._folds,
            "assignments": assignments,
            "parameters": self._parameters(learned),
            "step": self._step(learned.rounded()),
        }
        notes = (*self._notes(assignments), self._note_on_ties(held_out), *self._learned(learned))
        return ResultTable("ensemble", COLUMNS, tuple(rows), notes, about)

    def _values(self, form: _Form) -> list[Values]:
        """Return for each passage and sentence the value of each member."""
        passages: list[Values] = []
        for i, item in enumerate(self._corpus.items):
            count = len(item.passage.sentences)
            passages.append([self._sentence_values(form, i, j) for j in range(count)])
        return passages

    def _sentence_values(self, form: _Form, passage: int, sentence: int) -> list[float | None]:
        return [form.value(member, passage, sentence) for member in self._members]

    def _scored(self, form: _Form, learned: Learned) -> list[Measured]:
        return self._with_costs([learned.score(values) for values in self._values(form)])

    def _out_of_fold(self, form: _Form, folds: Sequence[int]) -> list[Measured]:
        scores = out_of_fold(form.learn, self._values(form), self._wrong, folds)
        return self._with_costs(scores)

    def _with_costs(self, scores: Sequence[Sequence[float | None]]) -> list[Measured]:
        """Return the combined scores of passages, each with the total cost of all members."""
        measured: list[Measured] = []
        for i, passage_scores in enumerate(scores):
            results = [member.results[i] for member in self._members]
            usage = sum((result.usage for result in results), Usage())
            seconds = sum(result.seconds for result in results)
            measured.append(Measured(Scores(sentences=tuple(passage_scores)), usage, seconds))
        return measured

    def _row(self, form: _Form, learned: str, results: Sequence[Measured]) -> Row:
        return self._row_of(form.method, form.variant, learned, self._members, results)

    def _row_of(
        self,
        method: str,
        variant: str,
        learned: str | None,
        members: Sequence[_Member],
        results: Sequence[Measured],
    ) -> Row:
        judge = self._judge if any(member.entry.needs_judge for member in members) else None
        return {
            "method": method,
            "variant": variant,
            "learned": learned,
            "judge": judge.name if judge else None,
            **figures(self._corpus.labels, results),
            **cost_of(results, judge),
        }

    def _random_rows(self, assignments: int) -> list[Row]:
        """Return the mean and the deviation over random assignments of passages to folds."""
        rows: list[Row] = []
        for seed in range(assignments):
            folds = random_folds(len(self._corpus.items), self._folds, seed)
            results = self._out_of_fold(_LEANING, folds)
            rows.append(self._row(_LEANING, f"mean of {assignments}", results))
        mean = dict(rows[0])
        deviation = {**rows[0], "learned": f"deviation of {assignments}"}
        for column in FIGURE_COLUMNS:
            values = [row[column.key] for row in rows]
            mean[column.key] = _rounded(fmean, values)
            deviation[column.key] = _rounded(stdev if assignments > 1 else None, values)
        for column in COST_COLUMNS:
            deviation[column.key] = None
        return [mean, deviation]

    def _parameters(self, learned: Learned) -> dict[str, Any]:
        return {
            "intercept": round(learned.intercept, 4),
            "lean": round(learned.lean, 4),
            "parts": [
                {
                    "member": member.entry.name,
                    "scale": member.scale,
                    "mean": round(part.mean, 4),
                    "deviation": round(part.deviation, 4),
                    "weight": round(part.weight, 4),
                }
                for member, part in zip(self._members, learned.parts, strict=True)
            ],
        }

    def _step(self, learned: Learned) -> dict[str, Any]:
        """Return the policy step that scores with these parameters."""
        return learned.step(
            [self._scorer(member.entry) for member in self._members],
            [member.scale for member in self._members],
        )

    def _scorer(self, entry: BenchEntry) -> dict[str, Any]:
        scorer: dict[str, Any] = {"method": entry.method}
        if entry.needs_judge and self._judge:
            scorer["judge"] = self._judge.name.removeprefix(RECORDED)
        return {**scorer, **entry.settings}

    def _notes(self, assignments: int) -> Iterator[str]:
        yield from explain(self._corpus.labels)
        yield "The members share the samples; what is made of them costs what they cost together."
        yield (
            f"out of fold: learned from the passages whose row number modulo {self._folds} is"
            " another one."
        )
        if assignments:
            yield (
                "mean and deviation: the same with passages assigned to folds at random,"
                f" {assignments} times."
            )
        yield (
            "in sample: learned from all passages, those it is measured on, and rounded. For other"
            " texts expect what stands out of fold, at best."
        )
        yield (
            "ensemble is the clipped sum (FIBE, section 3.4) with weights by non-negative least"
            " squares; unweighted is the sum of standardised scores (SelfCheckGPT, first version,"
            " section 3.4); weighted and leaning are logistic regressions on whether a sentence is"
            " wrong, without and with the mean of its passage."
        )
        for member in self._members:
            yield from notes_on(member.entry, member.results)

    def _note_on_ties(self, held_out: Mapping[_Form, Sequence[Measured]]) -> str:
        results = {member.entry.name: member.results for member in self._members}
        for form, form_results in held_out.items():
            results[f"{form.method}, {form.variant}"] = form_results
        precisions = [
            f"{name} {shown(star_ap(self._corpus.labels, of_name), 2)}"
            for name, of_name in results.items()
        ]
        return (
            "In NonFact* the trapezoidal rule flatters scores with many ties; as average precision"
            f" it is: {'; '.join(precisions)}."
        )

    def _learned(self, learned: Learned) -> Iterator[str]:
        """Yield the parameters learned from all passages."""
        ensemble = learn_sum(self._values(_SUM), self._wrong)
        weights = [
            f"{member.entry.name} {weight:.2f}"
            for member, weight in zip(self._members, ensemble.weights, strict=True)
        ]
        yield f"Weights of ensemble, learned from all passages: {', '.join(weights)}."
        yield (
            "leaning, learned from all passages, as a step of a policy; it belongs to texts like"
            " these and to this judge, under the name your provider has for it:\n\n"
            + policy_text(self._step(learned.rounded()))
        )


def _rounded(
    statistic: Callable[[Sequence[float]], float] | None, values: Sequence[float | None]
) -> float | None:
    defined = [value for value in values if value is not None]
    if statistic is None or len(defined) < len(values):
        return None
    return round(statistic(defined), 2)
