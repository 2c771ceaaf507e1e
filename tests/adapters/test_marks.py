"""Marks in the answers of the APIs, streamed and not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Answer, AnswerChunk, Verdict
from resay.adapters.apis import CHAT_COMPLETIONS, COMPLETIONS, MESSAGES, RESPONSES, Api, Event
from resay.adapters.events import SeenEvents
from resay.adapters.outcomes import outcome_of
from resay.adapters.stream_rewriter import StreamRewriter
from resay.core.marks import Mark, with_marks
from resay.engine.answer_chunk import chunks_of
from support.apis import ALL, BLOCKS, CHAT, MESSAGE, RESPONSE, Blocks, Spoken, joined, read

FLAGGED = Verdict("flagged", 0.9, "1 of 2 sentences > 0.50")
TEXT = "It opened in 1932. It has 31415 lamps. It is grey."
LAMPS = Mark(38, " [unsupported]")

every_api = pytest.mark.parametrize("spoken", ALL, ids=repr)


def marked(response: str, *marks: Mark) -> Answer:
    text = with_marks(response, marks)
    return Answer(text, response, "annotate", FLAGGED, marks=marks)


def hold(
    spoken: Spoken, events: Sequence[Event], chunks: Sequence[AnswerChunk], **setting: bool
) -> list[Event]:
    """Return the events for chunks that are released as soon as their text has arrived."""
    seen: list[Event] = []
    rewriter = StreamRewriter(spoken.api, SeenEvents(spoken.api, seen), has_marks=True, **setting)
    arriving = iter(events)
    released = ""
    written: list[Event] = []
    for chunk in chunks:
        released += "" if chunk.mark else chunk.text
        while len(read(spoken.api, seen).text) < len(released):
            seen.append(next(arriving))
        written += rewriter.of(chunk)
    seen += arriving
    text = "".join(chunk.text for chunk in chunks)
    marks = tuple(chunk.mark for chunk in chunks if chunk.mark)
    answer = Answer(text, released, "annotate", FLAGGED, marks=marks)
    return [*written, *rewriter.of(answer, outcome_of(answer))]


def last_text(spoken: Spoken, events: Sequence[Event]) -> str:
    """Return the text in the last event of a stream, if its API repeats it there."""
    if spoken is not RESPONSE:
        return read(spoken.api, events).text
    response = [event.body["response"] for event in events if "response" in event.body][-1]
    return RESPONSES.completions(response)[0].text


@every_api
@pytest.mark.parametrize("can_change", [False, True])
@given(blocks=BLOCKS, places=st.lists(st.integers(1, 60), max_size=4), thinks=st.booleans())
@settings(deadline=None)
def test_a_stream_has_its_marks_where_they_belong(
    spoken: Spoken, can_change: bool, blocks: Blocks, places: list[int], thinks: bool
):
    text = joined(blocks)
    positions = sorted({min(place, len(text)) for place in places})
    marks = [Mark(position, f"<{position}>") for position in positions]
    chunks = AnswerChunk(text).marked(marks, 0)
    events = spoken.stream(blocks, "hm" * thinks)

    written = hold(spoken, events, chunks, can_change=can_change)

    whole = read(spoken.api, written)
    assert whole.text == last_text(spoken, written) == with_marks(text, marks)
    assert whole.finish_reason == read(spoken.api, events).finish_reason
    assert whole.calls == read(spoken.api, events).calls


@every_api
@given(blocks=BLOCKS)
@settings(deadline=None)
def test_a_stream_without_marks_is_the_providers_own(spoken: Spoken, blocks: Blocks):
    events = spoken.stream(blocks, "hm")

    written = hold(spoken, events, [AnswerChunk(joined(blocks))])

    verdicts = outcome_of(Answer("", "", "annotate", FLAGGED))
    end = next(i for i, event in enumerate(events) if spoken.api.ends(event))
    assert written == [*events[:end], *spoken.api.ending(events[end:], {0: verdicts})]


@every_api
def test_thoughts_before_the_text_are_sent_at_once(spoken: Spoken):
    events = spoken.stream([["It is grey."]], "hm")
    first = next(i for i in range(len(events)) if read(spoken.api, events[: i + 1]).text)
    rewriter = StreamRewriter(spoken.api, SeenEvents(spoken.api, events[:first]), has_marks=True)

    assert first > 0
    assert rewriter.of(AnswerChunk("")) == events[:first]


@every_api
def test_a_call_after_marked_text_stays(spoken: Spoken):
    events = spoken.stream([["It is grey. ", "I look."]], called=True)
    mark = Mark(11, " [unsupported]")

    written = hold(spoken, events, AnswerChunk("It is grey. I look.").marked([mark], 0))

    assert read(spoken.api, written).text == "It is grey. [unsupported] I look."
    assert read(spoken.api, written).calls == read(spoken.api, events).calls


@pytest.mark.parametrize("spoken", [CHAT, MESSAGE, RESPONSE], ids=repr)
def test_after_a_text_that_was_passed_on_the_marks_follow(spoken: Spoken):
    events = spoken.stream([["It is grey."]])
    seen: list[Event] = []
    rewriter = StreamRewriter(spoken.api, SeenEvents(spoken.api, seen), has_marks=True)
    written: list[Event] = []
    for event in events:
        seen.append(event)
        for _, chunk in spoken.api.chunks(event):
            written += rewriter.of(AnswerChunk(chunk.text, provider_chunk=chunk))
    answer = marked("It is grey.", Mark(11, "\n\nNot confirmed:\n- “It is grey.”"))
    for chunk in chunks_of(answer)[1:]:
        written += rewriter.of(chunk)
    written += rewriter.of(answer, outcome_of(answer))

    assert read(spoken.api, written).text == last_text(spoken, written) == answer.text


def responses(text: str, *, parts: int = 1) -> list[tuple[Api, dict[str, Any]]]:
    """Return a response of each API, whose text is in one or several parts."""
    size = -(-len(text) // parts)
    texts = [text[start : start + size] for start in range(0, len(text), size)]
    chat: Any = texts[0] if parts == 1 else [{"type": "text", "text": part} for part in texts]
    message = {"role": "assistant", "content": chat, "refusal": None, "reasoning": "hm"}
    own_parts: list[Any] = [{"type": "output_text", "text": part} for part in texts]
    thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
    item: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": own_parts,
    }
    return [
        (CHAT_COMPLETIONS, {"choices": [{"index": 0, "message": message, "finish_reason": "x"}]}),
        (COMPLETIONS, {"choices": [{"index": 0, "text": text, "finish_reason": "length"}]}),
        (MESSAGES, {"content": [{"type": "text", "text": part} for part in texts], "id": "msg"}),
        (RESPONSES, {"output": [thought, item], "status": "completed", "output_text": text}),
    ]


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_a_response_keeps_all_but_its_text(parts: int):
    answer = marked(TEXT, LAMPS, Mark(len(TEXT), "\n\n[^1]"))
    for api, response in responses(TEXT, parts=parts):
        (completion,) = api.completions(response)
        assert completion.text == TEXT

        written = dict(api.answered(response, [outcome_of(answer)]))

        assert api.completions(written)[0].text == answer.text
        assert written["hallucination"]["response"] == TEXT
        assert without_text({**written, "hallucination": None}) == without_text(
            {**response, "hallucination": None}
        )


def without_text(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: without_text(item) for name, item in items if name != "text"}
    if isinstance(value, list):
        return [without_text(item) for item in cast("list[Any]", value)]
    return None if isinstance(value, str) and "opened" in value else value


def test_citations_stay_with_their_words():
    own, url = {"start_index": 19, "end_index": 38}, {"start_index": 39, "end_index": 50}
    chat = {
        "choices": [
            {
                "message": {
                    "content": TEXT,
                    "annotations": [
                        {"type": "url_citation", "url_citation": dict(own)},
                        {"type": "url_citation", "url_citation": dict(url)},
                    ],
                }
            }
        ]
    }
    part = {
        "type": "output_text",
        "text": TEXT,
        "annotations": [{"type": "url_citation", **own}, {"type": "url_citation", **url}],
    }
    answer = marked(TEXT, LAMPS)

    written: Any = CHAT_COMPLETIONS.answered(chat, [outcome_of(answer)])
    annotations = [a["url_citation"] for a in written["choices"][0]["message"]["annotations"]]
    response = {"output": [{"type": "message", "content": [part]}]}
    written = RESPONSES.answered(response, [outcome_of(answer)])
    annotations += written["output"][0]["content"][0]["annotations"]

    words = [answer.text[a["start_index"] : a["end_index"]] for a in annotations]
    assert words == ["It has 31415 lamps.", "It is grey."] * 2


def test_each_of_several_answers_has_its_own_marks():
    body = {"choices": [{"index": i, "message": {"content": TEXT}} for i in range(2)]}
    outcomes = [outcome_of(marked(TEXT, LAMPS)), outcome_of(marked(TEXT))]

    first, second = CHAT_COMPLETIONS.completions(CHAT_COMPLETIONS.answered(body, outcomes))

    assert (first.text, second.text) == (with_marks(TEXT, [LAMPS]), TEXT)
