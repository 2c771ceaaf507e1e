"""The language in which a judge is asked, and the words by which it answers in that language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from resay.core.passage import Passage
from resay.lang.detection import detect
from resay.lang.language import languages, load
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_config import JudgedConfig
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict

if TYPE_CHECKING:
    PromptLanguage: TypeAlias = str
else:
    # A language that gets prompts can be set in a policy without a change here.
    _codes = (language.code for language in languages() if language.has_prompts)
    PromptLanguage = Literal[("auto", *_codes)]

# The beginning of a text tells its language.
_MAX_CHARS = 4_000
_MIN_COMMON_WORDS = 2


class AskedInConfig(JudgedConfig):
    """Base class of the settings of methods whose judge can be asked in another language."""

    language: PromptLanguage = Field(
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
    verdicts: dict[str, JudgeVerdict] = {}
    for verdict, phrases in meanings.items():
        verdicts.update(dict.fromkeys(phrases, verdict))
    return VERDICTS.extended(verdicts)


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
    for text in (passage.excerpt(0, _MAX_CHARS), question[:_MAX_CHARS]):
        language = detect(text, min_words=_MIN_COMMON_WORDS, unique=True)
        if language is not None:
            return language if load(language).has_prompts else "en"
    return "en"
