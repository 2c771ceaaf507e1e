"""The result of a calibration: the new policy, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from resay import Policy
from resay.adapters import Threshold
from resay.adapters.terminal import counted
from resay_lab.calibration.drift import distribution_lines
from resay_lab.calibration.figures import Figure, Figures, percent
from resay_lab.calibration.journal_labels import FeedbackCounts
from resay_lab.calibration.parameters import Fitted
from resay_lab.calibration.policy_text import Change, changed_text
from resay_lab.calibration.proposals import Proposal
from resay_lab.calibration.runner import Outcome
from resay_lab.calibration.targets import Guarantee, Target
from resay_lab.calibration.tradeoffs import TradeOff


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of responses in a calibration.

    Attributes:
        rows: Labelled responses.
        learned: Those of them that weights or bands were learned from.
        inconclusive: Those of the others whose check is inconclusive, incomplete or skipped.
        not_logged: Those of the others that are not in the log, if there is one.
        correct: Those that thresholds rest on and that are labelled correct.
        hallucinated: The same, labelled hallucinated.
        correct_sentences: The sentences of the latter two that are labelled correct.
        hallucinated_sentences: The same, labelled hallucinated.
    """

    rows: int
    learned: int
    inconclusive: int
    not_logged: int
    correct: int
    hallucinated: int
    correct_sentences: int
    hallucinated_sentences: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration.

    Attributes:
        policy: The calibrated policy.
        old: The policy before the calibration.
        targets: The targets that the thresholds keep.
        guarantee: The promise about the targets.
        counts: The numbers of responses it rests on.
        figures: How well the thresholds perform on the responses they were fitted on.
        old_figures: How well the old ones would perform, with the same scores.
        fitted: The parameters learned besides thresholds; None if there are none.
        outcomes: The scores and labels the thresholds rest on. They contain no text.
        labels: The name of the labels file.
        seed: The seed of the division of responses and of the bootstrap.
        date: The date, as in 2025-01-31.
        notes: Remarks for the reader.
        proposals: Achievable alternatives to targets that are kept only by flagging nothing.
        feedback: The numbers of a journal's entries by use, if labels are from a journal.
        trade_offs: What is caught for the false alarms that one accepts.
    """

    policy: Policy
    old: Policy
    targets: tuple[Target, ...]
    guarantee: Guarantee
    counts: Counts
    figures: Figures
    old_figures: Figures
    fitted: Fitted | None
    outcomes: tuple[Outcome, ...]
    labels: str
    seed: int
    date: str
    notes: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    feedback: FeedbackCounts | None = None
    trade_offs: tuple[TradeOff, ...] = ()

    def warnings(self) -> list[str]:
        """Return what the new thresholds do worse than the old ones: catch fewer hallucinations."""
        before, now = self.flagged(True)
        if now < before:
            total = self.counts.hallucinated
            return [
                f"the new thresholds catch {now} of the {total} hallucinated responses, and the"
                f" policy as it is catches {before}{self._remedy(before / total)}"
            ]
        old, new = self.old_figures.sentence_recall.value, self.figures.sentence_recall.value
        if now == before and old is not None and new is not None and new < old:
            return [
                f"the new thresholds catch {100 * new:.0f} % of the hallucinated sentences, and the"
                f" policy as it is catches {100 * old:.0f} %"
            ]
        return []

    def _remedy(self, caught: float) -> str:
        """Return the smallest rate of false alarms at which at least so much is caught."""
        for trade_off in self.trade_offs:
            if trade_off.caught is not None and trade_off.caught >= caught:
                percent = f"{100 * trade_off.target.rate:g}%"
                option = (
                    "--false-alarms" if trade_off.target.unit == "passage" else "--sentence-fpr"
                )
                return f"; with {option} {percent} they catch {100 * trade_off.caught:.0f} %"
        return ""

    def flagged(self, wrong: bool) -> tuple[int, int]:
        """Return how many responses the old thresholds flag, and how many the new ones do.

        Args:
            wrong: Whether to count responses labelled hallucinated rather than correct, of those
                that the thresholds rest on.
        """
        labelled = [outcome for outcome in self.outcomes if outcome.hallucinated is wrong]
        old, new = self.old.threshold, self.policy.threshold
        return sum(o.flagged(old) for o in labelled), sum(o.flagged(new) for o in labelled)

    def promises(self) -> list[str]:
        """Return the promises, one line for each target."""
        return [f"{self.guarantee}, {target}" for target in self.targets]

    def write_into(self, text: str, *, env: Mapping[str, str] | None = None) -> str:
        """Return a policy file's text with the calibrated values.

        Everything else stays as it is, byte for byte. A comment above each changed key describes
        the measurement; it replaces the one of an earlier calibration.

        Args:
            text: The text of the policy that was calibrated.
            env: The values of `${NAME}`; None for the environment variables.

        Raises:
            ConfigurationError: The text is that of another policy, or is written in a way that
                cannot be changed in place, as with anchors shared by several keys.
        """
        return changed_text(text, self.old, self.policy, list(self._changes()), env=env)

    def _changes(self) -> Iterator[Change]:
        yield Change(("threshold",), self._comment())
        fitted = self.fitted
        if fitted is None:
            return
        for index in sorted({*fitted.weighted, *fitted.banded}):
            learned: list[str] = []
            if index in fitted.weighted:
                learned.append("weights")
            if index in fitted.banded:
                learned.append("bands")
            line = (
                f"calibrated {self.date} from {self.labels}: {' and '.join(learned)} learned from"
                f" {counted(fitted.rows, 'response')} that the thresholds do not rest on"
            )
            yield Change(path=("chain", index), comment=(line,))

    def _comment(self) -> tuple[str, ...]:
        counts, figures = self.counts, self.figures
        used = counts.correct + counts.hallucinated
        responses = counted(counts.rows, "labelled response")
        lines = [
            f"calibrated {self.date} from {self.labels}: {responses},"
            f" thresholds rest on {used} ({counts.correct} correct, {counts.hallucinated}"
            f" hallucinated); {counts.inconclusive} inconclusive left out"
        ]
        lines += [f"target: {promise}" for promise in self.promises()]
        units = {target.unit for target in self.targets}
        feedback = self.feedback
        weighted = feedback is not None and feedback.uncertain > 0
        on = f"{self.counts.rows} that were drawn, by their weights" if weighted else "them"
        if "passage" in units:
            lines.append(_measured(on, "responses", figures.passage_fpr, figures.passage_recall))
        if "sentence" in units:
            lines.append(_measured(on, "sentences", figures.sentence_fpr, figures.sentence_recall))
        highest = (outcome.highest for outcome in self.outcomes)
        lines += distribution_lines(
            (outcome.score for outcome in self.outcomes),
            (score for score in highest if score is not None),
        )
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of single responses, as JSON-ready values."""
        correct_before, correct_now = self.flagged(False)
        hallucinated_before, hallucinated_now = self.flagged(True)
        learned: dict[str, Any] | None = None
        if self.fitted is not None:
            chain = self.policy.chain
            learned = {
                "responses": self.fitted.rows,
                "weights": list(self.fitted.weighted),
                "bands": list(self.fitted.banded),
                "share_settled": list(self.fitted.share_settled),
                "chain": [step.model_dump(mode="json", exclude_unset=True) for step in chain],
            }
        return {
            "date": self.date,
            "labels": self.labels,
            "seed": self.seed,
            "targets": [asdict(target) | {"text": str(target)} for target in self.targets],
            "guarantee": asdict(self.guarantee) | {"text": str(self.guarantee)},
            "counts": asdict(self.counts),
            "flagged": {
                "correct": {"before": correct_before, "now": correct_now},
                "hallucinated": {"before": hallucinated_before, "now": hallucinated_now},
            },
            "feedback": None if self.feedback is None else asdict(self.feedback),
            "threshold": _limits(self.policy.threshold),
            "old_threshold": _limits(self.old.threshold),
            "figures": asdict(self.figures),
            "old_figures": asdict(self.old_figures),
            "learned": learned,
            "proposals": [
                {
                    "target": asdict(proposal.target),
                    "threshold": _limits(proposal.threshold),
                    "recall": proposal.recall,
                    "lean": proposal.lean,
                }
                for proposal in self.proposals
            ],
            "trade_offs": [
                {
                    "accepted": trade_off.target.rate,
                    "unit": trade_off.target.unit,
                    "caught": trade_off.caught,
                    "false_alarms": trade_off.false_alarms,
                    "threshold": None
                    if trade_off.threshold is None
                    else _limits(trade_off.threshold),
                    "missing_labels": trade_off.missing,
                }
                for trade_off in self.trade_offs
            ],
            "warnings": self.warnings(),
            "notes": list(self.notes),
        }


def _limits(threshold: Threshold) -> dict[str, float | None]:
    return {"passage": threshold.passage, "sentence": threshold.sentence}


def _measured(on: str, what: str, fpr: Figure, recall: Figure) -> str:
    return (
        f"measured on {on}: {percent(fpr)} of the correct {what} flagged,"
        f" {percent(recall)} of the hallucinated"
    )
