"""What can be measured on PHD, and what its paper published of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from resay.benchmarks import entries
from resay.benchmarks.entries import Entry
from resay.benchmarks.phd_recorded import TURNS

__all__ = ["DOMAINS", "ENTRIES", "Baseline", "Domain", "choose", "published"]

Domain = Literal["high", "medium", "low"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
"""How much is found on the web about what a passage is about."""


class Baseline(Entry):
    """A row that no scorer of ours computes."""

    __slots__ = ()

    @property
    def needs_judge(self) -> bool:
        """Nobody is asked."""
        return False


ENTRIES: tuple[Entry, ...] = (
    Baseline("all_false", "baseline", {}),
    Entry("cross_examination", "revised", {"turns": TURNS}),
    Baseline("bertscore", "roberta-large", {}),
    Entry("zero_shot", "per_passage", {}),
    Entry("reverse_validation", "question", {"variant": "question"}),
    Entry("reverse_validation", "matching", {"variant": "matching"}),
    Entry("fibe", "exam", {}, live_only=True),
    Entry("direct_question", "per_sentence", {}, live_only=True),
    Entry("prompt", "per_pair", {"mode": "per_pair"}, live_only=True),
    Entry("ngram", "maximum-1", {"pool": "maximum", "n": 1, "counted": "response"}),
)
"""What can be measured; those of the paper first, in its order."""

# Table 3: F1, precision and recall in percent, for each domain.
_TABLE_3: Mapping[str, Mapping[Domain | Literal["all"], tuple[float, float, float]]] = {
    "all_false:baseline": {
        "all": (41.3, 26.0, 100.0),
        "high": (24.6, 14.0, 100.0),
        "medium": (38.7, 24.0, 100.0),
        "low": (57.1, 40.0, 100.0),
    },
    "cross_examination:revised": {
        "all": (25.5, 75.0, 15.4),
        "high": (11.1, 25.0, 7.1),
        "medium": (34.5, 100.0, 20.8),
        "low": (25.5, 85.7, 15.0),
    },
    "bertscore:roberta-large": {
        "all": (41.1, 26.0, 97.4),
        "high": (23.6, 13.5, 92.8),
        "medium": (39.7, 24.7, 100.0),
        "low": (56.1, 39.4, 97.5),
    },
    "zero_shot:per_passage": {
        "all": (0.0, 0.0, 0.0),
        "high": (0.0, 0.0, 0.0),
        "medium": (0.0, 0.0, 0.0),
        "low": (0.0, 0.0, 0.0),
    },
    "reverse_validation:question": {
        "all": (52.3, 40.7, 73.1),
        "high": (33.3, 25.5, 50.0),
        "medium": (53.3, 44.4, 66.6),
        "low": (58.6, 44.7, 85.0),
    },
    "reverse_validation:matching": {
        "all": (59.1, 48.0, 76.9),
        "high": (41.9, 31.0, 64.3),
        "medium": (64.2, 58.6, 70.8),
        "low": (63.6, 50.7, 85.0),
    },
}
# Table 5: tokens and seconds per passage, over all domains.
_TABLE_5: Mapping[str, tuple[float, float]] = {
    "cross_examination:revised": (5974.5, 29.48),
    "bertscore:roberta-large": (435.7, 122.4),
    "reverse_validation:question": (297.3, 2.65),
    "reverse_validation:matching": (510.4, 7.25),
}


def choose(wanted: str) -> tuple[Entry, ...]:
    """Find the entries the user names.

    Args:
        wanted: Names separated by commas; `all` stands for every method of the paper.

    Returns:
        The entries in the order named, each once.

    Raises:
        ConfigurationError: A name is unknown, or there is none.
    """
    names = (",".join(_TABLE_3) if name.strip() == "all" else name for name in wanted.split(","))
    return entries.choose(ENTRIES, ",".join(names))


def published(entry: Entry, domain: Domain | Literal["all"]) -> Mapping[str, float] | None:
    """Return what the paper says of an entry, under the keys of its row."""
    if entry.name not in _TABLE_3:
        return None
    f1, precision, recall = _TABLE_3[entry.name][domain]
    figures = {"f1": f1, "precision": precision, "recall": recall}
    if domain == "all" and entry.name in _TABLE_5:
        tokens, seconds = _TABLE_5[entry.name]
        return {**figures, "tokens": tokens, "seconds": seconds}
    return figures
