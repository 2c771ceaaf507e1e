"""Core value types (queries, passages, verdicts) and text analysis without model calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.core.check_context import CheckContext as CheckContext
    from resay.core.logprobs import tokens_of as tokens_of
    from resay.core.verdict import OnVerdict as OnVerdict
    from resay.core.verdict import Verdict as Verdict
    from resay.core.verdict_record import Sink as Sink
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.core.verdict_record": ("Sink",),
            "resay.core.verdict": (
                "OnVerdict",
                "Verdict",
            ),
            "resay.core.check_context": ("CheckContext",),
            "resay.core.logprobs": ("tokens_of",),
        },
    )
