"""The guard: asks, asks again, scores, acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup

from resay.actions import Answer, act
from resay.chain import Chain
from resay.checking import Check
from resay.errors import ConfigurationError, DeadlineExceededError
from resay.logprobs import TokenLogprob, tokens_of
from resay.policy import Policy
from resay.providers.base import Completion, Provider
from resay.providers.layers import Metered, Retrying
from resay.providers.litellm import LiteLLMProvider
from resay.providers.logprobs import WithLogprobs
from resay.query import Message, Query
from resay.scorers.logprobs import alternatives_wanted
from resay.sync import run_sync
from resay.verdict import Verdict

__all__ = ["Guard", "Sources"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """Who answers what. Adapters use it to send each kind of call its own way.

    Attributes:
        main: Gives the response.
        samples: Gives the samples.
        judge: Answers for judges, those named in the policy and the response's own model.
    """

    main: Provider
    samples: Provider
    judge: Provider

    @classmethod
    def all(cls, provider: Provider) -> Sources:
        """Let one provider answer everything."""
        return cls(provider, provider, provider)


class Guard:
    """Asks a model, asks it again, scores the answer against the others, and acts on the score.

    A guard is immutable: one serves any number of concurrent requests, from any thread.

    Args:
        policy: A `Policy`, a path to a policy file, or the same as a mapping; None for the default,
            which asks the model itself to judge its answer sentence by sentence against 5 samples.
        model: The model to ask unless a call names another, such as `openai/gpt-4.1-mini`.
        provider: Who answers; by default litellm.

    Raises:
        PolicyError: The policy is not valid.

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
    ) -> None:
        self.policy = Policy.of(policy)
        self._chain = Chain(self.policy)
        self._model = model
        self._provider = provider

    async def aprepare(self) -> None:
        """Load the policy's models now; otherwise the first check waits for them.

        Raises:
            ConfigurationError: A model cannot be had as configured.
            ScorerError: A model's server does not answer.
        """
        await self._chain.prepare()

    def prepare(self) -> None:
        """Do what `aprepare` does, for callers that are not async."""
        run_sync(self.aprepare)

    async def aask(
        self,
        question: str | Sequence[Message] | Query,
        *,
        model: str | None = None,
        entity: str | None = None,
        references: Sequence[str] = (),
        **params: Any,
    ) -> Answer:
        """Ask the model, check its answer and act on the verdict.

        Args:
            question: A question, a conversation in OpenAI's message shape, or a `Query`.
            model: The model to ask in place of the guard's own.
            entity: What the question is mainly about, for methods that ask back for it; None to
                have the judge asked, where the policy does not say.
            references: Trusted texts for the steps of the chain that compare with references.
            **params: Provider parameters of the main call, such as `temperature` or `api_base`.

        Returns:
            The answer with its verdict.

        Raises:
            ConfigurationError: What the chain needs is not there.
            ProviderError: The model gave no answer.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
        """
        query = Query.of(question, model=model or self._model, entity=entity, **params)
        return await self.arun(query, self._sources(query), references=references)

    async def acheck(
        self,
        response: str,
        *,
        question: str | Sequence[Message] | Query | None = None,
        samples: Sequence[str] | None = None,
        references: Sequence[str] = (),
        logprobs: Sequence[object] | None = None,
        model: str | None = None,
        entity: str | None = None,
        **params: Any,
    ) -> Verdict:
        """Check a response that is there already.

        Args:
            response: The text to check.
            question: What it answers. Needed to draw samples.
            samples: Other responses to the same question; None to draw them from the model.
            references: Trusted texts for the steps of the chain that compare with references.
            logprobs: The response's tokens for the steps of the chain that look at their
                probabilities: `TokenLogprob`s, or what OpenAI's `logprobs.content` lists, as
                objects or as mappings.
            model: The model that wrote the response, for samples and for judging.
            entity: What the response is mainly about, for methods that ask back for it.
            **params: Provider parameters, such as `api_base`.

        Returns:
            The verdict.

        Raises:
            ConfigurationError: What the chain needs is neither given nor to be had.
        """
        query = None
        if question is not None:
            query = Query.of(question, model=model or self._model, entity=entity, **params)
        elif model or self._model or params or entity:
            query = Query((), model or self._model, params, entity)
        self._check_question(query)
        self._check_samples(query, samples)
        self._check_references(references)
        tokens = self._tokens(logprobs)
        draws = samples is None and self._chain.needing("samples")
        sources = self._sources(query) if draws or self._chain.needing("judge") else None
        return await _in_task_group(
            partial(self._check, response, query, sources, samples, references, tokens)
        )

    async def arun(
        self, query: Query, sources: Sources, *, references: Sequence[str] = ()
    ) -> Answer:
        """Ask, check and act, with each kind of call going where `sources` says.

        This is the way in for adapters; applications call `aask`.

        Args:
            query: What to ask.
            sources: Who answers what.
            references: Trusted texts for the steps of the chain that compare with references.

        Returns:
            The answer with its verdict.

        Raises:
            ProviderError: The model gave no answer.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
        """
        self._check_question(query)
        self._check_references(references)
        if query.params.get("stream") or query.params.get("n", 1) != 1:
            raise ConfigurationError("the guard gives one whole answer; leave out `stream` and `n`")
        return await _in_task_group(partial(self._run, query, sources, references))

    def ask(
        self,
        question: str | Sequence[Message] | Query,
        *,
        model: str | None = None,
        entity: str | None = None,
        references: Sequence[str] = (),
        **params: Any,
    ) -> Answer:
        """Do what `aask` does, for callers that are not async."""
        return run_sync(
            self.aask, question, model=model, entity=entity, references=references, **params
        )

    def check(
        self,
        response: str,
        *,
        question: str | Sequence[Message] | Query | None = None,
        samples: Sequence[str] | None = None,
        references: Sequence[str] = (),
        logprobs: Sequence[object] | None = None,
        model: str | None = None,
        entity: str | None = None,
        **params: Any,
    ) -> Verdict:
        """Do what `acheck` does, for callers that are not async."""
        return run_sync(
            self.acheck,
            response,
            question=question,
            samples=samples,
            references=references,
            logprobs=logprobs,
            model=model,
            entity=entity,
            **params,
        )

    def apply(self, response: str, verdict: Verdict) -> Answer:
        """Act on a verdict as the policy says.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        return act(self.policy, response, verdict)

    def _sources(self, query: Query | None) -> Sources:
        if self._provider is not None:
            return Sources.all(self._provider)
        asking = self._chain.asking_response_model
        if asking and (query is None or query.model is None):
            raise ConfigurationError(
                f"method {asking!r} needs a judge; pass `model` to ask the model that wrote the"
                " response, or name another in the policy with `judge:`"
            )
        return Sources.all(LiteLLMProvider())

    def _check_question(self, query: Query | None) -> None:
        asking = self._chain.needing("query")
        if asking and (query is None or not query.question):
            raise ConfigurationError(
                f"method {asking!r} compares with the question; pass `question`"
            )

    def _check_references(self, references: Sequence[str]) -> None:
        if isinstance(references, str):
            raise ConfigurationError("references must be a list of texts, not one text")
        asking = self._chain.needing("references")
        if asking and not references:
            raise ConfigurationError(
                f"method {asking!r} compares with references; pass `references`"
            )
        if references and not asking:
            raise ConfigurationError(
                "no step of the chain compares with references; set `evidence: references` on one"
            )

    def _check_samples(self, query: Query | None, samples: Sequence[str] | None) -> None:
        if isinstance(samples, str):
            raise ConfigurationError("samples must be a list of texts, not one text")
        asking = self._chain.needing("samples")
        can_draw = query is not None and query.messages and (query.model or self._provider)
        if asking and samples is None and not can_draw:
            raise ConfigurationError(
                f"method {asking!r} needs samples; pass `samples`, or the question and the `model`"
                " to draw them from"
            )

    def _tokens(self, logprobs: Sequence[object] | None) -> tuple[TokenLogprob, ...]:
        asking = self._chain.needing("logprobs")
        if asking and not logprobs:
            raise ConfigurationError(
                f"method {asking!r} looks at the probabilities of the response's tokens; pass them"
                " as `logprobs`, or have the guard ask the model (`ask`), which returns them"
            )
        if logprobs and not asking:
            raise ConfigurationError(
                "no step of the chain looks at the probabilities of tokens; add `method: logprobs`"
            )
        return tokens_of(logprobs or ())

    async def _run(
        self, query: Query, sources: Sources, references: Sequence[str], tasks: TaskGroup
    ) -> Answer:
        check = Check(self.policy, self._chain, query, sources.samples, sources.judge, references)
        may_call_tools = "tools" in query.params or "functions" in query.params
        early = self.policy.sampling.start == "together" and not may_call_tools
        if early:
            check.start_sampling(tasks)
        main = Metered(sources.main)
        completion = await self._main_call(main, query, check.deadline)
        # A pure tool call has no words to check, so no sample is worth its price.
        if not early and completion.text.strip():
            check.start_sampling(tasks)
        verdict = await check.run(completion.text, completion.logprobs)
        return act(
            self.policy,
            completion.text,
            verdict,
            usage=main.usage + verdict.usage,
            completion=completion,
        )

    async def _main_call(self, main: Provider, query: Query, deadline: float) -> Completion:
        asked: Provider = Retrying(main, self.policy.limits.retries)
        if self._chain.needing("logprobs"):
            asked = WithLogprobs(asked, alternatives_wanted(self.policy.chain))
        with anyio.CancelScope(deadline=deadline):
            return (await asked.complete(query)).first
        raise DeadlineExceededError(
            f"{query.model or 'the model'} did not answer within"
            f" {self.policy.limits.deadline_s:g} s; raise `limits.deadline_s`"
        )

    async def _check(
        self,
        response: str,
        query: Query | None,
        sources: Sources | None,
        samples: Sequence[str] | None,
        references: Sequence[str],
        logprobs: tuple[TokenLogprob, ...],
        tasks: TaskGroup,
    ) -> Verdict:
        sampler, judge = (sources.samples, sources.judge) if sources else (None, None)
        check = Check(self.policy, self._chain, query, sampler, judge, references, samples)
        if samples is None and response.strip():
            check.start_sampling(tasks)
        return await check.run(response, logprobs)


async def _in_task_group(work: Callable[[TaskGroup], Awaitable[T]]) -> T:
    """Run work beside background tasks that end with it.

    An error of the work is raised as it is, where a task group alone would wrap it.
    """
    result: list[T] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            result.append(await work(tasks))
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result[0]
