from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from rich.console import Console

from performance.second import Way, Worlds, ask
from resay import Guard, Passage, Policy, Request, Usage, Verdict
from resay.errors import ConfigurationError, PolicyError, ProviderTimeoutError
from resay.plugins import Completion, Completions, Evidence
from resay.reporting.render.terminal import print_answer
from resay.scorers.cross_model import is_in_share
from resay.testing import SimulatedProvider, Subject, World
from support.gateway import Gateways

pytestmark = pytest.mark.anyio

SECOND = "other/wise"
MILL = "Tell me about the Old Mill."
QUESTION = "When was the Old Mill built, and how long is its wheel?"
SAID = "The Old Mill was built in 1801 by monks. Its wheel is 7 metres long."
# Not the same text, so that their agreement proves something.
SAMPLES = [f"{SAID} That is what sources say, in note {i}." for i in range(3)]


class Two:
    """One model that says the same each time, and a second that says what a test wants."""

    def __init__(
        self, second: str | Exception | Callable[[Request], str], said: str = SAID
    ) -> None:
        self.second = second
        self.said = said
        self.asked: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if request.model != SECOND:
            text = f"{self.said} That is what sources say, in note {request.index}."
            return Completions((Completion(text if request.varied else self.said),), Usage(1, 9, 9))
        self.asked.append(request)
        if isinstance(self.second, Exception):
            raise self.second
        text = self.second(request) if callable(self.second) else self.second
        return Completions((Completion(text),), Usage(1, 1_000, 100))


def guarded(provider: Two, second: Any = SECOND, **policy: Any) -> Guard:
    basic = {"chain": [{"method": "facts"}], "limits": {"retries": 0}, "second_opinion": second}
    return Guard({**basic, **policy}, model="own/model", provider=provider)


async def asked(provider: Two, second: Any = SECOND, **policy: Any) -> Verdict:
    return (await guarded(provider, second, **policy).aask(QUESTION)).verdict


async def test_mistakes_made_each_time_are_found_by_another_model_alone() -> None:
    worlds = Worlds.of(12, seed=1)
    alone = await ask(Way("facts", "facts"), worlds)
    both = await ask(Way("facts, verification", "facts", {}), worlds)
    assert alone.claims["wrong"] == both.claims["wrong"] > 3
    assert alone.share("wrong") == 0
    assert both.share("wrong") >= 0.85
    assert both.share("right") == 0
    assert sum(both.calls.values()) - sum(alone.calls.values()) <= 2 * both.answers


async def test_the_verdict_says_which_model_contradicts_what() -> None:
    provider = Two("1: wrong | The Old Mill was built in 1799 by monks.\n2: unknown")
    verdict = await asked(provider)
    assert verdict.flagged
    assert "; another model, other/wise, contradicts 1 of 2 claims and says nothing about 1" in (
        verdict.reason
    )
    wrong, unknown = verdict.sentences
    assert (wrong.flagged, wrong.by, wrong.score) == (True, "cross_model", 1.0)
    assert wrong.reason is not None
    assert wrong.reason.endswith("another model, other/wise, contradicts it")
    said = wrong.contradicted_by
    assert said is not None
    assert (said.source, said.model, said.kind) == ("second_opinion", SECOND, "date")
    assert said.speaker == SECOND
    assert not unknown.flagged
    assert Verdict.from_json(verdict.to_json()) == verdict
    record = verdict.steps[-1]
    assert (record.method, record.sentences, record.usage.calls) == ("cross_model", 2, 1)


async def test_agreement_leaves_a_consistent_answer_as_it_is() -> None:
    provider = Two("1: right\n2: correct")
    verdict = await asked(provider)
    assert verdict.decision == "consistent"
    assert verdict.reason.endswith("another model, other/wise, contradicts none of 2 claims")
    prompt = provider.asked[0].question
    assert f"user: {QUESTION}" in prompt
    assert "1. The Old Mill was built in 1801 by monks." in prompt


async def test_both_ends_of_a_long_conversation_are_read() -> None:
    provider = Two("1: right\n2: right")
    long = "x" * 3_994  # with its role 4,000 characters
    for question in (long, f"{long}y"):
        await guarded(provider).aask(question)
    whole, cut = [query.question for query in provider.asked]
    assert f"\nuser: {long}\n" in whole
    assert f"\nuser: {'x' * 994}\n[…] {'x' * 2_999}y\n" in cut


