"""Answers that fail or break off although their response has status 200."""
# ruff: noqa: E501 - tables

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from support.attacks import (
    ANSWER,
    CHAT,
    Answered,
    Received,
    Upstream,
    ask,
    http_response,
    stream_of,
)
from support.events import DONE, event, typed
from support.gateway import ASKED, POLICY, Gateways, Served

SECRET = "Zorblatt"
WORDS = "The bridge is overloaded; try again at noon."
TEXT = "/v1/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
UNCACHED = POLICY + "cache: {store: none}\n"
BLOCK = UNCACHED + "action: {do: block}\nthreshold: {passage: 0.01, sentence: 0.01}\n"
STRICT = BLOCK + "on_error: block\non_unscored: block\n"
POLICIES = {
    f"{mode}_{name}": f"{text}stream_mode: {mode}\n"
    for mode in ("after", "hold", "buffer")
    for name, text in {"annotate": UNCACHED, "block": BLOCK, "strict": STRICT}.items()
}


def chunk(*choices: Any, **fields: Any) -> dict[str, Any]:
    known = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "simulated"}
    return {**known, "choices": [*choices], **fields}


def piece(content: str | None, reason: str | None = None, index: int = 0) -> dict[str, Any]:
    delta = {} if content is None else {"role": "assistant", "content": content}
    return {"index": index, "delta": delta, "finish_reason": reason}


def text_piece(content: str, reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "text": content, "finish_reason": reason}


FRAGMENT = f"The bridge is a {SECRET}. It was opened by {SECRET} in 1932, and"
MESSAGE: Mapping[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "simulated",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {},
}
RESPONSE = {"id": "r", "object": "response", "created_at": 1, "model": "simulated"}
PART: Mapping[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
ITEM: Mapping[str, Any] = {
    "id": "i",
    "type": "message",
    "role": "assistant",
    "content": [],
    "status": "in_progress",
}
PLACE = {"item_id": "i", "output_index": 0, "content_index": 0}
PARTIAL: Mapping[str, Any] = {**ITEM, "content": [{**PART, "text": FRAGMENT}]}
OPENINGS: Mapping[str, bytes] = {
    CHAT: event(chunk(piece(FRAGMENT))),
    TEXT: event(chunk(text_piece(FRAGMENT), object="text_completion")),
    MESSAGES: typed("message_start", message=MESSAGE)
    + typed("content_block_start", index=0, content_block={"type": "text", "text": ""})
    + typed("content_block_delta", index=0, delta={"type": "text_delta", "text": FRAGMENT}),
    RESPONSES: typed("response.created", response={**RESPONSE, "status": "in_progress"})
    + typed("response.output_item.added", output_index=0, item=ITEM)
    + typed("response.content_part.added", **PLACE, part=PART)
    + typed("response.output_text.delta", **PLACE, delta=FRAGMENT),
}
ERROR = {"message": WORDS, "code": 503}
FAILED = {**RESPONSE, "status": "failed", "error": {"code": "server_error", "message": WORDS}}
ERRORS: Mapping[str, tuple[str, bytes]] = {
    "an object": (CHAT, event({"error": ERROR})),
    "an object, and the end": (CHAT, event({"error": ERROR}) + DONE),
    "a text": (CHAT, event({"error": WORDS})),
    "with choices": (CHAT, event(chunk(piece(f"still {SECRET}", "error"), error=ERROR))),
    "with no choices": (CHAT, event(chunk(error=ERROR))),
    "in a choice": (CHAT, event(chunk({**piece("", "error"), "error": ERROR}))),
    "a reason": (CHAT, event({**chunk(piece("", "error")), "provider": WORDS})),
    "an event of the name": (CHAT, event({"message": WORDS}, "error")),
    "an event of the name with a text": (CHAT, event(WORDS, "error")),
    "of Anthropic": (CHAT, event({"type": "error", "error": {"type": "overloaded_error", **ERROR}})),
    "of a local server": (CHAT, event({"object": "error", "message": WORDS, "code": 500})),
    "of Google": (CHAT, event({"error": {"code": 503, "message": WORDS, "status": "UNAVAILABLE"}})),
    "of Google in a list": (CHAT, event(json.dumps([{"error": ERROR}]))),
    "of Amazon": (CHAT, event({"modelStreamErrorException": {"message": WORDS}})),
    "of Amazon by type": (CHAT, event({"__type": "ThrottlingException", "message": WORDS})),
    "of a framework": (CHAT, event({"detail": WORDS, "status": 500})),
    "of a text": (TEXT, event({"error": ERROR})),
    "of a text with choices": (TEXT, event(chunk(text_piece(SECRET, "error"), error=ERROR))),
    "overloaded": (MESSAGES, typed("error", error={"type": "overloaded_error", "message": WORDS})),
    "without a name": (MESSAGES, event({"type": "error", "error": {"message": WORDS}})),
    "in a message's stream": (MESSAGES, event({"error": ERROR})),
    "failed": (RESPONSES, typed("response.failed", response={**FAILED, "output": [PARTIAL]})),
    "an error of a response": (RESPONSES, typed("error", code="server_error", message=WORDS)),
    "another error of a response": (RESPONSES, event({"error": ERROR})),
}  # fmt: skip
"""The path, and the events with which a stream breaks off."""
NO_ERRORS = (b"content_filter", b"refusal", b'incomplete"', b"hallucination")


def to_stream(answer: bytes) -> Any:
    async def says(request: Received) -> AsyncIterator[bytes]:
        yield answer if request.json.get("stream") else http_response(ANSWER)

    return says


def asked(
    served: Served, upstream: Upstream, path: str, answer: bytes, policy: str, **changed: Any
) -> Answered:
    upstream.says(to_stream(answer))
    body = {**ASKED[path], "stream": True, **changed}
    return ask(served, body, f"x-resay-policy: {policy}", target=path)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ERRORS)
