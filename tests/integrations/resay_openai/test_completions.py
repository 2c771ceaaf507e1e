"""Completions of plain text by OpenAI's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from resay import HallucinationBlocked, UncheckableError
from resay_openai import GuardedAzureOpenAI, guard_http_client, verdict_of
from simulation import Garbled, RateLimited, RefusedLogprobs, SimulatedProvider
from support.known_world import KNOWN, MADE_UP

pytestmark = pytest.mark.anyio

UNCACHED = {"cache": {"store": "none"}}
NGRAM = UNCACHED | {"chain": [{"method": "ngram"}], "sampling": {"max": 3, "min": 3}}
JUDGED = UNCACHED | {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None},
}
MESSAGE = "No answer today."
REPLACE = JUDGED | {"action": {"do": "block", "message": MESSAGE}}
MODES = pytest.mark.parametrize("mode", ["hold", "after", "buffer"])


def complete(client: Any, prompt: Any, **kwargs: Any) -> Any:
    given = {"model": "simulated", "max_tokens": 200, **kwargs}
    return client.completions.create(prompt=prompt, **given)


def bodies(provider: SimulatedProvider) -> list[dict[str, Any]]:
    assert {request.path for request in provider.requests} == {"/v1/completions"}
    return [dict(request.body or {}) for request in provider.requests]


async def test_what_is_made_up_is_flagged_and_what_is_known_is_not(make, done, provider) -> None:
    client = make(JUDGED)
    made_up, known = await done(complete(client, MADE_UP)), await done(complete(client, KNOWN))
    assert type(made_up) is openai.types.Completion
    assert (verdict_of(made_up).flagged, verdict_of(made_up).via) == (True, "native")
    assert verdict_of(known).decision == "consistent"
    assert verdict_of(made_up).usage.prompt_tokens > 0
    samples = [body for body in bodies(provider) if body.get("n") == 3]
    assert [(body["prompt"], body["max_tokens"]) for body in samples] == [
        (MADE_UP, 200),
        (KNOWN, 200),
    ]


async def test_a_judge_that_cannot_be_read_is_asked_once_more(make, done, provider) -> None:
    provider.set_faults(Garbled(style="prose", first=3))
    assert verdict_of(await done(complete(make(JUDGED), KNOWN))).decision == "consistent"
    talks = [body["prompt"] for body in bodies(provider) if "\n\nUser: " in body["prompt"]]
    assert len(talks) == 3
    assert all(talk.startswith("User: ") and talk.endswith("\n\nAssistant:") for talk in talks)


@MODES
@pytest.mark.all_turns
async def test_streams_are_guarded(make, done, mode) -> None:
    client = make(JUDGED | {"stream_mode": mode})
    options = {"include_usage": True}
    pieces = await done(complete(client, MADE_UP, stream=True, stream_options=options))
    text = "".join(choice.text for piece in pieces for choice in piece.choices)
    (told,) = [piece for piece in pieces if verdict_of(piece)]
    verdict = verdict_of(told)
    assert verdict.flagged
    assert [s.text for s in verdict.sentences] == sentences_of(text)
    assert told.choices[0].finish_reason == "stop"
    assert pieces[-1].usage.completion_tokens > 0


def sentences_of(text: str) -> list[str]:
    return [f"{sentence}." for sentence in text.strip().removesuffix(".").split(". ")]


@MODES
async def test_what_is_withheld_is_replaced(make, done, mode) -> None:
    client = make(REPLACE | {"stream_mode": mode})
    (whole,) = (await done(complete(client, MADE_UP))).choices
    assert (whole.text, whole.finish_reason) == (MESSAGE, "content_filter")
    pieces = await done(complete(client, MADE_UP, stream=True))
    text = "".join(choice.text for piece in pieces for choice in piece.choices)
    assert text.endswith(MESSAGE)
    assert ("Zorblatt" in text) == (mode == "after")
    assert pieces[-1].choices[0].finish_reason == "content_filter"


async def test_it_raises_where_the_policy_says_so(make, done) -> None:
    client = make(JUDGED | {"action": {"do": "block", "exit": "raise"}})
    with pytest.raises(HallucinationBlocked):
        await done(complete(client, MADE_UP))


async def test_a_flagged_answer_is_written_again(make, done, provider) -> None:
    def find(search: object) -> list[str]:
        return ["The Zorblatt is a tower of glass. The Zorblatt stands in Oslo."]

    repairing = {"do": "regenerate", "mode": "rewrite"}
    client = make(JUDGED | {"action": repairing}, retriever=find)
    answer = await done(complete(client, MADE_UP, suffix="!"))
    assert "glass" in answer.choices[0].text
    assert (answer.choices[0].finish_reason, answer.hallucination["action"]) == (
        "stop",
        "regenerate",
    )
    asked = [body for body in bodies(provider) if body["prompt"].startswith(f"{MADE_UP}\n")]
    assert len(asked) == 1
    assert "tower of glass" in asked[0]["prompt"]
    assert "suffix" not in asked[0]


async def test_each_of_several_answers_is_checked(make, done, provider) -> None:
    answer = await done(complete(make(NGRAM), MADE_UP, n=2, best_of=4))
    assert [verdict_of(choice).decision for choice in answer.choices] == ["flagged"] * 2
    assert verdict_of(answer).flagged
    main, *samples = bodies(provider)
    assert main["best_of"] == 4
    assert not any("best_of" in sample for sample in samples)
    pieces = await done(complete(make(NGRAM), MADE_UP, n=2, stream=True))
    told = [piece for piece in pieces if verdict_of(piece)]
    assert sorted(piece.choices[0].index for piece in told) == [0, 1]


@pytest.mark.parametrize(
    ("prompt", "more", "reason"),
    [
        (MADE_UP, {"echo": True}, "repeats the prompt"),
        ([MADE_UP, KNOWN], {}, "several prompts"),
        ([7, 8, 9], {}, "not given as a text"),
    ],
)
async def test_what_cannot_be_checked_is_refused_or_given_and_says_why(
    make, done, provider, prompt, more, reason
) -> None:
    with pytest.raises(UncheckableError, match=reason):
        await done(complete(make(REPLACE), prompt, **more))
    with pytest.raises(UncheckableError, match=reason):
        await done(complete(make(REPLACE), prompt, stream=True, **more))
    assert not provider.requests
    client = make(REPLACE | {"on_uncheckable": "skip"})
    answer = await done(complete(client, prompt, **more))
    verdict = verdict_of(answer)
    assert verdict.decision == "skipped"
    assert reason in verdict.reason
    assert all(choice.finish_reason == "stop" for choice in answer.choices)
    pieces = await done(complete(client, prompt, stream=True, **more))
    assert any(reason in verdict_of(piece).reason for piece in pieces if verdict_of(piece))
    assert len(provider.requests) == 2


async def test_probabilities_are_those_of_the_main_call(make, done, provider) -> None:
    policy = UNCACHED | {"chain": [{"method": "logprobs"}]}
    answer = await done(complete(make(policy), MADE_UP))
    assert verdict_of(answer).score is not None
    assert answer.choices[0].logprobs is None
    assert len(bodies(provider)) == 1
    own = await done(complete(make(policy), MADE_UP, logprobs=0))
    assert own.choices[0].logprobs.token_logprobs
    provider.set_faults(RefusedLogprobs())
    refused = await done(complete(make(policy), MADE_UP))
    assert verdict_of(refused).decision == "inconclusive"


@pytest.mark.all_turns
async def test_errors_are_the_providers(make, done, provider) -> None:
    client = make(NGRAM)
    with pytest.raises(openai.BadRequestError, match="best_of"):
        await done(complete(client, MADE_UP, best_of=2, stream=True))
    provider.set_faults(RateLimited(only="text"))
    with pytest.raises(openai.RateLimitError):
        await done(complete(client, MADE_UP))


async def test_raw_responses_have_the_verdict(make, done) -> None:
    raw = make(NGRAM).completions.with_raw_response
    answer = await done(raw.create(model="simulated", prompt=MADE_UP, max_tokens=200))
    assert json.loads(answer.http_response.text)["hallucination"]["decision"] == "flagged"


def test_azures_deployments_are_guarded(provider) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        asked = json.loads(request.content)
        said = [{"index": i, "text": f"It is {i}."} for i in range(asked.get("n", 1))]
        return httpx.Response(200, json={"choices": said, "model": "m", "usage": {}})

    with GuardedAzureOpenAI(
        policy=NGRAM,
        azure_endpoint="https://azure.test",
        api_version="2025-04-01-preview",
        api_key="k",
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    ) as client:
        assert verdict_of(complete(client, MADE_UP, model="mine")).decision == "consistent"
    assert set(seen) == {"/openai/deployments/mine/completions"}


@pytest.fixture
def plain(provider) -> Iterator[Any]:
    http = guard_http_client(httpx.Client(), JUDGED)
    with openai.OpenAI(
        base_url=provider.base_url, api_key="k", max_retries=0, http_client=http
    ) as client:
        yield client


def test_a_guarded_http_client_knows_them(plain: Any, provider: SimulatedProvider) -> None:
    assert verdict_of(complete(plain, MADE_UP)).flagged
    pieces = list(complete(plain, MADE_UP, stream=True))
    assert verdict_of(pieces[-1]).flagged
    assert bodies(provider)
    # Their path ends like that of chat completions, which stay what they are.
    chat: Any = [{"role": "user", "content": MADE_UP}]
    answer = plain.chat.completions.create(model="simulated", messages=chat)
    assert verdict_of(answer).flagged
