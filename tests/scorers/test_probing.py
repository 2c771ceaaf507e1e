"""Claims that samples do not mention, and what the model says when it is asked about them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Policy, PolicyError, ProviderTimeoutError, Query
from resay.core.verdict import ClaimVerdict, Verdict
from resay.providers.base import Completion, Completions
from resay.scorers.common.probing import (
    Question,
    agrees,
    gives_away,
    render_question,
    render_questions,
    usable,
)
from resay.testing import Invention, SimulatedProvider, Subject, World

pytestmark = pytest.mark.anyio

ANSWER = "The bridge is red. It opened in 1923."
SAMPLES = ["The bridge is red.", "A red bridge.", "It is a red bridge."]
OPENED = "1: In which year did the bridge open? | 1923"
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class Model:
    """Answers judges by word, quizzes and questions as it is told, and keeps what it was asked."""

    def __init__(
        self,
        *answers: str,
        quiz: Sequence[str | None] = (OPENED,),
        same: str = "",
        answer: str = ANSWER,
    ) -> None:
        self._answers = list(answers)
        self._quiz = list(quiz)
        self._same = same
        self._answer = answer
        self.asked: dict[str, list[Query]] = {}

    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        prompt = query.question
        kind = _kind(query)
        self.asked.setdefault(kind, []).append(query)
        if kind == "judge":
            return Completions((Completion(_judged(prompt)),))
        if kind == "quiz":
            text = self._quiz.pop(0)
            if text is None:
                raise ProviderTimeoutError("slow")
            return Completions((Completion(text),))
        if kind == "probe":
            return Completions((Completion(self._answers[query.index]),))
        return Completions((Completion(self._same if kind == "same" else self._answer),))

    @property
    def questions(self) -> list[str]:
        """What was asked about claims."""
        found = [re.search(r"<question-\w+>\n(.*)\n<", q.question) for q in self.asked["probe"]]
        return [match[1] for match in found if match is not None]


def _kind(query: Query) -> str:
    said = query.question
    marks = {"Compare the claims": "judge", "Prepare a quiz": "quiz", "Compare two": "same"}
    kind = next((kind for mark, kind in marks.items() if said.startswith(mark)), None)
    return kind or ("probe" if "<question-" in said else "answer")


def _judged(prompt: str) -> str:
    """Only what is red is mentioned."""
    claims = prompt.partition("<claims-")[2].partition("</claims-")[0]
    return "\n".join(
        f"{n}: {'supported' if 'red' in claim else 'not_mentioned'}"
        for n, claim in _CLAIM.findall(claims)
    )


def policy(probe: int = 3, **more: Any) -> dict[str, Any]:
    chain = {"method": "prompt", "mode": "per_sample", "probe": probe, **more.pop("prompt", {})}
    return {"chain": [chain], "cache": {"store": "none"}, **more}


async def checked(model: Model, settings: Mapping[str, Any] | None = None) -> Verdict:
    guard = Guard(settings or policy(), provider=model, model="m")
    return await guard.acheck(ANSWER, question="Tell me about the bridge.", samples=SAMPLES)


def opened(verdict: Verdict) -> ClaimVerdict:
    return next(claim for claim in verdict.claims if "1923" in claim.text)


async def test_an_open_claim_has_the_score_of_the_answers() -> None:
    model = Model("In 1932.", "1923", "1932")
    claim = opened(verdict := await checked(model))
    assert claim.score == pytest.approx(2 / 3)
    assert claim.scores == {"prompt": claim.score, "probe": pytest.approx(2 / 3)}
    assert (claim.flagged, verdict.decision) == (True, "flagged")
    assert claim.why == (
        "not supported by 3 of 3 texts compared; asked 'In which year did the bridge open?', where"
        " it says '1923', the model said In 1932 (x2), 1923 (x1)"
    )
    red = verdict.claims[0]
    assert (red.score, red.scores) == (0.0, {"prompt": 0.0})


async def test_answers_that_agree_clear_a_claim() -> None:
    claim = opened(verdict := await checked(Model("1923", "in 1923", "It was 1923.")))
    assert (claim.score, claim.scores["probe"], verdict.decision) == (0.0, 0.0, "consistent")


async def test_nobody_is_asked_by_default() -> None:
    model = Model()
    chain = [{"method": "prompt", "mode": "per_sample"}]
    claim = opened(verdict := await checked(model, {"chain": chain, "cache": {"store": "none"}}))
    assert (verdict.usage.calls, set(model.asked), claim.score) == (3, {"judge"}, 0.6)


async def test_only_open_claims_are_asked_about_and_every_call_counts() -> None:
    model = Model("1932", "1932", "1932")
    verdict = await checked(model)
    (quiz,) = model.asked["quiz"]
    assert "1. It opened in 1923." in quiz.question
    assert "is red" not in quiz.question
    assert model.questions == ["In which year did the bridge open?"] * 3
    # Three samples are judged, a quiz is written, three answers are drawn.
    assert verdict.usage.calls == verdict.steps[0].usage.calls == 7


async def test_how_much_silence_leaves_a_claim_open_is_a_setting() -> None:
    class Divided(Model):
        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            if _kind(query) == "judge" and "A red" in query.question:
                return Completions((Completion("1: supported\n2: supported"),))
            return await super().complete(query, n=n)

    for above, score in ((0.5, 0.75), (0.7, 0.4)):
        found = await checked(Divided(*["1932"] * 3), policy(prompt={"probe_above": above}))
        # One sample supports it; the answers take the place of the other two.
        assert opened(found).score == pytest.approx(score)


async def test_who_does_not_know_says_as_little_as_a_silent_sample() -> None:
    claim = opened(await checked(Model("I don't know.", "1923", "Unknown")))
    assert claim.score == pytest.approx((0.6 + 0.0 + 0.6) / 3)
    assert claim.scores["probe"] == 0.0
    assert claim.why is not None
    assert claim.why.endswith("the model said 1923 (x1), nothing (x2)")
    nothing = opened(await checked(Model(*["I do not know"] * 3)))
    assert (nothing.score, "probe" in nothing.scores) == (0.6, False)


async def test_a_question_that_holds_the_answer_is_asked_with_a_gap() -> None:
    model = Model(*["1932"] * 3, quiz=["1: Did the bridge open in 1923? | 1923"])
    assert opened(await checked(model)).score == 1.0
    assert model.questions == ["What belongs in the gap? It opened in […]."] * 3
    assert not any("1923" in query.question for query in model.asked["probe"])


@pytest.mark.parametrize(
    ("quiz", "note"),
    [
        (["1: Who built it? | Ada Moor"], "no question could be made that asks for it"),
        (["1: none"], "no question about it has one answer only"),
        (["Sure!", "1: What?"], "no question could be read"),
        ([None], "the call for a question failed"),
    ],
)
async def test_a_claim_without_a_question_keeps_its_score_and_says_so(
    quiz: Sequence[str | None], note: str
) -> None:
    model = Model(quiz=quiz)
    claim = opened(verdict := await checked(model, policy(limits={"retries": 0})))
    assert (claim.score, claim.scores) == (0.6, {"prompt": 0.6})
    assert f"; not probed: {note}" in (claim.why or "")
    assert (verdict.decision, "probe" in model.asked) == ("flagged", False)
    assert verdict.steps[0].failures == ({"ProviderTimeoutError": 1} if quiz == [None] else {})


async def test_two_claims_with_one_question_are_not_asked_about() -> None:
    text = "The bridge is red. It opened in 1923. It was shut in 1951."
    model = Model(quiz=["1: When was it? | 1923\n2: When was it? | 1951"])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(text, question="And the bridge?", samples=SAMPLES)
    assert "probe" not in model.asked
    assert "one answer only" in (verdict.claims[1].why or "")


async def test_answers_are_drawn_as_samples_are() -> None:
    settings = policy(sampling={"temperature": 0.7, "params": {"top_p": 0.9}})
    model = Model(*["1932"] * 3)
    query = Query.of(
        [
            {"role": "system", "content": "You are the town's guide."},
            {"role": "user", "content": "Tell me about the bridge."},
        ],
        model="m",
        api_base="http://127.0.0.1:9/v1",
        tools=[{"type": "function"}],
        max_tokens=4000,
        seed=7,
    )
    await Guard(settings, provider=model).acheck(ANSWER, question=query, samples=SAMPLES)
    for place, probe in enumerate(model.asked["probe"]):
        assert (probe.model, probe.index, probe.varied) == ("m", place, True)
        assert probe.params == {
            "api_base": "http://127.0.0.1:9/v1",
            "temperature": 0.7,
            "top_p": 0.9,
            "max_tokens": 320,
        }
        assert probe.messages[0]["content"] == "You are the town's guide."
        assert [message["role"] for message in probe.messages] == ["system", "user"]
        assert "user: Tell me about the bridge." in probe.question
        assert ANSWER not in probe.question


async def test_answers_are_kept_as_samples_are() -> None:
    settings = policy(cache={"store": "memory"})
    model = Model("1932", "1923", "1931")
    guard = Guard(settings, provider=model, model="m")
    for calls in (7, 0):
        verdict = await guard.acheck(ANSWER, question="And the bridge?", samples=SAMPLES)
        assert (verdict.usage.calls, opened(verdict).score) == (calls, pytest.approx(2 / 3))


async def test_as_many_claims_are_asked_about_as_calls_are_left_for() -> None:
    for calls, note, score in ((7, "too few calls are left", 0.6), (8, "asked 'In which", 1.0)):
        verdict = await checked(Model(*["1932"] * 3), policy(limits={"calls": calls}))
        claim = opened(verdict)
        assert note in (claim.why or "")
        assert (claim.score, verdict.decision) == (score, "flagged")


async def test_what_samples_say_stands_where_there_is_no_time_to_ask() -> None:
    class Slow(Model):
        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            if _kind(query) == "probe":
                await anyio.Event().wait()
            return await super().complete(query, n=n)

    verdict = await checked(Slow(), policy(limits={"deadline_s": 1.0}))
    claim = opened(verdict)
    assert (claim.score, verdict.decision) == (0.6, "flagged")
    assert (claim.why or "").endswith("not probed: there was no time left")


async def test_where_the_model_is_not_known_nobody_is_asked() -> None:
    with SimulatedProvider() as provider:
        judge = {"model": "openai/judge", "params": provider.params}
        guard = Guard(policy(prompt={"judge": judge}))
        verdict = await guard.acheck("The reef is red. It has 31 huts.", samples=["Red."] * 3)
    assert len(provider.requests) == 3
    assert [claim.why for claim in verdict.claims if "not probed" in (claim.why or "")]
    assert "the model that wrote the response cannot be asked" in (verdict.claims[1].why or "")


async def test_a_judge_that_is_named_compares_what_differs_in_words() -> None:
    quiz = "1: What colour is its roof? | crimson"
    text = "The bridge is red. Its roof is crimson."
    for judge, told, score in (
        (None, "", 1.0),
        ("j", "1: same\n2: different", 1 / 3),
        ("j", "Well", 1.0),
    ):
        model = Model("scarlet", "blue", "scarlet", quiz=[quiz], same=told)
        settings = policy(prompt={"judge": judge, "restate": False})
        guard = Guard(settings, provider=model, model="m")
        verdict = await guard.acheck(text, question="And the bridge?", samples=SAMPLES)
        assert verdict.claims[1].score == pytest.approx(score)
        compared = model.asked.get("same", [])
        assert [query.model for query in compared] == ([judge] if judge else [])
        if judge:
            assert "1. What colour is its roof? | crimson | scarlet" in compared[0].question


async def test_a_stream_is_asked_about_sentence_by_sentence() -> None:
    class Streamed(Model):
        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            if _kind(query) == "answer" and query.varied:
                return Completions((Completion(SAMPLES[query.index % 3]),))
            return await super().complete(query, n=n)

    model = Streamed(*["1932"] * 3)
    guard = Guard(policy(), provider=model, model="m")
    async with guard.astream("Tell me about the bridge.") as stream:
        text = "".join([str(part) async for part in stream])
    assert text == ANSWER
    assert opened(stream.answer.verdict).scores["probe"] == 1.0
    assert len(model.asked["quiz"]) == 1


async def test_fields_of_objects_are_not_asked_about() -> None:
    model = Model()
    query = Query.of("The bridge?", model="m", response_format={"type": "json_object"})
    verdict = await Guard(policy(), provider=model).acheck(
        '{"opened": 1923}', question=query, samples=['{"name": "Old Bridge"}'] * 3
    )
    assert verdict.structured
    assert model.asked == {}


async def test_without_content_nothing_of_it_is_told() -> None:
    verdict = await checked(Model("1932", "1923", "1932"))
    told = json.dumps(verdict.to_dict(content=False))
    assert "probe" in told
    assert not re.search("1932|which year", told)
    assert Verdict.from_dict(verdict.to_dict()).claims == verdict.claims


def test_settings_that_say_nothing_of_silence_are_refused() -> None:
    for setting in ("form: published", "order: nearest", "evidence: references"):
        with pytest.raises(PolicyError, match=f"`probe` and `{setting}` exclude each other"):
            Policy.parse(f"chain: [{{method: prompt, probe: 2, {setting}}}]")
    with pytest.raises(PolicyError, match="`probe` and `task` exclude each other"):
        Policy.parse("chain: [{method: prompt, probe: 2, task: paraphrase}]")
    with pytest.raises(PolicyError, match="must be at most 20"):
        Policy.parse("chain: [{method: prompt, probe: 21}]")


@pytest.mark.parametrize(
    ("value", "answer", "same"),
    [
        ("1932", "It was in 1932", True),
        ("1932", "1931", False),
        ("1932", "around that time", None),
        ("19 March 1932", "19.03.1932", True),
        ("12 members", "twelve", True),
        ("5 km", "5,000 metres", True),
        ("Apollo 11", "Gemini 11", False),
        ("Harold Finch", "Finch", True),
        ("Harold Finch", "Harold Smith", False),
        ("Sydney", "Canberra, not Sydney", False),
        ("Canberra", "Canberra, not Sydney", True),
        ("Sydney", "not Sydney", False),
        ("yes", "No, never", False),
        ("No Country for Old Men", "No Country for Old Men", True),
        ("悉尼", "墨尔本", False),
        ("悉尼", "悉尼", True),
    ],
)
def test_answers_agree_by_what_they_mean(value: str, answer: str, same: bool | None) -> None:
    assert agrees(value, answer) is same


@pytest.mark.parametrize(
    ("question", "value", "given"),
    [
        ("When did it open?", "1932", False),
        ("Did it open in the year 1932?", "1932", True),
        ("What happened on 19 March 1932?", "19.03.1932", True),
        ("Who was the wife of Pierre Curie?", "Marie Curie", False),
        ("Was it Marie Curie?", "Marie Curie", True),
        ("What kind of bridge is it?", "a steel arch bridge", False),
    ],
)
def test_a_question_gives_away_what_it_holds(question: str, value: str, given: bool) -> None:
    assert gives_away(question, value) is given


def test_a_gap_takes_whole_words_in_any_script() -> None:
    for claim, value, gapped in (
        ("It opened in 1932, in May.", "1932", "It opened in […], in May."),
        ("橋は1932年に開通した。", "1932", "橋は[…]年に開通した。"),
        ("Finch lived in Finchley.", "Finch", "[…] lived in Finchley."),
    ):
        question = usable(claim, Question(f"Is it {value}?", value))
        assert question is not None
        assert question.text == f"What belongs in the gap? {gapped}"
    assert usable("Finchley is a town.", Question("Who?", "Finch")) is None


@given(st.text(), st.text(min_size=1))
def test_no_text_can_end_the_marks_around_it(conversation: str, said: str) -> None:
    for prompt, mark in (
        (render_questions([said], conversation), "claims"),
        (render_question(said, conversation), "question"),
    ):
        code = prompt.partition(f"<{mark}-")[2][:16]
        assert f"</{mark}-{code}>" not in {conversation, said}
        assert f"</{mark}-{code}>" in prompt


async def test_the_simulated_provider_knows_facts_and_makes_up_the_rest() -> None:
    inventions = [Invention(f"Its {part} was made in {{place}} by {{person}}.") for part in _PARTS]
    tower = Subject(
        "Corvel Tower", facts=("Corvel Tower stands in Odense.",), inventions=inventions
    )
    with SimulatedProvider(seed=4, world=World([tower])) as provider:
        guard = Guard(policy(4, sampling={"max": 8}), model="openai/simulated")
        answer = await guard.aask("Tell me about Corvel Tower.", **provider.params)
        claims = answer.verdict.claims
        before = len(provider.requests)
        probed = [claim for claim in claims if "probe" in claim.scores]
        assert probed
        assert all("Its" in claim.text and claim.scores["probe"] > 0.5 for claim in probed)
        assert claims[0].score == 0.0
        known = "Corvel Tower is tall. It stands in Odense."
        verdict = await guard.acheck(
            known, question="Corvel Tower?", samples=["It is tall."] * 3, **provider.params
        )
    assert (verdict.claims[1].scores["probe"], verdict.claims[1].score) == (0.0, 0.0)
    # A quiz, and one request for all answers.
    assert len(provider.requests) - before == 5


_PARTS = ("roof", "door", "clock", "gate", "stair", "lamp", "bell", "floor", "wall", "beam")
