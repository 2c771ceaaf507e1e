"""Verdicts as HTML: a self-contained page, and the parts it is made of.

All text of models and documents is escaped: `Html` marks the markup made here, and any other
string in an element is treated as text.
"""

from __future__ import annotations

from resay.reporting.render.html.answer import has_text
from resay.reporting.render.html.markup import Html, joined, tag
from resay.reporting.render.html.page import document, page, stylesheet
from resay.reporting.render.html.reported import Reported
from resay.reporting.render.html.section import verdict_section

__all__ = [
    "Html",
    "Reported",
    "document",
    "has_text",
    "joined",
    "page",
    "stylesheet",
    "tag",
    "verdict_section",
]
