from __future__ import annotations

from math import log

import anyio
import pytest

from resay import Passage, Request, ScorerError, TokenLogprob, Usage
from resay.adapters.providers import Metered, ReplayProvider
from resay.plugins import Completion, Completions, Evidence, Scores
from resay.scorers.direct_question import DirectQuestion, render

pytestmark = pytest.mark.anyio

SENTENCES = ["The bridge opened in 1932.", "Its painter was Harold Finch."]
PASSAGE = Passage.from_sentences(SENTENCES)
REQUEST = Request.of("Who painted the bridge?", model="openai/x")


NO_REQUEST = Request(())


async def score(
    *answers: str | None, request: Request = NO_REQUEST, restate: bool = False
) -> Scores:
    question = request.question
    asked = zip(SENTENCES, answers, strict=True)
    judge = ReplayProvider({render(s, question): [answer] for s, answer in asked})
    scorer = DirectQuestion(DirectQuestion.Config(restate=restate))
    return await scorer.score(PASSAGE, Evidence(request=request, judge_provider=judge))


async def test_yes_is_known_and_no_is_not() -> None:
    scores = await score("Yes.", "No, I do not think so.")
    assert scores.sentences == (0.0, 1.0)
    assert scores.reasons == (
        "the judge, asked directly, affirmed it",
        "the judge, asked directly, denied it",
    )
    assert (scores.failures, scores.undetermined, scores.error) == ((), 0, None)


async def test_the_question_is_the_context() -> None:
    assert "Who painted the bridge?\nClaim: It did." in render("It did.", REQUEST.question)
    assert (await score("Yes", "No", request=REQUEST)).sentences == (0.0, 1.0)


async def test_anything_else_is_no_denial_and_is_reported() -> None:
    scores = await score("Yes", "It depends.")
    assert (scores.sentences, scores.undetermined, scores.lost) == ((0.0, None), 1, (1,))
    assert scores.reasons[1] == "the judge could not say whether it is so"
    assert scores.error is None


@pytest.mark.parametrize("refusal", ["I cannot verify that.", "", "As an AI, I do not know."])
async def test_a_judge_that_will_not_say_decides_nothing(refusal: str) -> None:
    scores = await score(refusal, refusal)
    assert scores.error == "2 of 2 judge answers were neither yes nor no"


async def test_a_failed_call_leaves_its_sentence_without_a_score() -> None:
    scores = await score("No", None)
    assert (scores.sentences, scores.failures) == ((1.0, None), ("ProviderError",))
    assert (await score(None, None)).error == "2 of 2 questions failed (ProviderError x2)"


async def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    judge = ReplayProvider(
        {
            render(SENTENCES[0]): ["Hard to say!"],
            render(SENTENCES[1]): ["Yes"],
            "Answer with one word, Yes or No. Is the claim true?": ["No", "never reached"],
        }
    )
    meter = Metered(judge)
    scores = await DirectQuestion().score(PASSAGE, Evidence(judge_provider=meter))
    assert scores.sentences == (1.0, 0.0)
    assert (scores.undetermined, meter.usage.calls) == (0, 3)


class Sure:
    """Says yes or no with a probability, when it is asked for one."""

    def __init__(self, *answers: tuple[str, float]) -> None:
        self.answers = dict(zip(map(render, SENTENCES), answers, strict=True))
        self.params: list[object] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.params.append(dict(request.params))
        text, probability = self.answers[request.messages[-1]["content"]]
        asked = request.params.get("logprobs")
        logprobs = (TokenLogprob(text, log(probability)),) if asked else ()
        return Completions((Completion(text, logprobs=logprobs),), Usage(calls=1))


async def test_the_first_tokens_probability_weighs_the_answer() -> None:
    judge = Sure(("Yes", 0.9), ("No", 0.6))
    scorer = DirectQuestion(DirectQuestion.Config(logprobs=True))
    scores = await scorer.score(PASSAGE, Evidence(judge_provider=judge))
    assert scores.sentences == pytest.approx((0.1, 0.6))
    assert judge.params == [{"logprobs": True, "max_tokens": 320}] * 2


async def test_without_probabilities_the_answer_is_all_there_is() -> None:
    judge = Sure(("Yes", 0.9), ("No", 0.6))
    scores = await DirectQuestion().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.sentences, judge.params) == ((0.0, 1.0), [{"max_tokens": 320}] * 2)


async def test_all_sentences_are_asked_about_at_the_same_time() -> None:
    class Meeting:
        """Answers only when every question is there."""

        def __init__(self) -> None:
            self.waiting = 0
            self.all = anyio.Event()

        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.waiting += 1
            if self.waiting == len(SENTENCES):
                self.all.set()
            await self.all.wait()
            return Completions((Completion("Yes"),))

    with anyio.fail_after(5):
        scores = await DirectQuestion().score(PASSAGE, Evidence(judge_provider=Meeting()))
    assert scores.sentences == (0.0, 0.0)


async def test_only_the_sentences_not_yet_settled_are_asked_about() -> None:
    judge = Metered(ReplayProvider({render(SENTENCES[1]): ["No"]}))
    scores = await DirectQuestion().score(PASSAGE.only([1]), Evidence(judge_provider=judge))
    assert (scores.sentences, judge.usage.calls) == ((1.0,), 1)


async def test_a_missing_judge_is_an_error() -> None:
    with pytest.raises(ScorerError, match="no judge available"):
        await DirectQuestion().score(PASSAGE, Evidence())
