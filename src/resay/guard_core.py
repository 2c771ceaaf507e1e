"""What a guard is made of, for `resay.Guard` and `resay.adapters.GuardRuntime`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import anyio

# What runs, reports and streams a request is imported when the first one comes: see `GuardCore`.
from resay import core, engine, providers, reporting
from resay._internal.event_loops import compute
from resay.core import segmentation
from resay.core.documents import Document
from resay.core.loading import not_asked_error, not_checked_reason
from resay.core.references import Reference, given_references
from resay.core.request import Request
from resay.engine.chain_steps import ChainSteps
from resay.engine.requirements import Requirements, problems_with_names
from resay.errors import ConfigurationError, DeadlineExceededError
from resay.policy import Policy, StreamMode, marks_problem
from resay.providers import batching, caching

T = TypeVar("T")

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from resay.core.check_context import CheckContext
    from resay.core.verdict import OnVerdict, Verdict
    from resay.core.verdict_record import Sink
    from resay.engine import AnswerStream, Chain, RequestRunner
    from resay.engine.actions import Answer
    from resay.engine.answer_chunk import AnswerChunk
    from resay.engine.regeneration.base import Regenerator
    from resay.providers import Provider, Sources
    from resay.providers.batching import BatchProvider
    from resay.providers.caching import Cache
    from resay.reporting import Reporter, SinkOutbox


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """The settings of a guard.

    Attributes:
        policy: The policy.
        policy_name: The policy's name in records.
        model: The model to ask unless a call names another.
        params: The provider's parameters unless a call has others. They may contain a key.
        provider: The provider of answers; None for the default one.
        retriever: The document source of a policy that regenerates; None for the policy's own.
        outboxes: The outboxes of the guard's own sinks.
        listeners: The application's functions that are called with each verdict.
        records_evidence: Whether verdicts hold the texts that answers were checked with, whether or
            not a sink wants them.
    """

    policy: Policy
    policy_name: str
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    provider: Provider | None = None
    retriever: object | None = None
    outboxes: tuple[SinkOutbox, ...] = ()
    listeners: tuple[OnVerdict, ...] = ()
    records_evidence: bool = False

    def to_state(self) -> dict[str, object]:
        """Return the settings for a pickle.

        Raises:
            ConfigurationError: One of them cannot be pickled.
        """
        state = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        state["outboxes"] = tuple(outbox.sink for outbox in self.outboxes)
        # As the guard's arguments are called.
        names = {"outboxes": "sinks", "listeners": "on_verdict"}
        for name, value in state.items():
            for item in value if name in names else (value,):
                _check_pickles(names.get(name, name), item)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> GuardSettings:
        """Return the settings of a pickle."""
        fields_of_state: dict[str, Any] = dict(state)
        fields_of_state["outboxes"] = outboxes_for(fields_of_state["outboxes"])
        return cls(**fields_of_state)


class GuardCore:
    """What a guard is made of. It does not change.

    Args:
        settings: The guard's settings.

    Attributes:
        settings: The settings.
        policy: The policy.
        steps: The steps of the policy's chain.
        requirements: What the chain requires of a request.

    Raises:
        ConfigurationError: The policy regenerates without a usable retriever, or uses Batch APIs
            together with a provider, or the model is that of the second opinion.
    """

    def __init__(self, settings: GuardSettings) -> None:
        policy = settings.policy
        second = policy.second_opinion
        if second is not None and second.is_model(settings.model):
            with policy.locating("second_opinion"):
                raise ConfigurationError(
                    f"`second_opinion` is {second.model!r}, the model that answers, and would"
                    " repeat its own mistakes; name another"
                )
        self.settings = settings
        self.policy = policy
        with policy.locating("cache"):
            caching.require_store(policy.cache)
        self.steps = ChainSteps(policy)
        self._batching = _batch_provider(policy, settings.provider)
        live_provider = None if self._batching is not None else settings.provider
        self.requirements = Requirements(self.steps, live_provider, self._batching, policy=policy)
        names_sinks = policy.journal is not None or policy.observers
        self._outboxes = (
            *(reporting.outboxes_of(policy) if names_sinks else ()),
            *settings.outboxes,
        )
        self._regenerator = self._open_regenerator()
        self._lookups = None if policy.lookups is None else engine.Lookups(policy.lookups)

    def _open_regenerator(self) -> Regenerator | None:
        if self.policy.action.do != "regenerate":
            return None
        return engine.open_regenerator(
            self.policy, self.chain, self._cache, self.settings.retriever
        )

    @cached_property
    def _cache(self) -> Cache | None:
        return caching.open_cache(self.policy.cache)

    @cached_property
    def chain(self) -> Chain:
        """Runs the steps."""
        return engine.Chain(self.policy, self._cache, steps=self.steps.steps)

    @cached_property
    def reporter(self) -> Reporter:
        """Reports verdicts."""
        settings = self.settings
        return reporting.Reporter(settings.policy_name, settings.listeners, self._outboxes)

    @cached_property
    def runner(self) -> RequestRunner:
        """Runs requests and checks."""
        return engine.RequestRunner(
            self.policy,
            self.chain,
            self._cache,
            self._regenerator,
            self._lookups,
            policy_name=self.settings.policy_name,
            records_evidence=self.settings.records_evidence
            or any(outbox.wants_evidence for outbox in self._outboxes),
        )

    async def load(self, started: float | None = None, *, asks: bool = False) -> bool:
        """Import what runs requests: for the first in a thread, because that takes a while.

        The time counts against the deadline of the request. The thread cannot be stopped without
        leaving modules half made, so at the deadline only the request is over, and the import goes
        on for the next one.

        Args:
            started: When the request came, on the event loop's clock; None to wait for as long as
                it takes.
            asks: Whether to import what calls models too.

        Returns:
            Whether there was time for all of it.
        """
        deadline = math.inf
        if started is not None and self._batching is None:
            deadline = self.policy.limits.deadline_of(started)
        with anyio.CancelScope(deadline=deadline) as scope:
            if "RequestRunner" not in vars(engine):
                await compute(_import_for_requests)
            calls = asks and self.settings.provider is None
            if calls and "DefaultProvider" not in vars(providers):
                await compute(lambda: providers.DefaultProvider)
        return not scope.cancelled_caught

    async def prepare(self) -> None:
        """Load the policy's models, and what the provider of the guard's model needs.

        Raises:
            ConfigurationError: A model cannot be loaded as configured, or one that the policy names
                has no known provider.
            MissingDependencyError: litellm is needed and not installed.
            ScorerError: A model's server does not answer.
        """
        await self.load(asks=self._batching is None)
        # First, because models take a while to load.
        self.requirements.check_named_models()
        await self.runner.prepare()
        if self._batching is not None:
            return
        provider = self.settings.provider
        if provider is not None:
            await providers.prepare(provider)
        else:
            request = Request((), model=self.settings.model, params=self.settings.params)
            await providers.DefaultProvider((request, *self.policy.named_requests)).prepare()

    def with_skip_reason(self, context: CheckContext) -> CheckContext:
        """Return a context that says whether the policy checks the answer, whatever it is.

        Args:
            context: The context of the request, complete otherwise.
        """
        reason = _early_skip_reason(self.policy, context)
        return context if reason == context.skip_reason else replace(context, skip_reason=reason)

    def decides_by_references(self, context: CheckContext) -> bool:
        """Return whether a check can be decided by its references, without samples.

        Args:
            context: The context; the request's messages may contain references too.
        """
        return self.runner.decides_by_references(context)

    async def answer(
        self, context: CheckContext, sources: Sources, started: float | None = None
    ) -> Answer:
        """Ask, check, act and report the verdict.

        Args:
            context: The request and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call.
            started: When the request came, on the event loop's clock; None for now.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
        """
        started = anyio.current_time() if started is None else started
        self.requirements.check_request(context, sources)
        if not await self.load(started):
            raise self.not_asked_error(context.request.model)
        work = self.runner.answer(context, sources, started)
        return await self.reporter.report_after(work, context.request, sources, started)

    def not_asked_error(self, model: str | None) -> DeadlineExceededError:
        """Return the error of a request for which `load` left no time."""
        return not_asked_error(model, self.policy.limits.deadline_s)

    async def report_unchecked(self, response: str, request: Request | None) -> Verdict:
        """Report and return the verdict on a response for which `load` left no time.

        Args:
            response: The response.
            request: The request that it answers, if known.
        """
        # The first guard does not need it.
        from resay.core.unscored import Unscored

        reason = not_checked_reason(self.policy.limits.deadline_s)
        verdict = core.Verdict("inconclusive", None, reason)
        if response.strip():
            everything = Unscored(response, 0, len(response), "prose")
            verdict = replace(verdict, unscored=(everything,))
        await self.reporter.areport(verdict, request)
        return verdict

    async def check(
        self,
        response: str,
        context: CheckContext,
        sources: Sources | None,
        started: float | None = None,
    ) -> Verdict:
        """Check an existing response and report the verdict.

        Args:
            response: The response.
            context: The request that it answers and what is known about it; see
                `with_skip_reason`.
            sources: The provider of each kind of call; None if none is made.
            started: When the request came, on the event loop's clock; None for now.
        """
        started = anyio.current_time() if started is None else started
        if not await self.load(started):
            return await self.report_unchecked(response, context.request)
        work = self.runner.check(response, context, sources, started)
        return await self.reporter.report_after(work, context.request, sources, started)

    def stream(
        self,
        context: CheckContext,
        sources: Sources | None = None,
        *,
        stream_mode: StreamMode | None,
        every_chunk: bool = False,
        explained: bool = True,
    ) -> AnswerStream:
        """Ask and stream the answer, checked as `stream_mode` says; report the verdict at its end.

        Args:
            context: The request and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call; None for the guard's own.
            stream_mode: When to release text; None for the policy's mode.
            every_chunk: Whether to yield chunks without text too.
            explained: Whether chunks say what is wrong with their flagged sentences.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        request = context.request
        if sources is None:
            self.requirements.check_model(request, asks=True)
        self.requirements.check_request(context, sources)
        stream_mode = resolve_stream_mode(self.policy, stream_mode)

        async def run(parts: MemoryObjectSendStream[AnswerChunk]) -> Answer:
            started = anyio.current_time()
            if not await self.load(started, asks=sources is None):
                raise self.not_asked_error(request.model)
            opened = sources or self.requirements.sources(request, asks=True)
            work = self.runner.stream(
                context, opened, stream_mode, parts, started, explained=explained
            )
            return await self.reporter.report_after(work, request, opened, started)

        return engine.AnswerStream(run, every_chunk=every_chunk)


