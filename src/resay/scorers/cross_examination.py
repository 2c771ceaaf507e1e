"""Cross-examination (`cross_examination`): LMvsLM, revised for passages.

Cohen, Hamri, Geva and Globerson, "LM vs LM: Detecting Factual Errors via Cross Examination", EMNLP
2023, as revised by Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for
Passage-level Hallucination Detection", Findings of EMNLP 2023, section 5.

An examiner gets the response as a claim and asks questions about it. An examinee, the same model,
answers each set of questions with neither the claim nor the conversation before it (this is the
revision: with them it repeats the claim). The examiner may ask again, up to `turns` sets, and
concludes whether the claim is correct. Incorrect scores 1, correct 0.

Cost: 3 calls for each set of questions (the questions, the answers, "anything else?") and 1 for
the conclusion, all in sequence. The last set skips "anything else?": at most 3 x `turns` calls, 9
by default. Good at: precision; 75 % of the claims it calls incorrect are (in the paper). Bad at:
recall (15 %), cost and time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.patterns import lazy_pattern
from resay._internal.plurals import counted
from resay.core.failures import failure_kind
from resay.core.passage import Passage
from resay.core.request import Message
from resay.core.scores import Scores
from resay.errors import ProviderError
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_calls import ParsedAnswer, ask, scores_of, turn_of_judge
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.common.judge_words import TRUE_OR_FALSE, TRUTH
from resay.scorers.common.yes_no import parse_yes_no, strip_decoration
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge

_OPENING = (
    "Your goal is to find out whether the following claim is correct.\n\n"
    "Claim: {claim}\n\n"
    "Gather what you need by asking short questions that help to verify the claim; somebody who"
    " has not seen the claim will answer them. When the answers are in you will be asked for a"
    " conclusion. Begin with your first questions: a numbered list, one question per line, each"
    " of which can be understood on its own."
)
_EXAMINEE = "Please answer the following questions:\n{questions}"
_ANY_FOLLOW_UP = "{answers}\n\nDo you have any follow-up questions? Please answer with Yes or No."
_FOLLOW_UP = "What are the follow-up questions?"
_CONCLUSION = (
    "Based on the answers to your questions, is the claim correct or incorrect? Answer with one"
    " word: correct or incorrect."
)
_CONCLUSION_RESTATED = "Answer with one word and nothing else: correct or incorrect."

_CONCLUSIONS: Choices[bool] = Choices(
    words={word: not true for word, true in TRUE_OR_FALSE.items()},
    unclear=TRUTH.unclear,
    order=("correct", "incorrect"),
)
_TOKENS_OF_QUESTIONS = 1_024
_TOKENS_OF_ANSWERS = 4_096
_STATEMENT = lazy_pattern(
    r"\b(?:claim|statement|it)\s+(?:is|was|seems|appears|remains)\b[^.!?\n]*", re.IGNORECASE
)
# What asks something: a question mark of any script, or a line that tells to name something.
_QUESTION = lazy_pattern(
    r"[?？؟՞]|^\W*(?:\d{1,3}\W+)?(?:name|state|give|list|describe|specify|tell|identify|explain|provide"
    r"|nenne|nennen|gib|beschreibe|cite|nomme|indique|nombra|indica|elenca|descreva)\b",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTIONS_RESTATED = (
    "Write your questions as a numbered list, one question per line, and nothing else."
)
_WRONG = lazy_pattern(
    r"\b(?:incorrect|inaccurate|false|wrong|not (?:entirely |fully |completely )?(?:correct|true)"
    r"|(?:partially|partly) (?:correct|true))\b",
    re.IGNORECASE,
)
_RIGHT = lazy_pattern(r"\b(?:correct|true|accurate)\b", re.IGNORECASE)
_NEGATED = lazy_pattern(r"\bnot (?:\w+ )?(?:incorrect|inaccurate|false|wrong)\b", re.IGNORECASE)


class CrossExamination:
    """Has an examiner question an examinee about the response."""

    name: ClassVar[str] = "cross_examination"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_text=True)
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(JudgedConfig):
        """Settings of `cross_examination`."""

        method: Literal["cross_examination"] = "cross_examination"
        turns: int = Field(
            default=3, ge=1, le=20, description="The maximum number of sets of questions."
        )

    def __init__(self, config: CrossExamination.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Examine the response.

        Args:
            passage: The passage; all of it is the claim.
            evidence: The judge's provider.

        Returns:
            A passage score of 0 or 1.

        Raises:
            ScorerError: No judge is available.
        """
        judge = judge_for(self.config.judge, evidence)
        examination = _Examination(judge, passage.text, self.config.restate)
        try:
            turns = await examination.run(self.config.turns)
            parsed = await examination.conclude()
        except ProviderError as error:
            return Scores(failures=(failure_kind(error),), error="a call of the examination failed")
        except _NoExamError as error:
            return Scores(undetermined=1, error=str(error))
        called = f"after {counted(turns, 'set')} of questions the examiner called the response"
        return scores_of(
            parsed,
            right=f"{called} correct",
            wrong=f"{called} incorrect",
            unreadable="the examiner's conclusion was neither correct nor incorrect",
            unanswered="the examiner did not conclude",
        )


