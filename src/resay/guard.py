"""The guard: the entry point of applications."""

from __future__ import annotations

import os
import pickle
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import aclosing
from dataclasses import replace
from functools import partial, wraps
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_args

from resay._internal.event_loops import name_sync_version, sync_version, wait_for
from resay._internal.keywords import suggest_keywords
from resay.core.check_context import CheckContext
from resay.core.logprobs import tokens_of
from resay.core.query import Message, Query
from resay.core.request_references import references_in
from resay.core.verdict import OnVerdict, Verdict
from resay.core.verdict_record import Sink
from resay.engine.actions import Answer, act
from resay.engine.answer_stream import AnswerStream, SyncAnswerStream
from resay.engine.budgets import shared_budget
from resay.engine.chain import Chain
from resay.engine.check import early_skip_reason
from resay.engine.many_checks import Checked, CheckItem, acheck_each
from resay.engine.request import RequestRunner
from resay.engine.requirements import Input, Requirements
from resay.errors import ConfigurationError
from resay.policy import Policy, Regenerate, StreamMode
from resay.providers.base import Provider, prepare
from resay.providers.batching import (
    BatchCallsConfig,
    BatchProvider,
    LiveCallsConfig,
    open_batches,
)
from resay.providers.caching import NoCacheConfig, open_cache
from resay.providers.limits import Budget
from resay.providers.litellm import LiteLLMProvider
from resay.providers.sources import Sources
from resay.reporting.outbox import Outbox
from resay.reporting.reporter import Reporter
from resay.reporting.sinks import check_sink, outboxes_of
from resay.scorers import Need


def resolve_stream_mode(policy: Policy, requested: StreamMode | None) -> StreamMode:
    """Return when a stream releases text; refuse a mode that the policy does not support.

    Args:
        policy: The policy.
        requested: The requested mode; None for the policy's.
    """
    stream_mode = requested or policy.stream_mode
    if stream_mode not in get_args(StreamMode):
        raise ConfigurationError(f"stream_mode must be hold, after or buffer, not {requested!r}")
    if stream_mode == "after" and isinstance(policy.action, Regenerate):
        raise ConfigurationError(
            "stream_mode 'after' shows an answer before it can be regenerated; use 'hold' or"
            " 'buffer'"
        )
    return stream_mode


def _texts(name: str, texts: Iterable[str] | None) -> tuple[str, ...]:
    """Return the texts of an argument; an iterator is read once, here.

    Args:
        name: The argument.
        texts: Its value; None for no texts.

    Raises:
        ConfigurationError: It is a single string, no iterable, or one of its items is no string.
    """
    given = cast("object", texts)
    if given is None:
        return ()
    if isinstance(given, (str, bytes)):
        raise ConfigurationError(f"{name} must be a list of strings, not one string")
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        kind = type(texts).__name__
        raise ConfigurationError(f"{name} must be a list of strings, not of type {kind}")
    items = tuple(cast("Iterable[object]", given))
    for item in items:
        if not isinstance(item, str):
            kind = type(item).__name__
            raise ConfigurationError(f"{name} must be a list of strings, but one is of type {kind}")
    return cast("tuple[str, ...]", items)


