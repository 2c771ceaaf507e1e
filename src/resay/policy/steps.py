"""The methods of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel

from resay._internal.tagged_union import OneOf
from resay.scorers import ScorerConfig, registry

__all__ = ["Step"]


def _configs() -> Mapping[str, type[BaseModel]]:
    return {name: scorer.Config for name, scorer in registry().items()}


Step = Annotated[ScorerConfig, OneOf("method", "method", _configs)]
"""A method with its settings."""