class _NoExamError(Exception):
    """Nothing was asked or answered, so that a conclusion would rest on nothing."""


class _Examination:
    """One examination: the examiner's conversation grows, the examinee's does not."""

    def __init__(self, judge: Judge, claim: str, restate: bool) -> None:
        self._judge = judge
        self._restate = restate
        self._messages: list[Message] = [_user(_OPENING.format(claim=claim))]
        self._last: Completion | None = None

    async def run(self, turns: int) -> int:
        """Ask and answer; return the number of sets of questions."""
        for turn in range(1, turns):
            answers = await self._question_examinee()
            if answers is None:
                return self._after(turn - 1)
            self._messages.append(_user(_ANY_FOLLOW_UP.format(answers=answers)))
            if not await self._has_follow_up():
                return turn
            self._messages.append(_user(_FOLLOW_UP))
        answers = await self._question_examinee()
        if answers is None:
            return self._after(turns - 1)
        self._messages.append(_user(answers))
        return turns

    def _after(self, turns: int) -> int:
        """Return the number of sets of questions, if there was one at all."""
        if turns == 0:
            if self._last is not None:
                self._judge.add_unread(self._last)
            raise _NoExamError("the examiner asked no question that was answered")
        return turns

    async def conclude(self) -> ParsedAnswer[bool]:
        """Ask the examiner whether the claim is wrong."""
        if self._messages[-1]["role"] == "user":
            answers = self._messages.pop()["content"]
            self._messages.append(_user(f"{answers}\n\n{_CONCLUSION}"))
        else:
            self._messages.append(_user(_CONCLUSION))
        return await ask(
            self._judge,
            self._messages,
            lambda answer: [parse_conclusion(answer.text)],
            _CONCLUSION_RESTATED if self._restate else None,
        )

    async def _question_examinee(self) -> str | None:
        """Return the examinee's answers to a set of questions; None if there were none."""
        questions = await self._ask_examiner()
        if not _QUESTION.search(questions) and self._restate:
            self._messages.append(_user(_QUESTIONS_RESTATED))
            questions = await self._ask_examiner()
        answers = ""
        if _QUESTION.search(questions):
            prompt = _EXAMINEE.format(questions=questions)
            answers = await self._ask(prompt, max_tokens=_TOKENS_OF_ANSWERS)
        return answers if answers.strip() else None

    async def _has_follow_up(self) -> bool:
        # Anything but a clear yes ends the questions; that costs a turn, not the conclusion.
        return parse_yes_no(await self._ask_examiner()) is True

    async def _ask_examiner(self) -> str:
        text = await self._ask(self._messages, max_tokens=_TOKENS_OF_QUESTIONS)
        self._messages.append(turn_of_judge(text))
        return text

    async def _ask(self, prompt: str | Sequence[Message], *, max_tokens: int) -> str:
        self._last = (await self._judge.complete(prompt, max_tokens=max_tokens)).first
        return self._last.text


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def parse_conclusion(text: str) -> bool | None:
    """Parse whether an examiner calls the claim wrong.

    "Incorrect" and "correct" count as the first word, or as a statement about the claim: "Based on
    the answers, the claim is incorrect." A claim that is only partly correct is wrong. Anything
    else, including a refusal, cannot be parsed.

    Args:
        text: The examiner's answer.

    Returns:
        True for incorrect, False for correct, None for anything else.
    """
    (stated,) = read_items(text, 1, _CONCLUSIONS)
    if stated is not None:
        return stated
    statements = " ".join(_STATEMENT.findall(strip_decoration(text)))
    if _NEGATED.search(statements):
        return None
    if _WRONG.search(statements):
        return True
    return False if _RIGHT.search(statements) else None
