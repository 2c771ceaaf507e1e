from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from resay import Passage, ProviderError, ProviderTimeoutError, Request, ScorerError
from resay.adapters.providers import Metered, ReplayProvider
from resay.plugins import Completion, Completions, Evidence, Scores, build
from resay.scorers.fibe import (
    STUDENTS,
    Blank,
    Fibe,
    Listing,
    build_exam,
    render_answer,
    render_create,
    render_score,
    restate_answer,
    restate_create,
    restate_score,
)

pytestmark = pytest.mark.anyio

QUESTION = "What is the Sydney Harbour Bridge?"
SENTENCES = ["It opened in 1932.", "It is steel and old.", "It has six lanes."]
LISTED = """Text=[s0] It opened in 1932.
Subject=<It:bridge>
Blanks=<1932:year>

Text=[s1] It is steel and old.
Subject=<It:bridge>
Blanks=

Text=[s2] It has six lanes.
Subject=<It:bridge>
Blanks=<six:number of lanes>"""
EXAM = build_exam(
    SENTENCES,
    [
        Listing("It", (Blank("1932", "year"),)),
        Listing("It"),
        Listing("It", (Blank("six", "number of lanes"),)),
    ],
)


def answer(year: object, lanes: object) -> str:
    """What a student writes."""
    lines = [f"It opened in {year}.", SENTENCES[1], f"It has {lanes} lanes."]
    return "\n".join(f"[s{i}] {line}" for i, line in enumerate(lines))


class Judge:
    """Answers create, answer and score requests from a script, each list in order of arrival.

    Args:
        create: Answers to the question for blanks, second ones to restatements.
        answers: The students' answers. None is a call that fails.
        scores: By sentence, the answers to the question for points.
        takes_n: Whether one request may ask for several answers.
        together: How many requests of a kind must be there before any of them is answered.
    """

    def __init__(
        self,
        create: Sequence[str | None] = (LISTED,),
        answers: Sequence[str | None] = (),
        scores: Mapping[str, Sequence[str | None]] | None = None,
        *,
        takes_n: bool = False,
        together: Mapping[str, int] | None = None,
    ) -> None:
        self.script = {"create": list(create), "answer": list(answers)}
        self.scores = {sentence: list(said) for sentence, said in (scores or {}).items()}
        self.n = takes_n
        self.together = dict(together or {})
        self.full = {kind: anyio.Event() for kind in ("create", "answer", "score")}
        self.queries: dict[str, list[Request]] = {"create": [], "answer": [], "score": []}

    async def takes_n(self, request: Request) -> bool:
        return self.n

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = request.messages[0]["content"]
        kind = _kind(prompt)
        self.queries[kind].append(request)
        if len(self.queries[kind]) >= self.together.get(kind, 1):
            self.full[kind].set()
        await self.full[kind].wait()
        said = [self._next(kind, prompt) for _ in range(n)]
        texts = [text for text in said if text is not None]
        if not texts:
            raise ProviderTimeoutError("slow")
        return Completions(tuple(map(Completion, texts)))

    def _next(self, kind: str, prompt: str) -> str | None:
        if kind != "score":
            return self.script[kind].pop(0)
        (said,) = (s for text, s in self.scores.items() if f"Correct answer: {text}\n" in prompt)
        return said.pop(0)

    @property
    def calls(self) -> dict[str, int]:
        return {kind: len(queries) for kind, queries in self.queries.items()}


def _kind(prompt: str) -> str:
    if prompt.startswith("You make up fill-in-the-blank questions"):
        return "create"
    if "this is your fill-in-the-blank exam" in prompt:
        return "answer"
    assert prompt.startswith("You grade a fill-in-the-blank exam.")
    return "score"


async def examine(
    provider: Judge, passage: Passage | None = None, question: str = "", **config: Any
) -> Scores:
    scorer = Fibe(Fibe.Config.model_validate(config))
    request = Request.of(question) if question else Request(())
    evidence = Evidence(request=request, judge_provider=provider)
    with anyio.fail_after(5):
        return await scorer.score(passage or Passage.from_sentences(SENTENCES), evidence)


