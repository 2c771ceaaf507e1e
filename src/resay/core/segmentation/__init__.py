"""Text segmentation: the boundaries of blocks, and of the sentences in them.

All offsets are in code points, and everything takes time linear in the length of the text, for any
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.core.segmentation.alignment import UnalignedError as UnalignedError
    from resay.core.segmentation.alignment import align as align
    from resay.core.segmentation.blocks import parse_layout as parse_layout
    from resay.core.segmentation.pieces import piece_spans as piece_spans
    from resay.core.segmentation.splitters import load_splitter as load_splitter
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.core.segmentation.alignment": ("UnalignedError", "align"),
            "resay.core.segmentation.blocks": ("parse_layout",),
            "resay.core.segmentation.pieces": ("piece_spans",),
            "resay.core.segmentation.splitters": ("load_splitter",),
        },
    )
