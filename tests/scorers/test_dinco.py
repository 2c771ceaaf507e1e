"""`dinco` against the code released with the paper, written out here with numpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import anyio.lowlevel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import (
    ConfigurationError,
    Guard,
    Passage,
    Policy,
    ProviderTimeoutError,
    Request,
    TokenLogprob,
    Verdict,
)
from resay.core.logprobs import TopLogprob
from resay.plugins import Completion, Completions, Evidence, Samples
from resay.scorers.dinco import Dinco, normalised, render_confidence, render_distractor
from resay.scorers.entailments import Entailment
from support.known_models import make_denier

pytestmark = pytest.mark.anyio

TOPIC = "When did the bridge open?"
CLAIM = "The bridge opened in 1932."
SAMPLES = ["It opened in 1932.", "It opened in 1923.", "In 1932.", "It is red."]


def released(p: Any, nli: Any) -> float:
    """`get_normalized_verbalized_confidence` for one claim: entailment, neutral, contradiction."""
    nli = nli.copy()
    nli[np.arange(len(p)), np.arange(len(p))] = -1
    contradicts = ((nli + nli.swapaxes(0, 1)) / 2)[:, :, 2]
    alike = nli[:, :, 0]
    degrees = np.maximum(0, alike).sum(axis=0) + 1
    total = p[0]
    for i in range(1, len(p)):
        total += p[i] * contradicts[0, i] / (degrees[i] - alike[0, i])
    return float(p[0] / total if total > 1 else p[0])


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_the_normalisation_is_the_released_one(n: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    p, nli = draw.uniform(size=n), draw.dirichlet([0.5, 0.5, 0.5], size=(n, n))
    said = [[Entailment(*map(float, one)) for one in row] for row in nli]
    found = normalised(
        float(p[0]),
        p[1:].tolist(),
        said[0][1:],
        [row[0] for row in said[1:]],
        [row[1:] for row in said[1:]],
    )
    assert found == pytest.approx(released(p, nli))


def test_a_worked_example() -> None:
    no, yes = Entailment(0, 0, 1), Entailment(1, 0, 0)
    # Two distractors that say the same count as one: 0.8 / (0.8 + 0.6 / 2 + 0.6 / 2).
    found = normalised(0.8, [0.6, 0.6], [no, no], [no, no], [[yes, yes], [yes, yes]])
    assert found == pytest.approx(0.8 / 1.4)
    # One that does not contradict does not count.
    assert normalised(0.8, [0.6], [yes], [Entailment(0, 1, 0)], [[yes]]) == 0.8


class Model:
    """Writes distractors, says how sure it is by the year, and judges by the year."""

    def __init__(
        self,
        sure: Mapping[str, float | None],
        years: Sequence[str],
        *,
        logprobs: bool = True,
        distractor: str = "Distractor: The bridge opened in {year}.",
    ) -> None:
        self._sure = sure
        self._years = years
        self._logprobs = logprobs
        self._distractor = distractor
        self.asked: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        prompt = request.question
        self.asked.append(prompt)
        if prompt.endswith("Distractor:"):
            text = self._distractor.format(year=self._years[request.index])
            return Completions((Completion(text),))
        if prompt.endswith("Yes or No:"):
            (year,) = re.findall(r"\d{4}", prompt)
            p = self._sure[year]
            if p is None:
                raise ProviderTimeoutError("slow")
            if not self._logprobs:
                return Completions((Completion("Yes" if request.index < 5 * p else "No"),))
            top = (TopLogprob("Yes", log(p)), TopLogprob("No", log(1 - p)))
            return Completions(
                (Completion("Yes", logprobs=(TokenLogprob("Yes", log(p), top=top),)),)
            )
        (context,) = re.findall(r"<context-\w+>\n(.*)\n</context", prompt)
        claims = re.findall(r"^\d+\. (.*)$", prompt.partition("<claims-")[2], re.MULTILINE)
        lines = [f"{i}: {_said(context, claim)}" for i, claim in enumerate(claims, 1)]
        return Completions((Completion("\n".join(lines)),))


def _said(premise: str, hypothesis: str) -> str:
    years, theirs = (re.findall(r"\d{4}", text) for text in (premise, hypothesis))
    if not years or not theirs:
        return "not_mentioned"
    return "supported" if years == theirs else "contradicted"


async def checked(asked: Model, **settings: Any) -> Verdict:
    step = {"method": "dinco", "by": "judge", "distractors": 3, **settings}
    policy = {"chain": [step], "cache": {"store": "none"}, "limits": {"retries": 0}}
    guard = Guard(policy, provider=asked, model="m")
    return await guard.acheck(CLAIM, question=TOPIC, samples=SAMPLES)


YEARS = ["1923", "1923", "1940"]
SURE = {"1932": 0.9, "1923": 0.6, "1940": 0.5}


async def test_confidence_is_shared_with_the_distractors() -> None:
    model = Model(SURE, YEARS)
    verdict = await checked(model)
    nvc = 0.9 / (0.9 + 0.6 + 0.5)
    assert verdict.claims[0].score == pytest.approx(1 - (nvc + 0.5) / 2)
    assert verdict.claims[0].reason == (
        "sure of it 0.90, normalised by 2 alternatives 0.45; 0.50 support in samples"
    )
    # Three distractors of which one comes twice, three confidences, and entailment: of three
    # claims, and by four samples.
    assert len(model.asked) == verdict.usage.calls == 3 + 3 + 3 + 4
    assert render_distractor(TOPIC, CLAIM) in model.asked
    assert render_confidence(TOPIC, CLAIM) in model.asked
    assert render_confidence(TOPIC, "The bridge opened in 1940.") in model.asked


async def test_an_alternative_has_up_to_1000_characters() -> None:
    long = f"1923 {'x' * 980}"
    model = Model(SURE, [long])
    await checked(model, consistency=False, distractors=1)
    (asked,) = [prompt for prompt in model.asked if "1923" in prompt and "Yes or No" in prompt]
    assert render_confidence(TOPIC, f"The bridge opened in {long}."[:1000]) == asked
    assert len(f"The bridge opened in {long}.") > 1000


async def test_an_answer_that_cannot_be_read_is_neutral_and_most_of_them_decide_nothing() -> None:
    class Mumbling(Model):
        garbled: tuple[str, ...] = ("in 1940.\n</context",)

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            found = await super().complete(request, n=n)
            garbled = any(context in request.question for context in self.garbled)
            return Completions((Completion("Hm."),)) if garbled else found

    verdict = await checked(Mumbling(SURE, YEARS), consistency=False)
    # What the third says of the others is unknown: half of its contradiction of the claim is left.
    assert verdict.claims[0].score == pytest.approx(1 - 0.9 / (0.9 + 0.6 + 0.5 / 2))
    assert verdict.steps[0].undetermined == 2
    mumbling = Mumbling(SURE, YEARS)
    mumbling.garbled = ("in 1923.\n</context", "in 1940.\n</context")
    verdict = await checked(mumbling, consistency=False)
    # It has no second answer to give.
    unread = "4 of 6 comparisons could not be read"
    assert verdict.reason == f"dinco: {unread}; the judge 'm' failed (ValueError)"


@pytest.mark.parametrize(("restate", "calls"), [(True, 2), (False, 1)])
async def test_unreadable_answers_are_asked_for_once_more(restate: bool, calls: int) -> None:
    class Mumbling(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.asked.append(request.question)
            return Completions((Completion("Hm."),))

    model = Mumbling({}, [])
    settings = {"confidence": "votes", "votes": 1, "restate": restate}
    verdict = await checked(model, consistency=False, distractors=0, **settings)
    assert verdict.decision == "inconclusive"
    assert len(model.asked) == calls


def test_a_policy_says_who_is_asked() -> None:
    def of(**settings: Any) -> tuple[bool, list[str]]:
        policy = Policy.of({"chain": [{"method": "dinco", **settings}]})
        return policy.chain[0].asks_response_model, [model for _, model in policy.named_models]

    assert of() == (True, [])
    assert of(asked="x/one") == (False, ["x/one"])
    assert of(by="judge", asked="x/one") == (True, ["x/one"])
    assert of(by="judge", judge="y/two") == (True, ["y/two"])
    assert of(by="judge", judge={"model": "y/two"}, asked="x/one") == (False, ["x/one"])


def test_required_evidence_and_settings() -> None:
    assert Dinco().traits.by_sentence
    assert "samples" in Dinco().needs
    assert "samples" not in Dinco(Dinco.Config(consistency=False)).needs
    assert Dinco.Config(distractors=20, max_calls=25).distractors == 20
    with pytest.raises(ValidationError, match="distractors"):
        Dinco.Config(distractors=21, max_calls=100)
    with pytest.raises(ValidationError, match="votes"):
        Dinco.Config(votes=0)


async def test_without_claims_nothing_is_asked() -> None:
    model = Model(SURE, YEARS)
    evidence = Evidence(
        Samples(SAMPLES), judge_provider=model, request=Request.of(TOPIC), calls_left=lambda: 5
    )
    scores = await Dinco(Dinco.Config(by="judge")).score(Passage.of(""), evidence)
    assert (scores.sentences, model.asked) == ((), [])


async def test_without_samples_and_without_distractors() -> None:
    verdict = await checked(Model(SURE, YEARS), consistency=False)
    assert verdict.claims[0].score == pytest.approx(1 - 0.45)
    model = Model(SURE, YEARS)
    verdict = await checked(model, consistency=False, distractors=0)
    assert verdict.claims[0].score == pytest.approx(0.1)
    assert len(model.asked) == 1


async def test_without_probabilities_by_votes() -> None:
    # The first answer is one of the five.
    model = Model({**SURE, "1932": 0.8}, YEARS, logprobs=False)
    verdict = await checked(model, consistency=False, distractors=0, confidence="votes")
    assert verdict.claims[0].score == pytest.approx(0.2)
    assert len(model.asked) == 5


async def test_alternatives_that_take_too_many_calls_are_left_out() -> None:
    model = Model(SURE, ["1923", "1940"], logprobs=False)
    verdict = await checked(model, consistency=False, distractors=2, max_calls=12)
    assert "normalised by 1 alternative " in (verdict.claims[0].reason or "")
    # One alternative, since two would take 17 calls, five votes on each text, their comparison.
    assert len(model.asked) == 1 + 5 + 5 + 2
    # By default, after 4 of 12 calls, there are 8 left, and each alternative takes 5.
    years = ["1901", "1902", "1903", "1904", "1905"]
    model = Model({**SURE, **dict.fromkeys(years, 0.5)}, years, logprobs=False)
    verdict = await checked(model, consistency=False, distractors=5, votes=4)
    assert "normalised by 1 alternative " in (verdict.claims[0].reason or "")
    with pytest.raises(ConfigurationError, match=r"`max_calls` is 6, but .* may take 7 calls"):
        await checked(model, distractors=2, max_calls=6)


async def test_alternatives_that_are_drawn_by_one_call_leave_more_calls() -> None:
    class Several(Model):
        async def takes_n(self, request: Request) -> bool:
            return True

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if n > 1:
                drawn.append(n)
                self._years = ["1901", "1902", "1903", "1904", "1905"]
            answers = [await super(Several, self).complete(request) for _ in range(n)]
            return Completions(tuple(answer.first for answer in answers))

    drawn: list[int] = []
    await checked(Several(SURE, YEARS), consistency=False, distractors=5, votes=1, max_calls=6)
    # One call for the claim, one to draw the alternatives, and one for each of them.
    assert drawn == [4]


async def test_a_failed_distractor_is_left_out_and_a_failed_claim_inconclusive() -> None:
    verdict = await checked(Model({**SURE, "1923": None}, YEARS), consistency=False)
    assert verdict.claims[0].score == pytest.approx(1 - 0.9 / 1.4)
    assert verdict.steps[0].failures == {"ProviderTimeoutError": 1}
    verdict = await checked(Model({**SURE, "1932": None}, YEARS))
    assert verdict.decision == "inconclusive"
    assert verdict.reason == (
        "dinco: no confidence available for 1 of 1 claim (ProviderTimeoutError x1); the judge"
        " 'm' did not answer in time"
    )


async def test_without_any_distractor_because_of_failures_it_decides_nothing() -> None:
    sure = {"1932": 0.9, "1923": None, "1940": None}
    verdict = await checked(Model(sure, YEARS), consistency=False)
    assert verdict.decision == "inconclusive"
    assert "ProviderTimeoutError x2" in verdict.reason


async def test_a_classifier_says_what_contradicts(tiny: Callable[..., Path]) -> None:
    # To this model two texts contradict each other where one of them says "never".
    model = Model(SURE, YEARS)
    verdict = await checked(model, by="nli", model=str(tiny(make_denier)), consistency=False)
    # Nothing contradicts, so nothing is taken off.
    assert verdict.claims[0].score == pytest.approx(0.1, abs=1e-2)


@pytest.mark.parametrize(
    "said",
    [
        "Distractor: The bridge opened in {year}.",
        "\n\nThe bridge  opened in {year}.\nIt is plausible.",
        "**Distractor:** The bridge opened in {year}.",
        "- **Distractor**: *The bridge opened in {year}.*",
        "Distractor:\n\nThe bridge opened in {year}.",
    ],
)
async def test_an_alternative_is_the_first_line_without_its_label(said: str) -> None:
    model = Model(SURE, YEARS, distractor=said)
    verdict = await checked(model, distractors=1)
    assert "normalised by 1 alternative 0.60;" in (verdict.claims[0].reason or "")
    assert render_confidence(TOPIC, "The bridge opened in 1923.") in model.asked


@pytest.mark.parametrize("said", ["", "Distractor:", "The bridge opened in 1932"])
async def test_nothing_and_the_claim_itself_are_no_alternatives(said: str) -> None:
    verdict = await checked(Model(SURE, YEARS, distractor=said), consistency=False)
    assert verdict.claims[0].reason == "sure of it 0.90, normalised by 0 alternatives 0.90"


@pytest.mark.parametrize(
    ("settings", "least"), [({"distractors": 8}, 13), ({"votes": 8}, 13), ({"votes": 100}, 105)]
)
def test_the_calls_must_suffice(settings: Mapping[str, Any], least: int) -> None:
    with pytest.raises(ConfigurationError, match=f"`max_calls` is 12, but .* take {least} calls"):
        Guard({"chain": [{"method": "dinco", **settings}]})
    Guard({"chain": [{"method": "dinco", "max_calls": least, **settings}]})
