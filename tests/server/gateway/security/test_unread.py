"""More answers than were asked for, and what nobody can read: never passed as if it were fine."""
# ruff: noqa: E501 - tables

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from itertools import count
from typing import Any

import pytest

from resay.adapters.verdicts import verdict_of
from support.attacks import ANSWER, Received, Upstream, ask, http_response, stream_of
from support.events import event, typed
from support.gateway import ASKED, Served

CHAT, TEXT, MESSAGES, RESPONSES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/messages",
    "/v1/responses",
)
MAIN = "main-1"
SECRET = "Zorblatt"
WORDS = f"{SECRET} built the bridge out of steel and stone, in a single year, without any help."
END = b"data: [DONE]\n\n"


def choice(index: Any = 0, **changed: Any) -> dict[str, Any]:
    told = {"index": index, "message": {"role": "assistant", "content": WORDS}}
    return {**told, "finish_reason": "stop", **changed}


def chat(*choices: Any, **changed: Any) -> dict[str, Any]:
    return {**ANSWER, "choices": [*choices], **changed}


def texts(*indexes: Any) -> dict[str, Any]:
    choices = [{"index": i, "text": WORDS, "finish_reason": "stop"} for i in indexes]
    return {**ANSWER, "object": "text_completion", "choices": choices}


