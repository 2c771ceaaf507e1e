"""Tools whose arguments are the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["object_tools"]


def object_tools(names: Sequence[str], choice: object, forced: Collection[str]) -> tuple[str, ...]:
    """Return the one tool that is offered and has to be called: a way to ask for an object.

    Args:
        names: The tools that are offered.
        choice: What the request says of its choice.
        forced: What that is where a tool has to be called.
    """
    return (names[0],) if len(names) == 1 and names[0] and choice in forced else ()
