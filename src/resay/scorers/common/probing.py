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

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, cast

import anyio

from resay._internal.event_loops import compute
from resay.core.quotes import find_quote
from resay.lang.language import load
from resay.lang.prompts import Prompts
from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices
from resay.scorers.common.fences import Fences
from resay.scorers.common.item_numbers import as_number, number_of
from resay.scorers.common.judge_json import json_values
from resay.scorers.common.judge_words import CLEAR_YES_OR_NO, YES_OR_NO
from resay.scorers.common.judging import (
    TOKENS_OF_VERDICT,
    ParsedAnswer,
    ask,
    ask_together,
    strip_decoration,
)
from resay.scorers.common.numbered_lines import parse_numbered
from resay.scorers.common.short_answers import (
    agrees,
    gives_away,
    read_short_answers,
    words_decide,
)
from resay.scorers.common.words import stems_of
from resay.scorers.judge import Judge

MARGIN_S = 0.25
"""How long before the deadline to stop asking, so that the samples' result can be reported."""
_MOST_CLAIMS = 30
"""Of one prompt: many models write no more than 4,096 tokens at once."""
_MOST_CHARS = 300
_GAP = "[…]"
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
_ANSWER_LABEL = (
    r"(?:(?:correct |right )?answer|a|antwort|réponse|respuesta|risposta|resposta|antwoord|ответ"
    r"|答案|答え|正解|답)\s*[:：]"
)
# "When did it open? | 1932", "When did it open? - 1932", "When did it open? Answer: 1932"
_QUESTION_AND_ANSWER = re.compile(
    r"(?:(?:question|q|frage|pregunta|domanda|pergunta|vraag|вопрос|问题|質問|질문)\s*[:：]\s*)?"
    rf"(?P<text>.+?(?:[?？؟](?:\s*(?:[|→/–—-]|=>|->))?|\s*\|))\s*(?:\(?{_ANSWER_LABEL}\s*)?"
    r"(?P<value>[^|]+?)\)?",
    re.IGNORECASE,
)


