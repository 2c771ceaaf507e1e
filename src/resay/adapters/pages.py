"""Building blocks of self-contained HTML pages in the style of Resay's reports.

`tag` makes an element. Text in it is escaped: `Html` marks markup, and any other string is text.
"""

from __future__ import annotations

from resay.reporting.render.html import Html, joined, policy_of, stylesheet, tag
from resay.reporting.render.html.markup import badge, chip, definition, meter, scrolling

__all__ = [
    "Html",
    "badge",
    "chip",
    "definition",
    "joined",
    "meter",
    "policy_of",
    "scrolling",
    "stylesheet",
    "tag",
]
