"""Building blocks of self-contained HTML pages in the style of Resay's reports.

`tag` makes an element. Text in it is escaped: `Html` marks markup, and any other string is text.
`verdict_section` shows a verdict, `page` several; `document` puts elements into a whole page.
"""

from __future__ import annotations

from resay.core.highlighting import pieces
from resay.reporting.render.html import (
    Html,
    Reported,
    document,
    has_text,
    joined,
    page,
    stylesheet,
    tag,
    verdict_section,
)
from resay.reporting.render.html.markup import (
    badge,
    chip,
    definition,
    hidden,
    meter,
    score_text,
    scrolling,
)
from resay.reporting.render.texts import cost

__all__ = [
    "Html",
    "Reported",
    "badge",
    "chip",
    "cost",
    "definition",
    "document",
    "has_text",
    "hidden",
    "joined",
    "meter",
    "page",
    "pieces",
    "score_text",
    "scrolling",
    "stylesheet",
    "tag",
    "verdict_section",
]