def test_an_answer_that_breaks_off_with_an_error_is_that_error(
    served: Served, upstream: Upstream, kind: str, policy: str
) -> None:
    path, error = ERRORS[kind]
    count = len(served.told)
    given = asked(served, upstream, path, stream_of(OPENINGS[path], error), policy)
    assert given.status == 200
    assert WORDS.encode() in given.body
    assert not any(words in given.body for words in NO_ERRORS)
    # What was passed on before is there, and what a policy may withhold is not.
    shown = policy.startswith("after") or policy.endswith("annotate")
    assert (SECRET.encode() in given.body) == shown
    seen = served.seen(count + 1)[-1]
    assert (seen.answers, seen.verdict, seen.action) == ((), None, None)


@pytest.mark.parametrize("policy", POLICIES)
def test_several_answers_that_break_off_are_an_error(
    served: Served, upstream: Upstream, policy: str
) -> None:
    begun = event(chunk(piece(FRAGMENT))) + event(chunk(piece(FRAGMENT, "stop", 1)))
    answer = stream_of(begun, event({"error": ERROR}))
    count = len(served.told)
    given = asked(served, upstream, CHAT, answer, policy, n=2)
    assert WORDS.encode() in given.body
    assert not any(words in given.body for words in NO_ERRORS)
    shown = policy.startswith("after") or policy.endswith("annotate")
    assert (SECRET.encode() in given.body) == shown
    assert served.seen(count + 1)[-1].answers == ()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", OPENINGS)
def test_a_stream_that_ends_before_its_last_event_is_an_error(
    served: Served, upstream: Upstream, path: str, policy: str
) -> None:
    count = len(served.told)
    given = asked(served, upstream, path, stream_of(OPENINGS[path]), policy)
    shown = policy.startswith("after") or policy.endswith("annotate")
    assert (given.status, SECRET.encode() in given.body) == (200 if shown else 502, shown)
    assert b"ended the stream before its last event" in given.body
    assert served.seen(count + 1)[-1].answers == ()


COMPLETE: Mapping[str, tuple[str, bytes]] = {
    "no last event": (CHAT, event(chunk(piece("It is of steel.", "stop")))),
    "no reason": (CHAT, event(chunk(piece("It is of steel."))) + DONE),
    "usage after the end": (CHAT, event(chunk(piece("It is.", "stop"))) + event(chunk(usage={"x": 1}))),
    "an error that is null": (CHAT, event(chunk(piece("It is.", "stop"), error=None)) + DONE),
    "an error after the end": (CHAT, event(chunk(piece("It is.", "stop"))) + DONE + event({"error": ERROR})),
    "a message without its last event": (
        MESSAGES,
        typed("message_start", message=MESSAGE)
        + typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
    ),
    "an answer cut at its limit": (
        RESPONSES,
        typed("response.incomplete", response={**RESPONSE, "status": "incomplete", "output": []}),
    ),
    "no text": (TEXT, event(chunk(text_piece("", "stop"), object="text_completion"))),
}  # fmt: skip


@pytest.mark.parametrize("policy", ["after_annotate", "hold_annotate", "buffer_annotate"])
@pytest.mark.parametrize("kind", COMPLETE)
def test_a_stream_that_ends_by_lenient_rules_is_an_answer(
    served: Served, upstream: Upstream, kind: str, policy: str
) -> None:
    path, events = COMPLETE[kind]
    count = len(served.told)
    given = asked(served, upstream, path, stream_of(events), policy)
    assert given.status == 200
    assert b"broke" not in given.body
    assert len(served.seen(count + 1)[-1].answers) == 1


