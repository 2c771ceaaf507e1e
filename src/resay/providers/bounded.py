"""Limits the length of answers, for calls that need only a few words."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from threading import Lock

from resay.core.query import Query
from resay.errors import ProviderRefusedError
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.providers.caching.keys import source_of

_LIMITS = frozenset(
    {"max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_new_tokens"}
)
# A parameter that an API does not know, or whose value it does not accept.
_ABOUT_PARAMETERS = frozenset({400, 422})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens"})
# How much longer the answers of models that think before they write may be.
_ROOM_TO_THINK = 8
_MAX_REMEMBERED = 1_000


class _ModelTraits:
    """What this process has learned about the models it called.

    Attributes:
        refusing: The models that refuse a limit.
        thinking: The models whose limit was used up before they wrote a word.
    """

    def __init__(self) -> None:
        self.refusing: OrderedDict[str, None] = OrderedDict()
        self.thinking: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def add(self, names: OrderedDict[str, None], name: str) -> None:
        with self._lock:
            names[name] = None
            if len(names) > _MAX_REMEMBERED:
                names.popitem(last=False)


_traits = _ModelTraits()


class Bounded(Layer):
    """Ask for answers of a limited length.

    A query that has a limit of its own keeps it. A provider that refuses the parameter is asked
    again without it, and not sent it again; a model that spent all of it on thinking is asked again
    with more room, and gets that at once the next time.

    Args:
        inner: The wrapped provider.
        max_tokens: The number of tokens that the answer needs at most.
    """

    def __init__(self, inner: Provider, max_tokens: int) -> None:
        super().__init__(inner)
        self._max_tokens = max_tokens

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Forward the request with a limit, and without one if it is refused."""
        name = _model_key(self.inner, query)
        if name in _traits.refusing or not _LIMITS.isdisjoint(query.params):
            return await self.inner.complete(query, n=n)
        thinks = name in _traits.thinking
        limit = self._max_tokens * (_ROOM_TO_THINK if thinks else 1)
        try:
            answers = await self.inner.complete(_limited(query, limit), n=n)
        except (ProviderRefusedError, TypeError) as error:
            if isinstance(error, ProviderRefusedError) and error.status not in _ABOUT_PARAMETERS:
                raise
            answers = await self.inner.complete(query, n=n)
            # Only now is it known that the parameter was to blame.
            _traits.add(_traits.refusing, name)
            return answers
        if thinks or not all(map(_is_cut_off, answers.items)):
            return answers
        _traits.add(_traits.thinking, name)
        longer = await self.inner.complete(_limited(query, limit * _ROOM_TO_THINK), n=n)
        return replace(longer, usage=answers.usage + longer.usage)


def _is_cut_off(answer: Completion) -> bool:
    return not answer.text.strip() and answer.finish_reason in _CUT


def _limited(query: Query, limit: int) -> Query:
    return replace(query, params={**query.params, "max_tokens": limit})


def _model_key(provider: Provider, query: Query) -> str:
    """Return what identifies the model that answers a query."""
    while isinstance(provider, Layer):
        provider = provider.inner
    api_base = query.params.get("api_base") or query.params.get("base_url") or ""
    return f"{source_of(provider)} {query.model} {api_base}"
