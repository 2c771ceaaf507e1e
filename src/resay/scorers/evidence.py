"""The evidence available to scorers: samples on demand, references, token logprobs, and a judge."""

from __future__ import annotations

import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from resay._internal.event_loops import compute
from resay.core.citations import Citation
from resay.core.decoding import is_fixed
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage, Splitter
from resay.core.query import Message, Query, with_texts
from resay.core.quoting import break_tokens, quotable
from resay.core.references import Reference
from resay.core.tokens import CachedTokenizer
from resay.core.verdict import Scores
from resay.errors import ProviderError
from resay.providers.base import Completion, Completions, Provider
from resay.providers.layers import FanOut, draw
from resay.providers.preferring import Preferences, Preferring
from resay.scorers.stopping import Stopping

Pair: TypeAlias = tuple[str, str]
"""A premise and a hypothesis."""

SPLITTING = 5
"""Cost of splitting one character of text into sentences, in characters; see `compute`."""

T = TypeVar("T")


class Sample:
    """Another response to the same query.

    Attributes:
        index: Its position among the samples, from 0, in order of arrival.
        text: The response.
        runs: Splits it into words; shared with the other samples of a pool.
        logprobs: Its tokens, if they were requested and the provider returned them.
    """

    def __init__(
        self,
        index: int,
        text: str,
        splitter: Splitter = "builtin",
        runs: CachedTokenizer | None = None,
        logprobs: tuple[TokenLogprob, ...] = (),
    ) -> None:
        self.index = index
        self.text = text
        self.logprobs = logprobs
        self.runs = CachedTokenizer() if runs is None else runs
        self._splitter: Splitter = splitter
        self._derived: dict[object, object] = {}

    @cached_property
    def passage(self) -> Passage:
        """The sample split into sentences; split once for all scorers."""
        return Passage.of(self.text, splitter=self._splitter)

    async def split(self) -> Passage:
        """Return `passage`, split off the event loop if that takes long."""
        return await compute(lambda: self.passage, chars=SPLITTING * len(self.text))

    def derived(self, make: Callable[[str], T]) -> T:
        """Return a value derived from the text, computed once for all callers.

        Args:
            make: Computes the value; also its cache key.
        """
        if make not in self._derived:
            self._derived[make] = make(self.text)
        return cast("T", self._derived[make])


# The beginning of them says who and what it is about; the rest may be long.
_INSTRUCTION_CHARS = 1_000
# Independent samples may give answers up to this length in the same words.
_SHORT_CHARS = 60


