from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from resay.adapters import inside_guard
from resay.adapters.apis import Event, EventReader
from resay.errors import ConfigurationError
from resay_server.gateway.calls import Call, read_call
from resay_server.gateway.config import ModelConfig
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.litellm.client import LiteLLM
from resay_server.gateway.litellm.errors import refusal_of
from resay_server.gateway.litellm.upstream import LiteLLMUpstream
from resay_server.gateway.upstream import UpstreamError
from simulation import (
    CutConnection,
    Fault,
    Hang,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
    Stall,
)
from simulation.server import Exchange, HandlerServer

pytestmark = pytest.mark.anyio
# litellm 1.106 speaks no Responses API without it, and does not install it.
pytest.importorskip("mcp")

QUESTION = "Tell me about the Sydney Harbour Bridge."
USER = [{"role": "user", "content": QUESTION}]
ASKED: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": USER},
    "/responses": {"input": QUESTION},
    "/messages": {"messages": USER, "max_tokens": 200},
}
SECRET, CLIENTS = "sk-of-the-operator", "sk-of-the-client"


class Upstreams:
    """Makes upstreams of models at one provider."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.made: list[LiteLLMUpstream] = []

    async def __call__(self, **told: Any) -> LiteLLMUpstream:
        models = {
            "gpt": ("openai/gpt-4.1-mini", self.url + "/v1"),
            "sim": ("openai/simulated", self.url + "/v1"),
            "claude": ("anthropic/claude-sonnet-5", self.url),
        }
        upstream = LiteLLMUpstream(
            {
                name: ModelConfig.model_validate(
                    {"model": model, "api_base": base, "api_key": SECRET, **told}
                )
                for name, (model, base) in models.items()
            }
        )
        await upstream.prepare()
        self.made.append(upstream)
        return upstream


@pytest.fixture(autouse=True)
async def own_sessions(litellm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # litellm's own transport keeps a session for each event loop.
    monkeypatch.setattr(litellm, "disable_aiohttp_transport", True)


@pytest.fixture
async def upstreams(simulated: SimulatedProvider) -> AsyncGenerator[Upstreams]:
    upstreams = Upstreams(simulated.root_url)
    yield upstreams
    for upstream in upstreams.made:
        await upstream.aclose()


class Recorder:
    """A provider that notes all that it is sent."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.server = HandlerServer(self._handle)

    async def _handle(self, exchange: Exchange) -> None:
        self.seen.append(f"{exchange.path} {exchange.headers} {exchange.body.decode()}")
        await exchange.start(400, "application/json")
        said = {"message": f"no: {QUESTION} {SECRET}", "type": "invalid_request_error"}
        await exchange.send(json.dumps({"type": "error", "error": said}).encode(), last=True)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    recorder.server.start()
    yield recorder
    recorder.server.stop()


def call(path: str) -> Call:
    raw = f"/v1{path}".encode()
    key = [(b"authorization", f"Bearer {CLIENTS}".encode()), (b"x-api-key", CLIENTS.encode())]
    headers = [*key, (b"x-evil", b"yes"), (b"x-request-id", b"number-1")]
    scope = {"method": "POST", "path": raw.decode(), "raw_path": raw, "headers": headers}
    return read_call(scope | {"query_string": b"key=value"})


