"""Calibrates a policy with labelled responses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import anyio.to_thread

from resay import Policy, Verdict
from resay.adapters import Threshold, sync_version
from resay.adapters.terminal import counted
from resay.errors import ConfigurationError
from resay.plugins import Provider, Step
from resay_lab.calibration.figures import Figures, measure_figures
from resay_lab.calibration.journal_labels import LabelledEntries
from resay_lab.calibration.labels import LabelledRow, read_labels
from resay_lab.calibration.logs import match_log
from resay_lab.calibration.parameters import Fitted, fit_chain, has_bands, has_weights
from resay_lab.calibration.proposals import Proposal, nearest_recall, propose, tied_at_the_top
from resay_lab.calibration.result import Calibration, Counts
from resay_lab.calibration.runner import Outcome, Runner, outcome_of
from resay_lab.calibration.targets import Guarantee, Target
from resay_lab.calibration.thresholds import ImpossibleTargetError, fit_thresholds
from resay_lab.calibration.tradeoffs import trade_offs

_DEFAULT_RATE = 0.05


async def acalibrate(
    policy: Policy | str | PathLike[str] | Mapping[str, Any],
    labels: str | PathLike[str] | Sequence[LabelledRow] | LabelledEntries,
    *,
    targets: Sequence[Target] = (),
    guarantee: Guarantee | None = None,
    log: str | PathLike[str] | None = None,
    weights: bool = True,
    settle_error: float | None = None,
    seed: int = 0,
    bootstrap: int = 1000,
    model: str | None = None,
    provider: Provider | None = None,
    params: Mapping[str, Any] | None = None,
    concurrency: int = 4,
    done: Callable[[], object] = lambda: None,
) -> Calibration:
    """Fit a policy's thresholds to targets, and the weights of its composites to labels.

    If weights or bands are learned, one half of the responses is for them and the other for
    thresholds; a seeded draw divides the correct and the hallucinated ones alike. Thresholds then
    rest on checks with the learned parameters.

    Args:
        policy: The policy, in any form `Policy.of` takes.
        labels: A file for `read_labels`, or the result of `read_labels` or `read_journal_labels`.
        targets: The targets that the thresholds must keep, at most one for responses and one for
            sentences; empty for `default_targets`.
        guarantee: The promise to give about them; None for `probable` at 0.9.
        log: Logged verdicts to use instead of running checks; see `match_log`.
        weights: Whether to learn the weights of `ensemble` and `combination`.
        settle_error: The share of settled sentences that may be decided differently from the last
            step, to fit the bands of `settle`; None leaves the bands as they are.
        seed: The seed of the division of responses and of the bootstrap.
        bootstrap: How often responses are resampled for the intervals.
        model: The model that wrote the responses whose rows name none.
        provider: Answers the calls; None for litellm.
        params: Provider parameters, such as `api_base`.
        concurrency: The number of responses checked at the same time.
        done: Called after each response.

    Returns:
        The calibrated policy and the measured figures.

    Raises:
        ConfigurationError: The labels are invalid or too few, a row lacks what the chain needs, or
            no threshold keeps the targets.
        MissingDependencyError: numpy, or for weights scipy, is not installed.
    """
    given = Policy.of(policy)
    entries = None
    if isinstance(labels, LabelledEntries):
        entries, name, labels = labels, labels.name, labels.rows
        # Raters choose which claims of an entry they rate, so sentences get no default target.
        targets = targets or (Target("passage", "fpr", _DEFAULT_RATE),)
    elif isinstance(labels, (str, PathLike)):
        # The name becomes part of a comment of one line.
        name = "".join(c if c.isprintable() else "?" for c in Path(labels).name)
        labels = read_labels(fspath(labels), responses=log is None)
    else:
        name = "labels"
    targets = tuple(targets) or default_targets(given, labels)
    if not targets:
        raise ConfigurationError(
            "no response has a label of its own, and the policy has `threshold.sentence: null`;"
            " label whole responses, or set a threshold for sentences"
        )
    settings = _Settings(
        policy=given,
        targets=targets,
        guarantee=guarantee or Guarantee(),
        weights=weights,
        settle_error=settle_error,
        seed=seed,
    )
    runner = Runner(
        provider=provider, model=model, params=params or {}, concurrency=concurrency, done=done
    )
    if entries is not None:
        data = _from_journal(settings, entries)
    elif log is not None:
        data = await _from_log(settings, labels, log)
    else:
        data = await _check_rows(settings, labels, runner)
    return await anyio.to_thread.run_sync(partial(_result, settings, data, labels, name, bootstrap))


calibrate = sync_version(acalibrate)
"""The synchronous version of `acalibrate`."""


def default_targets(policy: Policy, rows: Sequence[LabelledRow]) -> tuple[Target, ...]:
    """Return the targets to use if none is given: at most 5 % of correct items are flagged.

    Args:
        policy: The policy.
        rows: Labelled responses. There is a target for sentences if some are labelled and the
            policy has a threshold for them.
    """
    targets: list[Target] = []
    if any(row.hallucinated is not None for row in rows):
        targets.append(Target("passage", "fpr", _DEFAULT_RATE))
    if policy.threshold.sentence is not None and any(row.sentences for row in rows):
        targets.append(Target("sentence", "fpr", _DEFAULT_RATE))
    return tuple(targets)


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of a calibration."""

    policy: Policy
    targets: tuple[Target, ...]
    guarantee: Guarantee
    weights: bool
    settle_error: float | None
    seed: int


