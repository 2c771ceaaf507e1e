from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import anyio.lowlevel
import pytest
from pydantic import ValidationError

from resay import (
    Guard,
    Passage,
    ProviderRefusedError,
    ProviderTimeoutError,
    Request,
    TokenLogprob,
    Verdict,
)
from resay.core.logprobs import TopLogprob
from resay.plugins import Completion, Completions, Evidence, Samples
from resay.scorers.p_true import PTrue, parse_option, render

pytestmark = pytest.mark.anyio

QUESTION = "When did the bridge open?"
CLAIMS = ["The bridge opened in 1932.", "It was painted red."]
PUBLISHED = """\
Question: When did the bridge open?
Here are some brainstormed ideas: In 1932.
It opened in 1923.
Possible Answer: The bridge opened in 1932.
Is the possible answer:
 (A) True
 (B) False
The possible answer is:"""


class Model:
    """Answers with texts in turn, and with the probabilities of (A) and (B) where it has any."""

    def __init__(
        self,
        *texts: str | None,
        a: float | None = None,
        b: float | None = None,
        refuses: bool = False,
    ) -> None:
        self._texts = list(texts)
        self._a, self._b = a, b
        self._refuses = refuses
        self.asked: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        if self._refuses and request.params.get("logprobs"):
            raise ProviderRefusedError("no logprobs", status=400)
        self.asked.append(request)
        if self._a is None or self._b is None:
            text = self._texts[(len(self.asked) - 1) % len(self._texts)]
            if text is None:
                raise ProviderTimeoutError("slow")
            return Completions((Completion(text),))
        said, other = ("A", " B") if self._a >= self._b else ("B", " A")
        top = [
            TopLogprob(t, log(p))
            for t, p in (
                (said, max(self._a, self._b)),
                (other, min(self._a, self._b)),
                ("The", 0.01),
            )
        ]
        tokens = (
            TokenLogprob(" (", -0.01, top=(TopLogprob(" (", -0.01),)),
            TokenLogprob(said, log(max(self._a, self._b)), top=tuple(top)),
            TokenLogprob(")", 0.0),
        )
        logprobs = tokens if request.params.get("logprobs") else ()
        return Completions((Completion(f" ({said})", logprobs=logprobs),))


async def checked(model: Model, **settings: Any) -> Verdict:
    policy = {
        "chain": [{"method": "p_true", **settings}],
        "cache": {"store": "none"},
        "limits": {"retries": 0},
    }
    guard = Guard(policy, provider=model, model="m")
    return await guard.acheck(" ".join(CLAIMS), question=QUESTION)


@pytest.mark.parametrize(("a", "b"), [(0.9, 0.001), (0.3, 0.3), (0.05, 0.61)])
async def test_by_the_probabilities_of_the_first_letter(a: float, b: float) -> None:
    verdict = await checked(Model(a=a, b=b))
    assert [claim.score for claim in verdict.claims] == pytest.approx([b / (a + b)] * 2)


async def test_one_call_for_each_claim_or_the_response() -> None:
    verdict = await checked(model := Model(a=0.6, b=0.2))
    assert (len(model.asked), verdict.usage.calls) == (2, 2)
    assert model.asked[0].params["top_logprobs"] == 5
    assert verdict.claims[0].reason == "the judge finds it true with 0.75"
    verdict = await checked(model := Model(a=0.2, b=0.6), of="response")
    assert (len(model.asked), verdict.score) == (1, pytest.approx(0.75))
    assert [claim.score for claim in verdict.claims] == [None, None]
    assert verdict.steps[0].reason == "the judge finds it true with 0.25"


async def test_without_probabilities_by_votes() -> None:
    # Claims are asked about in turns: one vote each, then four more each.
    for model in (Model("(A)"), Model("(A)", refuses=True)):
        verdict = await checked(model)
        assert [claim.score for claim in verdict.claims] == [0.0, 0.0]
        assert len(model.asked) == 10
    verdict = await checked(model := Model("A", "B", "False", "(A) True"), by="votes", votes=4)
    assert (verdict.score, len(model.asked)) == (0.5, 8)
    assert all("logprobs" not in query.params for query in model.asked)


async def test_by_probabilities_alone_it_says_when_there_are_none() -> None:
    verdict = await checked(Model("(A)"), by="logprobs")
    assert verdict.reason == "p_true: 2 of 2 judge answers were neither (A) nor (B)"


