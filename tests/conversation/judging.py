"""Judges the verdicts on the cases: what was found, and what was flagged without reason.

A case is a line of `cases.jsonl`: the `messages` of a conversation in the format of chat
completions, the `answer` after them, regexes of what must be flagged (`flag`), and the number of
the earlier answer that it contradicts (`turn`). All but those of the half `dev` were measured
before anybody looked at what was wrong with them, one after the other: `test`, `later`, `fresh`,
`last`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resay import Verdict

Case = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """A verdict on a case, judged."""

    case: Case
    flagged: bool
    mistakes: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing in the case is to be flagged."""
        return not self.case["flag"]


def cases() -> list[Case]:
    """Return all cases."""
    lines = Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def judged(case: Case, verdict: Verdict) -> Judged:
    """Judge a verdict on a case."""
    return Judged(case, verdict.flagged, tuple(_mistakes(case, verdict)))


def figures(results: Iterable[Judged]) -> dict[str, str]:
    """Return how many contradictions were found, and how many clean answers were flagged."""
    results = list(results)
    wrong = [result for result in results if not result.is_clean]
    clean = [result for result in results if result.is_clean]
    return {
        "right": f"{sum(not result.mistakes for result in results)} of {len(results)}",
        "found": f"{sum(result.flagged for result in wrong)} of {len(wrong)}",
        "false alarms": f"{sum(result.flagged for result in clean)} of {len(clean)}",
    }


def _mistakes(case: Case, verdict: Verdict) -> Iterator[str]:
    if verdict.flagged != bool(case["flag"]):
        yield f"{verdict.decision}, {'not flagged' if case['flag'] else 'without reason'}"
        return
    spans = [span for claim in verdict.claims for span in claim.spans_in_doubt]
    answer: str = case["answer"]
    for pattern in case["flag"]:
        for match in re.finditer(pattern, answer):
            if not any(start <= match.start() and match.end() <= end for start, end in spans):
                yield f"{match[0]!r} not flagged"
    for claim in verdict.claims:
        contradiction = claim.contradicted_by
        if contradiction is not None and contradiction.index + 1 != case["turn"]:
            yield f"answer {contradiction.index + 1}, not {case['turn']}"
