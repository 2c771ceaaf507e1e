from __future__ import annotations

import numpy as np
import pytest

from resay.models.arrays import cosines, f1


def unit(rows: object) -> object:
    array = np.asarray(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def plainly(a: object, b: object) -> float:
    """F1 of one pair of sentences, a token at a time."""
    precision = [max(float(np.dot(x, y)) for y in b) for x in a]
    recall = [max(float(np.dot(x, y)) for x in a) for y in b]
    p, r = sum(precision) / len(precision), sum(recall) / len(recall)
    return 2 * p * r / (p + r)


@pytest.mark.parametrize("seed", range(5))
def test_all_pairs_at_once_are_each_pair_by_itself(seed: int) -> None:
    draw = np.random.default_rng(seed)
    texts = [unit(draw.normal(size=(draw.integers(1, 9), 8))) for _ in range(9)]
    scores = f1(texts[:4], texts[4:])
    expected = [[plainly(a, b) for b in texts[4:]] for a in texts[:4]]
    assert np.allclose(scores, expected, atol=1e-6)


def test_a_text_without_tokens_matches_nothing() -> None:
    empty, some = np.empty((0, 8), dtype=np.float32), unit(np.ones((2, 8)))
    assert f1([empty, some], [some, empty]).tolist() == [[0.0, 0.0], [pytest.approx(1.0), 0.0]]
    assert f1([some], []).shape == (1, 0)


def test_cosines_stay_within_bounds() -> None:
    rows = unit(np.random.default_rng(0).normal(size=(50, 384)))
    cosine = cosines(rows, rows)
    assert cosine.max() <= 1.0
    assert np.allclose(np.diag(cosine), 1.0)
