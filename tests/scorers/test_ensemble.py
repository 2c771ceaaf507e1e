from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from resay import Guard, Passage, Policy, PolicyError, Request, Verdict
from resay.adapters.providers import ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import Completion, Completions, Evidence, Samples, Scores, Step, build
from resay.scorers.common.composite import PartScores, ScorerPart
from resay.scorers.direct_question import render as render_direct
from resay.scorers.nli import Nli
from resay.scorers.prompt import render
from resay.scorers.zero_shot import render as render_zero_shot
from support.alone import needs

pytestmark = pytest.mark.anyio


SENTENCES = ["The bridge opened in 1932.", "Its painter was Harold Finch."]
PASSAGE = Passage.from_sentences(SENTENCES)
SAMPLES = ["The bridge opened in 1932. Ann Lee painted it.", "It opened in 1932.", "In 1932."]
PROMPT = {"method": "prompt", "form": "published", "restate": False}
DIRECT = {"method": "direct_question", "restate": False}
ZERO_SHOT = {"method": "zero_shot", "restate": False}


def answers(
    prompt: tuple[str | None, ...] = ("Yes", "No"),
    direct: tuple[str | None, ...] = ("No", "No"),
    zero_shot: str | None = "non-factual",
) -> ReplayProvider:
    recording: dict[str, list[str | None]] = {render_zero_shot(PASSAGE.text): [zero_shot]}
    for sentence, by_sample, asked in zip(SENTENCES, prompt, direct, strict=True):
        recording |= {render(sentence, sample): [by_sample] for sample in SAMPLES}
        recording[render_direct(sentence)] = [asked]
    return ReplayProvider(recording)


def evidence(judge: ReplayProvider) -> Evidence:
    return Evidence(Samples(SAMPLES), judge_provider=judge)


