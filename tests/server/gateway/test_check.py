"""`POST /v1/check`, asked as any client would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from resay import Verdict
from simulation import Hang, ServerError, SimulatedProvider
from support.gateway import Gateways, Served
from support.known_world import KNOWN, MADE_UP, WORLD

NGRAM = "chain: [{method: ngram}]\nsampling: {max: 3, min: 3}\nthreshold: {passage: 0.5}\n"
STRICT = "chain: [{method: ngram}]\nsampling: {max: 3}\nthreshold: {passage: 0.0}\n"
JUDGED = "chain: [{method: zero_shot}]\n"
GROUNDED = "chain: [{method: prompt, evidence: references}]\n"
LOGPROBS = "chain: [{method: logprobs}]\n"
ANSWER = "The Zorblatt was built in 1931 by Marta Vogel. Every year 12345 people visit it."
SAMPLES = [
    "The Zorblatt was built in 1702 by Hans Lind. Every year 999 people come.",
    "Ada Brun made the Zorblatt in 1811. Nobody ever visits it.",
    "In 1650 Otto Kern built the Zorblatt. Ten people saw it.",
]
BROUGHT: Mapping[str, Any] = {"response": ANSWER, "samples": SAMPLES}
TRUE = "Canberra is the capital of Australia. The city was founded in 1913."


@pytest.fixture
def simulated() -> Any:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


def check(served: Served, body: Mapping[str, Any], **headers: str) -> httpx.Response:
    named = {f"x-resay-{name}": value for name, value in headers.items()}
    return served.post("/v1/check", json=body, headers=named)


def problem(response: httpx.Response) -> str:
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    return error["message"]


def test_samples_that_are_brought_along_are_compared_with(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    response = check(gateways.start(STRICT), {**BROUGHT, "question": MADE_UP})
    told = response.json()
    assert told.keys() == {"object", "id", "text", "action", "hallucination"}
    assert told["object"] == "hallucination.check"
    assert told["id"] == response.headers["x-resay-request-id"]
    assert told["text"] == ANSWER
    verdict = Verdict.from_dict(told["hallucination"])
    assert verdict.decision == "flagged"
    assert verdict.samples == len(SAMPLES)
    assert verdict.usage.calls == 0
    assert "".join(s.text for s in verdict.sentences) == ANSWER.replace(". E", ".E")
    assert response.headers["x-resay-decision"] == "flagged"
    assert response.headers["x-resay-action"] == told["action"] == "annotate"
    assert simulated.calls == 0


def test_more_samples_than_the_policy_draws_are_all_compared_with(gateways: Gateways) -> None:
    samples = [*SAMPLES, *(f"{text} Or so." for text in SAMPLES)]
    policy = STRICT.replace("max: 3", "max: 3, confidence: null")
    told = check(gateways.start(policy), {"response": ANSWER, "samples": samples}).json()
    assert told["hallucination"]["samples"] == len(samples)


@pytest.mark.parametrize(
    "asked",
    [{"question": MADE_UP}, {"messages": [{"role": "user", "content": MADE_UP}]}],
    ids=["question", "messages"],
)
def test_samples_are_drawn_at_the_upstream(
    gateways: Gateways, simulated: SimulatedProvider, asked: dict[str, Any]
) -> None:
    body = {"response": ANSWER, "model": "sim", "params": {"temperature": 0.7}, **asked}
    response = httpx.post(
        f"{gateways.start(NGRAM).url}/v1/check",
        json=body,
        headers={"x-litellm-call-id": "mine"},
    )
    verdict = response.json()["hallucination"]
    assert verdict["samples"] == 3
    assert verdict["via"] == "native"
    assert verdict["usage"]["calls"] == simulated.calls >= 1
    for request in simulated.requests_to("/v1/chat/completions"):
        sent = request.body or {}
        assert sent["model"] == "sim"
        assert sent["temperature"] == 0.7
        assert sent["messages"] == [{"role": "user", "content": MADE_UP}]
        # Should the upstream be a LiteLLM proxy that has its answers checked here.
        assert request.headers["x-litellm-call-id"].startswith("resay.")


def test_what_the_model_knows_is_consistent(gateways: Gateways) -> None:
    served = gateways.start(JUDGED)
    told = check(served, {"response": TRUE, "question": KNOWN, "model": "sim"}).json()
    assert told["hallucination"]["decision"] == "consistent"
    assert told["action"] == "allow"
    made_up = check(served, {"response": ANSWER, "question": MADE_UP, "model": "sim"}).json()
    assert made_up["hallucination"]["decision"] == "flagged"


def test_the_model_judges_without_a_question_where_the_policy_needs_none(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    told = check(gateways.start(JUDGED), {"response": ANSWER, "model": "sim"}).json()
    assert told["hallucination"]["decision"] == "flagged"
    assert {(request.body or {})["model"] for request in simulated.requests} == {"sim"}


def test_documents_are_compared_with(gateways: Gateways) -> None:
    policies = {"grounded": gateways.policy(GROUNDED, "grounded.yaml")}
    served = gateways.start(policies=policies)
    documents = [
        "Nothing to do with it.",
        {"text": TRUE, "source": "https://example.org/canberra", "title": "Canberra"},
    ]
    body = {"response": TRUE, "model": "sim", "references": documents}
    told = check(served, body, policy="grounded").json()["hallucination"]
    assert told["decision"] == "consistent"
    wrong = TRUE.replace("1913", "1927")
    other = check(served, {**body, "response": wrong}, policy="grounded").json()["hallucination"]
    assert other["decision"] == "flagged"
    assert [sentence["flagged"] for sentence in other["sentences"]] == [False, True]
    assert other["sentences"][1]["contradicted_by"]["source"] == "reference"


def test_a_contradiction_is_named_by_the_title_of_its_document(gateways: Gateways) -> None:
    served = gateways.start(NGRAM)
    documents = ["The library opens at nine.", {"text": TRUE, "title": "Canberra"}]
    body = {"response": TRUE.replace("1913", "1927"), "question": KNOWN, "references": documents}
    verdict = Verdict.from_dict(check(served, body).json()["hallucination"])
    contradiction = verdict.sentences[1].contradicted_by
    assert contradiction is not None
    assert contradiction.speaker == "reference 2 (Canberra)"


def test_blank_documents_are_ignored(gateways: Gateways) -> None:
    policies = {"grounded": gateways.policy(GROUNDED, "grounded.yaml")}
    served = gateways.start(NGRAM, policies=policies)
    wrong = TRUE.replace("1913", "1927")
    body = {"response": wrong, "question": KNOWN, "model": "sim"}
    documents = ["", {"text": " ", "title": "Empty"}, {"text": TRUE, "title": "Canberra"}]
    for name in ("default", "grounded"):
        headers = {} if name == "default" else {"policy": name}
        told = check(served, {**body, "references": documents}, **headers).json()["hallucination"]
        assert told["decision"] == "flagged"
        assert "failed" not in told["reason"]
    response = check(served, {**body, "references": ["", " "]}, policy="grounded")
    assert "`references`" in problem(response)


def test_what_only_checks_can_be_given_is_refused_elsewhere(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    policies = {"grounded": gateways.policy(GROUNDED, "grounded.yaml")}
    served = gateways.start(policies=policies)
    response = served.post(headers={"x-resay-policy": "grounded"})
    assert "/v1/check" in problem(response)
    assert simulated.calls == 0


def test_probabilities_of_tokens_are_looked_at(gateways: Gateways) -> None:
    tokens = [{"token": word, "logprob": -3.0} for word in ("The", " bridge", " is", " red", ".")]
    body = {"response": "The bridge is red.", "logprobs": tokens}
    served = gateways.start(LOGPROBS)
    assert check(served, body).json()["hallucination"]["score"] is not None
    broken = {**body, "logprobs": [{"token": "The"}, {"word": "secret-word"}]}
    message = problem(check(served, broken))
    assert "logprobs" in message
    assert "secret-word" not in message
    beyond = {"token": "b", "logprob": -(10**400)}
    for odd in (beyond, {"token": "The", "logprob": -1, "top_logprobs": [beyond]}):
        answer = check(served, {**body, "logprobs": [odd]})
        assert answer.status_code in (200, 400), odd


def test_objects_are_checked_by_their_fields(gateways: Gateways) -> None:
    samples = ['{"city": "Berne"}', '{"city": "Berne"}', '{"city": "Berne"}']
    body = {
        "response": '{"city": "Paris"}',
        "samples": samples,
        "params": {"response_format": {"type": "json_object"}},
    }
    verdict = check(gateways.start(), body).json()["hallucination"]
    assert [s["text"] for s in verdict["sentences"]] == ['city: "Paris"']
    assert verdict["decision"] == "flagged"


def test_a_withheld_answer_is_nowhere(gateways: Gateways) -> None:
    served = gateways.start(STRICT + "action: {do: block, message: Withheld.}\n")
    response = check(served, BROUGHT)
    assert response.json()["text"] == "Withheld."
    assert response.json()["action"] == response.headers["x-resay-action"] == "block"
    assert "Zorblatt" not in response.text
    (seen,) = served.seen(1)
    assert seen.action == "block"
    assert seen.complete


def test_a_withheld_answer_can_be_an_error(gateways: Gateways) -> None:
    served = gateways.start(STRICT + "action: {do: block, exit: raise}\n")
    response = check(served, BROUGHT)
    error = response.json()["error"]
    assert response.status_code == 422
    assert error["code"] == "hallucination_blocked"
    assert error["verdict"]["decision"] == "flagged"
    assert "Zorblatt" not in response.text
    (seen,) = served.seen(1)
    assert (seen.action, seen.status) == ("block", 422)


def test_observers_are_told(gateways: Gateways) -> None:
    served = gateways.start(STRICT)
    check(served, {**BROUGHT, "question": MADE_UP, "model": "m"}, tenant="acme")
    (seen,) = served.seen(1)
    assert (seen.api, seen.model, seen.policy, seen.tenant) == ("check", "m", "default", "acme")
    assert (seen.status, seen.action, seen.question) == (200, "annotate", MADE_UP)
    assert seen.verdict
    assert seen.answer
    assert seen.answer.response == ANSWER
    # Nobody paid for the answer here.
    assert seen.usage.calls == 0


def test_observers_are_told_of_what_was_refused(gateways: Gateways) -> None:
    served = gateways.start()
    assert check(served, {}).status_code == 400
    (seen,) = served.seen(1)
    assert (seen.status, seen.verdict) == (400, None)


BAD: Sequence[tuple[dict[str, Any], list[str]]] = [
    ({}, ["response: required, but missing"]),
    ({"response": 7, "samples": ["a", 8]}, ["response: ", "samples.1: "]),
    ({"response": "a", "sample": []}, ["sample: unknown field"]),
    (
        {"response": "a", "question": "q", "messages": [{"role": "user"}]},
        ["`question` or `messages`"],
    ),
    ({"response": "a", "messages": [{"content": "secret"}]}, ["messages: ", "role"]),
    ({"response": "a", "messages": []}, ["messages: "]),
    ({"response": "a", "question": "  "}, ["question: "]),
    ({"response": "a", "samples": ["s"] * 101}, ["samples: ", "100"]),
    ({"response": "a", "references": ["d"] * 201}, ["references: ", "200"]),
    ({"response": "a", "references": ["d", {"title": "t"}]}, ["references.1.text: required"]),
    ({"response": "a", "references": [3]}, ["references.0"]),
    ({"response": "s" * 200_001}, ["response: ", "200000"]),
    ({"response": "a", "params": {"api_base": "http://evil"}}, ["params: ", "temperature"]),
    ({"response": "a", "params": {"tools": []}}, ["params: "]),
    ({"response": "a", "policy": "strict"}, ["policy: unknown field"]),
]


def test_every_problem_is_named(gateways: Gateways, simulated: SimulatedProvider) -> None:
    served = gateways.start(NGRAM)
    for body, words in BAD:
        message = problem(check(served, body))
        for word in words:
            assert word in message
        for content in ("secret", "evil", "sss"):
            assert content not in message
    assert simulated.calls == 0


@pytest.mark.parametrize(
    ("policy", "body", "words"),
    [
        (NGRAM, {}, "`samples`"),
        (NGRAM, {"question": MADE_UP}, "`model`"),
        (NGRAM, {"model": "m"}, "`question`"),
        (
            NGRAM.replace("ngram", "ngram, evidence: samples"),
            {"samples": SAMPLES, "references": ["d"]},
            "`references`",
        ),
        (NGRAM, {"samples": SAMPLES, "logprobs": [{"token": "a"}]}, "`logprobs`"),
        (JUDGED, {}, "`model`"),
        (LOGPROBS, {}, "`logprobs`"),
        ("chain: [{method: cross_examination}]\n", {}, "`model`"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_spent(
    gateways: Gateways,
    simulated: SimulatedProvider,
    policy: str,
    body: dict[str, Any],
    words: str,
) -> None:
    response = check(gateways.start(policy), {"response": ANSWER, **body})
    assert words in problem(response)
    assert simulated.calls == 0


def test_a_check_ends_by_the_deadline(gateways: Gateways) -> None:
    with SimulatedProvider(faults=[Hang()]) as provider:
        gateways.upstream = provider.root_url
        served = gateways.start(NGRAM + "limits: {deadline_s: 0.3}\n")
        response = check(served, {"response": ANSWER, "question": MADE_UP, "model": "sim"})
    verdict = response.json()["hallucination"]
    assert verdict["decision"] == "inconclusive"
    assert "deadline_s" in verdict["reason"]


def test_an_upstream_that_breaks_off_leaves_it_inconclusive(gateways: Gateways) -> None:
    with SimulatedProvider(faults=[ServerError()]) as provider:
        gateways.upstream = provider.root_url
        served = gateways.start(NGRAM + "limits: {retries: 0}\n")
        told = check(served, {"response": ANSWER, "question": MADE_UP, "model": "sim"}).json()
    assert told["hallucination"]["decision"] == "inconclusive"
    assert told["text"] == ANSWER


def test_nothing_is_fetched_for_the_models_that_a_policy_names(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(NGRAM.replace("max: 3", "max: 3, model: openai/named"))
    picture = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": MADE_UP}, picture]}]
    told = check(served, {"response": ANSWER, "messages": messages}).json()["hallucination"]
    assert told["decision"] == "inconclusive"
    assert "ProviderRefusedError" in told["reason"]
    assert simulated.calls == 0


def test_tenants_and_keys_have_caches_of_their_own(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(NGRAM + "cache: {store: memory}\n")
    body = {"response": ANSWER, "question": MADE_UP, "model": "sim"}

    def asked(tenant: str, key: str = "k") -> int:
        before = simulated.calls
        headers = {"x-resay-tenant": tenant, "authorization": f"Bearer {key}"}
        served.post("/v1/check", json=body, headers=headers)
        return simulated.calls - before

    assert asked("one") > 0
    assert asked("one") == 0
    assert asked("two") > 0
    assert asked("one", "other") > 0


def test_keys_and_policies_are_asked_for_as_elsewhere(gateways: Gateways) -> None:
    served = gateways.start()
    assert "'nope'" in problem(check(served, BROUGHT, policy="nope"))
    response = served.post("/v1/check", content=b"[1]")
    assert response.json()["error"]["code"] == "invalid_json"
