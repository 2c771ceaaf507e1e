"""Asks judges and parses their answers.

A judge's answer is parsed into one slot for each item it was asked about (see `answers` and
`choices`). If a slot stays empty, the judge is asked once more with the format restated; slots that
are still empty are reported as undetermined.

The question whether a context supports a sentence is worded as in SelfCheckGPT, section 5.5, and
NU-RU at SemEval-2024 task 6, Table 1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise, repeat
from math import ceil
from typing import Any, Generic, Literal, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay.core.failures import tally
from resay.core.query import Message, Query
from resay.core.scores import Scores
from resay.errors import ProviderError, ScorerError
from resay.providers.base import Completion
from resay.scorers.base import ScorerConfig
from resay.scorers.common.answers import read_items
from resay.scorers.common.judge_words import CLEAR_YES_OR_NO, SUPPORT, YES_OR_NO
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge, as_messages

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


def strip_decoration(text: str) -> str:
    """Strip markdown, quotes, brackets and a label such as "Answer:" from an answer."""
    return _LABEL.sub("", text.strip(_DECORATION)).lstrip(_DECORATION)


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
    if alone in YES_OR_NO:
        return YES_OR_NO[alone]
    match = _WORD.match(answer)
    word = _folded(match.group()) if match else ""
    if own and word in own:
        return own[word]
    return CLEAR_YES_OR_NO.get(word)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


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
    return read_items(answer.text, 1, SUPPORT)


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
    reasoning: Literal["none", "brief"] = Field(
        default="none",
        description="Whether the judge gives a short reason before each verdict: brief, for models"
        " that do not think before they answer. Only `prompt` with `form: claims` asks for them.",
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
    def gives_reasons(self) -> bool:
        """Whether the judge is to give short reasons."""
        return isinstance(self.judge, JudgeConfig) and self.judge.reasoning == "brief"

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
            error=unreadable if parsed.answered else unanswered,
        )
    return Scores(
        passage=float(verdict),
        passage_reason=wrong if verdict else right,
        failures=parsed.failures,
    )


TOKENS_OF_VERDICT = 64
"""What a judge may write about one item: a word, its number, and a short reason."""
_TOKENS_AROUND = 256
# Of one prompt that asks for several fields of each: many models write no more than 4,096 tokens.
_MOST_CLAIMS = 30
# How much longer the second answer may be where the first was cut off.
_MORE_ROOM = 2


def max_answer_tokens(parse: Parser[Any], tokens: int) -> int:
    """Return how many tokens an answer needs at most."""
    return _TOKENS_AROUND + tokens * len(parse(Completion("")))


async def ask(
    judge: Judge,
    prompt: str | Sequence[Message],
    parse: Parser[T],
    restatement: str | None,
    *,
    tokens: int = TOKENS_OF_VERDICT,
    schema: Mapping[str, Any] | None = None,
) -> ParsedAnswer[T]:
    """Ask a judge, and once more if its answer cannot be parsed.

    Args:
        judge: The judge.
        prompt: The question, or a conversation that ends with one.
        parse: Parses an answer into slots.
        restatement: The restated format, sent if a slot stays empty; None to accept the first
            answer as it is.
        tokens: How many tokens the answer needs for each slot at most. A judge that rambles is
            stopped there.
        schema: The JSON Schema of the answer, for models that take one; None for text.

    Returns:
        The parsed slots; the second answer fills only those the first left empty.
    """
    messages = sendable(prompt)
    most = max_answer_tokens(parse, tokens)
    try:
        arrived = await judge.complete(messages, max_tokens=most, exact=True, schema=schema)
    except ProviderError as error:
        return _unanswered(parse, error)
    return await settle_slots(judge, messages, arrived.first, parse, restatement, most, schema)


def claims_by_prompt(claims: Sequence[int]) -> list[Sequence[int]]:
    """Divide claims into groups of similar size, each few enough for one prompt.

    Args:
        claims: The indexes of the claims.
    """
    count = ceil(len(claims) / _MOST_CLAIMS)
    bounds = [len(claims) * group // count for group in range(count + 1)]
    return [claims[start:end] for start, end in pairwise(bounds)]


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
    *,
    tokens: int = TOKENS_OF_VERDICT,
) -> tuple[ParsedAnswer[T], ...]:
    """Ask a judge the same question several times, in one request if the provider supports `n`.

    Args:
        judge: The judge.
        prompt: The question, or a conversation that ends with one.
        parse: Parses an answer into slots.
        restatement: As for `ask`; each answer that cannot be parsed is asked for again separately.
        count: Number of answers.
        tokens: As for `ask`.

    Returns:
        The parsed answers, in order.
    """
    messages = sendable(prompt)
    most = max_answer_tokens(parse, tokens)
    try:
        arrived = await judge.complete(messages, n=count, max_tokens=most)
    except ProviderError as error:
        return (_unanswered(parse, error),) * count
    parsed_answers: dict[int, ParsedAnswer[T]] = {}

    async def settle(i: int, completion: Completion) -> None:
        parsed_answers[i] = await settle_slots(
            judge.at(i), messages, completion, parse, restatement, most
        )

    async with anyio.create_task_group() as tasks:
        for i, completion in enumerate(arrived.items[:count]):
            tasks.start_soon(settle, i, completion)
    lost = islice(chain(arrived.failures, repeat(None)), count - len(parsed_answers))
    return (
        *(parsed_answers[i] for i in sorted(parsed_answers)),
        *(_unanswered(parse, error) for error in lost),
    )


def _unanswered(parse: Parser[T], error: Exception | None) -> ParsedAnswer[T]:
    failures = () if error is None else (type(error).__name__,)
    return ParsedAnswer(tuple(parse(Completion(""))), answered=False, failures=failures)


def sendable(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a prompt as messages that clients can send."""
    if isinstance(prompt, str):
        # Clients cannot send lone surrogates, and one in a sample must not fail the check.
        prompt = prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return as_messages(prompt)


async def settle_slots(
    judge: Judge,
    messages: tuple[Message, ...],
    completion: Completion,
    parse: Parser[T],
    restatement: str | None,
    max_tokens: int,
    schema: Mapping[str, Any] | None = None,
) -> ParsedAnswer[T]:
    """Parse an answer, and ask once more with the format restated if a slot stays empty.

    Args:
        judge: The judge.
        messages: The question that it answered.
        completion: Its answer.
        parse: Parses an answer into slots.
        restatement: The restated format; None to accept the answer as it is.
        max_tokens: How long the second answer may be; longer if the first was cut off.
        schema: The JSON Schema of the answer, for models that take one.
    """
    slots = tuple(parse(completion))
    if restatement is None or None not in slots:
        return ParsedAnswer(slots)
    if completion.was_cut:
        max_tokens *= _MORE_ROOM
    try:
        again = await judge.complete(
            _restated(messages, completion.text, restatement),
            max_tokens=max_tokens,
            exact=True,
            schema=schema,
        )
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