async def test_its_answer_about_a_single_claim_needs_no_number() -> None:
    said = "The Old Mill was built in 1801 by monks."
    verdict = await asked(Two("wrong | It was built in 1799.", said))
    assert [sentence.score for sentence in verdict.sentences] == [1.0]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (ProviderTimeoutError("late"), r"could not be asked \(ProviderTimeoutError x1\)"),
        ("I would rather not.", r"gave no readable answer about 2 claims"),
    ],
)
async def test_without_its_opinion_nothing_is_consistent(second: Any, said: str) -> None:
    verdict = await asked(Two(second))
    assert verdict.decision == "inconclusive"
    assert re.fullmatch(rf"no second opinion: 'other/wise' {said}", verdict.reason)
    # What is flagged stays flagged.
    doubtful = {"method": "facts", "disagreement": 0.0}
    policy = {"chain": [doubtful], "threshold": {"sentence": 0.1, "passage": None}}
    guard = guarded(Two(second), **policy)
    differing = [text.replace("1801", str(1700 + i)) for i, text in enumerate(SAMPLES)]
    flagged = await guard.acheck(SAID, question=QUESTION, samples=differing)
    assert flagged.flagged
    assert re.search(said, flagged.reason)


async def test_one_answer_that_is_missing_leaves_one_claim_open() -> None:
    verdict = await asked(Two("1: right"))
    assert verdict.decision == "inconclusive"
    assert "gave no readable answer about 1 claim" in verdict.reason
    assert [sentence.band for sentence in verdict.sentences] == ["supported", None]


async def test_support_takes_some_of_the_doubt_away_and_a_contradiction_counts_in_full() -> None:
    samples = [SAID.replace("1801", "1750") if i else text for i, text in enumerate(SAMPLES)]

    async def score(second: str, **settings: Any) -> float | None:
        guard = guarded(Two(second), {"model": SECOND, **settings})
        verdict = await guard.acheck(SAID, question=QUESTION, samples=samples)
        return verdict.sentences[0].score

    own = await score("1: unknown\n2: unknown")
    assert own is not None
    assert 0.15 < own < 0.85
    assert await score("1: right\n2: right") == pytest.approx(own / 2)
    assert await score("1: right\n2: right", weight=1.0) == 0.0
    assert await score("1: wrong\n2: right") == 1.0
    # Out of the band it is not asked about.
    assert await score("1: wrong", doubtful={"above": 0.1, "below": own}) == own
    # Nor are others if none is in it.
    for doubtful in ({"above": 0.1, "below": own}, {"above": own, "below": 0.9}):
        provider = Two("1: wrong")
        guard = guarded(provider, {"model": SECOND, "share": 0.0, "doubtful": doubtful})
        await guard.acheck(SAID, question=QUESTION, samples=samples)
        assert provider.asked == []


async def test_claims_still_flagged_are_contradicted_by_samples() -> None:
    samples = [SAID.replace("1801", "1750") if i else text for i, text in enumerate(SAMPLES)]
    guard = guarded(Two("1: right\n2: right"), threshold={"passage": None, "sentence": 0.1})
    verdict = await guard.acheck(SAID, question=QUESTION, samples=samples)
    said = verdict.sentences[0].contradicted_by
    assert said is not None
    assert (said.source, said.text) == ("sample", "The Old Mill was built in 1750 by monks.")


async def test_samples_of_the_second_model_are_compared_with() -> None:
    def other(request: Request) -> str:
        assert request.question == QUESTION
        assert "api_base" in request.params
        return SAID.replace("1801", "1799")

    provider = Two(other)
    second = {"model": SECOND, "ask": "samples", "samples": 2, "params": {"api_base": "http://x"}}
    verdict = await asked(provider, second)
    assert len(provider.asked) == 2
    assert verdict.flagged
    said = verdict.sentences[0].contradicted_by
    assert said is not None
    assert (said.model, said.text) == (SECOND, "The Old Mill was built in 1799 by monks.")
    away = await asked(Two(ProviderTimeoutError("late")), second)
    assert away.decision == "inconclusive"
    assert "gave no sample (ProviderTimeoutError x2)" in away.reason
    # Requests that may do more than answer are not repeated elsewhere.
    provider = Two("1: right\n2: right")
    await guarded(provider, second).aask(QUESTION, params={"tools": [{"type": "function"}]})
    assert "Check the claims" in provider.asked[0].question


