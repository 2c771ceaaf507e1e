"""Look-ups of what an answer names: packages, links and DOIs (`lookups`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.engine.lookups.findings import Findings as Findings
    from resay.engine.lookups.findings import with_findings as with_findings
    from resay.engine.lookups.lookup import Lookup as Lookup
    from resay.engine.lookups.lookup import Lookups as Lookups
    from resay.engine.lookups.mentions import Mention as Mention
    from resay.engine.lookups.mentions import mentions_in as mentions_in
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.engine.lookups.findings": ("Findings", "with_findings"),
            "resay.engine.lookups.lookup": ("Lookup", "Lookups"),
            "resay.engine.lookups.mentions": ("Mention", "mentions_in"),
        },
    )
