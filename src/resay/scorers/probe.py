"""Semantic entropy of answers about each claim (`probe`).

Farquhar, Kossen, Kuhn and Gal, "Detecting hallucinations in large language models using semantic
entropy", Nature 630, 2024, the procedure for long texts, with the prompts released with it. For
each claim of the response

1. a judge writes `questions` questions that the claim might answer in the context of the text
   before it (its last 4,000 characters), with the answer that the claim gives, `draws` times over;
2. the model that wrote the response answers each question `answers` times, in as few words as
   possible;
3. these answers and the claim's are clustered by meaning: two mean the same if one entails the
   other and neither contradicts it;
4. the entropy of the meanings of a question is averaged over its questions.

The score is the entropy divided by its maximum, the log of the number of answers; it is 1 if half
the answers, rounded down, are unknown (unknown, unclear, not available, not provided), as released.
The method `prompt` has a cheaper form for claims that samples do not mention (`probe: n`), which
compares answers with the claim's by the values of numbers and dates, and by words.

Cost, per claim: `draws` calls for questions, draws x questions x answers short ones (draws x
questions if the provider supports `n`), and the classifications of its answers, or calls of `by:
judge`. The paper uses 2, 3 and 3: 20 calls. Good at: single facts of long texts, without samples of
the whole. Bad at: cost, and claims that answer no question with a single answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import ClassVar, Literal

from pydantic import Field

from resay.core.non_claims import non_claim_kind
from resay.core.passage import Passage
from resay.core.verdict import Scores, mean_score
from resay.errors import BudgetExceededError
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.judging import (
    TOKENS_OF_VERDICT,
    ParsedAnswer,
    ask_each,
    ask_together,
    judge_for,
    strip_decoration,
    why_unscored,
)
from resay.scorers.entailments import NEUTRAL, SAME, Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge
from resay.scorers.nli import Entailing, EntailingConfig, why_unknown
from resay.scorers.semantic import (
    Equivalence,
    complete,
    entropy,
    meanings,
)

_QUESTIONS = """\
{before}

{claim}

Generate a list of {count} questions, that might have generated the sentence in the context of the \
preceding original text, as well as their answers. Please do not use specific facts that appear in \
the follow-up sentence when formulating the question.
Make the questions and answers diverse. Avoid yes-no questions.
The answers should not be a full sentence and as short as possible, e.g. only a name, place, or \
thing. Use the format "1. {{question}} -- {{answer}}\""""
_ALONE = "You see the sentence:"
_FOLLOWING = """\
Following this text:

{text}

You see the sentence:"""
_ANSWER = """\
We are writing an answer to the question "{asked}". {before}

{question}

Please answer this question. Do not answer in a full sentence. Answer with as few words as \
possible, e.g. only a name, place, or thing."""
_ANSWER_FIRST = "First, we observe the following question:"
_ANSWER_NEXT = """\
So far we have written:

{text}

The next sentence should be the answer to the following question:"""
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
_LINE = re.compile(r"\s*(?:\d{1,3}\s*[.):]\s*)?(?P<question>\S.*?)\s+(?:--|—)\s+(?P<answer>\S.*)")
_NOT_KNOWN = ("not available", "not provided", "unknown", "unclear")
_MOST_CHARS = 300
_BEFORE_CHARS = 4_000