async def test_keys_of_the_first_model_stay_with_it() -> None:
    provider = Two(lambda query: f"{SAID} Note {query.index} says so, and so do others.")
    second = {"model": SECOND, "ask": "samples", "params": {"api_base": "http://x"}}
    answer = await guarded(provider, second).aask(QUESTION, model=SECOND, params={"api_key": "own"})
    assert answer.verdict.decision == "consistent"
    elsewhere = [query for query in provider.asked if query.params.get("api_base")]
    assert [query.params.get("api_key") for query in elsewhere] == [None]
    assert {query.params.get("api_key") for query in provider.asked} == {"own", None}


async def test_confident_answers_are_drawn_by_the_request() -> None:
    def belongs(i: int, share: float) -> bool:
        request = Request.of(f"What is {i}?", params={"seed": i})
        return is_in_share(share, Passage.of("It is."), Evidence(request=request))

    some = [belongs(i, 0.3) for i in range(400)]
    assert some == [belongs(i, 0.3) for i in range(400)]
    assert 80 < sum(some) < 160
    assert all(belongs(i, 0.6) for i, is_drawn in enumerate(some) if is_drawn)
    assert not any(belongs(i, 0.0) for i in range(400))
    assert all(belongs(i, 1.0) for i in range(400))
    provider = Two("1: wrong\n2: wrong")
    verdict = await asked(provider, {"model": SECOND, "share": 0.0})
    assert (verdict.decision, provider.asked) == ("consistent", [])
    assert verdict.steps[-1].skip_reason is not None
    assert "not in the share of 0" in verdict.steps[-1].skip_reason


async def test_a_sample_that_declines_to_answer_contradicts_nothing() -> None:
    second = {"model": SECOND, "ask": "samples"}
    verdict = await asked(Two("I'm sorry, but I can't help with that."), second)
    assert verdict.decision == "inconclusive"
    assert verdict.reason == f"no second opinion: {SECOND!r} declined to answer"
    # The rest of one that declines in part counts.
    partly = "I'm sorry, but I can't help with the wheel. The Old Mill was built in 1799 by monks."
    assert (await asked(Two(partly), second)).flagged


async def test_its_words_are_one_short_line() -> None:
    verdict = await asked(Two(f"1: wrong |It was\x1b[31m {'x' * 1000}\n2: right"))
    (said,) = [s.contradicted_by for s in verdict.sentences if s.contradicted_by]
    assert len(said.text) == 300
    assert said.text.isprintable()


async def test_its_calls_are_counted_priced_limited_and_cached() -> None:
    provider = Two("1: right\n2: right")
    prices = {SECOND: {"input": 1.0, "output": 10.0}, "own/model": {"input": 0.0, "output": 0.0}}
    guard = guarded(provider, prices=prices)
    first, again = [(await guard.aask(QUESTION)).verdict for _ in range(2)]
    assert first.steps[-1].usage.calls == 1
    assert first.usage.cost_usd == pytest.approx(0.002)
    assert (len(provider.asked), again.usage.calls) == (1, 0)
    poor = await asked(provider, limits={"calls": 3}, cache={"store": "none"})
    assert poor.decision == "inconclusive"
    assert "3 calls" in poor.reason


async def test_a_model_is_no_second_opinion_about_itself() -> None:
    policy = {"chain": [{"method": "facts"}], "second_opinion": "openai/gpt-5"}
    for model in ("openai/gpt-5", "gpt-5"):
        with pytest.raises(
            ConfigurationError, match=r"`second_opinion` is 'openai/gpt-5', the model that"
        ):
            Guard(policy, model=model)
    Guard(policy, model="azure/gpt-5")
    elsewhere = {"model": "openai/gpt-5", "params": {"api_base": "http://127.0.0.1:1"}}
    Guard({**policy, "second_opinion": elsewhere}, model="openai/gpt-5")
    # Whoever calls may name the model.
    provider = Two("1: right\n2: right")
    answer = await guarded(provider).aask(QUESTION, model=SECOND)
    assert answer.verdict.inconclusive
    assert answer.verdict.reason == f"no second opinion: {SECOND!r} wrote the response itself"
    assert answer.verdict.steps[-1].undetermined == 0