_IN_JSON = re.compile(r"\"\s*:\s*[\"\d]")
_ANSWER_BELOW = re.compile(rf"\n[\s*_>-]*(?={_ANSWER_LABEL})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a claim.

    Attributes:
        text: The question, which does not contain the answer.
        value: The answer that the claim gives, in its own words.
    """

    text: str
    value: str


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
# Marks a claim about which no question can be asked.
_NONE = Question("", "")


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

    question: Question | None = None
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
        drawn: dict[int, list[str | None]] = {}
        relations: dict[tuple[str, str], Relation] = {}
        deadline = anyio.current_effective_deadline() - MARGIN_S
        positions = list(claims)
        # What was answered still counts if there is no time to ask more.
        with anyio.CancelScope(deadline=deadline):
            for start in range(0, len(positions), _MOST_CLAIMS):
                batch = {i: claims[i] for i in positions[start : start + _MOST_CLAIMS]}
                questions = await self._questions(batch, results)
                await self._answers(questions, results, drawn)
            relations.update(await self._compared(results, drawn))
        for i, answers in drawn.items():
            self._count(results.by_claim[i], answers, relations)
        return results

    async def _questions(
        self, claims: Mapping[int, str], results: ProbeResults
    ) -> dict[int, Question]:
        """Return a question about each claim about which one can be asked."""
        answering = await self._calls_for_answers()
        if not self._can_afford(1 + answering):
            for i in claims:
                results.by_claim[i].error = _NOT_ENOUGH_CALLS
            return {}
        parsed = await ask(
            self.judge,
            render_questions(list(claims.values()), self.conversation),
            lambda answer: read_questions(answer.text, len(claims)),
            self._restated(_prompts().questions.again, len(claims), beside=answering),
            tokens=2 * TOKENS_OF_VERDICT,
        )
        results.failures += parsed.failures
        values: dict[str, set[str]] = {}
        for written in parsed.slots:
            if written is not None:
                values.setdefault(written.text.casefold(), set()).add(written.value.casefold())
        questions: dict[int, Question] = {}
        for (i, claim), written in zip(claims.items(), parsed.slots, strict=True):
            # If two claims answer a question differently, neither is its only answer.
            if written is not None and len(values[written.text.casefold()]) > 1:
                written = _NONE
            question = written and usable(claim, written)
            if question is None:
                results.by_claim[i].error = _why_no_question(parsed, written)
                continue
            results.by_claim[i].question = question
            questions[i] = question
        return questions

    async def _answers(
        self,
        questions: Mapping[int, Question],
        results: ProbeResults,
        drawn: dict[int, list[str | None]],
    ) -> None:
        """Draw the answers to questions, in one prompt for those that do not tell on each other."""
        chars = _CONFLICT_COST * sum(len(question.text) for question in questions.values())
        groups = await compute(partial(independent_groups, questions), chars=chars)

        async def draw(group: Sequence[int], model: Judge, count: int) -> None:
            texts = [questions[i].text for i in group]
            prompt = render_short_questions(texts, self.conversation)
            parsed_answers = await ask_together(
                model,
                (*model.query.messages, {"role": "user", "content": prompt}),
                lambda answer: read_short_answers(answer.text, texts),
                None,
                count,
            )
            for parsed in parsed_answers:
                results.failures += parsed.failures
                if not parsed.answered:
                    continue
                for i, answer in zip(group, parsed.slots, strict=True):
                    drawn.setdefault(i, []).append(answer)

        each = await self._calls_for_answers()
        async with anyio.create_task_group() as tasks:
            for place, group in enumerate(groups, 1):
                affordable = self._can_afford(place * each)
                for i in group:
                    results.by_claim[i].error = _NO_ANSWER if affordable else _NOT_ENOUGH_CALLS
                if not affordable:
                    continue
                if each == 1:
                    tasks.start_soon(draw, group, self.model, self.answers)
                    continue
                # Answers that arrive before the deadline count, however long the others take.
                for index in range(self.answers):
                    tasks.start_soon(draw, group, self.model.at(index), 1)

    async def _calls_for_answers(self) -> int:
        return 1 if await self.model.provider.takes_n(self.model.query) else self.answers

    def _can_afford(self, calls: int) -> bool:
        left = self.calls_left()
        return left is None or left >= calls

    def _restated(self, restatement: str, count: int, *, beside: int = 0) -> str | None:
        """Return what to say after an answer that cannot be parsed; None to leave it at that.

        Args:
            restatement: The restated format.
            count: Number of items asked about.
            beside: Number of calls that must be left for other questions.
        """
        # Beside the first answer.
        if not self.restate or not self._can_afford(2 + beside):
            return None
        return restatement.format(count=count)

    async def _compared(
        self, results: ProbeResults, drawn: Mapping[int, Sequence[str | None]]
    ) -> dict[tuple[str, str], Relation]:
        """Have a judge compare answers where words do not decide; empty without a judge."""
        open_pairs: dict[tuple[str, str], str] = {}
        for i, answers in drawn.items():
            question = results.by_claim[i].question
            for answer in answers:
                if question is None or answer is None:
                    continue
                if words_decide(question.value, answer, question.text):
                    continue
                open_pairs.setdefault((question.value, answer), question.text)
        if self.comparer is None or not open_pairs or not self._can_afford(1):
            return {}
        lines = [
            f"{number}. {question} | {value} | {answer}"
            for number, ((value, answer), question) in enumerate(open_pairs.items(), 1)
        ]
        listed = "\n".join(lines)
        parsed = await ask(
            self.comparer,
            render_comparison(listed),
            lambda answer: read_items(answer.text, len(open_pairs), _RELATIONS),
            self._restated(_prompts().same_answer.again, len(open_pairs)),
        )
        results.failures += parsed.failures
        slots = zip(open_pairs, parsed.slots, strict=True)
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
        self, question: Question, answer: str, relations: Mapping[tuple[str, str], Relation]
    ) -> bool | None:
        """Return whether an answer says what the claim says; None if nobody could tell."""
        if self.comparer is None or words_decide(question.value, answer, question.text):
            return agrees(question.value, answer)
        relation = relations.get((question.value, answer))
        return {"same": True, "different": False}.get(relation or "")


def independent_groups(questions: Mapping[int, Question]) -> list[list[int]]:
    """Divide questions so that none gives away the answer to another of its group.

    Args:
        questions: The questions by the positions of their claims.

    Returns:
        The positions of each group.
    """
    groups: list[list[int]] = []
    for i, question in questions.items():
        for group in groups:
            others = [questions[j] for j in group]
            if not any(_tells_on(question, other) for other in others):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _tells_on(question: Question, other: Question) -> bool:
    return gives_away(question.text, other.value) or gives_away(other.text, question.value)


def render_questions(claims: Sequence[str], conversation: str = "") -> str:
    """Return the prompt that asks for questions about claims.

    Args:
        claims: The claims, to be numbered from 1.
        conversation: The conversation they come from; empty if unknown.
    """
    listed = "\n".join(f"{n}. {' '.join(claim.split())}" for n, claim in enumerate(claims, 1))
    prompt = _prompts().questions
    fences = Fences.around(conversation, listed)
    parts = [prompt.task]
    if conversation:
        parts.append(fences.enclose("conversation", conversation))
    parts += [fences.enclose("claims", listed), prompt.rules]
    return "\n\n".join(parts)


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


def read_questions(text: str, count: int) -> list[Question | None]:
    """Read the questions that a judge wrote about numbered claims.

    Reads lines with the question and its answer, the answer on a line below, and JSON.

    Args:
        text: The judge's answer.
        count: Number of claims, numbered from 1.

    Returns:
        One entry for each claim; `_NONE` if none can be asked, None if it cannot be read.
    """
    written = parse_numbered(_ANSWER_BELOW.sub(" ", text), count, _question)
    if any(question is not None for question in written):
        return written
    by_number: dict[int, Question] = {}
    for place, fields in enumerate(_objects_in(text), 1):
        number = number_of(fields)
        texts = [value.strip() for value in fields.values() if isinstance(value, str)]
        answer = fields.get("answer")
        if len(texts) == 1 and isinstance(answer, (int, float)):
            texts.append(str(answer))
        if len(texts) != 2:
            continue
        # The order of the keys is that of the form asked for.
        question = _question(" | ".join(texts))
        if question is not None:
            by_number.setdefault(place if number is None else number, question)
    return [by_number.get(number) for number in range(1, count + 1)]


def _objects_in(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of an answer, in order."""
    objects: list[dict[str, Any]] = []
    for value in json_values(text):
        inner = value
        while isinstance(inner, dict) and len(cast("dict[str, Any]", inner)) == 1:
            inner = next(iter(cast("dict[str, Any]", inner).values()))
        entries: list[Any] = [inner]
        if isinstance(inner, list):
            entries = cast("list[Any]", inner)
        elif isinstance(inner, dict):
            by_number = cast("dict[str, Any]", inner)
            if all(isinstance(fields, dict) for fields in by_number.values()):
                entries = [{"claim": as_number(key), **fields} for key, fields in by_number.items()]
        objects += [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
    return objects


def _question(line: str) -> Question | None:
    """Parse a line with a question and its answer."""
    line = line.strip(" \t*_`|")
    # The fields of a JSON object are read as such.
    if len(line) > 2 * _MOST_CHARS or _IN_JSON.search(line):
        return None
    if strip_decoration(line).rstrip(" .*_`|").casefold() in {"none", "none | none"}:
        return _NONE
    match = _QUESTION_AND_ANSWER.fullmatch(line)
    if match is None:
        return None
    text = match["text"].rstrip(" \t*_`|→/–—->=").strip(" \t*_`")
    value = strip_decoration(match["value"]).rstrip(" .*_`\"'”’")
    if not any(map(str.isalpha, text)) or not value or len(text) > _MOST_CHARS:
        return None
    return Question(text, value)


def _why_no_question(parsed: ParsedAnswer[Question], written: Question | None) -> str:
    if not parsed.answered:
        return "the call for a question failed"
    if written is None:
        return "no question could be read"
    if written == _NONE:
        return ONE_OF_MANY
    return "no question could be made that asks for it and does not tell it"


def usable(claim: str, written: Question) -> Question | None:
    """Return a question that can be asked about a claim, or None.

    Args:
        claim: The claim.
        written: The question that a model wrote. Its answer must appear in the claim; if the
            question contains it too, the claim with a gap in its place becomes the question.
    """
    span = place_of(written.value, claim)
    if span is None:
        return None
    value = claim[span[0] : span[1]]
    if not gives_away(written.text, value):
        return Question(written.text, value)
    gapped = " ".join(f"{claim[: span[0]]}{_GAP}{claim[span[1] :]}".split())
    if gives_away(gapped, value) or not stems_of(gapped):
        return None
    return Question(f"What belongs in the gap? {gapped}", value)


def place_of(value: str, claim: str) -> tuple[int, int] | None:
    """Return the span of an answer in a claim, as it stands there or nearly so.

    Args:
        value: The answer.
        claim: The claim, or some of its words.

    Returns:
        Whole words and numbers; None if the claim does not have them.
    """
    if not value:
        return None
    exact = re.compile(_bounded(value), re.IGNORECASE).search(claim)
    if exact is not None:
        return exact.span()
    span = find_quote(value, claim)
    is_whole = span is not None and re.compile(_bounded(claim[slice(*span)])).match(claim, span[0])
    return span if is_whole else None


def _bounded(words: str) -> str:
    """Return a pattern for words that are not part of longer ones."""
    return f"(?<!{_part_of(words[0])}){re.escape(words)}(?!{_part_of(words[-1])})"


def _part_of(edge: str) -> str:
    """Return the characters that must not adjoin the edge of a whole word or number."""
    if edge.isdigit():
        return r"\d"
    # Scripts without capitals may not use spaces either.
    return r"[^\W\d_]" if edge.lower() != edge.upper() else r"\b\B"


def _join(clusters: list[tuple[str, int]], answer: str) -> None:
    for position, (text, count) in enumerate(clusters):
        if text == answer or agrees(text, answer):
            clusters[position] = (text, count + 1)
            return
    clusters.append((answer, 1))
