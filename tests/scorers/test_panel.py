from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage, Policy, PolicyError, ProviderTimeoutError, Request, Verdict
from resay.plugins import Completion, Completions, Evidence
from resay.scorers.panel import Panel, pooled, render_published

pytestmark = pytest.mark.anyio

CLAIMS = ["The bridge opened in 1932.", "It was painted by Harold Finch."]
JUDGES = ["x/one", "y/two", "z/three"]


class Jury:
    """Answers by the model that is asked."""

    def __init__(self, answers: Mapping[str, str | Callable[[str], str | None] | None]) -> None:
        self._answers = answers
        self.asked: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        self.asked.append(request)
        said = self._answers[request.model or ""]
        text = said(request.question) if callable(said) else said
        if text is None:
            raise ProviderTimeoutError("slow")
        return Completions((Completion(text),))


async def checked(jury: Jury, response: str = " ".join(CLAIMS), **settings: Any) -> Verdict:
    step = {"method": "panel", "judges": JUDGES, **settings}
    policy = {"chain": [step], "cache": {"store": "none"}, "limits": {"retries": 0}}
    return await Guard(policy, provider=jury).acheck(response, question="When?")


async def test_judges_vote_and_the_reason_names_who_disagrees() -> None:
    jury = Jury({"x/one": "1: A\n2: B", "y/two": "1. (A) Correct\n2: A", "z/three": "1: A\n2: C"})
    verdict = await checked(jury)
    assert [claim.score for claim in verdict.claims] == [0.0, 0.5]
    assert verdict.claims[0].reason == "correct: x/one, y/two, z/three"
    assert verdict.claims[1].reason == "correct: y/two; not sure: z/three; incorrect: x/one"
    assert verdict.reason == (
        "passage 0.25 <= 0.50, every sentence <= 0.50; the judges disagree about 1 of 2 claims"
        " (correct: y/two; incorrect: x/one)"
    )
    assert (len(jury.asked), verdict.usage.calls) == (3, 3)
    verdict = await checked(jury, pool="any")
    assert (verdict.claims[1].score, verdict.decision) == (1.0, "flagged")
    assert "the judges disagree about 1 of 2 claims" in verdict.reason


async def test_judges_that_agree_are_not_mentioned() -> None:
    verdict = await checked(Jury(dict.fromkeys(JUDGES, "1: A\n2: A")))
    assert verdict.reason == "passage 0.00 <= 0.50, every sentence <= 0.50"


scores = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=7)


@given(scores)
def test_pools(row: list[float]) -> None:
    for_it, against = row.count(0.0), row.count(1.0)
    assert pooled(row, "mean") == pytest.approx(sum(row) / len(row))
    vote = 0.5 if for_it == against else float(against > for_it)
    assert pooled(row, "majority") == vote
    assert (pooled(row, "any"), pooled(row, "all")) == (max(row), min(row))
    assert pooled([*row, *[None] * len(row)], "mean") == pytest.approx(sum(row) / len(row))
    assert pooled([*row, *[None] * (len(row) + 1)], "mean") is None


async def test_the_published_question_is_about_one_claim() -> None:
    jury = Jury(dict.fromkeys(JUDGES, "explanation: A bridge is known. answer: B"))
    verdict = await checked(jury, form="published")
    assert [claim.score for claim in verdict.claims] == [1.0, 1.0]
    assert len(jury.asked) == 6
    # 1,024 for the explanation, and 256 around an answer.
    assert jury.asked[0].params == {"max_tokens": 1_280}
    assert jury.asked[0].question == render_published("When?", CLAIMS[0])
    assert jury.asked[0].question.startswith(
        "Question: When?, Proposed Answer: The bridge opened in 1932.. Is the proposed answer: (A)"
        " Correct (B) Incorrect (C) I am not sure. The output should strictly use"
    )


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("Explanation: A bridge is known.\nAnswer: B", 1.0),
        ("explanation: They say: answer: A. It is not.\nanswer:\nB", 1.0),
        ("The proposed answer: a bridge. Nothing is incorrect.\n\nAnswer: (A)\nSo it is.", 0.0),
        ("answer: correct", 0.0),
        ("answer: unsure", 0.5),
        # A word that means something else inside a sentence.
        ("answer: non", 1.0),
    ],
)
async def test_the_answer_stands_behind_the_explanation(said: str, score: float) -> None:
    verdict = await checked(Jury(dict.fromkeys(JUDGES, said)), form="published")
    assert [claim.score for claim in verdict.claims] == [score, score]


