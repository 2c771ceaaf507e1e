"""Inspection of runnables: the model that writes the response, copies for samples, and checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import (
    ConfigurableFieldSpec,
    Runnable,
    RunnableAssign,
    RunnableBranch,
    RunnableConfig,
    RunnableParallel,
    RunnableSequence,
    RunnableSerializable,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.runnables.router import RouterRunnable
from pydantic import ConfigDict

from resay import Guard, Request
from resay.adapters import GuardRuntime, Sampling
from resay.adapters.litellm_models import litellm_request
from resay.adapters.models import (
    FRESH_ANSWER,
    ONE_PLAIN_ANSWER,
    with_defaults,
    with_fields,
    with_sampling_on,
)
from resay.adapters.policies import check_via, refuse_without_writer
from resay.adapters.upstream import UnmappedError
from resay.errors import ConfigurationError
from resay_langchain._litellm import LITELLM_MODELS

if TYPE_CHECKING:
    from langchain_core.utils.pydantic import TypeBaseModel


class Wrapper(RunnableSerializable[Any, Any]):
    """Exposes the types, schemas and attributes of the runnable inside.

    If a method of the runnable inside returns a runnable, that is wrapped in the same way:
    `guarded.bind_tools([…])` is guarded too.

    Attributes:
        runnable: The runnable inside.
    """

    runnable: Runnable[Any, Any]

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def InputType(self) -> type[Any]:  # noqa: N802 - LangChain's name
        """The input type of the runnable inside."""
        return self.runnable.InputType

    @property
    def OutputType(self) -> type[Any]:  # noqa: N802 - LangChain's name
        """The output type of the runnable inside."""
        return self.runnable.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> TypeBaseModel:
        """Return the input schema of the runnable inside."""
        return self.runnable.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> TypeBaseModel:
        """Return the output schema of the runnable inside."""
        return self.runnable.get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of the runnable inside."""
        return self.runnable.config_specs

    def around(self, runnable: Runnable[Any, Any]) -> Wrapper:
        """Return the same wrapper around another runnable."""
        fields: dict[str, Any] = {**dict(self), "runnable": runnable}
        return type(self)(**fields)

    def __getattr__(self, name: str) -> Any:
        # Copying and unpickling access private names before `runnable` is set.
        if name.startswith("_") or "runnable" not in self.__dict__:
            inherited: Any = super()
            return inherited.__getattr__(name)
        attribute = getattr(self.runnable, name)
        return self._rewrapping(attribute) if inspect.ismethod(attribute) else attribute

    def _rewrapping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if not isinstance(result, Runnable):
                return result
            return self.around(cast("Runnable[Any, Any]", result))

        return call


AnyRunnable = Runnable[Any, Any]
Model = BaseLanguageModel[Any]
M = TypeVar("M", bound=BaseLanguageModel[Any])
# The runnables that LangChain composes others with. Functions cannot be inspected; retrievers,
# tools and parsers have models of their own, which do not write the response.
_CONTAINERS: tuple[type[RunnableSerializable[Any, Any]], ...] = (
    RouterRunnable,
    RunnableAssign,
    RunnableBindingBase,
    RunnableBranch,
    RunnableEachBase,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
    DynamicRunnable,
    Wrapper,
)


@dataclass(frozen=True, slots=True)
class Writer:
    """The language model that writes a runnable's response.

    Attributes:
        model: The model.
        tools: Whether tools are bound to it.
        logprobs: Whether the log-probabilities of its tokens are requested.
    """

    model: Model
    tools: bool = False
    logprobs: bool = False


def writer_of(runnable: AnyRunnable) -> Writer | None:
    """Return the model that writes the response, or None if it cannot be determined."""
    if isinstance(runnable, BaseLanguageModel):
        kwargs: Mapping[str, Any] = getattr(runnable, "model_kwargs", None) or {}
        logprobs = getattr(runnable, "logprobs", None) or kwargs.get("logprobs")
        return Writer(runnable, logprobs=bool(logprobs))
    if isinstance(runnable, RunnableSequence):
        for step in reversed(runnable.steps):
            writer = writer_of(step)
            if writer is not None:
                return writer
        return None
    if isinstance(runnable, RunnableParallel):
        writers = [writer for writer in map(writer_of, runnable.steps__.values()) if writer]
        # With several models, it is unclear which one's text to check.
        return writers[0] if len(writers) == 1 else None
    if isinstance(runnable, RunnableAssign):
        return writer_of(cast("AnyRunnable", runnable.mapper))
    inner = _step_into(runnable, 0)
    writer = writer_of(inner) if inner is not None else None
    if writer and isinstance(runnable, RunnableBindingBase):
        bound: Mapping[str, Any] = runnable.kwargs
        return replace(
            writer,
            tools=writer.tools or bool(bound.get("tools")),
            logprobs=bool(bound.get("logprobs", writer.logprobs)),
        )
    return writer


