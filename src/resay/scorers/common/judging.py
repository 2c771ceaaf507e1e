"""Asks judges and parses their answers.

A grammar parses a judge's answer into one slot for each item it was asked about. Grammars are
anchored: an answer counts only at the start, as a whole word, after decoration and a label are
stripped; a word in the middle of a sentence counts for nothing. If a slot stays empty, the judge is
asked once more with the format restated; slots that are still empty are reported as undetermined.

The question whether a context supports a sentence is worded as in SelfCheckGPT, section 5.5, and
NU-RU at SemEval-2024 task 6, Table 1.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from math import exp
from typing import Any, Generic, Literal, TypeVar, cast

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay.core.logprobs import TokenLogprob
from resay.core.query import Message, Query
from resay.core.verdict import Scores, tally
from resay.errors import ProviderError, ScorerError
from resay.providers.base import Completion
from resay.providers.layers import WithLogprobs
from resay.scorers.base import ScorerConfig
from resay.scorers.evidence import Evidence, Judge, as_messages

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
# Decoration a model may put around a bare answer: markdown, quotes, brackets, a label.
_LABEL = re.compile(
    r"^(?:(?:my|the|final|short)\s+)*(?:answer|verdict|conclusion|judge?ment|antwort|réponse|respuesta"
    r"|risposta|resposta|答案|回答|答え)"
    r"\s*(?:is)?\s*[:：-]?\s*",
    re.IGNORECASE,
)
_DECORATION = " \t\r\n*_`\"'“”‘’«»「」#>[](){}:：-•"
# Letters of any script with their combining marks.
_WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f\u0900-\u0e7f]*(?:[/-][^\W\d_]+)*")
_YES = """yes oui ja sí sì sim evet tak ano áno da да так kyllä jah igen ναι כן نعم بله हाँ हां có
ya vâng 是 是的 对 對 对的 有 支持 はい 예 네 ใช่"""
_NO = """no non nein nee nej nei não hayır nie ne нет ні ei nem nu όχι לא لا خیر नहीं không tidak
否 不 不是 不对 不對 没有 沒有 不支持 いいえ 아니요 아니오 아니 ไม่ใช่ ไม่"""
# Short words that mean the opposite, or something else, in another language ("ne", "nu", "da")
# count only if they are the whole answer.
_AMBIGUOUS = frozenset(["ano", "da", "ei", "ne", "nem", "nie", "non", "nu", "tak", "ya"])


def _words(text: str) -> list[str]:
    return [_folded(word) for word in text.split()]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


_YES_OR_NO: Mapping[str, bool] = {
    **dict.fromkeys(_words(_YES), True),
    **dict.fromkeys(_words(_NO), False),
}


def strip_decoration(text: str) -> str:
    """Strip markdown, quotes, brackets and a label such as "Answer:" from an answer."""
    return _LABEL.sub("", text.strip(_DECORATION)).lstrip(_DECORATION)


def first_choice(text: str, choices: Mapping[str, T]) -> T | None:
    """Parse which of several words an answer begins with.

    Args:
        text: The judge's answer.
        choices: The meaning of each word, in lower case. A word may have hyphens.

    Returns:
        The meaning of the first word, or None if it is none of the choices.
    """
    word = _WORD.match(strip_decoration(text))
    return choices.get(_folded(word.group())) if word else None


def parse_yes_no(text: str, own: Mapping[str, bool] | None = None) -> bool | None:
    """Parse a yes or a no, in English or any language the judge slipped into.

    Only the first word counts, and it must be the whole word: "Not sure" is no "no", and a later
    "Yes" counts for nothing. Short words that mean something else in another language count only if
    nothing follows them.

    Args:
        text: The judge's answer.
        own: Meanings of words in the prompt's language, whatever they mean in others.

    Returns:
        True for yes, False for no, None for anything else.
    """
    answer = strip_decoration(unicodedata.normalize("NFC", text))
    alone = _folded(answer.strip(" .!。！"))
    if alone in _YES_OR_NO:
        return _YES_OR_NO[alone]
    match = _WORD.match(answer)
    word = _folded(match.group()) if match else ""
    if own and word in own:
        return own[word]
    return None if word in _AMBIGUOUS else _YES_OR_NO.get(word)


_NUMBERED = re.compile(
    r"^[\W_]*(?:(?:claim|sentence|aussage|affirmation|afirmación|affermazione|afirmação|陈述|主張)\s*)?"
    r"(\d{1,6})[\W_]+(\S.*)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]{1,6}")
_FENCE = re.compile(r"^\s*```[a-z]*\s*|```\s*$")


def parse_numbered(text: str, count: int, parse: Callable[[str], T | None]) -> list[T | None]:
    """Parse one answer for each of several numbered items.

    Accepts lines such as `1: Yes`, `2. **No**`, `- Claim 3 - yes, because …`, and a JSON object
    such as `{"1": "yes"}`. A number that is missing, out of range or answered twice in different
    ways is undetermined.

    Args:
        text: The judge's answer.
        count: Number of items it was given, numbered from 1.
        parse: Parses one answer; returns None if it cannot.

    Returns:
        One entry per item, None for undetermined.
    """
    pairs = ((number, parse(answer)) for number, answer in _numbered(text))
    found = _agreed((number, value) for number, value in pairs if value is not None)
    return [found.get(i + 1) for i in range(count)]


def _numbered(text: str) -> list[tuple[int, str]]:
    data = _json_object(text)
    if data is not None:
        return [(int(k), str(v)) for k, v in data.items() if _NUMBER.fullmatch(k)]
    matches = (_NUMBERED.match(line) for line in _FENCE.sub("", text).splitlines())
    return [(int(m.group(1)), m.group(2)) for m in matches if m]


_POINTS = re.compile(
    r"(?P<score>-?\d+(?:[.,]\d{1,2})?)(?![.,]?\d)(?:\s*%)?"
    r"(?:\s*(?:/|out of|of)\s*(?P<whole>\d{1,4}))?(?:\s*(?:points?|pts)\b)?"
    r"(?=[\s*_`\"'.,;|)\]]|$)",
    re.IGNORECASE,
)
# Between a name and its points: closing marks, a separator, opening marks. A dash that touches the
# number is its sign.
_SCORED = re.compile(
    r"(?<![^\W\d_])(?P<name>[^\W\d_]+)[\])*_`\"']*\s*(?:[:：=–—|]\s*|-\s+)?[\[(*_`\"']*"
    + _POINTS.pattern,
    re.IGNORECASE,
)
_OUT_OF_RANGE = -1.0
_NEXT_WORD = re.compile(r"[ \t]+([^\W\d_]+)")
_REASON_FOLLOWS = frozenset(["as", "because", "since"])


def parse_named_scores(text: str, names: Sequence[str]) -> list[float | None]:
    """Parse one score from 0 to 100 for each of several names.

    Accepts `[Tom] 50`, `**Tom**: 50`, `Tom - 50/100`, `| Tom | 50 |`, several on a line, and a JSON
    object such as `{"Tom": 50}`. A name is undetermined if it is missing, or if its score is out of
    range or ambiguous; a score out of anything but 100 is out of range. A number followed by other
    words, as in `[Tom] 50 people came`, is not a score.

    Args:
        text: The judge's answer.
        names: The names to score.

    Returns:
        One score per name, in [0, 100], or None.
    """
    known = {name.casefold(): name for name in names}
    data = _json_object(text)
    scored = _scored_in(text, known) if data is None else _scored_json(data)
    found = _agreed(
        (known[name.casefold()], score) for name, score in scored if name.casefold() in known
    )
    scores = [found.get(name) for name in names]
    return [s if s is not None and 0.0 <= s <= 100.0 else None for s in scores]


def _scored_in(text: str, known: Collection[str]) -> Iterator[tuple[str, float]]:
    for match in _SCORED.finditer(text):
        follows = _NEXT_WORD.match(text, match.end())
        word = follows[1].casefold() if follows else None
        if word is None or word in known or word in _REASON_FOLLOWS:
            yield match["name"], _points(match)


def _scored_json(data: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, value in data.items():
        points = _json_points(value)
        if points is not None:
            yield name.strip(_DECORATION), points


def _json_points(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Larger integers may not fit into a float.
        return float(value) if 0 <= value <= 100 else _OUT_OF_RANGE
    match = _POINTS.fullmatch(value.strip()) if isinstance(value, str) else None
    return _points(match) if match else None


def _points(match: re.Match[str]) -> float:
    # A score out of anything but 100 must not pass for one out of 100.
    if int(match["whole"] or 100) != 100:
        return _OUT_OF_RANGE
    return float(match["score"].replace(",", "."))


def _json_object(text: str) -> dict[str, object] | None:
    data: object = None
    with suppress(ValueError, RecursionError):
        data = json.loads(_FENCE.sub("", text))
    return cast("dict[str, object]", data) if isinstance(data, dict) else None


def _agreed(pairs: Iterator[tuple[K, V]]) -> dict[K, V]:
    """Return the value of each key, without keys that have different values."""
    values_by_key: dict[K, set[V]] = {}
    for key, value in pairs:
        values_by_key.setdefault(key, set()).add(value)
    return {key: next(iter(values)) for key, values in values_by_key.items() if len(values) == 1}


_QUESTION = (
    "Context: {context}\n\n"
    "Sentence: {sentence}\n\n"
    "Is the sentence supported by the context above?\n\n"
    "Answer Yes or No:"
)
RESTATED = "Answer with one word, Yes or No. Is the sentence supported by the context?"
"""Sent when the answer cannot be parsed."""


def ask_support(context: str, sentence: str) -> str:
    """Return the question whether a context supports a sentence, worded as published."""
    return _QUESTION.format(context=context, sentence=sentence)


def parse_support(answer: Completion) -> list[bool | None]:
    """Parse the answer into its only slot."""
    return [parse_yes_no(answer.text)]


Parser = Callable[[Completion], Sequence[T | None]]
"""Parses an answer into a fixed number of slots; None for each that cannot be parsed."""


class JudgeConfig(BaseModel):
    """A judge with its own parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        default=None,
        description="The model as litellm names it; null = the model that wrote the response.",
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,  # may contain a key
        description="Provider parameters: api_base, api_key, temperature, max_tokens, …",
    )