@dataclass(frozen=True, slots=True)
class _CheckedData:
    """The checked responses that thresholds can be fitted on."""

    policy: Policy
    rows: Sequence[LabelledRow]
    verdicts: Sequence[Verdict]
    fitted: Fitted | None
    notes: tuple[str, ...]
    learned: int = 0
    not_logged: int = 0
    entries: LabelledEntries | None = None


async def _check_rows(
    settings: _Settings, rows: Sequence[LabelledRow], runner: Runner
) -> _CheckedData:
    policy, notes = settings.policy, list[str]()
    labelled = any(row.sentences for row in rows)
    weights = settings.weights and has_weights(policy)
    if weights and not labelled:
        weights = False
        notes.append("the weights are unchanged: no sentence is labelled to learn them from")
    bands = settings.settle_error is not None
    if bands and not has_bands(policy):
        raise ConfigurationError(
            "no step has bands to fit; set `settle` on one that another step follows"
        )
    if not weights and not bands:
        verdicts = await runner.check(policy, rows)
        return _CheckedData(
            policy=policy, rows=rows, verdicts=verdicts, fitted=None, notes=tuple(notes)
        )
    first, second = _halves(rows, settings.seed)
    fitted = await fit_chain(
        policy,
        first,
        runner,
        weights=weights,
        settle_error=settings.settle_error,
        targets=settings.targets,
    )
    if fitted.rows < len(first):
        notes.append(
            f"{len(first) - fitted.rows} of the {len(first)} responses to learn from are left out:"
            " a method was inconclusive on them"
        )
    verdicts = await runner.check(fitted.policy, second)
    return _CheckedData(
        policy=fitted.policy,
        rows=second,
        verdicts=verdicts,
        fitted=fitted,
        notes=tuple(notes),
        learned=len(first),
    )


async def _from_log(
    settings: _Settings, rows: Sequence[LabelledRow], log: str | PathLike[str]
) -> _CheckedData:
    _check_recorded(settings, "a log", "--from-log")
    matched = match_log(fspath(log), rows, settings.policy)
    notes = [
        f"{len(matched.rows)} of {len(rows)} labelled responses are among the {matched.logged}"
        " logged verdicts",
        *_notes_of_recorded(settings, matched.verdicts, "a log"),
    ]
    return _CheckedData(
        policy=settings.policy,
        rows=matched.rows,
        verdicts=matched.verdicts,
        fitted=None,
        notes=tuple(notes),
        not_logged=len(rows) - len(matched.rows),
    )


