"""Model prices, from the policy or litellm's price list."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, cast

import anyio
import anyio.to_thread
from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from resay._internal.patterns import lazy_pattern
from resay._internal.strict import Strict
from resay.core.usage import Usage
from resay.providers.apis.values import mapping

_MILLION = 1_000_000
# The copy of the price list bundled with a litellm release.
_FILE = "model_prices_and_context_window_backup.json"
_INPUT, _OUTPUT = "input_cost_per_token", "output_cost_per_token"
_CACHED = "cache_read_input_token_cost"
# What is read of an entry, beside its prices.
_FACTS = frozenset(
    {"default_reasoning_effort", "litellm_provider", "mode", "supports_response_schema"}
)
_LONG_PROMPT = lazy_pattern(rf"{_INPUT}_above_(\d+)k_tokens")
_DATED = lazy_pattern(r"(.+)-(?:\d{4}-\d{2}-\d{2}|\d{8})")


class Price(Strict):
    """The price of one model."""

    input: float = Field(ge=0, description="Dollars per million input tokens.")
    output: float = Field(ge=0, description="Dollars per million output tokens.")


_Listed = Mapping[Annotated[str, Field(min_length=1)], Price]


class Prices(Mapping[str, Price]):
    """Model prices, by the model names used in requests.

    A name with a date suffix (`-2025-04-14` or `-20250414`) that is not listed costs as much as the
    name without it. All other names must match exactly.

    Args:
        listed: Prices that take precedence over litellm's list.
    """

    __slots__ = ("_listed",)

    def __init__(self, listed: Mapping[str, Price] | None = None) -> None:
        self._listed = dict(listed or {})

    def __getitem__(self, model: str) -> Price:
        return self._listed[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __repr__(self) -> str:
        return f"Prices({self._listed!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        listed = handler.generate_schema(_Listed)
        plain = core_schema.plain_serializer_function_ser_schema(_plain)
        return core_schema.no_info_after_validator_function(cls, listed, serialization=plain)

    def cost_usd(self, model: str | None, usage: Usage) -> float | None:
        """Return the cost of calls to a model.

        The result is an upper bound if some tokens were cheaper, such as those the provider had
        cached. litellm's list is used if litellm is installed, including its higher rates for
        prompts above a number of tokens; litellm is not imported. Its file, of some three
        megabytes, is read once.

        Args:
            model: The model; None if unknown.
            usage: The calls, or one of them.

        Returns:
            US dollars; None if the price is unknown, or if no tokens were counted.
        """
        listed = self._listed_cost(model, usage)
        return litellm_cost(model, usage) if listed is None else listed

    def priced(self, model: str | None, usage: Usage) -> Usage:
        """Return a usage with its cost.

        Args:
            model: The model; None if unknown.
            usage: The calls. A cost it already has is replaced only by a listed price.
        """
        cost = self._listed_cost(model, usage)
        if cost is None and usage.cost_usd is None:
            cost = litellm_cost(model, usage)
        return usage if cost is None else replace(usage, cost_usd=cost)

    def _listed_cost(self, model: str | None, usage: Usage) -> float | None:
        for name in _names(model):
            price = self._listed.get(name)
            if price is not None:
                return _Rate(price.input / _MILLION, price.output / _MILLION).cost(usage)
        return None


def _plain(prices: Prices) -> dict[str, dict[str, float]]:
    return {model: price.model_dump() for model, price in prices.items()}


@dataclass(frozen=True, slots=True)
class _Rate:
    """Dollars per token, for prompts of more than `above` tokens.

    Tokens that the provider had cached cost as much as others if `cached` is None.
    """

    read: float
    written: float
    above: int = 0
    cached: float | None = None

    def cost(self, usage: Usage, cached_tokens: int = 0) -> float | None:
        is_free = not (self.read or self.written)
        # The provider did not count tokens.
        if usage.calls and not usage.tokens and not is_free:
            return None
        saved = 0.0 if self.cached is None else cached_tokens * (self.read - self.cached)
        return usage.prompt_tokens * self.read - saved + usage.completion_tokens * self.written


def _names(model: str | None) -> list[str]:
    """Return the names under which a model may be listed, the most likely first."""
    if model is None:
        return []
    dated = _DATED.fullmatch(model)
    return [model, dated[1]] if dated else [model]


def litellm_cost(model: str | None, usage: Usage, *, cached_tokens: int = 0) -> float | None:
    """Return the cost of calls by litellm's list, if litellm is installed; it is not imported.

    Args:
        model: The model; None if unknown.
        usage: The calls, or one of them.
        cached_tokens: How many of the prompt's tokens the provider had cached.

    Returns:
        US dollars; None if the price is unknown, or if no tokens were counted.
    """
    for name in _names(model):
        rates = _litellm_rates().get(name)
        if rates is not None:
            applicable = [r for r in rates if r.above == 0 or usage.prompt_tokens > r.above]
            return applicable[-1].cost(usage, cached_tokens)
    return None


async def load_litellm_list() -> None:
    """Read litellm's list off the event loop, which it would block for tens of milliseconds."""
    if not _litellm_rates.cache_info().currsize:
        await anyio.to_thread.run_sync(_litellm_rates, abandon_on_cancel=True)


