"""The dashboard: the journal's verdicts and figures, for people with a browser.

It needs the extra `server`.
"""

from resay.reporting.dashboard.serving import routes

__all__ = ["routes"]
