from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ProviderError, Request
from resay.adapters.providers import ReplayProvider
from resay.plugins import Provider
from resay.providers import FanOut, Gathered, open_stream
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio


async def test_answers_come_in_the_order_recorded() -> None:
    provider = ReplayProvider({"Who?": ["a", "b", "c"]})
    assert (await provider.complete(Request.of("Who?"))).first.text == "a"
    got = await provider.complete(Request.of("Who?"), n=5)
    assert [c.text for c in got.items] == ["b", "c"]
    with pytest.raises(ProviderError, match="no recording left"):
        await provider.complete(Request.of("Who?"))


async def test_what_was_never_recorded_is_an_error() -> None:
    with pytest.raises(ProviderError, match="no recording left"):
        await ReplayProvider({}).complete(Request.of("Who?"))


async def test_a_recorded_failure_fails_again() -> None:
    provider = ReplayProvider({"Who?": [None, "b"]})
    with pytest.raises(ProviderError, match="failed"):
        await provider.complete(Request.of("Who?"))
    assert (await provider.complete(Request.of("Who?"))).first.text == "b"


async def test_the_last_answer_can_be_repeated() -> None:
    got = await FanOut(ReplayProvider({"Who?": ["a", "b"]}, repeat=True)).complete(
        Request.of("Who?"), n=4
    )
    assert [c.text for c in got.items] == ["a", "b", "b", "b"]


async def test_the_callers_recording_is_left_alone() -> None:
    recording = {"Who?": ["a"]}
    await ReplayProvider(recording).complete(Request.of("Who?"))
    assert recording == {"Who?": ["a"]}


async def pieces(provider: Provider) -> list[str]:
    gathered, texts = Gathered(), list[str]()
    async with open_stream(provider, Request.of("Who?")) as chunks:
        async for chunk in chunks:
            gathered.add(chunk)
            texts.append(chunk.text)
    assert gathered.usage is not None
    assert gathered.usage.calls == 1
    return texts


async def test_a_stream_comes_word_by_word() -> None:
    text = "Canberra  is\nthe capital. "
    words = ["Canberra", "  is", "\nthe", " capital.", " ", ""]
    assert await pieces(ScriptedProvider([text])) == words
    assert await pieces(ReplayProvider({"Who?": [text]})) == words


@given(st.text())
def test_the_words_joined_are_the_text(text: str) -> None:
    assert "".join(anyio.run(pieces, ScriptedProvider([text]))) == text


async def test_streams_and_whole_answers_take_turns() -> None:
    provider = ReplayProvider({"Who?": ["a", "b", None]})
    assert "".join(await pieces(provider)) == "a"
    assert (await provider.complete(Request.of("Who?"))).first.text == "b"
    with pytest.raises(ProviderError, match="failed"):
        await pieces(provider)
    scripted = ScriptedProvider(["a", "b"])
    assert "".join(await pieces(scripted)) == "a"
    assert (await scripted.complete(Request.of("Who?"))).first.text == "b"
    with pytest.raises(ProviderError, match="ran out of answers"):
        await pieces(scripted)