def test_the_question_for_blanks_shows_the_context_and_the_numbered_sentences() -> None:
    prompt = render_create(SENTENCES, QUESTION)
    assert prompt.endswith(
        'Texts:\n"What is the Sydney Harbour Bridge?"\n'
        "[s0] It opened in 1932.\n[s1] It is steel and old.\n[s2] It has six lanes.\n\n"
        "Fill-in-the-blank questions (from [s0],[s1],[s2]):"
    )
    assert "Blanks=<3:day>, <June:month>, <1871:year>" in prompt
    assert "Texts:\n[s0] It opened" in render_create(SENTENCES)


def test_the_exam_shows_the_question_and_no_value() -> None:
    prompt = render_answer(EXAM.questions, QUESTION)
    assert prompt.endswith(
        'questions:\n"What is the Sydney Harbour Bridge?"\n'
        '[s0] It opened in "$year_0".\n[s1] It is steel and old.\n'
        '[s2] It has "$number_of_lanes_1" lanes.\n\n'
        "Fill-in-the-blank answers (up to [s2]):"
    )
    assert "1932" not in prompt


def test_the_question_for_points_shows_the_answers_by_name() -> None:
    prompt = render_score(SENTENCES[0], {"Tom": "It opened in 1931.", "Amy": "It opened in 7."})
    assert prompt.startswith("You grade a fill-in-the-blank exam.")
    assert "Correct answer: It opened in 1932.\n\n" in prompt
    assert "answers:\n[Tom] It opened in 1931.\n[Amy] It opened in 7.\n\nAnswer with" in prompt


def test_there_are_enough_students_and_all_differ() -> None:
    assert len({name.casefold() for name in STUDENTS}) == len(STUDENTS) >= 20
    assert all(name.isascii() and name.isalpha() for name in STUDENTS)


async def test_scores_are_one_minus_the_mean_of_the_points() -> None:
    judge = Judge(
        answers=[answer(1932, 6), answer(1931, "eight"), answer(1932, "six"), answer(1920, "SIX")],
        scores={SENTENCES[0]: ["[Amy] 20\n[Ava] 0"], SENTENCES[2]: ["[Tom] 100\n[Amy] 5"]},
    )
    scores = await examine(judge, answers=4)
    assert scores.sentences == (
        pytest.approx(1 - (100 + 20 + 100 + 0) / 400),
        None,
        pytest.approx(1 - (100 + 5 + 100 + 100) / 400),
    )
    assert scores.reasons == (
        "2 of 4 exam answers agree with it; one says: It opened in 1920.",
        "there is nothing to blank in it",
        "3 of 4 exam answers agree with it; one says: It has eight lanes.",
    )
    assert (scores.failures, scores.undetermined, scores.error) == ((), 0, None)
    assert scores.columns == ()


async def test_only_answers_that_differ_are_graded() -> None:
    judge = Judge(
        answers=[answer(1932, "six"), answer(1931, "six")],
        scores={SENTENCES[0]: ["[Amy] 0"]},
    )
    scores = await examine(judge, answers=2)
    assert scores.sentences == (0.5, None, 0.0)
    assert judge.calls == {"create": 1, "answer": 2, "score": 1}
    asked = judge.queries["score"][0].messages[0]["content"]
    assert "answers:\n[Amy] It opened in 1931.\n\n" in asked
    assert scores.reasons[2] == "2 of 2 exam answers agree with it"


async def test_an_answer_that_is_the_sentence_but_for_space_and_case_costs_nothing() -> None:
    judge = Judge(answers=["[s0] it  OPENED in 1932.\n[s2] It has\nsix lanes."])
    scores = await examine(judge, answers=1)
    assert scores.sentences == (0.0, None, 0.0)
    assert judge.calls == {"create": 1, "answer": 1, "score": 0}


@pytest.mark.parametrize(("takes_n", "answer_calls"), [(False, 3), (True, 1)])
async def test_fibe_costs_the_published_number_of_calls(takes_n: bool, answer_calls: int) -> None:
    sentences = [SENTENCES[0], SENTENCES[2]]
    judge = Judge(
        [LISTED.replace("[s1]", "[s9]").replace("[s2]", "[s1]")],
        ["[s0] It opened in 1.\n[s1] It has 2 lanes."] * 3,
        {sentence: ["[Tom] 0\n[Amy] 0\n[Leo] 50"] for sentence in sentences},
        takes_n=takes_n,
        together={"answer": answer_calls, "score": 2},
    )
    metered = Metered(judge)
    with anyio.fail_after(5):
        scores = await Fibe(Fibe.Config(answers=3)).score(
            Passage.from_sentences(sentences), Evidence(judge_provider=metered)
        )
    assert scores.sentences == (pytest.approx(5 / 6),) * 2
    assert judge.calls == {"create": 1, "answer": answer_calls, "score": 2}
    assert metered.usage.calls == 1 + answer_calls + len(sentences)


