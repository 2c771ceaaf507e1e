"""What a chain requires of a request."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from resay import providers
from resay.errors import ConfigurationError, ProviderRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from resay.core.check_context import CheckContext
    from resay.core.references import Reference
    from resay.core.request import Request
    from resay.engine.chain_steps import ChainSteps
    from resay.policy import Policy
    from resay.providers import Provider, Sources
    from resay.providers.batching.layer import BatchProvider

Input = Literal["question", "references", "samples", "logprobs", "model"]
"""Inputs that a chain may need; `model` is the model that wrote the response."""
_NEEDS: Mapping[Input, str] = {
    "question": "compares with the question",
    "references": "compares with references",
    "samples": "needs samples",
    "logprobs": "needs the response's token probabilities",
    "model": "asks the model that wrote the response",
}


class Requirements:
    """Checks that a chain gets the inputs it needs. All methods raise ConfigurationError.

    Args:
        chain: The steps of the chain.
        provider: The provider for all models; None for the default one.
        batching: The provider that calls models through Batch APIs; None for live calls.
        policy: The policy.
    """

    def __init__(
        self,
        chain: ChainSteps,
        provider: Provider | None,
        batching: BatchProvider | None = None,
        *,
        policy: Policy,
    ) -> None:
        self._policy = policy
        self._chain = chain
        self._provider = provider
        self._batching = batching

    def sources(self, request: Request, *, asks: bool = False) -> Sources:
        """Return the providers of a request's calls; refuse a missing model if one is to be called.

        Args:
            request: The request.
            asks: Whether the main call is made too. It is refused here, before anything is loaded,
                if its model cannot be called for sure.

        Raises:
            ConfigurationError: The parameters of the main call ask for several answers.
            ProviderError: The model cannot be called: its key is missing, for example.
        """
        self.check_model(request, asks=asks)
        if self._provider is not None:
            return providers.Sources.all(self._provider)
        model = request.model
        if self._batching is not None:
            return providers.Sources.all(self._batching, via="batch")
        self.check_named_models()
        requests = (request, *self._policy.named_requests)
        provider = providers.DefaultProvider(requests)
        for named in requests:
            if named.model is not None:
                # Refuses a provider that is not installed. A name of the main call's model that
                # means nothing is refused when the model is called.
                with suppress(ProviderRefusedError):
                    provider.provider_of(named)
        problem = provider.problem(request) if asks else None
        if problem is not None:
            raise problem
        uses_litellm = model is None or provider.needs_litellm(request)
        return providers.Sources.all(provider, via="litellm" if uses_litellm else "native")

    def check_named_models(self) -> None:
        """Refuse a policy that names a model of which it is sure that it cannot be called.

        Its name begins with no known provider, and nothing says where its server is. A provider of
        the application may know it.
        """
        if self._provider is not None or self._batching is not None:
            return
        for path, _, problem in problems_with_names(self._policy):
            with self._policy.locating(*path):
                raise ConfigurationError(problem)

    def check_model(self, request: Request, *, asks: bool) -> None:
        """Refuse a missing model if one is to be called, and a main call for several answers.

        Args:
            request: The request.
            asks: Whether the main call is made too.
        """
        if asks:
            check_single_answer(request.params)
        if self._provider is None and request.model is None:
            self._refuse_without_model(asks=asks)

    def _refuse_without_model(self, *, asks: bool) -> None:
        if asks:
            raise ConfigurationError("no model given; pass `model`, such as 'openai/gpt-4.1-mini'")
        asking = self._chain.asking_response_model
        if asking == "references" and not self._chain.required_by("references"):
            raise ConfigurationError(
                "`references.by` is 'judge' and the chain names no judge; pass `model` to use the"
                " model that wrote the response, set `judge:` in a step of `method: prompt`, or set"
                " `references: {by: words}`"
            )
        if asking:
            other = "`by: words`" if asking == "references" else "a method without one (`facts`)"
            raise ConfigurationError(
                f"method {asking!r} needs a judge; pass `model` to use the model that wrote the"
                f" response, set `judge:` in the policy, or use {other}; with `chain: auto`,"
                " `budget.free_only: true`"
            )

    def missing_inputs(self, unavailable: Mapping[Input, str]) -> str | None:
        """Return an error message for the first missing input the chain needs, or None.

        Args:
            unavailable: The inputs, each with the end of its message: reason and remedy.
        """
        for input_name, remedy in unavailable.items():
            chain = self._chain
            method = (
                chain.asking_response_model
                if input_name == "model"
                else chain.required_by(input_name)
            )
            if method is not None:
                return f"method {method!r} {_NEEDS[input_name]}{remedy}"
        return None

    def require_inputs(self, unavailable: Mapping[Input, str]) -> None:
        """Raise if the chain needs an input that is unavailable."""
        if problem := self.missing_inputs(unavailable):
            raise ConfigurationError(problem)

    def check_request(self, context: CheckContext, sources: Sources | None) -> None:
        """Refuse a request that cannot be checked or that asks for more than one full answer.

        Args:
            context: The request and what is known about it.
            sources: The provider of each kind of call; None for the guard's own.
        """
        self.check_live()
        if context.unchecked is None and context.uncheckable is None:
            self.check_question(context.request)
        if sources is None or not sources.finds_references:
            self.check_references(context.references)
        check_single_answer(context.request.params)

    def check_live(self) -> None:
        """Refuse a live request if the policy uses Batch APIs."""
        if self._batching is not None:
            raise ConfigurationError(
                "the policy uses Batch APIs (`calls.via` is 'batch'), which take up to a day;"
                " check recorded answers with `check` or `acheck`, or omit `calls`"
            )

    def check_question(self, request: Request) -> None:
        """Refuse a missing question."""
        if not request.question:
            self.require_inputs({"question": "; pass `question`"})

    def check_references(self, references: Sequence[Reference]) -> None:
        """Refuse references that are missing or used by no step of the chain."""
        if not references:
            self.require_inputs({"references": "; pass `references`"})
        elif not (self._chain.required_by("references") or self._chain.reads_documents):
            raise ConfigurationError(
                "no step of the chain compares with references; set `evidence: documents` on one,"
                " or omit `evidence: samples`"
            )

    def can_draw(self, request: Request) -> bool:
        """Whether there are messages to draw samples with, and a model or provider to ask."""
        is_answered = request.model is not None or self._provider is not None
        return bool(request.messages) and is_answered

    def check_samples(self, request: Request, samples: Sequence[str] | None) -> None:
        """Refuse missing samples that cannot be drawn."""
        if samples is None and not self.can_draw(request):
            remedy = "; pass `samples`, or the question and the `model` to draw them from"
            self.require_inputs({"samples": remedy})

    def check_logprobs(self, logprobs: Sequence[object]) -> None:
        """Refuse token probabilities that are missing or used by no step of the chain."""
        if not logprobs:
            remedy = "; pass them as `logprobs`, or call the model through the guard (`ask`), which"
            self.require_inputs({"logprobs": f"{remedy} returns them"})
        elif not self._chain.required_by("logprobs"):
            raise ConfigurationError(
                "no step of the chain uses token probabilities; add `method: logprobs`"
            )


def problems_with_names(
    policy: Policy,
) -> Iterator[tuple[tuple[str | int, ...], Request, str]]:
    """Yield the models of a policy whose names no provider knows, where they are, and why.

    Models that are called through Batch APIs are left out: those have names of their own.

    Args:
        policy: The policy.
    """
    if policy.calls.via == "batch":
        return
    provider = providers.DefaultProvider()
    for path, request in policy.located_requests:
        problem = provider.problem_with_name(request)
        if problem is not None:
            yield path, request, str(problem)


def check_single_answer(params: Mapping[str, object]) -> None:
    """Refuse parameters that ask for more than one complete answer.

    Args:
        params: The provider's parameters of a request.

    Raises:
        ConfigurationError: They ask for several answers or for a stream.
    """
    if params.get("stream") or params.get("n", 1) != 1:
        raise ConfigurationError(
            "the guard returns one complete answer; omit `n`, and use `astream` instead of `stream`"
        )
