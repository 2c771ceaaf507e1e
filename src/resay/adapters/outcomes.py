"""The outcomes of checks, in the form that the APIs accept."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from resay.adapters.verdicts import VerdictDetail, answer_data, verdict_data
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.providers.apis import Outcome


def outcome_of(
    answer: Answer,
    *,
    stops: bool = False,
    shows_draft: bool = True,
    detail: VerdictDetail = "full",
) -> Outcome:
    """Return the outcome of an answer in the form that the APIs accept.

    Args:
        answer: The answer.
        stops: Whether a withheld answer ends like a completed one.
        shows_draft: Whether the verdict on a regenerated answer contains the text that it replaces.
        detail: How much of the verdict to tell.
    """
    verdict = answer.verdict
    if verdict.regeneration is not None and answer.regenerated and not shows_draft:
        verdict = replace(verdict, regeneration=verdict.regeneration.without_draft())
    data = answer_data(replace(answer, verdict=verdict), detail=detail)
    # Of a stream, the text has what was shown before the message too.
    message = (answer.message if answer.blocked else "") or answer.text
    replaced = answer.blocked or answer.regenerated
    return Outcome(
        data=data,
        message=message if replaced else None,
        complete=answer.regenerated,
        stops=stops,
        marks=answer.marks,
    )


# Policies have few reasons.
@lru_cache(maxsize=64)
def _unchecked_verdict(reason: str) -> Verdict:
    return Verdict("skipped", None, reason)


@lru_cache(maxsize=64)
def unchecked_outcome(reason: str, detail: VerdictDetail = "full") -> Outcome:
    """Return the outcome of an answer that is not checked."""
    return Outcome(verdict_data(_unchecked_verdict(reason), "allow", detail=detail))


def unchecked_answer(reason: str, usage: Usage) -> Answer:
    """Return the report of an answer that is not checked, without its words.

    Args:
        reason: Why it is not checked.
        usage: Its tokens and cost.
    """
    return Answer("", "", "allow", _unchecked_verdict(reason), usage)
