"""What a classifier's outputs are called."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resay.errors import ConfigurationError
from resay.models.config import ModelConfig

__all__ = ["labels_of"]

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
