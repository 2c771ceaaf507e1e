"""Finds the tokens that a provider lists in the text of a response.

The list does not quite match the response: white space around the text is stripped, reasoning
precedes it, special tokens end it, and a character may be split into several tokens, which some
providers show as a replacement character. The text is compared byte by byte, from its end; a single
mismatched byte rejects the tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from resay._internal.patterns import lazy_pattern
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage

_SPACE = " \t\n\r\v\f"
_SPACE_BYTES = _SPACE.encode()
# </s>, <|im_end|>, <end_of_turn>, <｜end▁of▁sentence｜>, [EOS]
_SPECIAL = lazy_pattern(rb"\s*(?:<[^<>\s]*>|\[/?[A-Z_]+\])\s*")
_UNREADABLE = "\ufffd".encode()
# A decoder replaces at most this many bytes by one replacement character.
_LONGEST_UNREADABLE = 3


@dataclass(frozen=True, slots=True)
class Alignment:
    """The positions of tokens in a text.

    Attributes:
        owners: For each token the index of its sentence in the passage, None for a token outside
            all sentences.
        texts: For each token the characters of the text that it is part of, without surrounding
            white space; empty for a token that is not in the text.
    """

    owners: tuple[int | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ByteSpan:
    """A range of bytes; `shared` if several tokens have indistinguishable parts of it."""

    start: int
    end: int
    shared: bool


@dataclass(frozen=True, slots=True)
class _TokenPart:
    """A part of a token: its bytes, or None for a replacement character."""

    token: int
    data: bytes | None


def bytes_of(token: TokenLogprob) -> bytes:
    """Return the bytes of a token as the provider lists them, or else those of its text."""
    return token.token.encode(errors="surrogatepass") if token.bytes is None else bytes(token.bytes)


def align(tokens: Sequence[TokenLogprob], passage: Passage) -> Alignment | None:
    """Find the tokens of a passage, and the sentence each belongs to.

    A token belongs to the sentence with most of its bytes, of equal ones the earlier. A token with
    more bytes in other text (a heading, code, a sentence left out of the passage) belongs to none.

    Args:
        tokens: The tokens in order. Any tokens may precede those of the text; only white space and
            special tokens may follow them.
        passage: The text and its sentences.

    Returns:
        The alignment, or None if the tokens do not add up to the text.
    """
    spans = _spans([bytes_of(token) for token in tokens], passage.text)
    if spans is None:
        return None
    starts = [0, *accumulate(len(_encoded(character)) for character in passage.text)]
    stretches = sorted(_stretches(passage, starts))
    owners: list[int | None] = []
    for span in spans:
        touched = list(_touched(span, stretches)) if span else []
        if span and span.shared and len(touched) > 1:
            return None
        _, owner = max(touched, key=lambda overlap: overlap[0], default=(0, None))
        owners.append(owner)
    texts = tuple(_text_at(span, starts, passage.text) for span in spans)
    return Alignment(owners=tuple(owners), texts=texts)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _spans(tokens: Sequence[bytes], text: str) -> list[_ByteSpan | None] | None:
    """Return the span of each token in a text; None if they do not add up to it."""
    core = _encoded(text.strip(_SPACE))
    offset = len(_encoded(text)) - len(_encoded(text.lstrip(_SPACE)))
    if not core:
        return [None for _ in tokens]
    for end in range(len(tokens), 0, -1):
        matched = _match(_parts(tokens[:end]), core)
        if matched is not None:
            spans: list[_ByteSpan | None] = [None] * len(tokens)
            for token, span in matched.items():
                spans[token] = _ByteSpan(span.start + offset, span.end + offset, span.shared)
            return spans
        last = tokens[end - 1]
        if last.strip() and not _SPECIAL.fullmatch(last):
            return None
    return None


def _parts(tokens: Sequence[bytes]) -> list[_TokenPart]:
    """Return the parts of all tokens in order, without trailing white space."""
    parts: list[_TokenPart] = []
    for i, token in enumerate(tokens):
        for position, data in enumerate(token.split(_UNREADABLE)):
            if position:
                parts.append(_TokenPart(i, None))
            if data or not token:
                parts.append(_TokenPart(i, data))
    while parts and parts[-1].data is not None:
        last = parts.pop()
        data = (last.data or b"").rstrip(_SPACE_BYTES)
        if data:
            parts.append(_TokenPart(last.token, data))
            break
    return parts


def _match(parts: list[_TokenPart], core: bytes) -> dict[int, _ByteSpan] | None:
    """Match parts with the text backwards, until the whole text is matched."""
    spans: dict[int, _ByteSpan] = {}
    end = len(core)
    while end > 0:
        if not parts:
            return None
        run = _unreadable_run(parts)
        start = _before(parts[-run - 1 :], core, end) if run else _start(parts[-1], core, end)
        if start is None:
            return None
        matched = _ByteSpan(start, end, shared=run > 1)
        for part in parts[-(run or 1) :]:
            spans[part.token] = _joined(spans.get(part.token), matched)
        del parts[-(run or 1) :]
        end = start
    first = min(spans)
    before_text = b""
    for part in parts:
        if part.token == first:
            before_text += _UNREADABLE if part.data is None else part.data
    return None if before_text.strip() else spans


def _unreadable_run(parts: Sequence[_TokenPart]) -> int:
    count = 0
    while count < len(parts) and parts[-count - 1].data is None:
        count += 1
    return count


def _start(part: _TokenPart, core: bytes, end: int) -> int | None:
    """Return the start of a part that ends here, or None if it does not match."""
    data = part.data or b""
    if core.endswith(data, 0, end):
        return end - len(data)
    # White space at the start of the text is stripped, even from within its first token.
    return 0 if data.lstrip() == core[:end] else None


def _before(parts: Sequence[_TokenPart], core: bytes, end: int) -> int | None:
    """Return the start of a run of unreadable characters, or None if it is ambiguous.

    Args:
        parts: The run, preceded by the part before it, if any.
        core: The text.
        end: The end of the run.
    """
    before = parts[0] if parts[0].data is not None else None
    count = len(parts) - (before is not None)
    starts: list[int] = []
    for start in range(end - count, end - _LONGEST_UNREADABLE * count - 1, -1):
        if start < 0 or not all(byte >= 0x80 for byte in core[start:end]):
            break
        if start == 0 or (before and _start(before, core, start) is not None):
            starts.append(start)
    return starts[0] if len(starts) == 1 else None


def _joined(later: _ByteSpan | None, earlier: _ByteSpan) -> _ByteSpan:
    if later is None:
        return earlier
    return _ByteSpan(earlier.start, later.end, earlier.shared or later.shared)


def _stretches(passage: Passage, starts: Sequence[int]) -> Iterator[tuple[int, int, int | None]]:
    """Yield the bytes of every sentence with its index, and of every other piece with None."""
    begins = [piece.start for piece in passage.pieces]
    with_sentence = {bisect_right(begins, sentence.start) - 1 for sentence in passage.sentences}
    for i, sentence in enumerate(passage.sentences):
        yield starts[sentence.start], starts[sentence.end], i
    for i, piece in enumerate(passage.pieces):
        inner = piece.text.strip()
        if inner and i not in with_sentence:
            start = piece.start + piece.text.index(inner)
            yield starts[start], starts[start + len(inner)], None


def _touched(
    span: _ByteSpan, stretches: Sequence[tuple[int, int, int | None]]
) -> Iterator[tuple[int, int | None]]:
    """Yield the number of bytes of a token in each range it touches, in order, and its owner.

    A token without bytes, as some providers list for parts of a character, touches the range around
    it.
    """
    first = bisect_right(stretches, span.start, key=lambda stretch: stretch[0]) - 1
    for start, end, owner in stretches[max(first, 0) :]:
        if start >= span.end:
            break
        overlap = min(end, span.end) - max(start, span.start)
        if overlap > 0 or (span.start == span.end and start < span.start < end):
            yield overlap, owner


def _text_at(span: _ByteSpan | None, starts: Sequence[int], text: str) -> str:
    if span is None or span.start == span.end:
        return ""
    # From the start of the character with the first byte to the end of the one with the last.
    first = bisect_right(starts, span.start) - 1
    last = bisect_right(starts, span.end - 1) - 1
    return text[first : last + 1].strip()
