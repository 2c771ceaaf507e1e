"""What a model's own files say about it: its kind, its labels, its pooling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from resay.errors import ConfigurationError
from resay.models.config import ModelConfig
from resay.models.files import find
from resay.models.network import Kind, Pooling

# Its configuration does not say; the code released with it does.
_UNNAMED: Mapping[str, tuple[str, ...]] = {
    "potsawee/deberta-v3-large-mnli": ("entailment", "contradiction"),
}
_PLACEHOLDER = re.compile(r"label_\d+")


def labels_of(config: ModelConfig, id2label: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of a classifier's outputs.

    Args:
        config: The model's settings; `labels` in them go before what the model says.
        id2label: What the model says: a name for each output.

    Returns:
        The names, in lower case, in the order of the outputs.

    Raises:
        ConfigurationError: The settings name more or fewer than there are.
    """
    own = tuple(str(id2label[i]).lower() for i in sorted(id2label))
    named = config.labels or ()
    if not named and all(map(_PLACEHOLDER.fullmatch, own)):
        named = _UNNAMED.get(config.name or "", ())
    if named and len(named) != len(own):
        raise ConfigurationError(
            f"`labels` names {len(named)} outputs of {config.called!r}, which has {len(own)}"
        )
    return tuple(label.lower() for label in named) or own


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


POOLING_FILE = "1_Pooling/config.json"
"""Where sentence-transformers keeps it."""


def pooling_of(config: ModelConfig) -> Pooling:
    """Return how sentence-transformers pools a model's vectors; the mean where it does not say.

    Raises:
        ConfigurationError: There is no such model.
    """
    said = json_of(config, POOLING_FILE)
    first = said.get("pooling_mode_cls_token") or said.get("pooling_mode") == "cls"
    return "cls" if first else "mean"
