"""Puts a guard in the place of the chat model that writes a runnable's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

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
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives
from langchain_core.runnables.router import RouterRunnable

from resay.errors import ConfigurationError
from resay_langchain._inside import Wrapper
from resay_langchain._request import Reads

AnyRunnable = Runnable[Any, Any]
Make = Callable[[BaseChatModel, Reads | None], AnyRunnable]
"""Makes what stands in a model's place, knowing what the model's answer is read as."""


def grafted(runnable: AnyRunnable, make: Make, reads: Reads | None = None) -> AnyRunnable | None:
    """Return a copy of a runnable with every model replaced that may write its output.

    Models that write something else, such as a search query in a retrieval chain, stay as they are.

    Args:
        runnable: What to copy; not changed.
        make: Makes what stands in a model's place.
        reads: What reads the output, where that is known.

    Returns:
        The copy; None where it cannot be seen who writes the output, because that happens in a
        function.

    Raises:
        ConfigurationError: Several models write parts of the output.
    """
    if isinstance(runnable, BaseChatModel):
        return make(runnable, reads)
    if isinstance(runnable, Wrapper):
        return grafted(runnable.runnable, make, reads)
    if isinstance(runnable, RunnableSequence):
        return _in_sequence(runnable, make, reads)
    if isinstance(runnable, RunnableParallel):
        return _in_parallel(runnable, make, reads)
    if isinstance(runnable, RunnableAssign):
        mapper = cast("AnyRunnable", runnable.mapper)
        return _replaced(runnable, make, reads, mapper=mapper)
    if isinstance(runnable, (RunnableBindingBase, RunnableEachBase)):
        bound = cast("AnyRunnable", runnable.bound)  # pyright: ignore[reportUnknownMemberType] - LangChain's
        return _replaced(runnable, make, reads, bound=bound)
    return _among_alternatives(runnable, make, reads)


def _among_alternatives(
    runnable: AnyRunnable, make: Make, reads: Reads | None
) -> AnyRunnable | None:
    if isinstance(runnable, RunnableWithFallbacks):
        main: AnyRunnable = runnable.runnable
        return _replaced(runnable, make, reads, runnable=main, fallbacks=runnable.fallbacks)
    if isinstance(runnable, RunnableBranch):
        branches = [branch for _, branch in runnable.branches]
        new = _all(branches, make, reads)
        default = grafted(runnable.default, make, reads)
        if new is None or default is None:
            return None
        pairs = [(when, then) for (when, _), then in zip(runnable.branches, new, strict=True)]
        return runnable.model_copy(update={"branches": pairs, "default": default})
    if isinstance(runnable, RouterRunnable):
        return _replaced(runnable, make, reads, runnables=runnable.runnables)
    if isinstance(runnable, RunnableConfigurableAlternatives):
        return _replaced(
            runnable, make, reads, default=runnable.default, alternatives=runnable.alternatives
        )
    return None


def _in_sequence(
    sequence: RunnableSequence[Any, Any], make: Make, reads: Reads | None
) -> AnyRunnable | None:
    steps = list(sequence.steps)
    for i in reversed(range(len(steps))):
        new = grafted(steps[i], make, _reads(steps[i + 1 :]) or reads)
        if new is not None:
            steps[i] = new
            update = {"first": steps[0], "middle": steps[1:-1], "last": steps[-1]}
            return sequence.model_copy(update=update)
    return None


def _reads(steps: Sequence[AnyRunnable]) -> Reads | None:
    """Return what an answer is read as by the steps after the model, where they tell."""
    parsers = [step for step in steps if isinstance(step, BaseOutputParser)]
    if not parsers:
        return None
    if isinstance(parsers[0], JsonOutputToolsParser):
        return "tools"
    return "json" if isinstance(parsers[0], JsonOutputParser) else "text"


def _in_parallel(
    parallel: RunnableParallel[Any], make: Make, reads: Reads | None
) -> AnyRunnable | None:
    branches: Mapping[str, AnyRunnable] = parallel.steps__
    new = {key: after for key, step in branches.items() if (after := grafted(step, make, reads))}
    if len(new) > 1:
        raise ConfigurationError(
            f"several models write the output, under {sorted(new)}; guard each of them alone"
        )
    return parallel.model_copy(update={"steps__": {**branches, **new}}) if new else None


def _replaced(inside: Any, make: Make, reads: Reads | None, **parts: Any) -> AnyRunnable | None:
    """Return a copy with all of the parts grafted, None where one cannot be."""
    update: dict[str, Any] = {}
    for name, part in parts.items():
        new = _replaced_part(part, make, reads)
        if new is None:
            return None
        update[name] = new
    return cast("AnyRunnable", inside.model_copy(update=update))


def _replaced_part(part: Any, make: Make, reads: Reads | None) -> Any:
    if isinstance(part, Runnable):
        return grafted(cast("AnyRunnable", part), make, reads)
    if isinstance(part, Mapping):
        named = cast("Mapping[Any, Any]", part)
        values = _all(list(named.values()), make, reads)
        return values and dict(zip(named, values, strict=True))
    return _all(list(part), make, reads)


def _all(runnables: Sequence[Any], make: Make, reads: Reads | None) -> list[AnyRunnable] | None:
    new = [
        grafted(cast("AnyRunnable", r), make, reads) if isinstance(r, Runnable) else None
        for r in runnables
    ]
    return None if None in new else cast("list[AnyRunnable]", new)