async def test_a_recording_can_be_replayed() -> None:
    score = {"Tom": "It has 4 lanes.", "Amy": "It has 8 lanes."}
    recording = {
        render_create(SENTENCES, QUESTION): [LISTED],
        render_answer(EXAM.questions, QUESTION): [answer(1932, 4), answer(1932, 8)],
        render_score(SENTENCES[2], score): ["[Tom] 40\n[Amy] 60"],
    }
    evidence = Evidence(request=Request.of(QUESTION), judge_provider=ReplayProvider(recording))
    scores = await Fibe(Fibe.Config(answers=2)).score(Passage.from_sentences(SENTENCES), evidence)
    assert scores.sentences == (0.0, None, 0.5)


async def test_with_nothing_to_blank_the_exam_is_not_held() -> None:
    judge = Judge(["[s0] Old.\nSubject=<It:x>\nBlanks=<Rome:city>"])
    scores = await examine(judge, Passage.from_sentences(["It is old."]))
    assert scores == Scores(
        sentences=(None,),
        reasons=("there is nothing to blank in it",),
        lost=(),
        error="there is nothing to blank in 1 of 1 sentence",
    )
    assert judge.calls == {"create": 1, "answer": 0, "score": 0}


async def test_without_sentences_nobody_is_asked() -> None:
    judge = Judge()
    assert await examine(judge, Passage.of("")) == Scores()
    assert judge.calls == {"create": 0, "answer": 0, "score": 0}


async def test_only_the_sentences_that_are_left_are_examined() -> None:
    passage = Passage.from_sentences(["It opened\nin 1932.", "It is crimson.", "It has six lanes."])
    judge = Judge(
        [LISTED.replace("[s1]", "[s9]").replace("[s2]", "[s1]")],
        ["[s0] It opened in 1932.\n[s1] It has six lanes."],
    )
    scores = await examine(judge, passage.only([0, 2]), QUESTION, answers=1)
    assert scores.sentences == (0.0, 0.0)
    for kind in ("create", "answer"):
        prompt = judge.queries[kind][0].messages[0]["content"]
        assert QUESTION in prompt
        assert "crimson" not in prompt
    assert "[s0] It opened in 1932.\n[s1]" in judge.queries["create"][0].messages[0]["content"]


async def test_an_unreadable_list_is_asked_for_once_more() -> None:
    first, _, rest = LISTED.partition("\n\n")
    judge = Judge([first, rest], [answer(1932, "six")])
    scores = await examine(judge, answers=1)
    assert scores.sentences == (0.0, None, 0.0)
    assert scores.undetermined == 0
    again = judge.queries["create"][1].messages
    assert [m["role"] for m in again] == ["user", "assistant", "user"]
    assert again[2]["content"] == restate_create(3)


async def test_a_sentence_whose_blanks_cannot_be_read_is_undetermined() -> None:
    without_last = LISTED.rpartition("\n\n")[0]
    judge = Judge([without_last] * 2, ["[s0] It opened in 1932."])
    scores = await examine(judge, answers=1)
    assert scores.sentences == (0.0, None, None)
    assert scores.reasons[2] == "what to blank in it could not be read"
    assert scores.undetermined == 1
    assert scores.error is None
    assert "[s2] It has six lanes." in judge.queries["answer"][0].messages[0]["content"]


async def test_a_judge_that_lists_nothing_decides_nothing() -> None:
    judge = Judge(["I'm sorry.", "I cannot."])
    scores = await examine(judge)
    assert scores.sentences == (None,) * 3
    assert scores.undetermined == 3
    assert scores.error == "the blanks of 3 of 3 sentences could not be read"
    assert judge.calls == {"create": 2, "answer": 0, "score": 0}


