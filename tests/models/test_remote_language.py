from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from resay import TokenLogprob
from resay.errors import ConfigurationError, ScorerError
from resay.models.language import CompletionsApi, RemoteLanguageModel
from resay.plugins import ModelConfig
from simulation import (
    Fault,
    IgnoreLogprobs,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
)
from simulation.server import Exchange, HandlerServer

pytestmark = pytest.mark.anyio

PROMPT = "Tell me about Marie Curie.\n\n"
TEXT = "Marie Curie was born in Warsaw in 1867. She kept 42 owls."
APIS: tuple[CompletionsApi, ...] = ("echo", "prompt_logprobs")
both = pytest.mark.parametrize("api", APIS)


@asynccontextmanager
async def scorer(url: str, **settings: Any) -> AsyncIterator[RemoteLanguageModel]:
    made = RemoteLanguageModel(ModelConfig(name="base", url=url, api_key="sk-secret"), **settings)
    yield made
    await made.aclose()


async def read(url: str, prompt: str = PROMPT, **settings: Any) -> tuple[TokenLogprob, ...]:
    async with scorer(url, **settings) as model:
        return await model.score_text(prompt, TEXT)


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Any]) -> Iterator[str]:
    """Serve a choice made of the request's body."""

    async def handle(exchange: Exchange) -> None:
        data = json.dumps({"choices": [answer(json.loads(exchange.body))]}).encode()
        await exchange.start(200, "application/json", [("content-length", str(len(data)))])
        await exchange.send(data, last=True)

    server = HandlerServer(handle)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


@both
async def test_the_tokens_of_prompt_and_text(
    simulated: SimulatedProvider, api: CompletionsApi
) -> None:
    tokens = await read(simulated.base_url, api=api, top=3)
    assert "".join(token.token for token in tokens) == PROMPT + TEXT
    assert all(t.logprob is not None and t.logprob <= 0 for t in tokens[1:])
    assert all(len(token.top) >= 3 for token in tokens[1:])
    sent = simulated.requests[0]
    assert (sent.path, sent.body and sent.body["prompt"]) == ("/v1/completions", PROMPT + TEXT)


async def test_both_apis_give_the_same(simulated: SimulatedProvider) -> None:
    echo, places = [await read(simulated.base_url, api=api, top=3) for api in APIS]
    assert [(t.token, t.logprob) for t in echo[1:]] == [(t.token, t.logprob) for t in places[1:]]
    # vLLM says how probable the first token is behind a beginning-of-text token.
    assert (echo[0].logprob, places[0].logprob) == (None, pytest.approx(-0.06, abs=0.06))


async def test_what_a_server_is_asked(simulated: SimulatedProvider) -> None:
    for api in APIS:
        for top in (0, 5):
            await read(simulated.base_url, api=api, top=top)
    bodies = [dict(request.body or {}) for request in simulated.requests]
    assert {body.pop("prompt") for body in bodies} == {PROMPT + TEXT}
    shared = {"model": "base", "temperature": 0}
    places = {**shared, "max_tokens": 1, "return_token_ids": True}
    assert bodies == [
        {**shared, "max_tokens": 0, "echo": True, "logprobs": 1},
        {**shared, "max_tokens": 0, "echo": True, "logprobs": 5},
        {**places, "prompt_logprobs": 0},
        {**places, "prompt_logprobs": 5},
    ]


async def test_what_a_server_writes_itself_is_left_out() -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        tokens = [body["prompt"], " And", " so."]
        logprobs = {"tokens": tokens, "token_logprobs": [None, -1.0, -1.0]}
        return {"text": "".join(tokens), "logprobs": logprobs}

    with serving(answer) as url:
        tokens = await read(url)
    assert tokens == (TokenLogprob(PROMPT + TEXT, None),)


PLACES = ["Tell", " me", " about Marie Curie.\n\n", "Marie Curie", TEXT[11:]]


def place(own: str, *others: str) -> dict[str, Any]:
    # The order of the entries says nothing.
    listed = sorted((own, *others))
    return {str(i): {"logprob": -float(i + 1), "decoded_token": t} for i, t in enumerate(listed)}


@pytest.mark.parametrize("begin", [True, False], ids=["beginning token", "none"])
async def test_a_server_that_does_not_give_ids(begin: bool) -> None:
    """Which of the likely tokens is the prompt's own shows in what they spell."""
    shown = PLACES if begin else PLACES[1:]
    listed = [None, *(place(text, " zebra", "Mar", "a") for text in shown)]
    with serving(lambda _: {"prompt_logprobs": listed}) as url:
        tokens = await read(url, api="prompt_logprobs", top=3)
    assert [token.token for token in tokens] == PLACES
    assert (tokens[0].logprob is None) is not begin
    assert len(tokens[1].top) == 4


async def test_tokens_that_may_be_either_are_none() -> None:
    listed = [None, place("Marie", "Mari"), place(" Curie", "e Curie"), place(TEXT[11:])]
    with (
        serving(lambda _: {"prompt_logprobs": listed}) as url,
        pytest.raises(ScorerError, match="does not say which of the likely tokens"),
    ):
        await read(url, prompt="", api="prompt_logprobs", top=2)


@both
async def test_a_server_without_log_probabilities_is_told_apart(
    simulated: SimulatedProvider, api: CompletionsApi
) -> None:
    simulated.set_faults(IgnoreLogprobs())
    with pytest.raises(ScorerError, match=f"it supports `{api}`, or change `api`"):
        await read(simulated.base_url, api=api)


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (ServerError(first=1, status=503), 2),
        (RateLimited(first=2, retry_after_s=0), 3),
        (Refused(first=1, status=408), 2),
    ],
)
async def test_failures_that_may_pass_are_tried_again(
    simulated: SimulatedProvider, fault: Fault, calls: int
) -> None:
    simulated.set_faults(fault)
    assert await read(simulated.base_url)
    assert simulated.calls == calls


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (Refused(status=400), ScorerError, r"at '127\.0\.0\.1:\d+' answered .* with HTTP 400"),
        (Refused(status=401), ConfigurationError, "HTTP 401; check `api_key`"),
        (MalformedJson(), ScorerError, "cannot be read"),
    ],
)
async def test_failures_for_good_say_who_and_what(
    simulated: SimulatedProvider, fault: Fault, kind: type[Exception], message: str
) -> None:
    simulated.set_faults(fault)
    with pytest.raises(kind, match=message) as caught:
        await read(simulated.base_url)
    assert simulated.calls == 1
    for secret in ("sk-secret", "Curie", "owls"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "choice",
    [
        {"prompt_logprobs": [None, {"1": {"logprob": -1.0}}]},
        {"prompt_logprobs": [None, {"1": {"logprob": -1.0, "decoded_token": None}}]},
        {"prompt_logprobs": [None, {"1": {"logprob": "x", "decoded_token": "a"}}]},
        {"prompt_logprobs": 7},
        {
            "prompt_logprobs": [None, {"1": {"logprob": -1.0, "decoded_token": "a"}}],
            "prompt_token_ids": [0, 2],
        },
        [],
    ],
)
async def test_answers_of_another_form_are_refused(choice: Any) -> None:
    with serving(lambda _: choice) as url, pytest.raises(ScorerError, match="cannot be read"):
        await read(url, api="prompt_logprobs")


def test_a_model_needs_its_name() -> None:
    with pytest.raises(ConfigurationError, match="`name` is missing"):
        RemoteLanguageModel(ModelConfig(url="http://localhost:8000"))
