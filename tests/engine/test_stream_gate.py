"""What is withheld stays withheld, and what was begun is ended."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import (
    AnswerChunk,
    AnswerStream,
    Guard,
    HallucinationBlocked,
    ProviderError,
    Request,
    Sources,
)
from resay.adapters import CheckContext, GuardRuntime
from resay.plugins import Chunk, Completion, Completions
from resay.policy import StreamMode

pytestmark = pytest.mark.anyio

FIRST, SECOND, THIRD = "It opened in 1932. ", "It has 31415 lamps. ", "It is made of steel."
POLICY = {
    "chain": [{"method": "prompt", "form": "published"}],
    "sampling": {"max": 3, "confidence": None},
    "cache": {"store": "none"},
}


class Writer:
    """Writes three sentences at once and judges them as told; None is a judge that fails.

    Judges answer when nothing else is left to do.
    """

    def __init__(self, *pieces: str, **supported: bool | None) -> None:
        self.pieces = pieces or (FIRST, SECOND, THIRD)
        self.supported = supported
        self.samples = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.wait_all_tasks_blocked()
        if not request.question.startswith("Context:"):
            self.samples += 1
            return Completions((Completion(f"Sample {self.samples} says little."),))
        sentence = request.question.partition("Sentence: ")[2]
        for word, supported in self.supported.items():
            if word in sentence and supported is None:
                raise ProviderError("no judge today")
            if word in sentence:
                return Completions((Completion("Yes" if supported else "No"),))
        return Completions((Completion("Yes"),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def words() -> AsyncGenerator[Chunk]:
            for text in self.pieces:
                await anyio.lowlevel.checkpoint()
                yield Chunk(text)

        yield words()


async def read(stream: AnswerStream) -> list[AnswerChunk]:
    async with stream:
        return [part async for part in stream]


def beyond_budget(**action: str) -> AnswerStream:
    """The calls are enough for a sample and the first sentence, which is not supported."""
    policy = {
        **POLICY,
        "sampling": {"max": 1},
        "limits": {"calls": 2},
        "action": {"do": "block", **action},
    }
    return Guard(policy, provider=Writer(opened=False)).astream("When?")


def test_a_notice_is_told_by_its_place_too() -> None:
    assert AnswerChunk("Withheld.", (), True) == AnswerChunk("Withheld.", is_replacement=True)


@pytest.mark.parametrize(("wanted", "texts"), [({}, ["a"]), ({"every_chunk": True}, ["", "a"])])
async def test_parts_without_text_are_handed_over_where_they_are_wanted(
    wanted: dict[str, bool], texts: list[str]
) -> None:
    async def work(parts: Any) -> Any:
        parts.send_nowait(AnswerChunk(""))
        parts.send_nowait(AnswerChunk("a"))

    assert [part.text for part in await read(AnswerStream(work, **wanted))] == texts


@pytest.mark.parametrize(
    ("action", "texts"),
    [("annotate", ["", FIRST, SECOND, "", THIRD]), ("block", [FIRST, SECOND, THIRD])],
)
async def test_chunks_without_text_come_at_once_unless_text_may_be_withheld(
    action: str, texts: list[str]
) -> None:
    provider = Writer("", FIRST, SECOND, "", THIRD)
    guard = Guard({**POLICY, "action": {"do": action}}, provider=provider)
    context, sources = CheckContext(Request.of("When?")), Sources.all(provider)
    stream = GuardRuntime(guard).astream_with(context, sources, every_chunk=True)
    assert sorted(part.text for part in await read(stream)) == sorted(texts)


@pytest.mark.parametrize("explained", [True, False])
async def test_the_verdict_on_the_answer_is_explained_whether_its_chunks_are_or_not(
    explained: bool,
) -> None:
    samples = ("It opened in 1950. It has 20000 lamps. It is made of wood.",) * 3
    guard = Guard({**POLICY, "chain": ["ngram"]}, provider=Writer(f"{FIRST}{SECOND}", THIRD))
    context = CheckContext(Request.of("When?"), samples=samples)
    sources = Sources.all(Writer(f"{FIRST}{SECOND}", THIRD))
    stream = GuardRuntime(guard).astream_with(context, sources, explained=explained)
    parts = await read(stream)
    shown = [sentence for part in parts for sentence in part.sentences]
    assert [sentence.flagged for sentence in shown] == [True, True, True]
    assert all(bool(sentence.contradicted_by) is explained for sentence in shown[:2])
    verdict = stream.answer.verdict
    texts = [claim.contradicted_by and claim.contradicted_by.text for claim in verdict.claims]
    assert texts[:2] == ["It opened in 1950.", "It has 20000 lamps."]


async def test_withheld_sentences_are_blocked_if_the_verdict_is_inconclusive() -> None:
    stream = beyond_budget(message="Withheld.")
    assert await read(stream) == [AnswerChunk("Withheld.", is_replacement=True)]
    assert stream.answer.verdict.inconclusive
    assert stream.answer.verdict.sentences[0].flagged
    assert stream.answer.blocked
    assert stream.answer.text == "Withheld."


async def test_withheld_sentences_raise_if_the_verdict_is_inconclusive() -> None:
    with pytest.raises(HallucinationBlocked):
        await read(beyond_budget(exit="raise"))


async def test_doubtful_sentences_are_blocked_if_another_is_flagged() -> None:
    guard = Guard({**POLICY, "on_error": "block"}, provider=Writer(opened=False, lamps=None))
    stream = guard.astream("When?")
    parts = await read(stream)
    assert [part.text for part in parts if not part.is_replacement] == [FIRST]
    rest = "[The rest was left out: it could not be confirmed.]"
    assert stream.answer.text == f"{FIRST}\n\n{rest}" == "".join(part.text for part in parts)
    assert stream.answer.message == rest
    assert [part.text for part in parts if part.is_replacement] == [f"\n\n{rest}"]
    assert stream.answer.verdict.flagged
    assert stream.answer.blocked


@pytest.mark.parametrize(
    ("policy", "lamps"),
    [({"action": {"do": "block"}}, False), ({"on_error": "block"}, None)],
)
async def test_one_sentence_of_a_piece_is_enough_to_withhold_it(
    policy: dict[str, Any], lamps: bool | None
) -> None:
    for piece in (FIRST + SECOND + THIRD, SECOND + FIRST + THIRD):
        provider = Writer(piece, lamps=lamps)
        parts = await read(Guard({**POLICY, **policy}, provider=provider).astream("When?"))
        assert [part.is_replacement for part in parts] == [True]


async def test_nothing_more_is_read_once_something_is_withheld() -> None:
    class Endless(Writer):
        @asynccontextmanager
        async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def words() -> AsyncGenerator[Chunk]:
                yield Chunk(FIRST + SECOND + THIRD)
                await anyio.sleep_forever()

            yield words()

    guard = Guard({**POLICY, "action": {"do": "block"}}, provider=Endless(lamps=False))
    with anyio.fail_after(20):
        parts = await read(guard.astream("When?"))
    assert [part.is_replacement for part in parts] == [True]


async def test_non_claims_are_shown_unjudged() -> None:
    filler, hope = "Great question! ", "I hope this helps!"
    provider = Writer(filler, FIRST, SECOND, hope, question=None, hope=None)
    guard = Guard({**POLICY, "action": {"do": "block"}, "on_error": "block"}, provider=provider)
    stream = guard.astream("When?")
    parts = await read(stream)
    assert "".join(part.text for part in parts) == filler + FIRST + SECOND + hope
    assert [s.reason for s in stream.answer.verdict.sentences[::3]] == [
        "claims nothing (filler)"
    ] * 2
    assert stream.answer.verdict.decision == "consistent"


async def test_a_label_is_a_claim_only_where_it_is_all_of_a_stream() -> None:
    for pieces, reason in (
        (("**Overview**\n\n", FIRST, SECOND), "claims nothing (label)"),
        ((FIRST, SECOND, "\n\n**Overview**"), "claims nothing (label)"),
        (("**Overview**",), "supported by"),
    ):
        stream = Guard(POLICY, provider=Writer(*pieces)).astream("When?")
        await read(stream)
        (label,) = [s for s in stream.answer.verdict.sentences if "Overview" in s.text]
        assert (label.reason or "").startswith(reason)


async def test_a_stream_that_claims_nothing_is_skipped() -> None:
    provider = Writer("I'm sorry. ", "I don't know.")
    guard = Guard({**POLICY, "action": {"do": "block"}, "on_error": "block"}, provider=provider)
    stream = guard.astream("When?")
    assert "".join(part.text for part in await read(stream)) == "I'm sorry. I don't know."
    assert stream.answer.verdict.decision == "skipped"


async def test_a_reader_who_is_cancelled_leaves_no_channel_open() -> None:
    with anyio.CancelScope() as reading:
        async with Guard(POLICY, provider=Writer()).astream("When?"):
            reading.cancel()
    # An open end of a channel warns as it is collected, and warnings are errors.
    gc.collect()


async def test_others_get_their_turn_between_pieces_that_are_there_already() -> None:
    seen: list[int] = []
    turns = 0

    class AtOnce(Writer):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            await anyio.lowlevel.checkpoint()
            self.samples += 1
            return Completions((Completion(f"Sample {self.samples} says little."),))

        @asynccontextmanager
        async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def words() -> AsyncGenerator[Chunk]:
                for word in FIRST.split() * 20:
                    seen.append(turns)
                    yield Chunk(f"{word} ")

            yield words()

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take_turns)
        policy = {**POLICY, "chain": [{"method": "ngram"}]}
        await read(Guard(policy, provider=AtOnce()).astream("When?"))
        tasks.cancel_scope.cancel()
    assert seen[-1] - seen[0] >= len(seen) - 1


class Doubting:
    """Writes one sentence for each number; that many of four samples do not support it."""

    def __init__(self, against: Sequence[int], text: str | None = None) -> None:
        self.against = against
        sentences = (f"Claim {i} says nothing new." for i in range(len(against)))
        self.text = " ".join(sentences) if text is None else text
        self.samples = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        if request.question.startswith("I want you"):
            return Completions((Completion("factual"),))
        # Samples never inherit the seed.
        if request.params.get("seed"):
            return Completions((Completion(f"{self.text} "),))
        if not request.question.startswith("Context:"):
            self.samples += 1
            return Completions((Completion(f"Sample {self.samples} is short."),))
        said, _, sentence = request.question.partition("Sentence: ")
        sample = int(said.partition("Sample ")[2].split()[0])
        doubts = self.against[int(sentence.split()[1])]
        return Completions((Completion("No" if sample <= doubts else "Yes"),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def words() -> AsyncGenerator[Chunk]:
            for word in self.text.split(" "):
                yield Chunk(f"{word} " if word else " ")

        yield words()


def shown(parts: Sequence[AnswerChunk]) -> str:
    return "".join(part.text for part in parts if not part.is_replacement)


LIMITS = st.sampled_from([None, 0.0, 0.3, 0.5, 0.6, 0.8, 1.0])


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.tuples(LIMITS, LIMITS).filter(lambda both: both != (None, None)),
    st.sampled_from(
        [(), ({"method": "snowballing"},), ({"method": "snowballing", "normalise": True},)]
    ),
)
def test_no_beginning_is_shown_that_would_be_flagged_by_itself(
    against: list[int],
    limits: tuple[float | None, float | None],
    corrections: tuple[dict[str, object], ...],
) -> None:
    policy = {
        "chain": [{"method": "prompt", "form": "published"}, *corrections],
        "sampling": {"max": 4, "confidence": None},
        "cache": {"store": "none"},
        "threshold": {"passage": limits[0], "sentence": limits[1]},
        "action": {"do": "block"},
    }
    samples = [f"Sample {i} is short." for i in range(1, 5)]

    async def streamed() -> None:
        writer = Doubting(against)
        guard = Guard(policy, provider=writer)
        stream = guard.astream("What?")
        parts = await read(stream)
        whole = await guard.acheck(writer.text, question="What?", samples=samples)
        assert stream.answer.blocked is whole.flagged
        if not whole.flagged:
            assert shown(parts).strip() == writer.text
            verdict = stream.answer.verdict
            assert [s.score for s in verdict.sentences] == [s.score for s in whole.sentences]
            return
        released = ""
        for part in parts:
            if not part.is_replacement:
                released += part.text
                beginning = await guard.acheck(released, question="What?", samples=samples)
                assert not beginning.flagged

    anyio.run(streamed)


async def test_answers_decided_at_the_end_come_in_one_piece() -> None:
    late = {"method": "zero_shot"}
    for steps in ([late], [{"method": "snowballing"}, late]):
        policy = {**POLICY, "chain": [{"method": "prompt", "form": "published"}, *steps]}
        for action, pieces in (("annotate", 3), ("block", 1)):
            guard = Guard({**policy, "action": {"do": action}}, provider=Doubting([0, 0, 0]))
            assert len(await read(guard.astream("What?", params={"seed": 1}))) == pieces


async def test_samples_are_drawn_until_a_sentence_is_settled_for_the_passage_too() -> None:
    policy = {
        "chain": [{"method": "prompt", "form": "published"}],
        "sampling": {"max": 8, "min": 3},
        "cache": {"store": "none"},
        "threshold": {"passage": 0.3, "sentence": 1.0},
    }
    stream = Guard(policy, provider=Doubting([1])).astream("What?")
    await read(stream)
    assert stream.answer.verdict.samples > 3
    # Where no passage is flagged unless one of its sentences is, that alone is to be settled.
    drawn = set[int]()
    for passage in (None, 0.75):
        threshold = {"passage": passage, "sentence": 0.5}
        writer = Doubting([4])
        guard = Guard({**policy, "threshold": threshold}, provider=writer)
        await read(guard.astream("What?"))
        drawn.add(writer.samples)
    assert len(drawn) == 1


MARKDOWN = "Claim 0 is so.\n\nClaim 1 is so.\n\n```\na\nFinch = 1932\n```\n\nClaim 2 is so too."


@pytest.mark.parametrize("text", [MARKDOWN, MARKDOWN.partition("\n\nClaim 2")[0]])
@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
async def test_parts_carry_what_in_them_was_not_scored(mode: StreamMode, text: str) -> None:
    guard = Guard(POLICY, provider=Doubting([0, 0, 0], text))
    stream = guard.astream("What?", stream_mode=mode, params={"seed": 1})
    parts = await read(stream)
    told = [stretch for part in parts for stretch in part.unscored]
    code = "```\na\nFinch = 1932\n```"
    answer = stream.answer
    assert [stretch.text for stretch in answer.verdict.unscored] == [code]
    # Of a block that comes in several parts, each tells its own lines.
    assert "\n".join(stretch.text for stretch in told) == ("" if mode == "after" else code)
    assert all(answer.response[u.start : u.end] == u.text for u in told)
    assert answer.action == "annotate"


@pytest.mark.parametrize(
    ("mode", "left"), [("hold", "Claim 0 is so.\n\n"), ("buffer", ""), ("after", f"{MARKDOWN} ")]
)
async def test_unscored_text_is_withheld_with_all_that_follows(mode: StreamMode, left: str) -> None:
    guard = Guard({**POLICY, "on_unscored": "block"}, provider=Doubting([0, 0, 0], MARKDOWN))
    stream = guard.astream("What?", stream_mode=mode, params={"seed": 1})
    parts = await read(stream)
    assert shown(parts) == left
    assert parts[-1].is_replacement
    assert stream.answer.blocked
    assert stream.answer.verdict.reason.endswith("; not scored: 1 code block")


async def test_an_answer_that_is_only_code_is_withheld_although_it_is_skipped() -> None:
    policy = {**POLICY, "when": {"checkable": True}}
    code = "```\nx = 1932\n```"
    for setting, left in (("annotate", f"{code} "), ("block", "")):
        guard = Guard({**policy, "on_unscored": setting}, provider=Doubting([], code))
        stream = guard.astream("What?")
        assert shown(await read(stream)) == left
        assert stream.answer.verdict.skipped
        assert stream.answer.blocked is (setting == "block")


async def test_the_sentence_that_was_lost_says_why_nothing_is_decided() -> None:
    stream = Guard(POLICY, provider=Writer(lamps=None)).astream("When?")
    await read(stream)
    assert stream.answer.verdict.reason == "prompt: 3 of 3 comparisons failed (ProviderError x3)"


@pytest.mark.parametrize("opened", [True, False])
async def test_unchecked_text_is_followed_by_its_replacement(
    opened: bool,
) -> None:
    policy = {**POLICY, "action": {"do": "block", "message": "Withheld."}}
    parts = await read(
        Guard(policy, provider=Writer(opened=opened)).astream("?", stream_mode="after")
    )
    assert [part.text for part in parts if not part.is_replacement] == [FIRST, SECOND, THIRD]
    assert [part.text for part in parts if part.is_replacement] == (
        [] if opened else ["\n\nWithheld."]
    )
    # What is printed of a part is its text, not the provider's whole chunk.
    assert "provider_chunk" not in repr(parts)
