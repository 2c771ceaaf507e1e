"""Runs requests: the order of their calls, from the question to the answer."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream

from resay._internal.event_loops import compute, task_group
from resay._internal.telemetry import Evaluator
from resay.core.check_context import CheckContext
from resay.core.loading import not_asked_error
from resay.core.non_claims import says_anything
from resay.core.reasoning import without_reasoning
from resay.core.request import Request
from resay.core.request_references import references_in
from resay.core.verdict import Verdict
from resay.engine.actions import Answer, Regenerated
from resay.engine.answer_chunk import AnswerChunk, chunks_of
from resay.engine.chain import Chain
from resay.engine.check import Check
from resay.engine.main_call import MainCall, deadline_error
from resay.engine.outcome import run_with_telemetry
from resay.engine.pass_through import PassThrough
from resay.engine.regeneration.base import Regenerator
from resay.engine.regeneration.whole_text import regenerate
from resay.engine.stream_gate import StreamGate
from resay.errors import ConfigurationError, DeadlineExceededError
from resay.policy import Policy, StreamMode
from resay.providers.base import Completion, Provider, prepare
from resay.providers.caching import Cache
from resay.providers.layers import Retrying, WithLogprobs
from resay.providers.metering import Metered, Priced
from resay.providers.sources import Sources

if TYPE_CHECKING:
    from resay.engine.lookups import Lookups

# Costs for `compute`, in characters: freeing a character of text, and the memory kept for each
# character of a held response.
_FREE_COST = 0.5
_HELD_BYTES_PER_CHAR = 4


class RequestRunner:
    """Runs the requests of one guard, without keeping state between them.

    Args:
        policy: What to check, and how.
        chain: The policy's chain.
        cache: Cache for samples; None for no caching.
        regenerator: What regenerates flagged answers, if the policy does.
        lookups: What looks up packages, links and DOIs, if the policy does.
        policy_name: The policy's name in telemetry.
        records_evidence: Whether verdicts hold the texts that answers were checked with.
    """

    def __init__(
        self,
        policy: Policy,
        chain: Chain,
        cache: Cache | None,
        regenerator: Regenerator | None = None,
        lookups: Lookups | None = None,
        *,
        policy_name: str = "",
        records_evidence: bool = False,
    ) -> None:
        self._policy = policy
        methods = [config.method_name for config in policy.chain]
        self._evaluator = Evaluator(policy_name, methods, lambda: policy.digest)
        self._records_evidence = records_evidence
        self._regenerator = regenerator
        self._chain = chain
        self._lookups = lookups
        self._cache = cache
        self.names_models = bool(policy.named_models)

    @cached_property
    def _field_chain(self) -> Chain:
        return Chain.of_fields(self._policy, self._cache)

    @cached_property
    def _call_chain(self) -> Chain | None:
        compares_calls = self._policy.tools == "arguments"
        return Chain.of_calls(self._policy, self._cache) if compares_calls else None

    def decides_by_references(self, context: CheckContext) -> bool:
        """Return whether a check can be decided by its references, without samples.

        Args:
            context: The context; the request's messages may contain references too.
        """
        if not self._chain.grounds:
            return False
        if context.references:
            return self._policy.references.unmentioned != "samples"
        in_request = references_in(context, self._policy.references.from_)
        return bool(in_request) and not self._chain.checks_unmentioned(in_request)

    async def prepare(self) -> None:
        """Load everything the first request would otherwise wait for."""
        await self._chain.prepare()
        if self._regenerator is not None:
            await self._regenerator.prepare()

    async def _new_check(
        self, context: CheckContext, sources: Sources | None, started: float
    ) -> Check:
        chain = self._field_chain if context.wants_object else self._chain
        context = await _without_reasoning(context)
        return Check(
            self._policy,
            chain,
            context,
            sources,
            self._cache,
            self._call_chain,
            lookups=self._lookups,
            records_evidence=self._records_evidence,
            started=started,
        )

    async def _start_check(
        self, context: CheckContext, sources: Sources, started: float, tasks: TaskGroup
    ) -> Check:
        """Start a check, before there is a response."""
        check = await self._new_check(context, sources, started)
        await check.find_references()
        check.prepare_sampling(tasks)
        together = self._policy.sampling.start == "together" and not context.has_side_effects
        if together and check.needs_samples and not context.skip_reason:
            check.start_sampling()
        return check

    async def _load(
        self, sources: Sources | None, started: float, *, main: bool = True, samples: bool = True
    ) -> bool:
        """Load what the providers need, as long as the request has time.

        The import of a client takes up to seconds. Whoever sets a deadline waits no longer for it
        than for anything else. It runs in a thread, which nothing can stop without leaving modules
        half made: at the deadline the request is over, and the import goes on for the next one.

        Args:
            sources: The providers that may be called.
            started: When the request came, on the event loop's clock.
            main: Whether the main call is still to be made.
            samples: Whether samples may be drawn.

        Returns:
            Whether there was time for all of it.
        """
        if sources is None:
            return True
        providers = [sources.main] if main else []
        if samples and (self._chain.required_by("samples") or self._call_chain is not None):
            providers.append(sources.samples)
        judged = main or self._call_chain is not None or self._chain.required_by("judge")
        if judged and (self.names_models or sources.via in ("litellm", "batch")):
            providers.append(sources.judge)
        # A batch takes as long as it takes.
        deadline = math.inf if sources.via == "batch" else self._policy.limits.deadline_of(started)
        with anyio.CancelScope(deadline=deadline) as scope:
            # A broken provider raises when it is called; then it may cost no more than a sample.
            for provider in providers:
                with suppress(Exception):
                    await prepare(provider)
        return not scope.cancelled_caught

    async def answer(self, context: CheckContext, sources: Sources, started: float) -> Answer:
        """Make the main call, check the answer and act on the verdict.

        Args:
            context: The request, and what is known about it.
            sources: The providers for the different calls.
            started: When the request came, on the event loop's clock.

        Raises:
            DeadlineExceededError: There was no answer in time.
        """
        if not await self._load(sources, started):
            raise self._not_asked(context, sources)
        work = partial(self._answer, context, sources, started)
        return await run_with_telemetry(self._evaluator, _model(context.request, sources), work)

    def _not_asked(self, context: CheckContext, sources: Sources) -> DeadlineExceededError:
        model = _model(context.request, sources)
        return not_asked_error(model, self._policy.limits.deadline_s)

    async def _answer(self, context: CheckContext, sources: Sources, started: float) -> Answer:
        async with task_group() as tasks:
            check = await self._start_check(context, sources, started, tasks)
            main_call = self._prepare_main_call(context, sources)
            completion = await self._run_main_call(main_call, check.deadline)
            verdict = await check.run(completion)
            best = await self._regenerate(completion.text, verdict, check)
            held, chars = [check], check.chars
            del check
            await _free(held, chars)
            return main_call.apply(self._policy, best.verdict, completion, text=best.text)

    async def _regenerate(self, text: str, verdict: Verdict, check: Check) -> Regenerated:
        """Return the best answer: a regenerated one if it is flagged and the policy asks for it."""
        if self._regenerator is None or not verdict.flagged or verdict.structured:
            return Regenerated(text, verdict)
        # Documents cannot repair code.
        if verdict.flagged_names:
            return Regenerated(text, verdict)
        best = await regenerate(self._regenerator, text, verdict, check)
        if best.verdict.regenerated:
            best = replace(best, verdict=await check.look_up(best.text, best.verdict))
        return best

    async def stream(
        self,
        context: CheckContext,
        sources: Sources,
        mode: StreamMode,
        parts: MemoryObjectSendStream[AnswerChunk],
        started: float,
        *,
        explained: bool = True,
    ) -> Answer:
        """Make the main call and send its answer while it is written.

        Args:
            context: The request, and what is known about it.
            sources: The providers for the different calls.
            mode: When text is released.
            parts: Where to send the parts.
            started: When the request came, on the event loop's clock.
            explained: Whether parts say what is wrong with their flagged sentences.

        Returns:
            The answer, when everything was sent and checked.

        Raises:
            DeadlineExceededError: There was no whole answer in time.
        """
        if not await self._load(sources, started):
            raise self._not_asked(context, sources)
        work = partial(self._stream, context, sources, mode, parts, started, explained=explained)
        return await run_with_telemetry(self._evaluator, _model(context.request, sources), work)

    async def _stream(
        self,
        context: CheckContext,
        sources: Sources,
        mode: StreamMode,
        parts: MemoryObjectSendStream[AnswerChunk],
        started: float,
        *,
        explained: bool,
    ) -> Answer:
        if mode == "buffer" or (mode == "hold" and not self._can_hold(context)):
            answer = await self._answer(context, sources, started)
            for chunk in chunks_of(answer):
                await parts.send(chunk)
            return answer
        async with task_group() as tasks:
            check = await self._start_check(context, sources, started, tasks)
            main_call = self._prepare_main_call(context, sources)
            if mode == "after":
                return await PassThrough(self._policy, check, main_call).run(parts)
            gate = StreamGate(
                self._policy,
                self._chain,
                check,
                main_call,
                tasks,
                self._regenerator,
                explained=explained,
            )
            answer = await gate.run(parts)
            # Much of this memory is held per sentence.
            held, chars = [check, gate], check.chars + _HELD_BYTES_PER_CHAR * len(answer.response)
            del check, gate
            await _free(held, chars)
            return answer

    def _can_hold(self, context: CheckContext) -> bool:
        """Return whether sentences can be scored one by one while the answer is written.

        Only the end of an answer shows whether it calls tools or is an object, and which references
        were found for it.
        """
        if context.has_side_effects or context.wants_object or not self._chain.scores_early:
            return False
        # Commands and links are looked up when the answer is complete.
        if self._lookups is not None:
            return False
        if context.unrepeatable is not None or context.uncheckable is not None:
            return False
        if self._policy.action.do == "regenerate" and self._policy.action.mode == "rewrite":
            return False
        # A decision made only at the end could withhold text that was already shown.
        if self._policy.can_withhold and self._chain.decides_late:
            return False
        # A correction at the end could clear a sentence that was marked.
        if self._policy.mark_style != "none" and self._chain.corrects_late:
            return False
        return bool(context.references) or self._chain.required_by("references") is None

    def _prepare_main_call(self, context: CheckContext, sources: Sources) -> MainCall:
        """Return the main call."""
        meter = Metered(Priced(sources.main, self._policy.prices, sources.model))
        provider: Provider = Retrying(meter, self._policy.limits.retries)
        if self._chain.required_by("logprobs") and not context.wants_object:
            from resay.scorers.logprobs import alternatives_needed

            provider = WithLogprobs(provider, alternatives_needed(self._policy.chain))
        return MainCall(context.request, provider, meter)

    async def _run_main_call(self, main_call: MainCall, deadline: float) -> Completion:
        with anyio.CancelScope(deadline=deadline):
            return (await main_call.provider.complete(main_call.request)).first
        raise deadline_error(main_call.request, self._policy)

    async def check(
        self, response: str, context: CheckContext, sources: Sources | None, started: float
    ) -> Verdict:
        """Check an existing response.

        Args:
            response: The response.
            context: The request that it answers, and what is known about it.
            sources: The providers for the different calls; None if none is made.
            started: When the request came, on the event loop's clock.
        """
        if not isinstance(cast("object", response), str):
            kind = type(response).__name__
            raise ConfigurationError(f"the response must be a string, not of type {kind}")
        # Without time for it, the check decides by what it has.
        await self._load(sources, started, main=False, samples=context.samples is None)
        work = partial(self._check, response, context, sources, started)
        return await run_with_telemetry(self._evaluator, _model(context.request, sources), work)

    async def _check(
        self, response: str, context: CheckContext, sources: Sources | None, started: float
    ) -> Verdict:
        async with task_group() as tasks:
            check = await self._new_check(context, sources, started)
            await check.find_references()
            if context.samples is None and says_anything(response):
                check.prepare_sampling(tasks)
            verdict = await check.run(Completion(response))
            held, chars = [check], check.chars
            del check
            await _free(held, chars)
            return verdict


async def _free(held: list[Any], chars: int) -> None:
    """Release everything a request held, when the caller has no references to it left.

    Python frees it immediately, which takes a while after a long text was parsed.
    """
    await compute(held.clear, chars=_FREE_COST * chars)


async def _without_reasoning(context: CheckContext) -> CheckContext:
    """Return the context without the models' reasoning in the samples."""
    samples = context.samples
    if samples is None:
        return context

    def strip() -> tuple[str, ...]:
        return tuple(without_reasoning(text) for text in samples)

    return replace(context, samples=await compute(strip, chars=sum(map(len, samples))))


def _model(request: Request, sources: Sources | None) -> str | None:
    """Return the model that is called, if known."""
    return request.model or (sources.model if sources else None)
