"""What a user's message asks about a sentence of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.mentions import mentions_name
from resay.core.passage import Passage
from resay.core.tokens import tokenize
from resay.engine.regeneration.plain_text import has_words, plain, shortened
from resay.engine.regeneration.subjects import names_of, questions_in
from resay.lang.language import all_words

_READ_CHARS = 600
_SEARCHED_CHARS = 100


def asked_about(message: str, names: Sequence[str], sentence: str | None = None) -> str:
    """Return what a user's message asks, in a few words that are searched for.

    Args:
        message: The message, plain or Markdown; may be empty.
        names: The names of what it is about; those that the question lacks are put in front.
        sentence: A sentence of the answer, for the one of several questions that it answers.

    Returns:
        The questions, on one line; of a message that has none, the sentences with those names,
        since instructions seldom name what they are about, or else its beginning.
    """
    questions = questions_in(message)
    question = plain(" ".join(questions or _naming(message, names)) or message[:_READ_CHARS])
    if sentence is not None and len(questions) > 1:
        question = nearest_question(sentence, questions, None) or question
    return with_names(shortened(question, _SEARCHED_CHARS) if has_words(question) else "", names)


def _naming(message: str, names: Sequence[str]) -> list[str]:
    """Return the sentences of a message that mention one of the names."""
    sentences = [sentence.text for sentence in Passage.of(message[-_READ_CHARS:]).sentences]
    return [text for text in sentences if any(mentions_name(name, text) for name in names)]


def with_names(question: str, names: Sequence[str]) -> str:
    """Return a question with the names in front that it does not mention."""
    missing = ", ".join(name for name in names if not mentions_name(name, question))
    return f"{missing}: {question}" if missing and question else missing or question


def nearest_question(sentence: str, questions: Sequence[str], index: int | None) -> str | None:
    """Return the one of several questions that a sentence answers.

    Args:
        sentence: The sentence.
        questions: The questions.
        index: Its index among the answer's sentences, if there are as many as questions.

    Returns:
        The question that shares the most words with it, ignoring words of names and of all
        questions; in a tie, the one at its index, or None.
    """
    words = [content_words(question) for question in questions]
    common = words[0].intersection(*words)
    for question in questions:
        common |= content_words(" ".join(names_of(question)))
    sentence_words = content_words(sentence) - common
    shares = [len(sentence_words & question_words) for question_words in words]
    best = [i for i, share in enumerate(shares) if share == max(shares)]
    if len(best) == 1:
        return questions[best[0]]
    return questions[index] if index is not None else None


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that carry a subject, in lower case."""
    words = {token for token in tokenize(text) if token[0].isalnum()}
    return frozenset(words - all_words("words", "stop"))
