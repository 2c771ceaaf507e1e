"""Tools whose arguments are the answer, and those that were called before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from resay.core.query import Query
from resay.providers.apis.base import Body

__all__ = ["object_tools", "tools_of_old"]


def object_tools(names: Sequence[str], choice: object, forced: Collection[str]) -> tuple[str, ...]:
    """Return the one tool that is offered and has to be called: a way to ask for an object.

    Args:
        names: The tools that are offered.
        choice: What the request says of its choice.
        forced: What that is where a tool has to be called.
    """
    return (names[0],) if len(names) == 1 and names[0] and choice in forced else ()


def tools_of_old(body: Body, query: Query, none: object) -> dict[str, Any]:
    """Return what lets a query go on a conversation in which tools were called.

    Some providers refuse such a conversation without the tools. None of them may be called again.

    Args:
        body: The request of the main call.
        query: What is to be asked.
        none: How the API says that no tool is to be called.
    """
    called = any(m.get("role") == "tool" or m.get("tool_calls") for m in query.messages)
    known = called and body.get("tools") and "tools" not in query.params
    return {"tools": body["tools"], "tool_choice": none} if known else {}
