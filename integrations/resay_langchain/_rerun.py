"""Runnables that cannot be looked into: run again as a whole for each sample."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
)
from langchain_core.runnables import RunnableConfig
from pydantic import model_validator

from resay._internal.event_loops import run_sync
from resay.adapters import litellm_provider, verdict_data
from resay.core.query import Query
from resay.core.verdict import HallucinationBlocked
from resay.guard import Guard
from resay.policy import Regenerate
from resay.providers.base import Sources
from resay_langchain._inside import (
    Wrapper,
    for_judging,
    for_sampling,
    sampling_kwargs,
    speaker_of,
    surely_text,
    unstreamed,
)
from resay_langchain._outcome import outcome_of
from resay_langchain._providers import (
    JudgeProvider,
    Run,
    RunnableProvider,
    in_loop,
    in_thread,
)
from resay_langchain._request import question_in
from resay_langchain._runs import JUDGE, SAMPLE, Runs, Traced, watch_among


class Rerun(Wrapper):
    """A runnable whose samples are further runs of all of it, on the same input.

    The output comes in one piece, also from `stream`.

    Attributes:
        runnable: The runnable inside.
        guard: Checks and acts.
    """

    guard: Guard

    @model_validator(mode="after")
    def _must_be_able_to(self) -> Rerun:
        # Refuses what must not run twice, before anything is paid for.
        for_sampling(self.runnable, self.guard.policy.sampling)
        self.guard = _patient(self)
        return self

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Run, check and act."""
        return self._call_with_config(self._run, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Do what `invoke` does, on the caller's event loop."""
        return await self._acall_with_config(self._arun, input, config, **kwargs)

    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        runs = Runs(run_manager, config)
        sources = self._sources(value, kwargs, runs, in_thread)
        try:
            with runs.around():
                answer = run_sync(self.guard.arun, self._query(value, kwargs), sources)
        except HallucinationBlocked as error:
            runs.tell(verdict_data(error.verdict, "block"))
            raise
        output, data = outcome_of(answer)
        runs.tell(data)
        _note(runs, data)
        return output

    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        runs = Runs(run_manager, config)
        sources = self._sources(value, kwargs, runs, in_loop)
        try:
            with runs.around():
                answer = await self.guard.arun(self._query(value, kwargs), sources)
        except HallucinationBlocked as error:
            await runs.atell(verdict_data(error.verdict, "block"))
            raise
        output, data = outcome_of(answer)
        await runs.atell(data)
        _note(runs, data)
        return output

    def _query(self, value: Any, kwargs: dict[str, Any]) -> Query:
        """Return what the guard needs to know: the runnable holds the rest."""
        tools = kwargs.get("tools")
        # Whoever writes the answer again has nothing else to go by.
        wanted = isinstance(self.guard.policy.action, Regenerate)
        messages = question_in(value) if wanted else ()
        return Query(messages, None, {"tools": tools} if tools else {})

    def _sources(self, value: Any, kwargs: dict[str, Any], runs: Runs, run: Run) -> Sources:
        runnable, policy = self.runnable, self.guard.policy
        hidden = policy.can_withhold
        speaker = speaker_of(runnable)
        main = RunnableProvider(
            unstreamed(runnable) if hidden else runnable,
            value,
            kwargs,
            run,
            partial(runs.main, hidden=hidden),
        )
        samples = RunnableProvider(
            for_sampling(runnable, policy.sampling),
            value,
            sampling_kwargs(runnable, kwargs, policy.sampling),
            run,
            partial(runs.config, SAMPLE),
        )
        judge = JudgeProvider(
            for_judging(speaker.model, policy.sampling) if speaker else None,
            run,
            partial(runs.config, JUDGE),
            Traced(litellm_provider(), runs.manager, JUDGE),
        )
        return Sources(main, samples, judge)


def _note(runs: Runs, data: dict[str, Any]) -> None:
    watch = watch_among(runs.handlers)
    if watch is not None:
        watch.note(data, None, structured=False)


def _patient(rerun: Rerun) -> Guard:
    """Return a guard that pays for no samples before it is sure to need them.

    A call of a tool or an object has no words to check, and that is only known when it is there.
    """
    policy, sampling = rerun.guard.policy, rerun.guard.policy.sampling
    speaker = speaker_of(rerun.runnable)
    tools = speaker is not None and speaker.tools
    if sampling.start == "after" or (surely_text(rerun.runnable) and not tools):
        return rerun.guard
    # Another guard would not have its retriever.
    if isinstance(policy.action, Regenerate):
        return rerun.guard
    patient = sampling.model_copy(update={"start": "after"})
    guard = Guard(policy.model_copy(update={"sampling": patient}))
    return guard.notifying(*rerun.guard.listeners.functions)
