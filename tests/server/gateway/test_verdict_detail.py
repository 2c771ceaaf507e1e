"""How much of a verdict a response contains."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from resay import Verdict
from support.gateway import ASKED, Gateways, Served
from support.gateway import MESSAGES as QUESTION

LONG = " ".join(f"K{i} is {i % 90}." for i in range(4000))
OTHER = " ".join(f"K{i} is {i % 90 + 1}." for i in range(4000))
FLAGS = "chain: [{method: ngram}]\nsampling: {confidence: null}\nthreshold: {sentence: 0.1}\n"
LISTS = ("claims", "unscored", "references")


def verdict_in(response: httpx.Response) -> dict[str, Any] | None:
    """Return the verdict in a response, streamed or not."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return response.json().get("hallucination")
    found: dict[str, Any] | None = None
    for line in response.text.splitlines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            event = json.loads(data)
            found = event.get("hallucination", found)
            found = event.get("response", {}).get("hallucination", found)
    return found


def asked(served: Served, path: str, *, stream: bool, **headers: str) -> httpx.Response:
    response = served.post(path, json={**ASKED[path], "stream": stream}, headers=headers)
    assert response.status_code == 200, response.text
    return response


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ASKED)
def test_a_client_says_how_much_it_wants(gateways: Gateways, path: str, stream: bool) -> None:
    served = gateways.start()
    full = verdict_in(asked(served, path, stream=stream))
    assert full is not None
    assert full["claims"]
    assert "detail" not in full
    summary = verdict_in(asked(served, path, stream=stream, **{"x-resay-verdict": "summary"}))
    assert summary is not None
    assert summary["detail"] == "summary"
    assert [summary[name] for name in LISTS] == [[], [], []]
    assert all(sentence["flagged"] for sentence in summary["sentences"])
    assert Verdict.from_dict(summary).decision == summary["decision"]
    response = asked(served, path, stream=stream, **{"x-resay-verdict": "none"})
    assert "hallucination" not in response.text
    if not stream:
        assert response.headers["x-resay-decision"]


def test_several_answers_have_as_much_each(gateways: Gateways) -> None:
    served = gateways.start(verdict="summary")
    body = served.post(json={**ASKED["/v1/chat/completions"], "n": 3}).json()
    told = [body, *body["choices"]]
    assert [each["hallucination"]["detail"] for each in told] == ["summary"] * 4
    served = gateways.start(verdict="none")
    response = served.post(json={**ASKED["/v1/chat/completions"], "n": 3})
    assert len(response.json()["choices"]) == 3
    assert "hallucination" not in response.text


def test_no_client_gets_more_than_the_file_says(gateways: Gateways) -> None:
    served = gateways.start(verdict="none")
    response = served.post(headers={"x-resay-verdict": "full"})
    assert "hallucination" not in response.text
    refused = served.post(headers={"x-resay-verdict": "everything"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_header")


def test_a_check_has_as_much(gateways: Gateways) -> None:
    served = gateways.start()
    body = {"response": "It is 1.", "samples": ["It is 2."] * 3}
    for detail, keys in (("summary", {"detail"}), ("none", set[str]())):
        response = served.post("/v1/check", json=body, headers={"x-resay-verdict": detail})
        told = response.json()["hallucination"]
        assert keys <= told.keys()
        assert not told.get("claims")


@pytest.mark.parametrize("samples", [OTHER, "word " * 30_000])
def test_the_verdict_on_a_long_answer_is_bounded(gateways: Gateways, samples: str) -> None:
    served = gateways.start(FLAGS)
    body = {"response": LONG, "samples": [f"{samples} {i}." for i in range(3)]}
    response = served.post("/v1/check", json=body)
    told = response.json()["hallucination"]
    assert told["detail"] == "summary"
    assert 0 < len(told["sentences"]) <= 50
    assert len(response.content) < len(LONG) + 100_000


def test_texts_that_contradict_are_counted(gateways: Gateways) -> None:
    """A sample without an end of a sentence would be in the verdict once for each claim."""
    sample = " and ".join(f"K{i} is {i + 1}" for i in range(2000))
    answer = " ".join(f"K{i} is {i}." for i in range(300))
    served = gateways.start(FLAGS)
    response = served.post(
        "/v1/check", json={"response": answer, "samples": [f"{sample} {i}." for i in range(3)]}
    )
    assert len(response.content) < len(answer) + 600_000


RAISES = FLAGS + "action: {do: block, exit: raise}\n"


def test_the_error_of_a_withheld_answer_has_as_much(gateways: Gateways) -> None:
    served = gateways.start(RAISES)
    body = {"response": LONG, "samples": [f"{OTHER} {i}." for i in range(3)]}
    for detail in ("full", "summary"):
        response = served.post("/v1/check", json=body, headers={"x-resay-verdict": detail})
        assert response.status_code == 422
        verdict = response.json()["error"]["verdict"]
        assert verdict["detail"] == "summary"
        assert len(response.content) < 100_000
    response = served.post("/v1/check", json=body, headers={"x-resay-verdict": "none"})
    assert response.json()["error"]["code"] == "hallucination_blocked"
    assert "verdict" not in response.json()["error"]


def test_litellms_guardrail_has_as_much(gateways: Gateways) -> None:
    served = gateways.start("references: {by: words}\nchain: [{method: ngram}]\n")
    path = "/beta/litellm_basic_guardrail_api"
    body: dict[str, Any] = {"litellm_call_id": "c-1", "model": "simulated"}
    question = {**body, "input_type": "request", "structured_messages": QUESTION}
    assert served.post(path, json=question).status_code == 200
    answer = {**body, "input_type": "response", "texts": ["The bridge is of steel."]}
    told = {
        detail: served.post(path, json=answer, headers={"x-resay-verdict": detail}).json()
        for detail in ("full", "summary", "none")
    }
    assert [("hallucination" in each) for each in told.values()] == [True, True, False]
    assert "detail" not in told["full"]["hallucination"][0]
    assert told["summary"]["hallucination"][0]["detail"] == "summary"
    assert {each["action"] for each in told.values()} == {"NONE"}
