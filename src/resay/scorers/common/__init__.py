"""Code shared by methods: comparing with samples, asking judges, parsing their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.scorers.common.uncited import nearby_text as nearby_text
    from resay.scorers.common.uncited import uncited_sentences as uncited_sentences
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.scorers.common.uncited": ("nearby_text", "uncited_sentences"),
        },
    )
