"""What scorers that ask a judge share: who it is, and how it is asked until it can be read.

A judge's answer is read by a grammar, into as many slots as there were things to answer. Where a
slot stays empty the judge is asked once more, with the format restated; what is empty then is
undetermined, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any, Generic, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field

from resay.core.query import Message, Query
from resay.core.verdict import Scores
from resay.errors import ProviderError, ScorerError
from resay.providers.base import Completion
from resay.scorers.base import ScorerConfig
from resay.scorers.evidence import Evidence, Judge, as_messages

__all__ = [
    "JudgeConfig",
    "JudgedConfig",
    "Reading",
    "ask",
    "ask_together",
    "judge_for",
    "scores_of",
    "turn_of_judge",
]

T = TypeVar("T")
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
        raise ScorerError("there is no judge to ask")
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
    messages = as_messages(prompt)
    try:
        arrived = await judge.complete(messages)
    except ProviderError as error:
        return _unanswered(read, error)
    return await _settle(judge, messages, arrived.first, read, restatement)


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
    messages = as_messages(prompt)
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


def _unanswered(read: Reader[T], error: Exception | None) -> Reading[T]:
    failures = () if error is None else (type(error).__name__,)
    return Reading(tuple(read(Completion(""))), answered=False, failures=failures)


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