class Samples:
    """A growing pool of samples, shared by all scorers of one check.

    Nothing is drawn until a caller needs it, and each sample is drawn once for all callers.
    Iterating draws all samples; `first` draws as many as requested.

    Args:
        texts: Initial samples.
        splitter: How samples are split into sentences.

    Attributes:
        failures: The errors of sample requests that finally failed.
        chars: Total number of characters of the existing samples.
        runs: Splits all of them into words.
    """

    def __init__(self, texts: Sequence[str] = (), *, splitter: Splitter = "builtin") -> None:
        self._splitter: Splitter = splitter
        self._items: list[Sample] = []
        self._changed = anyio.Event()
        self._source: _Source | None = None
        self.failures: list[Exception] = []
        self._derived: dict[object, tuple[int, object]] = {}
        self._deriving = anyio.Lock()
        self._differ = False
        self._cut: re.Pattern[str] | None = None
        self.chars = 0
        self.runs = CachedTokenizer()
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        """Add existing samples."""
        for text in texts:
            self._add(text)

    def cut_words(self, beginning: str) -> None:
        """Cut words with this beginning after it, in existing samples and in those to come.

        The response ends in the beginning of a word; what its samples say there is no other word.

        Args:
            beginning: The beginning, at least two letters or digits.
        """
        self._cut = re.compile(rf"(?<![^\W_])({re.escape(beginning)})[^\W_]+")
        items = self._items
        self._items, self._differ, self.chars = [], False, 0
        self._derived.clear()
        for sample in items:
            self._add(sample.text, sample.logprobs)

    def _add(self, text: str, logprobs: tuple[TokenLogprob, ...] = ()) -> None:
        if self._cut is not None:
            text = self._cut.sub(r"\1", text)
        # An empty text (a tool call, a filtered answer) says nothing about the passage.
        if text and not text.isspace():
            self._differ = self._differ or (bool(self._items) and text != self._items[0].text)
            self._items.append(Sample(len(self._items), text, self._splitter, self.runs, logprobs))
            self.chars += len(text)

    def draw_from(
        self,
        tasks: TaskGroup,
        provider: Provider,
        query: Query,
        *,
        max_requests: int,
        ahead: int = 0,
    ) -> None:
        """Set the source of samples, without drawing any yet.

        Args:
            tasks: The task group that draws; cancelling it stops the drawing.
            provider: The provider to ask.
            query: The query to send.
            max_requests: Maximum number of samples to request, failed requests included.
            ahead: Number of samples to draw beyond those wanted.
        """
        self._source = _Source(tasks, provider, query, max_requests, ahead)

    def want(self, count: int) -> None:
        """Start drawing until this many samples exist, or no more can be drawn."""
        source = self._source
        if source is None:
            return
        source.wanted = max(source.wanted, count)
        wave = source.next_wave(len(self._items))
        if wave:
            source.tasks.start_soon(self._draw, source, wave)

    async def _draw(self, source: _Source, wave: range) -> None:
        query = replace(source.query, index=wave.start)
        left = len(wave)

        def add_arrived(completion: Completion) -> None:
            nonlocal left
            left -= 1
            source.in_flight -= 1
            self._add(completion.text, completion.logprobs)
            self._replace_and_notify()

        try:
            await draw(source.provider, query, len(wave), add_arrived, self.failures.append)
        # A provider that raises an unforeseen error costs its samples, not the user's answer.
        except Exception as error:
            self.failures.append(error)
        except anyio.get_cancelled_exc_class():
            source.max_requests = source.requested
            raise
        finally:
            source.in_flight -= left
            self._replace_and_notify()

    def _replace_and_notify(self) -> None:
        """Draw replacements for failed samples, and wake the waiters."""
        self.want(0)
        self._changed.set()
        self._changed = anyio.Event()

    def __len__(self) -> int:
        return len(self._items)

    async def __aiter__(self) -> AsyncIterator[Sample]:
        async for sample in self.first(self.available):
            yield sample

    async def first(self, count: int, *, after: int = 0) -> AsyncIterator[Sample]:
        """Yield the first samples, each as soon as it arrives.

        Args:
            count: Number of samples wanted.
            after: Number of leading samples to skip.

        Yields:
            At most `count - after` samples; fewer if no more can be drawn.
        """
        self.want(count)
        position = after
        while position < count:
            if position < len(self._items):
                yield self._items[position]
                position += 1
            elif self._source is not None and self._source.in_flight:
                await self._changed.wait()
            else:
                return

    @property
    def available(self) -> int:
        """Number of samples if every remaining request succeeded."""
        source = self._source
        return len(self._items) + (source.in_flight + source.remaining if source else 0)

    @property
    def was_requested(self) -> bool:
        """Whether any samples were requested."""
        return self._source is not None and self._source.requested > 0

    @property
    def arrived(self) -> tuple[Sample, ...]:
        """The samples that have arrived."""
        return tuple(self._items)

    def derived(self, make: Callable[[Sequence[Sample]], T]) -> T:
        """Return a value derived from the samples so far, computed once until more arrive.

        Args:
            make: Computes the value; also its cache key.
        """
        if not self._has(make):
            arrived = self.arrived
            self._derived[make] = len(arrived), make(arrived)
        return cast("T", self._derived[make][1])

    async def derive(self, make: Callable[[Sequence[Sample]], T], *, chars: float) -> T:
        """Return the same as `derived`, computed off the event loop if that takes long.

        Args:
            make: Computes the value; also its cache key.
            chars: Cost of computing it, in characters; see `compute`.
        """
        if not self._has(make):
            # Concurrent callers wait for the same value instead of computing it again.
            async with self._deriving:
                await compute(partial(self.derived, make), chars=0 if self._has(make) else chars)
        return self.derived(make)

    def _has(self, make: object) -> bool:
        return self._derived.get(make, (-1,))[0] == len(self._items)

    async def all(self) -> tuple[Sample, ...]:
        """Draw all remaining samples and return every sample."""
        self.want(self.available)
        while self._source is not None and self._source.in_flight:
            await self._changed.wait()
        return self.arrived

    @property
    def all_identical(self) -> bool:
        """Whether there are several samples and all are copies of one answer.

        They are if all have the same text, and were drawn by greedy decoding or with a seed, or are
        long: independent answers of more than a few words never repeat byte for byte, but
        "Paris." does.
        """
        if len(self._items) < 2 or self._differ:
            return False
        return self.are_fixed or len(self._items[0].text) > _SHORT_CHARS

    @property
    def are_fixed(self) -> bool:
        """Whether the samples are drawn by greedy decoding or with a seed."""
        return self._source is not None and is_fixed(self._source.query.params)


