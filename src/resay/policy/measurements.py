"""How the chains that `chain: auto` chooses from did on recorded answers.

`python -m research frontier` prints the table. Chains are compared by ROC-AUC on the data sets on
which all of them could be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean

CALL_S = 2.0
"""Assumed seconds for one round of calls; the calls of a round are sent together."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements of a chain.

    Attributes:
        roc_auc: ROC-AUC of its sentence scores, in percent.
        calls: Samples and judge's answers per answer, on average.
        rounds: Rounds of calls that the check waits for after the answer, on average.
        ms: Milliseconds of its own processor time per answer, on average.
    """

    roc_auc: float
    calls: float
    rounds: float
    ms: float

    @property
    def latency_s(self) -> float:
        """The estimated seconds that the chain adds to the answer."""
        return self.rounds * CALL_S + self.ms / 1000


MEASUREMENTS: Mapping[str, Mapping[str, Measurements]] = {
    "long": {
        "ngram, 2": Measurements(58.54, 2.0, 0.0, 13.5),
        "ngram, 5": Measurements(66.01, 5.0, 0.0, 23.5),
        "facts, 2": Measurements(75.83, 2.0, 0.0, 19.0),
        "facts, leaning 0.5, 1": Measurements(77.06, 1.0, 0.0, 14.1),
        "facts, leaning 0.5, 2": Measurements(80.78, 2.0, 0.0, 19.6),
        "facts, leaning 0.5, 3": Measurements(82.97, 3.0, 0.0, 24.0),
        "facts, leaning 0.5, 5": Measurements(84.37, 5.0, 0.0, 34.0),
        "facts, leaning 0.5, 10": Measurements(86.07, 10.0, 0.0, 59.5),
        "prompt, 2": Measurements(82.94, 4.0, 1.0, 22.3),
        "prompt, 5": Measurements(86.37, 10.0, 3.0, 42.3),
        "prompt, leaning 0.5, 2": Measurements(83.4, 4.0, 1.0, 24.0),
        "prompt, leaning 0.5, 5": Measurements(86.72, 10.0, 3.0, 41.8),
        "prompt, leaning 0.5, 10": Measurements(87.66, 18.23, 7.17, 64.2),
        "facts > 0.9, prompt, 5": Measurements(86.37, 10.0, 1.0, 50.1),
        "facts + prompt, 1": Measurements(74.05, 2.0, 1.0, 16.5),
        "facts + prompt, 2": Measurements(80.54, 4.0, 1.0, 28.6),
        "facts + prompt, 3": Measurements(82.82, 6.0, 1.0, 36.7),
        "facts + prompt, 5": Measurements(84.78, 10.0, 1.0, 50.1),
        "facts + prompt, 10": Measurements(86.6, 20.0, 1.0, 83.8),
    },
    "short": {
        "ngram, 2": Measurements(78.7, 2.0, 0.0, 2.4),
        "ngram, 5": Measurements(80.04, 5.0, 0.0, 3.9),
        "facts, 2": Measurements(81.18, 2.0, 0.0, 3.1),
        "facts, leaning 0.5, 1": Measurements(77.16, 1.0, 0.0, 2.6),
        "facts, leaning 0.5, 2": Measurements(81.18, 2.0, 0.0, 3.3),
        "facts, leaning 0.5, 3": Measurements(81.24, 3.0, 0.0, 4.1),
        "facts, leaning 0.5, 5": Measurements(80.15, 5.0, 0.0, 4.7),
        "facts, leaning 0.5, 10": Measurements(81.07, 10.0, 0.0, 7.9),
        "prompt, 2": Measurements(62.38, 4.0, 1.0, 3.8),
        "prompt, 5": Measurements(63.33, 6.99, 1.5, 5.4),
        "prompt, leaning 0.5, 2": Measurements(62.38, 4.0, 1.0, 3.7),
        "prompt, leaning 0.5, 5": Measurements(63.33, 6.99, 1.5, 5.2),
        "prompt, leaning 0.5, 10": Measurements(63.26, 8.53, 2.02, 6.3),
        "facts > 0.9, prompt, 5": Measurements(63.32, 8.48, 1.0, 6.9),
        "facts + prompt, 1": Measurements(77.89, 2.0, 1.0, 3.7),
        "facts + prompt, 2": Measurements(79.8, 4.0, 1.0, 4.5),
        "facts + prompt, 3": Measurements(80.08, 6.0, 1.0, 5.5),
        "facts + prompt, 5": Measurements(79.14, 10.0, 1.0, 7.4),
        "facts + prompt, 10": Measurements(79.93, 20.0, 1.0, 12.2),
    },
}
"""Measurements by kind of answer, from `python -m research frontier`, which notes them too."""


@cache
def measurements_of(answers: str) -> Mapping[str, Measurements]:
    """Return the measurements of all chains.

    Args:
        answers: The kind of answers: `long`, `short`, or `any` for the means of both.
    """
    if answers in MEASUREMENTS:
        return MEASUREMENTS[answers]
    means: dict[str, Measurements] = {}
    for name in MEASUREMENTS["long"]:
        measured = [table[name] for table in MEASUREMENTS.values()]
        means[name] = Measurements(
            roc_auc=fmean(m.roc_auc for m in measured),
            calls=fmean(m.calls for m in measured),
            rounds=fmean(m.rounds for m in measured),
            ms=fmean(m.ms for m in measured),
        )
    return means
