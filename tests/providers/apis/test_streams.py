"""What holds for the streams of every API."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.adapters.apis import Event
from support.apis import (
    ALL,
    BLOCKED,
    BLOCKS,
    CALL,
    CHAT,
    JSON,
    PASSED,
    Blocks,
    Spoken,
    after,
    buffer,
    hold,
    in_words,
    joined,
    read,
    received,
    sent,
    spoiled,
)

every_api = pytest.mark.parametrize("spoken", ALL, ids=repr)


@every_api
@given(BLOCKS, st.booleans())
def test_the_pieces_of_a_stream_make_up_the_answer(spoken: Spoken, blocks: Blocks, called: bool):
    events = received(sent(spoken.stream(blocks, "hm", called)))

    answer = read(spoken.api, events)

    assert answer.text == joined(blocks)
    assert [call.name for call in answer.calls] == ["look_up"] * called
    assert [json.loads(call.arguments) for call in answer.calls] == [CALL] * called
    assert answer.finish_reason


@every_api
@given(BLOCKS, st.booleans())
def test_what_passed_on_is_given_as_it_is_but_for_the_verdict(
    spoken: Spoken, blocks: Blocks, called: bool
):
    events = spoken.stream(blocks, "hm", called)

    for given_events in (after(spoken.api, events, PASSED), buffer(spoken.api, events, PASSED)):
        assert len(given_events) == len(events)
        changed = [b for a, b in zip(events, given_events, strict=True) if a != b]
        assert len(changed) == 1
        assert '"hallucination": {"decision": "consistent"}' in in_words(changed)
        assert read(spoken.api, given_events) == read(spoken.api, events)


@every_api
@given(BLOCKS, st.lists(st.integers(1, 9), max_size=6), st.booleans(), st.booleans(), st.booleans())
def test_held_text_is_given_as_it_is_released(
    spoken: Spoken,
    blocks: Blocks,
    lengths: list[int],
    called: bool,
    thinks: bool,
    can_change: bool,
):
    events = spoken.stream(blocks, "hm" * thinks, called)

    held = hold(spoken.api, events, lengths, PASSED, can_change=can_change)

    assert read(spoken.api, received(sent(held))).text == joined(blocks)
    assert read(spoken.api, held).calls == read(spoken.api, events).calls
    assert '"hallucination": {"decision": "consistent"}' in in_words(held)
    assert frame_of(spoken, held) == frame_of(spoken, events)


def frame_of(spoken: Spoken, events: list[Event]) -> list[object]:
    """Return what events are about, in their order, without their texts."""
    if spoken is CHAT:
        return []
    frame = [(e.body["type"], e.body.get("index"), e.body.get("output_index")) for e in events]
    return [about for before, about in zip([None, *frame], frame, strict=False) if before != about]


@every_api
@given(st.integers(0, 40), st.booleans(), st.booleans(), st.integers(1, 3))
def test_nothing_withheld_is_given(
    spoken: Spoken, cut: int, called: bool, shows: bool, number: int
):
    blocks = [["Known. ", "Zanzibar ", "moon"]] * number
    events = spoken.stream(blocks, "", called)[:cut]
    said_any = bool(read(spoken.api, events).text)
    shown = "Known. " if shows and said_any else ""

    given_events = hold(spoken.api, events, [len(shown)], BLOCKED)

    words = in_words(given_events)
    assert "Zanzibar" not in words
    assert "moon" not in words
    assert "Oslo" not in words
    answer = read(spoken.api, given_events)
    assert answer.text == shown + "Withheld."
    assert answer.finish_reason == spoken.filtered
    assert not answer.calls
    assert '"hallucination": {"decision": "flagged"}' in words


@every_api
def test_a_message_after_the_answer_follows_it(spoken: Spoken):
    events = spoken.stream([["It is ", "so."]], "hm", True)

    given_events = after(spoken.api, events, BLOCKED)

    answer = read(spoken.api, given_events)
    assert answer.text == "It is so.\n\nWithheld."
    assert answer.finish_reason == spoken.filtered
    assert answer.calls == read(spoken.api, events).calls


@every_api
@given(BLOCKS, BLOCKS, st.booleans())
def test_one_of_one_is_itself(spoken: Spoken, blocks: Blocks, others: Blocks, called: bool):
    api = spoken.api
    for event in spoken.stream(blocks, "hm", called):
        for index, own in api.split(event):
            assert index == 0
            assert read(api, [api.with_index(own, 0)]) == read(api, [event])


@every_api
@given(st.data())
def test_events_with_anything_in_them_are_read(spoken: Spoken, data: st.DataObject):
    events = spoken.stream([["a", "b"]], "hm", True)
    index = data.draw(st.integers(0, len(events) - 1))
    was = events[index]
    body = data.draw(spoiled(was.body) | JSON)
    events[index] = Event(body if isinstance(body, dict) else str(body), was.name)
    lengths = data.draw(st.lists(st.integers(0, 3), max_size=2))

    for event in events:
        spoken.api.chunks(event)
        spoken.api.usage(event.body)
        spoken.api.split(event)
        spoken.api.with_index(event, 1)
        spoken.api.without_logprobs(event.body)
    for outcome in (PASSED, BLOCKED):
        after(spoken.api, events, outcome)
        hold(spoken.api, events, lengths, outcome)
        buffer(spoken.api, events, outcome)
