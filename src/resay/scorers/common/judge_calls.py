"""Asks a judge, and once more for what its answer leaves open.

An answer is parsed into one slot for each item that the judge was asked about (see `answers` and
`choices`). If a slot stays empty, the judge is asked once more with the format restated; slots that
are still empty are reported as undetermined.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any, Generic, TypeVar

import anyio

from resay._internal.plurals import counted
from resay.core.failures import failure_kind, tally
from resay.core.request import Message
from resay.core.scores import Scores
from resay.errors import ProviderError
from resay.providers.base import Completion
from resay.scorers.judge import Judge, as_messages
from resay.scorers.judge_problems import JudgeProblem

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
Parser = Callable[[Completion], Sequence[T | None]]
"""Parses an answer into a fixed number of slots; None for each that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer(Generic[T]):
    """The parsed answer of a judge.

    Attributes:
        slots: One entry for each item asked about, None if it could not be parsed.
        answered: Whether there was an answer at all.
        failures: Kinds of failed calls.
        problem: Why slots are empty; None if none is, or if that is unknown.
    """

    slots: tuple[T | None, ...]
    answered: bool = True
    failures: tuple[str, ...] = ()
    problem: JudgeProblem | None = None

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
        return _unanswered(parse, error, judge)
    return await settle_slots(judge, messages, arrived.first, parse, restatement, most, schema)


def claims_by_prompt(claims: Sequence[int]) -> list[Sequence[int]]:
    """Divide claims into groups of similar size, each few enough for one prompt.

    Args:
        claims: The indexes of the claims.
    """
    count = ceil(len(claims) / _MOST_CLAIMS)
    bounds = [len(claims) * group // count for group in range(count + 1)]
    return [claims[start:end] for start, end in pairwise(bounds)]


async def ask_each(items: Iterable[K], ask_about: Callable[[K], Awaitable[V]]) -> list[V]:
    """Ask about several items concurrently.

    Args:
        items: The items to ask about.
        ask_about: Asks about an item.

    Returns:
        The results, in order.
    """
    results: dict[int, V] = {}

    async def run(index: int, item: K) -> None:
        results[index] = await ask_about(item)

    async with anyio.create_task_group() as tasks:
        for index, item in enumerate(items):
            tasks.start_soon(run, index, item)
    return [results[index] for index in sorted(results)]


def unscored_reason(
    scores: Sequence[float | None], failures: Sequence[str], template: str
) -> str | None:
    """Return why scores support no decision if most claims have none; else None.

    Args:
        scores: The scores of the claims.
        failures: Kinds of failed calls.
        template: The reason, with `{lost}` for how many of how many claims have no score.
    """
    missing = scores.count(None)
    if missing * 2 <= len(scores):
        return None
    reason = template.format(lost=f"{missing} of {counted(len(scores), 'claim')}")
    return f"{reason} ({tally(failures)})" if failures else reason


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
        return (_unanswered(parse, error, judge),) * count
    parsed_answers: dict[int, ParsedAnswer[T]] = {}

    async def settle(i: int, completion: Completion) -> None:
        parsed_answers[i] = await settle_slots(
            judge.at(i), messages, completion, parse, restatement, most
        )

    async with anyio.create_task_group() as tasks:
        for i, completion in enumerate(arrived.items[:count]):
            tasks.start_soon(settle, i, completion)
    results = [parsed_answers[i] for i in sorted(parsed_answers)]
    errors = iter(arrived.failures)
    while len(results) < count:
        results.append(_unanswered(parse, next(errors, None), judge))
    return tuple(results)


def _unanswered(parse: Parser[T], error: Exception | None, judge: Judge) -> ParsedAnswer[T]:
    slots = tuple(parse(Completion("")))
    if error is None:
        return ParsedAnswer(slots, answered=False)
    return ParsedAnswer(
        slots=slots,
        answered=False,
        failures=(failure_kind(error),),
        problem=JudgeProblem.of_failure(error, judge.request.model),
    )


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
    if None not in slots:
        return ParsedAnswer(slots)
    if restatement is None:
        return _unread(judge, completion, slots)
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
        problem = JudgeProblem.of_failure(error, judge.request.model)
        return ParsedAnswer(slots, failures=(failure_kind(error),), problem=problem)
    second = parse(again.first)
    slots = tuple(
        again_slot if slot is None else slot for slot, again_slot in zip(slots, second, strict=True)
    )
    return _unread(judge, again.first, slots) if None in slots else ParsedAnswer(slots)


def _unread(judge: Judge, completion: Completion, slots: tuple[T | None, ...]) -> ParsedAnswer[T]:
    is_partly_read = any(slot is not None for slot in slots)
    problem = judge.add_unread(completion, is_partly_read=is_partly_read)
    return ParsedAnswer(slots, problem=problem)


def _restated(messages: tuple[Message, ...], answer: str, restatement: str) -> tuple[Message, ...]:
    return (*messages, turn_of_judge(answer), {"role": "user", "content": restatement})


def turn_of_judge(answer: str) -> Message:
    """Return a judge's answer as a message, so that the conversation can continue after it."""
    # Some providers reject an empty message.
    return {"role": "assistant", "content": answer if answer.strip() else "(no answer)"}
