"""What adapters and gateways need of a guard beyond what applications call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from resay.adapters.upstream import KnownProvider
from resay.adapters.verdicts import failed_check
from resay.core.blocked import HallucinationBlocked
from resay.core.check_context import CheckContext
from resay.core.request import Request
from resay.core.usage import Usage
from resay.core.verdict import OnVerdict, Verdict
from resay.core.verdict_record import Sink
from resay.engine.actions import Answer, act
from resay.engine.answer_stream import AnswerStream
from resay.engine.budgets import shared_budget
from resay.engine.marks import MarkWriter
from resay.engine.requirements import Input
from resay.guard import Guard, core_of, guard_with
from resay.policy import Policy, StreamMode
from resay.providers.base import Completion, Provider
from resay.providers.batching import LiveCallsConfig
from resay.providers.caching import NoCacheConfig
from resay.providers.limits import Budget
from resay.providers.sources import Sources
from resay.reporting.observers import Observer
from resay.scorers import Need


class GuardRuntime:
    """Runs a guard for those who build an adapter or a gateway.

    A guard asks a provider itself. An adapter has the client, the framework's model or the upstream
    that answers: it passes the request in a `CheckContext`, and in `Sources` the provider of each
    kind of call. Before that it asks what the policy needs, so that it can refuse
    early what it cannot supply.

    It does not change, like its guard, and costs nothing to create. All of it stays.

    Args:
        guard: The guard.

    Attributes:
        guard: The guard.

    Example:
        ```python
        runtime = GuardRuntime(guard)
        runtime.require_inputs({"logprobs": ", which this client does not return"})
        context = runtime.with_skip_reason(CheckContext(Request.of(messages)))
        answer = await runtime.aask_with(context, Sources.all(provider))
        ```
    """

    __slots__ = ("_core", "guard")

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._core = core_of(guard)

    def __repr__(self) -> str:
        return f"GuardRuntime({self.guard!r})"

    @property
    def policy(self) -> Policy:
        """The guard's policy."""
        return self._core.policy

    @property
    def model(self) -> str | None:
        """The model that the guard asks unless a call names another."""
        return self._core.settings.model

    @property
    def has_model(self) -> bool:
        """Whether the guard has a model or a provider of its own."""
        return self.model is not None or self._core.settings.provider is not None

    @property
    def sinks(self) -> tuple[Sink | Observer, ...]:
        """What takes the record of each call: the policy's journal and observers, and others."""
        return tuple(outbox.sink for outbox in self._core.reporter.outboxes)

    # What the policy needs

    def required_by(self, need: Need) -> str | None:
        """Return the name of the first method of the chain that needs this, or None."""
        return self._core.steps.required_by(need)

    @property
    def checks_beside_calls(self) -> bool:
        """Whether the chain has a method that reads the text beside tool calls."""
        return bool(self._core.steps.steps_beside_calls)

    def missing_inputs(self, unavailable: Mapping[Input, str]) -> str | None:
        """Return an error message for the first missing input that the chain needs, or None.

        Args:
            unavailable: The inputs, each with the end of its message: reason and remedy.
        """
        return self._core.requirements.missing_inputs(unavailable)

    def require_inputs(self, unavailable: Mapping[Input, str]) -> None:
        """Raise if the chain needs an input that is unavailable.

        Args:
            unavailable: As for `missing_inputs`.

        Raises:
            ConfigurationError: The chain needs one of them.
        """
        self._core.requirements.require_inputs(unavailable)

    @property
    def asking_response_model(self) -> str | None:
        """The first method whose judge is the model that wrote the response, or None."""
        return self._core.steps.asking_response_model

    def require_models(self) -> None:
        """Refuse a guard that lacks a model for its checks, whatever the responses are.

        Raises:
            ConfigurationError: A judge is needed and there is none, or the policy names a model of
                no known provider.
        """
        requirements = self._core.requirements
        requirements.check_named_models()
        requirements.check_model(Request((), model=self.model), asks=False)

    @property
    def calls_models(self) -> bool:
        """Whether a check by the guard may ask a model, unless a call names another."""
        if self.required_by("judge") is not None:
            return True
        asks = self.required_by("samples") is not None or self.policy.claims == "model"
        return self.has_model and asks

    @property
    def takes_references(self) -> bool:
        """Whether requests' references are compared with the answers."""
        return self._core.steps.reads_documents or self.required_by("references") is not None

    @property
    def compares_documents(self) -> bool:
        """Whether answers are compared with documents in providers' own fields."""
        return self._core.steps.reads_documents and "documents" in self.policy.references.from_

    @property
    def checks_without_samples(self) -> bool:
        """Whether some method of the chain needs no samples."""
        return bool(self._core.steps.steps_without_samples)

    @property
    def finds_references(self) -> bool:
        """Whether the application's own functions may find references for a request."""
        return bool(self._core.steps.reference_functions)

    def decides_by_references(self, context: CheckContext) -> bool:
        """Return whether a check can be decided by its references, without samples.

        Args:
            context: The context; the request's messages may contain references too.
        """
        return self._core.decides_by_references(context)

    def with_skip_reason(self, context: CheckContext) -> CheckContext:
        """Return a context that says whether the policy checks the answer, whatever it is.

        Args:
            context: The context of the request, complete otherwise.
        """
        return self._core.with_skip_reason(context)

    # Calls

    async def aprepare(self) -> None:
        """Load the policy's models, and litellm, now instead of during the first check.

        litellm is loaded if the guard has no provider and either has a model or a policy that names
        one.

        Raises:
            ConfigurationError: A model cannot be loaded as configured.
            MissingDependencyError: litellm is needed and not installed.
            ScorerError: A model's server does not answer.
        """
        await self._core.prepare()

    def new_budget(self, request: Request) -> Budget:
        """Return the budget of a request whose answers are checked one by one.

        Args:
            request: The request.
        """
        return shared_budget(self.policy, request)

    async def aask_with(self, context: CheckContext, sources: Sources) -> Answer:
        """Ask, check and act, with each kind of call sent to its provider in `sources`.

        Args:
            context: The request and what is known about it; see `with_skip_reason`. Of the policy's
                samples, only those that `samples` lacks are drawn.
            sources: The provider of each kind of call.

        Returns:
            The answer with its verdict.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
            ProviderError: The model gave no answer.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
        """
        return await self._core.answer(context, sources)

    async def acheck_with(self, response: str, context: CheckContext, sources: Sources) -> Verdict:
        """Check an existing response, with each kind of call sent to its provider in `sources`.

        Args:
            response: The text to check.
            context: The request it answers and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call. The main call is not made.

        Returns:
            The verdict.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        requirements = self._core.requirements
        requirements.check_live()
        requirements.check_question(context.request)
        requirements.check_references(context.references)
        requirements.check_logprobs(context.logprobs)
        return await self._core.check(response, context, sources)

    async def aact_on(
        self, response: str, context: CheckContext, sources: Sources | None = None
    ) -> Answer:
        """Check an existing response and act on the verdict, as `aask_with` does with a new one.

        The response exists already: if the check fails, its verdict is inconclusive, and the
        policy's `on_error` decides what happens to it.

        Args:
            response: The text to check.
            context: The request it answers and what is known about it.
            sources: The provider of each kind of call; None for those of the guard. The main call
                is not made.

        Returns:
            The answer with its verdict; regenerated, if the policy says so.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        settings = self._core.settings
        request = Request.of(
            context.request,
            model=context.request.model or settings.model,
            params={**settings.params, **context.request.params},
        )
        context = self.with_skip_reason(replace(context, request=request))
        answered = KnownProvider(Completion(response), Usage())
        try:
            if sources is None:
                sources = self._core.requirements.sources(request)
            return await self.aask_with(context, replace(sources, main=answered))
        except HallucinationBlocked:
            raise
        except Exception as error:
            verdict = failed_check(error)
            await self.areport(verdict, request)
            return self.apply(response, verdict)

    def astream_with(
        self,
        context: CheckContext,
        sources: Sources,
        *,
        stream_mode: StreamMode | None = None,
        every_chunk: bool = False,
        explained: bool = True,
    ) -> AnswerStream:
        """Like `Guard.astream`, but each kind of call goes to its provider in `sources`.

        Args:
            context: The request and what is known about it; see `with_skip_reason`.
            sources: The provider of each kind of call.
            stream_mode: When to release text; None for the policy's.
            every_chunk: Whether to yield chunks without text too, which carry the provider's other
                data.
            explained: Whether what is wrong with a flagged sentence is looked for when its chunk is
                released; without marks, it may wait for the verdict on the answer.

        Raises:
            ConfigurationError: An input that the chain needs is missing.
        """
        return self._core.stream(
            context,
            sources,
            stream_mode=stream_mode,
            every_chunk=every_chunk,
            explained=explained,
        )

    def apply(
        self, response: str, verdict: Verdict, *, shown: int = 0, is_passed_on: bool = False
    ) -> Answer:
        """Act on a verdict as the policy says; its `otherwise` applies instead of regenerating.

        Args:
            response: The response.
            verdict: The verdict on it.
            shown: How much of it was shown before, in code points; a message in its place is then
                about the rest.
            is_passed_on: Whether all of it was shown before its check, so that its marks follow it.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        writer = MarkWriter(self.policy.mark_style, in_text=not is_passed_on)
        return act(self.policy, response, verdict, shown=shown, writer=writer)

    def report(self, verdict: Verdict, request: Request | None = None) -> None:
        """Report a verdict that no call above returned, such as that on a skipped answer.

        Args:
            verdict: The verdict.
            request: The request, if known.
        """
        self._core.reporter.report(verdict, request)

    async def areport(self, verdict: Verdict, request: Request | None = None) -> None:
        """Like `report`, for async callers, whose functions may be async.

        Args:
            verdict: The verdict.
            request: The request, if known.
        """
        await self._core.reporter.areport(verdict, request)

    # Other guards

    def with_listener(self, on_verdict: OnVerdict) -> Guard:
        """Return a copy of the guard that also calls another function with each verdict.

        Args:
            on_verdict: The function, as for `Guard`. The guard's own is called before it.
        """
        settings = self._core.settings
        return guard_with(replace(settings, listeners=(*settings.listeners, on_verdict)))

    def with_evidence(self) -> Guard:
        """Return a copy of the guard whose verdicts hold the texts that answers were checked with.

        Those who record the verdicts themselves need it; sinks ask for it with `wants_evidence`.
        """
        return guard_with(replace(self._core.settings, records_evidence=True))

    def with_provider(self, provider: Provider) -> Guard:
        """Return a guard with the same policy and model but another provider, and nothing stored.

        Args:
            provider: The provider of answers.
        """
        unrecorded = {"cache": NoCacheConfig(), "calls": LiveCallsConfig()}
        unrecorded |= {"journal": None, "observers": ()}
        policy = self.policy.model_copy(update=unrecorded)
        settings = self._core.settings
        changed = replace(settings, policy=policy, provider=provider, outboxes=(), listeners=())
        return guard_with(changed)
