"""Copies of LLMs for samples and judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay import Request
from resay.adapters import CONNECTION_PARAMS, Sampling
from resay.adapters.models import (
    FRESH_ANSWER,
    ONE_PLAIN_ANSWER,
    with_defaults,
    with_fields,
    with_sampling_on,
)
from resay.adapters.upstream import OwnJudge
from resay.plugins import Completions
from resay_llamaindex._callers import Caller
from resay_llamaindex._providers import LLMProvider
from resay_llamaindex._requests import Chat, chat_message
from resay_llamaindex._usage import counted

# The providers' own default, and the only temperature that some models accept.
_PLAIN_TEMPERATURE = 1.0
_CACHES = ("cache", "caching")


def too_cold(temperature: object) -> bool:
    """Return whether samples at this temperature would be near copies of each other.

    LlamaIndex sends 0.1 by default, which says nothing about the temperature wanted for samples.
    """
    return isinstance(temperature, (int, float)) and temperature <= DEFAULT_TEMPERATURE


def judges_of(llm: LLM, sampling: Sampling) -> tuple[LLM, LLM]:
    """Return copies of an LLM for judging, without the application's callbacks.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy samples.

    Returns:
        One copy that gives a plain answer, and one that gives a different answer each time. They
        share the clients that the original has created already.
    """
    if isinstance(llm, StructuredLLM):
        return judges_of(llm.llm, sampling)
    plain = with_fields(with_defaults(llm, ONE_PLAIN_ANSWER), counted())
    return plain, for_sampling(llm, sampling)


def own_judge(
    judges: tuple[LLM, LLM] | None,
    caller: Caller,
    *,
    source: str | None = None,
    takes_openai_params: bool = False,
) -> OwnJudge:
    """Return the judge that uses the response's own LLM.

    Args:
        judges: The copies of the LLM, or None if it cannot be reached.
        caller: How to call it.
        source: Distinguishes its answers from those of others.
        takes_openai_params: Whether it takes OpenAI's parameters in a call.
    """
    if judges is None:
        return OwnJudge(None)
    plain, varied = judges

    async def ask(request: Request) -> Completions:
        kwargs = {k: v for k, v in request.params.items() if k not in CONNECTION_PARAMS}
        llm = varied if request.varied else plain
        kwargs = _varied_kwargs(kwargs, llm) if request.varied else kwargs
        chat = Chat([chat_message(m) for m in request.messages], kwargs)
        return await LLMProvider(chat, llm, caller, "judge").complete(Request(()))

    return OwnJudge(own=ask, cache_source=source, takes_openai_params=takes_openai_params)


def for_sampling(llm: LLM, sampling: Sampling) -> LLM:
    """Return a copy of an LLM that gives a different answer each time.

    The copy has no seed, no caches and no low temperature, but the policy's sampling parameters.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy samples.

    Returns:
        The copy. It shares the clients that the original has created already.
    """
    if isinstance(llm, StructuredLLM):
        inside = for_sampling(llm.llm, sampling)
        return with_fields(llm, {"llm": inside, "callback_manager": CallbackManager([])})
    fresh = with_sampling_on(with_defaults(llm, FRESH_ANSWER))
    changes: dict[str, Any] = dict(counted())
    if kwargs := getattr(llm, "additional_kwargs", None):
        changes["additional_kwargs"] = _fresh_kwargs(kwargs, sampling)
    if sampling.temperature is not None:
        changes["temperature"] = sampling.temperature
    elif too_cold(getattr(llm, "temperature", None)):
        changes["temperature"] = _PLAIN_TEMPERATURE
    return with_fields(fresh, changes)


def sampling_kwargs(kwargs: Mapping[str, Any], llm: LLM, sampling: Sampling) -> dict[str, Any]:
    """Return the keyword arguments for a sample.

    Args:
        kwargs: The arguments of the main call.
        llm: The LLM that draws the sample.
        sampling: How the policy samples.
    """
    fresh = {**_fresh_kwargs(kwargs, sampling), **sampling.params}
    if sampling.temperature is not None and "temperature" not in type(llm).model_fields:
        fresh["temperature"] = sampling.temperature
    return fresh


def _fresh_kwargs(kwargs: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    fresh = dict(Request((), None, kwargs).for_sampling().params)
    if "temperature" in fresh and sampling.temperature is not None:
        fresh["temperature"] = sampling.temperature
    return {k: v for k, v in fresh.items() if k not in _CACHES}


def _varied_kwargs(kwargs: Mapping[str, Any], llm: LLM) -> dict[str, Any]:
    fresh = {k: v for k, v in kwargs.items() if k not in _CACHES}
    temperature = fresh.pop("temperature", None)
    # Some LLMs refuse call arguments that repeat one of their fields.
    own = "temperature" in type(llm).model_fields and getattr(llm, "temperature", None)
    if temperature is None or temperature == own or too_cold(temperature):
        return fresh
    return {**fresh, "temperature": temperature}
