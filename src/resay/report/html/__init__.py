"""Verdicts as HTML: a page that stands alone, and the parts it is made of.

Whatever a model or a document says is escaped: `Html` marks what was made here, and everything else
that goes into an element is taken for words.
"""

from resay.report.html.markup import Html, joined, tag
from resay.report.html.page import page, policy_of, stylesheet
from resay.report.html.reported import Reported
from resay.report.html.section import verdict_section

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
