"""`python -m recorded_judge`: how well a large model judges, and how well words do."""

from __future__ import annotations

import typer

from recorded_judge.replay import CHECKERS, TASKS, check

if __name__ == "__main__":
    for task in TASKS:
        for checker in CHECKERS:
            outcomes = check(task, checker)
            wrong = [outcome for outcome in outcomes if not outcome.is_clean]
            clean = [outcome for outcome in outcomes if outcome.is_clean]
            found = sum(outcome.flagged for outcome in wrong)
            alarms = sum(outcome.flagged for outcome in clean)
            typer.echo(
                f"{task:12} by {checker:5}  found {found} of {len(wrong)}"
                f"  false alarms {alarms} of {len(clean)}"
            )
            for outcome in outcomes:
                if outcome.mistakes and checker == "judge":
                    typer.echo(f"    {outcome.id}: {'; '.join(outcome.mistakes)}")
