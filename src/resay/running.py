"""Runs requests: who is asked when, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream

from resay.actions import Answer
from resay.chain import Chain
from resay.checking import Check, Given
from resay.holding import Asked, Holding, Part, PassingOn, overdue
from resay.policy import Policy, StreamMode
from resay.providers.base import Completion, Provider
from resay.providers.caching import Cache
from resay.providers.layers import Metered, Retrying
from resay.providers.logprobs import WithLogprobs
from resay.query import Query
from resay.scorers.logprobs import alternatives_wanted
from resay.sources import Sources
from resay.tasks import in_task_group
from resay.verdict import Verdict

__all__ = ["Running"]


class Running:
    """Runs the requests of one guard. It keeps nothing of them.

    Args:
        policy: What to check, and how.
        chain: The policy's chain.
        cache: Where samples are kept; None for nowhere.
    """

    def __init__(self, policy: Policy, chain: Chain, cache: Cache | None) -> None:
        self._policy = policy
        self._chain = chain
        self._fields = Chain.of_fields(policy, cache)
        self._cache = cache

    def _check_for(self, query: Query | None, sources: Sources | None, given: Given) -> Check:
        chain = self._fields if query is not None and query.wants_object else self._chain
        return Check(self._policy, chain, query, sources, given, self._cache)

    def _started(self, query: Query, sources: Sources, given: Given, tasks: TaskGroup) -> Check:
        """Begin a check, before there is a response."""
        check = self._check_for(query, sources, given)
        check.prepare_sampling(tasks)
        together = self._policy.sampling.start == "together" and not query.has_side_effects
        if together and not check.skip_early():
            check.start_sampling()
        return check

    async def answer(self, query: Query, sources: Sources, given: Given) -> Answer:
        """Ask, check and act."""
        return await in_task_group(partial(self._answer, query, sources, given))

    async def _answer(
        self, query: Query, sources: Sources, given: Given, tasks: TaskGroup
    ) -> Answer:
        check = self._started(query, sources, given, tasks)
        asked = self._asked(query, sources)
        completion = await self._main_call(asked, check.deadline)
        verdict = await check.run(completion)
        return asked.answered(self._policy, verdict, completion)

    async def stream(
        self,
        query: Query,
        sources: Sources,
        references: Sequence[str],
        mode: StreamMode,
        parts: MemoryObjectSendStream[Part],
    ) -> Answer:
        """Ask and hand over the answer while it is written.

        Args:
            query: What to ask.
            sources: Who answers what.
            references: Trusted texts.
            mode: When text is released.
            parts: Where it goes.

        Returns:
            The answer, when everything was said and checked.
        """
        if mode == "buffer" or (mode == "hold" and not self._can_hold(query, references)):
            answer = await self.answer(query, sources, Given(references))
            await parts.send(Part(answer.text, answer.verdict.sentences, notice=answer.blocked))
            return answer

        async def run(tasks: TaskGroup) -> Answer:
            check = self._started(query, sources, Given(references), tasks)
            asked = self._asked(query, sources)
            if mode == "after":
                return await PassingOn(self._policy, check, asked).run(parts)
            return await Holding(self._policy, self._chain, check, asked, tasks).run(parts)

        return await in_task_group(run)

    def _can_hold(self, query: Query, references: Sequence[str]) -> bool:
        """Return whether sentences can be scored one by one while the answer is written.

        Whether an answer calls tools, or is an object, is known at its end, and so is what was
        found for it.
        """
        if query.has_side_effects or query.wants_object or not self._chain.scores_early:
            return False
        return bool(references) or self._chain.needing("references") is None

    def _asked(self, query: Query, sources: Sources) -> Asked:
        """Return the main call."""
        meter = Metered(sources.main)
        provider: Provider = Retrying(meter, self._policy.limits.retries)
        if self._chain.needing("logprobs") and not query.wants_object:
            provider = WithLogprobs(provider, alternatives_wanted(self._policy.chain))
        return Asked(query, provider, meter)

    async def _main_call(self, asked: Asked, deadline: float) -> Completion:
        with anyio.CancelScope(deadline=deadline):
            return (await asked.provider.complete(asked.query)).first
        raise overdue(asked.query, self._policy)

    async def check(
        self, response: str, query: Query | None, sources: Sources | None, given: Given
    ) -> Verdict:
        """Check a response that is there already."""
        return await in_task_group(partial(self._check, response, query, sources, given))

    async def _check(
        self,
        response: str,
        query: Query | None,
        sources: Sources | None,
        given: Given,
        tasks: TaskGroup,
    ) -> Verdict:
        check = self._check_for(query, sources, given)
        if given.samples is None and response.strip():
            check.prepare_sampling(tasks)
        return await check.run(Completion(response))
