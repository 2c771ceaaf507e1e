from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import anyio.to_thread
import httpx
import pytest

pytest.importorskip("litellm")

from litellm.exceptions import GuardrailRaisedException
from litellm.types.utils import ChoiceLogprobs, Delta, ModelResponseStream, StreamingChoices

from resay import HallucinationBlocked
from resay_litellm import verdict_of
from simulation import CutConnection, Stall
from support.known_world import KNOWN, MADE_UP
from support.litellm import BLOCK, JUDGED, RAISE, STRICT, N, as_sent, ask

pytestmark = pytest.mark.anyio

STREAM = {"stream": True}
MODES = ["hold", "after", "buffer"]


class Recording:
    """A stream that remembers what was read of it, as JSON, because pieces are sent on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._hidden_params = getattr(stream, "_hidden_params", {})
        self.pieces: list[Any] = []

    async def __aiter__(self) -> Any:
        async for piece in self._stream:
            self.pieces.append(as_json(piece))
            yield piece


def as_json(piece: Any) -> Any:
    return piece if isinstance(piece, bytes) else json.loads(piece.model_dump_json())


async def guarded(guardrail: Any, router: Any, body: dict[str, Any]) -> tuple[list[Any], Recording]:
    stream = Recording(await router.acompletion(**body))
    return await read(guardrail, stream, body), stream


async def read(guardrail: Any, stream: Any, body: dict[str, Any]) -> list[Any]:
    hook = guardrail.async_post_call_streaming_iterator_hook
    return [piece async for piece in hook(None, stream, as_sent(body))]


def text_of(pieces: list[Any]) -> str:
    return "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)


def verdict_in(pieces: list[Any]) -> Any:
    (verdict,) = [v for v in map(verdict_of, pieces) if v is not None]
    return verdict


def without_verdict(data: dict[str, Any]) -> Any:
    """Return a piece without its verdict, and without nulls, which the proxy does not send."""
    choices = [_told({**c, "delta": _told(c["delta"])}) for c in data["choices"]]
    return {**_told(data), "choices": choices}


def _told(data: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in data.items() if v is not None and k != "provider_specific_fields"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", [KNOWN, MADE_UP])
async def test_every_piece_arrives_and_the_last_has_the_verdict(
    make_guardrail, router, mode, question
):
    body = ask(question, **STREAM, stream_options={"include_usage": True})
    pieces, stream = await guarded(make_guardrail({**JUDGED, "stream_mode": mode}), router, body)

    verdict = verdict_in(pieces)
    assert verdict.flagged is (question == MADE_UP)
    assert (verdict.samples, verdict.via) == (N, "litellm")
    assert text_of(pieces) == "".join(
        c["delta"]["content"] or "" for p in stream.pieces for c in p["choices"]
    )
    (marked,) = [piece for piece in pieces if verdict_of(piece) is not None]
    assert marked.choices[0].finish_reason == "stop"
    assert pieces[-1].usage.completion_tokens > 10
    if mode != "hold":
        given = [without_verdict(as_json(piece)) for piece in pieces]
        assert given == [without_verdict(piece) for piece in stream.pieces]


async def test_only_the_pieces_pass_whose_sentences_are_settled(make_guardrail, router, provider):
    # The second half never comes; what was released before must have come out by itself.
    guardrail = make_guardrail({**JUDGED, "stream_mode": "hold"})
    provider.set_faults(Stall(first=1))
    body = ask(KNOWN, **STREAM)
    stream = Recording(await router.acompletion(**body))
    hook = guardrail.async_post_call_streaming_iterator_hook(None, stream, as_sent(body))
    text = ""
    while not text.strip().endswith("."):
        piece = await anext(hook)
        text += piece.choices[0].delta.content or ""
    await hook.aclose()

    said = "".join(c["delta"]["content"] or "" for p in stream.pieces for c in p["choices"])
    assert said.startswith(text)
    assert len(text) < len(said)


async def test_a_reader_who_leaves_stops_everything(make_guardrail, router, provider):
    provider.set_faults(Stall(first=1))
    body = ask(KNOWN, **STREAM)
    stream = await router.acompletion(**body)
    guardrail = make_guardrail({**JUDGED, "stream_mode": "after"})
    hook = guardrail.async_post_call_streaming_iterator_hook(None, stream, as_sent(body))
    await anext(hook)
    # litellm does not like to be cancelled before it has sent something.
    await anyio.to_thread.run_sync(provider.wait_calls, 2)
    await hook.aclose()
    await stream.aclose()
    await anyio.to_thread.run_sync(provider.wait_idle)

    assert provider.requests[0].disconnected


@pytest.mark.parametrize("mode", MODES)
async def test_a_withheld_stream_leaves_no_word_behind(make_guardrail, router, mode):
    policy = {**STRICT, **BLOCK, "stream_mode": mode}
    pieces, stream = await guarded(
        make_guardrail(policy), router, ask(MADE_UP, **STREAM, logprobs=True)
    )

    verdict = verdict_in(pieces)
    assert verdict.flagged
    assert text_of(pieces).endswith("Withheld.")
    assert [p.choices[0].finish_reason for p in pieces if p.choices][-1] == "content_filter"
    assert {piece.id for piece in pieces} == {stream.pieces[0]["id"]}
    if mode != "after":
        assert text_of(pieces) == "Withheld."
        assert "Zorblatt" not in "".join(piece.model_dump_json() for piece in pieces)
        assert next(p.choices[0].delta.role for p in pieces if p.choices) == "assistant"


@pytest.mark.parametrize("mode", MODES)
async def test_exit_raise_ends_a_stream_with_an_exception(
    make_guardrail, router, mode, monkeypatch
):
    monkeypatch.setattr("resay_litellm._guardrail.find_spec", lambda name: None)
    policy = {**STRICT, **RAISE, "stream_mode": mode}
    with pytest.raises((HallucinationBlocked, GuardrailRaisedException)) as caught:
        await guarded(make_guardrail(policy), router, ask(MADE_UP, **STREAM))

    # Once something was sent, the proxy would hang up on an HTTP exception.
    begun = isinstance(caught.value, GuardrailRaisedException)
    assert begun is (mode == "after")
    assert "Zorblatt" not in str(caught.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_check_that_breaks_does_not_lose_the_stream(
    make_guardrail, router, monkeypatch, mode, on_error
):
    async def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("words of the answer")

    monkeypatch.setattr("resay.engine.chain.Chain.check", broken)
    monkeypatch.setattr("resay.engine.chain.Chain.finish", broken)
    policy = {**JUDGED, **BLOCK, "stream_mode": mode, "on_error": on_error}
    pieces, stream = await guarded(make_guardrail(policy), router, ask(KNOWN, **STREAM))

    said = "".join(c["delta"]["content"] or "" for p in stream.pieces for c in p["choices"])
    verdict = verdict_in(pieces)
    assert verdict.reason == "the check failed with RuntimeError"
    assert pieces[-1].choices[0].finish_reason
    if on_error == "annotate":
        assert text_of(pieces) == said
    else:
        assert text_of(pieces).endswith("Withheld.")
        assert (text_of(pieces) == "Withheld.") is (mode == "buffer")


async def test_a_withheld_stream_is_read_to_its_end(make_guardrail, router):
    told, ended = asyncio.Event(), asyncio.Event()

    async def coming() -> Any:
        yield piece(role="assistant", content="It was built by Fenella Marwick. It stands")
        await told.wait()
        yield piece("stop", content=" in Oslo.")
        ended.set()

    guardrail = make_guardrail({**STRICT, **BLOCK, "stream_mode": "hold"})
    hook = guardrail.async_post_call_streaming_iterator_hook(None, coming(), as_sent(ask(KNOWN)))
    pieces: list[Any] = []
    async for each in hook:
        pieces.append(each)
        if text_of(pieces) == "Withheld.":
            told.set()

    assert ended.is_set()
    assert verdict_in(pieces).flagged


async def test_a_stream_that_ends_with_an_error_is_read_to_its_end_first(make_guardrail, router):
    stream = Recording(await router.acompletion(**ask(MADE_UP, **STREAM)))
    with suppress(Exception):
        await read(make_guardrail({**STRICT, **RAISE, "stream_mode": "hold"}), stream, ask(MADE_UP))

    assert stream.pieces[-1]["choices"][0]["finish_reason"] == "stop"


async def test_an_answer_that_calls_tools_passes(make_guardrail, router, provider):
    tool = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
    policy = {**STRICT, **BLOCK, "stream_mode": "hold"}
    body = ask("[[lookup]] it", **STREAM, tools=[tool])
    pieces, stream = await guarded(make_guardrail(policy), router, body)

    assert verdict_in(pieces).skipped
    assert len(pieces) == len(stream.pieces)
    assert any(piece.choices[0].delta.tool_calls for piece in pieces)
    assert len(provider.requests) == 1


class CutStream(CutConnection):
    """Strikes streams alone: samples of an earlier mode may still be on their way."""

    def matches(self, kind: Any, params: Collection[str]) -> bool:
        return "stream_options" in params


async def test_what_breaks_the_stream_comes_as_it_is(make_guardrail, router, provider):
    provider.set_faults(CutStream())
    body = ask(KNOWN, **STREAM, stream_options={"include_usage": True})
    broken = None
    try:
        async for _ in await router.acompletion(**body):
            pass
    except Exception as error:
        broken = type(error)
    assert broken is not None
    for mode in MODES:
        guardrail = make_guardrail({**STRICT, **BLOCK, "stream_mode": mode})
        hook = guardrail.async_post_call_streaming_iterator_hook
        pieces: list[Any] = []
        with pytest.raises(broken):
            await _gather(hook(None, await router.acompletion(**body), as_sent(body)), pieces)
        # What nobody has checked does not come out of it.
        text = text_of(pieces).strip()
        whole = text == "" or text.endswith(".")
        assert {"hold": whole, "after": text != "", "buffer": text == ""}[mode]


async def _gather(stream: Any, pieces: list[Any]) -> None:
    """Note what came, though the stream breaks."""
    async for each in stream:
        pieces.append(each)  # noqa: PERF401 - a comprehension would lose it


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_deadline_is_no_end_of_an_answer(make_guardrail, router, provider, mode, on_error):
    policy = {
        **JUDGED,
        **BLOCK,
        "stream_mode": mode,
        "on_error": on_error,
        "limits": {"deadline_s": 0.3},
    }
    provider.set_faults(Stall(first=1))
    body = ask(KNOWN, **STREAM)
    stream = Recording(_releasing(await router.acompletion(**body), provider))
    pieces = await read(make_guardrail(policy), stream, body)

    said = "".join(c["delta"]["content"] or "" for p in stream.pieces for c in p["choices"])
    assert verdict_in(pieces).inconclusive
    assert "deadline_s" in verdict_in(pieces).reason
    if on_error == "annotate":
        assert text_of(pieces) == said
    else:
        assert text_of(pieces).endswith("Withheld.")


async def _releasing(stream: Any, provider: Any) -> Any:
    """Yield a stream whose second half comes after the deadline."""
    loop = asyncio.get_running_loop()
    loop.call_later(0.6, provider.release)
    async for piece in stream:
        yield piece


async def test_each_of_several_choices_is_checked(make_guardrail, router):
    body = ask(MADE_UP, **STREAM, n=2)
    pieces, stream = await guarded(make_guardrail({**STRICT, "stream_mode": "after"}), router, body)
    held, _ = await guarded(
        make_guardrail({**STRICT, **BLOCK, "stream_mode": "hold"}), router, body
    )

    # litellm says of one only that it has ended.
    assert len(pieces) == len(stream.pieces) + 1
    for given in (pieces, held):
        assert [verdict_of(piece).flagged for piece in given if verdict_of(piece)] == [True] * 2
        assert {c.index for piece in given for c in piece.choices} == {0, 1}
    assert text_of(held) == "Withheld." * 2
    assert "Zorblatt" not in "".join(piece.model_dump_json() for piece in held)


def piece(reason: str | None = None, **delta: Any) -> Any:
    choice = StreamingChoices(index=0, delta=Delta(**delta), finish_reason=reason)
    return ModelResponseStream(id="c-1", model="m", created=1, choices=[choice])


async def _given(pieces: list[Any]) -> Any:
    for each in pieces:
        yield each


async def test_thoughts_do_not_say_what_is_withheld_later(make_guardrail, router):
    made_up = "It was built by Fenella Marwick in 1612."
    stream = [
        piece(role="assistant", content=None, reasoning_content=made_up),
        piece(content="Canberra is the capital of Australia. "),
        piece(content=made_up),
        piece("stop", content=None),
    ]
    hold = {**JUDGED, "stream_mode": "hold"}
    held = await read(make_guardrail({**hold, **BLOCK}), _given(stream), ask(KNOWN, **STREAM))
    passed = await read(make_guardrail(hold), _given(stream), ask(KNOWN, **STREAM))

    assert text_of(held) == "Withheld."
    assert "Fenella" not in "".join(each.model_dump_json() for each in held)
    assert passed[0].choices[0].delta.reasoning_content == made_up
    assert text_of(passed) == text_of(stream)


async def test_a_piece_of_two_sentences_is_cut(make_guardrail, router):
    stream = [
        piece(role="assistant", content="Canberra is the capital of Australia. The city"),
        piece(content=" was founded in 1913."),
        piece("stop", content=None),
    ]
    stream[0].choices[0].logprobs = ChoiceLogprobs(content=[])
    pieces = await read(
        make_guardrail({**JUDGED, "stream_mode": "hold"}), _given(stream), ask(KNOWN, **STREAM)
    )

    assert text_of(pieces) == text_of(stream)
    texts = [text for each in pieces if (text := each.choices[0].delta.content)]
    assert texts[0].strip() == "Canberra is the capital of Australia."
    assert pieces[0].choices[0].delta.role == "assistant"
    # They are about all of its words.
    assert not any(each.choices[0].logprobs for each in pieces)
    assert not verdict_in(pieces).flagged


async def test_an_unfinished_stream_has_its_verdict_too(make_guardrail, router):
    stream = [piece(role="assistant", content="Canberra is the capital of Australia.")]
    body = ask(KNOWN, **STREAM)
    passed = await read(make_guardrail(JUDGED), _given(stream), body)
    made_up = [piece(role="assistant", content="It was built by Fenella Marwick in 1612.")]
    withheld = await read(make_guardrail({**STRICT, **BLOCK}), _given(made_up), body)

    assert verdict_in(passed).decision == "consistent"
    assert text_of(passed) == text_of(stream)
    assert verdict_in(withheld).flagged
    assert text_of(withheld) == "Withheld."


async def test_what_a_withheld_stream_cost_is_told(make_guardrail, router):
    body = ask(MADE_UP, **STREAM, stream_options={"include_usage": True})
    pieces, stream = await guarded(make_guardrail({**STRICT, **BLOCK}), router, body)

    assert text_of(pieces) == "Withheld."
    assert as_json(pieces[-1])["usage"] == stream.pieces[-1]["usage"]


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_passed_on_is_the_very_same(make_guardrail, router, mode):
    stream = [piece(role="assistant", content="Hi. "), piece(content="Ho."), piece("stop")]
    pieces = await read(make_guardrail({**JUDGED, "stream_mode": mode}), _given(stream), ask(KNOWN))

    same = [given for given in pieces if any(given is each for each in stream)]
    assert len(same) == 2


async def test_other_streams_pass_untouched(make_guardrail, router):
    guardrail = make_guardrail({**STRICT, **BLOCK})
    for stream in ([], [b"\x00\x01", b"\x02"], [{"candidates": []}, {"candidates": []}]):
        assert await read(guardrail, _given(stream), {"model": "chat", "input": "x"}) == stream


def claude(question: str) -> dict[str, Any]:
    return {**ask(question, **STREAM), "model": "claude", "max_tokens": 300}


async def events(guardrail: Any, provider: Any, size: int | None) -> tuple[bytes, bytes]:
    """Return a stream of Anthropic's, cut anywhere, and what becomes of it."""
    body = claude(MADE_UP)
    # litellm itself passes the provider's bytes on, and needs the proxy's packages to do so.
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{provider.base_url}/messages", json=body)
    raw = answer.content
    cut = [raw[i : i + size] for i in range(0, len(raw), size)] if size else [raw]
    return raw, b"".join(await read(guardrail, _given(cut), body))


