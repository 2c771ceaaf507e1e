from __future__ import annotations

from typing import Any

import pytest

from resay import ConfigurationError, Guard, Passage, Request, ScorerError
from resay.adapters.providers import Metered, ReplayProvider
from resay.plugins import Completions, Evidence, Samples, Scores
from resay.scorers.prompt import Prompt
from resay.scorers.task_prompt import TaskContext, render

pytestmark = pytest.mark.anyio

HYPOTHESIS = "To react too strongly."
PASSAGE = Passage.of(HYPOTHESIS)
SOURCE = "Try not to overreact. What is the meaning of overreact ?"
TARGET = "To react more than is fitting."


class Listening(ReplayProvider):
    """Answers from a recording and keeps what it was asked."""

    def __init__(self, **answers: list[str | None]) -> None:
        super().__init__({**answers})
        self.asked: list[Request] = []

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request)
        return await super().complete(request, n=n)


async def score(
    task: str,
    *answers: str | None,
    prompt: str = "",
    source: str = SOURCE,
    target: str | None = TARGET,
    **settings: Any,
) -> Scores:
    context = {
        "definition": TaskContext(f'{source} The term "overreact" means {target}', "overreact"),
        "paraphrase": TaskContext(source),
        "translation": TaskContext(f"{source} {target}"),
    }[task]
    judge = ReplayProvider({prompt or render(context, HYPOTHESIS): answers})
    references = Samples([target] if target else [])
    evidence = Evidence(
        references=references, request=Request.of(source or "-"), judge_provider=judge
    )
    config = Prompt.Config.model_validate({"task": task, "restate": False, **settings})
    return await Prompt(config).score(PASSAGE, evidence)


@pytest.mark.parametrize("task", ["definition", "paraphrase", "translation"])
async def test_the_score_is_the_share_of_answers_that_are_not_yes(task: str) -> None:
    scores = await score(task, "Yes", "No", "No.", "no", "Yes")
    assert (scores.passage, scores.sentences) == (pytest.approx(3 / 5), ())
    assert scores.passage_reason == "not supported by the context in 3 of 5 answers"


def test_a_definition_spells_out_its_term() -> None:
    prompt = render(TaskContext('S. The term "x" means T', "x"), "H")
    assert "Sentence: The term x means H\n" in prompt
    assert "Sentence: H\n" in render(TaskContext("S"), "H")


@pytest.mark.parametrize(
    "source",
    [
        SOURCE,
        "Try not to <define> overreact </define> .",
        "What does 'overreact' mean?",
        "Please define the word “overreact”.",
        "What is the meaning of the term overreact?",
        "What does 'calm' mean? It is no answer. What does 'overreact' mean?",
    ],
)
async def test_the_term_is_found_in_the_source(source: str) -> None:
    assert (await score("definition", "Yes", votes=1, source=source)).passage == 0.0


async def test_a_term_that_cannot_be_found_must_be_named() -> None:
    with pytest.raises(ScorerError, match="set `term`"):
        await score("definition", "Yes", source="Tell me about overreacting.")
    scores = await score(
        "definition", "Yes", votes=1, source="Tell me about overreacting.", term="overreact"
    )
    assert scores.passage == 0.0


async def test_undetermined_counts_as_hallucination_and_is_reported() -> None:
    scores = await score("paraphrase", "Yes", "Yes", "Perhaps", "Hm", votes=4)
    assert (scores.passage, scores.undetermined, scores.error) == (0.5, 2, None)


async def test_a_judge_that_never_answers_readably_decides_nothing() -> None:
    scores = await score("paraphrase", "Perhaps", "Hm", votes=2)
    assert scores.error == "none of 2 judge answers was a yes or a no"


async def test_failed_votes_are_left_out_unless_they_are_most() -> None:
    scores = await score("paraphrase", "Yes", "No", "No", None, votes=4)
    assert scores.passage == pytest.approx(2 / 3)
    scores = await score("paraphrase", "Yes", "No", None, None, votes=4)
    assert (scores.passage, scores.error) == (0.5, None)
    scores = await score("paraphrase", None, None, votes=2)
    assert (scores.passage, scores.error) == (None, "2 of 2 votes failed")
    scores = await score("paraphrase", "Yes", None, None, None, votes=4)
    assert scores.error == "3 of 4 votes failed"
    scores = await score("paraphrase", "Yes", "Yes", None, None, None, votes=5)
    assert scores.error == "3 of 5 votes failed"


async def test_one_request_where_the_provider_takes_n() -> None:
    prompt = render(TaskContext(SOURCE), HYPOTHESIS)
    meter = Metered(ReplayProvider({prompt: ["Yes"] * 5}))
    evidence = Evidence(request=Request.of(SOURCE), judge_provider=meter)
    config = Prompt.Config.model_validate({"task": "paraphrase"})
    assert (await Prompt(config).score(PASSAGE, evidence)).passage == 0.0
    assert meter.usage.calls == 1


async def test_votes_are_not_all_the_same_at_temperature_0() -> None:
    prompt = render(TaskContext(SOURCE), HYPOTHESIS)
    judge = Listening(**{prompt: ["Yes"] * 5})
    config = Prompt.Config.model_validate(
        {"task": "paraphrase", "judge": {"params": {"temperature": 0}}}
    )
    await Prompt(config).score(PASSAGE, Evidence(request=Request.of(SOURCE), judge_provider=judge))
    assert ["temperature" in query.params for query in judge.asked] == [False]


def test_tasks_require_their_inputs_before_any_call() -> None:
    judge = ReplayProvider({})
    guard = Guard({"chain": [{"method": "prompt", "task": "translation"}]}, provider=judge)
    with pytest.raises(ConfigurationError, match="pass `question`"):
        guard.check(HYPOTHESIS, references=[TARGET])
    with pytest.raises(ConfigurationError, match="pass `references`"):
        guard.check(HYPOTHESIS, question=SOURCE)
    guard = Guard({"chain": [{"method": "prompt", "task": "paraphrase"}]}, provider=judge)
    with pytest.raises(ConfigurationError, match="pass `question`"):
        guard.check(HYPOTHESIS)


@pytest.mark.parametrize(
    ("task", "needs"),
    [
        ("paraphrase", {"judge", "question"}),
        ("definition", {"judge", "question", "references"}),
        ("translation", {"judge", "question", "references"}),
    ],
)
def test_a_paraphrase_is_of_the_question(task: str, needs: set[str]) -> None:
    assert Prompt(Prompt.Config.model_validate({"task": task})).needs == needs


def test_a_guard_needs_no_samples_for_it() -> None:
    prompt = render(TaskContext(f"{SOURCE} {TARGET}"), HYPOTHESIS)
    judge = ReplayProvider({prompt: ["No"] * 5})
    guard = Guard({"chain": [{"method": "prompt", "task": "translation"}]}, provider=judge)
    verdict = guard.check(HYPOTHESIS, question=SOURCE, references=[TARGET])
    assert (verdict.decision, verdict.reason) == ("flagged", "passage 1.00 > 0.50")
    assert verdict.usage.calls == 1
