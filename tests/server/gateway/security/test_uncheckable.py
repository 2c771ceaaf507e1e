"""Requests whose answers cannot be checked: no field of a request turns the check off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.attacks import ANSWER, Answered, Upstream, ask, http_response, stream_of
from support.gateway import MESSAGES, Gateways, Served

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RESPONSES, ANTHROPIC = "/v1/responses", "/v1/messages"
SECRET = "The bridge is of steel."
CHAIN = "chain: [{method: ngram}]\nsampling: {max: 3}\ncache: {store: none}\n"
BLOCKS = CHAIN + "action: {do: block}\n"
STRICT = BLOCKS + "on_error: block\non_unscored: block\n"
TOKENS = [{"token": word, "logprob": -0.01} for word in ("The", " bridge", " is", " of", " steel.")]
FUNCTION = {"type": "function", "function": {"name": "look_up"}}


def chat(**told: Any) -> tuple[str, dict[str, Any]]:
    return CHAT, {"model": "m", "messages": MESSAGES, **told}


def completions(**told: Any) -> tuple[str, dict[str, Any]]:
    return COMPLETIONS, {"model": "m", **told}


def responses(**told: Any) -> tuple[str, dict[str, Any]]:
    return RESPONSES, {"model": "m", "input": "Who built it?", **told}


def messages(**told: Any) -> tuple[str, dict[str, Any]]:
    return ANTHROPIC, {"model": "m", "max_tokens": 9, "messages": MESSAGES, **told}


REQUESTS: list[tuple[str, tuple[str, dict[str, Any]]]] = [
    *((name, chat(**{name: "x"})) for name in ("container", "thread", "thread_id")),
    *((name, chat(**{name: {"id": "x"}})) for name in ("conversation", "previous_response_id")),
    ("container", chat(container="x", stream=True)),
    ("container", chat(container="x", n=3)),
    ("container", chat(container="x", response_format={"type": "json_object"})),
    ("web_search_options", chat(web_search_options={"search_context_size": "low"})),
    ("web_search_options", chat(web_search_options={})),
    ("tools", chat(tools=[{"type": "web_search"}])),
    ("tools", chat(tools=[FUNCTION, {"type": "what_nobody_knows"}])),
    ("tools", chat(tools=[{"googleSearch": {}}])),
    ("tools", chat(tools=[FUNCTION, {"google_search": {}}], stream=True)),
    ("tools", chat(tools=["web_search"])),
    ("tools", chat(tools={"type": "web_search"})),
    ("echo", completions(prompt="Hi", echo=True)),
    ("echo", completions(prompt=["Hi"], echo=1, stream=True)),
    ("prompt", completions(prompt=["Hi", "You"])),
    ("prompt", completions(prompt=[1, 2, 3])),
    ("prompt", completions(prompt=[[1, 2, 3]])),
    ("prompt", completions(prompt={"text": "Hi"})),
    ("prompt", completions(prompt=[])),
    ("prompt", completions()),
    ("conversation", responses(conversation="conv_1")),
    ("conversation", responses(conversation={"id": "conv_1"}, background=True)),
    ("tools", responses(tools=[{"type": "web_search"}])),
    ("tools", responses(tools=[{"type": "mcp", "server_label": "x"}], stream=True)),
    ("tools", responses(tools=[{"type": "what_nobody_knows"}])),
    ("tools", responses(tools=[{"type": "namespace", "tools": [{"type": "mcp"}]}])),
    (
        "tools",
        responses(
            tools=[
                {"type": "namespace", "tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}
            ]
        ),
    ),
    ("container", messages(container="c")),
    ("thread", messages(thread={"id": "t"})),
    ("mcp_servers", messages(mcp_servers=[{"url": "https://mcp.example"}])),
    ("tools", messages(tools=[{"type": "web_search_20250305", "name": "web_search"}])),
    ("tools", messages(tools=[{"type": "what_nobody_knows", "name": "x"}], stream=True)),
]
IDS = [f"{path[4:]}-{field}-{i}" for i, (field, (path, _)) in enumerate(REQUESTS)]


def response_for(path: str) -> bytes:
    part = {"type": "output_text", "text": SECRET, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
    bodies: dict[str, Any] = {
        CHAT: ANSWER,
        COMPLETIONS: {"id": "c", "choices": [{"index": 0, "text": SECRET}]},
        RESPONSES: {"id": "resp_1", "status": "completed", "output": [item]},
        ANTHROPIC: {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": SECRET}],
        },
    }
    return http_response(bodies[path])


def asked(served: Served, upstream: Upstream, path: str, body: Any) -> Answered:
    upstream.says(response_for(path))
    return ask(served, body, target=path)


@pytest.fixture(scope="module")
def gateway(starter: Gateways) -> Iterator[dict[str, Served]]:
    return {
        "strict": starter.start(STRICT),
        "blocks": starter.start(BLOCKS),
        "annotates": starter.start(CHAIN),
        "errors": starter.start(CHAIN + "on_error: block\n"),
        "unscored": starter.start(CHAIN + "on_unscored: block\n"),
        "sends": starter.start(STRICT + "on_uncheckable: inconclusive\n"),
        "marks": starter.start(CHAIN + "on_uncheckable: inconclusive\n"),
        "skips": starter.start(STRICT + "on_uncheckable: skip\n"),
        "refuses": starter.start(CHAIN + "on_uncheckable: refuse\n"),
    }


@pytest.mark.parametrize(("field", "request_"), REQUESTS, ids=IDS)
def test_no_field_turns_the_check_off(
    gateway: dict[str, Served], upstream: Upstream, field: str, request_: tuple[str, Any]
) -> None:
    for name in ("strict", "blocks", "errors", "unscored", "refuses"):
        answer = asked(gateway[name], upstream, *request_)
        assert answer.status == 400, name
        assert answer.error["param"] == field
        assert repr(field) in answer.error["message"]
        assert "`on_uncheckable`" in answer.error["message"]
        # Nothing was paid for.
        assert not upstream.received


@pytest.mark.parametrize(("field", "request_"), REQUESTS, ids=IDS)
def test_what_is_sent_all_the_same_is_unscored(
    gateway: dict[str, Served], upstream: Upstream, field: str, request_: tuple[str, Any]
) -> None:
    del field
    answer = asked(gateway["sends"], upstream, *request_)
    assert answer.header("x-resay-action") == "block"
    assert SECRET.encode() not in answer.data
    # It is not asked again, whatever the policy would else draw.
    assert len(upstream.received) == 1
    marked = asked(gateway["marks"], upstream, *request_)
    assert marked.header("x-resay-decision") == "inconclusive"
    assert marked.header("x-resay-action") == "annotate"
    verdict = json.loads(marked.body)["hallucination"]
    assert [piece["text"] for piece in verdict["unscored"]] == [SECRET]
    assert len(upstream.received) == 1


@pytest.mark.parametrize(("field", "request_"), REQUESTS, ids=IDS)
def test_a_policy_that_withholds_nothing_says_that_it_skips(
    gateway: dict[str, Served], upstream: Upstream, field: str, request_: tuple[str, Any]
) -> None:
    del field
    for name in ("annotates", "skips"):
        answer = asked(gateway[name], upstream, *request_)
        assert answer.header("x-resay-decision") == "skipped"
        assert SECRET.encode() in answer.data
        assert json.loads(answer.body)["hallucination"]["reason"]
        assert len(upstream.received) == 1


def streamed(*texts: str) -> bytes:
    pieces = [{"index": i, "delta": {"content": text}} for i, text in enumerate(texts)]
    ends = [{"index": i, "delta": {}, "finish_reason": "stop"} for i in range(len(texts))]
    events = [
        f"data: {json.dumps({'id': 'c', 'choices': [piece]})}\n\n".encode()
        for piece in (*pieces, *ends)
    ]
    return stream_of(*events, b"data: [DONE]\n\n")


@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
@pytest.mark.parametrize("texts", [(SECRET,), (SECRET, SECRET)])
def test_a_stream_that_cannot_be_checked_ends_in_the_same_way(
    starter: Gateways, upstream: Upstream, mode: str, texts: tuple[str, ...]
) -> None:
    body = {**chat(container="c", n=len(texts))[1], "stream": True}
    wanted = {
        STRICT + "on_uncheckable: inconclusive\n": "inconclusive",
        CHAIN + "on_uncheckable: inconclusive\n": "inconclusive",
        CHAIN: "skipped",
    }
    for policy, decision in wanted.items():
        served = starter.start(f"{policy}stream_mode: {mode}\n")
        upstream.says(streamed(*texts))
        answer = ask(served, body, target=CHAT)
        assert f'"decision": "{decision}"'.encode() in answer.body
        assert len(upstream.received) == 1
        # What was shown at once cannot be taken back.
        withheld = policy.startswith(STRICT) and mode != "after"
        assert (SECRET.encode() in answer.body) == (not withheld)
    refusing = starter.start(f"{STRICT}stream_mode: {mode}\n")
    assert ask(refusing, body, target=CHAT).status == 400


def with_tokens(logprob: float) -> bytes:
    tokens = [{**token, "logprob": logprob} for token in TOKENS]
    (choice,) = ANSWER["choices"]
    return http_response({**ANSWER, "choices": [{**choice, "logprobs": {"content": tokens}}]})


@pytest.mark.parametrize(("logprob", "action"), [(-0.01, "allow"), (-9.0, "block")])
def test_what_needs_no_samples_checks_the_answer(
    starter: Gateways, upstream: Upstream, logprob: float, action: str
) -> None:
    policy = STRICT.replace("{method: ngram}", "{method: ngram}, {method: logprobs}")
    served = starter.start(policy)
    upstream.says(with_tokens(logprob))
    answer = ask(served, chat(thread_id="t")[1], target=CHAT)
    assert answer.header("x-resay-action") == action
    assert len(upstream.received) == 1
    assert (SECRET.encode() in answer.data) == (action == "allow")
    verdict = json.loads(answer.body)["hallucination"]
    assert verdict["decision"] == ("consistent" if action == "allow" else "flagged")
    assert "without samples" in verdict["reason"]


@pytest.mark.parametrize(("text", "action"), [(SECRET, "allow"), ("It opened in 1932.", "block")])
def test_references_check_the_answer(
    starter: Gateways, upstream: Upstream, text: str, action: str
) -> None:
    served = starter.start(STRICT + "references: {by: words, unmentioned: flag}\n")
    own = {"references": [f"{text} It carries a road."]}
    answer = asked(served, upstream, *chat(container="c", resay=own))
    assert answer.header("x-resay-action") == action
    assert len(upstream.received) == 1


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("given", {"resay": {"references": [f"{SECRET} It carries a road."]}}),
        ("documents", {"documents": [{"text": f"{SECRET} It carries a road."}]}),
    ],
)
def test_the_policy_decides_whether_clients_bring_references(
    starter: Gateways, upstream: Upstream, place: str, field: dict[str, Any]
) -> None:
    words = "by: words, unmentioned: flag"
    open_ = starter.start(STRICT + f"references: {{from: [{place}], {words}}}\n")
    answer = asked(open_, upstream, *chat(**field))
    assert answer.header("x-resay-action") == "allow"
    assert json.loads(answer.body)["hallucination"]["references"]
    closed = starter.start(STRICT + f"references: {{from: [tools, retriever], {words}}}\n")
    asked(closed, upstream, *chat(**field))
    # It is compared with samples, which it has to ask for.
    assert len(upstream.received) > 1
    (observation,) = closed.seen(1)
    assert observation.verdict is not None
    assert not observation.verdict.references
    refused = asked(closed, upstream, *chat(container="c", **field))
    assert (refused.status, refused.error["param"]) == (400, "container")


def test_a_missing_question_does_not_turn_the_check_off(
    starter: Gateways, upstream: Upstream
) -> None:
    served = starter.start(STRICT.replace("ngram", "p_true"))
    system = [{"role": "system", "content": "Tell me about the bridge."}]
    answer = asked(served, upstream, CHAT, {"model": "m", "messages": system})
    assert answer.status == 400
    assert not upstream.received


def test_nor_does_an_api_without_probabilities(starter: Gateways, upstream: Upstream) -> None:
    served = starter.start(STRICT.replace("ngram", "logprobs"))
    answer = asked(served, upstream, *messages())
    assert answer.status == 400
    assert not upstream.received


def test_what_the_policy_does_not_check_is_not_refused(
    starter: Gateways, upstream: Upstream
) -> None:
    served = starter.start(BLOCKS + "when: {roles: [tool]}\n")
    assert asked(served, upstream, *chat(container="c")).status == 200