async def score(*parts: dict[str, Any], judge: ReplayProvider | None = None) -> Scores:
    (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": list(parts)}]}).chain
    return await build(step).score(PASSAGE, evidence(judge or answers()))


async def test_the_weighted_sum_is_clipped() -> None:
    half = [{"scorer": PROMPT, "weight": 0.5}, {"scorer": DIRECT, "weight": 0.2}]
    assert (await score(*half)).sentences == pytest.approx((0.2, 0.7))
    double = [{"scorer": PROMPT, "weight": 2}, {"scorer": DIRECT, "weight": 0.5}]
    assert (await score(*double)).sentences == pytest.approx((0.5, 1.0))


async def test_each_part_is_named_in_the_explanation() -> None:
    scores = await score({"scorer": PROMPT}, {"scorer": DIRECT})
    assert scores.reasons == (
        "prompt 0.00, direct_question 1.00",
        "prompt 1.00, direct_question 1.00",
    )


async def test_a_passage_score_speaks_for_every_sentence() -> None:
    parts = [{"scorer": PROMPT, "weight": 0.5}, {"scorer": ZERO_SHOT, "weight": 0.5}]
    scores = await score(*parts)
    assert scores.sentences == pytest.approx((0.5, 1.0))
    assert scores.passage is None


async def test_passage_scores_alone_give_a_passage_score() -> None:
    scores = await score({"scorer": ZERO_SHOT, "weight": 0.4})
    assert (scores.sentences, scores.passage) == ((), pytest.approx(0.4))


async def test_a_missing_score_leaves_its_weight_to_the_others() -> None:
    parts = [{"scorer": PROMPT, "weight": 0.5}, {"scorer": DIRECT, "weight": 0.5}]
    scores = await score(*parts, judge=answers(direct=(None, "No")))
    # The first sentence has only the prompt's 0, the second both.
    assert scores.sentences == pytest.approx((0.0, 1.0))
    assert scores.failures == ("ProviderError",)
    assert scores.error is None


async def test_a_part_that_failed_makes_it_inconclusive_and_says_which() -> None:
    parts = [{"scorer": PROMPT}, {"scorer": DIRECT}]
    scores = await score(*parts, judge=answers(direct=(None, None)))
    assert scores.sentences == pytest.approx((0.0, 1.0))
    assert scores.error == ("direct_question: 2 of 2 questions failed (ProviderError x2)")


async def test_a_sentence_that_every_part_lost_is_lost() -> None:
    parts = [{"scorer": DIRECT, "weight": 0.5}, {"scorer": ZERO_SHOT, "weight": 0.5}]
    scores = await score(*parts, judge=answers(direct=(None, "No"), zero_shot=None))
    assert (scores.sentences, scores.lost) == ((None, 1.0), (0,))


async def test_a_sentence_that_a_part_has_a_score_for_is_not_lost() -> None:
    parts = [{"scorer": PROMPT, "weight": 0.5}, {"scorer": DIRECT, "weight": 0.5}]
    assert (await score(*parts, judge=answers(direct=(None, "No")))).lost == ()


@pytest.mark.parametrize("method", ["ensemble", "combination"])
async def test_denied_claims_differ_from_unmentioned_ones(method: str) -> None:
    class Texts:
        async def takes_n(self, request: Request) -> bool:
            return True

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            verdicts = [
                {"claim": 1, "supported_by": [], "contradicted_by": [1, 2, 3]},
                {"claim": 2, "supported_by": [], "contradicted_by": []},
            ]
            return Completions((Completion(json.dumps(verdicts)),))

    standard = {"mean": 0.5, "deviation": 0.2} if method == "combination" else {}
    parts = [{"scorer": {"method": name}, **standard} for name in ("prompt", "ngram")]
    (step,) = Policy.of({"chain": [{"method": method, "parts": parts}]}).chain
    scores = await build(step).score(PASSAGE, Evidence(Samples(SAMPLES), judge_provider=Texts()))
    assert scores.denied == (True, False)
    assert (await score({"scorer": DIRECT})).denied == ()


@pytest.mark.parametrize("scores", [Scores(failures=("TimeoutError",)), Scores(undetermined=1)])
def test_a_part_that_scores_the_passage_alone_loses_every_sentence_with_it(scores: Scores) -> None:
    assert PartScores("zero_shot", scores).has_lost(0)
    assert not PartScores("zero_shot", replace(scores, passage=0.5)).has_lost(0)
    assert not PartScores("zero_shot", Scores()).has_lost(0)


@pytest.mark.parametrize("claims", [(1, 2), (1,)])
async def test_unanswered_questions_about_unmentioned_claims_are_reported(
    claims: tuple[int, ...],
) -> None:
    class Silent:
        """Finds none of these claims in any sample, and answers no question."""

        async def takes_n(self, request: Request) -> bool:
            return True

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            is_about_samples = "<samples-" in request.messages[0]["content"]
            verdicts = [{"claim": n, "supported_by": [], "contradicted_by": []} for n in claims]
            return Completions((Completion(json.dumps(verdicts) if is_about_samples else "?"),))

    parts = [{"scorer": {"method": "prompt", "probe": 3}}]
    policy = {"chain": [{"method": "ensemble", "parts": parts}], "cache": {"store": "none"}}
    guard = Guard(policy, provider=Silent(), model="m")
    verdict = await guard.acheck(PASSAGE.text, question="What of the bridge?", samples=SAMPLES)
    assert verdict.inconclusive
    assert f"most samples do not mention {len(claims)} of them" in verdict.reason


async def test_parts_see_the_evidence_their_own_way() -> None:
    parts = [
        {"scorer": {"method": "ngram", "evidence": "references"}},
        {"scorer": {"method": "ngram"}, "weight": 1e-9},
    ]
    (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": parts}]}).chain
    references = Samples(["Its painter was Harold Finch."])
    scorer = build(step)
    assert scorer.needs == {"samples", "references"}
    scores = await scorer.score(PASSAGE, Evidence(Samples(SAMPLES), references))
    assert scores.sentences == pytest.approx((1.0, 0.0), abs=1e-6)


async def test_parts_run_at_the_same_time() -> None:
    class Meeting:
        """Answers only when both parts' questions are there."""

        def __init__(self) -> None:
            self.waiting = 0
            self.both = anyio.Event()

        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.waiting += 1
            if self.waiting == 2:
                self.both.set()
            await self.both.wait()
            return Completions((Completion("Yes"),))

    parts = [{"scorer": DIRECT}, {"scorer": {**DIRECT, "judge": "another/judge"}}]
    (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": parts}]}).chain
    with anyio.fail_after(5):
        await build(step).score(Passage.of(SENTENCES[0]), Evidence(judge_provider=Meeting()))


async def test_the_composition_with_snowballing_is_a_chain() -> None:
    steps = [
        {"method": "ensemble", "parts": [{"scorer": PROMPT, "weight": 0.5}]},
        {"method": "snowballing", "theta": 0.0},
    ]
    policy = Policy.of({"chain": steps})
    verdict: Verdict = await Chain(policy).run(PASSAGE, evidence(answers(("No", "No"))), 1e9)
    assert [s.score for s in verdict.sentences] == pytest.approx([0.5, 0.75])
    assert [s.by for s in verdict.sentences] == ["ensemble", "snowballing"]


REFUSED: list[tuple[list[Any], str]] = [
    ([], "must not be empty"),
    ([{"scorer": {"method": "ngram"}, "weight": 0}], "must add up to more than 0"),
    ([{"scorer": {"method": "snowballing"}}], "unknown method 'snowballing'"),
    ([{"scorer": {"method": "ensemble", "parts": []}}], "unknown method 'ensemble'"),
    ([{"scorer": {"method": "ngram", "settle": {"below": 0.1}}}], "a part cannot have `settle`"),
    ([{"scorer": {"method": "ngram", "m": 2}}], r"parts\[0\].scorer.m: unknown key 'm'"),
    ([{"scorer": {"method": "ngram"}, "wieght": 2}], "did you mean 'weight'"),
]


@pytest.mark.parametrize(("parts", "message"), REFUSED)
def test_invalid_ensembles_are_refused(parts: list[Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy.of({"chain": [{"method": "ensemble", "parts": parts}]})


@needs("torch")
@pytest.mark.parametrize("method", ["ensemble", "combination"])
async def test_combined_scorers_prepare_their_parts(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []

    async def prepare(self: Nli) -> None:
        prepared.append(self.name)

    monkeypatch.setattr(Nli, "prepare", prepare)
    part: dict[str, Any] = {"scorer": {"method": "nli"}}
    if method == "combination":
        part |= {"mean": 0, "deviation": 1}
    (step,) = Policy.of({"chain": [{"method": method, "parts": [part]}]}).chain
    await build(step).prepare()
    assert prepared == ["nli"]


def test_one_part_is_enough_to_ask_the_model_that_wrote_the_response() -> None:
    other = {"scorer": {**DIRECT, "judge": "another/judge"}}
    for parts, asks in (([other, {"scorer": PROMPT}], True), ([other], False)):
        (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": parts}]}).chain
        assert step.asks_response_model is asks
        assert step.named_judge == "another/judge"
    parts = [{"scorer": {"method": "ngram"}}, other]
    (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": parts}]}).chain
    assert step.named_judge == "another/judge"


async def test_one_part_that_scores_sentences_is_enough() -> None:
    scores = await score({"scorer": ZERO_SHOT, "weight": 0.5}, {"scorer": PROMPT, "weight": 0.5})
    assert scores.sentences == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize(
    ("methods", "by_text"),
    [
        (("zero_shot", "prompt"), False),
        (("prompt", "zero_shot"), False),
        (("zero_shot", "cross_examination"), True),
    ],
)
def test_ensembles_cover_the_whole_text_if_all_parts_do(
    methods: tuple[str, ...], by_text: bool
) -> None:
    parts = [{"scorer": {"method": method}, "weight": 0.5} for method in methods]
    (step,) = Policy.of({"chain": [{"method": "ensemble", "parts": parts}]}).chain
    assert Step.of(step).by_text is by_text


def test_a_part_stays_as_it_is_and_weighs_a_number() -> None:
    part = ScorerPart.model_validate({"scorer": PROMPT})
    assert part.weight == 1.0
    with pytest.raises(ValidationError, match="frozen"):
        part.weight = 2.0
    with pytest.raises(ValidationError, match="finite"):
        ScorerPart.model_validate({"scorer": PROMPT, "weight": float("inf")})
