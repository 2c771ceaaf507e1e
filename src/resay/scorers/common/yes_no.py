"""Reads a judge's yes or no, and asks whether a context supports a sentence.

The question is worded as in SelfCheckGPT, section 5.5, and NU-RU at SemEval-2024 task 6, Table 1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from resay._internal.patterns import lazy_pattern
from resay.providers.base import Completion
from resay.scorers.common.answers import read_items
from resay.scorers.common.judge_words import CLEAR_YES_OR_NO, SUPPORT, YES_OR_NO

# Decoration a model may put around a bare answer: markdown, quotes, brackets, a label.
_LABEL = lazy_pattern(
    r"^(?:(?:my|the|final|short)\s+)*(?:answer|verdict|conclusion|judge?ment|antwort|réponse|respuesta"
    r"|risposta|resposta|答案|回答|答え)"
    r"\s*(?:is)?\s*[:：-]?\s*",
    re.IGNORECASE,
)
_DECORATION = " \t\r\n*_`\"'“”‘’«»「」#>[](){}:：-•"
# Letters of any script with their combining marks.
_WORD = lazy_pattern(r"[^\W\d_][\w\u0300-\u036f\u0900-\u0e7f]*(?:[/-][^\W\d_]+)*")


def strip_decoration(text: str) -> str:
    """Strip markdown, quotes, brackets and a label such as "Answer:" from an answer."""
    return _LABEL.sub("", text.strip(_DECORATION)).lstrip(_DECORATION)


def parse_yes_no(text: str, own: Mapping[str, bool] | None = None) -> bool | None:
    """Parse a yes or a no, in English or any language the judge slipped into.

    Only the first word counts, and it must be the whole word: "Not sure" is no "no", and a later
    "Yes" counts for nothing. Short words that mean something else in another language count only if
    nothing follows them.

    Args:
        text: The judge's answer.
        own: Meanings of words in the prompt's language, whatever they mean in others.

    Returns:
        True for yes, False for no, None for anything else.
    """
    answer = strip_decoration(unicodedata.normalize("NFC", text))
    alone = _folded(answer.strip(" .!。！"))
    if alone in YES_OR_NO:
        return YES_OR_NO[alone]
    match = _WORD.match(answer)
    word = _folded(match.group()) if match else ""
    if own and word in own:
        return own[word]
    return CLEAR_YES_OR_NO.get(word)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


_QUESTION = (
    "Context: {context}\n\n"
    "Sentence: {sentence}\n\n"
    "Is the sentence supported by the context above?\n\n"
    "Answer Yes or No:"
)
RESTATED = "Answer with one word, Yes or No. Is the sentence supported by the context?"
"""Sent when the answer cannot be parsed."""


def support_question(context: str, sentence: str) -> str:
    """Return the question whether a context supports a sentence, worded as published."""
    return _QUESTION.format(context=context, sentence=sentence)


def parse_support(answer: Completion) -> list[bool | None]:
    """Parse the answer into its only slot."""
    return read_items(answer.text, 1, SUPPORT)
