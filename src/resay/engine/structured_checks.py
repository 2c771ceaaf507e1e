"""Objects, and the words around objects and tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resay.core.check_context import CheckContext
from resay.core.claims import Rules
from resay.core.passage import Passage
from resay.core.unscored import Unscored
from resay.engine.unscored import unscored_in
from resay.policy import Policy
from resay.providers.base import Completion
from resay.scorers.structured import (
    comparable_text,
    object_with_words,
    passage_of,
)


def objects_in(
    completion: Completion, samples: Sequence[str], context: CheckContext
) -> tuple[Passage | None, list[str]]:
    """Return the object in an answer, if it has one, and those in the caller's samples."""
    value, words = object_with_words(completion, context)
    passage = None
    if value is not None:
        passage = passage_of(value, beside=_claims_in(words, context.request.question))
    return passage, [comparable_text(Completion(sample), context) for sample in samples]


def _claims_in(words: str, question: str) -> str:
    """Return what the words around an object claim: not "Here is the object:"."""
    passage = Passage.of(words)
    rules = Rules(question)
    parts = [piece.text for piece in passage.unscored()]
    for index, sentence in enumerate(passage.sentences):
        # The format is no name: "Here is the JSON:".
        plain = replace(sentence, text=sentence.text.replace("JSON", "json"))
        if any(claim.is_checkable for claim in rules.read(plain, index)):
            parts.append(sentence.text)
    return " ".join(" ".join(parts).split())


def claims_beside_calls(text: str, policy: Policy, question: str) -> tuple[Unscored, ...]:
    """Return the spans of a text that claim something.

    Args:
        text: The text beside tool calls.
        policy: What to check.
        question: The question that the text answers.
    """
    passage = Passage.of(text, splitter=policy.splitter)
    rules = Rules(question, splits=False, skips=policy.non_claims != "score")
    claiming: list[int] = []
    for index, sentence in enumerate(passage.sentences):
        if any(claim.is_checkable for claim in rules.read(sentence, index)):
            claiming.append(index)
    return unscored_in(passage, claiming, "prose")
