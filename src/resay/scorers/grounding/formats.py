"""The published input format of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from resay.errors import ConfigurationError
from resay.models import ModelConfig
from resay.models.files import HHEM, json_of, kind_of

Format: TypeAlias = Literal[
    "minicheck",
    "hhem",
    "lettucedetect",
    "factcg",
    "bespoke",
    "granite_guardian",
    "lynx",
    "lettucedetect_chat",
]
CHAT_FORMATS = frozenset({"bespoke", "granite_guardian", "lynx", "lettucedetect_chat"})
"""The formats of chat models, which run on a server."""

# Lower-case prefixes of their names on the hub.
_FORMATS: Mapping[str, Format] = {
    "lytang/minicheck-": "minicheck",
    "vectara/hallucination_evaluation_model": "hhem",
    "krlabsorg/lettucedect-": "lettucedetect",
    "krlabsorg/tinylettuce-": "lettucedetect",
    "yaxili96/factcg-": "factcg",
}
# Words in the names of chat models, whatever a server calls them.
_CHAT_FORMATS: Mapping[str, Format] = {
    "bespoke-minicheck": "bespoke",
    "-guardian": "granite_guardian",
    "lynx": "lynx",
    "lettucedect": "lettucedetect_chat",
}


def known_format(given: str, model: ModelConfig) -> Format | None:
    """Return a model's format if it is known without looking up the model."""
    if given != "auto":
        return cast("Format", given)
    name = (model.name or "").lower()
    if model.backend == "chat":
        return _chat_format(name)
    for prefix, format_ in _FORMATS.items():
        if name.startswith(prefix):
            return format_
    return "minicheck" if model.remote else None


def _chat_format(name: str) -> Format:
    for word, format_ in _CHAT_FORMATS.items():
        if word in name:
            return format_
    raise ConfigurationError(
        f"`grounding` does not know how to ask {name!r}; set its `format`:"
        f" {', '.join(sorted(CHAT_FORMATS))}. Any other chat model is for `prompt` with"
        " `evidence: documents`"
    )


def format_of(model: ModelConfig) -> Format:
    """Return a model's format according to its configuration.

    Raises:
        ConfigurationError: There is no such model, or it was not trained for this.
    """
    kind = kind_of(model)
    if kind == "token_classification":
        described = json_of(model, "config.json")
        is_t5 = described.get("model_type") in (HHEM, "t5")
        return "hhem" if is_t5 else "lettucedetect"
    if kind in ("classification", "first_token"):
        return "minicheck"
    raise ConfigurationError(
        f"`grounding` cannot use {model.display_name!r}, which classifies neither texts nor tokens;"
        " use a model from docs/models.md"
    )
