"""One check: its evidence, its meters and its clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from resay.chain import Chain
from resay.evidence import Evidence, Samples
from resay.logprobs import TokenLogprob
from resay.passage import Passage
from resay.policy import Policy
from resay.providers.base import Provider
from resay.providers.layers import Limited, Metered, Retrying, TimeLimited
from resay.query import Query
from resay.verdict import Usage, Verdict

__all__ = ["Check"]


class Check:
    """One check. Made anew for every request.

    Args:
        policy: What to check, and how.
        chain: The policy's chain.
        query: What the response answers, where it is known.
        sampler: Gives samples; None where none may be drawn.
        judge: Answers for judges; None where nobody may be asked.
        references: Trusted texts.
        samples: Samples that are there already.
    """

    def __init__(
        self,
        policy: Policy,
        chain: Chain,
        query: Query | None,
        sampler: Provider | None,
        judge: Provider | None,
        references: Sequence[str],
        samples: Sequence[str] | None = None,
    ) -> None:
        self._policy = policy
        self._chain = chain
        self._query = query
        self._started = anyio.current_time()
        self._slots = anyio.Semaphore(policy.limits.concurrency)
        self._sampler = Metered(sampler) if sampler else None
        self._judge = Metered(judge) if judge else None
        self._evidence = Evidence(
            samples=Samples(samples or (), splitter=policy.splitter),
            references=Samples(references, splitter=policy.splitter),
            query=query,
            judge_provider=self._limited(self._judge) if self._judge else None,
        )

    @property
    def deadline(self) -> float:
        """When the whole request must be over, on the event loop's clock."""
        return self._started + (self._policy.limits.deadline_s or math.inf)

    def _limited(self, provider: Provider) -> Provider:
        limits = self._policy.limits
        if limits.timeout_s is not None:
            provider = TimeLimited(provider, limits.timeout_s)
        return Retrying(Limited(provider, self._slots), limits.retries)

    def start_sampling(self, tasks: TaskGroup) -> None:
        """Start to draw samples, if any step wants them."""
        if self._sampler is None or self._query is None or not self._chain.needing("samples"):
            return
        sampling = self._policy.sampling
        query = self._query.for_sampling(
            model=sampling.model, temperature=sampling.temperature, params=sampling.params
        )
        self._evidence.samples.start_drawing(
            tasks, self._limited(self._sampler), query, sampling.max
        )

    async def run(self, response: str, logprobs: tuple[TokenLogprob, ...] = ()) -> Verdict:
        """Run the chain over a response.

        Args:
            response: The text.
            logprobs: Its tokens with their probabilities, where they are known.

        Returns:
            The verdict, with what the check cost and took.
        """
        passage = await anyio.to_thread.run_sync(
            partial(Passage.of, response, splitter=self._policy.splitter)
        )
        evidence = replace(self._evidence, logprobs=logprobs)
        verdict = await self._chain.run(passage, evidence, self.deadline)
        meters = [m for m in (self._sampler, self._judge) if m is not None]
        return replace(
            verdict,
            usage=sum((m.usage for m in meters), Usage()),
            elapsed_s=anyio.current_time() - self._started,
        )