def judge_model(judge: str | JudgeConfig | None) -> str | None:
    """Return the judge's model, or None for the model that wrote the response."""
    return judge.model if isinstance(judge, JudgeConfig) else judge


class JudgedConfig(ScorerConfig):
    """Base class of the settings of methods that ask a judge."""

    judge: str | JudgeConfig | None = Field(
        default=None, description="The model to ask; null = the model that wrote the response."
    )
    restate: bool = Field(
        default=True,
        description="Whether to ask once more, with the format restated, if an answer cannot be"
        " parsed.",
    )

    @property
    def asks_response_model(self) -> bool:
        """Whether the step names no other judge."""
        return self.named_judge is None

    @property
    def named_judge(self) -> str | None:
        """The judge's model, or None for the model that wrote the response."""
        return judge_model(self.judge)


def judge_for(config: str | JudgeConfig | None, evidence: Evidence) -> Judge:
    """Return the judge that a policy names.

    The response's own model is asked with the query's connection parameters. A judge named in the
    policy gets none of them, because it may belong to another provider.

    Args:
        config: The judge's model, a `JudgeConfig`, or None for the response's own model.
        evidence: The evidence, with its query and the provider for judges.

    Returns:
        The judge.

    Raises:
        ScorerError: No judge is available.
    """
    if evidence.judge_provider is None:
        raise ScorerError("no judge available")
    chosen = JudgeConfig(model=config) if isinstance(config, str) else config or JudgeConfig()
    query = evidence.query or Query(())
    if chosen.model is not None:
        asked = Query((), chosen.model, chosen.params, tenant=query.tenant)
        return Judge(evidence.judge_provider, asked)
    params = {**query.connection, **chosen.params}
    asked = Query((), query.model, params, tenant=query.tenant)
    return Judge(evidence.judge_provider, asked)


