"""Built-in methods, for those who tune them or repeat their papers' experiments.

`registry` of `resay.plugins` has all methods by name. Here are the classes of those that combine or
correct the scores of others, with the formulas that they apply to a sentence's values, and what is
needed to replay recorded answers: the question of `prompt`, and how `reverse_validation` removes
the name that it searches for.
"""

from __future__ import annotations

from resay.scorers.combination import Combination, Scale, combine, log_odds, weighted_sum
from resay.scorers.ensemble import Ensemble, clipped_sum
from resay.scorers.leaning import Leaning
from resay.scorers.prompt import render as render_prompt
from resay.scorers.reverse_validation import Entity, ReverseValidation, Variant
from resay.scorers.reverse_validation import without as without_entity
from resay.scorers.snowballing import Snowballing

__all__ = [
    "Combination",
    "Ensemble",
    "Entity",
    "Leaning",
    "ReverseValidation",
    "Scale",
    "Snowballing",
    "Variant",
    "clipped_sum",
    "combine",
    "log_odds",
    "render_prompt",
    "weighted_sum",
    "without_entity",
]
