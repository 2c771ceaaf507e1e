"""SelfCheckGPT with question answering: asks the samples questions about the response."""

from resay.scorers.mqag.examinee import Examinee, Questionnaire
from resay.scorers.mqag.questions import (
    ChoiceQuestion,
    parse_options,
    parse_question,
    write_questions,
)
from resay.scorers.mqag.scorer import Mqag
from resay.scorers.mqag.scoring import ChosenOption, Scoring, ScoringRule

__all__ = [
    "ChoiceQuestion",
    "ChosenOption",
    "Examinee",
    "Mqag",
    "Questionnaire",
    "Scoring",
    "ScoringRule",
    "parse_options",
    "parse_question",
    "write_questions",
]
