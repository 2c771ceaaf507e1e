"""How well answers are checked against documents, on the cases of `grounded_cases.jsonl`.

Those of `grounded_blind.jsonl` were written by somebody who had not seen how they are checked.

A case has an answer, its documents, and what must and must not be flagged in it. Half of the
answers are right. Each case has a kind: two values swapped, a sentence that needs two documents, a
number computed from documents, and so on.

By words, no model is called. The judge is an ideal one, right about all that it is asked, so that
what is wrong then is Resay's own doing. An answer counts as flagged if any of it is; it is right if
all that must be flagged is, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from resay import Guard, Request, Verdict
from resay.plugins import Completion, Completions
from resay.testing.tasks import documents_in, find_task, items_in
from resay_lab.benchmarks.table import Column, ResultTable, Row

CASES = Path(__file__).with_name("grounded_cases.jsonl")
BLIND_CASES = Path(__file__).with_name("grounded_blind.jsonl")

Checker = Literal["words", "judge"]
CHECKERS: tuple[Checker, ...] = ("words", "judge")

COLUMNS = (
    Column("checker", "checked by"),
    Column("kind", "kind"),
    Column("answers", "answers", 0),
    Column("right", "right", 0),
    Column("precision", "precision %", 1),
    Column("recall", "recall %", 1),
)


@dataclass(frozen=True, slots=True)
class Case:
    """An answer from documents.

    Attributes:
        id: Its name.
        lang: Its language.
        kind: What is hard about it.
        question: The question.
        documents: The documents.
        answer: The answer.
        flag: Patterns of what must be flagged in it; none if it is right.
        ok: Patterns of what must not be flagged.
    """

    id: str
    lang: str
    kind: str
    question: str
    documents: tuple[str, ...]
    answer: str
    flag: tuple[str, ...]
    ok: tuple[str, ...]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Case:
        """Return a case from a line of a file."""
        return cls(
            id=fields["id"],
            lang=fields["lang"],
            kind=fields["kind"],
            question=fields["question"],
            documents=tuple(fields["documents"]),
            answer=fields["answer"],
            flag=tuple(fields["flag"]),
            ok=tuple(fields["ok"]),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case.

    Attributes:
        case: The case.
        flagged: Whether its answer was flagged.
        mistakes: What is wrong with the verdict.
        reasons: The reasons of its claims.
    """

    case: Case
    flagged: bool
    mistakes: tuple[str, ...]
    reasons: tuple[str, ...]


class IdealJudge:
    """Answers as a judge that finds every claim supported but those that must be flagged.

    Args:
        cases: The cases that it is asked about, found again by their documents.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self._patterns = [(case.answer, case.flag) for case in cases]

    async def takes_n(self, request: Request) -> bool:
        """Whether it gives several answers at once."""
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer what it is asked."""
        users = [m for m in request.messages if m.get("role") == "user"]
        task = find_task([str(message.get("content") or "") for message in users])
        claims = items_in(task.parts["claims"]) if task else []
        documents = [number for number, _ in documents_in(task.parts["texts"])] if task else []
        answers = [
            {
                "claim": number,
                "supported_by": documents if self._is_right(claim) else [],
                "contradicted_by": [],
                "quotes": [],
            }
            for number, claim in enumerate(claims, 1)
        ]
        return Completions((Completion(json.dumps(answers)),))

    def _is_right(self, claim: str) -> bool:
        for answer, patterns in self._patterns:
            if claim.strip(" .") in answer and any(re.search(p, claim) for p in patterns):
                return False
        return True


def load(files: Sequence[Path] = ()) -> list[Case]:
    """Return the cases of files; by default, those of the project."""
    cases: list[Case] = []
    for file in files or (CASES,):
        lines = file.read_text(encoding="utf-8").splitlines()
        cases.extend(Case.of(json.loads(line)) for line in lines if line.strip())
    return cases


def guard_of(checker: Checker, cases: Sequence[Case]) -> Guard:
    """Return the guard that checks cases."""
    if checker == "words":
        return Guard({"references": {"by": "words"}, "chain": [{"method": "facts"}]})
    policy = {"references": {"by": "judge"}, "chain": [{"method": "prompt"}]}
    return Guard(policy, model="ideal/judge", provider=IdealJudge(cases))


def check(case: Case, guard: Guard) -> Outcome:
    """Check the answer of a case."""
    verdict = guard.check(case.answer, question=case.question, references=list(case.documents))
    reasons = [f"{claim.text!r}: {claim.score} {claim.reason}" for claim in verdict.claims]
    return Outcome(
        case=case,
        flagged=verdict.flagged,
        mistakes=tuple(_mistakes(case, verdict)),
        reasons=tuple(reasons),
    )


def _mistakes(case: Case, verdict: Verdict) -> list[str]:
    flagged = _flagged_spans(verdict)
    mistakes: list[str] = []
    for patterns, must_be in ((case.flag, True), (case.ok, False)):
        for pattern in patterns:
            for match in re.finditer(pattern, case.answer):
                inside = any(
                    start <= match.start() and match.end() <= end for start, end in flagged
                )
                if inside != must_be:
                    mistakes.append(f"{match[0]!r} {'not flagged' if must_be else 'flagged'}")
    if verdict.flagged and not case.flag and not mistakes:
        mistakes.append("flagged")
    return mistakes


def _flagged_spans(verdict: Verdict) -> list[tuple[int, int]]:
    """Return the spans that a reader sees flagged: parts of claims, or claims without any."""
    spans: list[tuple[int, int]] = []
    for claim in verdict.claims:
        spans += [(part.start, part.end) for part in claim.parts or (claim,) if part.flagged]
    return spans


def table(
    outcomes_by_checker: Mapping[str, Sequence[Outcome]], *, with_mistakes: bool = False
) -> ResultTable:
    """Return precision and recall over answers, and how many of each kind are right.

    Args:
        outcomes_by_checker: The outcomes of each checker.
        with_mistakes: Whether its notes name the cases that are not right.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for checker, outcomes in outcomes_by_checker.items():
        rows.append(_row(checker, "all", outcomes))
        for kind in dict.fromkeys(outcome.case.kind for outcome in outcomes):
            of_kind = [outcome for outcome in outcomes if outcome.case.kind == kind]
            rows.append(_row(checker, kind, of_kind))
        if with_mistakes:
            notes += [
                f"{checker}: {outcome.case.id}: {'; '.join(outcome.mistakes)}"
                for outcome in outcomes
                if outcome.mistakes
            ]
    return ResultTable("grounded", COLUMNS, tuple(rows), notes=tuple(notes))


def _row(checker: str, kind: str, outcomes: Sequence[Outcome]) -> Row:
    flagged = [outcome for outcome in outcomes if outcome.flagged]
    wrong = [outcome for outcome in outcomes if outcome.case.flag]
    both = [outcome for outcome in flagged if outcome.case.flag]
    return {
        "checker": checker,
        "kind": kind,
        "answers": len(outcomes),
        "right": sum(not outcome.mistakes for outcome in outcomes),
        "precision": 100 * len(both) / len(flagged) if flagged else None,
        "recall": 100 * len(both) / len(wrong) if wrong else None,
    }


def run(
    cases: Sequence[Case],
    checkers: Sequence[Checker],
    *,
    done: Callable[[], object] = lambda: None,
) -> dict[str, list[Outcome]]:
    """Check all cases by each checker."""
    outcomes: dict[str, list[Outcome]] = {}
    for checker in checkers:
        guard = guard_of(checker, cases)
        outcomes[checker] = []
        for case in cases:
            outcomes[checker].append(check(case, guard))
            done()
    return outcomes