async def events_of(upstream: LiteLLMUpstream, path: str, body: dict[str, Any]) -> list[Event]:
    response = await upstream.open(call(path), path, {**body, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    await response.read()
    reader = EventReader()
    return [*reader.feed(response.content), *reader.finish()]


@pytest.mark.parametrize("model", ["gpt", "claude"])
@pytest.mark.parametrize("path", ASKED)
async def test_the_client_s_key_and_headers_stay_here(
    upstreams: Upstreams, recorder: Recorder, path: str, model: str
) -> None:
    upstreams.url = f"http://127.0.0.1:{recorder.server.port}"
    upstream = await upstreams()
    hostile = {"api_base": "http://evil/", "mock_response": "Fine.", "extra_headers": {"x-e": "1"}}
    with pytest.raises(UpstreamError) as caught:
        await upstream.ask(call(path), path, {**ASKED[path], **hostile, "model": model})
    (seen,) = recorder.seen
    assert SECRET in seen
    assert QUESTION in seen
    for word in (CLIENTS, "x-evil", "evil", "key=value", "x-e"):
        assert word not in seen
    response = caught.value.response
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["type"] == "invalid_request_error"
    for word in (QUESTION.encode(), SECRET.encode(), b"127.0.0.1", b"litellm"):
        assert word not in response.content


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (RateLimited(retry_after_s=7), 429, "rate_limit_exceeded"),
        (Refused(), 502, "upstream_key_refused"),
        (Refused(status=403), 403, "permission_denied"),
        (Refused(status=404), 404, "not_found"),
        (ServerError(), 502, "upstream_failed"),
        (ServerError(status=503), 503, "upstream_overloaded"),
        (CutConnection(), 502, "upstream_unreachable"),
    ],
)
@pytest.mark.parametrize("model", ["gpt", "claude"])
async def test_errors_keep_their_meaning_and_lose_their_words(
    simulated: SimulatedProvider,
    upstreams: Upstreams,
    fault: Fault,
    status: int,
    code: str,
    model: str,
) -> None:
    upstream = await upstreams()
    simulated.set_faults(fault)
    path = "/chat/completions"
    response = await upstream.open(call(path), path, {**ASKED[path], "model": model})
    await response.read()
    assert not response.is_success
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (status, code)
    assert response.headers.get("retry-after") == ("7" if status == 429 else None)
    assert b"litellm" not in response.content.lower()
    # litellm asks again at once where a connection breaks.
    assert len(simulated.requests) == 1 or isinstance(fault, CutConnection)


async def test_anthropic_s_errors_have_its_shape(
    simulated: SimulatedProvider, upstreams: Upstreams
) -> None:
    upstream = await upstreams()
    simulated.set_faults(RateLimited())
    path = "/messages"
    response = await upstream.open(call(path), path, {**ASKED[path], "model": "claude"})
    await response.read()
    error = json.loads(response.content)
    assert (error["type"], error["error"]["type"]) == ("error", "rate_limit_error")
    assert response.headers["request-id"] == error["request_id"] == "number-1"


@pytest.mark.parametrize("path", ASKED)
async def test_a_model_that_says_nothing_is_given_up(
    simulated: SimulatedProvider, upstreams: Upstreams, path: str
) -> None:
    upstream = await upstreams(timeout_s=0.3)
    simulated.set_faults(Hang())
    for model in ("gpt", "claude"):
        response = await upstream.open(call(path), path, {**ASKED[path], "model": model})
        assert response.status_code == 504


@pytest.mark.parametrize("path", ASKED)
async def test_a_stream_that_falls_silent_or_breaks_off_says_so(
    simulated: SimulatedProvider, upstreams: Upstreams, path: str
) -> None:
    upstream = await upstreams(timeout_s=0.3)
    for fault, status in ((Stall(), 504), (CutConnection(), 502)):
        simulated.set_faults(fault)
        for model in ("gpt", "claude"):
            with pytest.raises(RefusedError) as caught:
                await events_of(upstream, path, {**ASKED[path], "model": model})
            # litellm makes an event of it where it makes messages from another API's stream.
            replayed = upstream._litellm.replays(model)
            bridged = (path, model) == ("/messages", "gpt") and not replayed
            assert caught.value.status == (502 if bridged else status)
            assert "litellm" not in str(caught.value).lower()


