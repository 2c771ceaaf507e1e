"""`probe` against the procedure for long texts of Farquhar et al., written out here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio.lowlevel
import pytest

from resay import Guard, Passage, Policy, ProviderTimeoutError, Request, Verdict
from resay.plugins import Completion, Completions, Evidence
from resay.scorers.probe import (
    ClaimQuestion,
    Probe,
    parse_questions,
    render_answer,
    render_questions,
)
from support.alone import needs
from support.known_models import make_denier

pytestmark = pytest.mark.anyio

ASKED = "Tell me about the bridge."
CLAIMS = ["The bridge opened in 1932.", "It was painted by Harold Finch."]
RESPONSE = " ".join(CLAIMS)
QUIZ = {
    CLAIMS[0]: "1. When did the bridge open? -- 1932\n2. What opened in that year? -- The bridge",
    CLAIMS[1]: "1. Who painted it? -- Harold Finch.\nHm.",
}
ANSWERS = {
    "When did the bridge open?": ["1932", "1932.", "1923"],
    "What opened in that year?": ["The bridge", "A tunnel", "The harbour"],
    "Who painted it?": ["Unknown", "Finch", "The painter is unknown"],
}
PROMPT = """\
Following this text:

The bridge opened in 1932.

You see the sentence:

It was painted by Harold Finch.

Generate a list of three questions, that might have generated the sentence in the context of the \
preceding original text, as well as their answers. Please do not use specific facts that appear in \
the follow-up sentence when formulating the question.
Make the questions and answers diverse. Avoid yes-no questions.
The answers should not be a full sentence and as short as possible, e.g. only a name, place, or \
thing. Use the format "1. {question} -- {answer}\""""