def _is_unknown(answer: str) -> bool:
    """Return whether an answer says that something is unknown."""
    is_unknown = any(word in answer.casefold() for word in _NOT_KNOWN)
    return is_unknown or non_claim_kind(answer, is_open=False) is not None


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a claim, and the answer that the claim gives."""

    text: str
    answer: str


def render_questions(claim: str, before: str, count: int) -> str:
    """Return the prompt that asks for questions about a claim.

    Args:
        claim: The claim.
        before: The text before it; empty for the first claim.
        count: Number of questions.
    """
    return _QUESTIONS.format(
        before=_FOLLOWING.format(text=before) if before else _ALONE,
        claim=claim,
        count=_NUMBERS.get(count, count),
    )


def render_answer(asked: str, before: str, question: str) -> str:
    """Return the prompt that asks the model a question.

    Args:
        asked: The user's question.
        before: The text before the claim; empty for the first claim.
        question: The question.
    """
    return _ANSWER.format(
        asked=asked,
        before=_ANSWER_NEXT.format(text=before) if before else _ANSWER_FIRST,
        question=question,
    )


def parse_questions(text: str, count: int) -> list[Question | None]:
    """Parse at most `count` lines such as `1. In which year did it open? -- 1932`."""
    # Longer lines are skipped: the pattern takes time quadratic in their length.
    lines = (_LINE.fullmatch(line) for line in text.splitlines() if len(line) <= _MOST_CHARS)
    found = [
        Question(line["question"].strip(), line["answer"].strip().rstrip("."))
        for line in lines
        if line
    ]
    return [*found[:count], *[None] * max(count - len(found), 0)]


class Probe:
    """Asks the model about each claim several times, and computes the entropy of its answers."""

    name: ClassVar[str] = "probe"
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(EntailingConfig):
        """Settings of `probe`."""

        method: Literal["probe"] = "probe"
        questions: int = Field(
            default=3, ge=1, le=8, description="The number of questions to write in one call."
        )
        draws: int = Field(
            default=1,
            ge=1,
            le=10,
            description="The number of calls to write questions; 2 in the paper.",
        )
        answers: int = Field(
            default=3, ge=1, le=20, description="The number of answers to draw for each question."
        )
        equivalence: Equivalence = Field(
            default="lax",
            description="Which answers mean the same, as for the method `semantic`; lax in the"
            " paper.",
        )
        writer: str | None = Field(
            default=None,
            description="The model that writes the questions; null = the model that wrote the"
            " response.",
        )

        @property
        def asks_response_model(self) -> bool:
            """Whether the model that wrote the response is asked; it always gives the answers."""
            return True

        @property
        def named_judge(self) -> str | None:
            """The model that writes the questions, or the judge of entailment, if named."""
            return self.writer or super().named_judge

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self._entailing = Entailing(self.config)
        wanted: set[Need] = {"judge", "query", *self._entailing.needs}
        self.needs = frozenset(wanted)

    async def prepare(self) -> None:
        """Load the classifier, if one is used.

        Raises:
            ConfigurationError: It cannot be loaded, or lacks labels for both classes.
            ScorerError: Its server does not respond.
        """
        await self._entailing.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about each claim.

        Args:
            passage: The response; its `sentences` are asked about.
            evidence: The query, the writer's provider, and the prober that answers the questions.

        Returns:
            Sentence scores, with the entropies in `raw` if all have one; None if no question could
            be parsed, or no answer was received.

        Raises:
            ConfigurationError: The classifier cannot be loaded, or has the wrong labels.
            ScorerError: The classifier failed, or no model is available.
        """
        model = evidence.prober
        if model is None:
            return Scores(error="the model that wrote the response cannot be asked")
        writer = judge_for(self.config.writer, evidence)
        asked = evidence.quoted_question
        claims = [" ".join(s.standalone.split()) for s in passage.sentences]
        text = " ".join(claims)
        ends = list(accumulate((len(claim) + 1 for claim in claims), initial=0))
        left = evidence.calls_left()
        # Each claim takes a call or more. At least one starts, so that the budget reports why not.
        begun = len(claims) if left is None else min(len(claims), max(left, 1))
        unpaid = _Claim({}, 0, (BudgetExceededError.__name__,))

        async def ask_about(i: int) -> _Claim:
            # The context starts at the beginning of a claim.
            start = ends[bisect_left(ends, ends[i] - _BEFORE_CHARS)]
            before = text[start : ends[i]].strip()
            return await self._ask(writer, model, asked, claims[i], before)

        found = await ask_each(range(begun), ask_about)
        found += [unpaid] * (len(claims) - begun)
        pairs = [
            (one, other)
            for claim in found
            for answers in claim.answers.values()
            for one in answers
            for other in answers
            if one != other
        ]
        entailed = Entailed({})
        if pairs:
            entailed = await self._entailing.find(pairs, evidence)
        results = [self._entropy(claim, entailed) for claim in found]
        scores = [None if r is None else r.score for r in results]
        failures = (*(kind for claim in found for kind in claim.failures), *entailed.failures)
        raw = [r.entropy for r in results if r is not None]
        return Scores(
            sentences=tuple(scores),
            raw=tuple(raw) if len(raw) == len(results) else (),
            reasons=tuple(None if r is None else r.reason for r in results),
            failures=failures,
            lost=tuple(i for i, score in enumerate(scores) if score is None),
            undetermined=sum(claim.unread for claim in found) + entailed.undetermined(pairs),
            error=why_unscored(
                scores, failures, "could not obtain a question or an answer for {lost}"
            )
            or why_unknown(pairs, entailed),
        )

    async def _ask(
        self, writer: Judge, model: Judge, asked: str, claim: str, before: str
    ) -> _Claim:
        config = self.config
        prompt = render_questions(claim, before, config.questions)

        def parse(answer: Completion) -> list[Question | None]:
            return parse_questions(answer.text, config.questions)

        drawn = await ask_together(
            writer.varied(), prompt, parse, None, config.draws, tokens=2 * TOKENS_OF_VERDICT
        )
        questions = dict.fromkeys(q for parsed in drawn for q in parsed.slots if q is not None)

        async def answer(question: Question) -> Sequence[ParsedAnswer[str]]:
            text = render_answer(asked, before, question.text)
            messages = (*model.query.messages, {"role": "user", "content": text})
            return await ask_together(model, messages, _short, None, config.answers)

        answers_by_question = await ask_each(questions, answer)
        failures = [kind for parsed in drawn for kind in parsed.failures]
        failures += [
            kind
            for parsed_answers in answers_by_question
            for r in parsed_answers
            for kind in r.failures
        ]
        answers = {
            question: [question.answer, *(t for r in parsed_answers for t in r.slots if t)]
            for question, parsed_answers in zip(questions, answers_by_question, strict=True)
        }
        return _Claim(
            {question: texts for question, texts in answers.items() if len(texts) > 1},
            sum(r.answered and not any(r.slots) for r in drawn),
            tuple(failures),
        )

    def _entropy(self, claim: _Claim, entailed: Entailed) -> _Result | None:
        scores: list[float] = []
        entropies: list[float] = []
        explanations: list[str] = []
        for question, said_all in claim.answers.items():
            wanted = [(one, other) for one in said_all for other in said_all if one != other]
            answers = [said_all[i] for i in complete(said_all, wanted, entailed)]
            if len(answers) < 2:
                continue
            unknown = sum(_is_unknown(answer) for answer in answers)
            matrix = [[_known(entailed, one, other) for other in answers] for one in answers]
            found = meanings(matrix, self.config.equivalence)
            value = entropy(found)
            if unknown >= len(answers) // 2:
                value = log(len(answers))
            entropies.append(value)
            scores.append(value / log(len(answers)))
            example = dict(zip(reversed(found), reversed(answers), strict=True))
            counts = ", ".join(f"{example[m]} (x{found.count(m)})" for m in sorted(example))
            explanations.append(f"{question.text!r}: {counts}")
        score, value = mean_score(scores), mean_score(entropies)
        if score is None or value is None:
            return None
        return _Result(
            min(score, 1.0), value, f"entropy {value:.2f}; asked {'; '.join(explanations)}"
        )


@dataclass(frozen=True, slots=True)
class _Claim:
    """The answers about one claim, its own first, and the number of unparsed lists of questions."""

    answers: dict[Question, list[str]]
    unread: int
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Result:
    score: float
    entropy: float
    reason: str


def _known(entailed: Entailed, one: str, other: str) -> Entailment:
    pair: Pair = (one, other)
    # As in the measures of meaning, an answer that cannot be parsed is neutral.
    return SAME if one == other else entailed.by_pair.get(pair) or NEUTRAL


def _short(answer: Completion) -> list[str]:
    line = next((line for line in answer.text.splitlines() if line.strip()), "")
    return [strip_decoration(line).rstrip(" .*_`\"'")[:_MOST_CHARS]]
