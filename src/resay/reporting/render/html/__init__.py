"""Verdicts as HTML: a self-contained page, and the parts it is made of.

The templates escape all text of models and documents.
"""

from __future__ import annotations

from resay.reporting.render.html.environment import (
    content_security_policy,
    environment,
    stylesheet,
)
from resay.reporting.render.html.page import page, verdict_section
from resay.reporting.render.html.reported import Reported

__all__ = [
    "Reported",
    "content_security_policy",
    "environment",
    "page",
    "stylesheet",
    "verdict_section",
]
