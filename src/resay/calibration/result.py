"""What a calibration found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from resay.calibration.figures import Figure, Figures
from resay.calibration.fitting import Fitted
from resay.calibration.guarantees import Guarantee
from resay.calibration.outcomes import Outcome
from resay.calibration.targets import Target
from resay.calibration.writing import Change, changed_text
from resay.policy import Policy, Threshold

__all__ = ["Calibration", "Counts", "percent"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many responses a calibration looked at.

    Attributes:
        rows: How many are labelled.
        learned: How many of them weights or bands were learned from.
        inconclusive: How many of the others have a check that is inconclusive, incomplete or
            skipped.
        not_logged: How many of the others are not in the log, where there is one.
        correct: Of those the thresholds rest on, how many are labelled as correct.
        hallucinated: How many as hallucinated.
        correct_sentences: How many of their sentences are labelled as correct.
        hallucinated_sentences: How many as hallucinated.
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
    """What a calibration found.

    Attributes:
        policy: The policy with what was found.
        old: The policy as it was.
        targets: What the thresholds keep.
        guarantee: What is promised of it.
        counts: How many responses it rests on.
        figures: How well the thresholds do on the responses they were found with.
        old_figures: How well the old ones would do, with the same scores.
        fitted: What was learned besides thresholds; None where nothing was.
        outcomes: The scores and labels the thresholds rest on. They hold no text.
        labels: The name of the labels file.
        seed: What responses were divided by.
        date: When, as in 2025-01-31.
        notes: What a reader has to know.
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

    def promises(self) -> list[str]:
        """Return what is promised, one line for each target."""
        return [f"{self.guarantee}, {target}" for target in self.targets]

    def write_into(self, text: str, *, env: Mapping[str, str] | None = None) -> str:
        """Return a policy file's text with what was found.

        Everything else stays as it is, byte for byte. A comment above each changed key says what
        was measured; it takes the place of the one of an earlier calibration.

        Args:
            text: The text of the policy that was calibrated.
            env: What `${NAME}` stands for; None for the environment variables.

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
        for place in sorted({*fitted.weighted, *fitted.banded}):
            what = [
                *(["weights"] if place in fitted.weighted else []),
                *(["bands"] if place in fitted.banded else []),
            ]
            yield Change(
                ("chain", place),
                (
                    f"calibrated {self.date} from {self.labels}: {' and '.join(what)} learned from"
                    f" {fitted.rows} responses that the thresholds do not rest on",
                ),
            )

    def _comment(self) -> tuple[str, ...]:
        counts, found = self.counts, self.figures
        used = counts.correct + counts.hallucinated
        lines = [
            f"calibrated {self.date} from {self.labels}: {counts.rows} labelled responses,"
            f" thresholds rest on {used} ({counts.correct} correct, {counts.hallucinated}"
            f" hallucinated); {counts.inconclusive} inconclusive left out"
        ]
        lines += [f"target: {promise}" for promise in self.promises()]
        units = {target.unit for target in self.targets}
        if "passage" in units:
            lines.append(_measured("responses", found.passage_fpr, found.passage_recall))
        if "sentence" in units:
            lines.append(_measured("sentences", found.sentence_fpr, found.sentence_recall))
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of single responses, as JSON-ready values."""
        fitted = self.fitted
        return {
            "date": self.date,
            "labels": self.labels,
            "seed": self.seed,
            "targets": [asdict(target) | {"text": str(target)} for target in self.targets],
            "guarantee": asdict(self.guarantee) | {"text": str(self.guarantee)},
            "counts": asdict(self.counts),
            "threshold": _limits(self.policy.threshold),
            "old_threshold": _limits(self.old.threshold),
            "figures": asdict(self.figures),
            "old_figures": asdict(self.old_figures),
            "learned": None
            if fitted is None
            else {
                "responses": fitted.rows,
                "weights": list(fitted.weighted),
                "bands": list(fitted.banded),
                "share_settled": list(fitted.share_settled),
                "chain": [
                    step.model_dump(mode="json", exclude_unset=True) for step in self.policy.chain
                ],
            },
            "notes": list(self.notes),
        }


def _limits(threshold: Threshold) -> dict[str, float | None]:
    return {"passage": threshold.passage, "sentence": threshold.sentence}


def _measured(what: str, fpr: Figure, recall: Figure) -> str:
    return (
        f"measured on them: {percent(fpr)} of the correct {what} flagged,"
        f" {percent(recall)} of the hallucinated"
    )


def percent(figure: Figure) -> str:
    """Return a figure for readers: `4.2 % (1.0 to 8.1)`."""
    if figure.value is None:
        return "?"
    text = f"{100 * figure.value:.1f} %"
    if figure.low is None or figure.high is None:
        return text
    return f"{text} ({100 * figure.low:.1f} to {100 * figure.high:.1f})"