class Model:
    """Writes questions, answers them, and judges by equal words, as it is told."""

    def __init__(
        self,
        answers: Mapping[str, Sequence[str | None]] = ANSWERS,
        quiz: Mapping[str, str] = QUIZ,
        *,
        judges: bool = True,
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: list[str] = []
        self._answers = answers
        self._quiz = quiz
        self._judges = judges

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        prompt = request.question
        self.prompts.append(prompt)
        if "Generate a list of" in prompt:
            self.asked["quiz"] += 1
            claim = next(claim for claim in self._quiz if f"sentence:\n\n{claim}" in prompt)
            return Completions((Completion(self._quiz[claim]),))
        if prompt.startswith("We are writing"):
            self.asked["answer"] += 1
            question = next(q for q in self._answers if q in prompt)
            text = self._answers[question][request.index]
            if text is None:
                raise ProviderTimeoutError("slow")
            return Completions((Completion(text),))
        self.asked["judge"] += 1
        if not self._judges:
            raise ProviderTimeoutError("slow")
        claims = re.findall(r"^(\d+)\. (.*)$", prompt.partition("<claims-")[2], re.MULTILINE)
        (context,) = re.findall(r"<context-\w+>\n(.*)\n</context", prompt)
        shared = {"Finch": "Harold Finch", "Harold Finch": "Finch"}
        same = (shared.get(context) == claim for _, claim in claims)
        lines = [f"{i}: {'supported' if s else 'not_mentioned'}" for i, s in enumerate(same, 1)]
        return Completions((Completion("\n".join(lines)),))


async def checked(
    asked: Model, response: str = RESPONSE, *, calls: int | None = None, **settings: Any
) -> Verdict:
    step = {"method": "probe", "by": "judge", **settings}
    limits = {"retries": 0, **({"calls": calls} if calls else {})}
    policy = {"chain": [step], "cache": {"store": "none"}, "limits": limits}
    guard = Guard(policy, provider=asked, model="m")
    return await guard.acheck(response, question=ASKED)


def plain(groups: Sequence[int]) -> float:
    """Entropy of meanings by the number of answers in each."""
    total = sum(groups)
    return -sum(n / total * log(n / total) for n in groups) / log(total)


async def test_the_score_is_the_mean_entropy_of_the_questions() -> None:
    model = Model()
    verdict = await checked(model)
    # 1932 three times and 1923; the bridge twice and two others; two of four unknown: the most.
    assert [claim.score for claim in verdict.claims] == pytest.approx(
        [fmean([plain([3, 1]), plain([2, 1, 1])]), 1.0]
    )
    assert model.asked["quiz"] == 2
    assert model.asked["answer"] == 9
    assert verdict.claims[0].reason == (
        "entropy 0.80; asked 'When did the bridge open?': 1932 (x3), 1923 (x1); 'What opened in"
        " that year?': The bridge (x2), A tunnel (x1), The harbour (x1)"
    )
    assert verdict.steps[0].undetermined == 0
    assert sum(model.asked.values()) == verdict.usage.calls == verdict.steps[0].usage.calls


async def test_the_prompts_are_the_papers() -> None:
    model = Model()
    await checked(model)
    assert PROMPT in model.prompts
    assert render_questions(CLAIMS[1], CLAIMS[0], 3) == PROMPT
    first = render_answer(ASKED, "", "When did the bridge open?")
    assert first in model.prompts
    assert first.startswith(
        f'We are writing an answer to the question "{ASKED}". First, we observe the following'
        " question:\n\nWhen did the bridge open?\n\nPlease answer this question. Do not answer in"
    )
    assert f"So far we have written:\n\n{CLAIMS[0]}\n\nThe next sentence should be" in (
        render_answer(ASKED, CLAIMS[0], "Who painted it?")
    )


async def test_questions_are_drawn_as_often_as_wanted() -> None:
    model = Model()
    verdict = await checked(model, draws=2, answers=2)
    # The same questions again are not asked again.
    assert (model.asked["quiz"], model.asked["answer"]) == (4, 6)
    assert verdict.claims[0].score == pytest.approx(fmean([plain([3]), plain([2, 1])]))


def test_questions_are_read_line_by_line() -> None:
    assert parse_questions("1. Who? -- Ann\n\n2) Where is it?  --  In Rome.", 3) == [
        ClaimQuestion("Who?", "Ann"),
        ClaimQuestion("Where is it?", "In Rome"),
        None,
    ]
    assert parse_questions("I cannot.", 1) == [None]
    long = f"Who? -- {'x' * 292}"
    assert parse_questions(f"{long}y\n{long}", 1) == [ClaimQuestion("Who?", "x" * 292)]
    # In time that grows with the length, not with its square.
    assert parse_questions("a" + " " * 500_000 + "b", 1) == [None]


async def test_the_text_before_a_claim_is_cut() -> None:
    claims = [f"Bridge number {i} is painted grey." for i in range(300)]
    asked = Model(quiz=dict.fromkeys(claims, "I cannot."))
    await checked(asked, " ".join(claims))
    (last,) = (p for p in asked.prompts if f"sentence:\n\n{claims[-1]}" in p)
    before = last.partition("text:\n\n")[2].partition("\n\nYou see")[0]
    assert 3_950 < len(before) <= 4_000
    assert " ".join(claims[:-1]).endswith(f" {before}")
    assert before.startswith("Bridge")


@pytest.mark.parametrize(("colour", "first"), [("very, very, light", 0), ("very, very, bright", 1)])
async def test_the_text_before_a_claim_has_up_to_4000_characters(colour: str, first: int) -> None:
    claims = [f"Bridge number {i:03} is painted grey." for i in range(115)]
    # With a space after each, 4,000 characters before the last; or 4,001.
    claims[50] = claims[50].replace("painted", colour)
    asked = Model(quiz=dict.fromkeys(claims, "I cannot."))
    await checked(asked, " ".join(claims))
    (last,) = (p for p in asked.prompts if f"sentence:\n\n{claims[-1]}" in p)
    before = last.partition("text:\n\n")[2].partition("\n\nYou see")[0]
    assert before == " ".join(claims[first:-1])


async def test_claims_beyond_the_calls_that_are_left_are_not_begun() -> None:
    asked = Model(quiz=dict.fromkeys(CLAIMS, "I cannot."))
    verdict = await checked(asked, calls=1)
    assert asked.asked["quiz"] == 1
    assert verdict.decision == "inconclusive"
    assert "BudgetExceededError" in verdict.reason
    assert verdict.steps[0].undetermined == 1


async def test_claims_without_questions_or_answers_are_inconclusive() -> None:
    verdict = await checked(Model(quiz=dict.fromkeys(CLAIMS, "I cannot.")))
    assert verdict.decision == "inconclusive"
    assert verdict.reason == "probe: could not obtain a question or an answer for 2 of 2 claims"
    assert verdict.steps[0].undetermined == 2
    verdict = await checked(Model({q: [None] * 3 for q in ANSWERS}))
    assert verdict.reason == (
        "probe: could not obtain a question or an answer for 2 of 2 claims"
        " (ProviderTimeoutError x9)"
    )


async def test_answers_that_cannot_be_compared_are_inconclusive() -> None:
    verdict = await checked(Model(judges=False))
    assert verdict.decision == "inconclusive"
    assert "ProviderTimeoutError" in verdict.reason


async def test_an_empty_answer_counts_for_nothing() -> None:
    answers = {**ANSWERS, "When did the bridge open?": ["\n \n1932\n\nIt opened then.", "", "**"]}
    verdict = await checked(Model(answers))
    assert verdict.claims[0].reason is not None
    assert "asked 'When did the bridge open?': 1932 (x2);" in verdict.claims[0].reason


async def test_an_answer_has_up_to_300_characters() -> None:
    answers = {**ANSWERS, "When did the bridge open?": ["1932", "1932", "x" * 301]}
    verdict = await checked(Model(answers))
    assert verdict.claims[0].reason is not None
    assert f"1932 (x3), {'x' * 300} (x1);" in verdict.claims[0].reason


def test_a_policy_says_who_asks_and_who_answers() -> None:
    def of(**settings: Any) -> tuple[bool, list[str]]:
        policy = Policy.of({"chain": [{"method": "probe", "by": "judge", **settings}]})
        return policy.chain[0].asks_response_model, [model for _, model in policy.named_models]

    assert of() == (True, [])
    assert of(writer="x/one") == (True, ["x/one"])
    assert of(judge="y/two") == (True, ["y/two"])


@needs("torch")
def test_a_claim_is_asked_about_after_what_is_before_it() -> None:
    assert not Probe().traits.by_sentence


@needs("torch")
async def test_without_a_model_to_ask_it_says_so() -> None:
    scores = await Probe().score(Passage.of(RESPONSE), Evidence())
    assert scores.error == "the model that wrote the response cannot be asked"


async def test_a_classifier_puts_answers_into_meanings(tiny: Callable[..., Path]) -> None:
    # To this model two texts contradict each other where one of them says "never".
    folder = tiny(make_denier)
    answers = {"When did the bridge open?": ["the king", "never", "the war"]}
    model = Model(answers, dict.fromkeys(CLAIMS, "1. When did the bridge open? -- london"))
    verdict = await checked(model, by="nli", model=str(folder))
    assert [claim.score for claim in verdict.claims] == pytest.approx([plain([3, 1])] * 2)
    assert model.asked["judge"] == 0
