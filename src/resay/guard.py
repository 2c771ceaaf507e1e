"""The guard: the entry point of applications."""

from __future__ import annotations

import os
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import wraps
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, cast

import anyio

from resay import core, engine, providers, retrieval
from resay import policy as policies
from resay._internal.event_loops import (
    blocking_version_of,
    name_sync_version,
    sync_version,
    wait_for,
)
from resay._internal.tracebacks import short_traceback
from resay.core.documents import Document
from resay.core.keywords import suggest_keywords
from resay.core.request import Message, Request
from resay.engine.requirements import check_single_answer
from resay.errors import ConfigurationError
from resay.guard_core import GuardCore, GuardSettings, outboxes_for, references_of, texts_of
from resay.policy import Policy
from resay.providers.base_urls import problem_with_url

P = ParamSpec("P")
# Parameters of providers' APIs that are arguments of the guard's calls.
_OWN_ARGUMENTS = {"messages": "question", "model": "model"}


class _Unchanged:
    def __repr__(self) -> str:
        return "unchanged"


_UNCHANGED: Any = _Unchanged()


def _stream_in_sync(
    method: Callable[P, engine.AnswerStream],
) -> Callable[P, engine.SyncAnswerStream]:
    @wraps(method)
    def read(*args: P.args, **kwargs: P.kwargs) -> engine.SyncAnswerStream:
        return engine.SyncAnswerStream(method(*args, **kwargs))

    return name_sync_version(read)


