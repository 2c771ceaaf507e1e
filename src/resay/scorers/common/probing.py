"""Asks the model about claims on which the samples say too little (`probe` of the method `prompt`).

The silence of the samples does not show whether a detail is true or invented, so the model is asked
for it. A judge writes one question for each claim, all in one call, and names the answer that the
claim gives: "In which year did the bridge open? | 1932". The answer must appear in the claim, and
must not appear in the question; if it does, the claim with a gap in place of the answer becomes the
question. Then the model that wrote the response answers all questions in one prompt, in a few words
each, n times, with the settings of samples and without seeing the response. A question that gives
away the answer to another goes into another prompt.

Answers are compared with the claim's and clustered by meaning: numbers, dates and measures by
value, everything else by its words, and by a judge where words do not decide. "I don't know" counts
as no answer.

Asking a question per claim follows Farquhar, Kossen, Kuhn and Gal, "Detecting hallucinations in
large language models using semantic entropy", Nature 630, 2024, as do the clusters; the share of
answers that disagree in place of the entropy, the common prompt, and the gap, are ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import anyio

from resay._internal.event_loops import compute
from resay.lang.language import load
from resay.lang.prompts import Prompts
from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices
from resay.scorers.common.fences import Fences
from resay.scorers.common.judge_calls import TOKENS_OF_VERDICT, ParsedAnswer, ask, ask_together
from resay.scorers.common.judge_words import CLEAR_YES_OR_NO, YES_OR_NO
from resay.scorers.common.probe_questions import (
    NO_QUESTION,
    ProbeQuestion,
    independent_groups,
    read_questions,
    render_questions,
    usable,
)
from resay.scorers.common.short_answers import agrees, read_short_answers, words_decide
from resay.scorers.judge import Judge

MARGIN_S = 0.25
"""How long before the deadline to stop asking, so that the samples' result can be reported."""
_MAX_CLAIMS = 30
"""Of one prompt: many models write no more than 4,096 tokens at once."""
# Cost of looking for the answers of a character of questions in others, in characters.
_CONFLICT_COST = 60

Relation = Literal["same", "different", "unclear"]
_YES_AS_RELATION: Mapping[bool, Relation] = {True: "same", False: "different"}
_RELATIONS: Choices[Relation] = Choices(
    words={
        **dict.fromkeys(("same", "the same", "equal", "equivalent", "identical"), "same"),
        **dict.fromkeys(("different", "not the same", "not same", "differ"), "different"),
        **dict.fromkeys(("unclear", "neither", "unknown", "no answer"), "unclear"),
        **{word: _YES_AS_RELATION[yes] for word, yes in CLEAR_YES_OR_NO.items()},
    },
    alone={word: _YES_AS_RELATION[yes] for word, yes in YES_OR_NO.items()},
    order=("same", "different", "unclear"),
)
NOBODY_TO_ASK = "the model that wrote the response cannot be asked"
"""Why a claim is not asked about if there is no such model."""
ONE_OF_MANY = "a question about it has several right answers"
"""Why a claim is not asked about if it names one of many members."""
_NOT_ENOUGH_CALLS = "too few calls are left (`limits.calls`)"
NO_TIME = "there was no time left"
"""Why a claim is not asked about, or has no answer, close to the deadline."""
_NO_ANSWER = "no answer came"
# The claim itself allows no question, or nobody can answer it, so that only the samples count.
_UNASKABLE = frozenset((NOBODY_TO_ASK, ONE_OF_MANY))


@dataclass(slots=True)
class ProbeResult:
    """The result of asking about a claim.

    Attributes:
        question: The question; None if the claim was not asked about.
        error: Why it was not, or why there are no answers.
        clusters: Answers of equal meaning, as the first of each and its count, largest first.
        agree: Number of answers that agree with the claim.
        against: Number of answers that disagree.
        unknown: Number of answers that say nothing, or of which nobody could tell what they say.
        uncompared: The number of the latter.
        contrary: The most frequent answer that disagrees.
    """

    question: ProbeQuestion | None = None
    error: str | None = None
    clusters: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    agree: int = 0
    against: int = 0
    unknown: int = 0
    uncompared: int = 0
    contrary: str | None = None

    @property
    def score(self) -> float | None:
        """The share of disagreeing answers among those that say something."""
        known = self.agree + self.against
        return self.against / known if known else None

    @property
    def unanswered(self) -> str | None:
        """Why a question that could be asked has no answer, without content; None if it has."""
        if self.score is not None or self.error in _UNASKABLE:
            return None
        if self.error:
            return self.error
        return "it is unclear what its answers say" if self.clusters else "the model gave no answer"

    @property
    def reason(self) -> str:
        """A one-line explanation."""
        if self.question is None:
            return f"not asked about: {self.error}"
        asked = f"asked {self.question.text!r}, where it says {self.question.value!r}"
        if self.error:
            return f"{asked}: {self.error}"
        answers = [f"{text} (x{count})" for text, count in self.clusters]
        silent = self.unknown - self.uncompared
        if silent:
            answers.append(f"nothing (x{silent})")
        return f"{asked}, the model said {', '.join(answers)}"


