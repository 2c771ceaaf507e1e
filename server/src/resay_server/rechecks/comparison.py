"""The verdicts of two sides on the same answers: where they differ, and which is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from resay import Verdict
from resay.adapters import Decision
from resay_server.journal import Entry

# A smaller difference is hardly visible.
_CHANGED_SCORE = 0.05


@dataclass(frozen=True, slots=True)
class ComparedAnswer:
    """An answer with two verdicts on it.

    Attributes:
        entry: The entry.
        first: The verdict of the first side.
        second: The verdict of the second side.
        hallucinated: Whether people say that the answer is hallucinated; None without a label.
    """

    entry: Entry
    first: Verdict
    second: Verdict
    hallucinated: bool | None = None

    @property
    def differs(self) -> bool:
        """Whether the decisions differ."""
        return self.first.decision != self.second.decision

    @property
    def score_change(self) -> float | None:
        """By how much the second score is higher; None if one of them is missing."""
        if self.first.score is None or self.second.score is None:
            return None
        return self.second.score - self.first.score

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, without text."""
        return {
            "id": self.entry.id,
            "first": {"decision": self.first.decision, "score": self.first.score},
            "second": {"decision": self.second.decision, "score": self.second.score},
            "hallucinated": self.hallucinated,
        }


@dataclass(frozen=True, slots=True)
class SideFigures:
    """What one side decides, and how far the labels agree.

    Attributes:
        name: The side: a policy, or what is recorded.
        decisions: The number of answers with each decision.
        labelled: The number of labelled answers.
        precision: The share of hallucinated among the labelled answers that it flags; None if it
            flags none of them.
        recall: The share of flagged among the hallucinated answers; None if none are.
        calls: The calls that its checks took.
        cost_usd: Their cost in US dollars; None if unknown.
    """

    name: str
    decisions: Counter[Decision]
    labelled: int
    precision: float | None
    recall: float | None
    calls: int
    cost_usd: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "name": self.name,
            "decisions": dict(self.decisions),
            "labelled": self.labelled,
            "precision": self.precision,
            "recall": self.recall,
            "calls": self.calls,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdicts of two sides on the same answers.

    Attributes:
        names: The names of the sides.
        answers: The answers, each with both verdicts.
        left_out: Why other answers could not be compared, with their numbers.
    """

    names: tuple[str, str]
    answers: Sequence[ComparedAnswer]
    left_out: Counter[str] = field(default_factory=Counter[str])

    def flagged(self, *, first: bool, second: bool) -> int:
        """Return the number of answers that each side flags or does not flag.

        Args:
            first: Whether the first side flags them.
            second: Whether the second side flags them.
        """
        sides = [(answer.first.flagged, answer.second.flagged) for answer in self.answers]
        return sides.count((first, second))

    @property
    def disagreements(self) -> list[ComparedAnswer]:
        """The answers with different decisions, those with the largest change of score first."""
        differing = [answer for answer in self.answers if answer.differs]
        return sorted(differing, key=lambda answer: -abs(answer.score_change or 0.0))

    @property
    def hallucinated(self) -> int:
        """The number of answers that are labelled as hallucinated."""
        return sum(answer.hallucinated is True for answer in self.answers)

    @property
    def changed_scores(self) -> int:
        """The number of answers whose scores differ visibly."""
        changes = [answer.score_change for answer in self.answers]
        return sum(change is not None and abs(change) >= _CHANGED_SCORE for change in changes)

    @property
    def mean_change(self) -> float | None:
        """The mean change of the scores; None without scores."""
        changes = [answer.score_change for answer in self.answers]
        known = [change for change in changes if change is not None]
        return sum(known) / len(known) if known else None

    @property
    def sides(self) -> tuple[SideFigures, SideFigures]:
        """What each side decides."""
        labels = [answer.hallucinated for answer in self.answers]
        first = [answer.first for answer in self.answers]
        second = [answer.second for answer in self.answers]
        return (
            _figures(self.names[0], first, labels),
            _figures(self.names[1], second, labels),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, without text."""
        return {
            "answers": len(self.answers),
            "flagged": {
                "both": self.flagged(first=True, second=True),
                "first_only": self.flagged(first=True, second=False),
                "second_only": self.flagged(first=False, second=True),
                "neither": self.flagged(first=False, second=False),
            },
            "mean_score_change": self.mean_change,
            "changed_scores": self.changed_scores,
            "sides": [side.to_dict() for side in self.sides],
            "left_out": dict(self.left_out),
            "disagreements": [answer.to_dict() for answer in self.disagreements],
        }


def _figures(name: str, verdicts: Sequence[Verdict], labels: Sequence[bool | None]) -> SideFigures:
    labelled = [
        (verdict.flagged, label)
        for verdict, label in zip(verdicts, labels, strict=True)
        if label is not None
    ]
    right = labelled.count((True, True))
    flagged = right + labelled.count((True, False))
    hallucinated = right + labelled.count((False, True))
    costs = [verdict.usage.cost_usd for verdict in verdicts]
    known_costs = [cost for cost in costs if cost is not None]
    return SideFigures(
        name=name,
        decisions=Counter(verdict.decision for verdict in verdicts),
        labelled=len(labelled),
        precision=right / flagged if flagged else None,
        recall=right / hallucinated if hallucinated else None,
        calls=sum(verdict.usage.calls for verdict in verdicts),
        cost_usd=sum(known_costs) if len(known_costs) == len(costs) else None,
    )
