"""Fill-in-the-blank exam: has a judge fill in what the response says."""

from resay.scorers.fibe.exam import Blank, Exam, Listing, build_exam
from resay.scorers.fibe.judge_answers import parse_exam_answers, parse_listings
from resay.scorers.fibe.prompts import (
    STUDENTS,
    render_answer,
    render_create,
    render_score,
    restate_answer,
    restate_create,
    restate_score,
)
from resay.scorers.fibe.scorer import Fibe

__all__ = [
    "STUDENTS",
    "Blank",
    "Exam",
    "Fibe",
    "Listing",
    "build_exam",
    "parse_exam_answers",
    "parse_listings",
    "render_answer",
    "render_create",
    "render_score",
    "restate_answer",
    "restate_create",
    "restate_score",
]
