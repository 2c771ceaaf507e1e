from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.models.encoding import Encoded, TextEncoder, pad
from support.tiny_models import TEXTS, make_tokenizer


@pytest.fixture(scope="module", params=["words", "bytes"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return make_tokenizer(request.param)


def test_somebody_elses_cutting_and_padding_does_not_reach_us(tokenizer: Any) -> None:
    plain = TextEncoder(tokenizer, None).pairs([(TEXTS[0], TEXTS[1])])
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=50)
    encoder = TextEncoder(tokenizer, None)
    assert encoder.pairs([(TEXTS[0], TEXTS[1])]) == plain
    assert tokenizer.truncation is not None  # theirs is as they left it
    tokenizer.no_truncation()
    tokenizer.no_padding()


def test_room_is_what_special_tokens_leave(tokenizer: Any) -> None:
    encoder = TextEncoder(tokenizer, 64)
    encoded = encoder.texts([TEXTS[0]])[0][0]
    pair = encoder.pairs([(TEXTS[0], TEXTS[1])])[0]
    lengths = encoder.lengths([TEXTS[0], TEXTS[1]])
    assert len(encoded) - sum(encoded.special) == lengths[0]
    assert encoder.max_pair_tokens is not None
    assert len(pair) - sum(lengths) == 64 - encoder.max_pair_tokens
    assert TextEncoder(tokenizer, None).max_pair_tokens is None


def test_a_long_text_is_read_in_parts_that_lose_nothing(tokenizer: Any) -> None:
    text = " ".join(TEXTS)
    whole = TextEncoder(tokenizer, None).texts([text])[0][0]
    parts = TextEncoder(tokenizer, 16).texts([text])[0]
    assert len(parts) > 2
    assert all(len(part) <= 16 and part.ids[0] == whole.ids[0] for part in parts)
    assert all(part.ids[-1] == whole.ids[-1] for part in parts)
    inner = [i for part in parts for i, s in zip(part.ids, part.special, strict=True) if not s]
    assert inner == [i for i, s in zip(whole.ids, whole.special, strict=True) if not s]


@given(st.lists(st.lists(st.integers(5, 99), min_size=1, max_size=9), min_size=1, max_size=5))
def test_padding_stands_behind_and_is_masked(rows: list[list[int]]) -> None:
    items = [Encoded(tuple(r), (1,) * len(r), (0,) * len(r)) for r in rows]
    batch = pad(items, 3)
    width = max(map(len, rows))
    assert batch.ids.tolist() == [r + [3] * (width - len(r)) for r in rows]
    assert batch.mask.tolist() == [[1] * len(r) + [0] * (width - len(r)) for r in rows]
    assert batch.types.tolist() == batch.mask.tolist()


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=20))
def test_any_text_can_be_encoded(text: str) -> None:
    for kind in ("words", "bytes"):
        encoder = ENCODERS[kind]
        assert encoder.lengths([text])[0] == sum(1 - s for s in encoder.texts([text])[0][0].special)
        assert len(encoder.pairs([(text, text)])) == 1


ENCODERS = {kind: TextEncoder(make_tokenizer(kind), None) for kind in ("words", "bytes")}