def message(*blocks: Any, content: Any = None) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    known = {"id": "m", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    content = [*blocks] if content is None else content
    return {**known, "content": content, "stop_reason": "end_turn", "stop_sequence": None}


def block(text: str = WORDS, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def response(*items: Any, **changed: Any) -> dict[str, Any]:
    known = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return {**known, "output": [*items], **changed}


def item(*parts: Any, kind: str = "message") -> dict[str, Any]:
    return {
        "id": "i",
        "type": kind,
        "role": "assistant",
        "status": "completed",
        "content": [*parts],
    }


PART = block(kind="output_text")
FINE = block("It is of steel.", "output_text")
FINE_CHOICE = choice(message={"role": "assistant", "content": "It is of steel."})

ANSWERS: Mapping[str, tuple[str, dict[str, Any], Any]] = {
    "two choices unasked": (CHAT, {}, chat(FINE_CHOICE, choice(1))),
    "the same index twice": (CHAT, {"n": 1}, chat(FINE_CHOICE, choice(0))),
    "odd indexes": (CHAT, {"n": 1}, chat(*(choice(i) for i in (7, "x", None, -1, 2.0)))),
    "n as a float": (CHAT, {"n": 2.0}, chat(FINE_CHOICE, choice(1))),
    "n as a text": (CHAT, {"n": "2"}, chat(FINE_CHOICE, choice(1))),
    "fewer than asked": (CHAT, {"n": 3}, chat(choice(2))),
    "a choice that is a text": (CHAT, {}, chat(FINE_CHOICE, WORDS)),
    "no message": (CHAT, {}, chat({"index": 0, "text": WORDS, "finish_reason": "stop"})),
    "an odd content": (CHAT, {}, chat(choice(message={"content": {"words": WORDS}}))),
    "an unknown part": (CHAT, {}, chat(choice(message={"content": [{"type": "x", "y": WORDS}]}))),
    "a list of texts": (CHAT, {}, chat(choice(message={"content": [WORDS]}))),
    "speech": (CHAT, {}, chat(choice(message={"content": None, "audio": {"transcript": WORDS}}))),
    "a refusal": (CHAT, {}, chat(choice(message={"content": None, "refusal": WORDS}))),
    "a content that is one part": (CHAT, {}, chat(choice(message={"content": block()}))),
    "a refusal among parts": (CHAT, {}, chat(choice(message={"content": [{"type": "refusal", "refusal": WORDS}]}))),
    "a text beside no message": (CHAT, {}, chat(choice(message=None, text=WORDS))),
    "a text beside a message": (CHAT, {}, chat({**FINE_CHOICE, "text": WORDS})),
    "a piece beside no message": (CHAT, {}, chat(choice(message=None, delta={"content": WORDS}))),
    "a message beside no text": (TEXT, {}, chat({"index": 0, "text": None, "message": {"content": WORDS}, "finish_reason": "stop"})),
    "no choices": (CHAT, {}, {"answer": WORDS}),
    "no choices of several": (CHAT, {"n": 2}, {"answer": WORDS}),
    "a list": (CHAT, {}, [WORDS]),
    "no JSON": (CHAT, {}, WORDS.encode()),
    "texts unasked": (TEXT, {"best_of": 2}, texts(0, 1)),
    "an odd text": (TEXT, {}, chat({"index": 0, "text": [WORDS], "finish_reason": "stop"})),
    "two text blocks": (MESSAGES, {}, message(block("It is of steel. "), block())),
    "an unknown block": (MESSAGES, {}, message(block("It is of steel."), block(kind="rich_text"))),
    "a content that is a text": (MESSAGES, {}, message(content=WORDS)),
    "two items": (RESPONSES, {}, response(item(FINE), item(PART))),
    "two parts": (RESPONSES, {}, response(item(FINE, PART))),
    "an unknown item": (RESPONSES, {}, response(item(FINE), item(PART, kind="essay"))),
    "an unknown part of an item": (RESPONSES, {}, response(item(FINE, block(kind="rich")))),
    "words before the end": (RESPONSES, {}, response(item(PART), status="in_progress")),
    "a refusal of a response": (RESPONSES, {}, response(item({"type": "refusal", "refusal": WORDS}))),
    "a text beside no output": (RESPONSES, {}, response(output_text=WORDS)),
    "a text beside another output": (RESPONSES, {}, response(item(FINE), output_text=WORDS)),
    "an output that is a text": (RESPONSES, {}, response(output=WORDS)),
    "a message that is a text": (CHAT, {}, chat(choice(message=WORDS))),
    "a message in a list": (CHAT, {}, chat(choice(message=[{"content": WORDS}]))),
    "an unknown field of a message": (CHAT, {}, chat(choice(message={"content": None, "answer": WORDS}))),
    "an unknown object of a message": (CHAT, {}, chat(choice(message={"content": " ", "parsed": {"by": [WORDS]}}))),
    "an unknown field of a choice": (CHAT, {}, chat(choice(message={"content": None}, content=WORDS))),
    "an unknown field of a response": (CHAT, {}, chat(choice(message={"content": ""}), answer=WORDS)),
    "an unknown field beside no text": (TEXT, {}, chat({"index": 0, "text": "", "answer": WORDS})),
    "an unknown field of a choice of texts": (TEXT, {}, chat({"index": 0, "content": WORDS})),
    "a completion of a message": (MESSAGES, {}, {**message(), "completion": WORDS}),
    "an item whose content is one part": (RESPONSES, {}, response({**item(), "content": PART})),
    "an unknown field beside no output": (RESPONSES, {}, response(answer={"text": WORDS})),
}  # fmt: skip
"""A path, what is asked, and what is answered."""


# How a request is known at the upstream.
NAMED = (f"x-request-id: {MAIN}", "idempotency-key: main")


def to_main(answer: bytes) -> Any:
    """Answer the main call so, and with other words whatever is asked beside it."""
    numbers = count(1)

    async def says(request: Received) -> AsyncIterator[bytes]:
        if request.headers("x-request-id") != [MAIN]:
            return
        # It goes with the main call alone, which may arrive after its samples.
        if request.headers("idempotency-key"):
            yield answer
            return
        other = f"Nobody knows it, number {next(numbers)} says."
        own = {"text": other, "message": {"role": "assistant", "content": other}}
        bodies = message(block(other)) | response(item(block(other, "output_text")))
        yield http_response(bodies | chat(choice(**own)))

    return says


@pytest.mark.parametrize("name", ANSWERS)
def test_all_answers_there_are_are_checked_or_end_by_on_error(
    served: Served, upstream: Upstream, name: str
) -> None:
    path, asked, answer = ANSWERS[name]
    before = len(served.told)
    for policy in ("hidden", "after"):
        upstream.says(to_main(http_response(answer)))
        given = ask(
            served,
            {**ASKED[path], **asked},
            f"x-resay-policy: {policy}",
            *NAMED,
            target=path,
        )
        assert given.status == 200
        (seen,) = served.seen(before + 1)[before:]
        before += 1
        assert seen.answers
        if policy == "hidden":
            assert SECRET.encode() not in given.body
            assert (seen.action, given.header("x-resay-action")) == ("block", "block")
        else:
            # What the client is told is what the observer is.
            assert SECRET.encode() in given.body
            assert seen.verdict is not None
            assert given.header("x-resay-decision") == seen.verdict.decision != "consistent"


def piece(content: Any, index: Any = 0, reason: str | None = None, **changed: Any) -> bytes:
    delta = {"role": "assistant", "content": content}
    told = {"index": index, "delta": delta, "finish_reason": reason, **changed}
    return event(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [told],
        }
    )


START = typed("message_start", message=message())
STOP = typed("message_delta", delta={"stop_reason": "end_turn"}, usage={}) + typed("message_stop")
GOOD = piece("It is of steel.", reason="stop")


def completed(*items: Any) -> bytes:
    return typed("response.completed", response=response(*items))


STREAMS: Mapping[str, tuple[str, dict[str, Any], list[bytes]]] = {
    "another index": (CHAT, {}, [piece("It is of steel."), piece(WORDS, 1), piece("", 0, "stop"), piece("", 1, "stop"), END]),
    "another index after the end": (CHAT, {"n": 1}, [GOOD, piece(WORDS, 3, "stop"), END]),
    "an odd index": (CHAT, {}, [piece(WORDS, 5), piece(None, 5, "stop"), END]),
    "an index that is a text": (CHAT, {}, [piece(WORDS, "1", "stop"), END]),
    "an event that is no JSON": (CHAT, {}, [GOOD.replace(b'"stop"', b"null"), event(WORDS), piece(None, reason="stop"), END]),
    "an event that is no JSON, of several": (CHAT, {"n": 2}, [GOOD, event(WORDS), END]),
    "no answer": (CHAT, {}, [event({"answer": WORDS}), END]),
    "no answer of several": (CHAT, {"n": 2}, [event({"answer": WORDS}), END]),
    "a whole message": (CHAT, {}, [piece("It is of steel."), piece(None, reason="stop", message={"content": WORDS}), END]),
    "a text in a choice": (CHAT, {}, [piece(None, text=WORDS), piece(None, reason="stop"), END]),
    "a refusal": (CHAT, {}, [piece(None, delta={"refusal": WORDS}), piece(None, reason="stop"), END]),
    "a content that is one part": (CHAT, {}, [piece(block()), piece(None, reason="stop"), END]),
    "an unknown block": (MESSAGES, {}, [START, typed("content_block_start", index=0, content_block=block(kind="rich")), STOP]),
    "an unknown piece": (MESSAGES, {}, [START, typed("content_block_delta", index=0, delta={"type": "rich_delta", "rich": WORDS}), STOP]),
    "a start with words": (MESSAGES, {}, [typed("message_start", message=message(block(kind="rich"))), STOP]),
    "an end with new words": (RESPONSES, {}, [typed("response.created", response=response()), completed(item(PART))]),
    "a part with new words": (RESPONSES, {}, [typed("response.output_text.done", text=WORDS), completed()]),
    "a refusal of a response": (RESPONSES, {}, [typed("response.refusal.delta", delta=WORDS, item_id="i", output_index=0, content_index=0), completed()]),
    "an item that begins with words": (RESPONSES, {}, [typed("response.output_item.added", item=item(PART), output_index=0), completed()]),
    "a response that begins with words": (RESPONSES, {}, [typed("response.created", response=response(item(PART))), completed()]),
    "a text beside no output": (RESPONSES, {}, [typed("response.created", response=response()), typed("response.completed", response=response(output_text=WORDS))]),
    "an unknown event": (RESPONSES, {}, [typed("response.essay.delta", delta=WORDS), completed()]),
    "choices that are no list": (CHAT, {}, [event({"choices": {"index": 0, "delta": {"content": WORDS}}}), piece(None, reason="stop"), END]),
    "a piece that is a text": (CHAT, {}, [piece(None, delta=WORDS), piece(None, reason="stop"), END]),
    "a piece in a list": (CHAT, {}, [piece(None, delta=[{"content": WORDS}]), piece(None, reason="stop"), END]),
    "an unknown field of a piece": (CHAT, {}, [piece(None, delta={"answer": WORDS}), piece(None, reason="stop"), END]),
    "an unknown field of an event": (CHAT, {}, [piece(None), event({"answer": WORDS}), piece(None, reason="stop"), END]),
    "an unknown field of several": (CHAT, {"n": 2}, [piece(None, 1, delta={"answer": WORDS}), piece(None, 0, "stop"), piece(None, 1, "stop"), END]),
    "no choices of texts": (TEXT, {}, [event({"text": WORDS}), event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}), END]),
    "an end of a message with words": (MESSAGES, {}, [START, typed("message_delta", delta={"stop_reason": "end_turn", "text": WORDS}, usage={}), typed("message_stop")]),
    "an unknown event of a message": (MESSAGES, {}, [START, typed("essay", text=WORDS), STOP]),
    "an unknown event without a piece": (RESPONSES, {}, [typed("response.essay", text=WORDS), completed()]),
    "an end with an unknown field": (RESPONSES, {}, [typed("response.completed", response=response(answer=WORDS))]),
    "events of another API": (RESPONSES, {}, [piece(WORDS, 0, "stop"), END]),
}  # fmt: skip
"""A path, what is asked, and the events that are answered."""


