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

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.patterns import lazy_pattern
from resay.core.non_claims import non_claim_kind
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import Scores, mean_score
from resay.errors import BudgetExceededError
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.entailing import EntailingConfig, EntailingScorer
from resay.scorers.common.judge_calls import (
    TOKENS_OF_VERDICT,
    ParsedAnswer,
    ask_each,
    ask_together,
    unscored_reason,
)
from resay.scorers.common.judge_config import judge_for, judge_requests
from resay.scorers.common.semantic_measures import Equivalence, entropy, meanings
from resay.scorers.common.yes_no import strip_decoration
from resay.scorers.entailments import Entailed, Pair, pairs_among
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge

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
We are writing an answer to the question "{user_question}". {before}

{question}

Please answer this question. Do not answer in a full sentence. Answer with as few words as \
possible, e.g. only a name, place, or thing."""
_ANSWER_FIRST = "First, we observe the following question:"
_ANSWER_NEXT = """\
So far we have written:

{text}

The next sentence should be the answer to the following question:"""
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
_LINE = lazy_pattern(r"\s*(?:\d{1,3}\s*[.):]\s*)?(?P<question>\S.*?)\s+(?:--|—)\s+(?P<answer>\S.*)")
_NOT_KNOWN = ("not available", "not provided", "unknown", "unclear")
_MAX_CHARS = 300
_BEFORE_CHARS = 4_000


def _is_unknown(answer: str) -> bool:
    """Return whether an answer says that something is unknown."""
    is_unknown = any(word in answer.casefold() for word in _NOT_KNOWN)
    return is_unknown or non_claim_kind(answer, is_open=False) is not None


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
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


def render_answer(user_question: str, before: str, question: str) -> str:
    """Return the prompt that asks the model a question.

    Args:
        user_question: The user's question.
        before: The text before the claim; empty for the first claim.
        question: The question.
    """
    return _ANSWER.format(
        user_question=user_question,
        before=_ANSWER_NEXT.format(text=before) if before else _ANSWER_FIRST,
        question=question,
    )


def parse_questions(text: str, count: int) -> list[ClaimQuestion | None]:
    """Parse at most `count` lines such as `1. In which year did it open? -- 1932`."""
    questions: list[ClaimQuestion | None] = []
    for line in text.splitlines():
        # Longer lines are skipped: the pattern takes time quadratic in their length.
        match = _LINE.fullmatch(line) if len(line) <= _MAX_CHARS else None
        if match is not None and len(questions) < count:
            answer = match["answer"].strip().rstrip(".")
            questions.append(ClaimQuestion(match["question"].strip(), answer))
    return [*questions, *[None] * (count - len(questions))]


class Probe(EntailingScorer):
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
        def judge_requests(self) -> tuple[Request, ...]:
            """Requests to the model that writes the questions, and to the judge of entailment."""
            return (*judge_requests(self.writer), *super().judge_requests)

    def __init__(self, config: Probe.Config | None = None) -> None:
        self.config = config or self.Config()
        super().__init__(self.config)
        needs: set[Need] = {"judge", "question", *self._entailing.needs}
        self.needs = frozenset(needs)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about each claim.

        Args:
            passage: The response; its `sentences` are asked about.
            evidence: The request, the writer's provider, and the prober that answers the questions.

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
        # A classifier that cannot be loaded must not cost any calls.
        await self.prepare()
        writer = judge_for(self.config.writer, evidence)
        claims = [" ".join(sentence.standalone.split()) for sentence in passage.sentences]
        contexts = _contexts(claims)
        user_question = evidence.quoted_question
        left = evidence.calls_left()
        # Each claim takes a call or more. At least one starts, so that the budget reports why not.
        affordable = len(claims) if left is None else min(len(claims), max(left, 1))

        async def ask_about(claim: int) -> _ClaimAnswers:
            return await self._ask(writer, model, user_question, claims[claim], contexts[claim])

        answers = await ask_each(range(affordable), ask_about)
        unpaid = _ClaimAnswers({}, failures=(BudgetExceededError.__name__,))
        answers += [unpaid] * (len(claims) - affordable)
        pairs: list[Pair] = []
        for of_claim in answers:
            for texts in of_claim.by_question.values():
                pairs += pairs_among(texts)
        entailed = Entailed({})
        if pairs:
            entailed = await self._entailing.find(pairs, evidence)
        results = [self._entropy(of_claim, entailed) for of_claim in answers]
        scores = [None if result is None else result.score for result in results]
        entropies = [result.entropy for result in results if result is not None]
        failures = [kind for of_claim in answers for kind in of_claim.failures]
        failures += entailed.failures
        unread = sum(of_claim.unread for of_claim in answers)
        return Scores(
            sentences=tuple(scores),
            raw=tuple(entropies) if len(entropies) == len(results) else (),
            reasons=tuple(None if result is None else result.reason for result in results),
            failures=tuple(failures),
            lost=tuple(claim for claim, score in enumerate(scores) if score is None),
            undetermined=unread + entailed.undetermined(pairs),
            error=unscored_reason(
                scores, failures, "could not obtain a question or an answer for {lost}"
            )
            or entailed.missing_reason(pairs),
        )

    async def _ask(
        self, writer: Judge, model: Judge, user_question: str, claim: str, before: str
    ) -> _ClaimAnswers:
        """Have questions about a claim written, and ask the model each several times."""
        config = self.config
        writer, model = writer.about([claim]), model.about([claim])
        prompt = render_questions(claim, before, config.questions)

        def parse(answer: Completion) -> list[ClaimQuestion | None]:
            return parse_questions(answer.text, config.questions)

        lists = await ask_together(
            writer.varied(), prompt, parse, None, config.draws, tokens=2 * TOKENS_OF_VERDICT
        )
        failures = [kind for parsed in lists for kind in parsed.failures]
        questions: dict[ClaimQuestion, None] = {}
        for parsed in lists:
            questions |= {question: None for question in parsed.slots if question is not None}

        async def draw_answers(question: ClaimQuestion) -> Sequence[ParsedAnswer[str]]:
            text = render_answer(user_question, before, question.text)
            messages = (*model.request.messages, {"role": "user", "content": text})
            return await ask_together(model, messages, _short, None, config.answers)

        drawn = await ask_each(questions, draw_answers)
        by_question: dict[ClaimQuestion, list[str]] = {}
        for question, answers in zip(questions, drawn, strict=True):
            failures += [kind for parsed in answers for kind in parsed.failures]
            texts = [text for parsed in answers for text in parsed.slots if text]
            if texts:
                by_question[question] = [question.answer, *texts]
        unread = sum(parsed.answered and not any(parsed.slots) for parsed in lists)
        return _ClaimAnswers(by_question, unread, tuple(failures))

    def _entropy(self, of_claim: _ClaimAnswers, entailed: Entailed) -> _Result | None:
        scores: list[float] = []
        entropies: list[float] = []
        explanations: list[str] = []
        for question, texts in of_claim.by_question.items():
            complete = entailed.complete(texts, pairs_among(texts))
            answers = [texts[i] for i in complete]
            if len(answers) < 2:
                continue
            unknown = sum(_is_unknown(answer) for answer in answers)
            matrix = [[entailed.relation(text, other) for other in answers] for text in answers]
            meaning_of_each = meanings(matrix, self.config.equivalence)
            value = entropy(meaning_of_each)
            if unknown >= len(answers) // 2:
                value = log(len(answers))
            entropies.append(value)
            scores.append(value / log(len(answers)))
            counts = Counter(meaning_of_each)
            examples = dict(zip(reversed(meaning_of_each), reversed(answers), strict=True))
            listed = [f"{examples[meaning]} (x{counts[meaning]})" for meaning in sorted(counts)]
            explanations.append(f"{question.text!r}: {', '.join(listed)}")
        score, value = mean_score(scores), mean_score(entropies)
        if score is None or value is None:
            return None
        return _Result(
            score=min(score, 1.0),
            entropy=value,
            reason=f"entropy {value:.2f}; asked {'; '.join(explanations)}",
        )


@dataclass(frozen=True, slots=True)
class _ClaimAnswers:
    """The answers about one claim.

    Attributes:
        by_question: The answers to each question, that of the claim first.
        unread: Number of lists of questions that could not be parsed.
        failures: Kinds of failed calls.
    """

    by_question: Mapping[ClaimQuestion, Sequence[str]]
    unread: int = 0
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Result:
    score: float
    entropy: float
    reason: str


def _contexts(claims: Sequence[str]) -> list[str]:
    """Return the end of the text before each claim, from the beginning of a claim on."""
    text = " ".join(claims)
    starts = list(accumulate((len(claim) + 1 for claim in claims), initial=0))
    contexts: list[str] = []
    for start in starts[:-1]:
        first = starts[bisect_left(starts, start - _BEFORE_CHARS)]
        contexts.append(text[first:start].strip())
    return contexts


def _short(answer: Completion) -> list[str]:
    line = next((line for line in answer.text.splitlines() if line.strip()), "")
    return [strip_decoration(line).rstrip(" .*_`\"'")[:_MAX_CHARS]]
