"""What the model stated in earlier turns, and what was written since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from resay.core.claims import Rules, is_single_sentence
from resay.core.passage import Passage
from resay.core.questions import asking_part
from resay.core.reasoning import without_reasoning
from resay.core.references import joined_text
from resay.core.request import text_of
from resay.scorers.actions.claims import draft_spans, lower_case
from resay.scorers.actions.words import ActionWords
from resay.scorers.common.words import stems_of

# The newest answers are compared; more would take long, and be about something else by now.
_MAX_ANSWERS = 40
_MAX_CHARS = 40_000


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer of the model in an earlier turn.

    Attributes:
        index: Its number among the model's answers, from 0.
        text: Its text, without reasoning.
        question: What the user wrote before it.
        requests: What users wrote after it.
        results: What tools returned after it.
        acted: Whether tools were used after it.
    """

    index: int
    text: str
    question: str
    requests: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    acted: bool = False

    @property
    def name(self) -> str:
        """What reasons call it."""
        return f"answer {self.index + 1} of the conversation"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of an earlier answer.

    Attributes:
        text: The statement.
        context: The stems of what it may be about: of the question, and of the sentences before it.
    """

    text: str
    context: frozenset[str]


def earlier_answers(messages: Sequence[Mapping[str, Any]]) -> list[EarlierAnswer]:
    """Return the model's earlier answers in a conversation, the newest last.

    Args:
        messages: The conversation, oldest first.
    """
    question = ""
    spoken: list[tuple[int, str, str]] = []
    for position, message in enumerate(messages):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "user":
            question = text
        elif role == "assistant":
            text = without_reasoning(text).strip()
            if text:
                spoken.append((position, text, question))
    answers: list[EarlierAnswer] = []
    for index, (position, text, asked) in list(enumerate(spoken))[-_MAX_ANSWERS:]:
        later = messages[position + 1 :]
        answers.append(
            EarlierAnswer(
                index=index,
                text=text[:_MAX_CHARS],
                question=asked,
                requests=tuple(_texts_of(later, tools=False)),
                results=tuple(_texts_of(later, tools=True)),
                acted=any(_uses_tools(message) for message in later),
            )
        )
    return answers


def _texts_of(messages: Sequence[Mapping[str, Any]], *, tools: bool) -> Iterator[str]:
    """Yield what users wrote in messages, or what tools returned."""
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role in ("tool", "function"):
            text = joined_text(content) if tools else ""
        elif role == "user":
            text = _results_in(content) if tools else text_of(content)
        else:
            text = ""
        if text.strip():
            yield text


def _results_in(content: object) -> str:
    """Return the text of tools' results among the parts of a message."""
    texts = [joined_text(part.get("content")) for part in _parts(content)]
    return "\n".join(filter(None, texts))


def _uses_tools(message: Mapping[str, Any]) -> bool:
    if message.get("role") in ("tool", "function") or message.get("tool_calls"):
        return True
    kinds = [str(part.get("type")) for part in _parts(message.get("content"))]
    return any(kind.endswith(("tool_result", "tool_use")) for kind in kinds)


def _parts(content: object) -> list[Mapping[str, Any]]:
    """Return the parts of a message's content; none if it is a text."""
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Mapping[str, Any]", part) for part in parts if isinstance(part, Mapping)]


def statements_of(answer: EarlierAnswer, words: ActionWords) -> list[Statement]:
    """Return the checkable statements of an earlier answer, but for drafts for somebody else.

    Args:
        answer: The answer.
        words: The words of its language, which tell drafts.
    """
    passage = Passage.of(answer.text)
    rules = Rules(answer.question)
    alone = is_single_sentence(passage)
    drafts = draft_spans(lower_case(answer.text), words)
    context = set(stems_of(asking_part(answer.question)))
    statements: list[Statement] = []
    for index, sentence in enumerate(passage.sentences):
        for claim in rules.read(sentence, index, alone=alone):
            is_draft = any(start <= claim.start < end for start, end in drafts)
            if claim.kind == "fact" and not is_draft:
                statements.append(Statement(claim.standalone, frozenset(context)))
        context.update(stems_of(sentence.text))
    return statements
