"""Guarding a runnable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig, patch_config
from langchain_core.runnables.utils import AddableDict
from pydantic import PrivateAttr, model_validator

from resay.adapters import (
    VERDICT_KEY,
    OnVerdict,
    PolicyLike,
    acarried,
    acarrying,
    carried,
    carrying,
    inside_guard,
)
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay_langchain._fitness import check_opaque, check_runnable
from resay_langchain._grafting import grafted
from resay_langchain._model import GuardedChatModel
from resay_langchain._policies import guarding, withholding
from resay_langchain._rerun import Rerun
from resay_langchain._watch import Watch
from resay_langchain._wrapper import Wrapper

__all__ = ["GuardedRunnable", "guard"]


def guard(
    runnable: Runnable[Any, Any],
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> Runnable[Any, Any]:
    """Guard anything that a chat model writes the output of.

    In a chain, the model that writes the output is asked again, with what it was asked; the steps
    before it run once. Where it cannot be seen which model that is, because it is called in a
    function, the whole runnable is run again for each sample: guard no more than what has no side
    effects then.

    Args:
        runnable: A chat model, or anything composed around one.
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for the
            one that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: a `BaseRetriever`, a
            `VectorStore`, or whatever else `as_retriever` takes; in place of the one that the
            policy names.
        on_verdict: As for `GuardedChatModel`.

    Returns:
        A `GuardedChatModel` for a chat model, a `GuardedRunnable` for anything else: both take the
        same input and give the same kind of output.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had from this runnable, or it
            regenerates and there is no retriever.

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
    if isinstance(runnable, BaseChatModel):
        return GuardedChatModel(runnable, policy, retriever=retriever, on_verdict=on_verdict)
    return GuardedRunnable(runnable=runnable, guard=guarding(policy, retriever, on_verdict))