def _provider_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the provider's parameters of a call.

    Raises:
        ConfigurationError: They are no mapping, or contain what has an argument of its own.
    """
    if params is None:
        return {}
    if not isinstance(cast("object", params), Mapping):
        kind = type(params).__name__
        raise ConfigurationError(
            f"params must be a mapping of the provider's parameters, not of type {kind}"
        )
    for name, argument in _OWN_ARGUMENTS.items():
        if name in params:
            raise ConfigurationError(
                f"`params` contains {name!r}, which has its own argument; pass it as `{argument}`"
            )
    return dict(params)


# Parameters of providers' APIs that are arguments of the guard's calls.
_OWN_ARGUMENTS = {"messages": "question", "model": "model"}

P = ParamSpec("P")
T = TypeVar("T", Answer, Verdict)


def _stream_in_sync(method: Callable[P, AnswerStream]) -> Callable[P, SyncAnswerStream]:
    @wraps(method)
    def read(*args: P.args, **kwargs: P.kwargs) -> SyncAnswerStream:
        return SyncAnswerStream(method(*args, **kwargs))

    return name_sync_version(read)


class Guard:
    """Guards a model: asks it, scores its answer against further samples, and acts on the verdict.

    A guard is immutable: one instance serves any number of concurrent requests, from any thread. It
    can be pickled if its provider, retriever and listeners can.

    Args:
        policy: A `Policy`, a path to a policy file, or such a file's content as a mapping; None for
            the file that the environment variable `RESAY_POLICY` names, or the default policy, in
            which the model itself judges its answer sentence by sentence against 5 samples.
        model: The default model, such as `openai/gpt-4.1-mini`; calls may name another.
        provider: The provider of answers; litellm by default. Not allowed with `calls.via: batch`.
        retriever: The document source for a policy that regenerates: a `Retriever` or anything else
            that `resay.retrieval.as_retriever` accepts. Overrides the policy's retriever.
        sinks: What else takes the record of each call, besides the journal and the observers that
            the policy names: `resay.plugins.Sink`s. They take it in the background.
        on_verdict: Called with the `Verdict` of each call, including skipped and withheld answers,
            in the caller's thread or task before the call returns. May be async. If it raises, the
            exception's type is logged and nothing else changes.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy regenerates without a usable retriever, or uses Batch APIs
            together with a provider.

    Example:
        ```python
        guard = Guard(model="openai/gpt-4.1-mini")
        answer = guard.ask("Who designed the Sydney Harbour Bridge?")
        for sentence in answer.verdict.flagged_sentences:
            print(sentence.score, sentence.text)
        ```
    """

    def __init__(
        self,
        policy: Policy | str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        provider: Provider | None = None,
        retriever: object | None = None,
        sinks: Iterable[Sink] = (),
        on_verdict: OnVerdict | None = None,
    ) -> None:
        self.policy = Policy.of(policy)
        cache = open_cache(self.policy.cache)
        second = self.policy.second_opinion
        if second is not None and second.is_model(model):
            raise ConfigurationError(
                f"`second_opinion` is {second.model!r}, the model that answers, and would repeat"
                " its own mistakes; name another"
            )
        self._chain = Chain(self.policy, cache)
        self._runner = RequestRunner(self.policy, self._chain, cache, retriever)
        self._batching = _batching(self.policy, provider)
        others = None if self._batching is not None else provider
        self._requirements = Requirements(self._chain, others, self._batching)
        self._model = model
        self._provider = provider
        self._name = _name_of(policy)
        self._retriever = retriever
        self._outboxes = tuple(Outbox(check_sink(sink, "an item of `sinks`")) for sink in sinks)
        self.reporter = self._reporter(() if on_verdict is None else (on_verdict,))

    def __deepcopy__(self, memo: dict[int, object]) -> Guard:
        return self  # Immutable.

    def __getstate__(self) -> dict[str, object]:
        parts = {
            "policy": self.policy,
            "model": self._model,
            "provider": self._provider,
            "retriever": self._retriever,
            "sinks": self._own_sinks,
            "listeners": self.reporter.functions,
            "name": self._name,
        }
        for name, part in parts.items():
            _check_pickles(name, part)
        return parts

    def __setstate__(self, state: dict[str, Any]) -> None:
        listeners, name = state.pop("listeners"), state.pop("name")
        Guard.__init__(self, **state)
        self._name = name
        self.reporter = self._reporter(listeners)

    def _reporter(self, functions: tuple[OnVerdict, ...]) -> Reporter:
        return Reporter(self._name, functions, (*outboxes_of(self.policy), *self._outboxes))

    @property
    def _own_sinks(self) -> tuple[Sink, ...]:
        return tuple(outbox.sink for outbox in self._outboxes)

    def with_listeners(self, *listeners: OnVerdict) -> Guard:
        """Return a copy of this guard that also notifies other listeners of its verdicts.

        Args:
            *listeners: Functions that are called with each verdict, like `on_verdict`.
        """
        made = object.__new__(type(self))
        made.__dict__ |= self.__dict__
        functions = (*self.reporter.functions, *listeners)
        made.reporter = replace(self.reporter, functions=functions)
        return made

    def with_policy(self, policy: Policy) -> Guard:
        """Return a guard that differs in its policy alone, and reports it by the same name.

        Args:
            policy: The policy.
        """
        made = Guard(
            policy,
            model=self._model,
            provider=self._provider,
            retriever=self._retriever,
            sinks=self._own_sinks,
        )
        made._name = self._name
        made.reporter = made._reporter(self.reporter.functions)
        return made

    def with_provider(self, provider: Provider) -> Guard:
        """Return a guard with the same policy and model but another provider, and nothing stored.

        Args:
            provider: The provider of answers.
        """
        changed = {"cache": NoCacheConfig(), "calls": LiveCallsConfig()}
        quiet = {"journal": None, "observers": ()}
        policy = self.policy.model_copy(update={**changed, **quiet})
        return Guard(policy, model=self._model, provider=provider, retriever=self._retriever)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """What takes the record of each call: the policy's journal and observers, and others."""
        return tuple(outbox.sink for outbox in self.reporter.outboxes)

    async def aflush(self) -> None:
        """Wait until all sinks are done with the verdicts so far.

        They take them in the background; what is pending is written when the process ends.

        Raises:
            Exception: Any error of a sink's `aflush`, such as that of a journal that cannot be
                written at the moment and tries again later.
        """
        await self.reporter.aflush()

    flush = sync_version(aflush)

    def required_by(self, need: Need) -> str | None:
        """Return the name of the first method of the chain that needs this, or None."""
        return self._chain.required_by(need)

    @property
    def model(self) -> str | None:
        """The model to ask unless a call names another."""
        return self._model

    @property
    def calls_models(self) -> bool:
        """Whether a check by this guard may ask a model, unless a call names another."""
        if self._chain.required_by("judge") is not None:
            return True
        has_model = self._model is not None or self._provider is not None
        return has_model and (
            self._chain.required_by("samples") is not None or self.policy.claims == "model"
        )

    @property
    def takes_references(self) -> bool:
        """Whether requests' references are compared with the answers."""
        return self._chain.grounds or self._chain.required_by("references") is not None

    @property
    def compares_documents(self) -> bool:
        """Whether answers are compared with documents in providers' own fields."""
        return self._chain.grounds and "documents" in self.policy.references.from_

    @property
    def checks_without_samples(self) -> bool:
        """Whether some method of the chain needs no samples."""
        return self._chain.without_samples is not None

    @property
    def finds_references(self) -> bool:
        """Whether the application's own functions may find references for a request."""
        return bool(self._chain.reference_functions)

    def decides_by_references(self, context: CheckContext) -> bool:
        """Return whether a check can be decided by its references, without samples.

        Args:
            context: The context; the request's messages may contain references too.
        """
        if not self._chain.grounds:
            return False
        if context.references:
            return self.policy.references.unmentioned != "samples"
        in_request = references_in(context, self.policy.references.from_)
        return bool(in_request) and not self._chain.checks_unmentioned(in_request)

    def missing_inputs(self, unavailable: Mapping[Input, str]) -> str | None:
        """Return an error message for the first missing input the chain needs, or None.

        Args:
            unavailable: The inputs, each with the end of its message: reason and remedy.
        """
        return self._requirements.missing_inputs(unavailable)

    def require_inputs(self, unavailable: Mapping[Input, str]) -> None:
        """Raise if the chain needs an input that is unavailable.

        Args:
            unavailable: As for `missing_inputs`.

        Raises:
            ConfigurationError: The chain needs one of them.
        """
        self._requirements.require_inputs(unavailable)

    @property
    def asking_response_model(self) -> str | None:
        """The first method whose judge is the model that wrote the response, or None."""
        return self._chain.asking_response_model

    def with_skip_reason(self, context: CheckContext) -> CheckContext:
        """Return a context that says whether the policy checks the answer, whatever it is.

        Args:
            context: The context of the request, complete otherwise.
        """
        return replace(context, skip_reason=early_skip_reason(self.policy, context))

    async def aprepare(self) -> None:
        """Load the policy's models, and litellm, now instead of during the first check.

        litellm is loaded if the guard has no provider and either has a model or a policy that names
        one.

        Raises:
            ConfigurationError: A model cannot be loaded as configured.
            MissingDependencyError: litellm is needed and not installed.
            ScorerError: A model's server does not answer.
        """
        await self._runner.prepare()
        named = self._model is not None or self._runner.names_models
        if self._batching is not None:
            return
        if self._provider is None and named:
            await LiteLLMProvider().prepare()
        elif self._provider is not None:
            await prepare(self._provider)

    prepare = sync_version(aprepare)

    def _query(
        self,
        question: str | Iterable[Message] | Query,
        model: str | None,
        tenant: str | None,
        params: Mapping[str, Any] | None,
    ) -> Query:
        return Query.of(
            question,
            model=model or self._model,
            tenant=tenant,
            params=_provider_params(params),
        )

    @suggest_keywords
    async def aask(
        self,
        question: str | Iterable[Message] | Query,
        *,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        references: Iterable[str] | None = (),
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Ask the model, check its answer and act on the verdict.

        Args:
            question: A question, a conversation in OpenAI's message shape, or a `Query`.
            model: The model to ask instead of the guard's own.
            entity: The main subject of the question, for reverse validation; None lets the judge
                determine it, unless the policy names one.
            tenant: The tenant of an application that serves several: cache entries of one tenant
                are never used for another.
            references: Trusted texts for the steps of the chain that compare with references.
            params: The provider's parameters of the main call, such as
                `{"temperature": 0.2}`.

        Returns:
            The answer with its verdict.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
            ProviderError: The model gave no answer.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
        """
        query = self._query(question, model, tenant, params)
        sources = self._requirements.sources(query, asks=True)
        context = CheckContext(query, references=_texts("references", references), entity=entity)
        return await self.aask_with(self.with_skip_reason(context), sources)

    @suggest_keywords
    async def acheck(
        self,
        response: str,
        *,
        question: str | Iterable[Message] | Query | None = None,
        samples: Iterable[str] | None = None,
        references: Iterable[str] | None = (),
        logprobs: Iterable[object] | None = None,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Check an existing response.

        Args:
            response: The text to check.
            question: The question it answers. Needed to draw samples.
            samples: Other responses to the same question; None to draw them from the model.
            references: Trusted texts for the steps of the chain that compare with references.
            logprobs: The response's tokens for the steps of the chain that use their probabilities:
                `TokenLogprob`s, or the entries of OpenAI's `logprobs.content`, as objects or
                mappings.
            model: The model that wrote the response, for samples and for judging.
            entity: The main subject of the response, for reverse validation.
            tenant: The tenant, as for `aask`.
            params: The provider's parameters, such as `{"api_base": "http://…"}`.

        Returns:
            The verdict.

        Raises:
            ConfigurationError: An input that the chain needs is missing and cannot be obtained.
        """
        references = _texts("references", references)
        samples = None if samples is None else _texts("samples", samples)
        if question is None:
            query = Query((), model or self._model, _provider_params(params), tenant)
        else:
            query = self._query(question, model, tenant, params)
        unrepeatable = None
        if samples is None and query == Query(()):
            unrepeatable = "the question is unknown"
        context = CheckContext(
            query,
            references=references,
            samples=samples,
            entity=entity,
            unrepeatable=unrepeatable,
        )
        self._requirements.check_question(query)
        # Without samples, look for references only if the verdict depends on them.
        can_compare = samples is not None or self._requirements.can_draw(query)
        if can_compare or not self.decides_by_references(context):
            self._requirements.check_samples(query, samples)
        self._requirements.check_references(references)
        tokens = tuple(logprobs or ())
        self._requirements.check_logprobs(tokens)
        context = replace(context, logprobs=tokens_of(tokens))
        draws = (
            samples is None
            and self._chain.required_by("samples") is not None
            and self._requirements.can_draw(query)
        )
        splits = self.policy.claims == "model" and query.model is not None
        asks = draws or splits or self._chain.required_by("judge")
        sources = self._requirements.sources(query) if asks else None
        work = self._runner.check(response, self.with_skip_reason(context), sources)
        return await self.reporter.report_after(work, query, sources)

    async def acheck_many(
        self,
        items: Iterable[CheckItem] | AsyncIterable[CheckItem],
        *,
        concurrency: int = 16,
        ordered: bool = True,
    ) -> AsyncGenerator[Checked, None]:
        """Check many existing responses concurrently.

        Neural models process concurrent requests in common batches: use a higher `concurrency`
        with them, such as 64. For files, or runs that must survive a restart, use `resay batch`.

        Args:
            items: Responses, or mappings with the arguments of `check`, including `response`.
                They are consumed only as fast as they are checked.
            concurrency: The number of concurrent checks.
            ordered: Whether to yield results in input order, or each as soon as it is finished.

        Yields:
            The result of each item: its verdict or its error. A failed item does not affect others.

        Raises:
            ConfigurationError: `concurrency` is below 1.
        """
        if concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {concurrency!r}")
        async with aclosing(
            acheck_each(self.acheck, items, concurrency, ordered=ordered)
        ) as checked:
            async for result in checked:
                yield result

    def check_many(
        self, items: Iterable[CheckItem], *, concurrency: int = 16, ordered: bool = True
    ) -> Generator[Checked, None, None]:
        """Blocking version of `acheck_many`."""
        checked = self.acheck_many(items, concurrency=concurrency, ordered=ordered)

        async def next_result() -> Checked | None:
            return await anext(checked, None)

        try:
            while (result := wait_for(next_result())) is not None:
                yield result
        finally:
            wait_for(checked.aclose())

    async def aask_with(self, context: CheckContext, sources: Sources) -> Answer:
        """Ask, check and act, with each kind of call sent to its provider in `sources`.

        For adapters; applications call `aask`.

        Args:
            context: The request and what is known about it; see `with_skip_reason`. Of the policy's
                samples, only those that `samples` lacks are drawn.
            sources: The provider of each kind of call.

        Returns:
            The answer with its verdict.

        Raises:
            ProviderError: The model gave no answer.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
        """
        self._requirements.check_request(context, sources)
        work = self._runner.answer(context, sources)
        return await self.reporter.report_after(work, context.request, sources)

    def new_budget(self, query: Query) -> Budget:
        """Return the budget of a request whose answers are checked one by one.

        Args:
            query: The request's query.
        """
        return shared_budget(self.policy, query)

    async def acheck_with(self, response: str, context: CheckContext, sources: Sources) -> Verdict:
        """Check an existing response, with each kind of call sent to its provider in `sources`.

        For adapters; applications call `acheck`.

        Args:
            response: The text to check.
            context: The request it answers and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call. The main call is not made.

        Returns:
            The verdict.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        self._requirements.check_live()
        self._requirements.check_question(context.request)
        self._requirements.check_references(context.references)
        self._requirements.check_logprobs(context.logprobs)
        work = self._runner.check(response, context, sources)
        return await self.reporter.report_after(work, context.request, sources)

    @suggest_keywords
    def astream(
        self,
        question: str | Iterable[Message] | Query,
        *,
        stream_mode: StreamMode | None = None,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        references: Iterable[str] | None = (),
        params: Mapping[str, Any] | None = None,
    ) -> AnswerStream:
        """Ask the model and stream its answer, checked as `stream_mode` says.

        Args:
            question: A question, a conversation in OpenAI's message shape, or a `Query`.
            stream_mode: `hold` releases a sentence as soon as it is scored, while later ones are
                being written; `after` passes text on as it arrives, with the verdict at the end;
                `buffer` releases the whole answer at once or nothing. None for the policy's.
            model: The model to ask instead of the guard's own.
            entity: The main subject of the question, as for `aask`.
            tenant: The tenant, as for `aask`.
            references: Trusted texts for the steps of the chain that compare with references.
            params: The provider's parameters of the main call.

        Returns:
            An async context manager and iterator of chunks; `answer` is available at its end.
            Iterating raises the same exceptions as `aask`.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        query = self._query(question, model, tenant, params)
        sources = self._requirements.sources(query, asks=True)
        context = CheckContext(query, references=_texts("references", references), entity=entity)
        return self.astream_with(self.with_skip_reason(context), sources, stream_mode=stream_mode)

    def astream_with(
        self,
        context: CheckContext,
        sources: Sources,
        *,
        stream_mode: StreamMode | None = None,
        every_chunk: bool = False,
    ) -> AnswerStream:
        """Like `astream`, but each kind of call goes to its provider in `sources`.

        Args:
            context: The request and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call.
            stream_mode: When to release text; None for the policy's.
            every_chunk: Whether to yield parts without text too, which carry the provider's other
                data.
        """
        self._requirements.check_request(context, sources)
        stream_mode = resolve_stream_mode(self.policy, stream_mode)
        run = partial(self._runner.stream, context, sources, stream_mode)
        return AnswerStream(
            lambda parts: self.reporter.report_after(run(parts), context.request, sources),
            every_chunk=every_chunk,
        )

    ask = suggest_keywords(sync_version(aask))
    check = suggest_keywords(sync_version(acheck))
    stream = suggest_keywords(_stream_in_sync(astream))

    def apply(self, response: str, verdict: Verdict) -> Answer:
        """Act on a verdict as the policy says; its `otherwise` applies instead of regenerating.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        return act(self.policy, response, verdict)


def _batching(policy: Policy, provider: Provider | None) -> BatchProvider | None:
    """Return the provider that calls models through Batch APIs, if the policy uses them."""
    if isinstance(provider, BatchProvider):
        return provider
    if not isinstance(policy.calls, BatchCallsConfig):
        return None
    if provider is not None:
        raise ConfigurationError(
            "the policy uses Batch APIs (`calls.via` is 'batch'), but the provider is a"
            f" {type(provider).__name__!r}; omit `provider` or `calls`"
        )
    return open_batches(policy.calls)


def _name_of(policy: object) -> str:
    """Return the policy's name in the journal: its file name without the extension."""
    if policy is None:
        policy = os.environ.get("RESAY_POLICY") or "default"
    if isinstance(policy, (str, PathLike)):
        return Path(cast("str | PathLike[str]", policy)).stem
    return "unnamed"


def _check_pickles(name: str, part: object) -> None:
    try:
        pickle.dumps(part)
    # Pickling a user's class can raise anything.
    except Exception as error:
        raise ConfigurationError(
            f"cannot pickle this guard because of its {name}, of type {type(part).__qualname__!r}"
            f" ({type(error).__name__}); create the guard in the process that uses it"
        ) from error