def parsed(raw: bytes) -> list[dict[str, Any]]:
    lines = [line for line in raw.decode().splitlines() if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [None, 7, 100])
async def test_a_stream_of_anthropics_ends_with_its_verdict(make_guardrail, provider, mode, size):
    raw, given = await events(make_guardrail({**STRICT, "stream_mode": mode}), provider, size)

    *_, ending, last = parsed(given)
    assert (ending["type"], last["type"]) == ("message_delta", "message_stop")
    assert verdict_of(ending).flagged
    assert _said(given) == _said(raw)
    if mode != "hold":
        unmarked = [{k: v for k, v in e.items() if k != "hallucination"} for e in parsed(given)]
        assert unmarked == parsed(raw)


def _said(raw: bytes) -> str:
    deltas = [e["delta"] for e in parsed(raw) if e["type"] == "content_block_delta"]
    return "".join(delta["text"] for delta in deltas)


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_of_anthropics_is_withheld(make_guardrail, provider, mode):
    raw, given = await events(
        make_guardrail({**STRICT, **BLOCK, "stream_mode": mode}), provider, 50
    )

    kinds = [event["type"] for event in parsed(given)]
    assert kinds[0] == "message_start"
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop")
    ending = parsed(given)[-2]
    assert ending["delta"]["stop_reason"] == "refusal"
    # With what the stream's start says of it.
    assert ending["usage"] == {**ending["usage"], **parsed(raw)[-2]["usage"]}
    assert verdict_of(ending).flagged
    assert _said(given).endswith("Withheld.")
    if mode != "after":
        assert b"Zorblatt" not in given


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_of_responses(make_guardrail, router, mode):
    body = {"model": "chat", "input": MADE_UP, "stream": True}
    stream = Recording(await router.aresponses(**body))
    given = await read(make_guardrail({**STRICT, "stream_mode": mode}), stream, body)

    assert verdict_of(given[-1]).flagged
    kinds = [str(getattr(each.type, "value", each.type)) for each in given]
    assert kinds[-1] == "response.completed"
    if mode != "hold":
        assert len(given) == len(stream.pieces)


