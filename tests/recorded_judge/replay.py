"""Checks the recorded cases, by words or with the recorded answers of the judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from actions import judging as actions
from conversation import judging as conversation
from resay import Guard, Request
from resay.testing import ScriptedProvider
from research import grounded

Task = Literal["actions", "documents", "conversation"]
Checker = Literal["words", "judge"]
TASKS: Final[tuple[Task, ...]] = ("actions", "documents", "conversation")
CHECKERS: Final[tuple[Checker, ...]] = ("words", "judge")

_JUDGE: Final = "acme/judge"
_CHAINS: Final[Mapping[tuple[Task, Checker], Mapping[str, Any]]] = {
    ("actions", "words"): {"chain": ["actions"]},
    ("actions", "judge"): {"chain": [{"method": "actions", "judge": _JUDGE}]},
    ("documents", "words"): {"references": {"by": "words"}, "chain": ["facts"]},
    ("documents", "judge"): {"references": {"by": "judge"}, "chain": ["prompt"]},
    ("conversation", "words"): {"chain": [{"method": "facts", "evidence": "conversation"}]},
    ("conversation", "judge"): {"chain": [{"method": "prompt", "evidence": "conversation"}]},
}


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        id: The case's name.
        is_clean: Whether nothing in its answer is to be flagged.
        flagged: Whether any of it was.
        mistakes: What is wrong with the verdict.
        requests: How often the judge was asked.
    """

    id: str
    is_clean: bool
    flagged: bool
    mistakes: tuple[str, ...]
    requests: int


def cases(task: Task) -> list[dict[str, Any]]:
    """Return the recorded cases of a task; `judge` is the judge's answer."""
    lines = Path(__file__).with_name(f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def check(task: Task, checker: Checker) -> list[Outcome]:
    """Check all cases of a task.

    Args:
        task: The task.
        checker: Whether by words, or by the recorded answers of the judge.
    """
    check_case = _CHECK_CASE[task]
    outcomes: list[Outcome] = []
    for case in cases(task):
        requests: list[Request] = []

        def answer(
            request: Request, case: Mapping[str, Any] = case, requests: list[Request] = requests
        ) -> str:
            requests.append(request)
            return case["judge"]

        policy = {**_CHAINS[task, checker], "cache": {"store": "none"}}
        guard = Guard(policy, model=_JUDGE, provider=ScriptedProvider(answer))
        flagged, mistakes = check_case(guard, case)
        outcomes.append(
            Outcome(
                id=case["id"],
                is_clean=not case["flag"],
                flagged=flagged,
                mistakes=tuple(mistakes),
                requests=len(requests),
            )
        )
    return outcomes


def _check_actions(guard: Guard, case: Mapping[str, Any]) -> tuple[bool, Sequence[str]]:
    verdict = guard.check(case["answer"], question=case["messages"])
    return verdict.flagged, actions.judged(case, verdict).mistakes


def _check_documents(guard: Guard, case: Mapping[str, Any]) -> tuple[bool, Sequence[str]]:
    outcome = grounded.check(grounded.Case.of(case), guard)
    return outcome.flagged, outcome.mistakes


def _check_conversation(guard: Guard, case: Mapping[str, Any]) -> tuple[bool, Sequence[str]]:
    verdict = guard.check(case["answer"], question=case["messages"])
    return verdict.flagged, conversation.judged(case, verdict).mistakes


_CHECK_CASE: Final[
    Mapping[Task, Callable[[Guard, Mapping[str, Any]], tuple[bool, Sequence[str]]]]
] = {
    "actions": _check_actions,
    "documents": _check_documents,
    "conversation": _check_conversation,
}
