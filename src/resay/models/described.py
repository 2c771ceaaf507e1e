"""What a model's own files say about it."""

from __future__ import annotations

import json
from typing import Any, cast

from resay.errors import ConfigurationError
from resay.models.config import ModelConfig
from resay.models.files import find
from resay.models.network import Kind

__all__ = ["json_of", "kind_of", "most_tokens"]

# A number no text reaches: how tokenizers say that there is no limit.
_ENDLESS = 1_000_000

_HEADS: tuple[tuple[str, Kind], ...] = (
    ("ForSequenceClassification", "classification"),
    ("ForMultipleChoice", "multiple_choice"),
)


def json_of(config: ModelConfig, name: str) -> dict[str, Any]:
    """Return what one of a model's JSON files holds; nothing where the model has no such file.

    Raises:
        ConfigurationError: There is no such model, or the file holds no JSON object.
    """
    path = find(config, name)
    if path is None:
        return {}
    try:
        found: Any = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not JSON; fetch it again") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{str(path)!r} holds no JSON object; fetch it again")
    return cast("dict[str, Any]", found)


def kind_of(config: ModelConfig) -> Kind:
    """Return what a model was made to give, by the name of its architecture."""
    names = json_of(config, "config.json").get("architectures") or [""]
    for ending, kind in _HEADS:
        if str(names[0]).endswith(ending):
            return kind
    return "embedding"


def most_tokens(config: ModelConfig, *limits: float | None) -> int | None:
    """Return how many tokens a model reads at once; None = any number.

    Args:
        config: Its settings, which go before what it says itself.
        limits: What it says itself, in several places; None or 0 where it says nothing.
    """
    if config.max_tokens is not None:
        return config.max_tokens
    least = min((limit for limit in limits if limit), default=_ENDLESS)
    return int(least) if least < _ENDLESS else None
