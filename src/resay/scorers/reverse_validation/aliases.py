"""The other names a response itself gives to what it is about."""

from __future__ import annotations

import re

__all__ = ["stated_aliases"]

# Aliases stand with the definition; further down it is other things that are known as something.
_OPENING = 500
_WORD = r"[\w'’.-]+"
_NAME = (
    # A proper name may be long and have small words inside; a common one ends where its clause or
    # what is said of it begins.
    rf"(?:[A-Z]{_WORD}(?:[ -](?:of|the|de|and|la|[A-Z]{_WORD})){{0,5}}"
    rf"|[a-z][\w-]+(?:\s[a-z][\w-]+){{0,2}}?(?=[,.;)]|\s+(?:is|was|and|or)\b))"
)
_STATED = re.compile(
    r"\b(?:also|commonly|sometimes|often|formerly|better|otherwise|popularly|previously|originally"
    r"|widely|informally|colloquially|generally)\s+"
    r"(?:(?:more|simply|commonly|widely|formerly)\s+)*"
    r"(?:(?:known|referred\s+to)\s+(?:simply\s+)?as"
    r"|(?:spelled|written|abbreviated)(?:\s+(?:as|to))?|called|nicknamed|titled|named)\s+"
    rf"[\"“'‘]?(?:the\s+)?[\"“'‘]?({_NAME})"
)


def stated_aliases(response: str) -> tuple[str, ...]:
    """Return the names a response gives with words like "also known as".

    Args:
        response: The response; only its opening is looked at, where things are defined.

    Returns:
        The names in order, each once.
    """
    found = (match[1].rstrip(".") for match in _STATED.finditer(response[:_OPENING]))
    return tuple(dict.fromkeys(found))