@dataclass(frozen=True, slots=True)
class ParsedAnswer(Generic[T]):
    """The parsed answer of a judge.

    Attributes:
        slots: One entry for each item asked about, None if it could not be parsed.
        answered: Whether there was an answer at all.
        failures: Kinds of failed calls.
    """

    slots: tuple[T | None, ...]
    answered: bool = True
    failures: tuple[str, ...] = ()

    @property
    def undetermined(self) -> int:
        """Number of slots left empty although the judge answered."""
        return self.slots.count(None) if self.answered else 0


def scores_of(
    parsed: ParsedAnswer[bool], *, right: str, wrong: str, unreadable: str, unanswered: str
) -> Scores:
    """Return the passage score of a judge's single verdict on a response.

    Args:
        parsed: Whether the judge calls the response wrong.
        right: The explanation if it does not.
        wrong: The explanation if it does.
        unreadable: Why there is no score if the answer could not be parsed.
        unanswered: Why there is no score if there was no answer.

    Returns:
        1 for wrong, 0 for right; else inconclusive scores.
    """
    verdict = parsed.slots[0]
    if verdict is None:
        return Scores(
            failures=parsed.failures,
            undetermined=parsed.undetermined,
            inconclusive=unreadable if parsed.answered else unanswered,
        )
    return Scores(
        passage=float(verdict),
        why_passage=wrong if verdict else right,
        failures=parsed.failures,
    )


