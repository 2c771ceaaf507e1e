"""Decoding parameters that make every answer a copy of the first: greedy search, beams, seeds.

Providers and servers have many names for them, at the top of a request or inside `extra_body`,
`options`, `generation_config` and the like. Names are compared without case and underscores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NEARLY_GREEDY = 0.1
"""The highest temperature, and share of the probability, at which answers are nearly copies."""
_NEARLY_ALL = 0.9
_MAX_DEPTH = 8

_GREEDY_NUMBERS: Mapping[str, Callable[[float], bool]] = {
    "temperature": lambda value: value <= NEARLY_GREEDY,
    "topk": lambda value: value == 1,
    "topp": lambda value: value <= NEARLY_GREEDY,
    "typicalp": lambda value: value <= NEARLY_GREEDY,
    "tfsz": lambda value: value <= NEARLY_GREEDY,
    "mirostattau": lambda value: value <= NEARLY_GREEDY,
    "minp": lambda value: value >= _NEARLY_ALL,
    # Beam search and contrastive search.
    "numbeams": lambda value: value > 1,
    "beamwidth": lambda value: value > 1,
    "penaltyalpha": lambda value: value > 0,
    # The most probable of several answers.
    "bestof": lambda value: value > 1,
}
# Names that are too short to mean the same inside other objects.
_GREEDY_AT_TOP: Mapping[str, Callable[[float], bool]] = {
    "k": _GREEDY_NUMBERS["topk"],
    "p": _GREEDY_NUMBERS["topp"],
}
# Switches, with the values that select greedy decoding, and the value that selects sampling; None
# leaves the switch out. A server whose default is greedy has to be told to sample.
_SWITCHES: Mapping[str, tuple[frozenset[str], object]] = {
    "dosample": (frozenset({"false", "0"}), True),
    "decodingmethod": (frozenset({"greedy"}), "sample"),
    "decodingstrategy": (frozenset({"greedy", "beam", "beam_search"}), None),
    "greedy": (frozenset({"true", "1"}), None),
    "usegreedy": (frozenset({"true", "1"}), None),
    "usebeamsearch": (frozenset({"true", "1"}), None),
}
_BEAMS = frozenset({"numbeams", "penaltyalpha"})
# Of no use without beams, and refused by some servers.
_ONLY_WITH_BEAMS = frozenset({"diversitypenalty", "earlystopping", "numbeamgroups"})
_SEEDS = frozenset({"randomseed", "rngseed", "samplingseed", "seed"})
# What these contain are no parameters.
_CONTENT = frozenset(
    {
        "contents",
        "extra_headers",
        "functions",
        "headers",
        "input",
        "logit_bias",
        "messages",
        "metadata",
        "prompt",
        "response_format",
        "system",
        "tools",
    }
)


def with_sampling(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with which every answer is drawn anew.

    Args:
        params: The parameters of a request, or a request.

    Returns:
        The parameters without those that make answers copies; a switch for sampling is turned on.
    """
    return _sampling(params, depth=0)


def is_greedy(params: Mapping[str, Any]) -> bool:
    """Return whether a parameter makes the most probable answer the only one."""
    return _has_greedy(params, depth=0)


def is_fixed(params: Mapping[str, Any]) -> bool:
    """Return whether a parameter makes answers copies of each other: greedy decoding, or a seed."""
    return is_greedy(params) or _has_seed(params, depth=0)


def _sampling(params: Mapping[str, Any], depth: int) -> dict[str, Any]:
    sampled: dict[str, Any] = {}
    has_beams = False
    for name, value in params.items():
        plain = _plain(name)
        if _is_inner(name, value) and depth < _MAX_DEPTH:
            sampled[name] = _sampling(value, depth + 1)
        elif plain in _SEEDS and _is_scalar(value):
            continue
        elif not _is_greedy(plain, value, depth):
            sampled[name] = value
        elif plain in _SWITCHES:
            _, sampling_value = _SWITCHES[plain]
            if sampling_value is not None:
                sampled[name] = sampling_value
        else:
            has_beams = has_beams or plain in _BEAMS
    if has_beams:
        for name in [name for name in sampled if _plain(name) in _ONLY_WITH_BEAMS]:
            del sampled[name]
        sampled["do_sample"] = True
    return sampled


def _has_greedy(params: Mapping[str, Any], depth: int) -> bool:
    for name, value in params.items():
        if _is_inner(name, value) and depth < _MAX_DEPTH:
            if _has_greedy(value, depth + 1):
                return True
        elif _is_greedy(_plain(name), value, depth):
            return True
    return False


def _has_seed(params: Mapping[str, Any], depth: int) -> bool:
    for name, value in params.items():
        if _is_inner(name, value) and depth < _MAX_DEPTH:
            if _has_seed(value, depth + 1):
                return True
        elif _plain(name) in _SEEDS and value is not None and _is_scalar(value):
            return True
    return False


def _is_greedy(plain: str, value: object, depth: int) -> bool:
    if plain in _SWITCHES:
        return str(value).lower() in _SWITCHES[plain][0]
    test = _GREEDY_NUMBERS.get(plain)
    if test is None and depth == 0:
        test = _GREEDY_AT_TOP.get(plain)
    number = _number(value)
    return test is not None and number is not None and test(number)


def _plain(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


def _is_inner(name: object, value: object) -> bool:
    return isinstance(value, Mapping) and name not in _CONTENT


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
