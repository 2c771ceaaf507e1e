"""Self-contained HTML pages in the style of Resay's reports.

`page` shows verdicts, `verdict_section` one for a page of your own. `environment` renders the Jinja
templates of a package, which can build on those of the reports. `content_security_policy` is the
policy of a page with a style sheet or a script of its own.
"""

from __future__ import annotations

from resay.core.display.highlighting import pieces
from resay.reporting.render.html import (
    Reported,
    content_security_policy,
    environment,
    page,
    stylesheet,
    verdict_section,
)

__all__ = [
    "Reported",
    "content_security_policy",
    "environment",
    "page",
    "pieces",
    "stylesheet",
    "verdict_section",
]
