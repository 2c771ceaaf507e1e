"""What scorers that ask a judge share: who it is, how it is asked, and how its answers are read.

A judge's answer is read by a grammar, into as many slots as there were things to answer. Grammars
are anchored: an answer counts where it comes first, as a whole word, after decoration and a label
are taken off; a word somewhere in a sentence counts for nothing. Where a slot stays empty the judge
is asked once more, with the format restated; what is empty then is undetermined, and reported.

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
# Letters with the marks that belong to them, of any script.
_WORD = re.compile(r"[^\W\d_][\w\u0300-\u036f\u0900-\u0e7f]*(?:[/-][^\W\d_]+)*")
_YES = """yes oui ja sí sì sim evet tak ano áno da да так kyllä jah igen ναι כן نعم بله हाँ हां có
ya vâng 是 是的 对 對 对的 有 支持 はい 예 네 ใช่"""
_NO = """no non nein nee nej nei não hayır nie ne нет ні ei nem nu όχι לא لا خیر नहीं không tidak
否 不 不是 不对 不對 没有 沒有 不支持 いいえ 아니요 아니오 아니 ไม่ใช่ ไม่"""
# Short words that mean the opposite, or something else, in another language ("ne", "nu", "da")
# count only where they are the whole answer.
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
    """Return an answer without markdown, quotes, brackets and a label such as "Answer:"."""
    return _LABEL.sub("", text.strip(_DECORATION)).lstrip(_DECORATION)


def first_choice(text: str, choices: Mapping[str, T]) -> T | None:
    """Read which of several words an answer begins with.

    Args:
        text: What the judge wrote.
        choices: What each word means, in lower case. A word may have hyphens.

    Returns:
        The meaning of the first word, or None when it is none of the choices.
    """
    word = _WORD.match(strip_decoration(text))
    return choices.get(_folded(word.group())) if word else None


def read_yes_no(text: str, own: Mapping[str, bool] | None = None) -> bool | None:
    """Read a yes or a no, in English or the language the judge fell into.

    Only the first word counts, and it must be the whole word: "Not sure" is no "no", and "Yes"
    anywhere later counts for nothing. Short words that mean something else in another language
    count only where nothing follows them.

    Args:
        text: What the judge wrote.
        own: What words mean in the language the judge was asked in, whatever they mean elsewhere.

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


def read_numbered(text: str, count: int, read: Callable[[str], T | None]) -> list[T | None]:
    """Read one answer for each of several numbered items.

    Takes lines such as `1: Yes`, `2. **No**`, `- Claim 3 - yes, because …`, and a JSON object such
    as `{"1": "yes"}`. A number that is missing, out of range or answered twice in different ways is
    undetermined.

    Args:
        text: What the judge wrote.
        count: How many items it was given, numbered from 1.
        read: Reads one answer; None where it cannot be read.

    Returns:
        One entry per item, None for undetermined.
    """
    pairs = ((number, read(answer)) for number, answer in _numbered(text))
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


def read_named_scores(text: str, names: Sequence[str]) -> list[float | None]:
    """Read one score from 0 to 100 for each of several names.

    Takes `[Tom] 50`, `**Tom**: 50`, `Tom - 50/100`, `| Tom | 50 |`, several on a line, and a JSON
    object such as `{"Tom": 50}`. A name that is missing, has a score out of range or two different
    ones is undetermined; a score of another whole than 100 is out of range. A number that other
    words follow, as in `[Tom] 50 people came`, is no score.

    Args:
        text: What the judge wrote.
        names: Whom it was to score.

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
        # Nothing else is sure to fit into a float.
        return float(value) if 0 <= value <= 100 else _OUT_OF_RANGE
    match = _POINTS.fullmatch(value.strip()) if isinstance(value, str) else None
    return _points(match) if match else None


def _points(match: re.Match[str]) -> float:
    # A share of another whole is no score out of 100, and must not pass for one.
    if int(match["whole"] or 100) != 100:
        return _OUT_OF_RANGE
    return float(match["score"].replace(",", "."))


def _json_object(text: str) -> dict[str, object] | None:
    data: object = None
    with suppress(ValueError, RecursionError):
        data = json.loads(_FENCE.sub("", text))
    return cast("dict[str, object]", data) if isinstance(data, dict) else None


def _agreed(pairs: Iterator[tuple[K, V]]) -> dict[K, V]:
    """Return what was said of each key, without the keys of which different things were said."""
    said: dict[K, set[V]] = {}
    for key, value in pairs:
        said.setdefault(key, set()).add(value)
    return {key: next(iter(values)) for key, values in said.items() if len(values) == 1}


_QUESTION = (
    "Context: {context}\n\n"
    "Sentence: {sentence}\n\n"
    "Is the sentence supported by the context above?\n\n"
    "Answer Yes or No:"
)
RESTATED = "Answer with one word, Yes or No. Is the sentence supported by the context?"
"""What is said when the answer cannot be read."""


def ask_support(context: str, sentence: str) -> str:
    """Return the question, worded as published."""
    return _QUESTION.format(context=context, sentence=sentence)


def read_support(answer: Completion) -> list[bool | None]:
    """Read the answer into its one slot."""
    return [read_yes_no(answer.text)]


Reader = Callable[[Completion], Sequence[T | None]]
"""Reads an answer into slots, always the same number of them; None where it cannot be read."""


class JudgeConfig(BaseModel):
    """A judge with its own parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        default=None, description="In litellm's notation; null = the model that wrote the response."
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,  # it may hold a key
        description="What the provider takes: api_base, api_key, temperature, max_tokens, …",
    )


