"""Judges the verdicts on the cases: what was found, and what was flagged without reason.

A case is a line of `cases.jsonl`: `messages` in the format of chat completions, the `answer` after
them, and what is right: the `decision`, regexes of what must be flagged (`flag`) and must not
(`ok`), and the verdicts `expected`. The cases of the half `test`, and those added `later`, were
measured before anybody looked at what was wrong with them. So were those of `others`, six sets
whose authors had seen neither the method nor our cases; `new` and `near misses` are ours again.
Words need not find all: what they cannot tell for certain is a judge's to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from resay import Verdict
from support.judged_cases import Case, Judged, cases_beside


def cases() -> list[Case]:
    """Return all cases."""
    return cases_beside(__file__)


def judged(case: Case, verdict: Verdict) -> Judged:
    """Judge a verdict on a case."""
    return Judged(case, verdict.flagged, tuple(_mistakes(case, verdict)))


def _mistakes(case: Case, verdict: Verdict) -> Iterator[str]:
    answer: str = case["answer"]
    if verdict.decision not in case["decision"]:
        yield f"{verdict.decision}, not {' or '.join(case['decision'])}"
    spans = list(_flagged_spans(verdict))
    for kind in ("flag", "ok"):
        for pattern in case[kind]:
            for match in re.finditer(pattern, answer):
                inside = any(start <= match.start() and match.end() <= end for start, end in spans)
                if inside != (kind == "flag"):
                    yield f"{match[0]!r} {'not flagged' if kind == 'flag' else 'flagged'}"
    for expected in case["expected"]:
        for match in re.finditer(expected["match"], answer):
            found = _verdict_at(verdict, match.start(), match.end())
            if found != expected["verdict"] and {found, expected["verdict"]} != _ALIKE:
                yield f"{match[0]!r} {found}, not {expected['verdict']}"


# Numbers in a claim that was not done may be called either.
_ALIKE = {"not_done", "invented"}


def _flagged_spans(verdict: Verdict) -> Iterator[tuple[int, int]]:
    for claim in verdict.claims:
        yield from claim.spans_in_doubt


def _verdict_at(verdict: Verdict, start: int, end: int) -> str | None:
    around = [
        part
        for claim in verdict.claims
        for part in claim.parts
        if part.start <= start and end <= part.end
    ]
    smallest = min(around, key=lambda part: part.end - part.start, default=None)
    return smallest.verdict if smallest is not None else None
