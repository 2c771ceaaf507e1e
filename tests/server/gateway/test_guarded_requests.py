from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import APIError, APIStatusError, AsyncOpenAI, OpenAI, UnprocessableEntityError

from resay.adapters.verdicts import verdict_of
from simulation import (
    CutConnection,
    Hang,
    MalformedJson,
    RateLimited,
    ServerError,
    SimulatedProvider,
    Subject,
    World,
)
from support.gateway import ASKED, CHAT, MESSAGES, POLICY, Gateways, Served, logged

BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block}\n"
RAISE = BLOCK.replace("do: block", "do: block, exit: raise")
STOPS = "do: block, finish_reason: stop, message: Gone."
PATHS = sorted(ASKED)


@pytest.fixture
def served(gateways: Gateways) -> Served:
    return gateways.start()


@pytest.fixture
def openai(served: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic(served: Served) -> Iterator[Anthropic]:
    with Anthropic(base_url=served.url, api_key="k", max_retries=0) as client:
        yield client


def events_in(response: httpx.Response) -> list[dict[str, Any]]:
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_has_its_verdict_in_the_body_and_in_the_headers(
    served: Served, simulated: SimulatedProvider, path: str
) -> None:
    response = served.post(path)
    verdict = response.json()["hallucination"]
    assert response.status_code == 200
    assert verdict["decision"] == "flagged"
    assert response.headers["x-resay-decision"] == "flagged"
    assert response.headers["x-resay-action"] == verdict["action"] == "annotate"
    assert float(response.headers["x-resay-score"]) == pytest.approx(verdict["score"], abs=1e-4)
    assert response.headers["x-resay-request-id"]
    # The main call, and the samples: all to the API that the client speaks.
    assert len(simulated.requests_to(path)) == simulated.calls >= 2


def test_openais_sdk_is_answered_as_by_the_provider(openai: OpenAI) -> None:
    completion = openai.chat.completions.create(model="m", messages=MESSAGES)
    response = openai.responses.create(model="m", input=MESSAGES[0]["content"])
    assert "Sydney" in (completion.choices[0].message.content or "")
    assert "Sydney" in response.output_text
    assert verdict_of(completion)
    assert verdict_of(response)


def test_anthropics_sdk_is_answered_as_by_the_provider(anthropic: Anthropic) -> None:
    message = anthropic.messages.create(model="m", max_tokens=200, messages=MESSAGES)
    assert "Sydney" in message.content[0].text
    assert verdict_of(message)


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
def test_streams_of_openais_sdk_end_with_the_verdict(gateways: Gateways, mode: str) -> None:
    served = gateways.start(f"{POLICY}stream_mode: {mode}\n")
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        chunks = list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
        events = list(client.responses.create(model="m", input="A bridge?", stream=True))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert "Sydney" in text
    assert sum(verdict_of(chunk) is not None for chunk in chunks) == 1
    assert events[-1].type == "response.completed"
    assert verdict_of(events[-1])
    seen = served.seen(2)
    assert all(one.stream and one.verdict and one.complete for one in seen)


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
def test_streams_of_anthropics_sdk_end_with_the_verdict(gateways: Gateways, mode: str) -> None:
    served = gateways.start(f"{POLICY}stream_mode: {mode}\n")
    with (
        Anthropic(base_url=served.url, api_key="k", max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=200, messages=MESSAGES) as stream,
    ):
        events = list(stream)
        assert "Sydney" in stream.get_final_text()
    assert sum(verdict_of(event) is not None for event in events) == 1


@pytest.mark.anyio
async def test_asynchronous_clients_are_served_too(served: Served) -> None:
    async with AsyncOpenAI(base_url=f"{served.url}/v1", api_key="k") as openai:
        completion = await openai.chat.completions.create(model="m", messages=MESSAGES)
        stream = await openai.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        chunks = [chunk async for chunk in stream]
    async with AsyncAnthropic(base_url=served.url, api_key="k") as anthropic:
        message = await anthropic.messages.create(model="m", max_tokens=200, messages=MESSAGES)
    assert verdict_of(completion)
    assert verdict_of(message)
    assert any(verdict_of(chunk) for chunk in chunks)


def test_each_of_several_answers_has_a_verdict(served: Served) -> None:
    response = served.post(json={**CHAT, "n": 3})
    assert all(choice["hallucination"] for choice in response.json()["choices"])
    assert response.headers["x-resay-decision"] == "flagged"
    streamed = events_in(served.post(json={**CHAT, "n": 2, "stream": True}))
    assert sum(verdict_of(event) is not None for event in streamed) == 2
    assert served.seen(2)[-1].verdict


@pytest.mark.parametrize("path", PATHS)
def test_a_withheld_answer_is_nowhere(gateways: Gateways, path: str) -> None:
    served = gateways.start(BLOCK + "stream_mode: buffer\n")
    response = served.post(path)
    assert response.headers["x-resay-action"] == "block"
    assert "bridge" not in response.text.lower()
    assert served.seen(1)[0].action == "block"
    streamed = served.post(path, json={**ASKED[path], "stream": True})
    assert "bridge" not in streamed.text.lower()
    assert served.seen(2)[1].action == "block"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
def test_a_withheld_answer_may_end_as_a_completed_one(
    gateways: Gateways, path: str, mode: str
) -> None:
    served = gateways.start(BLOCK.replace("do: block", f"{STOPS}") + f"stream_mode: {mode}\n")
    whole = served.post(path).json()
    streamed = events_in(served.post(path, json={**ASKED[path], "stream": True}))
    assert whole["hallucination"]["action"] == "block"
    if path.endswith("completions"):
        last = next(event for event in streamed if event["choices"][0]["finish_reason"])
        ends = [told["choices"][0]["finish_reason"] for told in (whole, last)]
        assert ends == ["stop", "stop"]
    elif path == "/v1/messages":
        delta = next(event["delta"] for event in streamed if event["type"] == "message_delta")
        assert whole["stop_reason"] == delta["stop_reason"] == "end_turn"
        # Whoever is strict takes no null there.
        assert whole["content"] == [{"type": "text", "text": "Gone."}]
    else:
        last = streamed[-1]
        assert last["type"] == "response.completed"
        for told in (whole, last["response"]):
            assert (told["status"], told["incomplete_details"]) == ("completed", None)
            assert told["output"][-1]["content"][0]["text"].endswith("Gone.")
            assert told["output"][-1]["status"] == "completed"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_blocked_with_an_exception_is_an_error_nobody_tries_again(
    gateways: Gateways, path: str, stream: bool
) -> None:
    served = gateways.start(RAISE + "stream_mode: buffer\n")
    response = served.post(path, json={**ASKED[path], "stream": stream})
    assert response.status_code == 422
    assert response.headers["x-resay-action"] == "block"
    error = response.json()["error"]
    assert error["verdict"]["decision"] == "flagged"
    assert "Sydney" not in response.text
    (seen,) = served.seen(1)
    assert (seen.action, seen.status) == ("block", 422)


def test_openais_sdk_knows_a_blocked_answer(gateways: Gateways) -> None:
    served = gateways.start(RAISE)
    with (
        OpenAI(base_url=f"{served.url}/v1", api_key="k") as client,
        pytest.raises(UnprocessableEntityError) as caught,
    ):
        client.chat.completions.create(model="m", messages=MESSAGES)
    assert caught.value.code == "hallucination_blocked"
    assert len(served.seen(1)) == 1


def test_a_stream_that_is_stopped_midway_ends_with_an_error_of_the_api(gateways: Gateways) -> None:
    served = gateways.start(RAISE + "stream_mode: after\n")
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        with pytest.raises(APIError, match="withheld"):
            list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
        events = list(client.responses.create(model="m", input="A bridge?", stream=True))
    assert events[-1].type == "error"
    assert events[-1].code == "hallucination_blocked"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with (
        Anthropic(base_url=served.url, api_key="k", max_retries=0) as client,
        pytest.raises(Exception, match="withheld"),
    ):
        list(client.messages.create(model="m", max_tokens=99, messages=MESSAGES, stream=True))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_errors_of_the_upstream_come_as_they_are(
    served: Served, simulated: SimulatedProvider, path: str, stream: bool
) -> None:
    body = {**ASKED[path], "stream": stream}
    simulated.set_faults(RateLimited(retry_after_s=7))
    direct = httpx.post(simulated.root_url + path, json=body)
    response = served.post(path, json=body)
    assert response.status_code == direct.status_code == 429
    assert response.content == direct.content.replace(b"req_0", b"req_1")
    assert response.headers["retry-after"] == "7"
    assert "x-resay-action" not in response.headers
    (seen,) = served.seen(1)
    assert (seen.status, seen.verdict) == (429, None)


def test_a_check_that_fails_costs_nobody_the_answer(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start("chain: [ngram]\nsampling: {max: 3, start: after}\n")
    simulated.set_faults(ServerError(after=1))
    response = served.post()
    assert response.status_code == 200
    assert response.headers["x-resay-decision"] == "inconclusive"
    assert response.json()["choices"][0]["message"]["content"]


def test_clients_choose_among_the_policies(gateways: Gateways) -> None:
    strict = gateways.policy(BLOCK, "strict.yaml")
    served = gateways.start(policies={"strict": strict})
    assert served.post().headers["x-resay-action"] == "annotate"
    assert served.post(headers={"x-resay-policy": "strict"}).headers["x-resay-action"] == "block"
    assert [seen.policy for seen in served.seen(2)] == ["default", "strict"]


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_policy_is_refused_with_the_names_there_are(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(policies={"strict": gateways.policy(BLOCK, "strict.yaml")})
    response = served.post(path, headers={"x-resay-policy": "lax"})
    assert response.status_code == 400
    assert "'default', 'strict'" in response.json()["error"]["message"]
    assert response.json().get("type") == ("error" if path == "/v1/messages" else None)
    assert simulated.calls == 0


def test_nothing_cached_for_one_tenant_is_used_for_another(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start()
    cold = {**CHAT, "seed": 5}

    def calls(tenant: str) -> int:
        before = simulated.calls
        served.post(json=cold, headers={"x-resay-tenant": tenant})
        return simulated.calls - before

    first, again, other = calls("a"), calls("a"), calls("b")
    assert again == 1 < first == other
    assert [seen.tenant for seen in served.seen(3)] == ["a", "a", "b"]
    assert served.post(headers={"x-resay-tenant": "a b"}).status_code == 400


def test_nothing_cached_for_one_key_is_used_for_another(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start()
    for key in ("one", "two"):
        before = simulated.calls
        served.post(headers={"authorization": f"Bearer {key}"})
        assert simulated.calls - before > 1


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", 400), (b"[1]", 400), (b"{", 400), (b'{"a": NaN}', 400), (b"[" * 100_000, 400)],
    ids=["empty", "a list", "cut", "no number", "deep"],
)
def test_what_cannot_be_guarded_is_not_sent(
    served: Served, simulated: SimulatedProvider, content: bytes, status: int
) -> None:
    response = served.post(content=content)
    assert response.status_code == status
    assert response.json()["error"]["code"] == "invalid_json"
    assert served.post(content=b"x", headers={"content-encoding": "gzip"}).status_code == 415
    assert simulated.calls == 0


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"model": "m",\n "messages": [}', "line 2, column 15"),
        (b'{"model": "secret"', "line 1, column 19"),
        (b'{"model": "secret\x01"}', "line 1, column 18: Invalid control character"),
        (b"{'model': 'secret'}", "line 1, column 2"),
        (b"", "line 1, column 1: Expecting value"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/check"])
def test_malformed_json_is_named_by_line_and_column(
    served: Served, content: bytes, place: str, path: str
) -> None:
    message = served.post(path, content=content).json()["error"]["message"]
    assert message.startswith(f"the request's body is not valid JSON: {place}")
    assert "secret" not in message


@pytest.mark.parametrize(
    "path",
    ["/v1/chat/completions/", "/v1//chat/completions", "//v1/chat/completions",
     "/v1/chat%2Fcompletions", "/V1/Chat/Completions"],
)  # fmt: skip
def test_no_spelling_of_the_path_leads_past_the_guard(served: Served, path: str) -> None:
    with httpx.Client() as client:
        response = client.post(served.url + path, json=CHAT)
    assert response.json()["hallucination"]


def test_of_two_keys_of_the_same_name_the_guard_and_the_upstream_see_one(
    served: Served, simulated: SimulatedProvider
) -> None:
    content = b'{"stream": true, "model": "m", "messages": [], "stream": false, "messages": %s}'
    served.post(content=content % json.dumps(MESSAGES).encode())
    assert simulated.requests[0].body == {"stream": False, "model": "m", "messages": MESSAGES}


def test_what_a_client_says_of_other_addresses_leads_nowhere(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    elsewhere = "http://127.0.0.1:9/v1"
    told = dict.fromkeys(("api_base", "base_url", "upstream", "extra_headers"), elsewhere)
    served = gateways.start("chain: [{method: prompt}]\nsampling: {max: 2}\n")
    response = served.post(
        json={**CHAT, **told},
        headers={"x-resay-upstream": elsewhere, "x-forwarded-host": "127.0.0.1:9"},
    )
    assert response.status_code == 200
    assert response.headers["x-resay-decision"] in ("ok", "flagged")
    # All that was asked was asked of the upstream, the judge too, who is given none of it.
    assert simulated.calls >= 3
    judged = [
        r.body or {} for r in simulated.requests if (r.body or {}).get("messages") != MESSAGES
    ]
    assert judged
    assert all("x-resay-upstream" not in request.headers for request in simulated.requests)


def test_errors_say_which_request_it_was(served: Served) -> None:
    bad = {"x-resay-policy": "lax"}
    made = served.post(headers=bad)
    assert made.headers["x-request-id"].startswith("req-")
    assert made.json()["error"]["request_id"] == made.headers["x-request-id"]
    known = served.post(headers={**bad, "x-request-id": "mine-1"})
    assert known.headers["x-request-id"] == "mine-1"
    for odd in ("a b", "é", "x" * 200, '"><script>'):
        refused = served.post(headers={**bad, "x-request-id": odd.encode()})
        assert refused.headers["x-request-id"].startswith("req-")


def test_observers_are_told_of_each_answer_once(served: Served) -> None:
    served.post(headers={"x-request-id": "mine"})
    (seen,) = served.seen(1)
    assert (seen.request_id, seen.api, seen.model) == ("mine", "chat", "simulated")
    assert (seen.status, seen.action, seen.complete) == (200, "annotate", True)
    assert seen.request == CHAT
    assert seen.question == CHAT["messages"][0]["content"]
    assert seen.verdict is not None
    assert seen.verdict.flagged
    assert (seen.usage.calls, seen.check_usage.calls) == (1, seen.verdict.usage.calls)
    assert "Sydney" not in repr(seen)


def test_an_observer_that_fails_harms_no_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "observe", lambda *_: 1 / 0)
    with logged("ZeroDivisionError"):
        assert served.post().status_code == 200


def test_an_upstream_that_is_not_there_is_said_in_the_apis_words(gateways: Gateways) -> None:
    served = gateways.start(upstream={"url": "http://127.0.0.1:1/v1"})
    with (
        OpenAI(base_url=f"{served.url}/v1", api_key="secret", max_retries=0) as client,
        pytest.raises(APIStatusError) as caught,
    ):
        client.chat.completions.create(model="m", messages=MESSAGES)
    assert caught.value.status_code == 502
    assert caught.value.code == "upstream_unreachable"
    assert served.post("/v1/messages").json()["error"]["type"] == "api_error"
    assert served.post(json={**CHAT, "stream": True}).status_code == 502


def test_a_silent_stream_is_kept_alive(gateways: Gateways) -> None:
    with SimulatedProvider(latency_s=0.5) as slow:
        served = gateways.start(
            POLICY + "stream_mode: buffer\n", upstream={"url": slow.base_url}, heartbeat_s=0.1
        )
        response = served.post(json={**CHAT, "stream": True})
    assert response.text.startswith(": ")
    assert verdict_of(events_in(response)[-1]) or verdict_of(events_in(response)[-2])


@pytest.mark.parametrize("path", PATHS)
def test_an_upstream_that_breaks_off_is_an_error_of_the_api(
    served: Served, simulated: SimulatedProvider, path: str
) -> None:
    simulated.set_faults(CutConnection())
    broken = served.post(path)
    assert broken.status_code == 502
    assert broken.json()["error"]["message"].startswith("the upstream is unreachable or closed")
    streamed = served.post(path, json={**ASKED[path], "stream": True})
    assert "the upstream is unreachable or closed the connection" in streamed.text
    assert [seen.verdict for seen in served.seen(2)] == [None, None]


def test_an_answer_that_cannot_be_read_comes_as_it_is(
    served: Served, simulated: SimulatedProvider
) -> None:
    simulated.set_faults(MalformedJson())
    response = served.post()
    assert response.status_code == 200
    assert response.headers["x-resay-action"] == "annotate"
    assert response.headers["x-resay-decision"] == "inconclusive"
    with pytest.raises(json.JSONDecodeError):
        response.json()
    (seen,) = served.seen(1)
    assert seen.verdict is not None
    assert "no readable answer" in seen.verdict.reason


def test_who_is_to_stop_is_not_ready(served: Served) -> None:
    assert httpx.get(f"{served.url}/readyz").status_code == 200
    served.gateway.draining = True
    assert httpx.get(f"{served.url}/readyz").status_code == 503
    assert httpx.get(f"{served.url}/healthz").status_code == 200


def test_an_answer_that_takes_too_long_is_an_error_of_the_api(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(POLICY + "limits: {deadline_s: 0.1}\n")
    simulated.set_faults(Hang())
    response = served.post()
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "deadline_exceeded"
    simulated.wait_idle()


@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stream_whose_answer_is_withheld_ends_as_streams_do(
    gateways: Gateways, path: str, mode: str
) -> None:
    prompt = {"prompt": MESSAGES[0]["content"], "max_tokens": 300}
    body = {**(CHAT if path.startswith("/v1/chat") else {"model": "simulated", **prompt})}
    served = gateways.start(f"{BLOCK}stream_mode: {mode}\n")
    text = served.post(path, json={**body, "stream": True}).text
    assert '"action":"block"' in text.replace(" ", "")
    assert text.count("data: [DONE]") == 1
    assert text.endswith("data: [DONE]\n\n")


def test_the_log_names_the_request_and_the_model(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="resay"):
        served.post(headers={"x-request-id": "mine"})
        served.seen(1)
    (record,) = [vars(record) for record in caplog.records if record.name == "resay"]
    assert (record["request_id"], record["model"]) == ("mine", "simulated")


@pytest.mark.parametrize("path", PATHS)
def test_what_cannot_be_read_is_withheld_where_errors_are_to_block(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(POLICY + "on_error: block\n")
    simulated.set_faults(MalformedJson())
    withheld = served.post(path)
    assert withheld.status_code == 200
    assert withheld.headers["x-resay-action"] == withheld.json()["hallucination"]["action"]
    assert withheld.headers["x-resay-action"] == "block"
    assert "Sydney" not in withheld.text


@pytest.mark.parametrize("path", PATHS)
def test_what_cannot_be_read_of_a_stream_is_withheld_too(
    gateways: Gateways, simulated: SimulatedProvider, path: str
) -> None:
    served = gateways.start(POLICY + "on_error: block\n")
    simulated.set_faults(MalformedJson())
    text = served.post(path, json={**ASKED[path], "stream": True}).text
    assert '"action":"block"' in text.replace(" ", "")
    assert "Sydney" not in text


CODED = World(
    [
        Subject(
            "Sydney Harbour Bridge",
            facts=[["The bridge opened in 1932.\n\n```\nFinch, 1932\n```\n"]],
        )
    ]
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_what_was_not_scored_is_told_or_withheld(tmp_path: Path, path: str, stream: bool) -> None:
    with SimulatedProvider(world=CODED) as upstream, ExitStack() as stack:
        gateways = Gateways(tmp_path, upstream.root_url, stack)
        asked = {**ASKED[path], "stream": stream}
        told = gateways.start(POLICY).post(path, json=asked).text
        withheld = gateways.start(POLICY + "on_unscored: block\n").post(path, json=asked).text
    assert "Finch" in told
    assert '"kind":"code"' in told.replace(" ", "")
    assert "Finch" not in withheld
    assert '"action":"block"' in withheld.replace(" ", "")


AMOUNT = {"customer": {"type": "string"}, "amount": {"type": "integer"}}
PARAMETERS = {"type": "object", "properties": AMOUNT, "required": list(AMOUNT)}
TOOLS: dict[str, Any] = {
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": "[[tool]] Canberra"}],
        "tools": [{"type": "function", "function": {"name": "pay", "parameters": PARAMETERS}}],
    },
    "/v1/responses": {
        "input": "[[tool]] Canberra",
        "tools": [{"type": "function", "name": "pay", "parameters": PARAMETERS}],
    },
    "/v1/messages": {
        "messages": [{"role": "user", "content": "[[tool]] Canberra"}],
        "tools": [{"name": "pay", "input_schema": PARAMETERS}],
        "max_tokens": 200,
    },
}


@pytest.mark.parametrize("path", sorted(TOOLS))
def test_arguments_of_calls_are_compared(gateways: Gateways, path: str) -> None:
    asked = {"model": "simulated", **TOOLS[path]}
    plain = gateways.start().post(path, json=asked)
    assert plain.headers["x-resay-decision"] == "skipped"
    served = gateways.start(POLICY + "tools: arguments\n")
    response = served.post(path, json=asked)
    assert response.headers["x-resay-decision"] == "flagged"
    assert response.headers["x-resay-action"] == "annotate"
    flagged = [s["text"] for s in response.json()["hallucination"]["sentences"] if s["flagged"]]
    assert len(flagged) == 1
    amount = flagged[0].removeprefix("pay.amount: ")
    assert amount in response.text.replace(flagged[0], "")
    blocking = gateways.start(POLICY + "tools: arguments\naction: {do: block, message: Gone.}\n")
    for body in (asked, {**asked, "stream": True}):
        withheld = blocking.post(path, json=body)
        assert "Gone." in withheld.text
        assert "Canberra" not in withheld.text


BRIDGE = "The Garmo bridge opened in 1932."


@pytest.mark.parametrize(
    ("path", "docs", "place"),
    [
        ("/v1/chat/completions", [{"text": BRIDGE, "id": "B"}], "metadata.docs"),
        ("/v1/messages", [BRIDGE], "metadata.docs[*]"),
        # It takes texts alone.
        ("/v1/responses", BRIDGE, "metadata.docs"),
    ],
)
def test_a_path_is_relative_to_what_the_client_sends(
    gateways: Gateways, path: str, docs: Any, place: str
) -> None:
    served = gateways.start(f"{POLICY}references: {{from: ['{place}']}}\n")
    response = served.post(path, json={**ASKED[path], "metadata": {"docs": docs}})
    (found,) = response.json()["hallucination"]["references"]
    assert found["source"] == ("metadata.docs" if docs == BRIDGE else "metadata.docs[0]")