def _from_journal(settings: _Settings, entries: LabelledEntries) -> _CheckedData:
    _check_recorded(settings, "a journal", "--from-journal")
    counts = entries.counts
    if not counts.random:
        others: list[str] = []
        if counts.uncertain:
            others.append(f"{counts.uncertain} were drawn by uncertainty")
        if counts.unsampled:
            others.append(f"{counts.unsampled} were not drawn")
        drawn = f" ({', '.join(others)})" if others else ""
        if counts.other_chain:
            raise ConfigurationError(
                f"{counts.other_chain} labelled entries were made by another chain than this policy"
                f"'s, and none by its own{drawn}; calibrate the policy that made them"
            )
        raise ConfigurationError(
            f"no labelled entry was drawn at random{drawn}, and a guarantee needs such entries: run"
            " `resay label JOURNAL --draw 60 --by random`, and label those"
        )
    recorded = _notes_of_recorded(settings, entries.verdicts, "a journal")
    notes = (*counts.lines(), *recorded)
    return _CheckedData(
        policy=settings.policy,
        rows=entries.rows,
        verdicts=entries.verdicts,
        fitted=None,
        notes=notes,
        entries=entries,
    )


def _check_recorded(settings: _Settings, source: str, option: str) -> None:
    if settings.settle_error is not None:
        raise ConfigurationError(
            f"bands need the scores of every step, which {source} does not hold; drop"
            f" `--settle-error` or `{option}`"
        )


def _notes_of_recorded(
    settings: _Settings, verdicts: Sequence[Verdict], source: str
) -> Iterator[str]:
    if settings.weights and has_weights(settings.policy):
        yield f"the weights are unchanged: {source} does not hold the scores of the parts"
    sampling = settings.policy.sampling
    early = sum(0 < verdict.samples < sampling.max for verdict in verdicts)
    if early and sampling.confidence is not None:
        yield (
            f"{early} of the logged checks looked at fewer than {sampling.max} samples, some of"
            " them because the decision at the old thresholds was clear (`sampling.confidence`);"
            " the guarantee is then only approximate, so log with `confidence: null`"
        )


