"""Streams that are released sentence by sentence."""
# ruff: noqa: E501 - tables

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anthropic
import pytest

from support.attacks import (
    ANSWER,
    CHAT,
    LONGEST_S,
    Received,
    Upstream,
    ask,
    http_response,
    posting,
    stream_of,
)
from support.events import DONE, event, typed
from support.gateway import ASKED, POLICY, Served

TEXT = "/v1/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
UNCACHED = POLICY + "cache: {store: none}\n"
PASSING = "threshold: {passage: 1, sentence: 1}\n"
POLICIES = {
    "hold_annotate": UNCACHED + "stream_mode: hold\n",
    "hold_passing": UNCACHED + PASSING + "stream_mode: hold\naction: {do: block}\n",
    "hold_block": UNCACHED + "stream_mode: hold\naction: {do: block}\n",
    "hold_strict": UNCACHED + "stream_mode: hold\naction: {do: block}\non_error: block\n",
    "buffer_strict": UNCACHED + "stream_mode: buffer\naction: {do: block}\non_error: block\n",
}
FIRST = "The bridge opened in 1932. "
SECOND = "The bridge opened in spring. "
SAMPLE_TEXT = FIRST + SECOND + "It is of steel."


def piece(delta: Mapping[str, Any], reason: str | None = None, **fields: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, **fields}
    known = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "simulated"}
    return event({**known, "choices": [choice]})


def text_piece(text: str, reason: str | None = None, **fields: Any) -> bytes:
    choice = {"index": 0, "text": text, "finish_reason": reason, **fields}
    return event({"id": "c", "object": "text_completion", "choices": [choice]})


def sample_of(path: str, number: int) -> dict[str, Any]:
    said = f"{SAMPLE_TEXT} So say {number} people."
    if path == MESSAGES:
        message = {"id": "m", "type": "message", "role": "assistant", "model": "simulated"}
        return {**message, "content": [{"type": "text", "text": said}], "stop_reason": "end_turn"}
    if path == RESPONSES:
        part = {"type": "output_text", "text": said, "annotations": []}
        item = {"type": "message", "role": "assistant", "content": [part]}
        return {"id": "r", "object": "response", "status": "completed", "output": [item]}
    message = {"role": "assistant", "content": said}
    return {**ANSWER, "choices": [{"index": 0, "message": message, "text": said}]}


def to_stream(path: str, *events: bytes) -> Any:
    count = iter(range(1000))

    async def says(request: Received) -> AsyncIterator[bytes]:
        if request.json.get("stream"):
            yield stream_of(*events)
        else:
            yield http_response(sample_of(path, next(count)))

    return says


def events_of(served: Served, path: str, policy: str) -> list[Any]:
    count = len(served.told)
    given = ask(served, {**ASKED[path], "stream": True}, f"x-resay-policy: {policy}", target=path)
    assert given.status == 200
    served.seen(count + 1)
    lines = given.body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def cited(title: str) -> dict[str, Any]:
    return {"type": "char_location", "cited_text": title, "document_title": title}


def block(index: int, *deltas: Mapping[str, Any], **begun: Any) -> list[bytes]:
    start = {"type": "text", "text": "", **begun}
    return [
        typed("content_block_start", index=index, content_block=start),
        *(typed("content_block_delta", index=index, delta=delta) for delta in deltas),
        typed("content_block_stop", index=index),
    ]


def said(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def note(title: str) -> dict[str, Any]:
    return {"type": "citations_delta", "citation": cited(title)}


MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "simulated", "content": []}
OF_MESSAGE = [
    typed("message_start", message={**MESSAGE, "usage": {"input_tokens": 5, "output_tokens": 1}}),
    *block(0, said("Hear: ")),
    *block(1, said("The bridge opened"), note("A"), said(" in 1932. The"), citations=[]),
    *block(2, note("B"), said(" bridge opened in spring. "), note("C"), citations=[]),
    *block(3, said("It is of steel.")),
    typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 9}),
    typed("message_stop"),
]