async def ask(
    judge: Judge, prompt: str | Sequence[Message], parse: Parser[T], restatement: str | None
) -> ParsedAnswer[T]:
    """Ask a judge, and once more if its answer cannot be parsed.

    Args:
        judge: The judge.
        prompt: The question, or a conversation that ends with one.
        parse: Parses an answer into slots.
        restatement: The restated format, sent if a slot stays empty; None to accept the first
            answer as it is.

    Returns:
        The parsed slots; the second answer fills only those the first left empty.
    """
    messages = _sendable(prompt)
    try:
        arrived = await judge.complete(messages)
    except ProviderError as error:
        return _unanswered(parse, error)
    return await _settle(judge, messages, arrived.first, parse, restatement)


async def ask_each(things: Iterable[K], ask_about: Callable[[K], Awaitable[V]]) -> list[V]:
    """Ask about several things concurrently.

    Args:
        things: The things to ask about.
        ask_about: Asks about one.

    Returns:
        The results, in order.
    """
    found: dict[int, V] = {}

    async def run(place: int, thing: K) -> None:
        found[place] = await ask_about(thing)

    async with anyio.create_task_group() as tasks:
        for place, thing in enumerate(things):
            tasks.start_soon(run, place, thing)
    return [found[place] for place in sorted(found)]


def why_unscored(
    scores: Sequence[float | None], failures: Sequence[str], template: str
) -> str | None:
    """Return why scores support no decision if most claims have none; else None.

    Args:
        scores: The scores of the claims.
        failures: Kinds of failed calls.
        template: The reason, with `{lost}` for how many of how many claims have no score.
    """
    lost = sum(score is None for score in scores)
    if lost * 2 <= len(scores):
        return None
    kinds = f" ({tally(failures)})" if failures else ""
    return f"{template.format(lost=f'{lost} of {len(scores)} claims')}{kinds}"


async def ask_together(
    judge: Judge,
    prompt: str | Sequence[Message],
    parse: Parser[T],
    restatement: str | None,
    count: int,
) -> tuple[ParsedAnswer[T], ...]:
    """Ask a judge the same question several times, in one request if the provider supports `n`.

    Args:
        judge: The judge.
        prompt: The question, or a conversation that ends with one.
        parse: Parses an answer into slots.
        restatement: As for `ask`; each answer that cannot be parsed is asked for again separately.
        count: Number of answers.

    Returns:
        The parsed answers, in order.
    """
    messages = _sendable(prompt)
    try:
        arrived = await judge.complete(messages, n=count)
    except ProviderError as error:
        return (_unanswered(parse, error),) * count
    parsed_answers: dict[int, ParsedAnswer[T]] = {}

    async def settle(i: int, completion: Completion) -> None:
        parsed_answers[i] = await _settle(judge.at(i), messages, completion, parse, restatement)

    async with anyio.create_task_group() as tasks:
        for i, completion in enumerate(arrived.items[:count]):
            tasks.start_soon(settle, i, completion)
    lost = islice(chain(arrived.failures, repeat(None)), count - len(parsed_answers))
    return (
        *(parsed_answers[i] for i in sorted(parsed_answers)),
        *(_unanswered(parse, error) for error in lost),
    )


