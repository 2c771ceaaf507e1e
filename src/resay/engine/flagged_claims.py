"""The words of flagged claims that lack support, and what the evidence says in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel

from resay._internal.event_loops import compute
from resay.core.claim_verdict import Part
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, EvidenceKind
from resay.core.decision import Band
from resay.core.passage import Passage
from resay.core.scores import UnsupportedSpan
from resay.engine.contradictions import INDEX_BUILDERS, kind_of_words
from resay.engine.decide import Decider, pool_of
from resay.engine.state import ClaimResult, RunState, WrongWords
from resay.scorers import Step
from resay.scorers.common.fact_parts import parts_by_facts
from resay.scorers.evidence import Evidence

# Costs for `compute`, in characters: searching a character for contradictions, flagging a claim.
_SEARCH_COST = 10
_FLAG_COST = 10
# Number of tasks started before other tasks on the event loop get a turn.
_BATCH_SIZE = 32


class FlaggedClaims:
    """Finds what is wrong with flagged claims.

    Args:
        decider: Decides which claims are flagged.
        steps: The steps of the chain.
        structured: Whether they compare the fields of objects.
    """

    def __init__(self, decider: Decider, steps: Sequence[Step], *, structured: bool) -> None:
        self._decider = decider
        self._steps = steps
        self._structured = structured

    async def ask_methods(self, state: RunState, evidence: Evidence) -> None:
        """Ask the methods that flagged claims for contradictions, which go into the results.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
        """
        if not any(step.contradicts for step in self._steps):
            return
        flagged = await self._flagged(state, evidence)
        # A plug-in's settings may not be hashable, and so its step.
        views: dict[int, Evidence] = {}

        async def find(i: int, step: Step) -> None:
            result, text = state.results[i], state.claims[i].standalone
            view = views.get(id(step))
            if view is None:
                view = views[id(step)] = step.view(evidence.logged_as(step.name), None)
            result.contradiction = await step.contradiction(text, view, result.columns)

        async with anyio.create_task_group() as tasks:
            for count, i in enumerate(flagged, 1):
                step = state.results[i].step
                if step is not None and step.contradicts_at_once:
                    await find(i, step)
                elif step is not None and step.contradicts:
                    tasks.start_soon(find, i, step)
                if count % _BATCH_SIZE == 0:
                    await anyio.lowlevel.checkpoint()

    async def parts(
        self, state: RunState, evidence: Evidence, deadline: float
    ) -> Mapping[int, tuple[Part, ...]]:
        """Find the words of flagged claims that are wrong, where the method does not name them.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
            deadline: When to stop, on the event loop's clock.

        Returns:
            The parts, by claim index.
        """
        if self._structured:
            return {}
        parts: dict[int, tuple[Part, ...]] = {}
        by_source: dict[EvidenceKind, list[int]] = {}
        for i in self._decider.flagged(state, evidence):
            result = state.results[i]
            if result.judged:
                continue
            wrong_words = result.wrong_words
            if result.unsupported:
                parts[i] = _parts_of(state.claims[i], result, state.passage)
            elif wrong_words is not None and _is_up_to_date(wrong_words, result, evidence):
                parts[i] = wrong_words.parts
            else:
                by_source.setdefault(result.source, []).append(i)
        with anyio.CancelScope(deadline=deadline):
            for source, claims in by_source.items():
                compared = replace(evidence, samples=pool_of(source, evidence))
                # More may arrive meanwhile.
                count = len(compared.samples)
                by_claim = await parts_by_facts(
                    state.passage_for(claims), compared, with_answers=source != "reference"
                )
                for i, of_claim in zip(claims, by_claim, strict=True):
                    parts[i] = of_claim
                    state.results[i].wrong_words = WrongWords(of_claim, source, count)
        return parts

    async def contradictions(
        self,
        state: RunState,
        evidence: Evidence,
        deadline: float,
        parts: Mapping[int, Sequence[Part]],
    ) -> Mapping[int, Contradiction]:
        """Find contradictions of flagged claims; none if there is no time for all of them.

        Args:
            state: The chain's results.
            evidence: The evidence it used.
            deadline: When to stop, on the event loop's clock.
            parts: The parts of the flagged claims, by claim index.

        Returns:
            The contradictions found, by claim index.
        """
        flagged = await self._flagged(state, evidence)
        if not flagged:
            return {}
        chars = sum(len(state.claims[i].text) for i in flagged)
        sources: set[EvidenceKind] = set()
        for i in flagged:
            # Contradictions that methods reported are not searched for again.
            if state.results[i].contradiction is None and not state.results[i].judged:
                sources.add(state.results[i].source)
        with anyio.CancelScope(deadline=deadline):
            for source in sources:
                pool = pool_of(source, evidence)
                await pool.derive(INDEX_BUILDERS[source], chars=_SEARCH_COST * pool.chars)
            find = partial(self._decider.contradictions, state, evidence, parts)
            return await compute(find, chars=_SEARCH_COST * chars)
        return {}

    async def _flagged(self, state: RunState, evidence: Evidence) -> list[int]:
        find = partial(self._decider.flagged, state, evidence)
        return await compute(find, chars=_FLAG_COST * len(state.results))


def _is_up_to_date(wrong_words: WrongWords, result: ClaimResult, evidence: Evidence) -> bool:
    """Whether words were found wrong by the same evidence, and no more has arrived since."""
    pool = pool_of(result.source, evidence)
    return wrong_words.source == result.source and wrong_words.count == len(pool)


def _parts_of(claim: Claim, result: ClaimResult, passage: Passage) -> tuple[Part, ...]:
    """Return the parts of a claim whose method names the words without support."""
    parts: list[Part] = []
    for unsupported in _disjoint(result.unsupported):
        words = passage.text[unsupported.start : unsupported.end]
        part = Part(
            start=unsupported.start,
            end=unsupported.end,
            band=_band(unsupported, result),
            kind=kind_of_words(words, claim.text),
            score=unsupported.score,
            error=unsupported.error,
        )
        parts.append(part)
    return tuple(parts)


def _band(unsupported: UnsupportedSpan, result: ClaimResult) -> Band:
    if unsupported.error is None:
        return "contradicted" if result.denied else "unsupported"
    return "contradicted" if unsupported.error == "contradiction" else "unsupported"


def _disjoint(spans: Sequence[UnsupportedSpan]) -> list[UnsupportedSpan]:
    """Return spans in order, with those that overlap as one: "in 1923" and "1923"."""
    disjoint: list[UnsupportedSpan] = []
    for unsupported in sorted(spans, key=lambda each: each.start):
        last = disjoint[-1] if disjoint else None
        if last is None or unsupported.start >= last.end:
            disjoint.append(unsupported)
            continue
        disjoint[-1] = UnsupportedSpan(
            start=last.start,
            end=max(last.end, unsupported.end),
            score=max(last.score, unsupported.score),
            error=last.error if last.error == unsupported.error else None,
        )
    return disjoint
