"""One check of one response: its evidence, metering, limits and deadline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from resay import providers
from resay._internal._version import __version__
from resay._internal.event_loops import compute, task_group
from resay._internal.plurals import counted
from resay._internal.telemetry import guardrail_result, guardrail_span
from resay.core.check_context import CheckContext
from resay.core.documents import Document
from resay.core.non_claims import says_anything
from resay.core.passage import Passage, last_word
from resay.core.reasoning import SplitText
from resay.core.recorded_evidence import RecordedEvidence
from resay.core.reference_copies import without_copies
from resay.core.references import Reference, joined_text, retrieved_references
from resay.core.request import Request
from resay.core.request_references import references_in, without_references
from resay.core.step_record import StepRecord
from resay.core.unscored import Unscored
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine import lookups as lookups_package
from resay.engine.budgets import budget_of, estimated_tokens, question_tokens
from resay.engine.chain import Chain
from resay.engine.reasoning import (
    all_reasoning,
    answer_of,
    placed,
    split_off_loop,
    unanswered_reason,
)
from resay.engine.state import RunState
from resay.engine.structured_checks import claims_beside_calls, objects_in
from resay.engine.unscored import skipped_verdict, with_unscored
from resay.errors import ProviderError, without_cause
from resay.policy import Allowance, Policy
from resay.policy.allowance import allowance
from resay.providers.base import Completion, Provider
from resay.providers.batching import BATCH_SHARE
from resay.providers.caching import Cache, Caching, source_of
from resay.providers.layers import (
    AnswersOnly,
    Limited,
    Retrying,
    TimeLimited,
    Traced,
    WithLogprobs,
    answer_tokens,
)
from resay.providers.limits import Budget, Budgeted, ProcessLimits, process_limiter
from resay.providers.metering import Metered, Priced
from resay.providers.sources import Sources
from resay.providers.unusable import report_unusable
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge, prober_of
from resay.scorers.judge_log import JudgeLog
from resay.scorers.samples import SPLITTING, Samples
from resay.scorers.structured import (
    PARSING,
    Comparable,
    comparable_text,
    parse_object,
)
from resay.scorers.tools import comparable_calls, passage_of_calls

if TYPE_CHECKING:
    from resay.engine.lookups import Findings, Lookup, Lookups, Mention
    from resay.policy.lookups import LookupsConfig
    from resay.providers.shared_limits import SharedLimits

# `compute` weight of a conversation's characters while searching it for references.
_REFERENCE_SEARCH_COST = 2
# The same, of references while searching them for copies of others.
_COPY_SEARCH_COST = 2


class Check:
    """One check, created for one request.

    Args:
        policy: What to check, and how.
        chain: The policy's chain.
        context: The request that the response answers, and what is known about it.
        sources: Providers of samples and judges' answers; None if no model may be called.
        cache: Cache for samples; None for no caching.
        calls: Chain for tool calls; None if they are not checked.
        lookups: Looks up what the response names; None for no look-ups.
        records_evidence: Whether the verdict holds the texts that the response was checked with.
        started: When the request came, on the event loop's clock; None for now.

    Attributes:
        context: The request that the response answers, and what is known about it.
    """

    def __init__(
        self,
        policy: Policy,
        chain: Chain,
        context: CheckContext,
        sources: Sources | None,
        cache: Cache | None = None,
        calls: Chain | None = None,
        *,
        lookups: Lookups | None = None,
        records_evidence: bool = False,
        started: float | None = None,
    ) -> None:
        sampler, judge = (sources.samples, sources.judge) if sources else (None, None)
        self._via = sources.via if sources else None
        self._policy = policy
        self._chain = chain
        self._calls = calls
        self._lookups = lookups
        self._reference_errors: list[StepRecord] = []
        self._samplers: list[AnswersOnly] = []
        self.context = context
        self._cache = cache
        self._started = anyio.current_time() if started is None else started
        self._slots = anyio.Semaphore(policy.limits.concurrency)
        self._question_tokens = question_tokens(context.request)
        reference_texts = [reference.text for reference in context.references]
        self._reference_tokens = sum(map(estimated_tokens, reference_texts))
        if policy.action.do == "regenerate":
            self._reference_tokens += policy.action.attempts * policy.action.max_chars // 4
        shared_budget = sources.budget if sources else None
        budget = shared_budget or budget_of(policy, self._allowance(0))
        self._budget = budget
        # Not `self`, which the budget would keep alive.
        self._key = object()
        self._used_evidence: Evidence | None = None
        self._response: str | None = None
        model = sources.model if sources else None
        share = BATCH_SHARE if self._via == "batch" else 1.0
        priced = partial(Priced, prices=policy.prices, model=model, share=share)
        self._sampler = Metered(priced(sampler)) if sampler else None
        self._judge = Metered(priced(judge)) if judge else None
        self._sampled_by = source_of(sampler) if sampler else ""
        self._judged_by = source_of(judge) if judge else ""
        self._evidence = Evidence(
            # Samples of objects are parsed together with the response's object.
            samples=Samples(
                () if context.wants_object else context.samples or (),
                splitter=policy.splitter,
            ),
            references=Samples(reference_texts, splitter=policy.splitter),
            sources=context.references,
            request=context.request,
            entity=context.entity,
            client_references=context.client_references,
            is_repeatable=context.is_repeatable,
            judge_provider=self._answering(self._judge) if self._judge else None,
            prober=self._prober(sources),
            # Captures no `self`: a reference cycle would be freed only by the garbage collector.
            calls_left=lambda: budget.calls_left,
            judge_source=self._judged_by,
            logprobs=context.logprobs,
            writer=context.request.model or model,
            second=Samples(splitter=policy.splitter),
            # What no method asks is asked for a repair.
            judge_log=JudgeLog("regenerate") if records_evidence else None,
            call_log=context.call_log,
        )

    def raise_limits(self, claims: int, references: Sequence[Reference] = ()) -> None:
        """Raise the limits that are `auto` to allow a response of this size.

        Args:
            claims: The number of claims known so far.
            references: The texts it was written from.
        """
        limits = self._policy.limits
        # Of all answers of the request.
        claims = self._budget.resized(self._key, claims)
        reference_tokens = sum(estimated_tokens(reference.text) for reference in references)
        allowed = self._allowance(claims, reference_tokens=reference_tokens)
        self._budget.allow(
            calls=allowed.calls if limits.calls == "auto" else None,
            tokens=allowed.tokens if limits.tokens == "auto" else None,
            purpose=f"an answer of {counted(claims, 'claim')}",
        )

    def _allowance(self, claims: int, *, reference_tokens: int = 0) -> Allowance:
        return allowance(
            claims,
            samples=max(self._policy.sampling.max, len(self.context.samples or ())),
            question_tokens=self._question_tokens,
            reference_tokens=self._reference_tokens + reference_tokens,
        )

    @property
    def deadline(self) -> float:
        """When the whole request must be finished, on the event loop's clock."""
        if self._via == "batch":
            return math.inf
        return self._policy.limits.deadline_of(self._started)

    @property
    def request(self) -> Request:
        """The request that the response answers; without messages if they are unknown."""
        return self.context.request

    @property
    def budget(self) -> Budget:
        """The total budget of the check's calls."""
        return self._budget

    @property
    def evidence(self) -> Evidence:
        """The evidence available to the check."""
        return self._evidence

    @property
    def used_evidence(self) -> Evidence:
        """The evidence the response was checked with, including what came with the response."""
        return self._used_evidence or self._evidence

    @property
    def chars(self) -> int:
        """The amount of text in the evidence, in characters."""
        return self._evidence.samples.chars + self._evidence.references.chars

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        meters = [m for m in (self._sampler, self._judge) if m is not None]
        return sum((m.usage for m in meters), Usage())

    def _limited(self, provider: Provider) -> Provider:
        limits, process = self._policy.limits, self._policy.limits.process
        if self._via == "batch":
            # Everything goes into the next batch, which has no timeout and retries by itself.
            return Budgeted(provider, self._budget)
        if limits.timeout_s is not None:
            provider = TimeLimited(provider, limits.timeout_s)
        limiter: ProcessLimits | SharedLimits = process_limiter(
            process.concurrency, process.calls_per_minute
        )
        if limits.shared is not None:
            limiter = providers.shared_limiter(limits.shared, limiter)
        # A call waiting for one of the check's own slots must not hold a slot of the process, or
        # count against the budget.
        provider = Limited(Budgeted(provider, self._budget, limiter), self._slots)
        return Retrying(provider, limits.retries, deadline=self.deadline)

    def _answering(self, provider: Provider) -> AnswersOnly:
        """Return a provider that is limited, and whose answers have no reasoning in them."""
        return AnswersOnly(self._limited(provider))

    @property
    def begins_unopened(self) -> bool:
        """Whether samples were seen to begin in the middle of their reasoning.

        The response then does so too, unless another model writes the samples.
        """
        own = self._policy.sampling.model is None
        return own and any(layer.saw_unopened for layer in self._samplers)

    def _prober(self, sources: Sources | None) -> Judge | None:
        """Return the provider of short probe answers, sampled like samples; None if unavailable."""
        sampling, request = self._policy.sampling, self.request
        if self._judge is None or sources is None:
            return None
        # A provider that reaches all models through litellm must be given one; others know theirs.
        needs_model = sources.via in ("litellm", "batch") and sources.main is sources.judge
        if needs_model and sampling.model is None and request.model is None:
            return None
        # The sampling provider may be able to repeat only the main call, so use the judge's.
        return prober_of(
            Traced(self._answering(self._judge), "resay.probe"),
            request,
            model=sampling.model,
            temperature=sampling.temperature,
            params=sampling.params,
        )

    async def find_references(self) -> None:
        """Find the references contained in the request itself."""
        if not self._chain.reads_documents:
            return
        context, searched = self.context, self._policy.references.from_
        request = context.request

        def find() -> tuple[tuple[Reference, ...], Request]:
            references = references_in(context, searched)
            return references, without_references(request, references)

        chars = 4 * self._question_tokens
        references, user_request = await compute(find, chars=_REFERENCE_SEARCH_COST * chars)
        references = (*references, *await self._own_references())
        if references:
            evidence = await self._with_sources(self._evidence, references)
            self._evidence = replace(evidence, user_request=user_request)
            self._reference_tokens += sum(
                estimated_tokens(reference.text) for reference in references
            )

    async def _own_references(self) -> list[Reference]:
        """Return the references found by the application's functions, recording failures."""
        references: list[Reference] = []
        for function in () if self.context.skip_reason else self._chain.reference_functions:
            reason = (
                f"the check took longer than `limits.deadline_s` ({self._policy.limits.deadline_s})"
            )
            try:
                with anyio.CancelScope(deadline=self.deadline):
                    references += await function.find(self.context)
                    reason = None
            # An error in a user's function must not cost the answer.
            except Exception as error:
                reason = type(error).__name__
            if reason is not None:
                failure = f"{function.path!r} of `references.from` failed: {reason}"
                self._reference_errors.append(StepRecord("references", 0, error=failure))
        return references

    async def _with_sources(
        self,
        evidence: Evidence,
        further: Sequence[Reference],
        *,
        scored: Sequence[Reference] = (),
    ) -> Evidence:
        """Return evidence with further references, each document once.

        Args:
            evidence: The evidence.
            further: The references to add.
            scored: Those that claims were compared with before.
        """
        references = (*evidence.sources, *further)
        chars = _COPY_SEARCH_COST * sum(len(reference.text) for reference in references)
        sources = await compute(partial(without_copies, references, scored=scored), chars=chars)
        texts = [reference.text for reference in sources]
        pool = Samples(texts, splitter=self._policy.splitter)
        return replace(evidence, sources=sources, references=pool)

    @property
    def needs_samples(self) -> bool:
        """Whether samples are needed in any case."""
        sources = self._evidence.sources
        return not (self._chain.grounds and sources) or self._chain.checks_unmentioned(sources)

    def prepare_sampling(self, tasks: TaskGroup) -> None:
        """Set the source of samples if any step needs them, without drawing any yet."""
        context = self.context
        if context.unrepeatable is not None or context.uncheckable is not None:
            return
        if self._sampler and self._chain.required_by("samples"):
            samples, source = self._evidence.samples, self._sampled_by
            self._draw(samples, context, self._sampler, source, tasks)

    def prepare_resampling(self, samples: Samples, context: CheckContext, tasks: TaskGroup) -> None:
        """Set the source of samples for another question, without drawing any yet.

        Args:
            samples: The pool.
            context: The context with the question, for the model that wrote the response.
            tasks: The task group that draws.
        """
        # The sampling provider may be able to repeat only the main call, so use the judge's.
        if self._judge is not None:
            self._draw(samples, context, self._judge, self._judged_by, tasks)

    def _draw(
        self,
        samples: Samples,
        context: CheckContext,
        sampler: Metered,
        source: str,
        tasks: TaskGroup,
        *,
        calls: bool = False,
    ) -> None:
        sampling = self._policy.sampling
        request = context.request.for_sampling(
            model=sampling.model, temperature=sampling.temperature, params=sampling.params
        )
        context = replace(context, request=request)
        keep = comparable_calls if calls else partial(comparable_text, context=context)
        reads = calls or context.wants_object
        answering, weighed = self._answering(sampler), self._chain.required_by("sample_logprobs")
        self._samplers.append(answering)
        limited: Provider = answering
        if weighed:
            limited = WithLogprobs(limited, 0)
        comparable = Comparable(limited, keep, parses_objects=reads)
        provider: Provider = Traced(comparable, "resay.sample")
        if self._cache is not None:
            kind = "calls" if calls else "fields" if context.wants_object else "sample"
            # Samples cached without probabilities are of no use here.
            kind = f"{kind}_logprobs" if weighed else kind
            provider = Caching(
                provider, self._cache, version=f"{kind}/{__version__}", source=source
            )
        missing = sampling.max - len(samples)
        samples.draw_from(
            tasks, provider, request, max_requests=max(missing, 0), ahead=sampling.ahead
        )

    def start_sampling(self) -> None:
        """Draw the samples that are needed in any case, before there is a response."""
        self._evidence.samples.start_drawing(self._chain.samples_at_first)

    async def run(self, completion: Completion) -> Verdict:
        """Run the chain over a response.

        Args:
            completion: The response, with everything else that the main call returned.

        Returns:
            The verdict, with the check's usage and elapsed time.
        """
        self._response = completion.text
        with guardrail_span() as guardrail:
            split = await split_off_loop(completion.text)
            verdict = await self._run(answer_of(completion, split), split)
            if self._is_cut_reasoning(completion, split) and not verdict.skipped:
                split = all_reasoning(split)
                verdict = Verdict("inconclusive", None, unanswered_reason(split))
            verdict = self._mark_cut(completion, self._mark_unread(completion, verdict))
            guardrail.set(guardrail_result(verdict.decision, verdict.reason))
        return self.with_totals(placed(verdict, split))

    async def _run(self, completion: Completion, split: SplitText) -> Verdict:
        context = self.context
        if context.unchecked:
            return Verdict("skipped", None, context.unchecked)
        if context.uncheckable:
            return self._uncheckable_verdict(completion, context.uncheckable)
        if context.wants_object:
            verdict = await self._run_fields(completion)
            # The words around an object in the text are part of its check.
            calls_object = any(call.name in context.object_tools for call in completion.calls)
            return await self._with_prose(completion, verdict) if calls_object else verdict
        if completion.calls:
            return await self._with_text(completion, await self._run_calls(completion))
        without_answer = self._without_answer(completion, split)
        if without_answer is not None:
            return without_answer
        return await self._run_text(completion)

    async def _run_text(self, completion: Completion) -> Verdict:
        parse = partial(Passage.of, completion.text, splitter=self._policy.splitter)
        passage = None
        with anyio.CancelScope(deadline=self.deadline):
            passage = await compute(parse, chars=SPLITTING * len(completion.text))
        if passage is None:
            return self._unparsed_verdict(completion.text)
        skipped = await self.skip_reason(passage)
        if skipped:
            tell = partial(skipped_verdict, skipped, passage)
            return await compute(tell, chars=len(completion.text))
        if self._lookups is None:
            return await self._run_chain(completion, passage)
        return await self._run_with_lookups(completion, passage, self._lookups)

    async def _run_with_lookups(
        self, completion: Completion, passage: Passage, lookups: Lookups
    ) -> Verdict:
        """Run the chain, and look up meanwhile what the response names."""
        findings = lookups_package.Findings()
        finished = anyio.Event()

        async def look_up() -> None:
            nonlocal findings
            findings = await self._look_up(passage, lookups, was_cut=completion.was_cut)
            finished.set()

        # A group cancels what still runs when its block ends.
        async with task_group() as tasks:
            tasks.start_soon(look_up)
            verdict = await self._run_chain(completion, passage)
            await finished.wait()
        return lookups_package.with_findings(verdict, findings, self._policy)

    async def look_up(self, text: str, verdict: Verdict) -> Verdict:
        """Return the verdict on a regenerated answer with what look-ups of it have shown.

        Args:
            text: The answer.
            verdict: The verdict on it.
        """
        if self._lookups is None:
            return verdict
        parse = partial(Passage.of, text, splitter=self._policy.splitter)
        passage = await compute(parse, chars=SPLITTING * len(text))
        findings = await self._look_up(passage, self._lookups)
        return lookups_package.with_findings(verdict, findings, self._policy)

    async def _look_up(
        self, passage: Passage, lookups: Lookups, *, was_cut: bool = False
    ) -> Findings:
        began_s = anyio.current_time()
        results: Sequence[Lookup] = ()
        failure: Exception | None = None
        try:
            mentions = await self._mentions(passage, lookups.config, was_cut=was_cut)
            results = await lookups.look_up(mentions, self.deadline)
        # The answer is checked by the chain all the same.
        except Exception as error:
            failure = error
        return lookups_package.Findings(results, failure, elapsed_s=anyio.current_time() - began_s)

    async def _mentions(
        self, passage: Passage, config: LookupsConfig, *, was_cut: bool
    ) -> list[Mention]:
        contents = [joined_text(message.get("content")) for message in self.request.messages]
        conversation = "\n".join(contents)
        find = partial(lookups_package.mentions_in, passage, config, conversation)
        mentions = await compute(find, chars=SPLITTING * len(passage.text) + len(conversation))
        if not was_cut:
            return mentions
        # The last word may be only the beginning of a name.
        end = len(passage.text.rstrip())
        return [mention for mention in mentions if mention.end < end]

    async def _run_chain(self, completion: Completion, passage: Passage) -> Verdict:
        if completion.was_cut:
            passage = self.cut_end(passage)
        evidence = await self._evidence_with(completion)
        unrepeatable = self.context.unrepeatable
        if unrepeatable and not evidence.sources and self._chain.required_by("samples"):
            return await self._run_without_samples(completion, passage, evidence, unrepeatable)
        state = await self._chain.initial_state(passage, evidence, self.deadline)
        if completion.was_cut:
            end = len(passage.text)
            state.names = [(name, result) for name, result in state.names if name.end < end]
        self.raise_limits(len(state.claims), retrieved_references(completion.references))
        return await self._chain.check(state, evidence, self.deadline, self._budget)

    def _without_answer(self, completion: Completion, split: SplitText) -> Verdict | None:
        """Return the verdict on a response with nothing to check, or None."""
        is_unanswered = not completion.text.strip() and split.reasoning
        if not says_anything(completion.text) and not is_unanswered:
            return Verdict("skipped", None, "the answer contains no words")
        if self.context.skip_reason:
            return Verdict("skipped", None, self.context.skip_reason)
        if split.is_unanswered:
            return Verdict("inconclusive", None, unanswered_reason(split))
        return None

    def cut_end(self, passage: Passage) -> Passage:
        """Return the passage of a response that was cut off, without what is not known to be whole.

        The sentence it breaks off in is not scored. If it is the only one, its last word is
        compared by its beginning.

        Args:
            passage: The response.
        """
        word = last_word(passage.text) if passage.breaks_off else ""
        if word and len(passage.sentences) == 1:
            self._evidence.samples.cut_words(word)
            self._evidence.second.cut_words(word)
        return passage.without_cut_end()

    def _is_cut_reasoning(self, completion: Completion, split: SplitText) -> bool:
        """Whether a response without any mark was cut off in reasoning that the prompt opened."""
        has_marks = bool(split.reasoning or completion.calls)
        return completion.was_cut and self.begins_unopened and not has_marks

    def _mark_cut(self, completion: Completion, verdict: Verdict) -> Verdict:
        """Say in the reason of a decision that the answer was cut off."""
        if not completion.was_cut or verdict.skipped:
            return verdict
        reason = f"{verdict.reason}; the answer was cut off ({completion.finish_reason})"
        return replace(verdict, reason=reason)

    async def _run_without_samples(
        self, completion: Completion, passage: Passage, evidence: Evidence, reason: str
    ) -> Verdict:
        """Run the steps of the chain that need no samples."""
        chain = self._chain.without_samples
        if chain is None:
            return self._uncheckable_verdict(completion, reason)
        state = await chain.initial_state(passage, evidence, self.deadline)
        self.raise_limits(len(state.claims), retrieved_references(completion.references))
        verdict = await chain.check(state, evidence, self.deadline, self._budget)
        return replace(verdict, reason=f"{verdict.reason}; without samples: {reason}")

    def _uncheckable_verdict(self, completion: Completion, reason: str) -> Verdict:
        """Return the verdict on an answer that cannot be checked, as the policy says."""
        text = completion.text
        if self._policy.for_uncheckable == "skip" or not (text.strip() or completion.calls):
            return Verdict("skipped", None, reason)
        everything = (Unscored(text, 0, len(text), "prose"),) if text.strip() else ()
        return Verdict("inconclusive", None, reason, unscored=everything)

    def _mark_unread(self, completion: Completion, verdict: Verdict) -> Verdict:
        """Make a consistent verdict inconclusive if part of the answer was not read."""
        decided = verdict.flagged or verdict.inconclusive
        if completion.unread is None or decided or self.context.skip_reason is not None:
            return verdict
        return replace(verdict, decision="inconclusive", reason=completion.unread)

    async def _run_fields(self, completion: Completion) -> Verdict:
        if self.context.skip_reason:
            return Verdict("skipped", None, self.context.skip_reason)
        given = self.context.samples or ()
        texts = [completion.text, *(call.arguments for call in completion.calls), *given]
        read = partial(objects_in, completion, given, self.context)
        passage, samples = None, list[str]()
        with anyio.CancelScope(deadline=self.deadline) as reading:
            passage, samples = await compute(read, chars=PARSING * sum(map(len, texts)))
        if reading.cancelled_caught:
            return self._unparsed_verdict(completion.text)
        self._evidence.samples.add(samples)
        if passage is None and completion.calls:
            return await self._with_text(completion, await self._run_calls(completion))
        if passage is None:
            # Asked for an object, a model may refuse in words, or be cut off.
            return Verdict("inconclusive", None, "the answer does not contain the requested object")
        self.raise_limits(len(passage.sentences))
        return await self._chain.run(passage, self._evidence, self.deadline, self._budget)

    async def _run_calls(self, completion: Completion) -> Verdict:
        """Compare tool calls with those in samples drawn for this purpose only."""
        chain, context, sampler = self._calls, self.context, self._sampler
        if chain is None or sampler is None:
            return Verdict("skipped", None, "the answer calls tools")
        if self.context.skip_reason:
            return Verdict("skipped", None, self.context.skip_reason)
        last = completion.calls[-1].arguments.strip()
        if completion.was_cut and last and parse_object(last) is None:
            return Verdict("inconclusive", None, "the answer ends inside a tool call")
        if context.unrepeatable:
            return self._uncheckable_verdict(completion, context.unrepeatable)
        passage, texts = None, [call.arguments for call in completion.calls]
        with anyio.CancelScope(deadline=self.deadline):
            read = partial(passage_of_calls, completion.calls)
            passage = await compute(read, chars=PARSING * sum(map(len, texts)))
        if passage is None:
            return self._unparsed_verdict(completion.text)
        samples = Samples(splitter=self._policy.splitter)
        self._evidence = replace(self._evidence, samples=samples)
        self.raise_limits(len(passage.sentences))
        async with task_group() as tasks:
            self._draw(samples, context, sampler, self._sampled_by, tasks, calls=True)
            return await chain.run(passage, self._evidence, self.deadline, self._budget)

    async def _with_text(self, completion: Completion, verdict: Verdict) -> Verdict:
        """Check the text beside tool calls by the steps that score it; others leave it unchecked.

        Args:
            completion: The answer.
            verdict: The verdict on its calls.
        """
        chain = self._chain.beside_calls
        is_open = completion.text.strip() and self.context.skip_reason is None
        if chain is not None and is_open:
            parse = partial(Passage.of, completion.text, splitter=self._policy.splitter)
            passage = None
            with anyio.CancelScope(deadline=self.deadline):
                passage = await compute(parse, chars=SPLITTING * len(completion.text))
            if passage is not None:
                evidence = await self._evidence_with(completion)
                of_text = await chain.run(passage, evidence, self.deadline, self._budget)
                if of_text.flagged or (verdict.skipped and not of_text.skipped):
                    return of_text
        return await self._with_prose(completion, verdict)

    async def _with_prose(self, completion: Completion, verdict: Verdict) -> Verdict:
        """List the claims in the text beside tool calls, which is compared with nothing."""
        if not completion.text.strip() or self.context.skip_reason is not None:
            return verdict
        listing = partial(claims_beside_calls, completion.text, self._policy, self.request.question)
        unscored = None
        with anyio.CancelScope(deadline=self.deadline):
            unscored = await compute(listing, chars=SPLITTING * len(completion.text))
        if unscored is None:
            unscored = (Unscored(completion.text, 0, len(completion.text), "prose"),)
        reason = with_unscored(verdict.reason, unscored)
        return replace(verdict, reason=reason, unscored=(*verdict.unscored, *unscored))

    def _unparsed_verdict(self, text: str) -> Verdict:
        limit = f"{self._policy.limits.deadline_s:g} s (`limits.deadline_s`)"
        reason = f"no time left to parse the answer within {limit}"
        everything = Unscored(text, 0, len(text), "prose")
        return Verdict("inconclusive", None, reason, unscored=(everything,))

    async def finish(self, state: RunState, completion: Completion) -> Verdict:
        """Run the rest of the chain over sentences that were scored while they arrived.

        Args:
            state: The whole answer, without reasoning, with the results for its sentences.
            completion: The whole response.

        Returns:
            The verdict, with the check's usage and elapsed time.
        """
        self._response = completion.text
        split = await split_off_loop(completion.text)
        # Its sentences may have been compared with what was known while they arrived.
        evidence = await self._evidence_with(
            answer_of(completion, split), scored=self._evidence.sources
        )
        self.raise_limits(len(state.claims), retrieved_references(completion.references))
        verdict = await self._chain.finish(state, evidence, self.deadline, self._budget)
        if self._is_cut_reasoning(completion, split):
            split = all_reasoning(split)
            verdict = Verdict("inconclusive", None, unanswered_reason(split))
        verdict = self._mark_cut(completion, self._mark_unread(completion, verdict))
        return self.with_totals(placed(verdict, split))

    async def conclude(self, state: RunState, split: SplitText) -> Verdict:
        """Decide from the results so far, without any further work.

        Args:
            state: The passage with the results for its sentences.
            split: The text of which the passage is the answer, so far.
        """
        self._response = split.text
        verdict = await self._chain.conclude(state, self._evidence, self.deadline, self._budget)
        return self.with_totals(placed(verdict, split))

    async def skip_reason(self, passage: Passage) -> str | None:
        """Return why the response is not checked, or None."""
        if self.context.skip_reason is not None:
            return self.context.skip_reason
        when = self._policy.when
        if when is None:
            return None
        with anyio.CancelScope(deadline=self.deadline):
            return await when.after(self.request, passage)
        # If that times out, check the response as far as there is time.
        return None

    async def add_retrieved(self, documents: Sequence[str | Document]) -> None:
        """Add the documents that an answer is written from, before any of it is compared.

        Args:
            documents: The documents, or their texts.
        """
        self._evidence = await self._with_retrieved(self._evidence, documents)

    async def _with_retrieved(
        self,
        evidence: Evidence,
        documents: Sequence[str | Document],
        *,
        scored: Sequence[Reference] = (),
    ) -> Evidence:
        # As one text: a sentence is supported by the documents as a whole, not by each of them
        # separately.
        retrieved = retrieved_references(documents)
        if not retrieved:
            return evidence
        text = "\n\n".join(reference.text for reference in retrieved)
        evidence = replace(evidence, references=Samples((text,), splitter=self._policy.splitter))
        if self._chain.reads_documents and "retriever" in self._policy.references.from_:
            evidence = await self._with_sources(evidence, retrieved, scored=scored)
        return evidence

    async def _evidence_with(
        self, completion: Completion, *, scored: Sequence[Reference] = ()
    ) -> Evidence:
        """Return the evidence with what came with the response.

        Args:
            completion: The response.
            scored: The references that its sentences were compared with while they arrived.
        """
        evidence = self._evidence
        if completion.references:
            evidence = await self._with_retrieved(evidence, completion.references, scored=scored)
        reads_documents = (
            self._chain.reads_documents and "documents" in self._policy.references.from_
        )
        if completion.found and reads_documents:
            evidence = await self._with_sources(evidence, completion.found, scored=scored)
        evidence = replace(
            evidence,
            citations=completion.citations,
            call_log=evidence.call_log.extended(completion.ran),
        )
        logprobs = answer_tokens(evidence.logprobs) or completion.logprobs
        self._used_evidence = replace(evidence, logprobs=logprobs)
        return self._used_evidence

    @property
    def _unusable(self) -> ProviderError | None:
        """Why the samples' or the judge's model could not be asked at all; None if it answered."""
        for meter in (self._sampler, self._judge):
            if meter is not None and meter.unusable is not None and not meter.answered:
                return meter.unusable
        return None

    def with_totals(self, verdict: Verdict) -> Verdict:
        """Return a verdict with the usage and elapsed time so far."""
        elapsed_s = anyio.current_time() - self._started
        via = self._via if self._evidence.samples.was_requested else None
        # The verdict on a regenerated answer has these errors already.
        new = [record for record in self._reference_errors if record not in verdict.steps]
        errors = [record.error for record in new if record.error]
        unusable = self._unusable if verdict.inconclusive else None
        if unusable is not None:
            report_unusable(unusable)
            message = without_cause(unusable)
            # A step may have said so of its judge.
            if message not in verdict.reason:
                errors.append(message)
        reason = "; ".join([verdict.reason, *errors])
        steps = (*new, *verdict.steps)
        return replace(
            verdict,
            reason=reason,
            steps=steps,
            usage=self.usage,
            elapsed_s=elapsed_s,
            via=via,
            evidence=self._recorded_evidence(),
        )

    def _recorded_evidence(self) -> RecordedEvidence | None:
        """Return the texts so far that the response was checked with; None if nobody wants them.

        The response is the one that was checked last from its beginning: not a regenerated one.
        """
        evidence, log = self.used_evidence, self.used_evidence.judge_log
        if log is None:
            return None
        references = evidence.sources
        if not references:
            pool = enumerate(evidence.references.arrived)
            references = tuple(Reference(text.text, f"references[{i}]") for i, text in pool)
        recorded = RecordedEvidence(
            response=self._response,
            samples=tuple(sample.text for sample in evidence.samples.arrived),
            second_samples=tuple(sample.text for sample in evidence.second.arrived),
            references=references,
            judge_calls=tuple(log.calls),
            omitted_calls=log.omitted,
        )
        return recorded or None
