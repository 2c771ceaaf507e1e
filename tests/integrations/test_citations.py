"""What providers found for an answer, and the citations that they attach to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from anthropic import Anthropic

from resay import Verdict
from resay_anthropic import guard_client
from resay_anthropic import verdict_of as anthropic_verdict
from resay_openai import GuardedOpenAI, verdict_of
from support.attacks import Received, Upstream, http_response, stream_of

pytestmark = pytest.mark.anyio

BRIDGE = "The Garmo bridge opened in 1932."
TUNNEL = "The Silo tunnel opened in 1950."
QUESTION = "When did the Garmo bridge open?"
POLICY: dict[str, Any] = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}
SEARCH = {"type": "file_search", "vector_store_ids": ["vs_1"]}
RESULTS = ["file_search_call.results"]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


def result(name: str, text: str) -> dict[str, Any]:
    return {"file_id": f"file-{name}", "filename": f"{name}.md", "score": 0.9, "text": text}


def cites(name: str, index: int) -> dict[str, Any]:
    known = {"file_id": f"file-{name}", "filename": f"{name}.md"}
    return {"type": "file_citation", "index": index, **known}


def response(text: str, *annotations: Any, results: Any = None) -> dict[str, Any]:
    found = {"type": "file_search_call", "id": "fs_1", "queries": [], "status": "completed"}
    part = {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [{**found, "results": results}, {**message, "content": [part]}],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }


FOUND = [result("garmo", BRIDGE), result("silo", TUNNEL)]


class Answering:
    """Gives the same answer to each request, and counts them."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self.requests = 0

    async def __call__(self, request: Received) -> AsyncIterator[bytes]:
        self.requests += 1
        for piece in self.pieces:
            yield piece


def searched(
    upstream: Upstream, answer: dict[str, Any], question: str = QUESTION, **asked: Any
) -> tuple[Verdict, int]:
    answering = Answering(http_response(answer, "Connection: close"))
    upstream.says(answering)
    given = {"tools": [SEARCH], "include": RESULTS, **asked}
    with GuardedOpenAI(policy=POLICY, base_url=upstream.root_url, api_key="k") as client:
        made = client.responses.create(model="m", input=question, **given)
    verdict = verdict_of(made)
    assert verdict is not None
    return verdict, answering.requests


def test_what_a_file_search_found_is_what_the_answer_is_held_against(upstream: Upstream) -> None:
    verdict, requests = searched(upstream, response(BRIDGE, results=FOUND))
    assert (verdict.decision, verdict.samples, requests) == ("consistent", 0, 1)
    assert [(r.source, r.origin, r.id) for r in verdict.references] == [
        ("output[0].results[0]", "documents", "file-garmo"),
        ("output[0].results[1]", "documents", "file-silo"),
    ]
    wrong, _ = searched(upstream, response(BRIDGE.replace("1932", "1950"), results=FOUND))
    assert wrong.flagged


@pytest.mark.parametrize(
    ("asked", "results"),
    [
        ({"include": []}, None),
        ({}, None),
        ({}, []),
        ({"tools": [SEARCH, {"type": "web_search"}]}, FOUND),
    ],
)
def test_without_results_nothing_is_searched_again(
    upstream: Upstream, asked: dict[str, Any], results: Any
) -> None:
    verdict, requests = searched(upstream, response(BRIDGE, results=results), **asked)
    assert verdict.skipped
    assert "run its tools once more" in verdict.reason
    assert requests == 1


def test_a_citation_of_a_file_is_checked(upstream: Upstream) -> None:
    end = len(BRIDGE)
    right, _ = searched(upstream, response(BRIDGE, cites("garmo", end), results=FOUND))
    both = response(BRIDGE, cites("silo", end), cites("garmo", end), results=FOUND)
    assert (right.decision, searched(upstream, both)[0].decision) == ("consistent",) * 2
    wrong, _ = searched(upstream, response(BRIDGE, cites("silo", end), results=FOUND))
    assert wrong.flagged
    assert wrong.claims[0].reason == (
        "it cites silo.md, which does not support it; reference 1 supports it"
    )
    invented, _ = searched(upstream, response(BRIDGE, cites("other", end), results=FOUND))
    assert invented.claims[0].reason == "it cites other.md, which does not exist"


