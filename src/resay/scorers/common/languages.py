"""The language in which a judge is asked, and the words by which it answers in that language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import Field

from resay.core.passage import Passage
from resay.lang.detection import detect
from resay.lang.language import load
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.judging import JudgedConfig

Language = Literal["en", "de", "fr", "es", "it", "pt", "zh", "ja"]

# Number of leading characters examined.
_CHARS = 4_000
_FEWEST = 2


class AskedInConfig(JudgedConfig):
    """Base class of the settings of methods whose judge can be asked in another language."""

    language: Literal["auto"] | Language = Field(
        default="en",
        description="The language of the judge's prompt; auto = that of the answer, or of the"
        " question if the answer is too short to tell, or English if it is none of these.",
    )


@cache
def choices_in(language: str) -> Choices[JudgeVerdict]:
    """Return what a judge may answer to a prompt in a language.

    Args:
        language: The language's code.
    """
    words = load(language).prompts.answers
    # "No" says that a claim is not supported, not that a text contradicts it.
    meanings: Mapping[JudgeVerdict, tuple[str, ...]] = {
        "supported": (*words.yes, *words.supported),
        "contradicted": words.contradicted,
        "not_mentioned": (*words.no, *words.not_mentioned),
    }
    own: dict[str, JudgeVerdict] = {}
    for verdict, phrases in meanings.items():
        own.update(dict.fromkeys(phrases, verdict))
    return VERDICTS.extended(own)


def language_for(setting: str, passage: Passage, question: str = "") -> str:
    """Return the language in which to ask a judge.

    Args:
        setting: The language that the policy sets, or "auto".
        passage: The response.
        question: The question it answers.
    """
    if setting != "auto":
        return setting
    # A streamed answer is not put together for its beginning.
    for text in (passage.excerpt(0, _CHARS), question[:_CHARS]):
        language = detect(text, fewest=_FEWEST, unique=True)
        if language is not None:
            return language if load(language).has_prompts else "en"
    return "en"
