"""What is given in the place of a streamed answer that was written again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Answer, AnswerChunk, Usage, Verdict
from resay.adapters import last_reported
from resay.adapters.apis import CHAT_COMPLETIONS, Event
from resay.adapters.choices import ChoiceStream
from resay.adapters.events import SeenEvents, answer_text
from resay.adapters.outcomes import outcome_of
from resay.adapters.stream_rewriter import StreamRewriter
from resay.core.regeneration import Attempt, Regeneration
from support.apis import (
    ALL,
    BLOCKS,
    CHAT,
    MESSAGE,
    RESPONSE,
    Blocks,
    Spoken,
    in_words,
    read,
    regenerated,
    rewrite,
    without_verdicts,
)

every_api = pytest.mark.parametrize("spoken", ALL, ids=repr)

NEW = "It is not known. Ask again."
DRAFT = "Known. Zanzibar is the moon."
PIECES = ["Known. ", "Zanzibar ", "is the moon."]


def words_of(events: list[Event]) -> str:
    return in_words(without_verdicts(events))


@every_api
@given(BLOCKS, st.booleans())
@settings(deadline=None)
def test_another_answer_takes_the_place_of_all(spoken: Spoken, blocks: Blocks, thinks: bool):
    events = spoken.stream([["Zanzibar"], *blocks], "the moon" * thinks)

    given_events = rewrite(spoken.api, events, [], regenerated(NEW, DRAFT))

    answer = read(spoken.api, given_events)
    assert (answer.text, answer.finish_reason) == (NEW, spoken.finished)
    assert "Zanzibar" not in words_of(given_events)
    assert "moon" not in words_of(given_events)


@every_api
def test_another_end_takes_the_place_of_the_rest(spoken: Spoken):
    answer = regenerated("Known. It is not.", DRAFT)

    given_events = rewrite(spoken.api, spoken.stream([PIECES]), ["Known. "], answer)

    read_answer = read(spoken.api, given_events)
    assert (read_answer.text, read_answer.finish_reason) == (answer.text, spoken.finished)
    assert "Zanzibar" not in words_of(given_events)


@every_api
def test_the_rest_of_an_answer_may_be_left_out(spoken: Spoken):
    answer = regenerated("Known. ", DRAFT)

    given_events = rewrite(spoken.api, spoken.stream([PIECES]), ["Known. "], answer)

    assert read(spoken.api, given_events).text == "Known. "
    assert read(spoken.api, given_events).finish_reason == spoken.finished


@every_api
def test_no_thought_of_the_draft_comes_before_another_end(spoken: Spoken):
    answer = regenerated("Known. It is not.", DRAFT)
    events = spoken.stream([PIECES], "Zanzibar, surely")

    given_events = rewrite(spoken.api, events, ["Known. "], answer)

    assert read(spoken.api, given_events).text == answer.text
    assert "Zanzibar" not in words_of(given_events)


@every_api
def test_the_verdict_says_what_was_done(spoken: Spoken):
    given_events = rewrite(spoken.api, spoken.stream([PIECES]), [], regenerated(NEW, DRAFT))

    told = [e for e in given_events if '"hallucination"' in in_words([e])]
    (event,) = told
    data = event.body.get("hallucination") or event.body["response"]["hallucination"]
    assert data["action"] == "regenerate"
    assert data["regeneration"]["adopted"] == 0
    assert spoken.api.ends(event)


def usage_of(spoken: Spoken, events: list[Event]) -> Usage | None:
    return last_reported(chunk.usage for event in events for _, chunk in spoken.api.chunks(event))


@every_api
def test_what_a_stream_says_of_itself_stays(spoken: Spoken):
    events = spoken.stream([PIECES])

    given_events = rewrite(spoken.api, events, [], regenerated(NEW, DRAFT))

    kept = "resp_7" if spoken is RESPONSE else "msg_7" if spoken is MESSAGE else "c_7"
    assert kept in in_words(given_events)
    assert usage_of(spoken, given_events) == usage_of(spoken, events)


@every_api
def test_the_best_answer_there_is_may_be_flagged(spoken: Spoken):
    answer = regenerated(NEW, DRAFT, "annotate")

    given_events = rewrite(spoken.api, spoken.stream([PIECES]), [], answer)

    assert read(spoken.api, given_events).text == NEW
    assert "Zanzibar" not in words_of(given_events)


@every_api
def test_a_draft_that_nothing_better_was_found_for_is_given(spoken: Spoken):
    tried = Regeneration("repair", (Attempt("passage 0.90 > 0.50"),), None, draft=DRAFT)
    verdict = Verdict("flagged", 0.9, "passage 0.90 > 0.50", regeneration=tried)
    events = spoken.stream([PIECES], "hm")
    rewriter = StreamRewriter(spoken.api, SeenEvents(spoken.api, events), can_change=True)

    given_events = [
        *rewriter.of(AnswerChunk(DRAFT)),
        *rewriter.of(Answer(DRAFT, DRAFT, "annotate", verdict)),
    ]

    assert without_verdicts(given_events) == without_verdicts(events)


@every_api
def test_another_answer_to_what_was_withheld_is_not_given(spoken: Spoken):
    answer = regenerated("Sorry.", DRAFT, "block")

    assert not answer.regenerated
    outcome = outcome_of(answer)
    assert (outcome.withheld, outcome.message) == (True, "Sorry.")
    assert "Zanzibar" not in str(outcome.data)
    events = spoken.stream([PIECES])
    rewriter = StreamRewriter(spoken.api, SeenEvents(spoken.api, events), can_change=True)
    given_events = [*rewriter.of(AnswerChunk("Sorry.", is_replacement=True)), *rewriter.of(answer)]
    assert read(spoken.api, given_events).finish_reason == spoken.filtered
    assert "Zanzibar" not in in_words(given_events)


def cut_short(spoken: Spoken, events: list[Event]) -> list[Event]:
    """Return a stream that ends because the answer was too long."""
    if spoken is RESPONSE:
        last = events[-1].body
        details = {"incomplete_details": {"reason": "max_output_tokens"}}
        response = {**last["response"], "status": "incomplete", **details}
        kind = "response.incomplete"
        return [*events[:-1], Event({**last, "type": kind, "response": response}, kind)]
    wanted = ('"end_turn"', '"max_tokens"') if spoken is MESSAGE else ('"stop"', '"length"')
    place = next(i for i, event in enumerate(events) if spoken.api.ends(event))
    ended = events[place]
    body: Any = dict(ended.body)
    if spoken is MESSAGE:
        body["delta"] = {**body["delta"], "stop_reason": wanted[1].strip('"')}
    else:
        body["choices"] = [{**body["choices"][0], "finish_reason": wanted[1].strip('"')}]
    return [*events[:place], Event(body, ended.name), *events[place + 1 :]]


@every_api
def test_another_answer_is_complete_where_the_draft_was_cut_short(spoken: Spoken):
    events = cut_short(spoken, spoken.stream([PIECES]))
    assert read(spoken.api, events).finish_reason != spoken.finished

    for shown in ([], ["Known. "]):
        answer = regenerated("Known. It is not.", DRAFT)
        given_events = rewrite(spoken.api, events, shown, answer)
        assert read(spoken.api, given_events).finish_reason == spoken.finished
        assert read(spoken.api, given_events).text == answer.text
        assert "incomplete" not in words_of(given_events).replace("incomplete_details", "")


def test_one_of_several_answers_is_written_again():
    events = CHAT.stream([PIECES], "Zanzibar, surely")
    one = ChoiceStream(CHAT_COMPLETIONS)
    given_events = [given for event in events[:-1] for given in one.add(event, passes_on=False)]

    given_events += one.end(regenerated(NEW, DRAFT), passed_on=False)

    assert read(CHAT_COMPLETIONS, given_events).text == NEW
    assert read(CHAT_COMPLETIONS, given_events).finish_reason == "stop"
    assert "Zanzibar" not in words_of(given_events)


def test_what_a_provider_found_for_the_draft_is_left_out_too():
    first, *others = CHAT.stream([PIECES])
    found = Event({**first.body, "citations": ["https://zanzibar"], "provider": "P"})
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    last = {**others[-2].body, "usage": usage, "search_results": [{"title": "Zanzibar"}]}
    after = Event({**first.body, "choices": [], "usage": usage, "citations": ["Zanzibar"]})
    events = [found, *others[:-2], Event(last), after, others[-1]]

    given_events = rewrite(CHAT_COMPLETIONS, events, [], regenerated(NEW, DRAFT))

    assert "anzibar" not in words_of(given_events)
    assert given_events[0].body["provider"] == "P"
    ended, told, done = given_events[-3:]
    assert ended.body["usage"] == told.body["usage"] == usage
    assert done == events[-1]


def test_the_items_of_a_response_are_those_that_were_given():
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x"}
    events = RESPONSE.stream([PIECES])
    kind = "response.output_item.done"
    thought = Event({"type": kind, "output_index": 0, "item": reasoning}, kind)
    moved = [_later(event) for event in events[2:]]
    events = [*events[:2], thought, *moved]

    for shown, kinds in (([], ["message"]), (["Known. "], ["reasoning", "message"])):
        answer = regenerated("Known. It is not.", DRAFT)
        given_events = rewrite(RESPONSE.api, events, shown, answer)
        last = given_events[-1].body["response"]
        assert [item["type"] for item in last["output"]] == kinds
        done = [e.body for e in given_events if e.name == kind]
        assert [body["item"] for body in done] == last["output"]
        assert [body["output_index"] for body in done] == list(range(len(kinds)))
        # A message of the provider's wants its thoughts before it when it is sent back.
        assert (last["output"][-1]["id"] == "msg_0") is bool(shown)


def _later(event: Event) -> Event:
    known = "output_index" in event.body
    return Event({**event.body, "output_index": 1}, event.name) if known else event


def test_each_event_is_parsed_once_however_much_of_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[Event] = []
    chunks = type(CHAT_COMPLETIONS).chunks

    def counting(self: Any, event: Event) -> Any:
        parsed.append(event)
        return chunks(self, event)

    words = ["One ", "two ", "three ", "four."]
    events = [Event({"choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]
    seen = SeenEvents(CHAT_COMPLETIONS)
    rewriter = StreamRewriter(CHAT_COMPLETIONS, seen)
    for event, word in zip(events, words, strict=True):
        seen.add(event, word)
    monkeypatch.setattr(type(CHAT_COMPLETIONS), "chunks", counting)
    sent = rewriter.of(AnswerChunk("One two th"))
    sent += rewriter.of(AnswerChunk("ree four."))
    assert parsed == []
    assert answer_text(CHAT_COMPLETIONS, sent) == "".join(words)
    assert rewriter.text == "".join(words)
