"""Cutting a text at the spans that are to be highlighted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def pieces(text: str, start: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Cut a text where spans begin and end.

    Args:
        text: The text.
        start: Its offset in the response.
        spans: Spans of the response, in order.

    Yields:
        Each piece that is not empty, and whether it is in a span.
    """
    position = 0
    for span_start, span_end in spans:
        cut_start = max(position, span_start - start)
        cut_end = min(len(text), span_end - start)
        if cut_start < cut_end:
            if position < cut_start:
                yield text[position:cut_start], False
            yield text[cut_start:cut_end], True
            position = cut_end
    if position < len(text):
        yield text[position:], False
