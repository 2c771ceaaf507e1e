"""Tokenization of texts, and padding of encoded texts into batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from resay.models.base import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

Spans: TypeAlias = Sequence[tuple[int, int]]
"""The start and end of each token in the text; equal for special tokens."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded text or pair of texts.

    Attributes:
        ids: The token ids, including special tokens.
        types: For each token, the text that it belongs to.
        special: For each token, whether it is special.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    special: tuple[int, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Computed once, on the encoding thread: it is looked up often, and on the event loop.
        object.__setattr__(self, "_hash", hash(self.ids))

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several encoded texts, padded to the same length.

    Attributes:
        ids: The token ids, of shape (texts, tokens).
        mask: 1 for a token, 0 for padding.
        types: For each token, the text of a pair that it belongs to.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


def pad(items: Sequence[Encoded], pad_id: int) -> Batch:
    """Pad encoded texts at the end, and stack them into arrays."""
    shape = (len(items), max(map(len, items)))
    ids = np.full(shape, pad_id, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    types = np.zeros(shape, dtype=np.int64)
    for row, item in enumerate(items):
        ids[row, : len(item)] = item.ids
        types[row, : len(item)] = item.types
        mask[row, : len(item)] = 1
    return Batch(ids, mask, types)


class TextEncoder:
    """A tokenizer without truncation and padding. Threads may share it.

    Args:
        tokenizer: A `tokenizers.Tokenizer`, which is copied.
        max_tokens: The maximum length of the model's input, including special tokens; None = no
            limit.
        start: The id of a token to prepend if the tokenizer adds none, for models that give the
            probability of each token after those before it.
    """

    def __init__(self, tokenizer: Any, max_tokens: int | None, start: int | None = None) -> None:
        # Other users may enable padding and truncation, which are state of the tokenizer.
        make: Any = tokenizer.__class__
        self._tokenizer: Any = make.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._max_tokens = max_tokens
        self._start = start

    @property
    def max_pair_tokens(self) -> int | None:
        """The maximum number of tokens in a pair of texts, or None for no limit."""
        return self._max_tokens_of(pair=True)

    @property
    def max_text_tokens(self) -> int | None:
        """The maximum number of tokens in a single text, or None for no limit."""
        return self._max_tokens_of(pair=False)

    def _max_tokens_of(self, *, pair: bool) -> int | None:
        if self._max_tokens is None:
            return None
        return self._max_tokens - self._tokenizer.num_special_tokens_to_add(pair)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        readable = list(map(_readable, texts))
        # Without the offsets of tokens, which take a quarter of the time.
        encodings = self._tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        return list(map(len, encodings))

    def pairs(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """Encode pairs of texts of any length."""
        return list(map(_encoded, self._encode_pairs(pairs)))

    def pairs_with_spans(
        self, pairs: Sequence[Pair]
    ) -> list[tuple[Encoded, dict[int, tuple[int, int]]]]:
        """Encode pairs of texts, with the spans of the second text's tokens by position."""
        items: list[tuple[Encoded, dict[int, tuple[int, int]]]] = []
        for encoding in self._encode_pairs(pairs):
            spans: dict[int, tuple[int, int]] = {}
            sequences = zip(encoding.sequence_ids, encoding.offsets, strict=True)
            for position, (sequence, (start, end)) in enumerate(sequences):
                if sequence == 1 and start < end:
                    spans[position] = (start, end)
            items.append((_encoded(encoding), spans))
        return items

    def texts(self, texts: Sequence[str]) -> list[list[Encoded]]:
        """Encode single texts, splitting those that are longer than the model's input."""
        encodings = self._tokenizer.encode_batch(list(map(_readable, texts)))
        return [self.split(_encoded(encoding)) for encoding in encodings]

    def _encode_pairs(self, pairs: Sequence[Pair]) -> Sequence[Any]:
        return self._tokenizer.encode_batch([(_readable(a), _readable(b)) for a, b in pairs])

    def spans(self, text: str) -> tuple[Encoded, Spans]:
        """Encode a text of any length, with the spans of its tokens."""
        encoding = self._tokenizer.encode(_readable(text))
        encoded, spans = _encoded(encoding), tuple(encoding.offsets)
        if self._start is None or encoded.special[:1] == (1,):
            return encoded, spans
        with_start = Encoded(
            ids=(self._start, *encoded.ids),
            types=(0, *encoded.types),
            special=(1, *encoded.special),
        )
        return with_start, ((0, 0), *spans)

    def fits(self, item: Encoded) -> bool:
        """Return whether the model can read the item at once."""
        return self._max_tokens is None or len(item) <= self._max_tokens

    def split(self, text: Encoded) -> list[Encoded]:
        """Split an encoded text into parts that the model can read at once."""
        if self._max_tokens is None or self.fits(text):
            return [text]
        size = max(self._max_tokens - sum(text.special), 1)
        first = text.special.index(0)
        last = len(text) - text.special[::-1].index(0)

        def part(row: tuple[int, ...], start: int) -> tuple[int, ...]:
            # Each part gets the special tokens before and after the text.
            return row[:first] + row[start : min(start + size, last)] + row[last:]

        return [
            Encoded(
                ids=part(text.ids, start),
                types=part(text.types, start),
                special=part(text.special, start),
            )
            for start in range(first, last, size)
        ]


def _readable(text: str) -> str:
    """Replace unpaired surrogates, which no tokenizer accepts."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _encoded(encoding: Any) -> Encoded:
    return Encoded(
        ids=tuple(encoding.ids),
        types=tuple(encoding.type_ids),
        special=tuple(encoding.special_tokens_mask),
    )
