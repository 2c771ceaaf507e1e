"""Look-ups of what an answer names: packages, links and DOIs (`lookups`)."""

from __future__ import annotations

from resay.engine.lookups.findings import Findings, with_findings
from resay.engine.lookups.lookup import Lookup, Lookups
from resay.engine.lookups.mentions import Mention, mentions_in

__all__ = ["Findings", "Lookup", "Lookups", "Mention", "mentions_in", "with_findings"]