BODIES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "an object": (CHAT, {"error": ERROR}),
    "with choices": (
        CHAT,
        {**ANSWER, "error": ERROR, "choices": [{"index": 0, "message": {"content": SECRET}}]},
    ),
    "in a choice": (
        CHAT,
        {
            **ANSWER,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": SECRET},
                    "finish_reason": "error",
                    "error": ERROR,
                }
            ],
        },
    ),
    "of a message": (MESSAGES, {"type": "error", "error": {"type": "api_error", **ERROR}}),
    "of a response": (RESPONSES, {**FAILED, "output": [PARTIAL]}),
    "of a text": (TEXT, {"error": {"message": WORDS}, "choices": [{"index": 0, "text": SECRET}]}),
}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("policy", ["buffer_annotate", "buffer_block", "buffer_strict"])
@pytest.mark.parametrize("kind", BODIES)
def test_a_whole_answer_that_is_an_error_is_that_error(
    served: Served, upstream: Upstream, kind: str, policy: str, streams: bool
) -> None:
    path, body = BODIES[kind]
    count = len(served.told)
    upstream.says(http_response(body))
    asked = {**ASKED[path], "stream": streams}
    given = ask(served, asked, f"x-resay-policy: {policy}", target=path)
    assert given.status == 200
    assert WORDS in str(json.loads(given.body))
    assert b"hallucination" not in given.body
    assert (SECRET.encode() in given.body) == (
        policy.endswith("annotate") and SECRET in json.dumps(body)
    )
    assert served.seen(count + 1)[-1].answers == ()


QUOTED: Mapping[str, Any] = {
    "a message": {"message": f"rejected: '{FRAGMENT}'"},
    "a part": {"message": f"stopped after It was opened by {SECRET}, sorry", "code": 500},
    "a field for it": {"message": "no JSON", "failed_generation": f"by {SECRET}"},
    "a field deep inside": {"message": "no", "details": [{"raw": {"output": [SECRET]}}]},
}


@pytest.mark.parametrize("path", OPENINGS)
@pytest.mark.parametrize("kind", QUOTED)
def test_an_error_that_quotes_the_answer_does_not_show_it(
    served: Served, upstream: Upstream, kind: str, path: str
) -> None:
    error = {"type": "server_error", "code": 503, **QUOTED[kind]}
    answer = stream_of(OPENINGS[path], event({"type": "error", "error": error}))
    for policy in ("hold_strict", "buffer_block"):
        given = asked(served, upstream, path, answer, policy)
        assert SECRET.encode() not in given.body
        assert b"server_error" in given.body
    shown = asked(served, upstream, path, answer, "hold_annotate")
    assert json.dumps(QUOTED[kind]["message"]).encode() in shown.body


@pytest.mark.parametrize("streams", [False, True])
def test_an_error_with_a_status_of_its_own_does_not_show_what_was_written(
    served: Served, upstream: Upstream, streams: bool
) -> None:
    error = {"message": WORDS, "code": "json_validate_failed", "failed_generation": SECRET}
    upstream.says(http_response({"error": error, "extra": 1}, status="400 Bad Request"))
    body = {**ASKED[CHAT], "stream": streams}
    strict = ask(served, body, "x-resay-policy: hold_strict", target=CHAT)
    assert strict.status == 400
    without = {name: value for name, value in error.items() if name != "failed_generation"}
    assert json.loads(strict.body) == {"error": without, "extra": 1}
    annotated = ask(served, body, "x-resay-policy: hold_annotate", target=CHAT)
    assert json.loads(annotated.body)["error"] == error


def test_no_error_is_in_the_journal_and_each_is_counted(gateways: Gateways) -> None:
    url = f"sqlite:///{gateways.folder / 'journal.db'}"
    with Upstream() as upstream:
        served = gateways.start(BLOCK, upstream={"url": upstream.root_url}, journal={"url": url})
        upstream.says(to_stream(stream_of(OPENINGS[CHAT], event({"error": ERROR}))))
        for _ in range(2):
            ask(served, {**ASKED[CHAT], "stream": True})
        upstream.says(to_stream(stream_of(event(chunk(piece("It is of steel.", "stop"))), DONE)))
        ask(served, {**ASKED[CHAT], "stream": True})
        served.seen(3)
        metrics = httpx.get(f"{served.url}/metrics").text
        gateways.stop()
    assert 'resay_gateway_errors_total{code="upstream_failed"} 2.0' in metrics
    with sqlite3.connect(gateways.folder / "journal.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM resay_journal_entries").fetchone()
    assert count == 1
