"""The published methods, one per file, and the registry that finds them by name."""

from __future__ import annotations

from resay.scorers.base import (
    Contradicts,
    Corrects,
    Need,
    Prepares,
    SampleConfig,
    Scorer,
    ScorerConfig,
    ScorerTraits,
    Settle,
    Skips,
)
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.common.judge_config import JudgeConfig, JudgedConfig
from resay.scorers.step import IMPORTED, Step, build, imported_config, registry, scorer_class

__all__ = [
    "IMPORTED",
    "Column",
    "Contradicts",
    "Corrects",
    "JudgeConfig",
    "JudgedConfig",
    "Need",
    "Prepares",
    "SampleConfig",
    "SampleScorer",
    "Scorer",
    "ScorerConfig",
    "ScorerTraits",
    "Settle",
    "Skips",
    "Step",
    "build",
    "imported_config",
    "registry",
    "scorer_class",
]
