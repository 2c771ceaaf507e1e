"""Insertion of a guard into a runnable, in place of its chat model or around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import (
    BaseOutputParser,
    JsonOutputParser,
    JsonOutputToolsParser,
)
from langchain_core.runnables import (
    Runnable,
    RunnableAssign,
    RunnableBranch,
    RunnableConfig,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives
from langchain_core.runnables.router import RouterRunnable
from pydantic import model_validator

from resay import Guard, HallucinationBlocked, Request, Sources
from resay.adapters import CheckContext, GuardRuntime, Regenerate
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, run_in_place
from resay.adapters.upstream import default_provider
from resay.adapters.verdicts import verdict_data
from resay.errors import ConfigurationError
from resay_langchain._inside import (
    Wrapper,
    for_sampling,
    is_certainly_text,
    sampling_kwargs,
    without_streaming,
    writer_of,
)
from resay_langchain._outcome import outcome_of
from resay_langchain._providers import RunnableProvider, own_judge
from resay_langchain._request import OutputFormat, question_in
from resay_langchain._runs import JUDGE, SAMPLE, Runs, Traced, watch_among


class Rerun(Wrapper):
    """A runnable whose samples are further runs of the whole runnable, on the same input.

    The output comes in one piece, even from `stream`.

    Attributes:
        runnable: The runnable inside.
        guard: The guard that checks outputs and acts on verdicts.
    """

    guard: Guard

    @model_validator(mode="after")
    def _must_be_able_to(self) -> Rerun:
        # Refuse runnables that must not run twice, before any request is paid for.
        for_sampling(self.runnable, self.guard.policy.sampling)
        self.guard = _sampling_late(self)
        return self

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Run the runnable, check its output and act."""
        return self._call_with_config(self._run, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Async version of `invoke`."""
        return await self._acall_with_config(self._arun, input, config, **kwargs)

    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        return run_in_place(self._guarded(BLOCKING, value, kwargs, Runs(run_manager, config)))

    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        return await self._guarded(ASYNC, value, kwargs, Runs(run_manager, config))

    async def _guarded(
        self, style: CallStyle, value: Any, kwargs: dict[str, Any], runs: Runs
    ) -> Any:
        sources = self._sources(style, value, kwargs, runs)
        runtime = GuardRuntime(self.guard)
        context = runtime.with_skip_reason(CheckContext(self._request(value, kwargs)))
        try:
            with runs.around():
                answer = await style.run(runtime.aask_with, context, sources)
        except HallucinationBlocked as error:
            await runs.dispatch_verdict(style, verdict_data(error.verdict, "block"))
            raise
        output, data = outcome_of(answer)
        await runs.dispatch_verdict(style, data)
        watch = watch_among(runs.handlers)
        if watch is not None:
            watch.record(data, None, structured=False)
        return output

    def _request(self, value: Any, kwargs: dict[str, Any]) -> Request:
        """Return the part of the request that the guard needs; the runnable holds the rest."""
        tools = kwargs.get("tools")
        # Regeneration has no other source for the question.
        needs_question = isinstance(self.guard.policy.action, Regenerate)
        messages = question_in(value) if needs_question else ()
        return Request(messages, None, {"tools": tools} if tools else {})

    def _sources(self, style: CallStyle, value: Any, kwargs: dict[str, Any], runs: Runs) -> Sources:
        runnable, policy = self.runnable, self.guard.policy
        hidden = policy.can_withhold
        writer = writer_of(runnable)
        make = partial(RunnableProvider, value=value, style=style)
        main = make(
            runnable=without_streaming(runnable) if hidden else runnable,
            kwargs=kwargs,
            config=partial(runs.main, hidden=hidden),
        )
        samples = make(
            runnable=for_sampling(runnable, policy.sampling),
            kwargs=sampling_kwargs(runnable, kwargs, policy.sampling),
            config=partial(runs.config, SAMPLE),
        )
        judge = own_judge(
            writer.model if writer else None,
            policy.sampling,
            style,
            partial(runs.config, JUDGE),
            Traced(default_provider(), runs.manager, JUDGE),
        )
        return Sources(main, samples, judge)


def _sampling_late(rerun: Rerun) -> Guard:
    """Return a guard that draws no samples until it is sure to need them.

    Tool calls and objects have no text to check, which is only known once the output is complete.
    """
    policy, sampling = rerun.guard.policy, rerun.guard.policy.sampling
    writer = writer_of(rerun.runnable)
    tools = writer is not None and writer.tools
    if sampling.start == "after" or (is_certainly_text(rerun.runnable) and not tools):
        return rerun.guard
    # A new guard would lack the retriever.
    if isinstance(policy.action, Regenerate):
        return rerun.guard
    patient = sampling.model_copy(update={"start": "after"})
    return rerun.guard.with_options(policy=policy.model_copy(update={"sampling": patient}))


AnyRunnable = Runnable[Any, Any]
Make = Callable[[BaseChatModel, OutputFormat | None], AnyRunnable]
"""Creates a replacement for a model, given how the model's answer is parsed."""


def with_guard_inserted(
    runnable: AnyRunnable, make: Make, output_format: OutputFormat | None = None
) -> AnyRunnable | None:
    """Return a copy of a runnable with every model replaced that may write its output.

    Models that write something else, such as a search query in a retrieval chain, stay as they are.

    Args:
        runnable: The runnable to copy; not changed.
        make: Creates the replacement for a model.
        output_format: How the output is parsed, if known.

    Returns:
        The copy, or None if the model that writes the output cannot be determined, because a
        function calls it.

    Raises:
        ConfigurationError: Several models write parts of the output.
    """
    if isinstance(runnable, BaseChatModel):
        return make(runnable, output_format)
    if isinstance(runnable, Wrapper):
        return with_guard_inserted(runnable.runnable, make, output_format)
    if isinstance(runnable, RunnableSequence):
        return _in_sequence(runnable, make, output_format)
    if isinstance(runnable, RunnableParallel):
        return _in_parallel(runnable, make, output_format)
    if isinstance(runnable, RunnableBranch):
        new = _part(
            [*(then for _, then in runnable.branches), runnable.default], make, output_format
        )
        if new is None:
            return None
        pairs = [(when, then) for (when, _), then in zip(runnable.branches, new[:-1], strict=True)]
        return runnable.model_copy(update={"branches": pairs, "default": new[-1]})
    parts = next((names for kind, names in _PARTS.items() if isinstance(runnable, kind)), None)
    if parts is None:
        return None
    update: dict[str, Any] = {}
    for name in parts:
        new = _part(getattr(runnable, name), make, output_format)
        if new is None:
            return None
        update[name] = new
    return cast("Any", runnable).model_copy(update=update)


# The fields whose runnables may all write the output.
_PARTS: Mapping[type[Any], tuple[str, ...]] = {
    RunnableAssign: ("mapper",),
    RunnableBindingBase: ("bound",),
    RunnableEachBase: ("bound",),
    RunnableWithFallbacks: ("runnable", "fallbacks"),
    RouterRunnable: ("runnables",),
    RunnableConfigurableAlternatives: ("default", "alternatives"),
}


def _part(part: Any, make: Make, output_format: OutputFormat | None) -> Any:
    """Return a copy of a part with all models replaced, or None if that is impossible."""
    if isinstance(part, Runnable):
        return with_guard_inserted(cast("AnyRunnable", part), make, output_format)
    if isinstance(part, Mapping):
        parts = cast("Mapping[Any, Any]", part)
        values = _part(list(parts.values()), make, output_format)
        return values and dict(zip(parts, values, strict=True))
    if not isinstance(part, (list, tuple)):
        # A factory function for an alternative.
        return None
    items = [_part(item, make, output_format) for item in cast("Sequence[Any]", part)]
    return None if None in items else items


def _in_sequence(
    sequence: RunnableSequence[Any, Any], make: Make, output_format: OutputFormat | None
) -> AnyRunnable | None:
    steps = list(sequence.steps)
    for i in reversed(range(len(steps))):
        new = with_guard_inserted(steps[i], make, _output_format(steps[i + 1 :]) or output_format)
        if new is not None:
            steps[i] = new
            update = {"first": steps[0], "middle": steps[1:-1], "last": steps[-1]}
            return sequence.model_copy(update=update)
    return None


def _output_format(steps: Sequence[AnyRunnable]) -> OutputFormat | None:
    """Return how the steps after the model parse its answer, if they show it."""
    parsers = [step for step in steps if isinstance(step, BaseOutputParser)]
    if not parsers:
        return None
    if isinstance(parsers[0], JsonOutputToolsParser):
        return "tools"
    return "json" if isinstance(parsers[0], JsonOutputParser) else "text"


def _in_parallel(
    parallel: RunnableParallel[Any], make: Make, output_format: OutputFormat | None
) -> AnyRunnable | None:
    branches: Mapping[str, AnyRunnable] = parallel.steps__
    new = {
        key: after
        for key, step in branches.items()
        if (after := with_guard_inserted(step, make, output_format))
    }
    if len(new) > 1:
        raise ConfigurationError(
            f"several models write the output, under {sorted(new)}; guard each of them alone"
        )
    return parallel.model_copy(update={"steps__": {**branches, **new}}) if new else None
