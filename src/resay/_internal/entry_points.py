"""Objects that other distributions install under a name, by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from resay.errors import ConfigurationError, MissingDependencyError

Group = Literal[
    "resay.commands",
    "resay.providers",
    "resay.records",
    "resay.reports",
    "resay.retrievers",
    "resay.scorers",
    "resay.sinks",
]
_NOUNS: Mapping[Group, str] = {
    "resay.commands": "command",
    "resay.providers": "provider",
    "resay.records": "record",
    "resay.reports": "report",
    "resay.retrievers": "retriever",
    "resay.scorers": "scorer",
    "resay.sinks": "sink",
}


@cache
def installed_names(group: Group) -> tuple[str, ...]:
    """Return the names that installed distributions give to objects of a group, sorted."""
    return tuple(sorted(_points(group)))


def installed_by(group: Group, name: str) -> str:
    """Return the names of the distributions that install an object; nothing is imported.

    Args:
        group: The entry point group.
        name: The object's name.
    """
    names = {point.dist.name if point.dist else point.value for point in _points(group)[name]}
    return " and ".join(sorted(names))


@cache
def load_installed(group: Group, name: str) -> Any:
    """Return the object that a distribution installs under a name.

    Raises:
        ConfigurationError: There is none, two distributions install another one each, or importing
            it fails.
        MissingDependencyError: It says that it needs a package that is not installed.
    """
    points = _points(group).get(name, [])
    if not points:
        raise ConfigurationError(f"nothing installs {name!r} in the entry point group {group!r}")
    point, *others = points
    what = f"the {_NOUNS[group]} {name!r}"
    if others:
        raise ConfigurationError(
            f"{what} is ambiguous: {installed_by(group, name)} each install one; uninstall all but"
            " one of them"
        )
    try:
        return point.load()
    except MissingDependencyError:
        raise
    # The imported code may raise anything, and may exit; its message may be private.
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"cannot load {what} from {point.value!r}: {type(error).__name__}"
        ) from error


@cache
def _points(group: Group) -> Mapping[str, list[EntryPoint]]:
    """Return the entry points of a group by name: those that name different objects."""
    points: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, {}).setdefault(point.value, point)
    return {name: list(by_value.values()) for name, by_value in points.items()}
