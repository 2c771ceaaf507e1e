"""The guard and the probabilities of the response's tokens, over real HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from resay import ConfigurationError, DeadlineExceededError, Guard, TokenLogprob
from simulation import (
    Hang,
    IgnoreLogprobs,
    RefusedLogprobs,
    ServerError,
    SimulatedProvider,
    Subject,
    World,
)
from support.later import LazyImport

openai: Any = LazyImport("openai")

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
QUESTION = "Tell me about the Sydney Harbour Bridge."
NONE = "logprobs: the provider returned no token log-probabilities for the response"
RESPONSE = "It is a bridge. It has 31 lamps."
TOKENS = [
    TokenLogprob(text, logprob)
    for text, logprob in [("It is a", -0.1), (" bridge.", -0.2), (" It has", -0.1), (" 31", -4.0)]
] + [TokenLogprob(" lamps.", -0.1)]


def guard(*more: dict[str, Any], limits: dict[str, Any] | None = None, **config: Any) -> Guard:
    chain = [{"method": "logprobs", **config}, *more]
    return Guard({"chain": chain, "limits": limits or {}}, model=MODEL)


@pytest.mark.parametrize("measure", ["probability", "entropy"])
async def test_invented_words_are_less_certain(simulated: SimulatedProvider, measure: str) -> None:
    answer = await guard(measure=measure, pool="maximum").aask(QUESTION, params=simulated.params)
    known = {w for s in World.default().subjects[:1] for wording in s.wordings for w in wording}
    scores = [(s.text in known, s.score or 0.0) for s in answer.verdict.sentences]
    assert len({is_known for is_known, _ in scores}) == 2
    assert max(s for known, s in scores if known) < min(s for known, s in scores if not known)
    assert answer.verdict.decision == "flagged"
    # The tokens come with the response: the check itself asks nobody.
    assert (answer.usage.calls, answer.verdict.usage.calls, simulated.calls) == (1, 0, 1)


async def test_alternatives_are_asked_for_as_the_chain_says(simulated: SimulatedProvider) -> None:
    await guard().aask(QUESTION, params=simulated.params)
    await guard(measure="entropy", top=7).aask(QUESTION, params=simulated.params)
    await guard(measure="entropy").aask(QUESTION, params={"top_logprobs": 9, **simulated.params})
    bodies = [request.body or {} for request in simulated.requests]
    assert [b.get("logprobs") for b in bodies] == [True] * 3
    assert [b.get("top_logprobs") for b in bodies] == [None, 7, 9]


async def test_a_chain_that_needs_none_asks_for_none(simulated: SimulatedProvider) -> None:
    await Guard({"chain": [{"method": "ngram"}]}, model=MODEL).aask(
        QUESTION, params=simulated.params
    )
    assert not any("logprobs" in (request.body or {}) for request in simulated.requests)


async def test_samples_and_judges_are_not_asked_for_them(simulated: SimulatedProvider) -> None:
    checked = guard({"method": "ngram"}, {"method": "direct_question"})
    answer = await checked.aask(QUESTION, params=simulated.params)
    assert [step.method for step in answer.verdict.steps] == [
        "logprobs",
        "ngram",
        "direct_question",
    ]
    asked = ["logprobs" in (request.body or {}) for request in simulated.requests]
    assert asked.count(True) == 1
    assert len(asked) > 2


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refusal_never_costs_the_answer(simulated: SimulatedProvider, status: int) -> None:
    simulated.set_faults(RefusedLogprobs(status=status))
    answer = await guard().aask(QUESTION, params=simulated.params)
    assert answer.text
    assert (answer.verdict.decision, answer.verdict.reason) == ("inconclusive", NONE)
    assert answer.usage.calls == simulated.calls == 2


async def test_a_provider_that_returns_none_never_costs_the_answer(
    simulated: SimulatedProvider,
) -> None:
    simulated.set_faults(IgnoreLogprobs())
    answer = await guard().aask(QUESTION, params=simulated.params)
    assert answer.text
    assert (answer.verdict.decision, answer.verdict.reason) == ("inconclusive", NONE)
    assert simulated.calls == 1


async def test_a_refusal_after_a_failure_is_still_met(simulated: SimulatedProvider) -> None:
    simulated.set_faults(ServerError(first=1), RefusedLogprobs(), ServerError(first=1))
    answer = await guard(limits={"retries": 1}).aask(QUESTION, params=simulated.params)
    assert (bool(answer.text), simulated.calls) == (True, 4)


async def test_the_deadline_holds_for_both_calls(simulated: SimulatedProvider) -> None:
    simulated.set_faults(RefusedLogprobs(), Hang())
    with pytest.raises(DeadlineExceededError):
        await guard(limits={"deadline_s": 0.5}).aask(QUESTION, params=simulated.params)


async def test_characters_cut_into_several_tokens_are_aligned() -> None:
    facts = ["The bridge 🌉 is lit at night.", "It was made of steel 🏗 in 1932."]
    world = World([Subject("the bridge", facts=facts)])
    with SimulatedProvider(world=world) as simulated:
        answer = await guard().aask("Tell me about the bridge.", params=simulated.params)
    assert answer.verdict.decision == "consistent"
    assert answer.completion is not None
    assert len(answer.completion.logprobs) > len(answer.text.split()) + 2


# A response that is there already


@pytest.mark.parametrize("form", ["values", "dictionaries"])
async def test_check_takes_tokens(form: str) -> None:
    listed = [
        {k: v for k, v in asdict(token).items() if k in ("token", "logprob")} for token in TOKENS
    ]
    given: Any = TOKENS if form == "values" else listed
    verdict = await guard(pool="maximum").acheck(RESPONSE, logprobs=given)
    assert [s.flagged for s in verdict.sentences] == [False, True]
    assert verdict.sentences[1].reason == "its least probable token is '31', with probability 0.018"
    assert verdict.usage.calls == 0


async def test_check_takes_what_the_sdk_returned(simulated: SimulatedProvider) -> None:
    async with openai.AsyncOpenAI(base_url=simulated.base_url, api_key="k") as sdk:
        done = await sdk.chat.completions.create(
            model="m", messages=[{"role": "user", "content": QUESTION}], logprobs=True
        )
    (choice,) = done.choices
    assert choice.message.content is not None
    assert choice.logprobs is not None
    verdict = await guard(pool="maximum").acheck(
        choice.message.content, logprobs=choice.logprobs.content
    )
    assert verdict.flagged
    assert simulated.calls == 1


def test_the_sync_twin_takes_them_too() -> None:
    verdict = guard(pool="maximum").check(RESPONSE, logprobs=TOKENS)
    assert [s.flagged for s in verdict.sentences] == [False, True]


async def test_tokens_of_another_text_decide_nothing() -> None:
    verdict = await guard().acheck("It is a tower. It has 31 lamps.", logprobs=TOKENS)
    assert verdict.decision == "inconclusive"
    assert "do not make up the text of the response" in verdict.reason


async def test_an_ensemble_gets_them_as_well() -> None:
    parts = [{"scorer": {"method": "logprobs", "pool": "maximum"}}]
    checked = Guard({"chain": [{"method": "ensemble", "parts": parts}]})
    verdict = await checked.acheck(RESPONSE, logprobs=TOKENS)
    assert [s.flagged for s in verdict.sentences] == [False, True]


@pytest.mark.parametrize(
    ("policy", "logprobs", "message"),
    [
        (
            "logprobs",
            None,
            "method 'logprobs' needs the response's token probabilities.*pass them as `logprobs`",
        ),
        ("logprobs", [], "method 'logprobs' needs the response's token probabilities"),
        ("logprobs", [{"text": "x"}], "entry 0 of logprobs is not a token"),
        ("ngram", TOKENS, "no step of the chain uses token probabilities"),
    ],
)
async def test_impossible_settings_are_reported(policy: str, logprobs: Any, message: str) -> None:
    checked = Guard({"chain": [{"method": policy}]})
    with pytest.raises(ConfigurationError, match=message):
        await checked.acheck(RESPONSE, logprobs=logprobs, samples=["a"] * 3)
