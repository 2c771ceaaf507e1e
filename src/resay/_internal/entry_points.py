"""Objects that other distributions install under a name, by entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from resay.errors import ConfigurationError

Group = Literal["resay.providers", "resay.retrievers", "resay.records", "resay.sinks"]


@cache
def installed_names(group: Group) -> tuple[str, ...]:
    """Return the names that installed distributions give to objects of a group, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=group)}))


@cache
def load_installed(group: Group, name: str) -> Any:
    """Return the object that a distribution installs under a name.

    Raises:
        ConfigurationError: There is none, or importing it fails.
    """
    points = [point for point in entry_points(group=group) if point.name == name]
    if not points:
        raise ConfigurationError(f"nothing installs {name!r} in the entry point group {group!r}")
    try:
        return points[0].load()
    # The imported code may raise anything; its message may be private.
    except Exception as error:
        raise ConfigurationError(
            f"cannot load {name!r} from {points[0].value!r}: {type(error).__name__}"
        ) from error
