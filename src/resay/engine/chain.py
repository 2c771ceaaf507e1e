"""Runs the policy's chain over a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import cast

import anyio

from resay._internal._version import __version__
from resay._internal.event_loops import compute
from resay._internal.telemetry import span
from resay.core.claim_verdict import ClaimVerdict, Part
from resay.core.claims import Claim, Rules, is_single_sentence
from resay.core.contradiction import Contradiction
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.engine.chain_steps import ChainSteps
from resay.engine.code_names import NameClaim, NameFinder, compare_names, index_samples, names_in
from resay.engine.decide import Decider
from resay.engine.flagged_claims import FlaggedClaims
from resay.engine.model_claims import claims_by_model
from resay.engine.policy_steps import concurrent_groups, leading_steps
from resay.engine.state import ClaimResult, RunState
from resay.engine.step_run import StepRun, write_results
from resay.engine.stopping_rule import stopping_rule
from resay.engine.verdict_tracker import VerdictTracker
from resay.policy import Policy
from resay.providers.base import Provider
from resay.providers.caching import Cache, Caching
from resay.providers.limits import Budget
from resay.scorers import Scorer, Step
from resay.scorers.evidence import Evidence

# Costs for `compute`, in characters: searching a character for contradictions, finding claims in
# one, deciding about a piece, flagging a sentence.
_SEARCH_COST = 10
_PARSE_COST = 20
_DECISION_COST = 100
_FLAG_COST = 10


@dataclass(frozen=True, slots=True)
class SentenceView:
    """The result for one sentence of a response that is still being written.

    verdict: The verdict on the sentence.
    claims: The verdicts on its claims.
    in_doubt: The indices of the claims without a reliable score.
    """

    verdict: SentenceVerdict
    claims: tuple[ClaimVerdict, ...]
    in_doubt: frozenset[int]


class Chain(ChainSteps):
    """Runs the steps of a policy, in order.

    Each step scores the sentences that no earlier step settled; its scores replace the earlier
    ones. Consecutive steps that settle nothing run concurrently. A step that corrects scores sees
    those of all sentences. A chain keeps no state between runs.

    Args:
        policy: The policy.
        cache: Cache for judges' answers; None for no caching.
        steps: Steps to run in place of the policy's chain.
        structured: Whether they compare the fields of objects.

    Raises:
        ConfigurationError: As for `ChainSteps`.
    """

    def __init__(
        self,
        policy: Policy,
        cache: Cache | None = None,
        *,
        steps: Sequence[Step] = (),
        structured: bool = False,
    ) -> None:
        super().__init__(policy, steps=steps, structured=structured)
        self._cache = cache
        self._early_steps = leading_steps(self._steps)
        self._late_steps = self._steps[len(self._early_steps) :]
        self._decider = Decider(
            policy,
            compares=self.required_by("samples") is not None,
            refers=self.required_by("references") is not None,
            structured=structured,
        )
        self._flagged_claims = FlaggedClaims(self._decider, self._steps, structured=structured)

    @classmethod
    def of_fields(cls, policy: Policy, cache: Cache | None = None) -> Chain:
        """Return the chain that checks structured answers, in place of the policy's chain."""
        from resay.scorers.fields import Fields

        config = Fields.Config(ignore=policy.structured.ignore)
        step = Step(config, cast("Scorer", Fields(config)))
        return cls(policy, cache, steps=[step], structured=True)

    @classmethod
    def of_calls(cls, policy: Policy, cache: Cache | None = None) -> Chain:
        """Return the chain that checks tool calls, in place of the policy's chain."""
        from resay.scorers.fields import Fields
        from resay.scorers.tools import Arguments

        config = Fields.Config(ignore=policy.structured.ignore)
        step = Step(config, cast("Scorer", Arguments(config)))
        return cls(policy, cache, steps=[step], structured=True)

    @cached_property
    def without_samples(self) -> Chain | None:
        """The chain of the steps that need no samples; None if there are none."""
        if self.required_by("samples") is None:
            return self
        return self._of_some(self.steps_without_samples)

    @cached_property
    def beside_calls(self) -> Chain | None:
        """The chain of the steps that score the text beside tool calls; None if there are none."""
        return self._of_some(self.steps_beside_calls)

    def _of_some(self, steps: Sequence[Step]) -> Chain | None:
        """Return the chain of some of the steps; None if there are none."""
        if not steps:
            return None
        # Names in code are compared with those of samples.
        policy = self._policy.model_copy(update={"code": "none"})
        return Chain(policy, self._cache, steps=steps)

    @cached_property
    def _reference_steps(self) -> tuple[Step, Step]:
        """The steps that compare with references, if the chain does so before anything else."""
        # Few requests have references.
        from resay.engine.reference_steps import reference_steps_of

        return reference_steps_of(self._policy, self._steps)

    async def _load_reference_steps(self) -> None:
        if "_reference_steps" not in vars(self):
            await compute(partial(import_module, "resay.engine.reference_steps"))

    @property
    def samples_at_first(self) -> int:
        """The number of samples that the first steps always compare with."""
        sampling = self._policy.sampling
        first = next(iter(concurrent_groups(self._steps)))
        patient = [step for step in first if "samples" in step.needs and not step.adapts]
        return sampling.max if patient or sampling.confidence is None else sampling.min

    async def prepare(self) -> None:
        """Load everything the steps would otherwise load at first use.

        Raises:
            ConfigurationError: A model is not available as configured.
            ScorerError: A model's server does not respond.
        """
        if self.grounds:
            await self._load_reference_steps()
        for step in (*self._steps, *(self._reference_steps if self.grounds else ())):
            await step.prepare()

    async def run(
        self,
        passage: Passage,
        evidence: Evidence,
        deadline: float,
        budget: Budget | None = None,
        *,
        earlier: Mapping[int, SentenceVerdict] = MappingProxyType({}),
    ) -> Verdict:
        """Score a passage and decide.

        Args:
            passage: The text to check.
            evidence: The evidence to compare it with.
            deadline: When to stop, on the event loop's clock (`anyio.current_time`); the verdict
                uses all results obtained by then.
            budget: Total limit for the calls, if there is one.
            earlier: Verdicts of another check on some of its sentences, by sentence index; these
                sentences are not scored again.

        Returns:
            The verdict, without the check's usage and time, which the guard adds.
        """
        state = await self.initial_state(passage, evidence, deadline, earlier)
        return await self.check(state, evidence, deadline, budget)

    async def check(
        self, state: RunState, evidence: Evidence, deadline: float, budget: Budget | None = None
    ) -> Verdict:
        """Like `run`, but from a state without results."""
        return await self._decide(self._steps, state, evidence, deadline, budget)

    async def initial_state(
        self,
        passage: Passage,
        evidence: Evidence,
        deadline: float,
        earlier: Mapping[int, SentenceVerdict] = MappingProxyType({}),
    ) -> RunState:
        """Find the claims in a passage's sentences, and return a state without results.

        Args:
            passage: The passage to score.
            evidence: Supplies the request that it answers.
            deadline: When to stop asking a model for claims, on the event loop's clock.
            earlier: Verdicts of another check on some of its sentences, by sentence index.
        """
        rules = self.rules(evidence.question)

        def read() -> list[tuple[Claim, ...]]:
            alone = is_single_sentence(passage)
            return [
                rules.read(sentence, i, alone=alone) for i, sentence in enumerate(passage.sentences)
            ]

        claims_by_sentence = await compute(read, chars=len(passage.text) * _PARSE_COST)
        asks = self._policy.claims == "model" and not self._structured
        if asks and (evidence.sources or not self._lacks_samples(evidence)):
            with anyio.CancelScope(deadline=deadline):
                claims_by_sentence = await claims_by_model(
                    passage, claims_by_sentence, evidence.logged_as("claims"), rules.kind_of
                )
        claims = list(chain.from_iterable(claims_by_sentence))
        begin = partial(RunState.of, passage, claims, earlier, skips_sources=self.skips_sources)
        state = await compute(begin, chars=_FLAG_COST * len(claims))
        if self._compares_names:
            find = partial(names_in, passage, rules.question)
            chars = len(passage.text) + len(rules.question)
            names = await compute(find, chars=chars * _PARSE_COST)
            state.names = [(name, ClaimResult()) for name in names]
        return state

    @property
    def _compares_names(self) -> bool:
        return self._policy.code == "names" and not self._structured

    def names(self, question: str) -> NameFinder | None:
        """Return a finder of names in a response's code; None if they are not compared.

        Args:
            question: The question that the response answers; empty if it is not known.
        """
        return NameFinder(question) if self._compares_names else None

    def flags_names(self, names: Sequence[tuple[Claim, ClaimResult]], evidence: Evidence) -> bool:
        """Return whether any name in code is flagged, judging by the samples."""
        return self._decider.flags_names(names, evidence)

    async def compare_names(
        self,
        names: Sequence[NameClaim],
        evidence: Evidence,
        deadline: float,
        *,
        before: Sequence[NameClaim] = (),
    ) -> list[tuple[Claim, ClaimResult]]:
        """Compare names in code with those in the samples' code.

        Args:
            names: The names.
            evidence: Holds the samples; waits for the minimum number of them.
            deadline: When to stop, on the event loop's clock.
            before: The names that precede these in the response's code.

        Returns:
            Each name with its result.
        """
        samples = evidence.samples
        with anyio.CancelScope(deadline=deadline):
            async for _ in samples.first(self._policy.sampling.min):
                pass
            index = await samples.derive(index_samples, chars=_PARSE_COST * samples.chars)
            compare = partial(compare_names, names, index, before)
            results = await compute(compare, chars=_SEARCH_COST * len(names) * len(samples))
            return list(zip(names, results, strict=True))
        return [(name, ClaimResult()) for name in names]

    @cached_property
    def _claims(self) -> Callable[[str], bool] | None:
        """Whether a sentence claims something to a step, whatever else it looks like."""
        steps = [step for step in self._steps if step.finds_claims]
        return (lambda text: any(step.claims(text) for step in steps)) if steps else None

    def rules(self, question: str) -> Rules:
        """Return the rules that find a response's claims.

        Args:
            question: The question that the response answers; empty if it is not known.
        """
        policy = self._policy
        return Rules(
            question,
            splits=not self._structured,
            skips=policy.non_claims != "score" and not self._structured,
            classify=self._classify,
            claims=self._claims,
            strict=policy.on_unscored == "block",
        )

    async def score(self, state: RunState, evidence: Evidence, deadline: float) -> None:
        """Score a sentence of a response that is still being written, as far as possible.

        Args:
            state: A state with only this sentence and its claims.
            evidence: The evidence to compare it with.
            deadline: When to stop, on the event loop's clock.
        """
        with anyio.CancelScope(deadline=deadline):
            await self._run_steps(self._early_steps, state, evidence, alone=True)

    async def finish(
        self, state: RunState, evidence: Evidence, deadline: float, budget: Budget | None = None
    ) -> Verdict:
        """Decide about a passage whose sentences `score` has scored.

        Args:
            state: The whole passage with the results for its sentences.
            evidence: The evidence to compare it with.
            deadline: When to stop, on the event loop's clock.
            budget: Total limit for the calls, if there is one.

        Returns:
            The verdict, without the check's usage and time.
        """
        return await self._decide(self._late_steps, state, evidence, deadline, budget)

    async def conclude(
        self, state: RunState, evidence: Evidence, deadline: float, budget: Budget | None = None
    ) -> Verdict:
        """Decide from the results so far, without running any step.

        Args:
            state: The passage with the results for its sentences.
            evidence: The evidence it was compared with.
            deadline: When to stop searching for contradictions of flagged sentences, on the event
                loop's clock.
            budget: Total limit for the calls, if there is one.

        Returns:
            The verdict, without the check's usage and time.
        """
        exhausted = budget.refusal if budget else None
        parts = await self._flagged_claims.parts(state, evidence, deadline)
        contradictions = await self._flagged_claims.contradictions(state, evidence, deadline, parts)
        decide = partial(self._decider.verdict, state, evidence, contradictions, parts, exhausted)
        chars = _DECISION_COST * len(state.passage.pieces) + len(state.passage.text)
        return await compute(decide, chars=chars)

    async def view(
        self, state: RunState, evidence: Evidence, deadline: float, *, explained: bool = True
    ) -> SentenceView:
        """Return the result for a state's only sentence.

        Args:
            state: The sentence with its results.
            evidence: The evidence it was compared with.
            deadline: When to stop searching for contradictions, on the event loop's clock.
            explained: Whether to say what is wrong with its flagged claims.
        """
        parts: Mapping[int, tuple[Part, ...]] = {}
        contradictions: Mapping[int, Contradiction] = {}
        if explained:
            flagged = self._flagged_claims
            parts = await flagged.parts(state, evidence, deadline)
            contradictions = await flagged.contradictions(state, evidence, deadline, parts)
        claims = self._decider.claims(state, evidence, contradictions, parts)
        return SentenceView(
            verdict=self._decider.sentences(state, claims)[0],
            claims=claims,
            in_doubt=self._decider.undecided(state, evidence),
        )

    def name_verdicts(
        self, names: Sequence[tuple[Claim, ClaimResult]], evidence: Evidence
    ) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on names in code, judging by the samples."""
        is_decided = self._decider.decides_names(evidence)
        return self._decider.name_verdicts(names, is_decided=is_decided)

    @property
    def scores_early(self) -> bool:
        """Whether sentences get scores before the response is complete."""
        return bool(self._early_steps)

    @property
    def decides_late(self) -> bool:
        """Whether some scores cannot be predicted before the response is complete."""
        return not all(step.can_precompute for step in self._late_steps)

    @property
    def corrects_late(self) -> bool:
        """Whether the scores of sentences are corrected when the response is complete."""
        return bool(self._late_steps)

    @property
    def skips_sources(self) -> bool:
        """Whether entries of a list of sources, which claim nothing, are not scored.

        What stands under "Sources:" may still claim something, which nobody would have scored.
        """
        is_strict = self._policy.on_unscored == "block"
        return self._policy.non_claims != "score" and not self._structured and not is_strict

    def verdict_tracker(self) -> VerdictTracker:
        """Return a tracker that predicts the verdict of a response still being written."""
        return VerdictTracker(self._policy, self._late_steps)

    async def _decide(
        self,
        steps: Sequence[Step],
        state: RunState,
        evidence: Evidence,
        deadline: float,
        budget: Budget | None,
    ) -> Verdict:
        with anyio.CancelScope(deadline=deadline):
            await self._run_steps(steps, state, evidence)
            await self._flagged_claims.ask_methods(state, evidence)
        names = [name for name, _ in state.names if isinstance(name, NameClaim)]
        if names and not any(result.reason for _, result in state.names):
            state.names = await self.compare_names(names, evidence, deadline)
        return await self.conclude(state, evidence, deadline, budget)

    async def _run_steps(
        self, steps: Sequence[Step], state: RunState, evidence: Evidence, *, alone: bool = False
    ) -> None:
        scorable = [i for i in range(len(state.results)) if i not in state.excluded]
        pending = [i for i in scorable if not self._settled_before(steps, state.results[i])]
        grounds = self.grounds and bool(evidence.sources)
        if grounds and pending and steps[:1] == self._steps[:1]:
            await self._load_reference_steps()
            step = self._reference_steps[self.checks_unmentioned(evidence.sources)]
            await self._run_together([StepRun(step, state, pending, evidence, alone)])
            scorable = [i for i in scorable if i not in state.excluded]
            pending = [i for i in pending if state.results[i].score is None]
            pending = [i for i in pending if i not in state.excluded]
        if self._lacks_samples(evidence):
            # Paid calls could not decide anything.
            steps = [step for step in steps if "judge" not in step.needs]
            evidence = replace(evidence, prober=None)
        for group in concurrent_groups(steps):
            indices = scorable if group[0].corrects else pending
            if group[0].is_second:
                # Trusted texts overrule the second model.
                indices = [i for i in indices if not state.results[i].is_grounded]
            of_steps = [(step, self._indices_for(step, state, indices, scorable)) for step in group]
            runs = [
                StepRun(step, state, of_step, evidence, alone)
                for step, of_step in of_steps
                if of_step
            ]
            if not runs:
                continue
            await self._run_together(runs)
            scorable = [i for i in scorable if i not in state.excluded]
            pending = [i for i in pending if i not in state.excluded]
            settle = group[-1].config.settle
            if settle is not None:
                pending = [i for i in pending if not settle.settles(state.results[i].score)]

    def _indices_for(
        self, step: Step, state: RunState, indices: list[int], scorable: Sequence[int]
    ) -> list[int]:
        """Return the claims that a step scores, of those that no earlier step settled.

        A text that mentions an act does not show that the agent did it: what compares with tool
        calls sees the claims that references settled too.
        """
        if step.source != "tool" or indices == scorable:
            return indices
        return [i for i in scorable if i in indices or state.results[i].is_grounded]

    def _lacks_samples(self, evidence: Evidence) -> bool:
        """Return whether too few samples are available for a conclusive check."""
        too_few = evidence.samples.available < self._policy.sampling.min
        return too_few and self.required_by("samples") is not None

    def _settled_before(self, steps: Sequence[Step], result: ClaimResult) -> bool:
        """Return whether a step outside this run has settled a sentence."""
        if result.step is None or result.step in steps:
            return False
        # What compares with references is loaded only where it was used.
        if self.grounds and result.is_grounded and result.step in self._reference_steps:
            return True
        settle = result.step.config.settle
        return settle is not None and settle.settles(result.score)

    async def _run_together(self, runs: Sequence[StepRun]) -> None:
        """Run independent steps concurrently, and write their results in step order."""
        first, *others = runs
        try:
            if not others:
                await self._run_step(first)
                return
            async with anyio.create_task_group() as tasks:
                for run in runs:
                    tasks.start_soon(self._run_step, run)
        finally:
            # Partial results count, whatever ended the steps.
            with anyio.CancelScope(shield=True):
                count = sum(len(run.indices) for run in runs)
                await compute(partial(write_results, runs), chars=_DECISION_COST * count)

    async def _run_step(self, run: StepRun) -> None:
        with span(f"resay.score {run.step.name}", {"resay.method": run.step.name}) as active_span:
            try:
                await self._score(run)
            finally:
                if active_span.is_recorded:
                    active_span.set(run.attributes)

    async def _score(self, run: StepRun) -> None:
        step, evidence = run.step, run.evidence
        judge = self._cached(run.meter, step.name, evidence)
        prober, probes = evidence.prober, self._cached(run.probe_meter, "probe", evidence)
        if prober is not None and probes is not None:
            prober = replace(prober, provider=probes)
        judge_log = evidence.judge_log and evidence.judge_log.of(step.name)
        if prober is not None and judge_log is not None:
            prober = replace(prober, log=judge_log)
        view = replace(
            step.view(evidence, judge),
            judge_log=judge_log,
            judge_problems=run.judge_problems,
            prober=prober,
            scores=tuple(run.state.results[i].score for i in run.indices),
            threshold=self._policy.threshold.lowest,
            doubtful=self._policy.threshold.doubtful,
            stopping=stopping_rule(run, self._steps, self._policy),
            partial_scores=run.unfinished,
        )
        passage = run.state.passage_for(run.indices)
        run.skip_reason = await step.gated(evidence.request, passage) or step.skip_reason(
            passage, view
        )
        run.completed = Scores() if run.skip_reason else await step.run(passage, view)

    def _cached(self, provider: Provider | None, name: str, evidence: Evidence) -> Provider | None:
        if provider is None or self._cache is None:
            return provider
        version = f"{name}/{__version__}"
        return Caching(provider, self._cache, version=version, source=evidence.judge_source)
