from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.models.encoding import TextEncoder
from resay.models.windows import cut, windows
from support.tiny_models import make_tokenizer


class Counter:
    """Counts as a model's tokenizer does."""

    def __init__(self, kind: str) -> None:
        self.encoder = TextEncoder(make_tokenizer(kind), None)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return self.encoder.lengths(texts)

    async def max_input_tokens(self) -> int | None:
        return None


MEASURES = {kind: Counter(kind) for kind in ("words", "bytes")}

words = st.sampled_from(
    ["bridge", "the", "1932", "Wien", "été", "über-lang" * 4, "x", "opened,", "日本語", "😀"]
)
sentence = st.lists(words, min_size=1, max_size=12).map(lambda w: " ".join(w) + ".")
text = st.lists(sentence, min_size=1, max_size=8).map(" ".join)


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("kind", MEASURES)
@given(text=text, room=st.integers(16, 60))
def test_windows_fit_and_lose_nothing(kind: str, text: str, room: int) -> None:
    measure = MEASURES[kind]
    parts = asyncio.run(windows(Passage.of(text), room, measure))
    assert all(length <= room for length in measure.encoder.lengths(parts))
    assert squeezed("".join(parts)) == squeezed(text)


@pytest.mark.parametrize("kind", MEASURES)
@given(text=text, room=st.integers(8, 30))
def test_cutting_a_sentence_loses_nothing(kind: str, text: str, room: int) -> None:
    measure = MEASURES[kind]
    parts = asyncio.run(cut(text, room, measure))
    assert all(length <= room for length in measure.encoder.lengths(parts))
    assert squeezed("".join(parts)) == squeezed(text)


def test_what_fits_is_left_as_it_is() -> None:
    measure: Any = MEASURES["words"]
    text = "The bridge was opened.\n\n# A heading\n\nIt is of stone."
    assert asyncio.run(windows(Passage.of(text), 100, measure)) == [text]


def test_windows_end_where_sentences_end() -> None:
    measure: Any = MEASURES["words"]
    text = "The bridge was opened. It is of stone. The king was born in Paris."
    parts = asyncio.run(windows(Passage.of(text), 12, measure))
    assert parts == ["The bridge was opened. It is of stone.", "The king was born in Paris."]