async def test_without_restatements_everything_is_asked_once() -> None:
    judge = Judge(
        answers=["What?", answer(1931, 4)],
        scores={SENTENCES[0]: ["Well"], SENTENCES[2]: ["[Amy] 10"]},
    )
    scores = await examine(judge, answers=2, restate=False)
    assert scores.sentences == (None, None, pytest.approx(0.9))
    assert judge.calls == {"create": 1, "answer": 2, "score": 2}
    assert scores.undetermined == 3


async def test_without_restatements_an_unreadable_list_is_left_at_that() -> None:
    judge = Judge([LISTED.rpartition("\n\n")[0]], [answer(1932, 4)])
    scores = await examine(judge, answers=1, restate=False)
    assert scores.sentences == (0.0, None, None)
    assert judge.calls == {"create": 1, "answer": 1, "score": 0}


async def test_without_a_list_there_is_no_exam() -> None:
    scores = await examine(Judge([None]))
    assert scores == Scores(
        failures=("ProviderTimeoutError",),
        error="the exam could not be made (ProviderTimeoutError x1)",
    )


async def test_with_all_answers_lost_nothing_is_decided() -> None:
    judge = Judge(answers=[None] * 3)
    scores = await examine(judge, answers=3)
    assert scores.sentences == (None,) * 3
    assert scores.failures == ("ProviderTimeoutError",) * 3
    assert scores.error == ("6 of 6 exam answers have no points (ProviderTimeoutError x3)")
    assert scores.reasons[0] == "none of its exam answers has points"
    assert judge.calls == {"create": 1, "answer": 3, "score": 0}


async def test_lost_answers_are_left_out_of_the_mean() -> None:
    judge = Judge(
        answers=[answer(1932, "six"), None, answer(1931, "six")],
        scores={SENTENCES[0]: ["[Amy] 50"]},
    )
    scores = await examine(judge, answers=3)
    assert scores.sentences == (0.25, None, 0.0)
    assert scores.reasons[0] == "2 of 2 exam answers agree with it"
    assert scores.failures == ("ProviderTimeoutError",)
    assert scores.error is None


async def test_with_most_answers_lost_nothing_is_decided() -> None:
    judge = Judge(answers=[answer(1932, "six"), None, None])
    scores = await examine(judge, answers=3)
    assert scores.sentences == (0.0, None, 0.0)
    assert scores.error == ("4 of 6 exam answers have no points (ProviderTimeoutError x2)")


async def test_a_sentence_left_out_of_an_answer_is_asked_for_once_more() -> None:
    judge = Judge(
        answers=[answer(1932, '"$number_of_lanes_1"'), answer(1, "six")],
    )
    scores = await examine(judge, answers=1)
    assert scores.sentences == (0.0, None, 0.0)
    assert judge.queries["answer"][1].messages[2]["content"] == restate_answer([0, 2])


async def test_a_student_without_an_answer_has_no_points() -> None:
    judge = Judge(
        answers=[answer(1932, "six"), "[s2] It has six lanes.", "[s2] It has six lanes."],
        together={"answer": 2},
    )
    scores = await examine(judge, answers=2)
    assert scores.sentences == (0.0, None, 0.0)
    assert scores.reasons[0] == "1 of 1 exam answers agree with it"
    assert scores.undetermined == 1


async def test_points_that_cannot_be_read_are_asked_for_once_more() -> None:
    judge = Judge(
        answers=[answer(1, "six"), answer(2, "six")],
        scores={SENTENCES[0]: ["[Tom] 30", "[Amy] 50\n[Tom] 99"]},
    )
    scores = await examine(judge, answers=2)
    assert scores.sentences[0] == pytest.approx(0.6)
    assert scores.undetermined == 0
    again = judge.queries["score"][1].messages
    assert again[2]["content"] == restate_score(["Tom", "Amy"])


async def test_points_that_are_missing_for_good_are_left_out() -> None:
    judge = Judge(
        answers=[answer(1, "six"), answer(2, "six")],
        scores={SENTENCES[0]: ["[Tom] 30", "[Tom] 30\n[Amy] 300"]},
    )
    scores = await examine(judge, answers=2)
    assert scores.sentences == (pytest.approx(0.7), None, 0.0)
    assert scores.undetermined == 1
    assert scores.error is None