def without_logprobs(runnable: AnyRunnable) -> bool:
    """Return whether the output certainly comes without log-probabilities."""
    writer = writer_of(runnable)
    silent = writer is not None and not writer.logprobs
    # Log-probabilities are in the message, of which this parser keeps only the text.
    return silent or isinstance(_innermost(runnable, -1), StrOutputParser)


def is_certainly_text(runnable: AnyRunnable) -> bool:
    """Return whether the output is known in advance to be a message or a text."""
    return isinstance(_innermost(runnable, -1), (BaseLanguageModel, StrOutputParser))


def without_streaming(runnable: AnyRunnable) -> AnyRunnable:
    """Return a copy whose models never stream, whichever handlers listen."""

    def change(inside: AnyRunnable) -> AnyRunnable | None:
        return _not_streaming(inside) if isinstance(inside, BaseLanguageModel) else None

    return _rebuilt(runnable, change)


def judges_of(model: Model, sampling: Sampling) -> tuple[AnyRunnable, AnyRunnable]:
    """Return copies of a model for judging.

    Args:
        model: The model.
        sampling: How the policy samples. Its parameters are ignored, since a token limit for
            samples, for example, would cut off a judge's answer.

    Returns:
        One copy that gives a plain answer, and one that gives a different answer each time. Neither
        streams. They share the clients of the original.
    """
    plain = with_defaults(_not_streaming(model), ONE_PLAIN_ANSWER)
    return plain, for_sampling(model, sampling.model_copy(update={"params": {}}))


def for_sampling(runnable: AnyRunnable, sampling: Sampling) -> AnyRunnable:
    """Return a copy whose models give a different answer each time.

    Caches, a temperature of zero and seeds are removed, and the policy's temperature and parameters
    are added.

    Args:
        runnable: The runnable; not changed.
        sampling: How the policy samples.

    Returns:
        The copy. It shares the clients of the original.

    Raises:
        ConfigurationError: Running it again would have side effects.
    """
    request = Request(()).for_sampling(temperature=sampling.temperature, params=sampling.params)
    extra = dict(request.params)

    def change(inside: AnyRunnable) -> AnyRunnable | None:
        if isinstance(inside, RunnableWithMessageHistory):
            raise ConfigurationError(
                "samples would be written to the history of RunnableWithMessageHistory; guard the"
                " runnable inside it instead"
            )
        if any(kind.__module__.startswith("langgraph.") for kind in type(inside).__mro__):
            raise ConfigurationError(
                f"{type(inside).__name__} is a graph; its tools would run again for each sample;"
                " guard the chat model in it, or pass HallucinationMiddleware to an agent"
            )
        if isinstance(inside, BaseLanguageModel):
            model = fresh(inside)
            return model.bind(**extra) if extra else model
        if isinstance(inside, RunnableBindingBase) and inside.kwargs:
            kwargs = sampling_kwargs(inside, inside.kwargs, sampling)
            bound = _rebuilt(inside.bound, change)
            return inside.model_copy(update={"bound": bound, "kwargs": kwargs})
        return None

    return _rebuilt(runnable, change)


def sampling_kwargs(
    runnable: AnyRunnable, kwargs: Mapping[str, Any], sampling: Sampling
) -> dict[str, Any]:
    """Return the keyword arguments for a sample."""
    # They may not reach a language model.
    if not kwargs or not isinstance(_innermost(runnable, 0), BaseLanguageModel):
        return dict(kwargs)
    request = Request((), None, kwargs)
    return dict(
        request.for_sampling(temperature=sampling.temperature, params=sampling.params).params
    )


def _innermost(runnable: AnyRunnable, step: int) -> AnyRunnable:
    while (inner := _step_into(runnable, step)) is not None:
        runnable = inner
    return runnable


