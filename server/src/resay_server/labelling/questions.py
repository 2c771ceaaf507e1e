"""The question that raters answer: is a claim true, made up, or can't they tell?

The answers are feedback about the claims themselves. Feedback about the verdict on a claim, which
earlier versions asked for, says so (`about`) and keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.adapters.terminal import counted
from resay_server.journal import Entry, Feedback, Rating, Source

QUESTION = "Is this claim true, made up, or can't you tell?"
ANSWERS: Mapping[Rating, str] = {"right": "true", "wrong": "made up", "unsure": "can't tell"}


def claims_of(entry: Entry) -> Sequence[Mapping[str, Any]]:
    """Return the claims of an entry that a rater can read, or its sentences if it has no claims.

    Empty if the text of any of them was not stored.
    """
    claims: Sequence[Mapping[str, Any]] = (
        entry.verdict.get("claims") or entry.verdict.get("sentences") or ()
    )
    return claims if all(claim.get("text") for claim in claims) else ()


def feedback_on(
    entry: Entry,
    ratings: Sequence[Rating],
    *,
    rater: str,
    source: Source,
    notes: Mapping[int, str] | None = None,
) -> list[Feedback]:
    """Return the feedback that ratings of all claims amount to, that on the whole answer last.

    An answer with a claim that is made up is wrong; it is right if all of its claims are.

    Args:
        entry: The entry.
        ratings: A rating of each of `claims_of(entry)`; of the whole answer if there are none.
        rater: The rater's name.
        source: The interface through which they were given.
        notes: The rater's explanations, by the index of the rating.
    """
    claims = claims_of(entry)
    if len(ratings) != max(1, len(claims)):
        raise ValueError(
            f"{counted(len(claims), 'claim')} to rate, and {counted(len(ratings), 'rating')}"
        )
    notes = notes or {}
    feedback: list[Feedback] = []
    for index, rating in enumerate(ratings):
        feedback.append(
            Feedback(
                entry_id=entry.id,
                rating=rating,
                about="answer",
                claim=index if claims else None,
                note=notes.get(index),
                rater=rater,
                source=source,
            )
        )
    if claims:
        whole: Rating = "right"
        if "wrong" in ratings:
            whole = "wrong"
        elif "unsure" in ratings:
            whole = "unsure"
        feedback.append(
            Feedback(entry_id=entry.id, rating=whole, about="answer", rater=rater, source=source)
        )
    return feedback


def rating_text(feedback: Feedback) -> str:
    """Return a rating in words."""
    if feedback.about == "answer" and feedback.claim is not None:
        return ANSWERS[feedback.rating]
    if feedback.rating == "unsure":
        return "unsure"
    return f"the {feedback.about} is {feedback.rating}"