@cache
def _litellm_rates() -> Mapping[str, tuple[_Rate, ...]]:
    """Return the rates of each model in litellm's list; the first is for short prompts.

    Some providers' models are listed without the prefix with which litellm calls them.
    """
    all_rates: dict[str, tuple[_Rate, ...]] = {}
    prefixed: dict[str, tuple[_Rate, ...]] = {}
    for name, entry in litellm_entries().items():
        rates = _rates(entry)
        if rates:
            all_rates[name] = rates
            prefixed[f"{mapping(entry).get('litellm_provider')}/{name}"] = rates
    return {**prefixed, **all_rates}


@cache
def litellm_entries() -> Mapping[str, object]:
    """Return what litellm's list says of each model, by name: its prices, provider and abilities.

    The list, of some three megabytes, is read without importing litellm.
    """
    try:
        spec = find_spec("litellm")
    # A stand-in module registered as litellm.
    except (ImportError, ValueError):
        return {}
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        try:
            content: object = json.loads(
                (Path(folder) / _FILE).read_bytes(), object_pairs_hook=_entry_or_list
            )
        # Other versions may lack the file, or have another one.
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            return cast("Mapping[str, object]", content)
    return {}


def _entry_or_list(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; of an entry only what is used, because the list stays in memory."""
    return {
        key: value
        for key, value in pairs
        if isinstance(value, dict) or key in _FACTS or key.startswith((_INPUT, _OUTPUT, _CACHED))
    }


def _rates(entry: object) -> tuple[_Rate, ...]:
    """Return the rates in an entry of litellm's list; a price of zero counts as unknown."""
    if not isinstance(entry, Mapping):
        return ()
    fields = cast("Mapping[str, object]", entry)
    base_rate = _rate(fields, "", 0)
    if base_rate is None or not (base_rate.read or base_rate.written):
        return ()
    rates = [base_rate]
    long_prompts = [match for match in map(_LONG_PROMPT.fullmatch, fields) if match]
    for thousands in sorted(int(match[1]) for match in long_prompts):
        rate = _rate(fields, f"_above_{thousands}k_tokens", thousands * 1000)
        if rate is not None:
            rates.append(rate)
    return tuple(rates)


def _rate(fields: Mapping[str, object], suffix: str, above: int) -> _Rate | None:
    read = _price(fields.get(f"{_INPUT}{suffix}"))
    written = _price(fields.get(f"{_OUTPUT}{suffix}"))
    if read is None or written is None:
        return None
    return _Rate(read, written, above, _price(fields.get(f"{_CACHED}{suffix}")))


def _price(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) and value >= 0 else None
