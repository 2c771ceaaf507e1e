"""Copies of LLMs for samples and judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay.core.query import CONNECTION_PARAMS, Query
from resay.policy import Sampling
from resay_llamaindex._counting import counted

__all__ = ["Judges", "for_judging", "for_sampling", "sampling_kwargs", "too_cold"]

# What providers themselves take where nothing is said, and the only one that some models allow.
_PLAIN_TEMPERATURE = 1.0

# The same parameters that `Query.for_sampling` leaves out, as fields of an LLM.
_ONE_PLAIN_ANSWER = ("logprobs", "n", "top_logprobs")
_FRESH_ANSWER = ("seed", "store")
_CACHES = ("cache", "caching")


def too_cold(temperature: object) -> bool:
    """Return whether samples at this temperature would be near copies of each other.

    LlamaIndex sends 0.1 unless told otherwise, which says nothing about what the user wants of
    samples.
    """
    return isinstance(temperature, (int, float)) and temperature <= DEFAULT_TEMPERATURE


@dataclass(frozen=True, slots=True)
class Judges:
    """Copies of an LLM that judges ask.

    Attributes:
        plain: Gives one plain answer.
        varied: The same, but another answer each time.
    """

    plain: LLM
    varied: LLM

    def asked(self, query: Query) -> tuple[LLM, dict[str, Any]]:
        """Return which of them a query goes to, and the keyword arguments of the call."""
        kwargs = {k: v for k, v in query.params.items() if k not in CONNECTION_PARAMS}
        if not query.varied:
            return self.plain, kwargs
        return self.varied, _varied_kwargs(kwargs, self.varied)


def for_judging(llm: LLM, sampling: Sampling) -> Judges:
    """Return copies of an LLM that give judges plain answers, and tell no callbacks of them.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy says to sample.

    Returns:
        The copies. They share the clients that the original has made already.
    """
    if isinstance(llm, StructuredLLM):
        return for_judging(llm.llm, sampling)
    plain = _with_fields(_with_defaults(llm, _ONE_PLAIN_ANSWER), counted())
    return Judges(plain, for_sampling(llm, sampling))


def for_sampling(llm: LLM, sampling: Sampling) -> LLM:
    """Return a copy of an LLM that gives another answer each time.

    Its seed, its caches and a temperature that leaves no choice are left out, and the policy's put
    in.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy says to sample.

    Returns:
        The copy. It shares the clients that the original has made already.
    """
    if isinstance(llm, StructuredLLM):
        inside = for_sampling(llm.llm, sampling)
        return _with_fields(llm, {"llm": inside, "callback_manager": CallbackManager([])})
    fresh = _with_defaults(llm, _ONE_PLAIN_ANSWER + _FRESH_ANSWER)
    changes: dict[str, Any] = dict(counted())
    if further := getattr(llm, "additional_kwargs", None):
        changes["additional_kwargs"] = _fresh_kwargs(further, sampling)
    if sampling.temperature is not None:
        changes["temperature"] = sampling.temperature
    elif too_cold(getattr(llm, "temperature", None)):
        changes["temperature"] = _PLAIN_TEMPERATURE
    return _with_fields(fresh, changes)


def sampling_kwargs(kwargs: Mapping[str, Any], llm: LLM, sampling: Sampling) -> dict[str, Any]:
    """Return the keyword arguments of a call as they are for a sample.

    Args:
        kwargs: Those of the main call.
        llm: Who is asked.
        sampling: How the policy says to sample.
    """
    fresh = {**_fresh_kwargs(kwargs, sampling), **sampling.params}
    if sampling.temperature is not None and "temperature" not in type(llm).model_fields:
        fresh["temperature"] = sampling.temperature
    return fresh


def _fresh_kwargs(kwargs: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    fresh = dict(Query((), None, kwargs).for_sampling().params)
    if too_cold(fresh.get("temperature")):
        del fresh["temperature"]
    if "temperature" in fresh and sampling.temperature is not None:
        fresh["temperature"] = sampling.temperature
    return {k: v for k, v in fresh.items() if k not in _CACHES}


def _varied_kwargs(kwargs: Mapping[str, Any], llm: LLM) -> dict[str, Any]:
    fresh = {k: v for k, v in kwargs.items() if k not in _CACHES}
    temperature = fresh.pop("temperature", None)
    # Some LLMs refuse in a call what is a field of theirs.
    own = "temperature" in type(llm).model_fields and getattr(llm, "temperature", None)
    if temperature is None or temperature == own or too_cold(temperature):
        return fresh
    return {**fresh, "temperature": temperature}


def _with_defaults(llm: LLM, names: tuple[str, ...]) -> LLM:
    fields = type(llm).model_fields
    defaults = {
        name: fields[name].get_default(call_default_factory=True, validated_data={})
        for name in names
        if name in fields and not fields[name].is_required()
    }
    return _with_fields(llm, defaults)


def _with_fields(llm: LLM, changes: Mapping[str, Any]) -> LLM:
    fields = type(llm).model_fields
    return llm.model_copy(update={k: v for k, v in changes.items() if k in fields})
