"""What a judge says of claims of actions reaches the verdict."""

from __future__ import annotations

from functools import partial

from actions.formats import tools_of
from actions.ideal import ideal_answer
from actions.judging import cases, judged
from resay import Guard
from resay.testing import ScriptedProvider

POLICY = {"chain": [{"method": "actions", "judge": "acme/judge"}], "cache": {"store": "none"}}


def test_what_a_judge_points_at_is_flagged_and_nothing_else() -> None:
    mistakes: list[str] = []
    for case in cases():
        guard = Guard(POLICY, provider=ScriptedProvider(partial(ideal_answer, case=case)))
        verdict = guard.check(case["answer"], question=case["messages"], params=tools_of(case))
        if judged(case, verdict).mistakes:
            mistakes.append(case["id"])
    assert mistakes == []