class GuardedRunnable(Wrapper):
    """A runnable whose output is checked and acted on as a policy says.

    A message comes with its verdict in `response_metadata["hallucination"]`, an output with keys
    under the key `hallucination`; a plain text, and an object, have no place for one. For all of
    them the verdict is dispatched as the custom event `resay_verdict`, which `VerdictCollector`,
    other callbacks and `astream_events` see.

    An object that is withheld has nothing to stand in its place: that raises `HallucinationBlocked`
    whatever `exit` says. An output with `parsing_error`, as `with_structured_output(…,
    include_raw=True)` gives it, holds the error there instead.

    Inside a guarded model or a runnable that is run again, further guards do nothing.

    Attributes:
        runnable: The runnable inside.
        guard: Checks and acts.
    """

    guard: Guard

    _guarded: Runnable[Any, Any] = PrivateAttr()

    @model_validator(mode="after")
    def _must_be_able_to(self) -> GuardedRunnable:
        # First, because what is wrong with several models has nothing to do with the policy.
        inside = grafted(
            self.runnable, lambda model, reads: GuardedChatModel.made(model, self.guard, reads)
        )
        check_runnable(self.runnable, self.guard)
        if inside is None:
            check_opaque(self.runnable, self.guard)
            inside = Rerun(runnable=self.runnable, guard=self.guard)
        self._guarded = inside
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
        if inside_guard():
            return self.runnable.invoke(input, config, **kwargs)
        with carried():
            return self._call_with_config(self._run, input, config, **kwargs)

    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        run = _Watched(self.guard, run_manager, config)
        try:
            output = self._guarded.invoke(value, run.config, **kwargs)
        except Exception as error:
            run.explain(error)
            raise
        return run.finished(output)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Do what `invoke` does, on the caller's event loop."""
        if inside_guard():
            return await self.runnable.ainvoke(input, config, **kwargs)
        async with acarried():
            return await self._acall_with_config(self._arun, input, config, **kwargs)

    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        run = _Watched(self.guard, run_manager, config)
        try:
            output = await self._guarded.ainvoke(value, run.config, **kwargs)
        except Exception as error:
            run.explain(error)
            raise
        return run.finished(output)

    def transform(
        self,
        input: Iterator[Any],  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Do what `invoke` does, handing over the output as the policy's `stream` says."""
        if inside_guard():
            yield from self.runnable.transform(input, config, **kwargs)
            return
        yield from carrying(
            self._transform_stream_with_config(input, self._transform, config, **kwargs)
        )

    def _transform(
        self,
        inputs: Iterator[Any],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        run = _Watched(self.guard, run_manager, config)
        try:
            for chunk in self._guarded.transform(inputs, run.config, **kwargs):
                run.seen(chunk)
                yield chunk
        except Exception as error:
            run.explain(error)
            raise
        yield from run.rest()

    def stream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Do what `transform` does, for an input that is there."""
        yield from self.transform(iter([input]), config, **kwargs)

    async def atransform(
        self,
        input: AsyncIterator[Any],  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Do what `transform` does, on the caller's event loop."""
        if inside_guard():
            chunks = self.runnable.atransform(input, config, **kwargs)
        else:
            chunks = acarrying(
                self._atransform_stream_with_config(input, self._atransform, config, **kwargs)
            )
        async for chunk in chunks:
            yield chunk

    async def _atransform(
        self,
        inputs: AsyncIterator[Any],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        run = _Watched(self.guard, run_manager, config)
        try:
            async for chunk in self._guarded.atransform(inputs, run.config, **kwargs):
                run.seen(chunk)
                yield chunk
        except Exception as error:
            run.explain(error)
            raise
        for chunk in run.rest():
            yield chunk

    async def astream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Do what `stream` does, on the caller's event loop."""

        async def only() -> AsyncIterator[Any]:
            yield input

        async for chunk in self.atransform(only(), config, **kwargs):
            yield chunk


class _Watched:
    """One run of a guarded runnable, and what its guard found."""

    def __init__(
        self,
        guard: Guard,
        run_manager: CallbackManagerForChainRun | AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> None:
        self._policy = guard.policy
        self._watch = Watch(collects=guard.needing("references") is not None)
        manager = run_manager.get_child()
        manager.add_handler(self._watch)
        self.config = patch_config(config, callbacks=manager)
        self._has_keys = False

    def finished(self, output: Any) -> Any:
        """Return the output with its verdict, if it has a place for one."""
        keyed = cast("dict[Any, Any] | None", output if isinstance(output, dict) else None)
        if self._watch.structured and keyed is not None and "parsing_error" in keyed:
            return self._with_error(keyed)
        self._raise_withheld()
        if keyed is None or self._watch.structured or not self._watch.verdict:
            return cast("Any", output)
        return {**keyed, VERDICT_KEY: self._watch.verdict}

    def _with_error(self, output: dict[Any, Any]) -> dict[Any, Any]:
        blocked = self._watch.blocked
        if blocked is not None and self._raises:
            raise blocked
        return {**output, "parsed": None, "parsing_error": blocked} if blocked else output

    def seen(self, chunk: Any) -> None:
        """Take note of what kind of output is streamed."""
        # What composes an output with keys streams it so; a parser streams objects of its own.
        self._has_keys = self._has_keys or isinstance(chunk, AddableDict)

    def rest(self) -> Iterator[Any]:
        """Yield what comes after the output."""
        self._raise_withheld()
        if self._has_keys and self._watch.verdict and not self._watch.structured:
            yield AddableDict({VERDICT_KEY: self._watch.verdict})

    def explain(self, error: Exception) -> None:
        """Raise in place of an error that is due to a withheld answer, such as a parser's."""
        blocked = self._watch.blocked
        if blocked is not None and error is not blocked:
            raise blocked from None

    @property
    def _raises(self) -> bool:
        block = withholding(self._policy)
        return block is not None and block.exit == "raise"

    def _raise_withheld(self) -> None:
        blocked = self._watch.blocked
        if blocked is not None and (self._raises or self._watch.structured):
            raise blocked