def _import_for_requests() -> None:
    _ = core.CheckContext, caching.open_cache, reporting.Reporter
    _ = providers.Sources
    _ = segmentation.load_splitter, segmentation.parse_layout, segmentation.piece_spans
    # Last, because its presence says that all are there.
    _ = engine.RequestRunner


def _early_skip_reason(policy: Policy, context: CheckContext) -> str | None:
    """Return why a policy does not check a request whatever the response, or None."""
    if context.unchecked:
        return context.unchecked
    if context.wants_object and policy.structured.check == "none":
        return "the policy does not check structured answers"
    return policy.when.before(context.request) if policy.when else None


def check_usable(policy: Policy) -> None:
    """Check that a guard can be created with a policy, by creating what it is made of.

    A retriever that the policy leaves to the application counts as passed. A model whose name
    begins with an unknown provider is refused; one without a provider may be known to a provider
    that the application passes.

    Args:
        policy: The policy.

    Raises:
        ConfigurationError: Something that it names does not exist, or cannot be used as it says.
        MissingDependencyError: A package that it needs is not installed.
    """
    retriever = _find_nothing if policy.needs_retriever else None
    GuardCore(GuardSettings(policy=policy, policy_name="", retriever=retriever))
    for path, request, problem in problems_with_names(policy):
        if "/" in (request.model or ""):
            with policy.locating(*path):
                raise ConfigurationError(problem)