def _halves(rows: Sequence[LabelledRow], seed: int) -> tuple[list[LabelledRow], list[LabelledRow]]:
    """Divide rows into random halves, stratified by label; the second gets the odd ones out."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    order = sorted(range(len(rows)), key=lambda _: rng.random())
    first: set[int] = set()
    for label in (True, False, None):
        alike = [i for i in order if rows[i].hallucinated is label]
        first.update(alike[: len(alike) // 2])
    chosen = [row for i, row in enumerate(rows) if i in first]
    return chosen, [row for i, row in enumerate(rows) if i not in first]


def _result(
    settings: _Settings, data: _CheckedData, rows: Sequence[LabelledRow], name: str, bootstrap: int
) -> Calibration:
    recorded = [None] * len(data.rows) if data.entries is None else data.entries.recorded
    measured: list[Outcome] = []
    weights: list[float] = []
    # Entries drawn by uncertainty do not represent the others; they count in rates only, weighted.
    representative: list[Outcome] = []
    for row, verdict, entry in zip(data.rows, data.verdicts, recorded, strict=True):
        outcome = outcome_of(row, verdict)
        if outcome is None:
            continue
        measured.append(outcome)
        weights.append(1.0 if entry is None else entry.weight)
        if entry is None or entry.drawn == "random":
            representative.append(outcome)
    outcomes = tuple(representative)
    counts = Counts(
        rows=len(rows),
        learned=data.learned,
        inconclusive=len(data.rows) - len(measured),
        not_logged=data.not_logged,
        correct=sum(o.hallucinated is False for o in outcomes),
        hallucinated=sum(o.hallucinated is True for o in outcomes),
        correct_sentences=sum(o.wrong.count(False) for o in outcomes),
        hallucinated_sentences=sum(o.wrong.count(True) for o in outcomes),
    )
    threshold = _thresholds(settings, data, outcomes, counts)
    measure = partial(
        measure_figures,
        measured,
        bootstrap=bootstrap,
        seed=settings.seed,
        weights=weights,
    )
    figures = measure(threshold)
    proposals = tuple(_proposals(settings, data, outcomes, figures))
    return Calibration(
        policy=data.policy.model_copy(update={"threshold": threshold}),
        old=settings.policy,
        targets=settings.targets,
        guarantee=settings.guarantee,
        counts=counts,
        figures=figures,
        old_figures=measure(settings.policy.threshold),
        fitted=data.fitted,
        outcomes=outcomes,
        labels=name,
        seed=settings.seed,
        date=date.today().isoformat(),
        notes=(*data.notes, *_warnings(settings.targets, figures, outcomes, proposals)),
        proposals=proposals,
        feedback=None if data.entries is None else data.entries.counts,
        trade_offs=tuple(
            trade_offs(
                outcomes,
                "passage" if counts.correct else "sentence",
                settings.guarantee,
                settings.policy.threshold,
            )
        ),
    )


def _recall(target: Target, figures: Figures) -> float | None:
    recall = figures.passage_recall if target.unit == "passage" else figures.sentence_recall
    return recall.value


def _proposals(
    settings: _Settings, data: _CheckedData, outcomes: Sequence[Outcome], figures: Figures
) -> Iterator[Proposal]:
    corrects = "scores" in Step.of(data.policy.chain[-1]).needs
    for target in settings.targets:
        if target.kind == "fpr" and _recall(target, figures) == 0:
            leans = target.unit == "sentence" and not corrects
            yield from propose(
                outcomes, target, settings.guarantee, settings.policy.threshold, leans=leans
            )


def _warnings(
    targets: Sequence[Target],
    figures: Figures,
    outcomes: Sequence[Outcome],
    proposals: Sequence[Proposal],
) -> Iterator[str]:
    for target in targets:
        if _recall(target, figures) != 0:
            continue
        what = "responses" if target.unit == "passage" else "sentences"
        reason = "correct ones score as high"
        tie = tied_at_the_top(outcomes) if target.unit == "sentence" else None
        if tie is not None:
            highest, share = tie
            if share > target.rate:
                reason = (
                    f"{100 * share:.1f} % of the correct ones of a response, on average, have the"
                    f" greatest score of all, {highest:g}"
                )
        yield (
            f"{target.name} {target.rate:g} is kept only by flagging none of the hallucinated"
            f" {what}, because {reason}; allow a greater rate, label more, or take another method"
        )
        near = [str(proposal) for proposal in proposals if proposal.target.unit == target.unit]
        yield from near or [f"no {target.name} can be kept while hallucinated {what} are flagged"]


def _thresholds(
    settings: _Settings, data: _CheckedData, outcomes: Sequence[Outcome], counts: Counts
) -> Threshold:
    try:
        return fit_thresholds(
            outcomes, settings.targets, settings.guarantee, settings.policy.threshold
        )
    except ConfigurationError as error:
        hints: list[str] = []
        if isinstance(error, ImpossibleTargetError):
            recall = nearest_recall(
                outcomes, error.target, settings.guarantee, settings.policy.threshold
            )
            if recall is not None:
                hints.append(f"the nearest that can be kept is `--{error.target.name} {recall:g}`")
        if counts.inconclusive:
            left_out = counted(counts.inconclusive, "inconclusive response")
            hints.append(f"{left_out} left out")
        if data.learned:
            hints.append(
                f"{data.learned} were learned from; with `--no-weights` and without"
                " `--settle-error` thresholds rest on all"
            )
        raise ConfigurationError("; ".join([str(error), *hints])) from error
