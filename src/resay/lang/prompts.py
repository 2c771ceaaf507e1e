"""The texts of our own prompts, by language.

A judge understands any of these languages, but some judges decide better, and slip into another
language less often, when the whole prompt is in one. Published prompts are English; they are where
their method is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PerSamplePrompt:
    """The prompt that compares claims with one sample.

    Attributes:
        task: Its beginning.
        about: Added if there is a conversation.
        rules: Its end.
        brief: Added if the judge is to give its reasons.
        again: Restates the form of the answer; `{count}` is the number of claims.
    """

    task: str
    about: str
    rules: str
    brief: str
    again: str


@dataclass(frozen=True, slots=True)
class TogetherPrompt:
    """The prompt that compares claims with several samples.

    Attributes:
        task: Its beginning.
        about: Added if there is a conversation.
        rules: What to answer, and what counts as support and as contradiction.
        brief: Added if the judge is to give its reasons.
        example: Two claims and two samples, whose answer follows: the first sample contradicts the
            first claim and supports the second one.
        words: The words of the example's first claim that are wrong.
        quote: The words of its first sample against them.
        reasons: The reasons of its two verdicts.
        again: Restates the form of the answer; `{count}` is the number of claims, `{form}` the
            answer to the example.
    """

    task: str
    about: str
    rules: str
    brief: str
    example: str
    words: str
    quote: str
    reasons: tuple[str, str]
    again: str


@dataclass(frozen=True, slots=True)
class DocumentsPrompt:
    """The prompt that compares claims with documents.

    Attributes:
        task: Its beginning.
        about: Added if there is a conversation.
        rules: What to answer, and what counts as support and as contradiction.
        again: Restates the form of the answer.
    """

    task: str
    about: str
    rules: str
    again: str


@dataclass(frozen=True, slots=True)
class LinesPrompt:
    """A prompt about numbered lines, which is answered line by line.

    Attributes:
        task: Its beginning.
        rules: What to answer about each line, and the form of the answer.
        again: Restates the form of the answer; `{count}` is the number of lines.
    """

    task: str
    rules: str
    again: str


@dataclass(frozen=True, slots=True)
class ShortAnswersPrompt:
    """The prompt that asks questions about claims.

    Attributes:
        about: Added if there is a conversation.
        rules: How to answer; `{about}` is where that is added.
    """

    about: str
    rules: str


@dataclass(frozen=True, slots=True)
class DirectQuestionPrompt:
    """The prompt that asks whether a claim is true.

    Attributes:
        question: The question; `{context}` and `{claim}` are what it is about.
        again: Restates the form of the answer.
    """

    question: str
    again: str


@dataclass(frozen=True, slots=True)
class StandaloneQuestionPrompt:
    """The prompt that has a question written so that it stands alone.

    Attributes:
        task: Its beginning.
        rules: How to write the question, and the form of the answer.
    """

    task: str
    rules: str


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """The words by which a judge answers.

    Attributes:
        supported: Words for a claim that a text supports, in lower case.
        contradicted: Words for a claim that it contradicts.
        not_mentioned: Words for a claim that it does not mention.
        yes: Words that mean yes in this language, but not in every language.
        no: Words that mean no in this language, but not in every language.
    """

    supported: tuple[str, ...]
    contradicted: tuple[str, ...]
    not_mentioned: tuple[str, ...]
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one language.

    Attributes:
        per_sample: Compares claims with one sample.
        together: Compares claims with several samples.
        documents: Compares claims with documents. This and the next three are English so far.
        conversation: Asks for what contradicts earlier answers; English, like the previous one.
        actions: Asks which tool calls bear out what an agent says it did; English.
        questions: Asks for questions about claims.
        short_answers: Asks these questions.
        same_answer: Compares the answers.
        direct_question: Asks whether a claim is true; None in English, where it is published.
        standalone_question: Has a question written so that it stands alone.
        answers: The words that answer them.
    """

    per_sample: PerSamplePrompt
    together: TogetherPrompt
    documents: DocumentsPrompt
    conversation: LinesPrompt
    actions: LinesPrompt
    questions: LinesPrompt
    short_answers: ShortAnswersPrompt
    same_answer: LinesPrompt
    direct_question: DirectQuestionPrompt | None
    standalone_question: StandaloneQuestionPrompt
    answers: AnswerWords


def read_prompts(texts: Mapping[str, Any], english: Mapping[str, Any]) -> Prompts:
    """Return prompts.

    Args:
        texts: The table `[prompts]` of a language.
        english: That of English, for what the language does not have.
    """
    texts = {**english, **texts}
    together: dict[str, Any] = {**texts["together"]}
    together["reasons"] = tuple(together["reasons"])
    question = texts.get("direct_question")
    answers = {meaning: tuple(words) for meaning, words in texts["answers"].items()}
    return Prompts(
        per_sample=PerSamplePrompt(**texts["per_sample"]),
        together=TogetherPrompt(**together),
        documents=DocumentsPrompt(**texts["documents"]),
        conversation=LinesPrompt(**texts["conversation"]),
        actions=LinesPrompt(**texts["actions"]),
        questions=LinesPrompt(**texts["questions"]),
        short_answers=ShortAnswersPrompt(**texts["short_answers"]),
        same_answer=LinesPrompt(**texts["same_answer"]),
        direct_question=DirectQuestionPrompt(**question) if question else None,
        standalone_question=StandaloneQuestionPrompt(**texts["standalone_question"]),
        answers=AnswerWords(**answers),
    )
