"""Refuses early what a policy asks for and a runnable cannot give."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.history import RunnableWithMessageHistory

from resay.adapters import asking_writer
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Sampling
from resay_langchain._inside import speaker_of, without_logprobs
from resay_langchain._litellm import UnmappedError, connection_of

__all__ = ["check_opaque", "check_runnable"]


def check_runnable(runnable: Runnable[Any, Any], guard: Guard) -> None:
    """Check what is true of any runnable.

    Raises:
        ConfigurationError: The policy asks for what cannot be had from it.
    """
    if isinstance(runnable, RunnableWithMessageHistory):
        raise ConfigurationError(
            "guard the runnable inside RunnableWithMessageHistory instead: what it does around it"
            " happens in functions that cannot be looked into"
        )
    speaker = speaker_of(runnable)
    _check_way(speaker.model if speaker else None, guard.policy.sampling)
    method = guard.asking_response_model
    if method and speaker is None:
        raise ConfigurationError(
            f"method {method!r} asks the model that wrote the response, which cannot be found in"
            f" this {type(runnable).__name__}; name a judge in the policy with `judge:`"
        )
    if speaker is None and (asked := asking_writer(guard.policy)):
        missing = "a `writer`" if asked == "writer" else "a judge for the checks of `recheck`"
        raise ConfigurationError(
            "the policy regenerates by the model that wrote the response, which cannot be found in"
            f" this {type(runnable).__name__}; name {missing} in its `action`"
        )
    method = guard.needing("logprobs")
    if method and without_logprobs(runnable):
        raise ConfigurationError(
            f"method {method!r} looks at the probabilities of the response's tokens, and this"
            f" {type(runnable).__name__} does not give them; guard the chat model itself, with"
            " `logprobs=True` (and `top_logprobs` for entropies) set on it or bound to it"
        )


def _check_way(model: object, sampling: Sampling) -> None:
    if sampling.via == "native" and sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {sampling.model!r}, which litellm reaches; leave it or"
            " `sampling.via: native` out"
        )
    if sampling.via != "litellm" or sampling.model is not None:
        return
    if not isinstance(model, BaseChatModel):
        raise ConfigurationError(
            "`sampling.via` is 'litellm', but no chat model can be found inside; leave it out"
        )
    try:
        connection_of(model)
    except UnmappedError as error:
        raise ConfigurationError(
            f"`sampling.via` is 'litellm', but {error}; use `auto` or `native`"
        ) from None


def check_opaque(runnable: Runnable[Any, Any], guard: Guard) -> None:
    """Check what is true of a runnable that has to be run again as a whole.

    Raises:
        ConfigurationError: The policy asks for what cannot be had from it.
    """
    model = guard.policy.sampling.model
    if model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {model!r}, but a {type(runnable).__name__} is asked again as it"
            " is; leave `sampling.model` out"
        )
    if method := guard.needing("references"):
        raise ConfigurationError(
            f"method {method!r} compares with references, which cannot be seen in this"
            f" {type(runnable).__name__}; leave `evidence: references` out"
        )
