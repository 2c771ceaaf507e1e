from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import (
    AnswerChunk,
    AnswerStream,
    ConfigurationError,
    DeadlineExceededError,
    Guard,
    HallucinationBlocked,
    ProviderError,
    Request,
    StreamUnfinishedError,
    last_verdict,
)
from resay.core.claim_verdict import Part
from resay.engine import flagged_claims
from resay.plugins import Chunk, Completion, Completions, Evidence, Passage
from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
QUESTION = "Tell me about the Sydney Harbour Bridge."
FIRST, SECOND, THIRD = "The bridge opened in 1932. ", "It has 31415 lamps. ", "It is made of steel."
RESPONSE = FIRST + SECOND + THIRD
JUDGED = {"chain": [{"method": "prompt", "form": "published"}], "cache": {"store": "none"}}
BLOCK = {"action": {"do": "block", "message": "Withheld."}}


class Typist:
    """Writes the response word by word, draws samples, and judges by a word in the sentence."""

    def __init__(
        self,
        response: str = RESPONSE,
        *,
        doubted: str = "31415",
        pause: Callable[[str], Any] | None = None,
    ) -> None:
        self.response = response
        self.doubted = doubted
        self.pause = pause
        self.written = ""
        self.closed = False
        self.judged: list[str] = []
        self.samples = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        asked = request.question
        if asked.startswith("Context:"):
            sentence = asked.partition("Sentence: ")[2].partition("\n")[0]
            self.judged.append(sentence)
            return Completions((Completion("No" if self.doubted in sentence else "Yes"),))
        # Samples never inherit the seed.
        if request.params.get("seed"):
            return Completions((Completion(self.response),))
        self.samples += 1
        return Completions((Completion(f"Sample {request.index} says little."),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        try:
            async with aclosing(self._words()) as words:
                yield words
        finally:
            self.closed = True

    async def _words(self) -> AsyncGenerator[Chunk]:
        for word in self.response.split(" "):
            text = word if not self.written else f" {word}"
            if self.pause is not None:
                await self.pause(self.written)
            self.written += text
            yield Chunk(text)
        yield Chunk(finish_reason="stop")


async def read(stream: AnswerStream) -> list[AnswerChunk]:
    async with stream:
        return [part async for part in stream]


def shown(parts: Sequence[AnswerChunk]) -> str:
    return "".join(part.text for part in parts if not part.is_replacement)


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
async def test_the_text_shown_is_the_text_judged(mode: Any) -> None:
    stream = Guard(JUDGED, provider=Typist()).astream(
        QUESTION, stream_mode=mode, params={"seed": 1}
    )
    parts = await read(stream)
    answer = stream.answer
    assert shown(parts) == RESPONSE == answer.text == answer.response
    assert last_verdict() is answer.verdict
    assert [s.flagged for s in answer.verdict.sentences] == [False, True, False]
    for sentence in answer.verdict.sentences:
        assert RESPONSE[sentence.start : sentence.end] == sentence.text


async def test_hold_releases_a_sentence_while_later_ones_are_written() -> None:
    go_on = anyio.Event()

    async def wait_before_the_end(written: str) -> None:
        if "steel" in written + " steel." and written.endswith("of"):
            await go_on.wait()

    provider = Typist(pause=wait_before_the_end)
    async with Guard(JUDGED, provider=provider).astream(QUESTION) as stream:
        first = await anext(stream)
        assert first.text == FIRST
        assert [s.score for s in first.sentences] == [0.0]
        assert "steel" not in provider.written
        go_on.set()
        rest = [part async for part in stream]
    assert [s.flagged for part in rest for s in part.sentences] == [True, False]


async def test_wrong_words_of_a_held_sentence_are_found_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []
    find = flagged_claims.parts_by_facts

    async def parts_by_facts(
        passage: Passage, evidence: Evidence, *, with_answers: bool
    ) -> list[tuple[Part, ...]]:
        compared.extend(sentence.text for sentence in passage.sentences)
        return await find(passage, evidence, with_answers=with_answers)

    monkeypatch.setattr(flagged_claims, "parts_by_facts", parts_by_facts)

    class Sampled(Typist):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            sample = response.replace("31415", "12")
            return Completions((Completion(f"Sample {request.index}. {sample}"),))

    second = "Its deck has 31415 lamps and 8 lanes."
    response = f"{FIRST}{second} {THIRD}"
    guard = Guard({"chain": [{"method": "facts"}]}, provider=Sampled(response))
    stream = guard.astream(QUESTION, stream_mode="hold")
    await read(stream)
    verdict = stream.answer.verdict
    wrong = [part for claim in verdict.claims for part in claim.parts if part.flagged]
    assert [response[part.start : part.end] for part in wrong] == ["31415 lamps"]
    assert compared == [second]


async def test_after_passes_words_on_before_anything_is_checked() -> None:
    provider = Typist()
    async with Guard(JUDGED, provider=provider).astream(QUESTION, stream_mode="after") as stream:
        assert (await anext(stream)).text == "The"
        assert provider.judged == []
        with pytest.raises(StreamUnfinishedError, match="read the stream to its end"):
            _ = stream.answer
        async for part in stream:
            assert part.sentences == ()
    assert stream.answer.verdict.flagged


async def test_a_flagged_sentence_is_withheld_with_all_that_follows() -> None:
    provider = Typist()
    stream = Guard({**JUDGED, **BLOCK}, provider=provider).astream(QUESTION)
    parts = await read(stream)
    assert shown(parts) == FIRST
    assert [part.text for part in parts if part.is_replacement] == ["\n\nWithheld."]
    assert stream.answer.blocked
    assert stream.answer.verdict.flagged
    assert stream.answer.text == f"{FIRST}\n\nWithheld."
    assert stream.answer.message == "Withheld."
    assert provider.closed


async def test_withheld_streams_are_cancelled() -> None:
    forever = anyio.Event()

    async def stop_at_the_end(written: str) -> None:
        if written.endswith("of"):
            await forever.wait()

    provider = Typist(pause=stop_at_the_end)
    stream = Guard({**JUDGED, **BLOCK}, provider=provider).astream(QUESTION)
    await read(stream)
    assert provider.closed
    assert "steel" not in provider.written


async def test_the_passage_withdraws_what_was_not_yet_released() -> None:
    policy = {**JUDGED, **BLOCK, "threshold": {"passage": 0.3, "sentence": None}}
    stream = Guard(policy, provider=Typist()).astream(QUESTION)
    parts = await read(stream)
    assert shown(parts) == FIRST
    assert parts[-1] == AnswerChunk("\n\nWithheld.", is_replacement=True)
    assert stream.answer.verdict.reason.startswith("passage 0.33 > 0.30")


async def test_block_can_raise() -> None:
    policy = {**JUDGED, "action": {"do": "block", "exit": "raise"}}
    async with Guard(policy, provider=Typist()).astream(QUESTION) as stream:
        assert (await anext(stream)).text == FIRST
        with pytest.raises(HallucinationBlocked):
            await anext(stream)
    with pytest.raises(HallucinationBlocked):
        _ = stream.answer


@pytest.mark.parametrize("mode", ["hold", "after"])
async def test_an_answer_that_breaks_off_is_not_reported_as_checked(mode: Any) -> None:
    async def break_off(written: str) -> None:
        if written.endswith("31415"):
            raise ProviderError("the connection was lost")

    provider = Typist(pause=break_off)
    stream = Guard(JUDGED, provider=provider).astream(QUESTION, stream_mode=mode)
    with pytest.raises(ProviderError, match="lost"):
        await read(stream)
    with pytest.raises(ProviderError, match="lost"):
        _ = stream.answer
    assert provider.closed


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
async def test_the_deadline_ends_a_model_that_writes_too_long(mode: Any) -> None:
    async def never(written: str) -> None:
        await anyio.sleep_forever()

    class Silent(Typist):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            await anyio.sleep_forever()
            raise AssertionError

    policy = {**JUDGED, "limits": {"deadline_s": 0.05}}
    stream = Guard(policy, provider=Silent(pause=never)).astream(QUESTION, stream_mode=mode)
    with pytest.raises(DeadlineExceededError, match=r"limits\.deadline_s"):
        await read(stream)


async def test_closed_streams_leave_no_tasks() -> None:
    provider = Typist()
    before = asyncio.all_tasks()
    async with Guard(JUDGED, provider=provider).astream(QUESTION) as stream:
        await anext(stream)
    assert provider.closed
    with pytest.raises(StreamUnfinishedError):
        _ = stream.answer
    gc.collect()
    # Generators that were thrown away are closed by tasks of their own, in no time.
    await anyio.wait_all_tasks_blocked()
    assert not {repr(task) for task in asyncio.all_tasks() - before}


async def test_the_readers_own_error_comes_out_as_it_is() -> None:
    async def fail() -> None:
        async with Guard(JUDGED, provider=Typist()).astream(QUESTION) as stream:
            async for _ in stream:
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()


class BrokenJudge(Typist):
    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if request.question.startswith("Context:"):
            raise ProviderError("no judge today")
        return await super().complete(request, n=n)


async def test_a_judge_that_fails_never_loses_the_answer() -> None:
    stream = Guard(JUDGED, provider=BrokenJudge()).astream(QUESTION)
    assert shown(await read(stream)) == RESPONSE
    assert stream.answer.verdict.inconclusive


async def test_on_error_block_releases_nothing_unchecked() -> None:
    stream = Guard({**JUDGED, "on_error": "block"}, provider=BrokenJudge()).astream(QUESTION)
    assert shown(await read(stream)) == ""
    assert stream.answer.blocked
    assert stream.answer.verdict.inconclusive


async def test_skipped_answers_pass_through() -> None:
    policy = {**JUDGED, **BLOCK, "when": {"min_chars": 1000}}
    stream = Guard(policy, provider=Typist()).astream(QUESTION)
    assert shown(await read(stream)) == RESPONSE
    verdict = stream.answer.verdict
    assert verdict.skipped
    assert not verdict.inconclusive
    assert "when.min_chars" in verdict.reason


async def test_answers_that_become_checkable_are_checked_from_the_start() -> None:
    policy = {**JUDGED, "when": {"min_chars": 40}}
    provider = Typist()
    stream = Guard(policy, provider=provider).astream(QUESTION)
    parts = await read(stream)
    assert shown(parts) == RESPONSE
    assert [s.score for part in parts for s in part.sentences] == [0.0, 1.0, 0.0]


async def test_a_method_that_needs_the_whole_response_holds_all_of_it() -> None:
    policy = {"chain": [{"method": "zero_shot"}], "cache": {"store": "none"}}
    stream = Guard(policy, provider=Typist()).astream(QUESTION, params={"seed": 1})
    parts = await read(stream)
    assert [part.text for part in parts] == [RESPONSE]


async def test_a_correction_looks_at_all_sentences_at_the_end() -> None:
    chain = [{"method": "prompt", "form": "published"}, {"method": "snowballing", "theta": 0.0}]
    provider = Typist(doubted="1932")
    stream = Guard({**JUDGED, "chain": chain}, provider=provider).astream(QUESTION)
    parts = await read(stream)
    scores = [s.score for s in stream.answer.verdict.sentences]
    assert scores[0] == 1.0
    assert scores[1] == pytest.approx(1 / 3)
    assert parts[1].sentences[0].score == 0.0
    assert [step.method for step in stream.answer.verdict.steps] == ["prompt", "snowballing"]


async def test_steps_are_told_as_one_whatever_the_sentences() -> None:
    stream = Guard(JUDGED, provider=Typist()).astream(QUESTION)
    await read(stream)
    (step,) = stream.answer.verdict.steps
    assert step.sentences == 3
    assert stream.answer.verdict.usage.calls >= step.usage.calls > 3


async def test_a_whole_answer_in_one_piece_will_do() -> None:
    class Plain:
        takes_n = Typist.takes_n
        complete = Typist.complete

        def __init__(self) -> None:
            self.response, self.doubted = RESPONSE, "31415"
            self.judged: list[str] = []
            self.samples = 0

    stream = Guard(JUDGED, provider=Plain()).astream(QUESTION, params={"seed": 1})
    assert shown(await read(stream)) == RESPONSE
    assert stream.answer.verdict.flagged


async def test_a_stream_is_entered_once_and_before_it_is_read() -> None:
    stream = Guard(JUDGED, provider=Typist()).astream(QUESTION)
    with pytest.raises(ConfigurationError, match="enter the stream"):
        await anext(stream)
    await read(stream)
    with pytest.raises(ConfigurationError, match="once"):
        await read(stream)


def test_modes_have_names() -> None:
    with pytest.raises(ConfigurationError, match="'slow'"):
        Guard(JUDGED, provider=Typist()).astream(QUESTION, stream_mode="slow")  # pyright: ignore[reportArgumentType] - that is the point


def test_the_sync_twin() -> None:
    with Guard(JUDGED, provider=Typist()).stream(QUESTION) as stream:
        parts = list(stream)
    assert shown(parts) == RESPONSE
    assert stream.answer.verdict.flagged


def test_the_sync_twin_can_be_left_early() -> None:
    async def never_end(written: str) -> None:
        if written.endswith("of"):
            await anyio.sleep_forever()

    provider = Typist(pause=never_end)
    with Guard(JUDGED, provider=provider).stream(QUESTION) as stream:
        assert next(stream).text == FIRST
        assert not provider.closed
    assert provider.closed


def test_the_sync_twin_without_with() -> None:
    stream = Guard(JUDGED, provider=Typist()).stream(QUESTION)
    assert shown(list(stream)) == RESPONSE
    assert stream.answer.verdict.flagged
    assert list(stream) == []


def test_the_sync_twin_without_with_ends_with_its_error() -> None:
    async def break_off(written: str) -> None:
        if written.endswith("of"):
            raise ProviderError("it broke off")

    provider = Typist(pause=break_off)
    stream = Guard(JUDGED, provider=provider).stream(QUESTION)
    with pytest.raises(ProviderError, match="broke off"):
        list(stream)
    assert provider.closed


@given(
    st.lists(
        st.sampled_from(
            ["One. ", "Dr. ", "Two!", "\n\n", "# Head\n", "- item\n", "`code`", "3.14 ", "é\u0301",
             "```\nx = 1\n```\n", "Three? ", "\r\n", "| a | b |\n", "…", "“Four.” "]
        ),
        max_size=12,
    ).map("".join),
    st.sampled_from(["hold", "after"]),
)  # fmt: skip
def test_every_byte_arrives_whatever_the_text(text: str, mode: Any) -> None:
    provider = Typist(text, doubted="nothing")
    with Guard(JUDGED, provider=provider).stream(QUESTION, stream_mode=mode) as stream:
        parts = list(stream)
    assert shown(parts) == text == stream.answer.response


async def test_over_http_with_the_real_sdk(simulated: SimulatedProvider) -> None:
    stream = Guard(JUDGED, model=MODEL).astream(QUESTION, params=simulated.params)
    parts = await read(stream)
    answer = stream.answer
    assert shown(parts) == answer.text
    assert len(parts) > 1
    assert answer.usage.calls == simulated.calls
    assert answer.completion is not None
    assert answer.completion.finish_reason == "stop"
