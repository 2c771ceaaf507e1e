"""The question that raters answer, and the feedback that their answers are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from resay_server.labelling import claims_of, feedback_on, rating_text
from support.dashboard import make
from support.labelling import rated


def with_claims(*texts: str) -> Any:
    claims = [{"text": text, "flagged": True, "score": 0.9} for text in texts]
    return replace(make(), verdict={"claims": claims})


@pytest.mark.parametrize(
    ("ratings", "whole"),
    [
        (["right", "right"], "right"),
        (["right", "wrong"], "wrong"),
        (["unsure", "wrong"], "wrong"),
        (["right", "unsure"], "unsure"),
    ],
)
def test_claims_make_a_label_of_the_whole(ratings: Any, whole: str) -> None:
    feedback = feedback_on(with_claims("A.", "B."), ratings, rater="ann", source="terminal")
    assert [rating.claim for rating in feedback] == [0, 1, None]
    assert [rating.rating for rating in feedback] == [*ratings, whole]
    assert {(rating.about, rating.rater) for rating in feedback} == {("answer", "ann")}


def test_without_readable_claims_the_whole_is_rated() -> None:
    entry = with_claims("A.", "")
    assert claims_of(entry) == ()
    (rating,) = feedback_on(entry, ["wrong"], rater="", source="dashboard", notes={0: "no"})
    assert (rating.claim, rating.rating, rating.note) == (None, "wrong", "no")


def test_every_claim_needs_a_rating() -> None:
    with pytest.raises(ValueError, match="2 claims"):
        feedback_on(with_claims("A.", "B."), ["right"], rater="", source="dashboard")


def test_ratings_in_words() -> None:
    assert rating_text(rated("a", "wrong", claim=1, about="answer")) == "made up"
    assert rating_text(rated("a", "unsure", claim=1, about="answer")) == "can't tell"
    assert rating_text(rated("a", "wrong", claim=1)) == "the verdict is wrong"
    assert rating_text(rated("a", "right", about="answer")) == "the answer is right"
