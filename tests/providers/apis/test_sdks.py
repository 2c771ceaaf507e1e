"""The providers' own SDKs read what is given."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resay.adapters.apis import CHAT_COMPLETIONS, MESSAGES, RESPONSES, Event
from support.apis import (
    BLOCKED,
    BLOCKS,
    PASSED,
    Blocks,
    after,
    chat_stream,
    hold,
    joined,
    messages_stream,
    read,
    regenerated,
    responses_stream,
    rewrite,
    sent,
)

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

ASKED: list[Any] = [{"role": "user", "content": "Who?"}]
NEW = regenerated("One. It is not known.", "One. Two.")
few = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Wire:
    """What a provider sends, without a network."""

    def __init__(self) -> None:
        self.data = b""

    def client_for(self, sdk: ModuleType, kind: Any) -> Any:
        # Newer SDKs bring their own edition of httpx along.
        names = [base.__module__.split(".")[0] for base in sdk.DefaultHttpxClient.__mro__]
        http = importlib.import_module(next(name for name in names if name.startswith("httpx")))

        def answer(request: Any) -> Any:
            headers = {"content-type": "text/event-stream"}
            return http.Response(200, headers=headers, content=self.data, request=request)

        client = http.Client(transport=http.MockTransport(answer))
        return kind(api_key="k", http_client=client, base_url="http://sdk.test/v1")


@pytest.fixture(scope="module")
def wire():
    return Wire()


@pytest.fixture(scope="module")
def openai_client(wire: Wire):
    with wire.client_for(openai, openai.OpenAI) as client:
        yield client


@pytest.fixture(scope="module")
def anthropic_client(wire: Wire):
    with wire.client_for(anthropic, anthropic.Anthropic) as client:
        yield client


def responses_read(client: Any, wire: Wire, events: Sequence[Event]) -> tuple[str, str, Any]:
    """Return the text of the deltas, the last snapshot, and the last response."""
    wire.data = sent(events)
    text, snapshots, last = "", {}, None
    with client.responses.stream(model="m", input="Who?") as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
                snapshots[event.output_index, event.content_index] = event.snapshot
            last = getattr(event, "response", last)
    return text, "".join(snapshots[index] for index in sorted(snapshots)), last


@given(BLOCKS, st.lists(st.integers(1, 9)), st.booleans())
@few
def test_held_responses_are_read(
    openai_client: Any, wire: Wire, blocks: Blocks, lengths: list[int], called: bool
):
    events = responses_stream(blocks, "hm", called)

    text, snapshot, last = responses_read(
        openai_client, wire, hold(RESPONSES, events, lengths, PASSED)
    )

    assert text == snapshot == joined(blocks)
    assert last.status == "completed"
    assert last.hallucination == PASSED.data


def test_the_final_response_has_the_verdict(openai_client: Any, wire: Wire):
    wire.data = sent(hold(RESPONSES, responses_stream([["It is ", "so."]], "hm"), [9], PASSED))

    with openai_client.responses.stream(model="m", input="Who?") as stream:
        response = stream.get_final_response()

    assert response.output_text == "It is so."
    assert response.hallucination == PASSED.data


@given(BLOCKS, st.booleans(), st.booleans())
@few
def test_responses_that_were_written_again_are_read(
    openai_client: Any, wire: Wire, blocks: Blocks, shows: bool, thinks: bool
):
    events = responses_stream([["One. ", "Two."], *blocks], "hm" * thinks)
    given_events = rewrite(RESPONSES, events, ["One. "] * shows, NEW)

    text, snapshot, last = responses_read(openai_client, wire, given_events)

    assert text == snapshot == last.output_text == NEW.text
    assert (last.status, last.incomplete_details) == ("completed", None)
    assert last.hallucination["action"] == "regenerate"
    assert last.usage.output_tokens == 7
    with openai_client.responses.stream(model="m", input="Who?") as stream:
        by_type = {event.type: event for event in stream}
        assert stream.get_final_response().output_text == NEW.text
    assert by_type["response.output_text.done"].text == NEW.text
    assert by_type["response.content_part.done"].part.text == NEW.text
    (part,) = by_type["response.output_item.done"].item.content
    assert (part.text, by_type["response.output_item.done"].item.status) == (NEW.text, "completed")


@given(st.integers(0, 30), st.booleans())
@few
def test_withheld_responses_are_read(openai_client: Any, wire: Wire, cut: int, shows: bool):
    events = responses_stream([["One. ", "Two."]], "", True)[:cut]
    shown = "One. " if shows and read(RESPONSES, events).text else ""

    text, snapshot, last = responses_read(
        openai_client, wire, hold(RESPONSES, events, [len(shown)], BLOCKED)
    )

    assert text == snapshot == last.output_text == shown + "Withheld."
    assert last.status == "incomplete"
    assert last.incomplete_details.reason == "content_filter"
    assert last.hallucination == BLOCKED.data


def test_responses_with_a_message_after_them_are_read(openai_client: Any, wire: Wire):
    given_events = after(RESPONSES, responses_stream([["It is ", "so."]], "hm", True), BLOCKED)

    text, snapshot, last = responses_read(openai_client, wire, given_events)

    assert text == snapshot == last.output_text == "It is so.\n\nWithheld."
    assert last.status == "incomplete"


def message_read(client: Any, wire: Wire, events: Sequence[Event]) -> Any:
    wire.data = sent(events)
    with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
        return stream.get_final_message()


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@given(BLOCKS, st.lists(st.integers(1, 9)), st.booleans())
@few
def test_held_messages_are_read(
    anthropic_client: Any, wire: Wire, blocks: Blocks, lengths: list[int], called: bool
):
    events = messages_stream(blocks, "hm", called)

    message = message_read(anthropic_client, wire, hold(MESSAGES, events, lengths, PASSED))

    assert text_of(message) == joined(blocks)
    kinds = ["thinking", *["text"] * len(blocks), *["tool_use"] * called]
    assert [block.type for block in message.content] == kinds
    assert message.usage.output_tokens == 7


@given(BLOCKS, st.booleans(), st.booleans())
@few
def test_messages_that_were_written_again_are_read(
    anthropic_client: Any, wire: Wire, blocks: Blocks, shows: bool, thinks: bool
):
    events = messages_stream([["One. ", "Two."], *blocks], "hm" * thinks)

    message = message_read(
        anthropic_client, wire, rewrite(MESSAGES, events, ["One. "] * shows, NEW)
    )

    (block,) = message.content
    assert (block.type, block.text) == ("text", NEW.text)
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == 7
    stream = anthropic_client.messages.create(model="m", max_tokens=9, messages=ASKED, stream=True)
    types = [(event.type, getattr(event, "index", None)) for event in stream]
    for kind in ("start", "stop"):
        assert types.count((f"content_block_{kind}", 0)) == 1
    assert [kind for kind, _ in types[-2:]] == ["message_delta", "message_stop"]


@given(st.integers(0, 20), st.booleans())
@few
def test_withheld_messages_are_read(anthropic_client: Any, wire: Wire, cut: int, shows: bool):
    events = messages_stream([["One. ", "Two."]], "", True)[:cut]
    shown = "One. " if shows and read(MESSAGES, events).text else ""

    message = message_read(anthropic_client, wire, hold(MESSAGES, events, [len(shown)], BLOCKED))

    assert text_of(message) == shown + "Withheld."
    assert message.stop_reason == "refusal"
    assert "tool_use" not in [block.type for block in message.content]


def test_messages_with_a_message_after_them_are_read(anthropic_client: Any, wire: Wire):
    given_events = after(MESSAGES, messages_stream([["It is ", "so."]], "hm"), BLOCKED)

    message = message_read(anthropic_client, wire, given_events)

    assert [block.text for block in message.content[1:]] == ["It is so.", "\n\nWithheld."]
    assert message.stop_reason == "refusal"


def test_every_block_that_begins_ends(anthropic_client: Any, wire: Wire):
    for cut in range(20):
        events = messages_stream([["One. ", "Two."]], "hm", True)[:cut]
        wire.data = sent(hold(MESSAGES, events, [], BLOCKED))
        stream = anthropic_client.messages.create(
            model="m", max_tokens=9, messages=ASKED, stream=True
        )
        types = [(event.type, getattr(event, "index", None)) for event in stream]

        begun = [index for kind, index in types if kind == "content_block_start"]
        ended = [index for kind, index in types if kind == "content_block_stop"]
        assert begun == sorted(ended) == list(range(len(begun)))
        assert [kind for kind, _ in types[-2:]] == ["message_delta", "message_stop"]


def test_the_verdict_is_at_the_end_of_a_message(anthropic_client: Any, wire: Wire):
    wire.data = sent(hold(MESSAGES, messages_stream([["So."]]), [3], PASSED))

    stream = anthropic_client.messages.create(model="m", max_tokens=9, messages=ASKED, stream=True)

    (end,) = [event for event in stream if event.type == "message_delta"]
    assert end.hallucination == PASSED.data


@given(BLOCKS, st.lists(st.integers(1, 9)), st.booleans())
@few
def test_held_completions_are_read(
    openai_client: Any, wire: Wire, blocks: Blocks, lengths: list[int], called: bool
):
    wire.data = sent(hold(CHAT_COMPLETIONS, chat_stream(blocks, "hm", called), lengths, PASSED))

    with openai_client.chat.completions.stream(model="m", messages=ASKED) as stream:
        completion = stream.get_final_completion()

    (choice,) = completion.choices
    assert choice.message.content == joined(blocks)
    assert len(choice.message.tool_calls or []) == called


@given(BLOCKS, st.booleans(), st.booleans())
@few
def test_completions_that_were_written_again_are_read(
    openai_client: Any, wire: Wire, blocks: Blocks, shows: bool, thinks: bool
):
    events = chat_stream([["One. ", "Two."], *blocks], "hm" * thinks)
    wire.data = sent(rewrite(CHAT_COMPLETIONS, events, ["One. "] * shows, NEW))

    with openai_client.chat.completions.stream(model="m", messages=ASKED) as stream:
        (choice,) = stream.get_final_completion().choices

    assert (choice.message.content, choice.finish_reason) == (NEW.text, "stop")
    assert choice.message.role == "assistant"
