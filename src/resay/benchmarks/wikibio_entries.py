"""What can be measured on the WikiBio GPT-3 data set, with what the papers report."""

from __future__ import annotations

from collections.abc import Sequence

from resay.benchmarks.corrections import Correction
from resay.benchmarks.entries import Entry
from resay.benchmarks.wikibio_recorded import Recorded

__all__ = ["ENTRIES"]

# SelfCheckGPT, Table 7: AUC-PR of NonFact, NonFact* and Factual, then Pearson's and Spearman's
# correlation.
_TABLE_7 = {
    "average-1": (81.52, 40.33, 41.76, 40.68, 39.22),
    "average-2": (82.94, 44.38, 52.81, 58.84, 58.11),
    "average-3": (83.56, 44.64, 53.99, 62.21, 63.00),
    "average-4": (83.80, 43.55, 54.25, 61.98, 63.64),
    "average-5": (83.45, 42.31, 53.98, 60.68, 62.96),
    "maximum-1": (85.63, 41.04, 58.47, 64.71, 64.91),
    "maximum-2": (85.26, 39.29, 58.29, 62.48, 66.04),
    "maximum-3": (84.97, 37.10, 57.08, 57.34, 60.49),
    "maximum-4": (84.49, 36.37, 55.96, 55.77, 57.25),
    "maximum-5": (84.12, 36.19, 54.89, 54.84, 55.97),
}
# SelfCheckGPT, Table 2. The judge of prompt was ChatGPT.
_TABLE_2 = {
    "bertscore": (81.96, 45.96, 44.23, 58.18, 55.90),
    "nli": (92.50, 45.17, 66.08, 74.14, 73.78),
    "prompt": (93.42, 53.19, 67.09, 78.32, 78.30),
}
_FIGURES = ("nonfact", "nonfact_star", "factual", "pearson", "spearman")
# FIBE, Table 1, without NonFact*: theirs is over all passages.
_TABLE_1_FIBE = {"nonfact": 91.72, "factual": 66.40, "roc_auc": 81.06}


def _ngram(variant: str, paper: Sequence[float]) -> Entry:
    pool, n = variant.split("-")
    settings = {"pool": pool, "n": int(n), "counted": "response"}
    return Entry("ngram", variant, settings, dict(zip(_FIGURES, paper, strict=True)))


def _table_2(method: str) -> dict[str, float]:
    return dict(zip(_FIGURES, _TABLE_2[method], strict=True))


_NGRAM = {variant: _ngram(variant, paper) for variant, paper in _TABLE_7.items()}
_PROMPT = Entry("prompt", "per_pair", {"mode": "per_pair"}, _table_2("prompt"))
# Whatever the model's name: that of the paper was trained with the sentence first.
_NLI = {"order": "sentence_first"}

ENTRIES: tuple[Entry, ...] = (
    *_NGRAM.values(),
    Entry("ngram", "default", {}, extra=True),
    _PROMPT,
    Entry("prompt", "per_sample", {"mode": "per_sample"}, extra=True, live_only=True),
    Entry("fibe", "published", {"answers": 5, "temperature": 0.5}, _TABLE_1_FIBE, live_only=True),
    Entry("direct_question", "yes_no", {}, live_only=True),
    Entry("direct_question", "logprobs", {"logprobs": True}, extra=True, live_only=True),
    Entry("nli", "passage", {"premise": "passage", **_NLI}, _table_2("nli")),
    Entry("nli", "sentences", {"premise": "sentences", **_NLI}, extra=True),
    Recorded("nli", "recorded", {}, _table_2("nli"), extra=True),
    Entry("bertscore", "rescaled", {}, _table_2("bertscore")),
    Recorded("bertscore", "recorded", {}, _table_2("bertscore"), extra=True),
    Correction("snowballing", "prompt", {}, base=_PROMPT),
    Correction("snowballing", "ngram", {}, base=_NGRAM["maximum-1"]),
    Correction("snowballing", "ngram-average", {}, extra=True, base=_NGRAM["average-1"]),
)
"""What can be measured."""
