"""The published methods, one per file, and the registry that finds them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.scorers.base import Contradicts as Contradicts
    from resay.scorers.base import Corrects as Corrects
    from resay.scorers.base import Need as Need
    from resay.scorers.base import Prepares as Prepares
    from resay.scorers.base import SampleConfig as SampleConfig
    from resay.scorers.base import Scorer as Scorer
    from resay.scorers.base import ScorerConfig as ScorerConfig
    from resay.scorers.base import ScorerTraits as ScorerTraits
    from resay.scorers.base import Settle as Settle
    from resay.scorers.base import Skips as Skips
    from resay.scorers.common.comparing import Column as Column
    from resay.scorers.common.comparing import SampleScorer as SampleScorer
    from resay.scorers.common.judge_config import JudgeConfig as JudgeConfig
    from resay.scorers.common.judge_config import JudgedConfig as JudgedConfig
    from resay.scorers.step import IMPORTED as IMPORTED
    from resay.scorers.step import Step as Step
    from resay.scorers.step import build as build
    from resay.scorers.step import imported_config as imported_config
    from resay.scorers.step import registry as registry
    from resay.scorers.step import scorer_class as scorer_class
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.scorers.base": (
                "Contradicts",
                "Corrects",
                "Need",
                "Prepares",
                "SampleConfig",
                "Scorer",
                "ScorerConfig",
                "ScorerTraits",
                "Settle",
                "Skips",
            ),
            "resay.scorers.common.comparing": ("Column", "SampleScorer"),
            "resay.scorers.common.judge_config": ("JudgeConfig", "JudgedConfig"),
            "resay.scorers.step": (
                "IMPORTED",
                "Step",
                "build",
                "imported_config",
                "registry",
                "scorer_class",
            ),
        },
    )
