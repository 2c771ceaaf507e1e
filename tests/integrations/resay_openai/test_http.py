"""The fallback for programs that make the SDK's client themselves: guarded HTTP clients."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest

from resay.adapters import marked
from resay.errors import ConfigurationError
from resay_openai import guard_http_client, verdict_of
from simulation import Hang, RateLimited, RefusedLogprobs
from support.known_world import KNOWN, MADE_UP

pytestmark = pytest.mark.anyio

NGRAM = {
    "cache": {"store": "none"},
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 3, "min": 3},
}
MESSAGE = "No answer today."
BLOCK = NGRAM | {"action": {"do": "block", "message": MESSAGE}}
RAISE = NGRAM | {"action": {"do": "block", "exit": "raise"}}


@pytest.fixture(params=["httpx", "httpx2"])
def package(request: pytest.FixtureRequest) -> Any:
    package = pytest.importorskip(request.param)
    with package.Client() as client:
        try:
            openai.OpenAI(api_key="k", http_client=client)
        except TypeError:
            pytest.skip(f"openai {openai.__version__} takes no client of {request.param}")
    return package


@pytest.fixture
def make(package: Any, provider: Any) -> Iterator[Any]:
    made: list[openai.OpenAI] = []

    def make(policy: Any, **kwargs: Any) -> openai.OpenAI:
        http = guard_http_client(package.Client(), policy)
        given = {"base_url": provider.base_url, "api_key": "k", "max_retries": 0, **kwargs}
        made.append(openai.OpenAI(http_client=http, **given))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
async def make_async(package: Any, provider: Any) -> AsyncIterator[Any]:
    made: list[openai.AsyncOpenAI] = []

    def make(policy: Any) -> openai.AsyncOpenAI:
        http = guard_http_client(package.AsyncClient(), policy)
        made.append(
            openai.AsyncOpenAI(
                base_url=provider.base_url, api_key="k", max_retries=0, http_client=http
            )
        )
        return made[-1]

    yield make
    for client in made:
        await client.close()


def asking(question: str) -> Any:
    return {"model": "simulated", "messages": [{"role": "user", "content": question}]}


def test_a_plain_client_is_guarded(make, provider) -> None:
    answer = make(NGRAM).chat.completions.create(**asking(MADE_UP))
    assert type(answer) is openai.types.chat.ChatCompletion
    assert verdict_of(answer).flagged
    assert len(provider.requests) == 2


def test_responses_are_guarded_too(make) -> None:
    assert verdict_of(make(NGRAM).responses.create(model="simulated", input=MADE_UP)).flagged


async def test_an_async_client_is_guarded(make_async, provider) -> None:
    client = make_async(NGRAM)
    assert verdict_of(await client.chat.completions.create(**asking(MADE_UP))).flagged
    pieces = await client.chat.completions.create(**asking(MADE_UP), stream=True)
    assert verdict_of([piece async for piece in pieces][-1]).flagged


@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
def test_streams_are_guarded(make, mode) -> None:
    pieces = list(
        make(NGRAM | {"stream_mode": mode}).chat.completions.create(**asking(MADE_UP), stream=True)
    )
    assert [bool(verdict_of(piece)) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_the_raw_json_has_the_verdict(make) -> None:
    answer = make(NGRAM).chat.completions.with_raw_response.create(**asking(MADE_UP))
    assert json.loads(answer.http_response.text)["hallucination"]["decision"] == "flagged"


def test_a_request_that_cannot_be_checked_is_refused(make, provider) -> None:
    client = make(BLOCK, max_retries=2)
    for way in ({}, {"stream": True}):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(**asking(MADE_UP), **way, web_search_options={})
        assert caught.value.code == "uncheckable_request"
        assert caught.value.param == "web_search_options"
    assert not provider.requests


async def test_an_async_client_refuses_it_too(make_async, provider) -> None:
    with pytest.raises(openai.BadRequestError):
        await make_async(BLOCK).responses.create(
            model="simulated", input=MADE_UP, conversation="conv_1"
        )
    assert not provider.requests


def test_a_withheld_answer_is_replaced(make) -> None:
    answer = make(BLOCK).chat.completions.create(**asking(MADE_UP))
    assert answer.choices[0].message.content == MESSAGE
    assert answer.choices[0].finish_reason == "content_filter"


def test_what_raises_is_not_tried_again(make, provider) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        make(RAISE, max_retries=2).chat.completions.create(**asking(MADE_UP))
    assert caught.value.code == "hallucination_blocked"
    assert "Zorblatt" not in str(caught.value.body)
    assert len(provider.requests) == 2


async def test_what_raises_is_not_tried_again_by_an_async_client(make_async, provider) -> None:
    with pytest.raises(openai.UnprocessableEntityError):
        await make_async(RAISE).chat.completions.create(**asking(MADE_UP))


def test_tries_that_fail_ask_for_no_samples(make, provider) -> None:
    provider.set_faults(RateLimited(first=2, retry_after_s=0.01))
    answer = make(NGRAM, max_retries=2).chat.completions.create(**asking(MADE_UP))
    assert verdict_of(answer).samples == 3
    assert [request.status for request in provider.requests] == [429, 429, 200, 200]


def test_errors_are_the_sdk_s_own(make, provider) -> None:
    with pytest.raises(openai.BadRequestError):
        make(NGRAM).chat.completions.create(model="simulated", messages=[{"role": "nobody"}])
    provider.set_faults(Hang())
    with pytest.raises(openai.APITimeoutError):
        make(NGRAM, timeout=1, max_retries=0).chat.completions.create(**asking(KNOWN))
    assert len(provider.requests) == 2


@pytest.mark.parametrize("faults", [[], [RefusedLogprobs()]])
def test_probabilities_are_asked_for_and_not_shown(make, provider, faults) -> None:
    provider.set_faults(*faults)
    client = make({"chain": [{"method": "logprobs"}]})
    answer = client.chat.completions.create(**asking(KNOWN))
    assert verdict_of(answer).inconclusive == bool(faults)
    assert answer.choices[0].logprobs is None


def test_other_requests_are_left_alone(make, provider) -> None:
    client = make(NGRAM)
    assert [model.id for model in client.models.list()] == ["simulated"]
    with marked():
        assert verdict_of(client.chat.completions.create(**asking(MADE_UP))) is None
    assert len(provider.requests) == 2


def test_it_is_still_a_client_of_its_kind(package) -> None:
    class Mine(package.Client):
        pass

    with Mine(headers={"x-mine": "1"}) as client:
        guarded = guard_http_client(client, NGRAM)
        assert isinstance(guarded, Mine)
        assert guarded.headers["x-mine"] == "1"
        # Another policy takes the place of the first.
        assert type(guard_http_client(guarded, BLOCK)) is type(guarded)


@pytest.mark.parametrize("wrong", ["client", 3, importlib])
def test_what_is_no_client_is_refused(wrong) -> None:
    with pytest.raises(ConfigurationError, match="takes a client of httpx or httpx2"):
        guard_http_client(wrong, NGRAM)