def _step_into(runnable: AnyRunnable, step: int) -> AnyRunnable | None:
    """Return the runnable that does the work inside: for a sequence, the step with this index."""
    if isinstance(runnable, RunnableSequence):
        return runnable.steps[step]
    if isinstance(runnable, RunnableBindingBase):
        return runnable.bound
    if isinstance(runnable, (RunnableWithFallbacks, Wrapper)):
        return runnable.runnable
    if isinstance(runnable, DynamicRunnable):
        return runnable.default
    return None


def _rebuilt(
    runnable: AnyRunnable, change: Callable[[AnyRunnable], AnyRunnable | None]
) -> AnyRunnable:
    """Return a copy with some of the runnables inside replaced.

    Args:
        runnable: The runnable to copy; not changed.
        change: Given a runnable, returns its replacement, or None to search inside it.

    Returns:
        The copy.
    """

    def visit(value: object) -> Any:
        if isinstance(value, Runnable):
            return _rebuilt(cast("AnyRunnable", value), change)
        if type(value) in (list, tuple):
            items = cast("list[object] | tuple[object, ...]", value)
            return type(items)(visit(item) for item in items)
        if type(value) is dict:
            return {key: visit(item) for key, item in cast("dict[object, object]", value).items()}
        return value

    replacement = change(runnable)
    if replacement is not None:
        return replacement
    if not isinstance(runnable, _CONTAINERS):
        return runnable
    # Arguments bound to a runnable are data, and contain none of its parts.
    parts = type(runnable).model_fields.keys() - {"config", "kwargs"}
    return runnable.model_copy(update={name: visit(getattr(runnable, name)) for name in parts})


def _not_streaming(model: M) -> M:
    # In some models, `streaming` overrides `disable_streaming`, since it is part of the request.
    return with_fields(model, {"disable_streaming": True, "streaming": False})


def fresh(model: M) -> M:
    """Return a copy of a model that gives a different answer each time."""
    model = with_sampling_on(with_defaults(_not_streaming(model), FRESH_ANSWER))
    changes: dict[str, Any] = {"cache": False}
    if isinstance(inner := getattr(model, "llm", None), BaseLanguageModel):
        changes["llm"] = fresh(cast("Model", inner))
    if kwargs := getattr(model, "model_kwargs", None):
        changes["model_kwargs"] = dict(Request((), None, kwargs).for_sampling().params)
    return with_fields(model, changes)


def check_runnable(runnable: Runnable[Any, Any], guard: Guard) -> None:
    """Check that a runnable can do what the policy needs.

    Raises:
        ConfigurationError: The policy needs something that the runnable cannot provide.
    """
    if isinstance(runnable, RunnableWithMessageHistory):
        raise ConfigurationError(
            "guard the runnable inside RunnableWithMessageHistory instead: its own work is done in"
            " functions that Resay cannot inspect"
        )
    writer = writer_of(runnable)
    _check_via(writer.model if writer else None, guard.policy.sampling)
    if writer is None:
        refuse_without_writer(guard, runnable)
    if without_logprobs(runnable):
        GuardRuntime(guard).require_inputs(
            {
                "logprobs": f", and this {type(runnable).__name__} does not return them; guard the"
                " chat model itself, with `logprobs=True` (and `top_logprobs` for entropies) set on"
                " it or bound to it"
            }
        )


def _check_via(model: object, sampling: Sampling) -> None:
    reason = None
    if not isinstance(model, BaseChatModel):
        reason = "no chat model can be found inside"
    elif sampling.via == "litellm":
        try:
            litellm_request(LITELLM_MODELS, model)
        except UnmappedError as error:
            reason = str(error)
    check_via(sampling, reason)


def check_rerun(runnable: Runnable[Any, Any], guard: Guard) -> None:
    """Check that a runnable can do what the policy needs, if each sample runs all of it.

    Raises:
        ConfigurationError: The policy needs something that the runnable cannot provide.
    """
    model = guard.policy.sampling.model
    if model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {model!r}, but a {type(runnable).__name__} is asked again as it"
            " is; leave `sampling.model` out"
        )
    unseen = f", which cannot be seen in this {type(runnable).__name__}; use"
    GuardRuntime(guard).require_inputs({"references": f"{unseen} `evidence: documents`"})
