"""Entailment between texts as a judge sees it, for the methods that are based on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from resay import Guard, Policy, Request
from resay.providers.base import Completion, Completions
from resay.scorers.common.entailing import Entailing, render_pair
from resay.scorers.entailments import Entailed, Entailment, Pair, pairs_among
from resay.scorers.evidence import Evidence
from resay.scorers.nli import Nli
from resay.scorers.semantic import Semantic
from resay.testing import ScriptedProvider
from support.alone import needs

pytestmark = pytest.mark.anyio

NEUTRAL = Entailment(0.0, 1.0, 0.0)


class Judge:
    """Gives the same answer to every question, and keeps what it was asked."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request.question)
        return Completions((Completion(self._answer),))


NO_REQUEST = Request(())


async def found(
    judge: Judge, pairs: list[Pair], request: Request = NO_REQUEST, **settings: Any
) -> Entailed:
    entailing = Entailing(Semantic.Config(by="judge", **settings))
    return await entailing.find(pairs, Evidence(request=request, judge_provider=judge))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("entailment", Entailment(1.0, 0.0, 0.0)),
        ("neutral", NEUTRAL),
        ("contradiction", Entailment(0.0, 0.0, 1.0)),
        ("Hm.", None),
    ],
)
async def test_the_published_question_is_about_a_pair(
    said: str, expected: Entailment | None
) -> None:
    for request in (Request.of("When?"), NO_REQUEST):
        judge = Judge(said)
        entailed = await found(judge, [("A.", "B.")], request, form="published")
        assert entailed.by_pair == {("A.", "B."): expected}
        assert judge.asked[0] == render_pair("A.", "B.", request.question)


@pytest.mark.parametrize(("restate", "calls"), [(True, 2), (False, 1)])
async def test_unreadable_answers_are_asked_for_once_more(restate: bool, calls: int) -> None:
    judge = Judge("Hm.")
    await found(judge, [("A.", "B.")], form="published", restate=restate)
    assert len(judge.asked) == calls


@pytest.mark.parametrize(("texts", "calls"), [(40, 1), (41, 2)])
async def test_up_to_forty_texts_are_compared_at_once(texts: int, calls: int) -> None:
    judge = Judge("\n".join(f"{i}: supported" for i in range(1, texts + 1)))
    await found(judge, [("A.", f"B {i}.") for i in range(texts)])
    # Each is asked once more about what the other call answered.
    prompts = [prompt for prompt in judge.asked if "<claims-" in prompt]
    assert len(prompts) == calls
    shown = [number for prompt in prompts for number in re.findall(r"B (\d+)\.$", prompt, re.M)]
    assert sorted(shown, key=int) == [str(i) for i in range(texts)]


async def test_the_judge_reads_both_ends_of_a_long_conversation() -> None:
    judge = Judge("1: supported")
    long = "x" * 3_994  # with its role 4,000 characters
    for question in (long, f"{long}y"):
        await found(judge, [("A.", "B.")], Request.of(question))
    whole, cut = judge.asked
    assert f"\nuser: {long}\n" in whole
    assert f"\nuser: {'x' * 994}\n[…] {'x' * 2_999}y\n" in cut


@pytest.mark.parametrize(
    ("settings", "asks", "named"),
    [
        ({}, False, []),
        ({"judge": "x/one"}, False, []),
        ({"by": "judge"}, True, []),
        ({"by": "judge", "judge": "x/one"}, False, ["x/one"]),
        ({"by": "judge", "judge": {"model": "x/one"}}, False, ["x/one"]),
        ({"by": "judge", "judge": {"params": {"temperature": 0}}}, True, []),
    ],
)
def test_a_policy_says_who_judges(settings: Any, asks: bool, named: list[str]) -> None:
    policy = Policy.of({"chain": [{"method": "semantic", **settings}]})
    assert policy.chain[0].asks_response_model is asks
    assert [model for _, model in policy.named_models] == named


@pytest.mark.parametrize(
    ("failed", "unread", "why"),
    [
        (2, 0, None),
        (3, 0, "3 of 4 comparisons failed (E x3)"),
        (1, 1, None),
        (1, 2, "2 of 4 comparisons could not be read"),
        (0, 3, "3 of 4 comparisons could not be read"),
    ],
)
def test_with_more_than_half_of_them_lost_comparisons_decide_nothing(
    failed: int, unread: int, why: str | None
) -> None:
    pairs = [("A.", f"B {i}.") for i in range(4)]
    known = {pair: None if i < unread else NEUTRAL for i, pair in enumerate(pairs[failed:])}
    assert Entailed(known, ("E",) * failed).missing_reason(pairs) == why


async def test_a_text_entails_itself_without_being_compared() -> None:
    itself = Entailment(1.0, 0.0, 0.0)
    judge = Judge("1: contradicted")
    assert (await found(judge, [("A.", "A.")])).by_pair == {("A.", "A."): itself}
    assert judge.asked == []
    assert Entailed({}).relation("A.", "A.") == itself
    assert Entailed({}).relation("A.", "B.") == NEUTRAL
    assert pairs_among(["A.", "B.", "A."]) == [
        *[("A.", "B."), ("B.", "A."), ("B.", "A."), ("A.", "B.")]
    ]


@needs("torch")
async def test_each_classifier_is_asked_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def entailed(nli: Nli, pairs: Sequence[Pair]) -> Entailed:
        models.append(nli.config.model)
        return Entailed(dict.fromkeys(pairs, NEUTRAL))

    models: list[object] = []
    monkeypatch.setattr(Nli, "entailed", entailed)
    evidence = Evidence(request=NO_REQUEST)
    for model in ("one/nli", "two/nli", "one/nli"):
        entailing = Entailing(Semantic.Config(by="nli", model=model))
        assert (await entailing.find([("A.", "B.")], evidence)).by_pair == {("A.", "B."): NEUTRAL}
    assert models == ["one/nli", "two/nli"]


@needs("torch")
@pytest.mark.parametrize("method", ["dinco", "probe"])
def test_a_classifier_that_cannot_be_loaded_costs_no_calls(method: str, tmp_path: Path) -> None:
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "Yes"

    policy = {"chain": [{"method": method, "model": str(tmp_path / "none")}]}
    guard = Guard(policy, model="acme/model", provider=ScriptedProvider(answer))
    verdict = guard.check("The Garmo bridge opened in 1932.", question="When did it open?")
    assert verdict.decision == "inconclusive"
    assert requests == []
