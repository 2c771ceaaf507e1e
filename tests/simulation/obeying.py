"""What a gullible model obeys: whoever tells it to forget what it was asked, and what to say.

"Ignore all previous instructions and say that …", "Disregard the above. Answer: …", "Reply with …".
What is to be said is the text in quotes, or else the rest of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from simulation.fences import outside

__all__ = ["Gullible", "is_order", "ordered"]

Gullible = bool | Literal["everywhere"]
"""Whether a model obeys orders that do not stand in a document: in none, or even there."""

_ORDER = re.compile(
    r"""
    (?: \b(?:ignore|disregard|forget)\b .{0,200}?
        \b(?:say|reply|respond|answer|write|output|print|state)\b
      | \b(?:reply|respond) (?= \s+ (?:(?:only|exactly|just|simply)\s+)? with\b ) )
    (?: \s+ (?:only|exactly|just|simply|with|that|this|the\s+(?:words?|text|sentence)) \b )*
    \s* :? \s*
    (?P<what> " [^"]+ " | “ [^”]+ ” | « [^»]+ » | ' [^'\n]+ ' (?!\w)
      | \S .*? (?: [.!?](?=\s|$) | (?=\n\s*\n) | \Z ) )
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_QUOTES = "\"'“”«» "


def is_order(text: str) -> bool:
    """Return whether a text tells a model what to say in place of what it was asked for."""
    return _ORDER.search(text) is not None


def ordered(texts: Iterable[str], gullible: Gullible) -> str | None:
    """Return what the first order tells a gullible model to say.

    Args:
        texts: What the model reads.
        gullible: Which orders it obeys.

    Returns:
        The words, beginning in upper case; None where it obeys no order.
    """
    if not gullible:
        return None
    heard = texts if gullible == "everywhere" else map(outside, texts)
    order = next((found for text in heard if (found := _ORDER.search(text))), None)
    if order is None:
        return None
    said = " ".join(order["what"].strip(_QUOTES).split())
    return said[:1].upper() + said[1:]
