"""Finds the tokens a text was made of in that text, and the sentence each belongs to.

What providers list as the tokens of a response is not quite the response: white space around it is
stripped, reasoning comes before it, special tokens end it, and a character may be cut into several
tokens, of which some providers show only a replacement character. The text is compared byte by
byte, from its end; what does not fit to the last byte does not fit at all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage

__all__ = ["Alignment", "align", "bytes_of"]

_SPACE = " \t\n\r\v\f"
_SPACE_BYTES = _SPACE.encode()
# </s>, <|im_end|>, <end_of_turn>, <｜end▁of▁sentence｜>, [EOS]
_SPECIAL = re.compile(rb"\s*(?:<[^<>\s]*>|\[/?[A-Z_]+\])\s*")
_UNREADABLE = "\ufffd".encode()
# A decoder puts one replacement character in the place of at most so many bytes.
_LONGEST_UNREADABLE = 3


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the tokens of a text stand.

    Attributes:
        owners: For each token the index of its sentence in the passage, None for a token that
            belongs to none.
        texts: For each token the characters of the text that it has a part in, without white
            space around them; empty for a token that is not in the text.
    """

    owners: tuple[int | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """Bytes of the text; `shared` where several tokens have parts of them that cannot be told."""

    start: int
    end: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a token: its bytes, or None for a character that could not be shown."""

    token: int
    data: bytes | None


def bytes_of(token: TokenLogprob) -> bytes:
    """Return the bytes of a token, as the provider tells them or else those of its text."""
    return token.token.encode(errors="surrogatepass") if token.bytes is None else bytes(token.bytes)


def align(tokens: Sequence[TokenLogprob], passage: Passage) -> Alignment | None:
    """Find the tokens of a passage, and the sentence each belongs to.

    A token belongs to the sentence that it has most bytes in, of two the earlier. One that has
    more in anything else (a heading, code, a sentence that the passage leaves out) belongs to none.

    Args:
        tokens: The tokens in order. Before those of the text there may be any others, after them
            white space and special tokens only.
        passage: The text and its sentences.

    Returns:
        The alignment, or None where the tokens do not make up the text.
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
        owners.append(max(touched, key=lambda found: found[0], default=(0, None))[1])
    return Alignment(tuple(owners), tuple(_text_at(span, starts, passage.text) for span in spans))


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _spans(tokens: Sequence[bytes], text: str) -> list[_Span | None] | None:
    core = _encoded(text.strip(_SPACE))
    offset = len(_encoded(text)) - len(_encoded(text.lstrip(_SPACE)))
    if not core:
        return [None for _ in tokens]
    for end in range(len(tokens), 0, -1):
        found = _match(_parts(tokens[:end]), core)
        if found is not None:
            return [
                _Span(found[i].start + offset, found[i].end + offset, found[i].shared)
                if i in found
                else None
                for i in range(len(tokens))
            ]
        last = tokens[end - 1]
        if last.strip() and not _SPECIAL.fullmatch(last):
            return None
    return None


def _parts(tokens: Sequence[bytes]) -> list[_Part]:
    """Return the parts of all tokens in order, without white space at their end."""
    parts: list[_Part] = []
    for i, token in enumerate(tokens):
        for position, data in enumerate(token.split(_UNREADABLE)):
            if position:
                parts.append(_Part(i, None))
            if data or not token:
                parts.append(_Part(i, data))
    while parts and parts[-1].data is not None:
        last = parts.pop()
        data = (last.data or b"").rstrip(_SPACE_BYTES)
        if data:
            parts.append(_Part(last.token, data))
            break
    return parts


def _match(parts: list[_Part], core: bytes) -> dict[int, _Span] | None:
    """Match parts with the text backwards, until the text is used up."""
    found: dict[int, _Span] = {}
    end = len(core)
    while end > 0:
        if not parts:
            return None
        run = _unreadable_run(parts)
        start = _before(parts[-run - 1 :], core, end) if run else _start(parts[-1], core, end)
        if start is None:
            return None
        for part in parts[-(run or 1) :]:
            found[part.token] = _joined(found.get(part.token), _Span(start, end, run > 1))
        del parts[-(run or 1) :]
        end = start
    first = min(found)
    rest = b"".join(_UNREADABLE if p.data is None else p.data for p in parts if p.token == first)
    return None if rest.strip() else found


def _unreadable_run(parts: Sequence[_Part]) -> int:
    count = 0
    while count < len(parts) and parts[-count - 1].data is None:
        count += 1
    return count


def _start(part: _Part, core: bytes, end: int) -> int | None:
    """Return where a part begins that ends here, None where it does not stand here."""
    data = part.data or b""
    if core.endswith(data, 0, end):
        return end - len(data)
    # White space before the text is stripped, also from within its first token.
    return 0 if data.lstrip() == core[:end] else None


def _before(parts: Sequence[_Part], core: bytes, end: int) -> int | None:
    """Return where a run of unreadable characters begins, None where that is not certain.

    Args:
        parts: The run, and the part before it where there is one.
        core: The text.
        end: Where the run ends.
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


def _joined(later: _Span | None, earlier: _Span) -> _Span:
    if later is None:
        return earlier
    return _Span(earlier.start, later.end, earlier.shared or later.shared)


def _stretches(passage: Passage, starts: Sequence[int]) -> Iterator[tuple[int, int, int | None]]:
    """Yield the bytes of every sentence with its index, and of every other piece with None."""
    begins = [piece.start for piece in passage.pieces]
    held = {bisect_right(begins, sentence.start) - 1 for sentence in passage.sentences}
    for i, sentence in enumerate(passage.sentences):
        yield starts[sentence.start], starts[sentence.end], i
    for i, piece in enumerate(passage.pieces):
        inner = piece.text.strip()
        if inner and i not in held:
            start = piece.start + piece.text.index(inner)
            yield starts[start], starts[start + len(inner)], None


def _touched(
    span: _Span, stretches: Sequence[tuple[int, int, int | None]]
) -> Iterator[tuple[int, int | None]]:
    """Yield how many bytes a token has in each stretch it touches, in order, and whose it is.

    A token without bytes, such as some providers show for parts of a character, touches what it is
    inside of.
    """
    first = bisect_right(stretches, span.start, key=lambda stretch: stretch[0]) - 1
    for start, end, owner in stretches[max(first, 0) :]:
        if start >= span.end:
            break
        overlap = min(end, span.end) - max(start, span.start)
        if overlap > 0 or (span.start == span.end and start < span.start < end):
            yield overlap, owner


def _text_at(span: _Span | None, starts: Sequence[int], text: str) -> str:
    if span is None or span.start == span.end:
        return ""
    # From the beginning of the character that the first byte is in, to the end of that of the last.
    first = bisect_right(starts, span.start) - 1
    last = bisect_right(starts, span.end - 1) - 1
    return text[first : last + 1].strip()