@pytest.mark.parametrize("policy", ["hold_annotate", "hold_passing"])
def test_citations_stay_with_their_text(served: Served, upstream: Upstream, policy: str) -> None:
    upstream.says(to_stream(MESSAGES, *OF_MESSAGE))
    client = anthropic.Anthropic(
        base_url=served.url, api_key="x", default_headers={"x-resay-policy": policy}
    )
    count = len(served.told)
    with client, client.messages.stream(**ASKED[MESSAGES]) as stream:
        blocks = stream.get_final_message().content
    served.seen(count + 1)
    texts = [(b.text, [c.cited_text for c in b.citations or ()]) for b in blocks]  # pyright: ignore
    assert texts == [
        ("Hear: ", []),
        ("The bridge opened in 1932. The", ["A"]),
        (" bridge opened in spring. ", ["B", "C"]),
        ("It is of steel.", []),
    ]


PARTS = [
    {"type": "text", "text": "The bridge opened in 1932. The"},
    {"type": "reference", "reference_ids": [1]},
    {"type": "text", "text": " bridge opened in spring."},
    {"type": "reference", "reference_ids": [2, 3]},
]


@pytest.mark.parametrize("policy", ["hold_annotate", "hold_passing"])
@pytest.mark.parametrize("together", [True, False])
def test_references_stay_with_their_text(
    served: Served, upstream: Upstream, policy: str, together: bool
) -> None:
    contents = [PARTS] if together else [[part] for part in PARTS]
    pieces = [piece({"content": content}) for content in contents]
    last = piece({"content": " It is of steel."}), piece({}, "stop"), DONE
    upstream.says(to_stream(CHAT, piece({"role": "assistant", "content": ""}), *pieces, *last))
    parts: list[Any] = []
    for given in events_of(served, CHAT, policy):
        content = given["choices"][0]["delta"].get("content") or []
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    words: list[Any] = []
    for part in parts:
        if words and isinstance(words[-1], str) and part["type"] == "text":
            words[-1] += part["text"]
        else:
            words.append(part["text"] if part["type"] == "text" else part["reference_ids"])
    assert words == [
        "The bridge opened in 1932. The",
        [1],
        " bridge opened in spring.",
        [2, 3],
        " It is of steel.",
    ]


def of_item(index: int, text: str, title: str) -> list[bytes]:
    place = {"item_id": f"i{index}", "output_index": index, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"id": f"i{index}", "type": "message", "role": "assistant", "content": []}
    annotation = {"type": "url_citation", "title": title, "start_index": 0, "end_index": 9}
    whole = {**part, "text": text, "annotations": [annotation]}
    output = "response.output_text"
    return [
        typed("response.output_item.added", output_index=index, item=item),
        typed("response.content_part.added", **place, part=part),
        typed(f"{output}.delta", **place, delta=text[:5]),
        typed(f"{output}.delta", **place, delta=text[5:]),
        typed(f"{output}.annotation.added", **place, annotation_index=0, annotation=annotation),
        typed(f"{output}.done", **place, text=text),
        typed("response.content_part.done", **place, part=whole),
        typed("response.output_item.done", output_index=index, item={**item, "content": [whole]}),
    ]


@pytest.mark.parametrize("policy", ["hold_annotate", "hold_passing"])
def test_items_and_their_annotations_stay_in_order(
    served: Served, upstream: Upstream, policy: str
) -> None:
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []}
    texts = [FIRST, SECOND, "It is of steel."]
    items = [event for i, text in enumerate(texts) for event in of_item(i, text, f"T{i}")]
    begun = typed("response.created", response={**response, "status": "in_progress"})
    ended = typed("response.completed", response={**response, "status": "completed"})
    upstream.says(to_stream(RESPONSES, begun, *items, ended))
    given = events_of(served, RESPONSES, policy)
    deltas = ["", "", ""]
    for sent in given:
        if sent["type"] == "response.output_text.delta":
            deltas[sent["output_index"]] += sent["delta"]
        if sent["type"] == "response.output_text.annotation.added":
            # After its own text.
            assert deltas[sent["output_index"]] == texts[sent["output_index"]]
    assert deltas == texts


