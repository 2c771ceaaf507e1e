"""Sends parameters that an answer is better with, and leaves out those that a model refuses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Final

from resay.core.request import Request
from resay.errors import ProviderError, ProviderRefusedError
from resay.providers.base import Completion, Completions, Layer, Provider, supported_params
from resay.providers.base_urls import base_url_in
from resay.providers.caching.keys import source_of

TOKEN_LIMITS: Final = frozenset(
    {"max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens"}
)
"""The parameters that limit the tokens of an answer."""
# The parameters that decide in place of ours, if a request has them.
_RIVALS: Final[Mapping[str, frozenset[str]]] = {
    "max_tokens": TOKEN_LIMITS,
    "temperature": frozenset({"temperature", "top_p", "top_k"}),
    "response_format": frozenset({"response_format", "tools", "format", "guided_json"}),
}
# What an error says of each.
_SIGNS: Final[Mapping[str, tuple[str, ...]]] = {
    "max_tokens": ("max_tokens", "max tokens", "max_completion_tokens", "max_output_tokens"),
    "temperature": ("temperature",),
    "response_format": (
        *("response_format", "response format", "json_schema", "json_object", "json mode"),
        *("schema", "structured output", "mime_type", "mime type", "validate json"),
        # Servers that write by a grammar, and APIs to which litellm sends a form as a tool.
        *("grammar", "guided", "tool_choice", "[tools]"),
    ),
}
# What an error says of a limit that this request is too long for, though another may not be.
_TOO_LONG: Final = ("context length", "context window", "context size", "too large", "too long")
# A parameter that an API does not know, or whose value it does not accept; some servers fail at it.
_REFUSALS: Final = frozenset({400, 415, 422})
_FAILURES: Final = frozenset({500, 501})
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})
# How much longer the answers of models that think before they write may be.
_ROOM_TO_THINK = 8
_MOST_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Preferences:
    """What an answer is better with.

    Attributes:
        max_tokens: The number of tokens that it needs at most; None for no limit.
        exact: Whether it is to be the most probable one (temperature 0).
        schema: The JSON Schema of the object that it is to be; None for text.
    """

    max_tokens: int | None = None
    exact: bool = False
    schema: Mapping[str, Any] | None = None


class _Traits:
    """What models do that were asked in this process.

    Attributes:
        refused: The parameters that each model refuses.
        accepted: The parameters with which each model has answered.
        thinking: The models whose limit was used up before they wrote a word.
    """

    def __init__(self) -> None:
        self.refused: OrderedDict[str, frozenset[str]] = OrderedDict()
        self.accepted: OrderedDict[str, frozenset[str]] = OrderedDict()
        self.thinking: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def add_refused(self, name: str, params: frozenset[str]) -> None:
        if not params:
            return
        with self._lock:
            self.refused[name] = self.refused.get(name, frozenset()) | params
            _shorten(self.refused)

    def add_accepted(self, name: str, params: frozenset[str]) -> None:
        if self.has_accepted(name, params):
            return
        with self._lock:
            self.accepted[name] = self.accepted.get(name, frozenset()) | params
            _shorten(self.accepted)

    def has_accepted(self, name: str, params: Iterable[str]) -> bool:
        return self.accepted.get(name, frozenset()).issuperset(params)

    def add_thinking(self, name: str) -> None:
        with self._lock:
            self.thinking[name] = None
            _shorten(self.thinking)


def _shorten(entries: OrderedDict[str, Any]) -> None:
    if len(entries) > _MOST_REMEMBERED:
        entries.popitem(last=False)


_traits = _Traits()


class Preferring(Layer):
    """Ask for an answer with parameters that it is better with, where the model takes them.

    Temperature and a structured answer are asked of providers that say that they support them. A
    request's own parameters take precedence. A model that refuses is asked again without what its
    refusal names, or without all of them, and not sent that again, unless only this request was too
    long or the model has answered with the same before. A model that spent all of the
    limit on thinking is asked again with more room, and gets that at once the next time.

    Args:
        inner: The wrapped provider.
        preferences: What the answer is better with.
    """

    def __init__(self, inner: Provider, preferences: Preferences) -> None:
        super().__init__(inner)
        self._preferences = preferences

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request with the parameters, and without those that are refused."""
        name = _model_key(self.inner, request)
        params = await self._params_for(request)
        for refused in _traits.refused.get(name, frozenset()):
            params.pop(refused, None)
        thinks = name in _traits.thinking
        if thinks and "max_tokens" in params:
            params["max_tokens"] *= _ROOM_TO_THINK
        answers = await self._ask(request, n, params, name)
        if "max_tokens" not in params or thinks or not all(map(_is_cut_off, answers.items)):
            return answers
        _traits.add_thinking(name)
        params["max_tokens"] *= _ROOM_TO_THINK
        longer = await self._ask(request, n, params, name)
        return replace(longer, usage=answers.usage + longer.usage)

    async def _params_for(self, request: Request) -> dict[str, Any]:
        """Return the parameters to add to a request."""
        preferences = self._preferences
        params: dict[str, Any] = {}
        if preferences.max_tokens is not None:
            params["max_tokens"] = preferences.max_tokens
        if preferences.exact or preferences.schema is not None:
            supported = await supported_params(self.inner, request)
            if preferences.exact and not request.varied and "temperature" in supported:
                params["temperature"] = 0
            response_format = _format_of(preferences.schema, supported)
            if response_format is not None:
                params["response_format"] = response_format
        return {
            param: value
            for param, value in params.items()
            if _RIVALS[param].isdisjoint(request.params)
        }

    async def _ask(
        self, request: Request, n: int, params: dict[str, Any], name: str
    ) -> Completions:
        """Ask, and again without what is refused, which is left out of `params`."""
        removed: frozenset[str] = frozenset()
        refused: frozenset[str] = frozenset()
        while True:
            try:
                answers = await self.inner.complete(_with(request, params), n=n)
                break
            except (ProviderError, TypeError) as error:
                # What is refused after that is not told apart.
                blamed = frozenset(params) if removed else _blamed_for(error, params)
                if not blamed or not _may_be_about(blamed, error, name):
                    raise
                if _is_refused_by_model(blamed, error, name):
                    refused |= blamed
                removed |= blamed
            for param in blamed:
                del params[param]
        # Only now is it known that the parameters were to blame.
        _traits.add_refused(name, refused)
        _traits.add_accepted(name, frozenset(params))
        return answers