@dataclass(slots=True)
class ProbeResults:
    """The results of asking about claims.

    Attributes:
        by_claim: Results by the positions of the claims.
        failures: Kinds of failed calls.
    """

    by_claim: dict[int, ProbeResult] = field(default_factory=dict[int, ProbeResult])
    failures: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Prober:
    """Asks the model about claims.

    Attributes:
        model: The model that gives the short answers.
        judge: The judge that writes the questions.
        comparer: The judge that compares answers where words do not decide; None to use words
            alone.
        answers: Number of answers to each question.
        conversation: The end of the conversation; empty if unknown.
        restate: Whether to ask once more for an answer that cannot be parsed.
        calls_left: Returns how many more calls may be made; None for any number.
    """

    model: Judge
    judge: Judge
    comparer: Judge | None
    answers: int
    conversation: str
    restate: bool
    calls_left: Callable[[], int | None]

    async def ask(self, claims: Mapping[int, str]) -> ProbeResults:
        """Ask about claims, as far as time and calls allow.

        Args:
            claims: The claims' texts by their positions.

        Returns:
            The result for each of them.
        """
        results = ProbeResults({i: ProbeResult(error=NO_TIME) for i in claims})
        answers_by_claim: defaultdict[int, list[str | None]] = defaultdict(list)
        relations: dict[tuple[str, str], Relation] = {}
        deadline = anyio.current_effective_deadline() - MARGIN_S
        positions = list(claims)
        # What was answered still counts if there is no time to ask more.
        with anyio.CancelScope(deadline=deadline):
            for start in range(0, len(positions), _MAX_CLAIMS):
                batch = {i: claims[i] for i in positions[start : start + _MAX_CLAIMS]}
                questions = await self._write_questions(batch, results)
                await self._draw_answers(questions, results, answers_by_claim)
            relations.update(await self._compare_answers(results, answers_by_claim))
        for i, answers in answers_by_claim.items():
            self._count(results.by_claim[i], answers, relations)
        return results

    async def _write_questions(
        self, claims: Mapping[int, str], results: ProbeResults
    ) -> dict[int, ProbeQuestion]:
        """Return a question about each claim about which one can be asked."""
        answer_calls = await self._calls_for_answers()
        if not self._can_afford(1 + answer_calls):
            for i in claims:
                results.by_claim[i].error = _NOT_ENOUGH_CALLS
            return {}
        parsed = await ask(
            self.judge.about(claims.values()),
            render_questions(list(claims.values()), self.conversation),
            lambda answer: read_questions(answer.text, len(claims)),
            self._restatement(_prompts().questions.again, len(claims), calls_reserved=answer_calls),
            tokens=2 * TOKENS_OF_VERDICT,
        )
        results.failures += parsed.failures
        values: defaultdict[str, set[str]] = defaultdict(set)
        for written in parsed.slots:
            if written is not None:
                values[written.text.casefold()].add(written.value.casefold())
        questions: dict[int, ProbeQuestion] = {}
        for (i, claim), written in zip(claims.items(), parsed.slots, strict=True):
            # If two claims answer a question differently, neither is its only answer.
            if written is not None and len(values[written.text.casefold()]) > 1:
                written = NO_QUESTION
            question = written and usable(claim, written)
            if question is None:
                results.by_claim[i].error = _no_question_reason(parsed, written)
                continue
            results.by_claim[i].question = question
            questions[i] = question
        return questions

    async def _draw_answers(
        self,
        questions: Mapping[int, ProbeQuestion],
        results: ProbeResults,
        answers_by_claim: defaultdict[int, list[str | None]],
    ) -> None:
        """Draw the answers to questions, in one prompt for those that do not tell on each other."""
        chars = _CONFLICT_COST * sum(len(question.text) for question in questions.values())
        groups = await compute(partial(independent_groups, questions), chars=chars)

        async def draw(group: Sequence[int], model: Judge, count: int) -> None:
            texts = [questions[i].text for i in group]
            prompt = render_short_questions(texts, self.conversation)
            parsed_answers = await ask_together(
                model,
                (*model.request.messages, {"role": "user", "content": prompt}),
                lambda answer: read_short_answers(answer.text, texts),
                None,
                count,
            )
            for parsed in parsed_answers:
                results.failures += parsed.failures
                if not parsed.answered:
                    continue
                for i, answer in zip(group, parsed.slots, strict=True):
                    answers_by_claim[i].append(answer)

        calls_per_group = await self._calls_for_answers()
        async with anyio.create_task_group() as tasks:
            for count, group in enumerate(groups, 1):
                is_affordable = self._can_afford(count * calls_per_group)
                for i in group:
                    results.by_claim[i].error = _NO_ANSWER if is_affordable else _NOT_ENOUGH_CALLS
                if not is_affordable:
                    continue
                if calls_per_group == 1:
                    tasks.start_soon(draw, group, self.model, self.answers)
                    continue
                # Answers that arrive before the deadline count, however long the others take.
                for index in range(self.answers):
                    tasks.start_soon(draw, group, self.model.at(index), 1)

    async def _calls_for_answers(self) -> int:
        return 1 if await self.model.provider.takes_n(self.model.request) else self.answers

    def _can_afford(self, calls: int) -> bool:
        left = self.calls_left()
        return left is None or left >= calls

    def _restatement(self, restatement: str, count: int, *, calls_reserved: int = 0) -> str | None:
        """Return what to say after an answer that cannot be parsed; None to leave it at that.

        Args:
            restatement: The restated format.
            count: Number of items asked about.
            calls_reserved: Number of calls that must be left for other questions.
        """
        # One call is for the first answer.
        if not self.restate or not self._can_afford(2 + calls_reserved):
            return None
        return restatement.format(count=count)

    async def _compare_answers(
        self, results: ProbeResults, answers_by_claim: Mapping[int, Sequence[str | None]]
    ) -> dict[tuple[str, str], Relation]:
        """Have a judge compare answers where words do not decide; empty without a judge."""
        undecided: dict[tuple[str, str], str] = {}
        for i, answers in answers_by_claim.items():
            question = results.by_claim[i].question
            for answer in answers:
                if question is None or answer is None:
                    continue
                if words_decide(question.value, answer, question.text):
                    continue
                undecided.setdefault((question.value, answer), question.text)
        if self.comparer is None or not undecided or not self._can_afford(1):
            return {}
        lines: list[str] = []
        for (value, answer), question in undecided.items():
            lines.append(f"{len(lines) + 1}. {question} | {value} | {answer}")
        parsed = await ask(
            self.comparer,
            render_comparison("\n".join(lines)),
            lambda answer: read_items(answer.text, len(undecided), _RELATIONS),
            self._restatement(_prompts().same_answer.again, len(undecided)),
        )
        results.failures += parsed.failures
        slots = zip(undecided, parsed.slots, strict=True)
        return {pair: relation for pair, relation in slots if relation is not None}

    def _count(
        self,
        result: ProbeResult,
        answers: Sequence[str | None],
        relations: Mapping[tuple[str, str], Relation],
    ) -> None:
        """Cluster the answers to a question, and count those that agree with the claim."""
        question = result.question
        if question is None:
            return
        result.error = None
        clusters: list[tuple[str, int]] = []
        contrary: Counter[str] = Counter()
        for answer in answers:
            if answer is None:
                result.unknown += 1
                continue
            agreed = self._agrees(question, answer, relations)
            if agreed is None:
                result.unknown += 1
                result.uncompared += 1
            elif agreed:
                result.agree += 1
            else:
                result.against += 1
                contrary[answer] += 1
            _join(clusters, question.value if agreed else answer)
        result.clusters = sorted(clusters, key=lambda cluster: -cluster[1])
        result.contrary = next((text for text, _ in contrary.most_common(1)), None)

    def _agrees(
        self, question: ProbeQuestion, answer: str, relations: Mapping[tuple[str, str], Relation]
    ) -> bool | None:
        """Return whether an answer says what the claim says; None if nobody could tell."""
        if self.comparer is None or words_decide(question.value, answer, question.text):
            return agrees(question.value, answer)
        relation = relations.get((question.value, answer))
        return {"same": True, "different": False}.get(relation or "")


