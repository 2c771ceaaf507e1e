from __future__ import annotations

import pytest

from resay import ProviderError, Query
from resay.providers import FanOut, ReplayProvider

pytestmark = pytest.mark.anyio


async def test_answers_come_in_the_order_recorded() -> None:
    provider = ReplayProvider({"Who?": ["a", "b", "c"]})
    assert (await provider.complete(Query.of("Who?"))).first.text == "a"
    got = await provider.complete(Query.of("Who?"), n=5)
    assert [c.text for c in got.items] == ["b", "c"]
    with pytest.raises(ProviderError, match="nothing"):
        await provider.complete(Query.of("Who?"))


async def test_what_was_never_recorded_is_an_error() -> None:
    with pytest.raises(ProviderError, match="nothing"):
        await ReplayProvider({}).complete(Query.of("Who?"))


async def test_a_recorded_failure_fails_again() -> None:
    provider = ReplayProvider({"Who?": [None, "b"]})
    with pytest.raises(ProviderError, match="failed"):
        await provider.complete(Query.of("Who?"))
    assert (await provider.complete(Query.of("Who?"))).first.text == "b"


async def test_the_last_answer_can_be_repeated() -> None:
    got = await FanOut(ReplayProvider({"Who?": ["a", "b"]}, repeat=True)).complete(
        Query.of("Who?"), n=4
    )
    assert [c.text for c in got.items] == ["a", "b", "b", "b"]


async def test_the_callers_recording_is_left_alone() -> None:
    recording = {"Who?": ["a"]}
    await ReplayProvider(recording).complete(Query.of("Who?"))
    assert recording == {"Who?": ["a"]}