class Guard:
    """Guards a model: asks it, scores its answer against further samples, and acts on the verdict.

    Create a guard once and use it everywhere: it never changes, and one instance serves any number
    of concurrent requests, from any thread. Each call has an async version whose name begins with
    "a": `ask` and `aask`, `check` and `acheck`.

    A guard works without being closed: what is pending is written when the process ends. As a
    context manager (`with` or `async with`) it loads the policy's models on entry, instead of
    during the first check, and closes on exit.

    A guard can be pickled if its provider, retriever, sinks and `on_verdict` can. The pickle
    contains its `api_key` and `params`.

    Args:
        policy: A `Policy`, a path to a policy file, or such a file's content as a mapping; None for
            the file that the environment variable `RESAY_POLICY` names, or the default policy, in
            which the model itself judges its answer sentence by sentence against 5 samples.
        model: The default model, such as `openai/gpt-4.1-mini`; calls may name another.
        api_base: The address of a server with OpenAI's API, such as `http://127.0.0.1:8000/v1`;
            None for the provider's own, called through litellm.
        api_key: The key for it; None for the provider's environment variable. Not shown in `repr`.
        params: Further parameters of the provider for each request, such as `{"temperature": 0.2}`;
            those of a call override them.
        provider: The provider of answers; by default the server at `api_base`, or litellm. Not
            allowed with `calls.via: batch`.
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

    @suggest_keywords
    def __init__(
        self,
        policy: Policy | str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        api_base: str | None = None,
        api_key: str | None = None,
        params: Mapping[str, Any] | None = None,
        provider: providers.Provider | None = None,
        retriever: object | None = None,
        sinks: Iterable[core.Sink] = (),
        on_verdict: core.OnVerdict | None = None,
    ) -> None:
        settings = GuardSettings(
            policy=Policy.of(policy),
            policy_name=_name_of(policy),
            model=_text("model", model),
            params=_with_connection(_guard_params(params), api_base, api_key),
            provider=_check_provider(provider),
            retriever=_check_retriever(retriever),
            outboxes=outboxes_for(sinks),
            listeners=_listeners(on_verdict),
        )
        self._core = GuardCore(settings)

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._core.policy

    @suggest_keywords
    def with_options(
        self,
        *,
        policy: Policy | str | PathLike[str] | Mapping[str, Any] | None = _UNCHANGED,
        model: str | None = _UNCHANGED,
        api_base: str | None = _UNCHANGED,
        api_key: str | None = _UNCHANGED,
        params: Mapping[str, Any] | None = _UNCHANGED,
        provider: providers.Provider | None = _UNCHANGED,
        retriever: object | None = _UNCHANGED,
        sinks: Iterable[core.Sink] = _UNCHANGED,
        on_verdict: core.OnVerdict | None = _UNCHANGED,
    ) -> Guard:
        """Return a copy of this guard with other options; this one stays as it is.

        Args:
            policy: Another policy. A `Policy` is reported by the name of this guard's.
            model: Another default model.
            api_base: Another address of the model's API.
            api_key: Another key.
            params: Other parameters of the provider, in place of this guard's; `api_base` and
                `api_key` stay.
            provider: Another provider.
            retriever: Another document source.
            sinks: Other sinks, in place of this guard's.
            on_verdict: Another function for verdicts, in place of this guard's.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: The options do not go together, as in the constructor.

        Example:
            ```python
            careful = guard.with_options(policy="careful.yaml", params={"temperature": 0.2})
            ```
        """
        settings = self._core.settings
        if policy is not _UNCHANGED:
            name = settings.policy_name if isinstance(policy, Policy) else _name_of(policy)
            settings = replace(settings, policy=Policy.of(policy), policy_name=name)
        if model is not _UNCHANGED:
            settings = replace(settings, model=_text("model", model))
        if params is not _UNCHANGED:
            connection = (settings.params.get("api_base"), settings.params.get("api_key"))
            changed_params = _with_connection(_guard_params(params), *connection)
            settings = replace(settings, params=changed_params)
        connection = {
            name: settings.params.get(name) if value is _UNCHANGED else value
            for name, value in (("api_base", api_base), ("api_key", api_key))
        }
        others = {name: param for name, param in settings.params.items() if name not in connection}
        settings = replace(settings, params=_with_connection(others, **connection))
        if provider is not _UNCHANGED:
            settings = replace(settings, provider=_check_provider(provider))
        if retriever is not _UNCHANGED:
            settings = replace(settings, retriever=_check_retriever(retriever))
        if sinks is not _UNCHANGED:
            settings = replace(settings, outboxes=outboxes_for(sinks))
        if on_verdict is not _UNCHANGED:
            settings = replace(settings, listeners=_listeners(on_verdict))
        return guard_with(settings)

    def __repr__(self) -> str:
        settings = self._core.settings
        methods = " -> ".join(step.method_name for step in self.policy.chain)
        return (
            f"Guard(policy={settings.policy_name!r}, model={settings.model!r},"
            f" chain={methods!r}, action={self.policy.action.do!r})"
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Guard:
        return self  # Immutable.

    def __getstate__(self) -> dict[str, object]:
        return self._core.settings.to_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._core = GuardCore(GuardSettings.from_state(state))

    async def aclose(self) -> None:
        """Wait until all sinks, such as the journal, have taken the verdicts so far.

        They take them in the background. The guard can still be used afterwards.

        Raises:
            Exception: Any error of a sink, such as that of a journal that cannot be written at the
                moment. It tries again later.
        """
        await self._core.reporter.aflush()

    close = sync_version(aclose)

    async def __aenter__(self) -> Guard:
        await self._core.prepare()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A sink's error must not replace that of the body.
        with suppress(*(() if error is None else (Exception,))):
            await self.aclose()

    def __enter__(self) -> Guard:
        return wait_for(self.__aenter__())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        wait_for(self.__aexit__(kind, error, traceback))

    def _request(
        self,
        question: str | Iterable[Message] | Request,
        model: str | None,
        tenant: str | None,
        params: Mapping[str, Any] | None,
    ) -> Request:
        settings = self._core.settings
        own = question if isinstance(question, Request) else Request(())
        return Request.of(
            question,
            model=_text("model", model or None) or own.model or settings.model,
            tenant=_text("tenant", tenant or None),
            params={**settings.params, **own.params, **_provider_params(params)},
        )

    @suggest_keywords
    @short_traceback
    async def aask(
        self,
        question: str | Iterable[Message] | Request,
        *,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        references: Iterable[str | Document] | None = (),
        params: Mapping[str, Any] | None = None,
    ) -> engine.Answer:
        """Ask the model, check its answer and act on the verdict.

        Args:
            question: A question, a conversation in OpenAI's message shape, or a `Request`.
            model: The model to ask instead of the guard's own.
            entity: The main subject of the question, for reverse validation; None lets the judge
                determine it, unless the policy names one.
            tenant: The tenant of an application that serves several: cache entries of one tenant
                are never used for another.
            references: Trusted texts for the steps of the chain that compare with references. The
                verdict names a `Document` by its title.
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
        started = anyio.current_time()
        has_time = await self._core.load(started, asks=True)
        request = self._request(question, model, tenant, params)
        if not has_time:
            raise self._core.not_asked_error(request.model)
        sources = self._core.requirements.sources(request, asks=True)
        context = core.CheckContext(request, references=references_of(references), entity=entity)
        return await self._core.answer(self._core.with_skip_reason(context), sources, started)

    @suggest_keywords
    @short_traceback
    async def acheck(
        self,
        response: str,
        *,
        question: str | Iterable[Message] | Request | None = None,
        samples: Iterable[str] | None = None,
        references: Iterable[str | Document] | None = (),
        logprobs: Iterable[object] | None = None,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> core.Verdict:
        """Check an existing response.

        Args:
            response: The text to check.
            question: The question it answers. Needed to draw samples.
            samples: Other responses to the same question; None to draw them from the model.
            references: Trusted texts for the steps of the chain that compare with references. The
                verdict names a `Document` by its title.
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
        started = anyio.current_time()
        if not await self._core.load(started):
            return await self._core.report_unchecked(response, None)
        trusted_texts = references_of(references)
        samples = None if samples is None else texts_of("samples", samples)
        steps, requirements = self._core.steps, self._core.requirements
        if question is None:
            settings = self._core.settings
            request = Request(
                messages=(),
                model=_text("model", model or None) or settings.model,
                params={**settings.params, **_provider_params(params)},
                tenant=_text("tenant", tenant or None),
            )
        else:
            request = self._request(question, model, tenant, params)
        unrepeatable = None
        if samples is None and request == Request(()):
            unrepeatable = "the question is unknown"
        context = core.CheckContext(
            request,
            references=trusted_texts,
            samples=samples,
            entity=entity,
            unrepeatable=unrepeatable,
        )
        requirements.check_question(request)
        # Without samples, look for references only if the verdict depends on them.
        can_compare = samples is not None or requirements.can_draw(request)
        if can_compare or not self._core.decides_by_references(context):
            requirements.check_samples(request, samples)
        requirements.check_references(trusted_texts)
        tokens = tuple(logprobs or ())
        requirements.check_logprobs(tokens)
        context = replace(context, logprobs=core.tokens_of(tokens))
        draws = (
            samples is None
            and steps.required_by("samples") is not None
            and requirements.can_draw(request)
        )
        splits = self.policy.claims == "model" and request.model is not None
        asks = draws or splits or steps.required_by("judge")
        if asks:
            has_time = await self._core.load(started, asks=True)
            if not has_time:
                return await self._core.report_unchecked(response, request)
        sources = requirements.sources(request) if asks else None
        context = self._core.with_skip_reason(context)
        return await self._core.check(response, context, sources, started)

    async def acheck_many(
        self,
        items: Iterable[engine.CheckItem] | AsyncIterable[engine.CheckItem],
        *,
        concurrency: int = 16,
        ordered: bool = True,
    ) -> AsyncGenerator[engine.Checked, None]:
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
            ConfigurationError: `items` is a single response, or `concurrency` is below 1.
        """
        if concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {concurrency!r}")
        if isinstance(items, (str, bytes, Mapping)):
            kind = type(cast("object", items)).__name__
            raise ConfigurationError(
                f"items must be a list of responses, not one of type {kind}; use `check` for one"
            )
        async with aclosing(
            engine.acheck_each(self.acheck, items, concurrency, ordered=ordered)
        ) as checked:
            async for result in checked:
                yield result

    @blocking_version_of(acheck_many)
    def check_many(
        self, items: Iterable[engine.CheckItem], *, concurrency: int = 16, ordered: bool = True
    ) -> Generator[engine.Checked, None, None]:
        """Blocking version of `acheck_many`."""
        checked = self.acheck_many(items, concurrency=concurrency, ordered=ordered)

        async def next_result() -> engine.Checked | None:
            return await anext(checked, None)

        try:
            while (result := wait_for(next_result())) is not None:
                yield result
        finally:
            wait_for(checked.aclose())

    @suggest_keywords
    def astream(
        self,
        question: str | Iterable[Message] | Request,
        *,
        stream_mode: policies.StreamMode | None = None,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        references: Iterable[str | Document] | None = (),
        params: Mapping[str, Any] | None = None,
    ) -> engine.AnswerStream:
        """Ask the model and stream its answer, checked as `stream_mode` says.

        Args:
            question: A question, a conversation in OpenAI's message shape, or a `Request`.
            stream_mode: `hold` releases a sentence as soon as it is scored, while later ones are
                being written; `after` passes text on as it arrives, with the verdict at the end;
                `buffer` releases the whole answer at once or nothing. None for the policy's.
            model: The model to ask instead of the guard's own.
            entity: The main subject of the question, as for `aask`.
            tenant: The tenant, as for `aask`.
            references: Trusted texts for the steps of the chain that compare with references. The
                verdict names a `Document` by its title.
            params: The provider's parameters of the main call.

        Returns:
            What to enter with `with` or `async with`, and to iterate over: its chunks. `answer` is
            available at its end.
            Iterating raises the same exceptions as `aask`.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        request = self._request(question, model, tenant, params)
        context = core.CheckContext(request, references=references_of(references), entity=entity)
        context = self._core.with_skip_reason(context)
        return self._core.stream(context, stream_mode=stream_mode)

    ask = suggest_keywords(sync_version(aask))
    check = suggest_keywords(sync_version(acheck))
    stream = suggest_keywords(_stream_in_sync(astream))


def core_of(guard: Guard) -> GuardCore:
    """Return what a guard is made of, for `resay.adapters.GuardRuntime`."""
    return guard._core  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def guard_with(settings: GuardSettings) -> Guard:
    """Return a guard with these settings."""
    guard = object.__new__(Guard)
    guard._core = GuardCore(settings)  # pyright: ignore[reportPrivateUsage]
    return guard


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
    for name in cast("Mapping[object, Any]", params):
        if not isinstance(name, str):
            kind = type(name).__name__
            raise ConfigurationError(f"a name in `params` must be a string, not of type {kind}")
    for name, argument in _OWN_ARGUMENTS.items():
        if name in params:
            raise ConfigurationError(
                f"`params` contains {name!r}, which has its own argument; pass it as `{argument}`"
            )
    return dict(params)


def _guard_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the provider's parameters of all calls of a guard.

    Raises:
        ConfigurationError: As for those of one call; or each call would be refused for them.
    """
    checked = _provider_params(params)
    check_single_answer(checked)
    return checked


def _with_connection(
    params: Mapping[str, Any], api_base: str | None, api_key: str | None
) -> dict[str, Any]:
    """Return parameters with the address and the key of the model's API, if they are given."""
    # Without them, litellm would ask OpenAI itself, with the key of the environment.
    connection = {"api_base": _text("api_base", api_base), "api_key": _text("api_key", api_key)}
    problem = None if api_base is None else problem_with_url(api_base)
    if problem is not None:
        raise ConfigurationError(f"`api_base` {problem}")
    return {**params, **{name: value for name, value in connection.items() if value is not None}}


def _text(name: str, value: str | None) -> str | None:
    """Return an argument.

    Raises:
        ConfigurationError: It is no text, or empty. The error omits the value, which may be a key.
    """
    if value is None:
        return None
    if not isinstance(cast("object", value), str):
        raise ConfigurationError(f"{name} must be a string, not of type {type(value).__name__}")
    if not value.strip():
        raise ConfigurationError(f"{name} is empty; pass a value, or None for the default")
    return value


def _check_provider(provider: providers.Provider | None) -> providers.Provider | None:
    given = cast("object", provider)
    if isinstance(given, type):
        raise ConfigurationError(f"provider is the class {given.__name__!r}; pass an object of it")
    if given is not None and not callable(getattr(given, "complete", None)):
        raise ConfigurationError(
            f"provider is a {type(given).__name__!r}, which has no method `complete`; pass a"
            " `resay.plugins.Provider`, or name the model in `model`"
        )
    return provider


def _check_retriever(retriever: object | None) -> object | None:
    if retriever is not None:
        retrieval.as_retriever(retriever)
    return retriever


def _listeners(on_verdict: core.OnVerdict | None) -> tuple[core.OnVerdict, ...]:
    if on_verdict is None:
        return ()
    if not callable(cast("object", on_verdict)):
        kind = type(on_verdict).__name__
        raise ConfigurationError(f"on_verdict must be a function, not of type {kind}")
    return (on_verdict,)


def _name_of(policy: object) -> str:
    """Return the policy's name in the journal: its file name without the extension."""
    if policy is None:
        policy = os.environ.get("RESAY_POLICY") or "default"
    if isinstance(policy, (str, PathLike)):
        return Path(cast("str | PathLike[str]", policy)).stem
    return "unnamed"