def _find_nothing(query: str) -> tuple[str, ...]:
    del query
    return ()


def resolve_stream_mode(policy: Policy, requested: StreamMode | None) -> StreamMode:
    """Return when a stream releases text; refuse a mode that the policy does not support.

    Args:
        policy: The policy.
        requested: The requested mode; None for the policy's.
    """
    stream_mode = requested or policy.stream_mode
    if stream_mode not in get_args(StreamMode):
        raise ConfigurationError(f"stream_mode must be hold, after or buffer, not {requested!r}")
    if stream_mode == "after" and policy.action.do == "regenerate":
        raise ConfigurationError(
            "stream_mode 'after' shows an answer before it can be regenerated; use 'hold' or"
            " 'buffer'"
        )
    problem = marks_problem(policy.mark_style, stream_mode)
    if problem is not None:
        raise ConfigurationError(problem)
    return stream_mode


def texts_of(name: str, texts: Iterable[str] | None) -> tuple[str, ...]:
    """Return the texts of an argument; an iterator is read once, here.

    Args:
        name: The argument.
        texts: Its value; None for no texts.

    Raises:
        ConfigurationError: It is a single string, no iterable, or one of its items is no string.
    """
    return _items_of(texts, (str,), f"{name} must be a list of strings")


def references_of(references: Iterable[str | Document] | None) -> tuple[Reference, ...]:
    """Return the references that an argument holds, as `texts_of` returns texts.

    Args:
        references: Texts and documents; None for none.

    Raises:
        ConfigurationError: It is a single string, no iterable, or one of its items is neither.
    """
    requirement = "references must be a list of strings or Documents"
    return given_references(_items_of(references, (str, Document), requirement))