@dataclass(slots=True)
class _Source:
    """The source of samples, and the number of samples requested from it."""

    tasks: TaskGroup
    provider: Provider
    query: Query
    max_requests: int
    ahead: int
    wanted: int = 0
    requested: int = 0
    in_flight: int = 0

    @property
    def remaining(self) -> int:
        return self.max_requests - self.requested

    def next_wave(self, existing: int) -> range:
        """Return the indexes of the samples to request now."""
        if not self.wanted:
            return range(0)
        short = self.wanted + self.ahead - existing - self.in_flight
        count = max(min(short, self.remaining), 0)
        wave = range(self.requested, self.requested + count)
        self.requested += count
        self.in_flight += count
        return wave


@dataclass(frozen=True, slots=True)
class Entailment:
    """How a premise relates to a hypothesis, as probabilities that sum to 1."""

    entails: float
    neutral: float
    contradicts: float


NEUTRAL = Entailment(0.0, 1.0, 0.0)
"""The relation of a premise to an unrelated hypothesis."""
SAME = Entailment(1.0, 0.0, 0.0)
"""The relation of a text to itself."""


@dataclass(frozen=True, slots=True)
class Entailed:
    """How premises relate to hypotheses.

    Attributes:
        by_pair: None if the answer could not be parsed. Pairs whose call failed are missing.
        failures: Kinds of failed calls.
    """

    by_pair: Mapping[Pair, Entailment | None]
    failures: tuple[str, ...] = ()

    def undetermined(self, pairs: Iterable[Pair]) -> int:
        """Return for how many pairs the answer could not be parsed."""
        return sum(pair in self.by_pair and self.by_pair[pair] is None for pair in pairs)


class Entailments:
    """Matrix of entailments between the texts of a check, in which each entry is computed once.

    Callers get the known entries; the missing ones are computed together, in one batch. Methods
    that run concurrently wait for each other's entries.
    """

    def __init__(self) -> None:
        self._known: dict[object, dict[Pair, Entailment | None]] = {}
        self._locks: dict[object, anyio.Lock] = {}

    async def find(
        self,
        source: object,
        pairs: Iterable[Pair],
        ask: Callable[[Sequence[Pair]], Awaitable[Entailed]],
    ) -> Entailed:
        """Return how premises relate to hypotheses.

        A text entails itself. An entry whose call failed is computed again for the next caller.

        Args:
            source: The model or judge that decides; each source has its own entries.
            pairs: The wanted entries, in any order.
            ask: Computes the missing entries, all at once.

        Returns:
            At least those wanted entries that could be computed, with the failures of this call.
        """
        known = self._known.setdefault(source, {})
        failures: tuple[str, ...] = ()
        async with self._locks.setdefault(source, anyio.Lock()):
            missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
            same = {pair: SAME for pair in missing if pair[0] == pair[1]}
            known.update(same)
            missing = [pair for pair in missing if pair not in same]
            if missing:
                found = await ask(missing)
                known.update(found.by_pair)
                failures = found.failures
        return Entailed(known, failures)


