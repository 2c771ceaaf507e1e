"""What a benchmark can measure, and how the command line names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resay.bench.judges import BenchJudge
from resay.errors import ConfigurationError
from resay.scorers import ScorerConfig, registry
from resay.scorers.judging import JudgedConfig

__all__ = ["Entry", "choose"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One method in one variant: one row of a benchmark's table.

    Attributes:
        method: The scorer's name.
        variant: Which of its variants.
        settings: The scorer's settings in this variant, without the judge.
        paper: The published figures under the benchmark's own keys.
        extra: Measured only when it is asked for by its variant's name.
        live_only: Asks what no recording holds.
    """

    method: str
    variant: str
    settings: Mapping[str, Any]
    paper: Mapping[str, float] | None = None
    extra: bool = False
    live_only: bool = False

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return f"{self.method}:{self.variant}"

    @property
    def needs_judge(self) -> bool:
        """Whether its scorer asks a judge."""
        return issubclass(registry()[self.method].Config, JudgedConfig)

    def config(self, judge: BenchJudge | None, **settings: Any) -> ScorerConfig:
        """Return the scorer's configuration.

        Args:
            judge: Who answers, where the scorer asks a judge.
            **settings: What the user wants otherwise than the entry has it.
        """
        asked: Mapping[str, Any] = judge.settings if judge and self.needs_judge else {}
        return registry()[self.method].Config(**{**asked, **self.settings, **settings})


def choose(entries: Sequence[Entry], wanted: str) -> tuple[Entry, ...]:
    """Find the entries the user names.

    Args:
        entries: All there are.
        wanted: Names separated by commas, each `method` or `method:variant`. A bare method stands
            for all its variants that are not `extra`.

    Returns:
        The entries in the order named, each once.

    Raises:
        ConfigurationError: A name is unknown, or there is none.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise ConfigurationError(f"no method is named in {wanted!r}; {_allowed(entries)}")
    found: dict[str, Entry] = {}
    for name in names:
        found |= {entry.name: entry for entry in _named(entries, name)}
    return tuple(found.values())


def _named(entries: Sequence[Entry], name: str) -> list[Entry]:
    method, _, variant = name.partition(":")
    of_method = [entry for entry in entries if entry.method == method]
    if not of_method:
        raise ConfigurationError(f"unknown method {name!r}; {_allowed(entries)}")
    named = [e for e in of_method if (e.variant == variant if ":" in name else not e.extra)]
    if not named:
        raise ConfigurationError(f"unknown variant {name!r}; {_allowed(of_method)}")
    return named


def _allowed(entries: Sequence[Entry]) -> str:
    methods = dict.fromkeys(entry.method for entry in entries)
    return f"choose from {', '.join([*methods, *(entry.name for entry in entries)])}"