def test_nothing_beside_the_text_tells_what_is_withheld(served: Served, upstream: Upstream) -> None:
    secret = [4711, 815]
    events = [
        text_piece("", prompt_token_ids=[9], token_ids=secret),
        text_piece("The bridge opened in 1932. It is a Zorb", token_ids=secret, words="Zorblatt"),
        text_piece("latt. It is of steel.", token_ids=secret),
        text_piece("", "stop"),
        DONE,
    ]
    for policy in POLICIES:
        upstream.says(to_stream(TEXT, *events))
        given = str(events_of(served, TEXT, policy))
        passes = policy in ("hold_annotate", "hold_passing")
        assert ("Zorblatt" in given, "4711" in given) == (passes, passes)
        if policy.startswith("hold"):
            assert "The bridge opened in 1932." in given


def test_the_same_of_chat(served: Served, upstream: Upstream) -> None:
    secret = {"token_ids": [4711]}
    events = [
        piece({"role": "assistant", "content": ""}, **secret),
        piece({"content": "The bridge opened in 1932. It is a Zorb"}, **secret),
        piece({"content": "latt. It is of steel."}, **secret),
        piece({}, "stop"),
        DONE,
    ]
    for policy in POLICIES:
        upstream.says(to_stream(CHAT, *events))
        given = str(events_of(served, CHAT, policy))
        assert ("4711" in given) == (policy in ("hold_annotate", "hold_passing"))


WORDLESS: Mapping[str, tuple[str, list[bytes]]] = {
    "a refusal": (CHAT, [piece({"refusal": "I'm sorry, but I can't help"}), piece({"refusal": " with that."})]),
    "reasoning": (CHAT, [piece({"reasoning_content": "Hm, the bridge opened in 1999."})]),
    "nothing": (CHAT, [piece({"role": "assistant", "content": ""})]),
    "blanks": (CHAT, [piece({"content": "\n"}), piece({"content": "  "})]),
    "no text": (TEXT, [text_piece("")]),
    "thinking": (
        MESSAGES,
        [
            typed("message_start", message={**MESSAGE, "usage": {}}),
            typed("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
            typed("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}),
            typed("content_block_stop", index=0),
        ],
    ),
}  # fmt: skip
LAST = {
    CHAT: [piece({}, "stop"), DONE],
    TEXT: [text_piece("", "stop"), DONE],
    MESSAGES: [
        typed("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
        typed("message_stop"),
    ],
}


@pytest.mark.parametrize("policy", ["hold_strict", "buffer_strict"])
@pytest.mark.parametrize("kind", WORDLESS)
def test_an_answer_that_claims_nothing_is_skipped(
    served: Served, upstream: Upstream, kind: str, policy: str
) -> None:
    path, events = WORDLESS[kind]
    upstream.says(to_stream(path, *events, *LAST[path]))
    given = str(events_of(served, path, policy))
    seen = served.told[-1]
    assert seen.verdict is not None
    assert (seen.verdict.decision, seen.action) == ("skipped", "allow")
    assert "content_filter" not in given


def test_what_needs_no_check_does_not_wait_for_one(served: Served, upstream: Upstream) -> None:
    checked = asyncio.Event()

    async def says(request: Received) -> AsyncIterator[bytes]:
        if request.json.get("stream"):
            begun = piece({"role": "assistant", "content": ""})
            yield stream_of(begun, piece({"content": SAMPLE_TEXT}), *LAST[CHAT])
        else:
            await checked.wait()
            yield http_response(sample_of(CHAT, 1))

    upstream.says(says)
    count = len(served.told)
    body = json.dumps({**ASKED[CHAT], "stream": True}).encode()
    with served.connected() as connection:
        connection.settimeout(LONGEST_S)
        connection.sendall(posting(CHAT, body, "x-resay-policy: hold_annotate"))
        received = b""
        while b'"assistant"' not in received:
            received += connection.recv(65536)
        assert b"1932" not in received
        upstream.do_soon(checked.set)
        while data := connection.recv(65536):
            received += data
    assert b"1932" in received
    served.seen(count + 1)
