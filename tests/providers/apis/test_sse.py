from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.adapters.apis import Event, EventReader, encoded
from support.apis import JSON, received, sent

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
NAMES = st.none() | st.from_regex(r"[a-z_.]{1,8}", fullmatch=True)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)
CUTS = st.lists(st.integers(0, 400), max_size=12)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 5))):
        kinds = ["data:", "data: ", "event: ", "id: ", "retry: ", ": ", "other"]
        lines += [draw(st.sampled_from(kinds)) + draw(LINE) for _ in range(draw(st.integers(0, 4)))]
        lines.append("")
    unclosed = draw(st.booleans()) and lines
    return end.join(lines[:-1] if unclosed else [*lines, ""]).encode()


def in_pieces(data: bytes, cuts: list[int]) -> list[Event]:
    reader = EventReader()
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    return [event for piece in pieces for event in reader.feed(piece)] + reader.finish()


@given(streams(), CUTS)
def test_the_same_events_are_found_wherever_a_stream_is_cut(data: bytes, cuts: list[int]):
    assert in_pieces(data, cuts) == received(data)
    assert in_pieces(data, list(range(len(data)))) == received(data)


@given(st.lists(st.builds(Event, OBJECTS, NAMES), max_size=4), CUTS)
def test_objects_are_read_as_they_were_written(events: list[Event], cuts: list[int]):
    assert in_pieces(sent(events), cuts) == events


@given(st.lists(LINE, min_size=1, max_size=3), NAMES)
def test_texts_of_several_lines_are_read_as_they_were_written(lines: list[str], name: str | None):
    event = Event("> " + "\n".join(lines), name)

    assert received(sent([event])) == [event]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_names_data_and_comments_are_told_apart(end: str):
    lines = [
        ": hello",
        "event: greeting",
        'data: {"a":',
        "data: 1}",
        "id: 7",
        "",
        "data:[DONE]",
        "",
    ]

    events = received(end.join(lines).encode())

    assert events == [Event({"a": 1}, "greeting"), Event("[DONE]")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_nothing_but_names_and_data_is_passed_on(end: str):
    hidden = [": secret", "id: secret", "retry: secret", "secret: secret", "secret", "event: a b"]
    lines = ["event: secret", *hidden, "event: ping", *hidden[:5], 'data: {"a": 1}', ": secret", ""]

    (event,) = received(end.join([*lines, ""]).encode())

    assert encoded(event).splitlines() == [b"event: ping", b'data: {"a": 1}', b""]


@given(streams(), CUTS)
def test_what_is_passed_on_is_read_as_what_was_received(data: bytes, cuts: list[int]):
    events = in_pieces(data, cuts)

    assert received(sent(events)) == events


def test_an_event_that_nothing_closes_is_found_at_the_end():
    reader = EventReader()

    assert reader.feed('data: {"a": "é"}'.encode()) == []
    assert reader.finish() == [Event({"a": "é"})]
    assert reader.finish() == []


def test_an_event_without_data_is_none():
    assert received(b"event: ping\n\ndata: 1\n\n") == [Event("1")]


def test_a_list_is_a_text():
    assert received(b"data: [1]\n\n") == [Event("[1]")]


def test_what_is_nested_too_deep_is_a_text():
    deep = "[" * 200_000

    assert received(f"data: {deep}\n\n".encode()) == [Event(deep)]
