"""Guarding a runnable."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from os import PathLike
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    BaseCallbackHandler,
    CallbackManagerForChainRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import Runnable, RunnableConfig, patch_config
from pydantic import model_validator

from resay.errors import ConfigurationError, HallucinationBlocked
from resay.guard import Guard, Sources
from resay.policy import Policy
from resay.query import Query
from resay.scorers import SampleConfig, Step
from resay.sync import run_sync
from resay_langchain._inside import (
    for_judging,
    for_sampling,
    sampling_kwargs,
    speaker_of,
    surely_text,
    unstreamed,
    without_logprobs,
)
from resay_langchain._outcome import outcome_of, verdict_data
from resay_langchain._providers import (
    JudgeProvider,
    Run,
    RunnableProvider,
    in_loop,
    in_thread,
)
from resay_langchain._wrapper import Wrapper

__all__ = ["VERDICT_EVENT", "GuardedRunnable", "guard"]

VERDICT_EVENT = "resay_verdict"
"""The name of the custom event that carries the verdict on every output."""

# LangGraph leaves runs with this tag out of its streams of messages.
_UNSEEN = "nostream"

_inside_guard: ContextVar[bool] = ContextVar("resay_langchain_inside_guard", default=False)

RunManager = CallbackManagerForChainRun | AsyncCallbackManagerForChainRun


def guard(
    runnable: Runnable[Any, Any],
    policy: Guard | Policy | str | PathLike[str] | Mapping[str, Any] | None = None,
) -> GuardedRunnable:
    """Guard a runnable that gives a message or a text.

    It is run as before, and again for each sample, on the same input. Whatever it does besides
    answering, it does again too: guard the part of a chain that has no side effects.

    For samples the models inside are copied, so that they answer without a cache, a temperature
    of 0, a seed or a stream. Models inside functions (`RunnableLambda`) cannot be reached. When
    such a one gives the same answer each time, the verdict is inconclusive and says so.

    Args:
        runnable: A chat model, or anything composed around one.
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            the default.

    Returns:
        A runnable that takes the same input and gives the same kind of output.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had from this runnable.

    Example:
        ```python
        chain = guard(prompt | model, {"chain": [{"method": "ngram"}]})
        message = chain.invoke({"question": "Who designed the Sydney Harbour Bridge?"})
        message.response_metadata["hallucination"]["flagged"]
        ```
    """
    if not isinstance(runnable, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"guard() takes a LangChain runnable, not {type(runnable).__name__!r}"
        )
    checked = policy if isinstance(policy, Guard) else Guard(policy)
    return GuardedRunnable(runnable=runnable, guard=checked)


class GuardedRunnable(Wrapper):
    """A runnable whose output is checked and acted on as a policy says.

    A message comes with its verdict in `response_metadata["hallucination"]`: the fields of
    `resay.Verdict` and the `action` that was taken. A text has no place for one and an output that
    is neither is not checked; for all of them the verdict is dispatched as the custom event
    `resay_verdict`, which callbacks and `astream_events` see.

    The output comes in one piece, also from `stream`, because the verdict is about the whole of
    it. Samples and judges are child runs named `resay:sample` and `resay:judge`, tagged `nostream`.
    Where the policy may withhold the answer, the run that gives it is not streamed either, but
    callbacks and traces still see it: they are the application's own.

    Inside a guarded runnable, further guards do nothing.

    Attributes:
        runnable: The runnable inside.
        guard: Checks and acts.
    """

    guard: Guard

    @model_validator(mode="after")
    def _must_be_able_to(self) -> GuardedRunnable:
        _check_policy(self.runnable, self.guard.policy)
        # Refuses what must not run twice, before anything is paid for.
        for_sampling(self.runnable, self.guard.policy.sampling)
        self.guard = _suited(self.guard, self.runnable)
        return self

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Run, check and act.

        Args:
            input: What the runnable inside takes.
            config: LangChain's configuration; it goes to the runnable inside too.
            **kwargs: Further arguments for the runnable inside.

        Returns:
            The output; the policy's message in its place when it is withheld.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            Exception: Whatever the runnable inside raises.
        """
        if _inside_guard.get():
            return self.runnable.invoke(input, config, **kwargs)
        return self._call_with_config(self._run_guarded, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Do what `invoke` does, on the caller's event loop."""
        if _inside_guard.get():
            return await self.runnable.ainvoke(input, config, **kwargs)
        return await self._acall_with_config(self._arun_guarded, input, config, **kwargs)

    def _run_guarded(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = _Call(self, value, kwargs, run_manager, config)
        try:
            with _marked():
                answer = run_sync(self.guard.arun, call.query, call.sources(in_thread))
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            dispatch_custom_event(VERDICT_EVENT, data, config=call.config())
            raise
        output, data = outcome_of(answer)
        dispatch_custom_event(VERDICT_EVENT, data, config=call.config())
        return output

    async def _arun_guarded(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = _Call(self, value, kwargs, run_manager, config)
        try:
            with _marked():
                answer = await self.guard.arun(call.query, call.sources(in_loop))
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            await adispatch_custom_event(VERDICT_EVENT, data, config=call.config())
            raise
        output, data = outcome_of(answer)
        await adispatch_custom_event(VERDICT_EVENT, data, config=call.config())
        return output


class _Call:
    """One call of a guarded runnable: what is asked, of whom, and as which child runs."""

    def __init__(
        self,
        guarded: GuardedRunnable,
        value: Any,
        kwargs: Mapping[str, Any],
        run_manager: RunManager,
        config: RunnableConfig,
    ) -> None:
        self._runnable = guarded.runnable
        self._policy = guarded.guard.policy
        self._value = value
        self._kwargs = kwargs
        self._run_manager = run_manager
        self._config = config

    @property
    def query(self) -> Query:
        """What the guard needs to know: the runnable holds the rest."""
        tools = self._kwargs.get("tools")
        return Query((), None, {"tools": tools} if tools else {})

    def sources(self, run: Run) -> Sources:
        """Return who answers what."""
        runnable, kwargs, sampling = self._runnable, self._kwargs, self._policy.sampling
        hidden = "block" in (self._policy.action.do, self._policy.on_error)
        speaker = speaker_of(runnable)
        return Sources(
            main=RunnableProvider(
                unstreamed(runnable) if hidden else runnable,
                self._value,
                kwargs,
                run,
                partial(self.config, tags=(_UNSEEN,) if hidden else ()),
            ),
            samples=RunnableProvider(
                for_sampling(runnable, sampling),
                self._value,
                sampling_kwargs(runnable, kwargs, sampling),
                run,
                partial(self.config, name="resay:sample", tags=("resay:sample", _UNSEEN)),
            ),
            judge=JudgeProvider(
                for_judging(speaker.model) if speaker else None,
                run,
                partial(self.config, name="resay:judge", tags=("resay:judge", _UNSEEN)),
            ),
        )

    def config(
        self,
        handler: BaseCallbackHandler | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
    ) -> RunnableConfig:
        """Return the configuration of a child run."""
        callbacks = self._run_manager.get_child()
        if handler is not None:
            callbacks.add_handler(handler)
        config = patch_config(self._config, callbacks=callbacks, run_name=name)
        config["tags"] = [*config.get("tags", ()), *tags]
        if name is not None:
            config["metadata"] = {**config.get("metadata", {}), "resay_call": name}
        return config


def _check_policy(runnable: Runnable[Any, Any], policy: Policy) -> None:
    if policy.sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {policy.sampling.model!r}, but a runnable is asked again as it"
            " is; leave `sampling.model` out"
        )
    for step in policy.chain:
        method = step.method_name
        if step.asks_response_model and speaker_of(runnable) is None:
            raise ConfigurationError(
                f"method {method!r} asks the model that wrote the response, which cannot be found"
                f" in this {type(runnable).__name__}; name a judge in the policy with `judge:`"
            )
        if "logprobs" in Step.of(step).needs and without_logprobs(runnable):
            raise ConfigurationError(
                f"method {method!r} looks at the probabilities of the response's tokens, and this"
                f" {type(runnable).__name__} does not give them; guard the chat model itself, with"
                " `logprobs=True` (and `top_logprobs` for entropies) set on it or bound to it"
            )
        if isinstance(step, SampleConfig) and step.evidence == "references":
            raise ConfigurationError(
                f"method {method!r} compares with references, and a guarded runnable has none to"
                " give; leave `evidence: references` out"
            )


def _suited(guard: Guard, runnable: Runnable[Any, Any]) -> Guard:
    """Return a guard that pays for no samples before it is sure to need them.

    A call of a tool or an object has no words to check, and that is only known when it is there.
    """
    sampling = guard.policy.sampling
    speaker = speaker_of(runnable)
    tools = speaker is not None and speaker.tools
    if sampling.start == "after" or (surely_text(runnable) and not tools):
        return guard
    patient = sampling.model_copy(update={"start": "after"})
    return Guard(guard.policy.model_copy(update={"sampling": patient}))


@contextmanager
def _marked() -> Generator[None, None, None]:
    """Tell the guards inside that one is at work already."""
    token = _inside_guard.set(True)
    try:
        yield
    finally:
        _inside_guard.reset(token)