@pytest.mark.parametrize("path", ["/messages", "/responses"])
async def test_a_stream_that_ends_without_its_last_event_says_so(
    litellm: Any, upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """As those do that litellm 1.101 makes from another API's, where that breaks off."""
    kind = {"/messages": "message_start", "/responses": "response.created"}[path]

    async def begin(**_: Any) -> AsyncGenerator[dict[str, Any]]:
        async def pieces() -> AsyncGenerator[dict[str, Any]]:
            yield {"type": kind}

        return pieces()

    upstream = await upstreams()
    monkeypatch.setattr(LiteLLM, "replays", lambda *_: False)
    monkeypatch.setattr(litellm, "aresponses", begin)
    monkeypatch.setattr(litellm.anthropic.messages, "acreate", begin)
    with pytest.raises(RefusedError, match="the stream from model 'sim' ended early") as caught:
        await events_of(upstream, path, {**ASKED[path], "model": "sim"})
    assert caught.value.status == 502


@pytest.mark.parametrize("model", ["gpt", "claude"])
@pytest.mark.parametrize("begun", [True, False])
async def test_a_stream_that_nobody_reads_is_closed(
    simulated: SimulatedProvider, upstreams: Upstreams, model: str, begun: bool
) -> None:
    upstream = await upstreams()
    simulated.set_faults(Stall())
    path = "/chat/completions"
    body = {**ASKED[path], "model": model}
    response = await upstream.open(call(path), path, {**body, "stream": True})
    if begun:
        pieces = response.pieces(limited=True)
        assert (await anext(pieces)).startswith(b"data: ")
        await pieces.aclose()
    response.close()
    await upstream.aclose()
    simulated.wait_idle()
    assert simulated.requests[-1].disconnected


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_stream_of_completions_counts_where_that_is_asked_for(
    upstreams: Upstreams, wanted: bool
) -> None:
    upstream = await upstreams()
    options = {"stream_options": {"include_usage": True}} if wanted else {}
    for model in ("gpt", "claude"):
        body = {**ASKED["/chat/completions"], **options, "model": model}
        *events, last = await events_of(upstream, "/chat/completions", body)
        assert last.data == "[DONE]"
        counted = [event.body["usage"] for event in events if event.body.get("usage")]
        assert len(counted) == wanted
        assert events[-1].body["choices"] == [] if wanted else events[-1].body["choices"]
        assert {event.body["model"] for event in events} == {model}
        assert len({event.body["id"] for event in events}) == 1
        said = {name for e in events for choice in e.body["choices"] for name in choice["delta"]}
        assert said == {"role", "content"}


async def test_each_of_several_streamed_answers_ends(upstreams: Upstreams) -> None:
    upstream = await upstreams()
    body = {**ASKED["/chat/completions"], "model": "gpt", "n": 3}
    events = await events_of(upstream, "/chat/completions", body)
    choices = [choice for event in events for choice in event.body.get("choices", [])]
    assert sorted(c["index"] for c in choices if c["finish_reason"]) == [0, 1, 2]


@pytest.mark.parametrize("model", ["gpt", "sim", "claude"])
async def test_the_events_of_a_response_are_numbered_and_open_empty(
    upstreams: Upstreams, model: str
) -> None:
    upstream = await upstreams()
    body = {**ASKED["/responses"], "model": model, "metadata": {"a": "b"}}
    events = await events_of(upstream, "/responses", body)
    assert [event.body["sequence_number"] for event in events] == list(range(len(events)))
    assert [event.name for event in events] == [event.body["type"] for event in events]
    known = {event.name: event.body for event in events}
    assert known["response.created"]["response"]["output"] == []
    assert known["response.output_item.added"]["item"]["content"] == []
    assert known["response.content_part.added"]["part"]["text"] == ""
    said = "".join(e.body["delta"] for e in events if e.name == "response.output_text.delta")
    ended = known["response.completed"]["response"]
    assert ended["output"][0]["content"][0]["text"] == said
    assert ended["id"] == known["response.created"]["response"]["id"]
    assert ended["usage"]["output_tokens"] > 0
    assert (ended["model"], ended["metadata"]) == (model, {"a": "b"})
    assert "litellm" not in json.dumps([event.body for event in events])


async def test_what_an_answer_cost_is_known_where_litellm_knows(upstreams: Upstreams) -> None:
    upstream = await upstreams()
    for path in ASKED:
        asked = {**ASKED[path], "model": "claude"}
        answer = await upstream.ask(call(path), path, asked)
        cost = upstream.cost_usd(answer)
        assert cost is not None
        assert 0 < cost < 0.01
        asked["model"] = "sim"
        assert upstream.cost_usd(await upstream.ask(call(path), path, asked)) is None
    assert upstream.cost_usd({}) is None


async def test_what_a_model_takes_is_known(upstreams: Upstreams) -> None:
    upstream = await upstreams()
    assert upstream.takes_n({"model": "gpt"})
    assert not upstream.takes_n({"model": "claude"})
    path = "/chat/completions"
    asked = {**ASKED[path], "model": "claude", "seed": 3}
    response = await upstream.open(call(path), path, asked)
    await response.read()
    assert response.status_code == 400
    assert "does not support 'seed'" in json.loads(response.content)["error"]["message"]
    lenient = await upstreams(params={"drop_params": True})
    assert (await lenient.open(call(path), path, asked)).status_code == 200


async def test_params_of_the_file_are_for_requests_that_say_nothing(
    simulated: SimulatedProvider, upstreams: Upstreams
) -> None:
    upstream = await upstreams(params={"temperature": 0.2, "extra_headers": {"x-team": "red"}})
    path = "/chat/completions"
    for said in ({}, {"temperature": 0.9}):
        await upstream.ask(call(path), path, {**ASKED[path], "model": "gpt", **said})
    first, second = simulated.requests
    assert first.body is not None
    assert second.body is not None
    assert (first.body["temperature"], second.body["temperature"]) == (0.2, 0.9)
    assert first.headers["x-team"] == second.headers["x-team"] == "red"


async def test_a_guard_in_litellm_stands_aside(
    upstreams: Upstreams, litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    class Watching(litellm.integrations.custom_logger.CustomLogger):
        async def async_post_call_success_deployment_hook(self, *_: Any) -> None:
            seen.append(inside_guard())

    monkeypatch.setattr(litellm, "callbacks", [Watching()])
    upstream = await upstreams()
    path = "/chat/completions"
    await upstream.ask(call(path), path, {**ASKED[path], "model": "gpt"})
    assert seen == [True]
    assert not inside_guard()


async def test_clients_and_models_are_told_apart(upstreams: Upstreams) -> None:
    upstream, other = await upstreams(), await upstreams(params={"temperature": 1})
    asked = call("/messages")
    assert upstream.source(asked, "a") == upstream.source(asked, "a")
    assert upstream.source(asked, "a") != upstream.source(asked, "b")
    assert upstream.source(asked, "a") != other.source(asked, "a")


async def test_a_model_that_litellm_cannot_place_is_found_at_the_start(litellm: Any) -> None:
    upstream = LiteLLMUpstream({"m": ModelConfig(model="whatever")})
    with pytest.raises(ConfigurationError, match=r"models\.m: .*'whatever'.*name the provider"):
        await upstream.prepare()


async def test_an_unknown_model_is_named_with_those_there_are(upstreams: Upstreams) -> None:
    upstream = await upstreams()
    with pytest.raises(RefusedError, match="no model 'x'; known: 'claude', 'gpt', 'sim'") as caught:
        await upstream.open(call("/responses"), "/responses", {"model": "x", "input": "Who?"})
    assert caught.value.status == 404
    with pytest.raises(RefusedError, match="names no `model`"):
        await upstream.open(call("/responses"), "/responses", {"model": 3, "input": "Who?"})


async def test_an_answer_that_is_too_long_is_not_read(
    simulated: SimulatedProvider, litellm: Any
) -> None:
    config = ModelConfig.model_validate({"model": "openai/simulated", "api_key": "k"})
    config = config.model_copy(update={"api_base": simulated.base_url})
    upstream = LiteLLMUpstream({"gpt": config}, answer_bytes=100)
    await upstream.prepare()
    path = "/chat/completions"
    for stream in (True, False):
        asked = {**ASKED[path], "model": "gpt", "stream": stream}
        response = await upstream.open(call(path), path, asked)
        with pytest.raises(RefusedError, match="longer than 100 bytes"):
            await response.read()


async def test_a_package_that_is_missing_is_named() -> None:
    try:
        try:
            raise ModuleNotFoundError("No module named 'mcp'", name="mcp")
        except ModuleNotFoundError as error:
            raise RuntimeError("APIConnectionError") from error
    except RuntimeError as error:
        refusal = refusal_of(error, "gpt", {})
    assert (refusal.status, refusal.code) == (501, "missing_dependency")
    assert "'mcp'" in refusal.message