def render_short_questions(questions: Sequence[str], conversation: str = "") -> str:
    """Return the prompt that asks questions.

    Args:
        questions: The questions, to be numbered from 1.
        conversation: The conversation they are about; empty if unknown.
    """
    listed = "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(questions, 1))
    prompt = _prompts().short_answers
    fences = Fences.around(conversation, listed)
    parts: list[str] = []
    if conversation:
        parts.append(fences.enclose("conversation", conversation))
    parts.append(fences.enclose("questions", listed))
    parts.append(prompt.rules.format(about=prompt.about if conversation else ""))
    return "\n\n".join(parts)


def render_comparison(pairs: str) -> str:
    """Return the prompt that compares short answers.

    Args:
        pairs: Numbered lines of a question and two answers to it.
    """
    prompt = _prompts().same_answer
    answers = Fences.around(pairs).enclose("answers", pairs)
    return f"{prompt.task}\n\n{answers}\n\n{prompt.rules}"


def _prompts() -> Prompts:
    return load("en").prompts


def _no_question_reason(parsed: ParsedAnswer[ProbeQuestion], written: ProbeQuestion | None) -> str:
    if not parsed.answered:
        return "the call for a question failed"
    if written is None:
        return "no question could be read"
    if written == NO_QUESTION:
        return ONE_OF_MANY
    return "no question could be made that asks for it and does not tell it"


def _join(clusters: list[tuple[str, int]], answer: str) -> None:
    for position, (text, count) in enumerate(clusters):
        if text == answer or agrees(text, answer):
            clusters[position] = (text, count + 1)
            return
    clusters.append((answer, 1))