@pytest.mark.parametrize(
    ("said", "failures", "undetermined"),
    [([None], ("ProviderTimeoutError",), 0), (["Hm", "Hm"], (), 1)],
)
async def test_answers_that_agree_are_no_sample_of_those_without_points(
    said: list[str | None], failures: tuple[str, ...], undetermined: int
) -> None:
    judge = Judge(answers=[answer(1932, "six"), answer(1931, "six")], scores={SENTENCES[0]: said})
    scores = await examine(judge, answers=2)
    assert scores.sentences == (None, None, 0.0)
    assert (scores.failures, scores.undetermined) == (failures, undetermined)
    assert scores.error is None


async def test_answers_vary_and_the_rest_is_asked_as_configured() -> None:
    judge = Judge(answers=[answer(1, "six")] * 2, scores={SENTENCES[0]: ["[Tom] 1\n[Amy] 1"]})
    params = {"temperature": 0, "seed": 1, "max_tokens": 9}
    await examine(judge, answers=2, judge={"model": "a/b", "params": params}, temperature=0.5)
    asked = {kind: [dict(q.params) for q in queries] for kind, queries in judge.queries.items()}
    assert asked == {
        "create": [params],
        "answer": [{"temperature": 0.5, "max_tokens": 9}] * 2,
        "score": [params],
    }
    assert {q.model for queries in judge.queries.values() for q in queries} == {"a/b"}


async def test_a_temperature_of_its_own_is_only_sent_when_it_is_set() -> None:
    judge = Judge(answers=[answer(1932, "six")])
    await examine(judge, answers=1)
    assert ["temperature" in q.params for q in judge.queries["answer"]] == [False]


@pytest.mark.parametrize(
    "settings",
    [{"answers": 0}, {"answers": 25}, {"temperature": 0}, {"temperature": 2.1}, {"blanks": 3}],
)
def test_settings_are_checked(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Fibe.Config.model_validate(settings)


def test_a_policy_finds_it_by_name() -> None:
    config = Fibe.Config.model_validate({"method": "fibe", "answers": len(STUDENTS)})
    assert isinstance(build(config), Fibe)
    assert config.asks_response_model
    assert Fibe().config.answers == 5


async def test_a_missing_judge_is_an_error() -> None:
    with pytest.raises(ScorerError, match="no judge available"):
        await Fibe().score(Passage.from_sentences(SENTENCES), Evidence())


class Crowd:
    """Answers two checks at once, and nobody before both have asked."""

    def __init__(self) -> None:
        self.waiting = 0
        self.turn = anyio.Event()

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = request.messages[0]["content"]
        await self._both()
        lanes, year = ("4", "1900") if "Which Tower" in prompt else ("six", "1932")
        if _kind(prompt) == "create":
            text = LISTED.replace("1932", year).replace("six", lanes)
        elif _kind(prompt) == "answer":
            text = answer(1999, lanes)
        elif f"Correct answer: It opened in {year}" in prompt:
            text = "[Tom] 10\n[Amy] 10"
        else:
            assert "Correct answer: It opened in 1900" in prompt
            text = "[Tom] 80\n[Amy] 80"
        return Completions((Completion(text),) * n)

    async def _both(self) -> None:
        self.waiting += 1
        turn = self.turn
        if self.waiting == 2:
            self.waiting, self.turn = 0, anyio.Event()
            turn.set()
        await turn.wait()


async def test_two_checks_on_one_scorer_never_mix() -> None:
    scorer, crowd = Fibe(Fibe.Config(answers=2)), Crowd()
    tower = ["It opened in 1900.", SENTENCES[1], "It has 4 lanes."]
    found: dict[str, Scores] = {}

    async def check(question: str, sentences: list[str]) -> None:
        evidence = Evidence(request=Request.of(question), judge_provider=crowd)
        found[question] = await scorer.score(Passage.from_sentences(sentences), evidence)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(check, "Which Bridge?", SENTENCES)
            tasks.start_soon(check, "Which Tower?", tower)
    assert found["Which Bridge?"].sentences == (pytest.approx(0.9), None, 0.0)
    assert found["Which Tower?"].sentences == (pytest.approx(0.2), None, 0.0)


async def test_whatever_a_judge_raises_costs_no_more_than_that_answer() -> None:
    class Odd(Judge):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request.messages[0]["content"]) == "score":
                raise KeyError("a bug")
            return await super().complete(request, n=n)

    scores = await examine(Odd(answers=[answer(1931, "six")]), answers=1)
    assert scores.sentences == (None, None, 0.0)
    assert scores.failures == (ProviderError.__name__,)
