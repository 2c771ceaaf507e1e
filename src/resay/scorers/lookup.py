"""Finds scorers by the name used in a policy.

A third party adds a method with an entry point in the group `resay.scorers`: its name is the
method's, its value the scorer class, which has a `Config` as `Scorer` describes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from resay.errors import ConfigurationError
from resay.scorers.base import Scorer, ScorerConfig

__all__ = ["build", "registry"]

_GROUP = "resay.scorers"
# By name, because some of them are made of others and find them here.
_BUILT_IN: Mapping[str, str] = {
    "ngram": "Ngram",
    "nli": "Nli",
    "logprobs": "Logprobs",
    "proxy_logprobs": "ProxyLogprobs",
    "bertscore": "Bertscore",
    "similarity": "Similarity",
    "prompt": "Prompt",
    "mqag": "Mqag",
    "direct_question": "DirectQuestion",
    "fibe": "Fibe",
    "reverse_validation": "ReverseValidation",
    "cross_examination": "CrossExamination",
    "zero_shot": "ZeroShot",
    "snowballing": "Snowballing",
    "ensemble": "Ensemble",
    "combination": "Combination",
}
_log = logging.getLogger(__name__)


@cache
def registry() -> Mapping[str, type[Any]]:
    """Return the scorer classes by method name, built-in and installed.

    A plug-in that cannot be loaded is left out with a warning in the log: it must not take down
    an application whose policy does not use it.
    """
    found: dict[str, type[Any]] = {
        name: getattr(import_module(f"resay.scorers.{name}"), scorer)
        for name, scorer in _BUILT_IN.items()
    }
    for point in entry_points(group=_GROUP):
        scorer = _load(point)
        if scorer is not None:
            found.setdefault(point.name, scorer)
    return MappingProxyType(found)


def _load(point: EntryPoint) -> type[Any] | None:
    try:
        scorer: type[Any] = point.load()
        _check(scorer, point.name)
    # Anything can go wrong in somebody else's module.
    except Exception as error:
        _log.warning(
            "scorer plug-in %r is left out: %s: %s", point.name, type(error).__name__, error
        )
        return None
    return scorer


def _check(scorer: type[Any], name: str) -> None:
    if not issubclass(scorer.Config, ScorerConfig):
        raise ConfigurationError(f"Config of scorer {name!r} must be a subclass of ScorerConfig")
    if scorer.Config.model_fields["method"].default != name:
        raise ConfigurationError(f"Config.method of scorer {name!r} must default to {name!r}")


def build(config: ScorerConfig) -> Scorer:
    """Make the scorer a step of a policy describes.

    Args:
        config: The step, an instance of the scorer's `Config`.

    Returns:
        The scorer.

    Raises:
        ConfigurationError: No registered scorer has this configuration.
    """
    for scorer in registry().values():
        if type(config) is scorer.Config:
            return scorer(config)
    raise ConfigurationError(f"no scorer is registered for {type(config).__qualname__!r}")
