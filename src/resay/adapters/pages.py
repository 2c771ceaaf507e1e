"""Self-contained HTML pages in the style of Resay's reports.

`page` shows verdicts, `verdict_section` one for a page of your own. `environment` renders the Jinja
templates of a package, which can build on those of the reports.
"""

from __future__ import annotations

from resay.core.display.highlighting import pieces
from resay.reporting.render.html import (
    Reported,
    environment,
    page,
    stylesheet,
    verdict_section,
)

__all__ = ["Reported", "environment", "page", "pieces", "stylesheet", "verdict_section"]