def _items_of(
    values: Iterable[T] | None, kinds: tuple[type, ...], requirement: str
) -> tuple[T, ...]:
    given = cast("object", values)
    if given is None:
        return ()
    if isinstance(given, (str, bytes)):
        raise ConfigurationError(f"{requirement}, not one string")
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        kind = type(values).__name__
        raise ConfigurationError(f"{requirement}, not of type {kind}")
    items = tuple(cast("Iterable[object]", given))
    for item in items:
        if not isinstance(item, kinds):
            raise ConfigurationError(f"{requirement}, but one is of type {type(item).__name__}")
    return cast("tuple[T, ...]", items)


def outboxes_for(sinks: Iterable[Sink]) -> tuple[SinkOutbox, ...]:
    """Return the outboxes of a guard's own sinks.

    Raises:
        ConfigurationError: They are no list, or one of them is no sink.
    """
    given = cast("object", sinks)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        kind = type(sinks).__name__
        raise ConfigurationError(f"sinks must be a list of sinks, not of type {kind}")
    return tuple(
        reporting.SinkOutbox(reporting.check_sink(sink, "an item of `sinks`")) for sink in sinks
    )


def _batch_provider(policy: Policy, provider: Provider | None) -> BatchProvider | None:
    """Return the provider that calls models through Batch APIs, if the policy uses them."""
    # Whoever passes one has imported its module, which is slow to import.
    is_imported = "resay.providers.batching.layer" in sys.modules
    if is_imported and isinstance(provider, batching.BatchProvider):
        return provider
    if policy.calls.via != "batch":
        return None
    if provider is not None:
        raise ConfigurationError(
            "the policy uses Batch APIs (`calls.via` is 'batch'), but the provider is a"
            f" {type(provider).__name__!r}; omit `provider` or `calls`"
        )
    return batching.open_batches(policy.calls)


def _check_pickles(name: str, value: object) -> None:
    # Whoever pickles a guard has imported it.
    import pickle

    try:
        pickle.dumps(value)
    # Pickling a user's class can raise anything.
    except Exception as error:
        raise ConfigurationError(
            f"cannot pickle this guard because of its {name}, of type {type(value).__qualname__!r}"
            f" ({type(error).__name__}); create the guard in the process that uses it"
        ) from error
