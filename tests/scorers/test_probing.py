"""Claims that samples do not mention, and what the model says when it is asked about them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import (
    ClaimVerdict,
    Guard,
    Passage,
    Policy,
    PolicyError,
    ProviderTimeoutError,
    Request,
    Verdict,
)
from resay.plugins import Chunk, Completion, Completions, Evidence, Samples
from resay.scorers.common.probe_questions import (
    ProbeQuestion,
    independent_groups,
    read_questions,
    render_questions,
    usable,
)
from resay.scorers.common.probed_scores import is_one_of_many
from resay.scorers.common.probing import render_short_questions
from resay.scorers.common.short_answers import (
    agrees,
    gives_away,
    read_short_answers,
    words_decide,
)
from resay.scorers.judge import Judge
from resay.scorers.prompt import Prompt
from resay.testing import Invention, SimulatedProvider, Subject, World
from support.alone import needs

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
        self.asked: dict[str, list[Request]] = {}

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        prompt = request.question
        kind = _kind(request)
        self.asked.setdefault(kind, []).append(request)
        if kind == "judge":
            return Completions((Completion(_judged(prompt)),))
        if kind == "quiz":
            text = self._quiz.pop(0)
            if text is None:
                raise ProviderTimeoutError("slow")
            return Completions((Completion(text),))
        if kind == "probe":
            return Completions((Completion(self._answers[request.index]),))
        return Completions((Completion(self._same if kind == "same" else self._answer),))

    @property
    def questions(self) -> list[str]:
        """What was asked about claims, in each prompt."""
        prompts = [query.question for query in self.asked["probe"]]
        fenced = [re.search(r"<questions-\w+>\n(.*)\n</", text, re.DOTALL) for text in prompts]
        return [match[1] for match in fenced if match is not None]


def _kind(request: Request) -> str:
    said = request.question
    marks = {"Compare the claims": "judge", "Prepare a quiz": "quiz", "Compare two": "same"}
    kind = next((kind for mark, kind in marks.items() if said.startswith(mark)), None)
    return kind or ("probe" if "<questions-" in said else "answer")


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
    assert claim.reason == (
        "3 of 3 samples do not mention it; asked 'In which year did the bridge open?', where it"
        " says '1923', the model said In 1932 (x2), 1923 (x1)"
    )
    assert (claim.band, verdict.sentences[1].band) == ("contradicted", "contradicted")
    said = claim.contradicted_by
    assert said is not None
    assert (said.source, said.text, said.kind) == ("answer", "In 1932", "date")
    assert said.claim_span is not None
    assert ANSWER[slice(*said.claim_span)] == "1923"
    red = verdict.claims[0]
    assert (red.score, red.scores) == (0.0, {"prompt": 0.0})


async def test_the_words_asked_for_are_whole_words_of_the_claim() -> None:
    answer = "The bridge is red. It is 123 m long and 23 m wide."
    model = Model(*["32"] * 3, quiz=["1: How many metres is it wide? | 23"])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(answer, question="And the bridge?", samples=SAMPLES)
    claim = verdict.claims[1]
    (part,) = claim.parts
    start = answer.index("23 m wide")
    assert (part.start, part.end) == (start, start + 2)
    assert claim.contradicted_by is not None
    assert claim.contradicted_by.claim_span == (start, start + 2)


async def test_answers_that_agree_clear_a_claim() -> None:
    claim = opened(verdict := await checked(Model("1923", "in 1923", "It was 1923.")))
    assert (claim.score, claim.scores["probe"], claim.band) == (0.0, 0.0, "supported")
    assert (verdict.decision, claim.contradicted_by) == ("consistent", None)


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
    assert model.questions == ["1. In which year did the bridge open?"] * 3
    # Three samples are judged, a quiz is written, three answers are drawn.
    assert verdict.usage.calls == verdict.steps[0].usage.calls == 7


async def test_how_much_silence_leaves_a_claim_open_is_a_setting() -> None:
    class Divided(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "judge" and "A red" in request.question:
                return Completions((Completion("1: supported\n2: supported"),))
            return await super().complete(request, n=n)

    for above, score in ((0.5, 0.75), (2 / 3, 0.4), (0.7, 0.4)):
        settings = policy(prompt={"probe_above": above}, threshold={"sentence": 0.3})
        found = await checked(Divided(*["1932"] * 3), settings)
        # One sample supports it; the answers take the place of the other two.
        assert opened(found).score == pytest.approx(score)


async def test_unknown_answers_count_like_silent_samples() -> None:
    claim = opened(await checked(Model("I don't know.", "1923", "Unknown")))
    assert claim.score == pytest.approx((0.6 + 0.0 + 0.6) / 3)
    assert claim.scores["probe"] == 0.0
    assert claim.reason is not None
    assert claim.reason.endswith("the model said 1923 (x1), nothing (x2)")
    nothing = opened(verdict := await checked(Model(*["I do not know"] * 3)))
    assert (nothing.score, nothing.band, "probe" in nothing.scores) == (None, None, False)
    assert (nothing.reason or "").endswith("the model said nothing (x3)")
    assert (verdict.decision, verdict.score, verdict.flagged) == ("inconclusive", None, False)
    assert verdict.reason == (
        "1 of 2 sentences could not be scored: most samples do not mention 1 of them, and the model"
        " gave no answer"
    )
    # Each letter is in a scored sentence, or listed.
    assert [stretch.text for stretch in verdict.unscored] == ["It opened in 1923."]


async def test_a_question_that_holds_the_answer_is_asked_with_a_gap() -> None:
    model = Model(*["1932"] * 3, quiz=["1: Did the bridge open in 1923? | 1923"])
    assert opened(await checked(model)).score == 1.0
    assert model.questions == ["1. What belongs in the gap? It opened in […]."] * 3
    assert not any("1923" in query.question for query in model.asked["probe"])


@pytest.mark.parametrize(
    ("quiz", "note"),
    [
        (["1: Who built it? | Ada Moor"], "no question could be made that asks for it"),
        (["Sure!", "1: What?"], "no question could be read"),
        ([None], "the call for a question failed"),
    ],
)
async def test_a_claim_that_nobody_could_ask_about_is_not_flagged_and_says_so(
    quiz: Sequence[str | None], note: str
) -> None:
    model = Model(quiz=quiz)
    claim = opened(verdict := await checked(model, policy(limits={"retries": 0})))
    assert (claim.score, claim.scores, claim.flagged) == (None, {}, False)
    assert f"3 of 3 samples do not mention it; not asked about: {note}" in (claim.reason or "")
    assert (verdict.decision, "probe" in model.asked) == ("inconclusive", False)
    assert f"most samples do not mention 1 of them, and {note}" in verdict.reason
    assert verdict.steps[0].failures == ({"ProviderTimeoutError": 1} if quiz == [None] else {})


async def test_two_claims_with_one_question_are_not_asked_about() -> None:
    text = "The bridge is red. It opened in 1923. It was shut in 1951."
    model = Model(quiz=["1: When was it? | 1923\n2: When was it? | 1951"])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(text, question="And the bridge?", samples=SAMPLES)
    assert "probe" not in model.asked
    assert "a question about it has several right answers" in (verdict.claims[1].reason or "")
    # One of many members: only the samples can say whether it belongs to them.
    assert [claim.score for claim in verdict.claims] == [0.0, 0.6, 0.6]


async def test_answers_are_drawn_as_samples_are() -> None:
    settings = policy(sampling={"temperature": 0.7, "params": {"top_p": 0.9}})
    model = Model(*["1932"] * 3)
    request = Request.of(
        [
            {"role": "system", "content": "You are the town's guide."},
            {"role": "user", "content": "Tell me about the bridge."},
        ],
        model="m",
        params={
            "api_base": "http://127.0.0.1:9/v1",
            "tools": [{"type": "function"}],
            "max_tokens": 4000,
            "seed": 7,
        },
    )
    await Guard(settings, provider=model).acheck(ANSWER, question=request, samples=SAMPLES)
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
    for calls, note, score, decision in (
        (6, "not asked about: too few calls are left (`limits.calls`)", None, "inconclusive"),
        (7, "asked 'In which", 1.0, "flagged"),
    ):
        verdict = await checked(Model(*["1932"] * 3), policy(limits={"calls": calls}))
        claim = opened(verdict)
        assert note in (claim.reason or "")
        assert (claim.score, verdict.decision) == (score, decision)
        assert verdict.usage.calls <= calls


async def test_a_claim_is_not_flagged_where_there_is_no_time_to_ask() -> None:
    class Slow(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "probe":
                await anyio.Event().wait()
            return await super().complete(request, n=n)

    verdict = await checked(Slow(), policy(limits={"deadline_s": 1.0}))
    claim = opened(verdict)
    assert (claim.score, verdict.decision) == (None, "inconclusive")
    assert (claim.reason or "").endswith("where it says '1923': no answer came")
    assert verdict.claims[0].band == "supported"


async def test_the_other_scores_are_returned_before_the_time_of_a_caller_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Silent(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "quiz":
                await anyio.Event().wait()
            return await super().complete(request, n=n)

    monkeypatch.setattr("resay.scorers.prompt.MARGIN_S", 1000.0)
    model = Silent()
    evidence = Evidence(Samples(SAMPLES), judge_provider=model, prober=Judge(model, Request(())))
    with anyio.fail_after(5):
        scores = await Prompt(Prompt.Config(mode="per_sample", probe=3)).score(
            Passage.of(ANSWER), evidence
        )
    assert scores.sentences == (0.0, None)


@needs("litellm")
async def test_where_the_model_is_not_known_nobody_is_asked() -> None:
    with SimulatedProvider() as provider:
        judge = {"model": "openai/judge", "params": provider.params}
        guard = Guard(policy(prompt={"judge": judge}))
        verdict = await guard.acheck("The reef is red. It has 31 huts.", samples=["Red."] * 3)
    assert len(provider.requests) == 3
    assert verdict.claims[1].band == "unsupported"
    assert "the model that wrote the response cannot be asked" in (verdict.claims[1].reason or "")


async def test_a_judge_compares_what_differs_in_words() -> None:
    quiz = "1: What colour is its roof? | crimson"
    text = "The bridge is red. Its roof is crimson."
    for judge, told, score in (
        (None, "1: same\n2: different", 1 / 3),
        ("j", "1: same\n2: different", 1 / 3),
        ("j", "1: unclear\n2: different", (0.6 + 1.0 + 0.6) / 3),
        ("j", "Well", None),
    ):
        model = Model("scarlet", "blue", "scarlet", quiz=[quiz], same=told)
        settings = policy(prompt={"judge": judge, "restate": False})
        guard = Guard(settings, provider=model, model="m")
        verdict = await guard.acheck(text, question="And the bridge?", samples=SAMPLES)
        assert verdict.claims[1].score == (None if score is None else pytest.approx(score))
        assert "the model said" in (verdict.claims[1].reason or "")
        assert "scarlet (x2)" in (verdict.claims[1].reason or "") or told.startswith("1: same")
        (compared,) = model.asked["same"]
        assert compared.model == (judge or "m")
        assert "1. What colour is its roof? | crimson | scarlet" in compared.question
    # Where words or numbers decide, nobody compares.
    numbers = Model("1932", "1923", "I don't know")
    await checked(numbers)
    assert "same" not in numbers.asked


async def test_an_answer_that_is_less_exact_than_the_claim_is_compared_by_a_judge() -> None:
    says = ("the early 1920s", "between 1920 and 1930", "before 1930")
    for relation, score in (("same", 0.0), ("different", 1.0)):
        told = "\n".join(f"{n}: {relation}" for n in (1, 2, 3))
        model = Model(*says, same=told)
        claim = opened(await checked(model))
        assert (claim.score, len(model.asked["same"])) == (score, 1)


async def test_answers_that_came_before_the_deadline_count_without_the_others() -> None:
    class Slow(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "probe" and request.index == 2:
                await anyio.Event().wait()
            return await super().complete(request, n=n)

    verdict = await checked(Slow("1932", "1932"), policy(limits={"deadline_s": 1.0}))
    claim = opened(verdict)
    assert (claim.score, verdict.decision) == (1.0, "flagged")
    assert (claim.reason or "").endswith("the model said 1932 (x2)")


async def test_a_stream_is_asked_about_sentence_by_sentence() -> None:
    class Streamed(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "answer" and request.varied:
                return Completions((Completion(SAMPLES[request.index % 3]),))
            return await super().complete(request, n=n)

    model = Streamed(*["1932"] * 3)
    guard = Guard(policy(), provider=model, model="m")
    async with guard.astream("Tell me about the bridge.") as stream:
        text = "".join([str(part) async for part in stream])
    assert text == ANSWER
    assert opened(stream.answer.verdict).scores["probe"] == 1.0
    assert len(model.asked["quiz"]) == 1


async def test_fields_of_objects_are_not_asked_about() -> None:
    model = Model()
    request = Request.of(
        "The bridge?", model="m", params={"response_format": {"type": "json_object"}}
    )
    verdict = await Guard(policy(), provider=model).acheck(
        '{"opened": 1923}', question=request, samples=['{"name": "Old Bridge"}'] * 3
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
    ("value", "answer", "decided"),
    [
        ("1923", "1932", True),
        ("1923", "In 1932.", True),
        ("12 arches", "14", True),
        ("12", "14 arches", True),
        ("3 March 1923", "4 March 1923", True),
        ("1923", "c. 1923", True),
        ("Ada Moor", "the painter Ada Moor", True),
        ("1923", "the 1920s", False),
        ("1923", "the early 20th century", False),
        ("1923", "1922–1924", False),
        ("1923", "before 1930", False),
        ("1923", "vor 1930", False),
        ("1923", "not 1923", False),
        ("the 1850s", "1857", False),
        ("100", "more than 90", False),
        ("more than 100", "120", False),
        ("3 May", "03/05", False),
        ("Royal Academy of Music", "Royal Academy of Arts", False),
    ],
)
def test_numbers_decide_only_in_the_same_place(value: str, answer: str, decided: bool) -> None:
    assert words_decide(value, answer, "In which year, and how many arches?") is decided


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
        question = usable(claim, ProbeQuestion(f"Is it {value}?", value))
        assert question is not None
        assert question.text == f"What belongs in the gap? {gapped}"
    assert usable("Finchley is a town.", ProbeQuestion("Who?", "Finch")) is None


@given(st.text(), st.text(min_size=1))
def test_no_text_can_end_the_marks_around_it(conversation: str, said: str) -> None:
    for prompt, mark in (
        (render_questions([said], conversation), "claims"),
        (render_short_questions([said], conversation), "questions"),
    ):
        code = prompt.partition(f"<{mark}-")[2][:16]
        assert f"</{mark}-{code}>" not in {conversation, said}
        assert f"</{mark}-{code}>" in prompt


@needs("litellm")
async def test_the_simulated_provider_knows_facts_and_makes_up_the_rest() -> None:
    inventions = [Invention(f"They {verb} {{number}} {part}.") for verb, part in _PARTS]
    tower = Subject(
        "Corvel Tower", facts=("Corvel Tower stands in Odense.",), inventions=inventions
    )
    with SimulatedProvider(seed=4, world=World([tower])) as provider:
        guard = Guard(policy(4, sampling={"max": 8}), model="openai/simulated")
        answer = await guard.aask("Tell me about Corvel Tower.", params=provider.params)
        claims = answer.verdict.claims
        before = len(provider.requests)
        probed = [claim for claim in claims if "probe" in claim.scores]
        assert probed
        assert all(claim.scores["probe"] > 0.5 for claim in probed)
        assert claims[0].score == 0.0
        known = "Corvel Tower is tall. It stands in Odense."
        verdict = await guard.acheck(
            known, question="Corvel Tower?", samples=["It is tall."] * 3, params=provider.params
        )
    assert (verdict.claims[1].scores["probe"], verdict.claims[1].score) == (0.0, 0.0)
    # A quiz, and one request for all answers.
    assert len(provider.requests) - before == 5


_PARTS = (
    *(("carved", "doors"), ("wound", "clock"), ("painted", "ceiling"), ("burned", "crypt")),
    *(("cast", "bell"), ("gilded", "spire"), ("laid", "roof"), ("dug", "cellar")),
    *(("stole", "lamp"), ("paid", "gate"), ("swept", "stairs"), ("glazed", "windows")),
    *(("sold", "organ"), ("tuned", "chimes"), ("hung", "tapestry"), ("drained", "moat")),
    *(("planted", "garden"), ("forged", "hinges"), ("mapped", "tunnel"), ("bricked", "chimney")),
    *(("drew", "plans"), ("lit", "beacon"), ("tiled", "floor"), ("fenced", "yard")),
)


LIGHTHOUSE = (
    "The lighthouse is red. It was built in 1864. Its architect was Hugh Lorimer. Its beam reaches"
    " 21 km."
)
LIGHTHOUSE_QUIZ = (
    "1: In which year was the lighthouse built? | 1864\n"
    "2: Who was the architect of the lighthouse? | Hugh Lorimer\n"
    "3: How far does the beam of the lighthouse reach? | 21 km"
)


class Knowing(Model):
    """Answers all questions of a prompt at once, by what it knows."""

    def __init__(self, knowledge: Mapping[str, str], **more: Any) -> None:
        super().__init__(**more)
        self._knowledge = knowledge

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        found = await super().complete(request, n=n) if _kind(request) != "probe" else None
        if found is not None:
            return found
        await anyio.lowlevel.checkpoint()
        self.asked.setdefault("probe", []).append(request)
        lines = self.questions[-1].splitlines()
        answers = [self._knowledge.get(line.partition(". ")[2], "I don't know") for line in lines]
        text = "\n".join(f"{n}: {answer}" for n, answer in enumerate(answers, 1))
        return Completions((Completion(text),))


KNOWN = {
    "In which year was the lighthouse built?": "1864",
    "Who was the architect of the lighthouse?": "Hugh Latimer",
    "How far does the beam of the lighthouse reach?": "about 21 kilometres",
}


async def test_all_questions_are_asked_in_one_prompt() -> None:
    model = Knowing(KNOWN, quiz=[LIGHTHOUSE_QUIZ], same="1: different")
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(LIGHTHOUSE, question="And the lighthouse?", samples=SAMPLES)
    bands = [claim.band for claim in verdict.claims]
    assert bands == ["supported", "supported", "contradicted", "supported"]
    # Three samples, one quiz, three answers to all questions, one comparison of names.
    assert verdict.usage.calls == 3 + 1 + 3 + 1
    assert set(model.questions) == {"\n".join(f"{n}. {q}" for n, q in enumerate(KNOWN, 1))}
    part = next(part for part in verdict.claims[2].parts if part.flagged)
    assert LIGHTHOUSE[part.start : part.end] == "Hugh Lorimer"


async def test_a_question_that_tells_the_answer_to_another_is_asked_apart() -> None:
    quiz = LIGHTHOUSE_QUIZ.replace("lighthouse built?", "lighthouse of Hugh Lorimer built?")
    known = {"In which year was the lighthouse of Hugh Lorimer built?": "1864", **KNOWN}
    model = Knowing(known, quiz=[quiz], same="1: different")
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(LIGHTHOUSE, question="And the lighthouse?", samples=SAMPLES)
    bands = [claim.band for claim in verdict.claims]
    assert bands == ["supported", "supported", "contradicted", "supported"]
    assert len(set(model.questions)) == 2
    for asked in model.questions:
        assert not ("of Hugh" in asked and "Who was" in asked)


async def test_questions_apart_are_left_unasked_where_calls_are_few() -> None:
    quiz = LIGHTHOUSE_QUIZ.replace("lighthouse built?", "lighthouse of Hugh Lorimer built?")
    known = {"In which year was the lighthouse of Hugh Lorimer built?": "1864", **KNOWN}
    model = Knowing(known, quiz=[quiz])
    guard = Guard(policy(limits={"calls": 8}), provider=model, model="m")
    verdict = await guard.acheck(LIGHTHOUSE, question="And the lighthouse?", samples=SAMPLES)
    assert [claim.band for claim in verdict.claims] == ["supported", "supported", None, "supported"]
    assert "too few calls are left (`limits.calls`)" in verdict.reason
    assert (verdict.decision, verdict.usage.calls) == ("inconclusive", 7)


def test_groups_hold_no_question_that_tells_on_another() -> None:
    questions = {
        4: ProbeQuestion("Who built the bridge of 1932?", "Ada Moor"),
        5: ProbeQuestion("When was the bridge opened?", "1932"),
        7: ProbeQuestion("What did Ada Moor build?", "a bridge of stone"),
        9: ProbeQuestion("How long is it?", "5 km"),
    }
    assert independent_groups(questions) == [[4, 9], [5, 7]]
    assert independent_groups({}) == []


@pytest.mark.parametrize(
    "written",
    [
        "1: When did it open? | 1923\n2: none",
        "**1.** When did it open? | **1923**\n**2.** None",
        "| 1 | When did it open? | 1923 |\n| 2 | none | none |",
        "1. Question: When did it open? Answer: 1923\n2. none",
        "1. When did it open?\n   **Answer:** 1923\n\n2. none | none",
        "1) When did it open? - 1923\n2) none",
        "1: When did it open? → 1923",
        'Here they are:\n```json\n{"1": "When did it open? | 1923", "2": "none"}\n```',
        '[{"claim": 1, "question": "When did it open?", "answer": "1923"}]',
        '{"questions": [{"number": 1, "question": "When did it open?", "answer": "1923"}]}',
        '["When did it open? | 1923", "none"]',
        '[{"claim": 1, "question": "When did it open?", "answer": 1923}]',
        '{"1": {"question": "When did it open?", "answer": "1923"}}',
        '{"1": {"question": "When did it open?", "answer": "1923"}, "2": {"question": "none"}}',
        "<think>1: What? | no</think>"[:0] + "Claim 1: When did it open? | 1923\nClaim 2: none",
    ],
)
def test_questions_are_read_in_any_form(written: str) -> None:
    first, second = read_questions(written, 2)
    assert first == ProbeQuestion("When did it open?", "1923")
    assert second in {None, ProbeQuestion("", "")}


@pytest.mark.parametrize(
    "written",
    [
        "I do not understand the request.",
        "",
        "1: When did it open?",
        "When | 1923",
        "1 | 2 | 3 | 4",
    ],
)
def test_invalid_questions_are_not_parsed(written: str) -> None:
    assert read_questions(written, 2) == [None, None]


TWO = ("When did it open?", "How long is it?")


@pytest.mark.parametrize(
    "written",
    [
        "1: 1923\n2: 1.5 km",
        "1. 1923\n2. 1.5 km.",
        "**1:** 1923\n**2:** 1.5 km",
        "- 1) 1923\n- 2) 1.5 km",
        "Here are my answers:\n\n1: 1923\n\n2: 1.5 km\n\nLet me know!",
        "2: 1.5 km\n1: 1923",
        "1923\n1.5 km",
        "[1] 1923\n[2] 1.5 km",
        "Question 1: 1923\nQuestion 2: 1.5 km",
        "| 1 | 1923 |\n| 2 | 1.5 km |",
        "1：1923\n2：1.5 km",
        "1:1923\n2: 1.5 km",
        '{"1": 1923, "2": "1.5 km"}',
        '```json\n["1923", "1.5 km"]\n```',
        '[{"number": 1, "answer": "1923"}, {"number": 2, "answer": "1.5 km"}]',
        '{"answers": [{"question": "When did it open?", "answer": 1923}, {"answer": "1.5 km"}]}',
        "1. When did it open?\n1923\n2. How long is it?\n1.5 km",
        "Answer 1: 1923\nAnswer 2: 1.5 km",
    ],
)
def test_short_answers_are_read_in_any_form(written: str) -> None:
    assert read_short_answers(written, TWO) == ["1923", "1.5 km"]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("1923", "1923"),
        ("1: 1923", "1923"),
        ("1.5 km", "1.5 km"),
        ("1:30 pm", "1:30 pm"),
        ("1 May 1923", "1 May 1923"),
        ("1. 1 May 1923", "1 May 1923"),
        ("**1923**\n\nIt opened in spring.", "1923"),
        ("Answer: 1923.", "1923"),
    ],
)
def test_a_single_answer_needs_no_number(written: str, answer: str) -> None:
    assert read_short_answers(written, ["When?"]) == [answer]


def test_an_answer_that_is_given_in_two_ways_is_none() -> None:
    assert read_short_answers('{"1": "1923"} or {"1": "1932"}', ["When?"]) == [None]
    assert read_short_answers("1: 1923\n3: 5 km", TWO) == ["1923", None]


@pytest.mark.parametrize(
    "written",
    [
        *("I don't know", "Unknown.", "Not specified", "It depends", "It varies", "N/A", "Various"),
        *("As an AI, I don't have that information", "See the official website", "Not sure"),
        *("Das weiß ich nicht", "Unbekannt", "Keine Ahnung", "Je ne sais pas", "Inconnu"),
        *("No lo sé", "Desconocido", "Non lo so", "Não sei", "Ik weet het niet", "Nie wiem"),
        *("Не знаю", "Неизвестно", "不知道", "我不清楚", "わかりません", "모르겠습니다"),
        *("لا أعرف", "मुझे नहीं पता", "Bilmiyorum", "Jag vet inte", "Det vet jeg ikke"),
        *("En tiedä", "Nevím", "Nem tudom", "Δεν ξέρω", "Nu știu", "Tôi không biết", "Tidak tahu"),
        *("When did the bridge open?", "The year in which the bridge opened", "The opening year"),
    ],
)
def test_refusals_are_no_answers(written: str) -> None:
    question = "In which year did the opening of the bridge take place?"
    assert read_short_answers(f"1: {written}", [question]) == [None]


@given(st.text(), st.integers(1, 4))
def test_any_text_can_be_read(written: str, count: int) -> None:
    assert len(read_short_answers(written, ["When?"] * count)) == count
    assert len(read_questions(written, count)) == count


@pytest.mark.parametrize(
    ("answer", "quiz", "says", "band"),
    [
        (
            "Die Brücke ist red. Sie wurde 1923 eröffnet.",
            "Wann? | 1923",
            "Im Jahr 1923",
            "supported",
        ),
        ("Die Brücke ist red. Sie wurde 1923 eröffnet.", "Wann? | 1923", "1932", "contradicted"),
        ("Le pont est red. Il mesure 1,5 km.", "Longueur ? | 1,5 km", "1500 m", "supported"),
        ("El puente es red. Mide 12 metros.", "¿Cuánto? | 12 metros", "doce metros", "supported"),
        ("橋は red。1923年に開通した。", "何年？ | 1923年", "1932年", "contradicted"),
        ("Мост red. Он открыт в 1923 году.", "Когда? | 1923", "Не знаю", None),
        ("桥是 red。它于1923年开通。", "哪年？ | 1923年", "不知道", None),
    ],
)
async def test_answers_in_any_language_are_asked_about(
    answer: str, quiz: str, says: str, band: str | None
) -> None:
    model = Model(*[f"1: {says}"] * 3, quiz=[f"1: {quiz}"])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(answer, question="And the bridge?", samples=SAMPLES)
    claim = next(claim for claim in verdict.claims if "red" not in claim.text)
    assert claim.band == band
    assert claim.flagged == (band == "contradicted")


async def test_names_of_lists_are_not_asked_about() -> None:
    answer = "Three bridges of the town:\n\n- Ada Moor Bridge\n- Finch Bridge"
    model = Model(quiz=[])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(answer, question="Which bridges?", samples=SAMPLES)
    items = [claim for claim in verdict.claims if claim.unit == "item"]
    assert {claim.band for claim in items} == {"unsupported"}
    assert all("has several right answers" in (claim.reason or "") for claim in items)
    assert set(model.asked) == {"judge"}


async def test_sentences_of_a_stream_that_wait_are_asked_about_together() -> None:
    asked_first = anyio.Event()

    class Streamed(Knowing):
        """Writes the rest during the first quiz, which takes until all has been judged."""

        @asynccontextmanager
        async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
            async def pieces() -> AsyncGenerator[Chunk]:
                end = LIGHTHOUSE.index(" Lorimer")
                yield Chunk(LIGHTHOUSE[:end])
                await asked_first.wait()
                yield Chunk(LIGHTHOUSE[end:])

            yield pieces()

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "answer" and request.varied:
                return Completions((Completion(SAMPLES[request.index % 3]),))
            if _kind(request) != "quiz":
                return await super().complete(request, n=n)
            quizzes = self.asked.setdefault("quiz", [])
            quizzes.append(request)
            asked_first.set()
            # All four sentences are compared with three samples while the first is asked about.
            while len(quizzes) == 1 and len(self.asked["judge"]) < 12:
                await anyio.lowlevel.checkpoint()
            claims = _CLAIM.findall(request.question.partition("<claims-")[2])
            lines = LIGHTHOUSE_QUIZ.splitlines()
            about = {"built": lines[0], "architect": lines[1], "beam": lines[2]}
            written = [(n, line) for n, c in claims for word, line in about.items() if word in c]
            return Completions((Completion("\n".join(f"{n}{line[1:]}" for n, line in written)),))

    model = Streamed(KNOWN, same="1: different", answer=LIGHTHOUSE)
    settings = policy(sampling={"max": 3}, stream_mode="hold")
    guard = Guard(settings, provider=model, model="m")
    async with guard.astream("Tell me about the lighthouse.") as stream:
        text = "".join([str(part) async for part in stream])
    assert text == LIGHTHOUSE
    verdict = stream.answer.verdict
    bands = [claim.band for claim in verdict.claims]
    assert bands == ["supported", "supported", "contradicted", "supported"]
    assert len(model.asked["quiz"]) == 2
    assert len(model.asked["probe"]) == 6


async def test_a_held_sentence_without_an_answer_is_shown_and_in_doubt() -> None:
    class Streamed(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if _kind(request) == "answer" and request.varied:
                return Completions((Completion(SAMPLES[request.index % 3]),))
            return await super().complete(request, n=n)

    for on_error, shown in (("annotate", True), ("block", False)):
        model = Streamed(*["I don't know"] * 3)
        settings = policy(stream_mode="hold", on_error=on_error, action={"do": "block"})
        guard = Guard(settings, provider=model, model="m")
        async with guard.astream("Tell me about the bridge.") as stream:
            text = "".join([str(part) async for part in stream])
        assert ("1923" in text) == shown
        assert stream.answer.verdict.decision == "inconclusive"
        assert "the model gave no answer" in stream.answer.verdict.reason


async def test_a_claim_in_doubt_is_asked_about_too_and_stays_in_doubt_without_an_answer() -> None:
    limits = {"threshold": {"passage": 0.7, "sentence": 0.7, "doubtful": 0.5}}
    for says, band, decision in (
        ("1932", "contradicted", "flagged"),
        ("1923", "supported", "consistent"),
        ("I don't know", "doubtful", "consistent"),
    ):
        claim = opened(verdict := await checked(Model(*[says] * 3), policy(**limits)))
        assert (claim.band, verdict.decision) == (band, decision)
        assert "asked 'In which year did the bridge open?'" in (claim.reason or "")
    # Nobody asks about what is not in doubt.
    limits["threshold"]["doubtful"] = 0.65
    model = Model()
    assert opened(await checked(model, policy(**limits))).band == "supported"
    assert set(model.asked) == {"judge"}


async def test_rows_of_a_batch_are_asked_about_each_by_itself() -> None:
    model = Model(*["1932"] * 3, quiz=[OPENED, OPENED])
    guard = Guard(policy(), provider=model, model="m")
    items = [
        {"response": ANSWER, "question": f"Tell me about the bridge of {town}.", "samples": SAMPLES}
        for town in ("Odense", "Bern")
    ]
    bands = [
        [claim.band for claim in checked.verdict.claims]
        async for checked in guard.acheck_many(items)
    ]
    assert bands == [["supported", "contradicted"]] * 2
    talks = [re.findall("Odense|Bern", query.question) for query in model.asked["quiz"]]
    assert sorted(talks) == [["Bern"], ["Odense"]]


async def test_a_cell_of_a_table_is_asked_about_with_its_heads() -> None:
    answer = "| Bridge | Opened | Colour |\n|---|---|---|\n| Old Bridge | 1923 | red |\n"
    quiz = ["1: none\n2: In which year was the Old Bridge opened? | 1923"]
    model = Model(*["1: 1932"] * 3, quiz=quiz)
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(answer, question="Which bridges?", samples=SAMPLES)
    bands = {answer[claim.start : claim.end]: claim.band for claim in verdict.claims}
    # The name of the row is one of many.
    assert (bands["Old Bridge"], bands["1923"], bands["red"]) == (
        "unsupported",
        "contradicted",
        "supported",
    )
    assert "Old Bridge: Opened: 1923" in model.asked["quiz"][0].question


async def test_sentences_without_a_claim_are_not_asked_about() -> None:
    answer = "Good question! The bridge is red. I don't know who built it. Shall I look it up?"
    model = Model(quiz=[])
    guard = Guard(policy(), provider=model, model="m")
    verdict = await guard.acheck(answer, question="And the bridge?", samples=SAMPLES)
    assert verdict.decision == "consistent"
    assert set(model.asked) == {"judge"}


@pytest.mark.parametrize(
    ("text", "is_name"), [("Otto of the Rhine", True), ("He sold his two mills", False)]
)
def test_an_item_of_up_to_four_words_is_a_name(text: str, is_name: bool) -> None:
    (item,) = Passage.of(f"- {text}").sentences
    assert is_one_of_many(item) is is_name


def test_silence_weighs_0_6_until_facts_have_scored_it() -> None:
    weights = Prompt.Config.model_validate({"weights": {"not_mentioned": {"min": 0.4, "max": 0.4}}})
    assert weights.weights.silence == 0.6