async def test_a_published_question_that_fails_is_no_unreadable_answer() -> None:
    def of_opening(prompt: str) -> str | None:
        return "answer: A" if CLAIMS[0] in prompt else None

    verdict = await checked(Jury(dict.fromkeys(JUDGES, of_opening)), form="published")
    assert [claim.score for claim in verdict.claims] == [0.0, None]
    assert [claim.band for claim in verdict.claims] == ["supported", None]
    record = verdict.steps[0]
    assert (record.failures, record.undetermined) == ({"ProviderTimeoutError": 3}, 0)


@pytest.mark.parametrize(("form", "calls"), [("published", 6), ("together", 3)])
async def test_unreadable_answers_are_asked_for_once_more(form: str, calls: int) -> None:
    for restate in (True, False):
        jury = Jury(dict.fromkeys(JUDGES, "Hm."))
        await checked(jury, form=form, restate=restate)
        assert len(jury.asked) == (2 * calls if restate else calls)


async def test_an_answer_about_a_single_claim_needs_no_number() -> None:
    verdict = await checked(Jury(dict.fromkeys(JUDGES, "B")), CLAIMS[0])
    assert [claim.score for claim in verdict.claims] == [1.0]


@pytest.mark.parametrize(("chars", "shown"), [(4000, "user: When?"), (4, "[…] hen?"), (0, None)])
async def test_judges_see_the_end_of_the_conversation(chars: int, shown: str | None) -> None:
    jury = Jury(dict.fromkeys(JUDGES, "1: A\n2: A"))
    await checked(jury, conversation_chars=chars)
    for query in jury.asked:
        marker = re.search(r"<conversation-[0-9a-f]{16}>\n", query.question)
        assert (marker is not None) is (shown is not None)
        assert shown is None or f">\n{shown}\n</conversation-" in query.question


async def test_judges_without_an_answer_are_left_out() -> None:
    verdict = await checked(Jury({"x/one": "1: A\n2: B", "y/two": None, "z/three": "1: B\n2: B"}))
    assert [claim.score for claim in verdict.claims] == [0.5, 1.0]
    assert verdict.steps[0].failures == {"ProviderTimeoutError": 1}
    verdict = await checked(Jury({"x/one": "1: A\n2: B", "y/two": None, "z/three": "A bridge."}))
    assert verdict.reason == (
        "panel: too few judges said anything readable of 2 of 2 claims (ProviderTimeoutError x1);"
        " the judge 'y/two' did not answer in time"
    )
    assert verdict.steps[0].undetermined == 2


async def test_a_claim_of_which_too_few_say_anything_is_lost() -> None:
    jury = Jury({"x/one": "1: A\n2: A", "y/two": "1: A\n2: Hm.", "z/three": "1: A\n2: Hm."})
    panel = Panel(Panel.Config(judges=tuple(JUDGES), restate=False))
    found = await panel.score(Passage.from_sentences(CLAIMS), Evidence(judge_provider=jury))
    assert (found.sentences, found.lost, found.undetermined) == ((0.0, None), (1,), 2)


async def test_the_response_s_own_model_may_be_one_of_them() -> None:
    judges = [{"params": {"temperature": 0}}, {"model": "x/one"}]
    policy = Policy.of({"chain": [{"method": "panel", "judges": judges}]})
    assert policy.chain[0].asks_response_model
    assert policy.named_models == (("the judge of method 'panel'", "x/one"),)
    jury = Jury({"m": "1: A\n2: A", "x/one": "1: B\n2: A"})
    verdict = await Guard(policy, provider=jury, model="m").acheck(" ".join(CLAIMS), question="?")
    assert verdict.claims[0].reason == "correct: the response's model; incorrect: x/one"
    for others in (JUDGES, [{"model": name} for name in JUDGES]):
        policy = Policy.of({"chain": [{"method": "panel", "judges": others}]})
        assert not policy.chain[0].asks_response_model


def test_a_panel_has_different_judges() -> None:
    with pytest.raises(PolicyError, match="'x/one' is named twice"):
        Policy.of({"chain": [{"method": "panel", "judges": ["x/one", "x/one"]}]})
    with pytest.raises(PolicyError):
        Policy.of({"chain": [{"method": "panel", "judges": ["x/one"]}]})