class JudgedConfig(ScorerConfig):
    """The base of steps that ask a judge."""

    judge: str | JudgeConfig | None = Field(
        default=None, description="Who is asked; null = the model that wrote the response."
    )
    restate: bool = Field(
        default=True,
        description="Whether an answer that cannot be read is asked for once more, with the format"
        " restated.",
    )

    @property
    def asks_response_model(self) -> bool:
        """Whether no other judge is named."""
        return self.named_judge is None

    @property
    def named_judge(self) -> str | None:
        """The judge's model, or None for the one that wrote the response."""
        return self.judge.model if isinstance(self.judge, JudgeConfig) else self.judge


def judge_for(config: str | JudgeConfig | None, evidence: Evidence) -> Judge:
    """Return the judge a policy names.

    The response's own model is asked with the query's connection parameters. A judge named in the
    policy gets none of them, because it may live at another provider.

    Args:
        config: The judge's model, a `JudgeConfig`, or None for the response's own model.
        evidence: The evidence, for its query and who answers for judges.

    Returns:
        The judge.

    Raises:
        ScorerError: Nobody can be asked.
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
class Reading(Generic[T]):
    """What could be read of a judge's answer.

    Attributes:
        slots: One entry for each thing there was to answer, None where nothing could be read.
        answered: Whether there was an answer at all.
        failures: Kinds of calls that failed.
    """

    slots: tuple[T | None, ...]
    answered: bool = True
    failures: tuple[str, ...] = ()

    @property
    def undetermined(self) -> int:
        """How many slots stayed empty although the judge answered."""
        return self.slots.count(None) if self.answered else 0


def scores_of(
    reading: Reading[bool], *, right: str, wrong: str, unreadable: str, unanswered: str
) -> Scores:
    """Return the passage score of a judge's one verdict on a response.

    Args:
        reading: Whether the judge calls the response wrong.
        right: The explanation where it does not.
        wrong: The explanation where it does.
        unreadable: Why there is no score where the answer could not be read.
        unanswered: Why there is none where there was no answer.

    Returns:
        1 for wrong, 0 for right; else inconclusive scores.
    """
    verdict = reading.slots[0]
    if verdict is None:
        return Scores(
            failures=reading.failures,
            undetermined=reading.undetermined,
            inconclusive=unreadable if reading.answered else unanswered,
        )
    return Scores(
        passage=float(verdict),
        why_passage=wrong if verdict else right,
        failures=reading.failures,
    )


async def ask(
    judge: Judge, prompt: str | Sequence[Message], read: Reader[T], restatement: str | None
) -> Reading[T]:
    """Ask a judge, once more where its answer cannot be read.

    Args:
        judge: Who is asked.
        prompt: The question, or a conversation that ends with one.
        read: Reads an answer into slots.
        restatement: What is said to the judge when a slot stays empty: the format, once more. None
            to leave it at the first answer.

    Returns:
        What could be read; the second answer fills only what the first left empty.
    """
    messages = _sendable(prompt)
    try:
        arrived = await judge.complete(messages)
    except ProviderError as error:
        return _unanswered(read, error)
    return await _settle(judge, messages, arrived.first, read, restatement)


async def ask_each(things: Iterable[K], ask_about: Callable[[K], Awaitable[V]]) -> list[V]:
    """Ask about several things at the same time.

    Args:
        things: What is asked about.
        ask_about: Asks about one.

    Returns:
        What came of each, in order.
    """
    found: dict[int, V] = {}

    async def run(place: int, thing: K) -> None:
        found[place] = await ask_about(thing)

    async with anyio.create_task_group() as tasks:
        for place, thing in enumerate(things):
            tasks.start_soon(run, place, thing)
    return [found[place] for place in sorted(found)]


def why_unscored(scores: Sequence[float | None], failures: Sequence[str], told: str) -> str | None:
    """Return why scores support no decision: most claims have none.

    Args:
        scores: The scores of the claims.
        failures: What failed, by its kinds.
        told: What to say, with `{lost}` for how many of how many claims.
    """
    lost = sum(score is None for score in scores)
    if lost * 2 <= len(scores):
        return None
    kinds = f" ({tally(failures)})" if failures else ""
    return f"{told.format(lost=f'{lost} of {len(scores)} claims')}{kinds}"


async def ask_together(
    judge: Judge,
    prompt: str | Sequence[Message],
    read: Reader[T],
    restatement: str | None,
    count: int,
) -> tuple[Reading[T], ...]:
    """Ask a judge the same several times, in one request where the provider takes `n`.

    Args:
        judge: Who is asked.
        prompt: The question, or a conversation that ends with one.
        read: Reads an answer into slots.
        restatement: As for `ask`; an answer that cannot be read is asked for again on its own.
        count: How many answers are wanted.

    Returns:
        One reading for each answer wanted.
    """
    messages = _sendable(prompt)
    try:
        arrived = await judge.complete(messages, n=count)
    except ProviderError as error:
        return (_unanswered(read, error),) * count
    readings: dict[int, Reading[T]] = {}

    async def settle(i: int, completion: Completion) -> None:
        readings[i] = await _settle(judge.at(i), messages, completion, read, restatement)

    async with anyio.create_task_group() as tasks:
        for i, completion in enumerate(arrived.items[:count]):
            tasks.start_soon(settle, i, completion)
    lost = islice(chain(arrived.failures, repeat(None)), count - len(readings))
    return (
        *(readings[i] for i in sorted(readings)),
        *(_unanswered(read, error) for error in lost),
    )


By = Literal["auto", "logprobs", "votes"]
"""How a judge's confidence is found: by the probabilities of its first words, by the shares of
several answers, or by the former where the provider returns them."""
_ALTERNATIVES = 5


async def ask_probability(
    judge: Judge,
    prompt: str,
    read: Callable[[str], bool | None],
    restatement: str | None,
    *,
    by: By = "auto",
    votes: int = 5,
) -> Reading[float]:
    """Ask a judge a question with two answers, and return how sure it is of the one.

    Args:
        judge: Who is asked.
        prompt: The question.
        read: Reads an answer, or a token: True for the one, False for the other.
        restatement: As for `ask`.
        by: How its confidence is found. By the first token that `read` can read, the probability of
            the one is taken relative to both, over the most probable tokens at its place.
        votes: How many answers there are where it is found by their shares.

    Returns:
        The confidence in its one slot; None where there are no probabilities and fewer than half of
        the votes could be read.
    """

    def slot(answer: Completion) -> list[bool | None]:
        return [read(answer.text)]

    readings: tuple[Reading[bool], ...] = ()
    if by != "votes":
        messages, sure = (
            _sendable(prompt),
            replace(judge, provider=WithLogprobs(judge.provider, _ALTERNATIVES)),
        )
        try:
            first = (await sure.complete(messages)).first
        except ProviderError as error:
            return Reading((None,), answered=False, failures=(type(error).__name__,))
        confidence = _confidence(first.logprobs, read)
        if confidence is not None or by == "logprobs":
            return Reading((confidence,))
        readings = (await _settle(judge, messages, first, slot, restatement),)
    if missing := votes - len(readings):
        varied = await ask_together(judge.varied(), prompt, slot, restatement, missing)
        readings = (*readings, *varied)
    known = [vote for reading in readings for vote in reading.slots if vote is not None]
    return Reading(
        (sum(known) / len(known) if len(known) * 2 >= votes else None,),
        answered=any(reading.answered for reading in readings),
        failures=tuple(failure for reading in readings for failure in reading.failures),
    )


def _confidence(tokens: Sequence[TokenLogprob], read: Callable[[str], bool | None]) -> float | None:
    for token in tokens:
        said = read(token.token)
        if said is None or token.logprob is None:
            continue
        beside = {one.token: one.logprob for one in token.top}
        mass = {True: 0.0, False: 0.0}
        for text, logprob in {**beside, token.token: token.logprob}.items():
            means = read(text)
            if means is not None:
                mass[means] += exp(min(logprob, 0.0))
        if not beside:
            mass[not said] = max(1.0 - mass[said], 0.0)
        total = mass[True] + mass[False]
        return mass[True] / total if total else float(said)
    return None


def _unanswered(read: Reader[T], error: Exception | None) -> Reading[T]:
    failures = () if error is None else (type(error).__name__,)
    return Reading(tuple(read(Completion(""))), answered=False, failures=failures)


def _sendable(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        # No client sends half of a surrogate pair, and one in a sample must not cost the check.
        prompt = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return as_messages(prompt)


async def _settle(
    judge: Judge,
    messages: tuple[Message, ...],
    completion: Completion,
    read: Reader[T],
    restatement: str | None,
) -> Reading[T]:
    slots = tuple(read(completion))
    if restatement is None or None not in slots:
        return Reading(slots)
    try:
        again = await judge.complete(_restated(messages, completion.text, restatement))
    except ProviderError as error:
        return Reading(slots, failures=(type(error).__name__,))
    second = read(again.first)
    return Reading(tuple(b if a is None else a for a, b in zip(slots, second, strict=True)))


def _restated(messages: tuple[Message, ...], answer: str, restatement: str) -> tuple[Message, ...]:
    return (*messages, turn_of_judge(answer), {"role": "user", "content": restatement})


def turn_of_judge(answer: str) -> Message:
    """Return a judge's answer as a turn of the conversation that goes on after it."""
    # Some providers refuse a turn without words.
    return {"role": "assistant", "content": answer if answer.strip() else "(no answer)"}
