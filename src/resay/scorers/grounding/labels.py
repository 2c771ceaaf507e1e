"""The labels of a model trained to check answers."""

from __future__ import annotations

from collections.abc import Sequence

from resay.errors import ConfigurationError

# The index of the label to return if neither has a known name: label 1 means supported to MiniCheck
# and HHEM, and hallucinated to LettuceDetect.
_ONE = 1


def label_index(labels: Sequence[str], names: frozenset[str]) -> int:
    """Return the index of the one of two labels that has one of some names.

    Raises:
        ConfigurationError: There are not two labels.
    """
    if len(labels) != 2:
        raise ConfigurationError(
            f"the model has the labels {', '.join(labels)!r}; `grounding` needs one of two labels:"
            " supported or not. A model for entailment is for `nli`"
        )
    return next((i for i, label in enumerate(labels) if label in names), _ONE)
