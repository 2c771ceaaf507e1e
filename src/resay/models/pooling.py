"""How the vectors of a text's tokens become one."""

from __future__ import annotations

from resay.models.config import ModelConfig
from resay.models.described import json_of
from resay.models.network import Pooling

__all__ = ["POOLING_FILE", "pooling_of"]

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
