"""Where the blocks of a text and the sentences inside them begin and end.

Everything here works on code-point offsets and takes time linear in the length of the text,
whatever the text is.
"""

from resay.core.segmentation.blocks import Block, Kind, Layout, is_delimiter_row, lay_out
from resay.core.segmentation.external import Span, UnalignedError, align, load_sentencex
from resay.core.segmentation.sentences import sentence_ends

__all__ = [
    "Block",
    "Kind",
    "Layout",
    "Span",
    "UnalignedError",
    "align",
    "is_delimiter_row",
    "lay_out",
    "load_sentencex",
    "sentence_ends",
]
