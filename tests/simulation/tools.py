"""The tools of a request: what they are, and which of them the simulated model calls.

A tool that is forced is called. Otherwise a tool is called when the conversation ends with a
message of the user that calls for it: one with `[[tool]]` in it, one with all telling words of the
tool's name (`get_weather` has one, "weather"), or one with at least 60 % of the telling words of
the first sentence of its description, and two of them. Words are compared by their stems; function
words and what nearly every tool is called ("get", "search", "tool") tell nothing. Questions that do
not call for a tool are answered in words, whatever tools are offered.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import Field

from resay.testing.world import SUPPORT, WORD, stems
from simulation.body import Body, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CALL", "Function", "Tool", "called_for", "check_choice", "name_words"]

CALL = "[[tool]]"
"""What a user's message has in it to have a tool called, whatever it says."""

_PIECE = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W\d_]+")
_LISTED = """call calculate check compute create do fetch find function generate get input list look
lookup make query read retrieve return run search show tool use using"""
_ANY_TOOL = stems(_LISTED.split())
_LEAST_PURPOSE = 2


class Function(Body):
    """A function that may be called."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def is_called_for(self, text: str) -> bool:
        """Return whether a text speaks of the function by its name or its purpose."""
        said = stems(WORD.findall(text))
        name = stems(name_words(self.name))
        if (telling := name - _ANY_TOOL or name) and telling <= said:
            return True
        purpose = stems(WORD.findall((self.description or "").split(".")[0])) - _ANY_TOOL
        share = len(purpose & said)
        return share >= max(_LEAST_PURPOSE, SUPPORT * len(purpose))


class Tool(Body):
    """A tool; only functions are understood."""

    function: Function | None = None


def name_words(name: str) -> list[str]:
    """Return the words of an identifier, in lower case."""
    return [piece.lower() for piece in _PIECE.findall(name)]


def check_choice(functions: Sequence[Function], choice: object) -> None:
    """Check `tool_choice`.

    Raises:
        InvalidRequestError: It names a function that is not offered, or nothing is offered.
    """
    if choice is None or (choice == "none" and not functions):
        return
    if not functions:
        raise InvalidRequestError(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are"
            " specified.",
            "tool_choice",
        )
    if choice not in ("none", "auto", "required") and _named(functions, choice) is None:
        raise InvalidRequestError(
            "Invalid value for 'tool_choice': expected 'none', 'auto', 'required' or"
            " {'type': 'function', 'function': {'name': ...}} with the name of one of the 'tools'.",
            "tool_choice",
        )


def called_for(
    functions: Sequence[Function], choice: object, text: str, *, asked: bool
) -> list[Function]:
    """Return the functions to call.

    Args:
        functions: What is offered.
        choice: Which of them must, may, or must not be called; None for may.
        text: What the user said last.
        asked: Whether that is where the conversation ends.

    Returns:
        The functions, those that the text speaks of first; none where it is to be answered in
        words.
    """
    if not functions or choice == "none":
        return []
    named = _named(functions, choice)
    if named is not None:
        return [named]
    fitting = [function for function in functions if function.is_called_for(text)]
    must = choice == "required" or (asked and CALL in text)
    if must:
        return fitting or [functions[0]]
    return fitting if asked else []


def _named(functions: Sequence[Function], choice: object) -> Function | None:
    for function in functions:
        if choice == {"type": "function", "function": {"name": function.name}}:
            return function
    return None
