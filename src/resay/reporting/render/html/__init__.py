"""Verdicts as HTML: a page that stands alone, and the parts it is made of.

Whatever a model or a document says is escaped: `Html` marks what was made here, and everything else
that goes into an element is taken for words.
"""

from resay.reporting.render.html.markup import Html, joined, tag
from resay.reporting.render.html.page import page, policy_of, stylesheet
from resay.reporting.render.html.section import Reported, verdict_section

__all__ = [
    "Html",
    "Reported",
    "joined",
    "page",
    "policy_of",
    "stylesheet",
    "tag",
    "verdict_section",
]
