"""Judges the verdicts on the cases: what was found, and what was flagged without reason.

A case is a line of `cases.jsonl`: the `messages` of a conversation in the format of chat
completions, the `answer` after them, regexes of what must be flagged (`flag`), and the number of
the earlier answer that it contradicts (`turn`). The halves `test`, `later`, `fresh`, `last` and
`everyday` were measured before anybody looked at what was wrong with them, in this order; `dev`
and `reworded` were not. Answers in `everyday` and `reworded` repeat what was said in other words,
as models do; some are contradictions that only a judge can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from resay import Verdict
from support.judged_cases import Case, Judged, cases_beside

POLICY: Mapping[str, Any] = {
    "chain": [{"method": "facts", "evidence": "conversation"}],
    "cache": {"store": "none"},
}


def cases() -> list[Case]:
    """Return all cases."""
    return cases_beside(__file__)


def judged(case: Case, verdict: Verdict) -> Judged:
    """Judge a verdict on a case."""
    return Judged(case, verdict.flagged, tuple(_mistakes(case, verdict)))


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