def test_a_citation_belongs_to_the_sentence_before_it(upstream: Upstream) -> None:
    text = f"{BRIDGE} {TUNNEL}"
    found = response(text, cites("garmo", len(BRIDGE)), cites("garmo", len(text)), results=FOUND)
    verdict, _ = searched(upstream, found, question="When did they open?")
    first, second = verdict.claims
    assert not first.flagged
    assert second.reason == "it cites garmo.md, which does not support it; reference 2 supports it"


def test_a_stream_is_held_against_what_was_found_too(upstream: Upstream) -> None:
    answer = response(BRIDGE, cites("silo", len(BRIDGE)), results=FOUND)

    def event(kind: str, **data: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()

    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    pieces = (
        event("response.created", response={**answer, "status": "in_progress", "output": []}),
        event("response.output_text.delta", delta=BRIDGE, **place),
        event("response.completed", response=answer),
    )
    upstream.says(Answering(stream_of(*pieces)))
    with GuardedOpenAI(policy=POLICY, base_url=upstream.root_url, api_key="k") as client:
        stream = client.responses.create(
            model="m", input=QUESTION, tools=[SEARCH], include=RESULTS, stream=True
        )
        (verdict,) = [found for event in stream if (found := verdict_of(event)) is not None]
    assert verdict.flagged
    assert "cites silo.md" in (verdict.claims[0].reason or "")


# Anthropic's documents


def document(title: str, text: str) -> dict[str, Any]:
    source = {"type": "text", "media_type": "text/plain", "data": text}
    return {"type": "document", "title": title, "source": source, "citations": {"enabled": True}}


def quotes(title: str, text: str) -> dict[str, Any]:
    place = {"document_index": 0, "start_char_index": 0, "end_char_index": len(text)}
    return {"type": "char_location", "document_title": title, "cited_text": text, **place}


def cited(upstream: Upstream, *blocks: tuple[str, list[Any]]) -> Verdict:
    content = [{"type": "text", "text": text, "citations": found} for text, found in blocks]
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
    ended = {"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    upstream.says(Answering(http_response({**answer, **ended}, "Connection: close")))
    scan = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    asked: list[Any] = [
        document("Garmo", BRIDGE),
        document("Silo", TUNNEL),
        {"type": "document", "title": "Scan", "source": scan},
        {"type": "text", "text": QUESTION},
    ]
    with Anthropic(base_url=upstream.root_url, api_key="k") as client:
        message = guard_client(client, POLICY).messages.create(
            model="m", max_tokens=90, messages=[{"role": "user", "content": asked}]
        )
    verdict = anthropic_verdict(message)
    assert verdict is not None
    return verdict


def test_a_citation_of_a_document_is_checked_by_what_it_quotes(upstream: Upstream) -> None:
    assert cited(upstream, (BRIDGE, [quotes("Garmo", BRIDGE)])).decision == "consistent"
    wrong = cited(upstream, (BRIDGE, [quotes("Silo", TUNNEL)]))
    assert (
        wrong.claims[0].reason
        == "it cites Silo, which does not support it; reference 1 supports it"
    )
    invented = cited(upstream, (BRIDGE, [quotes("Garmo", "It was opened by the queen.")]))
    assert invented.claims[0].reason == "it cites words of Garmo, which does not exist"


def test_a_block_has_its_own_citations(upstream: Upstream) -> None:
    verdict = cited(
        upstream, (f"{BRIDGE} ", [quotes("Garmo", BRIDGE)]), (TUNNEL, [quotes("Garmo", BRIDGE)])
    )
    assert [claim.flagged for claim in verdict.claims] == [False, True]


def test_what_a_scan_says_nobody_can_tell(upstream: Upstream) -> None:
    known = cited(upstream, (BRIDGE, [quotes("Scan", "It was opened by the queen.")]))
    assert known.decision == "consistent"