@pytest.mark.parametrize("policy", ["hidden", "hold", "after"])
@pytest.mark.parametrize("name", STREAMS)
def test_all_that_is_streamed_is_checked_or_ends_by_on_error(
    served: Served, upstream: Upstream, name: str, policy: str
) -> None:
    path, asked, events = STREAMS[name]
    before = len(served.told)
    upstream.says(to_main(stream_of(*events)))
    body = {**ASKED[path], **asked, "stream": True}
    given = ask(served, body, f"x-resay-policy: {policy}", *NAMED, target=path)
    assert given.status == 200
    (seen,) = served.seen(before + 1)[before:]
    assert seen.answers
    assert (SECRET.encode() in given.body) == (policy != "hidden")
    assert (seen.action == "block") == (policy == "hidden")
    if policy != "hidden":
        assert seen.verdict is not None
        assert seen.verdict.decision != "consistent"


NOTED = {"annotations": [{"title": WORDS}], "provider_specific_fields": {"note": WORDS}}
TOLD: Mapping[str, tuple[str, Any]] = {
    "fields beside the text": (CHAT, chat({**FINE_CHOICE, "note": WORDS}, note=WORDS)),
    "annotations of no text": (CHAT, chat(choice(message={"content": None, **NOTED}))),
    "fields beside a call": (CHAT, chat(choice(message={"content": None, "note": WORDS, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}))),
    "a search": (CHAT, chat(choice(message={"content": ""}), search_results=[{"title": WORDS}])),
    "fields beside a message": (MESSAGES, {**message(block("It is of steel.")), "note": WORDS}),
    "why a message stopped": (MESSAGES, {**message(), "stop_details": {"explanation": WORDS}}),
    "fields beside an item": (RESPONSES, response(item(FINE), note=WORDS)),
}  # fmt: skip
"""Answers that can be read, with words that are none of them."""


