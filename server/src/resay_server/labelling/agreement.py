"""The agreement of raters.

Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement
1960.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from resay.adapters import Decision
from resay_server.journal import (
    Feedback,
    Journal,
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two raters agree about whole entries.

    Attributes:
        raters: Their names.
        both_hallucinated: The number of entries that both call hallucinated.
        first_only: The number that only the first calls hallucinated.
        second_only: The number that only the second calls hallucinated.
        both_correct: The number that both call correct.
        unsure: The number rated by both that one is unsure of, or without a decision; left out.
    """

    raters: tuple[str, str]
    both_hallucinated: int = 0
    first_only: int = 0
    second_only: int = 0
    both_correct: int = 0
    unsure: int = 0

    @property
    def entries(self) -> int:
        """The number of entries that both have labelled."""
        return self.both_hallucinated + self.first_only + self.second_only + self.both_correct

    @property
    def agreed(self) -> int:
        """The number of entries on which they agree."""
        return self.both_hallucinated + self.both_correct

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 if they always agree, 0 if no more often than by chance.

        None if it is undefined: there are no entries, or all have the same label.
        """
        n = self.entries
        first = self.both_hallucinated + self.first_only
        second = self.both_hallucinated + self.second_only
        by_chance = first * second + (n - first) * (n - second)
        if by_chance == n * n:
            return None
        return (n * self.agreed - by_chance) / (n * n - by_chance)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        counted = {"entries": self.entries, "agreed": self.agreed, "kappa": self.kappa}
        return {**asdict(self), "raters": list(self.raters), **counted}

    def __str__(self) -> str:
        kappa = "not defined" if self.kappa is None else f"{self.kappa:.2f}"
        share = f" ({100 * self.agreed / self.entries:.1f} %)" if self.entries else ""
        first, second = (rater or "(no rater name)" for rater in self.raters)
        return (
            f"{first} and {second}: {self.agreed} of {self.entries} entries alike{share}, Cohen's"
            f" kappa {kappa}; both hallucinated {self.both_hallucinated}, both correct"
            f" {self.both_correct}, only {first} hallucinated {self.first_only}, only {second}"
            f" {self.second_only}; unsure {self.unsure}"
        )


def agreements(feedback: Iterable[Feedback], decisions: Mapping[str, Decision]) -> list[Agreement]:
    """Return how far each two raters agree, pairs with the most entries first.

    Args:
        feedback: The feedback. Claims and end users' thumbs do not count.
        decisions: The decisions of the entries' checks, by id.
    """
    by_entry: dict[str, dict[str, bool | None]] = {}
    for rating in feedback:
        if rating.claim is None and not rating.is_thumb and rating.entry_id in decisions:
            label = rating.hallucinated(decisions[rating.entry_id])
            by_entry.setdefault(rating.entry_id, {})[rating.rater] = label
    by_pair: dict[tuple[str, str], Counter[str]] = {}
    for labels in by_entry.values():
        for first, second in combinations(sorted(labels), 2):
            cell = _CELLS.get((labels[first], labels[second]), "unsure")
            by_pair.setdefault((first, second), Counter())[cell] += 1
    results = [Agreement(raters, **cells) for raters, cells in by_pair.items()]
    return sorted(results, key=lambda result: (-result.entries, result.raters))


_CELLS: Mapping[tuple[bool | None, bool | None], str] = {
    (True, True): "both_hallucinated",
    (True, False): "first_only",
    (False, True): "second_only",
    (False, False): "both_correct",
}


async def aread_agreements(journal: Journal) -> list[Agreement]:
    """Return how far the raters of a journal's entries agree.

    Raises:
        JournalError: The journal cannot be read.
    """
    feedback = await journal.feedback()
    raters: dict[str, set[str]] = {}
    for rating in feedback:
        if not rating.is_thumb:
            raters.setdefault(rating.entry_id, set()).add(rating.rater)
    decisions: dict[str, Decision] = {}
    for entry_id, names in raters.items():
        entry = await journal.get(entry_id) if len(names) > 1 else None
        if entry is not None:
            decisions[entry.id] = entry.decision
    return agreements(feedback, decisions)
