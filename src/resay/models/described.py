"""What a model's own files say about it: its kind, its labels, its pooling."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import product
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
    ("ForTokenClassification", "token_classification"),
    ("T5ForConditionalGeneration", "first_token"),
)
FIRST_TOKENS: Mapping[str, int] = {"unsupported": 3, "supported": 209}
"""With which token a T5 trained to judge begins its answer, as MiniCheck-Flan-T5-Large does."""
_T5_TOKENS = 2048
HHEM = "HHEMv2"
"""The type of model that HHEM-2.1-Open says it is."""
_HHEM_BASE = "google/flan-t5-base"


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
    described = json_of(config, "config.json")
    if described.get("model_type") == HHEM:
        return "token_classification"
    names = described.get("architectures") or [""]
    for ending, kind in _HEADS:
        if str(names[0]).endswith(ending):
            return kind
    return "embedding"


def base_of(described: Mapping[str, Any]) -> str | None:
    """Return whose configuration and tokenizer a model goes by; None for its own.

    HHEM-2.1-Open comes as weights of another model, with code of its own to load them. That code is
    not run: what it does is known.

    Args:
        described: The model's config.json.
    """
    if described.get("model_type") != HHEM:
        return None
    return str(described.get("foundation") or _HHEM_BASE)


def separator_of(config: ModelConfig) -> str:
    """Return the token that ends a text, which is put between two texts of one.

    Raises:
        ConfigurationError: There is no such model, or its tokenizer does not say.
    """
    tokenizer = config
    base = base_of(json_of(config, "config.json"))
    if base is not None:
        tokenizer = config.model_copy(update={"name": base, "revision": None})
    files = ("tokenizer_config.json", "special_tokens_map.json")
    # What ends a text separates two, where the tokenizer's files leave the first to its class.
    for token, name in product(("eos_token", "sep_token"), files):
        named: Any = json_of(tokenizer, name).get(token)
        if named:
            return named if isinstance(named, str) else str(named["content"])
    raise ConfigurationError(
        f"the tokenizer of {config.called!r} names neither `eos_token` nor `sep_token`, one of"
        " which stands between a document and a claim; name a model that has one"
    )


def most_tokens(config: ModelConfig, model_type: str, *limits: float | None) -> int | None:
    """Return how many tokens a model reads at once; None = any number.

    Args:
        config: Its settings, which go before what it says itself.
        model_type: What it is. T5 knows no positions, and its tokenizers' limit is none of its own:
            as many are taken as MiniCheck takes.
        limits: What it says itself, in several places; None or 0 where it says nothing.
    """
    if config.max_tokens is not None:
        return config.max_tokens
    if model_type == "t5":
        return _T5_TOKENS
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
