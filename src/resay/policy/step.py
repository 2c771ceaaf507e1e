"""A step of a chain: a method with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel

from resay._internal.strict import LazyMapping, OneOf
from resay.scorers import IMPORTED, ScorerConfig, registry


def _configs() -> Mapping[str, type[BaseModel]]:
    scorers = registry()
    return LazyMapping(scorers, lambda name: scorers[name].Config)


Step = Annotated[
    ScorerConfig,
    OneOf("method", "method", _configs, short=lambda name: {"method": name}, imported=IMPORTED),
]
"""A method with its settings."""