@pytest.mark.parametrize("name", TOLD)
def test_what_others_add_to_an_answer_does_not_make_it_unreadable(
    served: Served, upstream: Upstream, name: str
) -> None:
    path, answer = TOLD[name]
    upstream.says(to_main(http_response(answer)))
    before = len(served.told)
    given = ask(served, ASKED[path], "x-resay-policy: after", *NAMED, target=path)
    (seen,) = served.seen(before + 1)[before:]
    assert seen.verdict is not None
    assert "cannot be read" not in seen.verdict.reason
    assert SECRET.encode() in given.body


@pytest.mark.parametrize("wanted", [1, 1.0, "true", "1", "sí", False, None])
@pytest.mark.parametrize("streams", [False, True])
def test_what_is_answered_says_whether_it_is_a_stream(
    served: Served, upstream: Upstream, wanted: Any, streams: bool
) -> None:
    answer = stream_of(piece(WORDS, 0, "stop"), END) if streams else http_response(chat(choice()))
    before = len(served.told)
    for policy in ("hidden", "after"):
        upstream.says(to_main(answer))
        given = ask(
            served,
            {**ASKED[CHAT], "stream": wanted},
            f"x-resay-policy: {policy}",
            *NAMED,
        )
        (kind,) = [value for name, value in given.headers if name == "content-type"]
        assert kind.startswith("text/event-stream" if streams else "application/json")
        assert (SECRET.encode() in given.body) == (policy == "after")
        before += 1
        assert served.seen(before)[-1].verdict
    lines = given.body.decode().split("\n\n") if streams else [f"data: {given.body.decode()}"]
    bodies = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert any(verdict_of(body) for body in bodies)