async def test_the_prompt_is_the_papers_with_samples_as_ideas() -> None:
    ideas = ["In 1932.", "It opened in 1923."]
    assert render(QUESTION, CLAIMS[0], ideas) == PUBLISHED
    scorer, model = PTrue(PTrue.Config(ideas=2)), Model(a=0.5, b=0.1)
    evidence = Evidence(
        Samples([*ideas, "In 1940."]), request=Request.of(QUESTION), judge_provider=model
    )
    await scorer.score(Passage.from_sentences(CLAIMS), evidence)
    assert model.asked[0].question == PUBLISHED


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("A", True),
        ("(A) True", True),
        ("**B)** False.", False),
        ("True, as far as I know", True),
        ("A bridge opened", None),
        ("True or false?", None),
        ("Not (A)", None),
        ("", None),
    ],
)
def test_an_option_comes_first_and_is_no_article(answer: str, read: bool | None) -> None:
    assert parse_option(answer) is read


async def test_the_probability_of_an_article_is_no_probability_of_an_option() -> None:
    top = (TopLogprob("A", log(0.9)), TopLogprob("B", log(0.01)))
    tokens = (TokenLogprob("A", log(0.9), top=top), TokenLogprob(" bridge opened.", 0.0))

    class Rambling(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            return Completions((Completion("A bridge opened.", logprobs=tokens),))

    for by in ("logprobs", "auto"):
        verdict = await checked(Rambling("(A)"), by=by)
        assert [claim.score for claim in verdict.claims] == [None, None]
        assert verdict.reason == "p_true: 2 of 2 judge answers were neither (A) nor (B)"


async def test_the_probability_is_read_where_the_option_is_stated() -> None:
    said = ("A", " look", " at", " it", ":", " (", "B", ")")
    top = (TopLogprob("B", log(0.6)), TopLogprob("A", log(0.2)), TopLogprob(" a", log(0.1)))
    tokens = tuple(TokenLogprob(t, log(0.6), top=top if t == "B" else ()) for t in said)

    class Late(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            return Completions((Completion("".join(said), logprobs=tokens),))

    verdict = await checked(Late("(A)"))
    assert [claim.score for claim in verdict.claims] == pytest.approx([0.75, 0.75])


async def test_half_of_the_claims_decide_and_the_others_stay_open() -> None:
    problems = {
        None: "the judge 'm' did not answer in time",
        "Hm.": "the answer of the judge 'm' could not be read",
    }
    for unanswered, problem in problems.items():
        model = Model("(A)", unanswered)
        verdict = await checked(model, by="votes", votes=1, restate=False)
        assert verdict.reason == f"1 of 2 sentences could not be scored; {problem}"
        assert [claim.band for claim in verdict.claims] == ["supported", None]
        assert len(model.asked) == 2


async def test_unreadable_answers_are_asked_for_once_more() -> None:
    await checked(model := Model("Hm."), by="votes", votes=1)
    assert len(model.asked) == 4


def test_claims_do_not_wait_for_the_end_of_an_answer_and_the_response_does() -> None:
    assert PTrue().traits.by_sentence
    assert not PTrue(PTrue.Config(of="response")).traits.by_sentence


def test_there_is_a_vote() -> None:
    assert PTrue.Config(votes=1).votes == 1
    with pytest.raises(ValidationError, match="votes"):
        PTrue.Config(votes=0)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["Hm."], "p_true: 2 of 2 judge answers were neither (A) nor (B)"),
        (
            [None],
            "p_true: 2 of 2 questions failed (ProviderTimeoutError x2); the judge 'm' did not"
            " answer in time",
        ),
    ],
)
async def test_unreadable_answers_are_inconclusive(
    answers: Sequence[str | None], reason: str
) -> None:
    verdict = await checked(Model(*answers))
    assert (verdict.decision, verdict.reason) == ("inconclusive", reason)


async def test_a_token_without_alternatives_leaves_the_rest_to_the_other() -> None:
    class Bare(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            return Completions((Completion("B", logprobs=(TokenLogprob("B", log(0.8)),)),))

    verdict = await checked(Bare())
    assert verdict.claims[0].score == pytest.approx(0.8)


@pytest.mark.parametrize("answer", ["(A) and (B)", "Both (A) and (B) are possible.", "(A) or (B)"])
def test_an_answer_with_both_options_chooses_neither(answer: str) -> None:
    assert parse_option(answer) is None