By = Literal["auto", "logprobs", "votes"]
"""How to measure a judge's confidence: by the probabilities of its first words, by the shares of
several answers, or by the probabilities if the provider returns them, else by shares (auto)."""
_ALTERNATIVES = 5


async def ask_probability(
    judge: Judge,
    prompt: str,
    parse: Callable[[str], bool | None],
    restatement: str | None,
    *,
    by: By = "auto",
    votes: int = 5,
) -> ParsedAnswer[float]:
    """Ask a judge a question with two answers, and return its confidence in the first.

    Args:
        judge: The judge.
        prompt: The question.
        parse: Parses an answer or a token: True for the first answer, False for the second.
        restatement: As for `ask`.
        by: How to measure the confidence. By logprobs, it is the first answer's probability
            relative to both, over the most probable tokens where `parse` can first parse one.
        votes: Number of answers if the confidence is their share.

    Returns:
        The confidence as the only slot; None without probabilities if fewer than half of the votes
        could be parsed.
    """

    def slot(answer: Completion) -> list[bool | None]:
        return [parse(answer.text)]

    parsed_answers: tuple[ParsedAnswer[bool], ...] = ()
    if by != "votes":
        messages, sure = (
            _sendable(prompt),
            replace(judge, provider=WithLogprobs(judge.provider, _ALTERNATIVES)),
        )
        try:
            first = (await sure.complete(messages)).first
        except ProviderError as error:
            return ParsedAnswer((None,), answered=False, failures=(type(error).__name__,))
        confidence = _confidence(first.logprobs, parse)
        if confidence is not None or by == "logprobs":
            return ParsedAnswer((confidence,))
        parsed_answers = (await _settle(judge, messages, first, slot, restatement),)
    if missing := votes - len(parsed_answers):
        varied = await ask_together(judge.varied(), prompt, slot, restatement, missing)
        parsed_answers = (*parsed_answers, *varied)
    known = [vote for parsed in parsed_answers for vote in parsed.slots if vote is not None]
    return ParsedAnswer(
        (sum(known) / len(known) if len(known) * 2 >= votes else None,),
        answered=any(parsed.answered for parsed in parsed_answers),
        failures=tuple(failure for parsed in parsed_answers for failure in parsed.failures),
    )


def _confidence(
    tokens: Sequence[TokenLogprob], parse: Callable[[str], bool | None]
) -> float | None:
    for token in tokens:
        answer = parse(token.token)
        if answer is None or token.logprob is None:
            continue
        beside = {one.token: one.logprob for one in token.top}
        mass = {True: 0.0, False: 0.0}
        for text, logprob in {**beside, token.token: token.logprob}.items():
            means = parse(text)
            if means is not None:
                mass[means] += exp(min(logprob, 0.0))
        if not beside:
            mass[not answer] = max(1.0 - mass[answer], 0.0)
        total = mass[True] + mass[False]
        return mass[True] / total if total else float(answer)
    return None


def _unanswered(parse: Parser[T], error: Exception | None) -> ParsedAnswer[T]:
    failures = () if error is None else (type(error).__name__,)
    return ParsedAnswer(tuple(parse(Completion(""))), answered=False, failures=failures)


def _sendable(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        # Clients cannot send lone surrogates, and one in a sample must not fail the check.
        prompt = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return as_messages(prompt)


async def _settle(
    judge: Judge,
    messages: tuple[Message, ...],
    completion: Completion,
    parse: Parser[T],
    restatement: str | None,
) -> ParsedAnswer[T]:
    slots = tuple(parse(completion))
    if restatement is None or None not in slots:
        return ParsedAnswer(slots)
    try:
        again = await judge.complete(_restated(messages, completion.text, restatement))
    except ProviderError as error:
        return ParsedAnswer(slots, failures=(type(error).__name__,))
    second = parse(again.first)
    return ParsedAnswer(tuple(b if a is None else a for a, b in zip(slots, second, strict=True)))


def _restated(messages: tuple[Message, ...], answer: str, restatement: str) -> tuple[Message, ...]:
    return (*messages, turn_of_judge(answer), {"role": "user", "content": restatement})


def turn_of_judge(answer: str) -> Message:
    """Return a judge's answer as a message, so that the conversation can continue after it."""
    # Some providers reject an empty message.
    return {"role": "assistant", "content": answer if answer.strip() else "(no answer)"}
