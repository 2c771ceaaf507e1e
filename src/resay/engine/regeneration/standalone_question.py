"""Makes the last question of a conversation understandable without the turns before it.

"Who designed it?" is useless as a search. A model is asked once to write the question again, so
that it stands alone: "Who designed the Garmo X100?". A question without turns before it costs no
call. If no usable question comes back, the question stays as it is, and the user's turn before it
is searched for along with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.failures import tally
from resay.core.non_claims import non_claim_kind
from resay.core.quoting import quotable
from resay.core.request import Request, text_of
from resay.errors import ScorerError
from resay.lang.detection import detect
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.common.fences import Fences
from resay.scorers.common.judge_calls import ask
from resay.scorers.common.judge_config import judge_for
from resay.scorers.common.yes_no import strip_decoration
from resay.scorers.evidence import Evidence

# Longer questions explain themselves.
_MAX_QUESTION_CHARS = 600
_CONVERSATION_CHARS = 4_000
# Names and phrases in place of pronouns: more would be an answer.
_MAX_ADDED_CHARS = 300
_MAX_TOKENS = 256
# What is searched for of the user's turn before a question.
_PREVIOUS_CHARS = 300
_ASKS = lazy_pattern(r"[?？؟;⁇]\W*\Z")
_NUMBER = lazy_pattern(r"\d+")
_LABEL = lazy_pattern(
    r"(?:(?:standalone|rewritten)\s+)?"
    r"(?:question|frage|pregunta|domanda|pergunta|fråga|vraag|вопрос|問題|问题|質問)\s*[:：]\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StandaloneQuestion:
    """The last question of a conversation.

    Attributes:
        text: The question, as it can be understood without the turns before it.
        search_text: The text to search for: `text`, with the user's turn before it in front if it
            could not be written again.
        error: Why it could not be, in one line without content, or None.
    """

    text: str
    search_text: str
    error: str | None = None

    @classmethod
    def of(cls, text: str) -> StandaloneQuestion:
        """Return a question that stands alone."""
        return cls(text=text, search_text=text)


def user_turns(request: Request) -> list[str]:
    """Return the texts of the user's messages, oldest first."""
    messages = request.messages
    texts = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    return [text for text in texts if text]


async def standalone_question(
    request: Request, model: str | None, evidence: Evidence
) -> StandaloneQuestion:
    """Return the last question of a conversation, written again so that it stands alone.

    Args:
        request: The request of the main call.
        model: The model to ask, in litellm's notation; None for the one that wrote the answer.
        evidence: The evidence of the check, with the provider for judges.
    """
    turns = user_turns(request)
    question = turns[-1] if turns else ""
    if len(turns) < 2 or len(question) > _MAX_QUESTION_CHARS:
        return StandaloneQuestion.of(question)
    conversation = evidence.conversation(_CONVERSATION_CHARS)

    def parse(completion: Completion) -> list[str | None]:
        return [_read(completion.text, question, conversation)]

    try:
        judge = judge_for(model, evidence)
        reading = await ask(
            judge, _prompt(question, conversation), parse, restatement=None, tokens=_MAX_TOKENS
        )
    except ScorerError as error:
        return _with_previous_turn(turns, str(error))
    written = reading.slots[0]
    if written is None:
        return _with_previous_turn(turns, tally(reading.failures) or "no usable question came back")
    return StandaloneQuestion.of(written)


def _with_previous_turn(turns: Sequence[str], reason: str) -> StandaloneQuestion:
    *_, previous, question = turns
    return StandaloneQuestion(
        text=question,
        search_text=f"{previous[:_PREVIOUS_CHARS]}\n\n{question}",
        error=f"the question could not be written to stand alone: {reason}",
    )


def _prompt(question: str, conversation: str) -> str:
    code = detect(conversation, unique=True) or "en"
    language = load(code)
    wording = (language if language.has_prompts else load("en")).prompts.standalone_question
    quoted = quotable(question)
    fences = Fences.around(conversation, quoted)
    parts = [
        wording.task,
        fences.enclose("conversation", conversation),
        fences.enclose("question", quoted),
        wording.rules,
    ]
    return "\n\n".join(parts)


def _read(text: str, question: str, conversation: str) -> str | None:
    """Return the question in a model's answer; None if it is something else.

    Args:
        text: The answer.
        question: The question that was to be written again.
        conversation: The conversation, which has all numbers that a question may have.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith((":", "：")):
        # "Here is the question:"
        del lines[0]
    written = strip_decoration(_without_label(strip_decoration(" ".join(lines))))
    if not any(map(str.isalnum, written)):
        return None
    if len(written) > len(question) + _MAX_ADDED_CHARS:
        return None
    # Some models answer the question, or decline to.
    if _ASKS.search(question) and not _ASKS.search(written):
        return None
    if non_claim_kind(written, is_open=True, question=f"{conversation}\n{question}") == "refusal":
        return None
    numbers = set(_NUMBER.findall(written))
    if not numbers <= set(_NUMBER.findall(f"{conversation}\n{question}")):
        return None
    return quotable(written)


def _without_label(text: str) -> str:
    label = _LABEL.match(text)
    return text[label.end() :] if label else text