@dataclass(slots=True, eq=False)
class _Wanted(Generic[T]):
    """What one task wants to know.

    Attributes:
        texts: What it asks about.
        results: One for each text, once there are any.
    """

    texts: Sequence[str]
    results: Sequence[T] | None = None


class Gathering:
    """Asks for several tasks at once; belongs to one check.

    Whoever comes while others are asked for waits, and is asked for together with everybody who
    came in the meantime: the sentences of a stream are scored one by one, and a question to a model
    costs a call.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[_Wanted[Any]]] = {}
        self._locks: dict[Hashable, anyio.Lock] = {}

    async def ask(
        self,
        source: Hashable,
        texts: Sequence[str],
        ask: Callable[[Sequence[str]], Awaitable[Sequence[T]]],
    ) -> Sequence[T]:
        """Return the results for texts.

        Args:
            source: What is asked; each source has its own queue.
            texts: What to ask about.
            ask: Returns one result for each of the texts, which may be those of other tasks too.
        """
        wanted: _Wanted[T] = _Wanted(texts)
        waiting = self._waiting.setdefault(source, [])
        waiting.append(wanted)
        try:
            async with self._locks.setdefault(source, anyio.Lock()):
                if wanted.results is None:
                    together = list(waiting)
                    results = await ask([text for task in together for text in task.texts])
                    position = 0
                    for task in together:
                        end = position + len(task.texts)
                        task.results = results[position:end]
                        position = end
        finally:
            # Whoever was cancelled while asking leaves the others to ask for themselves.
            waiting.remove(wanted)
        return wanted.results or ()


@dataclass(frozen=True, slots=True)
class Judge:
    """The LLM a prompt-based scorer asks."""

    provider: Provider
    query: Query

    async def ask(self, prompt: str | Sequence[Message], *, max_tokens: int | None = None) -> str:
        """Ask one question and return the answer as text.

        Args:
            prompt: The question, or a conversation that ends with one.
            max_tokens: The number of tokens that the answer needs at most; None for no limit.

        Raises:
            ProviderError: No answer was received.
        """
        return (await self.complete(prompt, max_tokens=max_tokens)).first.text

    async def complete(
        self,
        prompt: str | Sequence[Message],
        *,
        n: int = 1,
        max_tokens: int | None = None,
        exact: bool = False,
        schema: Mapping[str, Any] | None = None,
    ) -> Completions:
        """Ask one question.

        Args:
            prompt: The question, or a conversation that ends with one.
            n: Number of answers, at least 1.
            max_tokens: The number of tokens that an answer needs at most; None for no limit.
            exact: Whether the most probable answer is wanted, from a model that takes a temperature
                of 0. Never of a judge whose answers are to vary.
            schema: The JSON Schema of the object to answer with, for models that take one; None for
                text.

        Returns:
            At least one answer, with the failures of the others attached.

        Raises:
            ProviderError: No answer was received.
        """
        # Everything that is quoted to a model passes here.
        written = as_messages(prompt)

        def without_tokens() -> tuple[Message, ...]:
            return tuple(with_texts(message, break_tokens) for message in written)

        chars = sum(len(str(message)) for message in written)
        messages = await compute(without_tokens, chars=chars)
        query = replace(self.query, messages=messages)
        preferences = Preferences(max_tokens=max_tokens, exact=exact, schema=schema)
        provider = Preferring(self.provider, preferences)
        asked = provider if n == 1 else FanOut(provider)
        try:
            return await asked.complete(query, n=n)
        except ProviderError:
            raise
        # Third-party providers may raise anything; it costs only this answer.
        except Exception as error:
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error

    def at(self, index: int) -> Judge:
        """Return the same judge for another of several answers to the same question."""
        return replace(self, query=replace(self.query, index=index))

    def with_params(self, **params: Any) -> Judge:
        """Return the same judge with additional parameters."""
        return replace(self, query=replace(self.query, params={**self.query.params, **params}))

    def varied(self, temperature: float | None = None) -> Judge:
        """Return the same judge for answers that vary.

        Its queries are marked as `varied`, for providers that know the judge's own settings.

        Args:
            temperature: The temperature; None for the judge's own unless that is greedy.
        """
        return replace(self, query=self.query.for_sampling(temperature=temperature))


def prober_of(
    provider: Provider,
    query: Query,
    *,
    model: str | None,
    temperature: float | None,
    params: Mapping[str, Any],
) -> Judge:
    """Return the model that gives short answers to questions about claims, set up as for samples.

    Args:
        provider: The provider to ask.
        query: The query that the response answers.
        model: The model that draws the samples; None for the model of the query.
        temperature: Their temperature; None for the query's.
        params: Additional parameters of samples.
    """
    sample = query.for_sampling(model=model, temperature=temperature, params=params)
    # Other parameters of the main call, such as tools or a long limit, do not suit a few words.
    kept = {**sample.connection, **params}
    if "temperature" in sample.params:
        kept["temperature"] = sample.params["temperature"]
    # The application's instructions apply to short answers too.
    instructions = tuple(m for m in query.messages if m.get("role") in ("system", "developer"))
    return Judge(
        provider, Query(instructions, sample.model, kept, tenant=query.tenant, varied=True)
    )


def as_messages(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a prompt as a conversation."""
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return tuple(prompt)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a check.

    Attributes:
        samples: The pool of samples.
        references: Trusted texts supplied by the user or a retriever, as a pool that methods can
            compare with like samples.
        query: The query the response answers, if known.
        user_query: The user's own query if `query` is another, such as one with documents added.
        judge_provider: The provider for judges, or None if there is none.
        prober: The model that gives short answers to questions about claims, set up as for samples;
            None if it cannot be asked. The messages of its query precede each question.
        calls_left: Returns how many more calls the check may make; None for any number.
        judge_source: Distinguishes the answers of the judges' provider from others in a cache.
        logprobs: The tokens of the response with their probabilities; empty if unknown.
        scores: The scores of the previous steps, one entry per sentence of the passage; for
            corrections.
        threshold: The score above which a sentence may be flagged; None if it is unknown.
        doubtful: The score above which it is called doubtful; None if none is.
        gathering: Asks for several sentences at once; shared by all of them.
        stopping: The rule that tells a method that compares with one sample at a time when to
            stop; None to compare with all samples.
        partial_scores: Receives the partial result of a method that is cancelled.
        sources: The references one by one, with their origins, if they are compared with before
            anything else.
        citations: The citations the provider attached to the answer.
        writer: The model that wrote the response, if known.
        second: The samples of another model, if the policy asks one.
        entailments: Known entailments between the response, its claims and the samples; shared by
            all methods of the check.
    """

    samples: Samples = field(default_factory=Samples)
    references: Samples = field(default_factory=Samples)
    query: Query | None = None
    user_query: Query | None = None
    judge_provider: Provider | None = None
    prober: Judge | None = None
    calls_left: Callable[[], int | None] = lambda: None
    judge_source: str = field(default="", repr=False)
    logprobs: tuple[TokenLogprob, ...] = ()
    scores: tuple[float | None, ...] = ()
    threshold: float | None = None
    doubtful: float | None = None
    gathering: Gathering = field(default_factory=Gathering)
    stopping: Stopping | None = None
    partial_scores: list[Scores] = field(default_factory=list[Scores])
    sources: tuple[Reference, ...] = ()
    citations: tuple[Citation, ...] = ()
    writer: str | None = None
    second: Samples = field(default_factory=Samples)
    entailments: Entailments = field(default_factory=Entailments)

    def conversation(self, chars: int) -> str:
        """Return the user's conversation as text, or its ends; see `Query.conversation`.

        It begins with the application's instructions, which say what an answer is about.

        Args:
            chars: The maximum length.
        """
        query = self.user_query or self.query
        if query is None or chars <= 0:
            return ""
        instructions = query.instructions[: min(_INSTRUCTION_CHARS, chars // 4)]
        if not instructions:
            return quotable(query.conversation(chars))
        conversation = query.conversation(chars - len(instructions))
        return quotable(f"system: {instructions}\n{conversation}".strip())

    @property
    def quoted_question(self) -> str:
        """The question, as it may be shown to a model; empty if it is unknown."""
        return quotable(self.query.question) if self.query else ""
