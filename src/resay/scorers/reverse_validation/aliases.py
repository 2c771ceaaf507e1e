"""Reads the other names that a text gives its subject: "also known as the Coathanger"."""

from __future__ import annotations

from resay._internal.patterns import lazy_pattern

# Aliases come with the definition; "known as" further down is about other things.
_DEFINITION_CHARS = 500
_WORD = r"[\w'’.-]+"
_NAME = (
    # A proper name may be long and contain small words; a common name ends with its clause, or
    # where a statement about it begins.
    rf"(?:[A-Z]{_WORD}(?:[ -](?:of|the|de|and|la|[A-Z]{_WORD})){{0,5}}"
    rf"|[a-z][\w-]+(?:\s[a-z][\w-]+){{0,2}}?(?=[,.;)]|\s+(?:is|was|and|or)\b))"
)
_ALSO_KNOWN_AS = lazy_pattern(
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
        response: The response; only its opening is searched, where things are defined.

    Returns:
        The names in order, each once.
    """
    opening = response[:_DEFINITION_CHARS]
    aliases = [match[1].rstrip(".") for match in _ALSO_KNOWN_AS.finditer(opening)]
    return tuple(dict.fromkeys(aliases))