@pytest.mark.parametrize("mode", ["hold", "buffer"])
async def test_a_stream_of_responses_is_withheld(make_guardrail, router, mode):
    body = {"model": "chat", "input": MADE_UP, "stream": True}
    stream = await router.aresponses(**body)
    given = await read(make_guardrail({**STRICT, **BLOCK, "stream_mode": mode}), stream, body)

    kinds = [str(getattr(each.type, "value", each.type)) for each in given]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.incomplete"
    assert kinds.count("response.output_item.added") == 1
    assert "Zorblatt" not in "".join(each.model_dump_json() for each in given)
    assert given[-1].response.output[0].content[0].text == "Withheld."


async def test_litellms_logs_hear_of_a_stream(make_guardrail, router):
    body = ask(MADE_UP, **STREAM)
    data = as_sent(body)
    hook = make_guardrail({**STRICT, **BLOCK}).async_post_call_streaming_iterator_hook
    async for _ in hook(None, await router.acompletion(**body), data):
        pass

    (entry,) = data["metadata"]["standard_logging_guardrail_information"]
    assert entry["guardrail_status"] == "guardrail_intervened"
    assert "Zorblatt" not in json.dumps(entry, default=str)


@pytest.mark.parametrize("mode", MODES)
async def test_streamed_answers_that_nobody_asked_for_are_checked_too(make_guardrail, router, mode):
    stream = await router.acompletion(**ask(MADE_UP, **STREAM, n=2))
    pieces = await read(
        make_guardrail(STRICT | {"stream_mode": mode}), stream, ask(MADE_UP, **STREAM)
    )
    told = {p.choices[0].index: verdict_of(p) for p in pieces if verdict_of(p) is not None}
    assert sorted(told) == [0, 1]
    assert all(verdict.flagged for verdict in told.values())
