"""What goes wrong at the Responses and the Messages API, as the clients of their makers see it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulation import (
    CutConnection,
    EmptyAnswer,
    Fault,
    Garbled,
    Hang,
    IdenticalSamples,
    IgnoreN,
    IgnoreStreamOptions,
    MalformedJson,
    RateLimited,
    Refused,
    RefusedLogprobs,
    RefusedStreamOptions,
    ServerError,
    SimulatedProvider,
    Slow,
    Stall,
)

BRIDGE = "Tell me about the Sydney Harbour Bridge."
FUNCTION = {"type": "function", "name": "f"}
JUDGE = (
    "Context: The bridge was opened in 1932.\n\nSentence: The bridge was opened in 1932.\n\n"
    "Is the sentence supported by the context above? Answer Yes or No.\n\nAnswer: "
)


@dataclass(frozen=True)
class Client:
    """One of the clients: how it asks, streams, and what it calls what goes wrong."""

    provider: SimulatedProvider
    module: Any
    ask: Callable[..., Any]

    def text(self, question: str = BRIDGE, **params: Any) -> str:
        """Return the text of an answer."""
        answer = self.ask(question, **params)
        if self.module is openai:
            return answer.output_text
        return "".join(block.text for block in answer.content)

    def failure(self, **params: Any) -> Exception:
        """Return what the client raises; a stream is read to its end."""
        try:
            answer = self.ask(BRIDGE, **params)
            list(answer if params.get("stream") else ())
        except Exception as error:
            return error
        raise AssertionError("it went well")


@contextlib.contextmanager
def client_of(api: str, provider: SimulatedProvider, retries: int = 0) -> Iterator[Client]:
    if api == "responses":
        with openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=retries) as theirs:
            create = theirs.responses.create
            yield Client(provider, openai, lambda q, **p: create(model="m", input=q, **p))
        return
    with anthropic.Anthropic(
        base_url=provider.root_url, api_key="k", max_retries=retries
    ) as theirs:
        told = theirs.messages.create

        def ask(question: str, **params: Any) -> Any:
            messages: Any = [{"role": "user", "content": question}]
            return told(model="m", max_tokens=500, messages=messages, **params)

        yield Client(provider, anthropic, ask)


@pytest.fixture(params=["responses", "messages"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with SimulatedProvider(seed=7) as provider, client_of(request.param, provider) as client:
        yield client


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (RateLimited(), "RateLimitError"),
        (ServerError(), "InternalServerError"),
        (Refused(), "AuthenticationError"),
        (Refused(status=403), "PermissionDeniedError"),
        (Refused(status=404), "NotFoundError"),
        (CutConnection(), "APIConnectionError"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("stream", [False, True])
def test_faults_become_the_clients_errors(
    client: Client, fault: Fault, error: str, stream: bool
) -> None:
    client.provider.set_faults(fault)
    failure = client.failure(stream=stream)
    if not (stream and isinstance(fault, CutConnection)):
        assert isinstance(failure, getattr(client.module, error))
    (record,) = client.provider.requests
    assert record.fault == type(fault).__name__
    assert record.status == getattr(failure, "status_code", 200)
    assert client.provider.completion_tokens == 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_errors_at_anthropics_api_say_their_type(status: int, kind: str) -> None:
    fault: Fault = RateLimited()
    if status != 429:
        fault = ServerError(status=status) if status >= 500 else Refused(status=status)
    with (
        SimulatedProvider(faults=[fault]) as provider,
        client_of("messages", provider) as client,
    ):
        failure: Any = client.failure()
    assert (failure.status_code, failure.type) == (status, kind)
    assert failure.request_id == "req_0"
    assert failure.body["request_id"] == "req_0"


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_document_cannot_be_read(client: Client, stream: bool) -> None:
    client.provider.set_faults(MalformedJson())
    client.failure(stream=stream)
    assert client.provider.requests[-1].status == 200


@pytest.mark.parametrize("fault", [Hang(), Stall(), Slow(seconds=30)], ids=repr)
@pytest.mark.parametrize("stream", [False, True])
def test_what_takes_time_runs_into_the_clients_limit(
    client: Client, fault: Fault, stream: bool
) -> None:
    client.provider.set_faults(fault)
    failure = client.failure(stream=stream, timeout=0.5)
    # In the middle of a stream the clients pass on what their transport raises.
    assert type(failure).__name__ in ("APITimeoutError", "ReadTimeout")
    client.provider.wait_calls(1)
    client.provider.wait_idle()
    assert client.provider.requests[-1].disconnected


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_what_passes_is_tried_again_by_the_client(api: str) -> None:
    fault = RateLimited(first=2, retry_after_s=0.01)
    with (
        SimulatedProvider(faults=[fault]) as provider,
        client_of(api, provider, retries=2) as client,
    ):
        assert client.text()
    assert [request.status for request in provider.requests] == [429, 429, 200]


def test_a_stream_that_stalls_goes_on_when_released(client: Client) -> None:
    client.provider.set_faults(Stall())
    with client.ask(BRIDGE, stream=True) as stream:
        first = next(iter(stream))
        client.provider.release()
        *_, last = stream
    assert first.type in ("response.created", "message_start")
    assert last.type in ("response.completed", "message_stop")
    assert client.provider.completion_tokens > 1


@pytest.mark.parametrize("api", ["responses", "messages"])
@pytest.mark.parametrize("faults", [[], [EmptyAnswer()]])
def test_answers_and_streams_take_their_time(api: str, faults: list[Fault]) -> None:
    with (
        SimulatedProvider(latency_s=0.2, first_token_s=0.05, faults=faults) as provider,
        client_of(api, provider) as client,
    ):
        client.text()
        list(client.ask(BRIDGE, stream=True))
        took = [record.ended_s - record.started_s for record in provider.requests]
    assert min(took) >= 0.2


def test_faults_in_what_is_said(client: Client) -> None:
    client.provider.set_faults(IdenticalSamples())
    assert len({client.text() for _ in range(3)}) == 1
    client.provider.set_faults(EmptyAnswer())
    assert client.text() == ""
    with client.ask(BRIDGE, stream=True) as stream:
        kinds = [event.type for event in stream]
    assert not {"response.output_text.delta", "content_block_delta"} & {*kinds}
    assert kinds[-1] in ("response.completed", "message_stop")
    client.provider.set_faults(Garbled(style="refusal"))
    assert "can't help" in client.text(JUDGE)
    assert client.text().startswith("The Sydney")


def test_faults_that_only_chats_know_do_no_harm(client: Client) -> None:
    for fault in (IgnoreN(), IgnoreStreamOptions(), RefusedLogprobs(), RefusedStreamOptions()):
        client.provider.set_faults(fault)
        assert client.text().startswith("The Sydney")
    client.provider.set_faults(IgnoreStreamOptions())
    spent = client.provider.completion_tokens
    list(client.ask(BRIDGE, stream=True))
    assert client.provider.completion_tokens > spent


def test_options_of_a_stream_may_be_refused() -> None:
    with SimulatedProvider() as provider, client_of("responses", provider) as client:
        provider.set_faults(RefusedStreamOptions())
        failure = client.failure(stream=True, stream_options={"include_obfuscation": False})
    assert isinstance(failure, openai.BadRequestError)


def test_what_is_not_served_is_not_found() -> None:
    with (
        SimulatedProvider() as provider,
        openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as theirs,
        anthropic.Anthropic(base_url=provider.root_url, api_key="k", max_retries=0) as others,
    ):
        with pytest.raises(openai.NotFoundError, match="Invalid URL"):
            theirs.responses.retrieve("resp_1")
        with pytest.raises(anthropic.NotFoundError, match="Invalid URL"):
            others.messages.batches.list()


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": 3}, "input"),
        ({"input": [3]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"type": "lost"}]}, "input[0].type"),
        (
            {"input": [{"role": "user", "content": [{"type": "text2"}]}]},
            "input[0].content[0].type",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            "input[0].content[0]",
        ),
        ({"input": [{"type": "function_call", "call_id": "c", "name": "f"}]}, "input[0].arguments"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input"),
        (
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}]},
            "input",
        ),
        ({"max_output_tokens": 15}, "max_output_tokens"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"tools": [{"name": "f"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools[0].name"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "x"}}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto"}}, "tool_choice.tools"),
        ({"text": {"format": {"type": "json_object"}}}, "input"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"previous_response_id": "resp_9"}, "previous_response_id"),
        ({"previous_response_id": "a", "conversation": "b"}, "previous_response_id"),
    ],
    ids=repr,
)
def test_refusals_at_openais_api_say_where(params: Any, param: str) -> None:
    with SimulatedProvider() as provider, client_of("responses", provider) as client:
        failure: Any = client.failure(extra_body=params)
    assert isinstance(failure, openai.BadRequestError)
    assert failure.param == param
    assert failure.type == "invalid_request_error"
    assert failure.request_id == "req_0"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.sampled_from(["", "x", "function"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "id", "call_id", "output", "name"]),
            inner | st.sampled_from(["message", "user", "text", "tool_result", "function_call"]),
            max_size=4,
        )
    ),
    max_leaves=6,
)
PLACES = ["input", "messages", "system", "tools", "tool_choice", "text", "output_config", "include"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from([*PLACES, "conversation"]), value=JUNK)
def test_nothing_in_a_body_breaks_the_server(client: Client, place: str, value: Any) -> None:
    """It answers, or refuses in words, whatever stands where."""
    with contextlib.suppress(client.module.BadRequestError):
        assert client.ask(BRIDGE, extra_body={place: value}).id
