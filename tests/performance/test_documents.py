"""The table of ways to compare with documents."""

from __future__ import annotations

import pytest

from performance.documents import WAYS, answers_of, run
from support.alone import needs

pytestmark = pytest.mark.anyio


def test_answers_have_claims_of_both_sorts_right_and_wrong() -> None:
    answers = answers_of(20)
    assert all(len(answer.claims) == 9 for answer in answers)
    claims = [claim for answer in answers for claim in answer.claims.items()]
    verbatim = [text for text, (_, sentence, _) in claims if text == sentence]
    right = [text for text, (_, _, is_right) in claims if is_right]
    assert len(verbatim) < len(right) < len(claims)
    for answer in answers:
        for index, sentence, _ in answer.claims.values():
            assert sentence in answer.documents[index]


@needs("torch", "transformers")
async def test_words_first_saves_what_it_settles() -> None:
    table = await run(2, 0.0)
    rows = {row["way"]: row for row in table.rows}
    assert list(rows) == [way.name for way in WAYS]
    assert rows["judge"]["calls"] == rows["generative, of spans"]["calls"] == 1
    assert rows["judge"]["by_words"] == 0 < rows["judge, words first"]["by_words"] < 100
    assert rows["judge, words first"]["tokens"] < rows["judge"]["tokens"]
    assert rows["generative, by claim"]["calls"] == 45
    assert rows["by claim, words first"]["calls"] < 45
    for name in ("judge", "judge, words first", "by claim, words first"):
        assert (rows[name]["found"], rows[name]["alarms"]) == (100, 0)