def _format_of(schema: Mapping[str, Any] | None, supported: frozenset[str]) -> Any:
    """Return the parameter that asks for a JSON object, as exactly as the model supports it."""
    if schema is None:
        return None
    if "json_schema" in supported:
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}
    return {"type": "json_object"} if "json_object" in supported else None


def _may_be_about(params: frozenset[str], error: Exception, name: str) -> bool:
    """Return whether an error may be about parameters, rather than anything else."""
    status: object = getattr(error, "status", None)
    if status in _FAILURES:
        # A server that has answered with these parameters fails at something else.
        return not _traits.has_accepted(name, params)
    if isinstance(error, ProviderRefusedError):
        return status in _REFUSALS
    return isinstance(error, TypeError)


def _blamed_for(error: Exception, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the parameters that an error names; all of them if it names none."""
    if _is_too_long(error):
        return frozenset({"max_tokens"}.intersection(params))
    return _named_in(error, params) or frozenset(params)


def _is_refused_by_model(params: frozenset[str], error: Exception, name: str) -> bool:
    """Return whether a model refuses parameters in every request, rather than in this one."""
    if _is_too_long(error):
        return False
    return bool(_named_in(error, params)) or not _traits.has_accepted(name, params)


def _named_in(error: Exception, params: Iterable[str]) -> frozenset[str]:
    text = _text_of(error)
    return frozenset(param for param in params if any(sign in text for sign in _SIGNS[param]))


def _is_too_long(error: Exception) -> bool:
    text = _text_of(error)
    return any(sign in text for sign in _TOO_LONG)


def _text_of(error: Exception) -> str:
    cause = error.cause if isinstance(error, ProviderError) else error.__cause__
    return f"{error} {cause or ''}".casefold()


def _is_cut_off(answer: Completion) -> bool:
    return not answer.text.strip() and answer.finish_reason in _CUT


def _with(request: Request, params: Mapping[str, Any]) -> Request:
    return replace(request, params={**request.params, **params}) if params else request


def _model_key(provider: Provider, request: Request) -> str:
    """Return what identifies the model that answers a request."""
    while isinstance(provider, Layer):
        provider = provider.inner
    return f"{source_of(provider)} {request.model} {base_url_in(request.params) or ''}"