async def test_trusted_texts_are_not_doubted_and_objects_are_not_shown() -> None:
    provider = Two("1: wrong\n2: wrong")
    guard = guarded(provider)
    verdict = (await guard.aask(QUESTION, references=[SAID])).verdict
    assert (verdict.decision, provider.asked) == ("consistent", [])
    objects = Two("1: wrong", said='{"built": 1801}')
    as_object = {"type": "json_object"}
    verdict = (await guarded(objects).aask(QUESTION, params={"response_format": as_object})).verdict
    assert "no second opinion: 'other/wise' is not asked about objects and calls" in verdict.reason
    assert objects.asked == []


async def test_a_stream_is_told_of_it_at_its_end() -> None:
    provider = Two("1: wrong | It was built in 1799.\n2: right")
    async with guarded(provider).astream(QUESTION) as stream:
        text = "".join([part.text async for part in stream])
    assert text == SAID
    assert stream.answer.verdict.flagged
    held = guarded(Two(provider.second), action={"do": "block"})
    async with held.astream(QUESTION) as stream:
        assert SAID not in "".join([part.text async for part in stream])


def test_a_policy_names_the_second_model() -> None:
    short = Policy.parse("chain: [{method: facts}]\nsecond_opinion: other/wise")
    assert short.second_opinion is not None
    assert (short.second_opinion.model, short.second_opinion.share, short.second_opinion.ask) == (
        SECOND,
        1.0,
        "verification",
    )
    assert short.named_models == (("second_opinion", SECOND),)
    assert Policy.of(short.model_dump()) == short
    empty = Policy.parse(
        "chain: [{method: facts}]\nsecond_opinion: {model: a/b, doubtful: {above: 0.5, below: 0.5}}"
    )
    assert empty.second_opinion is not None
    assert empty.second_opinion.doubtful.above == empty.second_opinion.doubtful.below
    key = 'second_opinion: {model: a/b, params: {api_key: "${KEY}"}}'
    policy = Policy.parse(f"chain: [{{method: facts}}]\n{key}", env={"KEY": "hidden"})
    assert "hidden" not in repr(policy)
    for wrong, message in (
        ("second_opinion: {share: 1}", "second_opinion.model: required, but missing"),
        (
            "second_opinion: {model: a/b, doubtful: {above: 0.9}}",
            r"above \(0.9\) must not be greater",
        ),
        ("second_opinion: {model: a/b, shares: 1}", "did you mean 'share'"),
    ):
        with pytest.raises(PolicyError, match=message):
            Policy.parse(f"chain: [{{method: facts}}]\n{wrong}")
    with pytest.raises(ConfigurationError, match="no method of the chain compares with samples"):
        Guard(
            {
                "chain": [{"method": "zero_shot"}],
                "second_opinion": {"model": SECOND, "ask": "samples"},
            }
        )


async def test_another_server_gives_the_opinion(tmp_path: Path) -> None:
    name = "Old Mill"
    wrong = World([Subject(name, (), ["The Old Mill was built in 1801 by monks."])])
    known = World([Subject(name, (), ["The Old Mill was built in 1799 by monks."])])
    with SimulatedProvider(world=wrong) as own, SimulatedProvider(world=known) as other:
        policy = {
            "chain": [{"method": "facts"}],
            "second_opinion": {"model": "openai/simulated", "params": other.params},
        }
        guard = Guard(policy, model="openai/simulated")
        answer = await guard.aask(MILL, params=own.params)
        with ExitStack() as stack:
            gateway = Gateways(tmp_path, own.root_url, stack).start(json.dumps(policy))
            asked = {"model": "openai/simulated", "messages": [{"role": "user", "content": MILL}]}
            response = await anyio.to_thread.run_sync(partial(gateway.post, json=asked))
    assert answer.text == "The Old Mill was built in 1801 by monks."
    assert answer.flagged
    (sentence,) = answer.verdict.sentences
    assert sentence.contradicted_by is not None
    assert sentence.contradicted_by.text == "The Old Mill was built in 1799 by monks."
    reason = response.json()["hallucination"]["reason"]
    assert reason.endswith("another model, openai/simulated, contradicts 1 of 1 claim")
    assert len(other.requests) == 2
    console = Console(width=200, record=True, file=StringIO())
    print_answer(answer, console)
    assert "openai/simulated says: The Old Mill was built in 1799" in console.export_text()
