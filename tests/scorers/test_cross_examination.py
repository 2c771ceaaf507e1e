from __future__ import annotations

import pytest

from resay import Passage, Request
from resay.adapters.providers import Metered
from resay.plugins import Completions, Evidence
from resay.scorers.cross_examination import CrossExamination, parse_conclusion
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio

CLAIM = "The bridge opened in 1932. Its painter was Harold Finch."
PASSAGE = Passage.of(CLAIM)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Correct.", False),
        ("**Incorrect**", True),
        ("incorrect, because the year differs", True),
        ("Conclusion: incorrect", True),
        ("Based on the answers, the claim is correct.", False),
        ("Based on the answers, the claim is incorrect.", True),
        ("The claim is potentially incorrect as nothing supports it.", True),
        ("The claim is partially correct, but the year is not.", True),
        ("The claim is not entirely correct.", True),
        ("The claim appears to be accurate.", False),
        ("The claim is not incorrect.", None),
        ("I cannot conclude without correct answers.", None),
        ("As an AI language model, I cannot provide a conclusion.", None),
        ("Both questions were answered incorrectly.", None),
        ("", None),
    ],
)
def test_conclusions_are_read_where_they_are_drawn(text: str, wrong: bool | None) -> None:
    assert parse_conclusion(text) is wrong


class Listening(ScriptedProvider):
    """Follows a script and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        super().__init__(answers)
        self.asked: list[Request] = []

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request)
        return await super().complete(request, n=n)


async def test_the_examinee_sees_neither_claim_nor_history() -> None:
    judge = Listening("1. When did it open?", "1. In 1932.", "No.", "Correct.")
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert scores.passage == 0.0
    assert scores.passage_reason == (
        "after 1 set of questions the examiner called the response correct"
    )
    opening, examinee, more, conclusion = judge.asked
    assert CLAIM in opening.messages[0]["content"]
    assert examinee.messages == (
        {
            "role": "user",
            "content": "Please answer the following questions:\n1. When did it open?",
        },
    )
    assert [m["role"] for m in more.messages] == ["user", "assistant", "user"]
    assert more.messages[-1]["content"].startswith("1. In 1932.\n\nDo you have any follow-up")
    assert len(conclusion.messages) == 5


@pytest.mark.parametrize(
    "nothing", ["Sure, I can help with that.", "1. The bridge opened in 1932.", "", "I understand."]
)
async def test_without_a_question_there_is_no_conclusion(nothing: str) -> None:
    judge = Listening(nothing, nothing, "Correct.", "Correct.")
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert scores.passage is None
    assert scores.error == "the examiner asked no question that was answered"
    assert len(judge.asked) == 2


async def test_an_examiner_without_a_question_is_asked_once_more() -> None:
    judge = Listening("I understand.", "1. When did it open?", "1. In 1932.", "No.", "Correct.")
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert scores.passage == 0.0


async def test_an_examinee_that_answers_nothing_proves_nothing() -> None:
    judge = Listening("1. When did it open?", " ", "Correct.")
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, scores.error is None) == (None, False)


@pytest.mark.parametrize("turns", [1, 2, 3, 5])
async def test_the_turns_are_bounded(turns: int) -> None:
    further = ["Yes.", "1. And then?", "1. I do not know."] * (turns - 1)
    judge = Metered(ScriptedProvider(["1. When?", "1. 1932.", *further, "Incorrect."]))
    scorer = CrossExamination(CrossExamination.Config(turns=turns))
    scores = await scorer.score(PASSAGE, Evidence(judge_provider=judge))
    assert scores.passage == 1.0
    # Nobody asks whether there is more after the last set: 3 calls for one, 3 for each further.
    assert judge.usage.calls == 3 * turns
    sets = "1 set" if turns == 1 else f"{turns} sets"
    assert (
        scores.passage_reason
        == f"after {sets} of questions the examiner called the response" + (" incorrect")
    )


async def test_an_examiner_without_a_conclusion_is_asked_once_more() -> None:
    script = ["1. When?", "1. 1932.", "No", "I cannot say.", "Incorrect"]
    judge = Metered(ScriptedProvider(script))
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, judge.usage.calls) == (1.0, 5)
    judge = Metered(ScriptedProvider([*script[:4], "I really cannot."]))
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, scores.undetermined) == (None, 1)
    assert scores.error == "the examiner's conclusion was neither correct nor incorrect"


async def test_an_unclear_wish_for_more_ends_the_questions() -> None:
    judge = Metered(ScriptedProvider(["1. When?", "1. 1932.", "Perhaps.", "Correct"]))
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, judge.usage.calls) == (0.0, 4)


async def test_a_turn_without_words_breaks_no_provider() -> None:
    judge = Listening("", "1. Which questions?", "No", "Correct")
    await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert all(m["content"].strip() for query in judge.asked for m in query.messages)


@pytest.mark.parametrize("answered", [0, 1, 2])
async def test_a_failed_call_is_inconclusive(answered: int) -> None:
    judge = ScriptedProvider(["1. When?", "1. 1932.", "No"][:answered])
    scores = await CrossExamination().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, scores.failures) == (None, ("ProviderError",))
    assert scores.error == "a call of the examination failed"
