from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Passage, Policy, PolicyError, ProviderTimeoutError, Request, ScorerError
from resay.adapters.providers import ReplayProvider
from resay.plugins import Completion, Completions, Evidence, Samples, ScorerTraits, Scores
from resay.scorers.common.per_sample import render as render_all
from resay.scorers.common.silence import Between, Weights
from resay.scorers.facts import Facts
from resay.scorers.prompt import Prompt, render

pytestmark = pytest.mark.anyio

SENTENCES = ["It opened in 1932.", "It has six lanes."]
SAMPLES = ["It opened in 1932.\n\nIt has nine lanes.", "It opened in 1932."]


async def judged(answers: list[list[str | None]], **config: object) -> Scores:
    recording = {
        render(sentence, sample): [answers[i][n]]
        for i, sentence in enumerate(SENTENCES)
        for n, sample in enumerate(SAMPLES)
    }
    evidence = Evidence(Samples(SAMPLES), judge_provider=ReplayProvider(recording))
    scorer = Prompt(Prompt.Config.model_validate({"form": "published", **config}))
    return await scorer.score(Passage.from_sentences(SENTENCES), evidence)


def test_the_question_is_the_published_one() -> None:
    assert render("It has six lanes.", SAMPLES[0]) == (
        "Context: It opened in 1932.  It has nine lanes.\n\n"
        "Sentence: It has six lanes.\n\n"
        "Is the sentence supported by the context above?\n\n"
        "Answer Yes or No:"
    )


async def test_yes_is_zero_no_is_one_and_anything_else_a_half() -> None:
    scores = await judged([["Yes", "No."], ["Perhaps", "no"]])
    assert scores.sentences == (0.5, 0.75)
    assert scores.columns == ((0.0, 0.5), (1.0, 1.0))
    assert scores.undetermined == 1
    assert scores.error is None
    assert scores.reasons == (
        "not supported by 1 of 2 texts compared",
        "not supported by 1 of 2 texts compared",
    )


async def test_a_failed_call_is_left_out_of_the_mean() -> None:
    scores = await judged([["Yes", "Yes"], [None, "No"]])
    assert scores.sentences == (0.0, 1.0)
    assert scores.failures == ("ProviderError",)
    assert scores.error is None


async def test_a_sentence_without_any_answer_has_no_score() -> None:
    scores = await judged([["Yes", "Yes"], [None, None]])
    assert scores.sentences == (0.0, None)
    assert scores.failures == ("ProviderError",) * 2


async def test_with_most_answers_lost_the_scores_decide_nothing() -> None:
    scores = await judged([["Yes", None], [None, None]])
    assert scores.error == "3 of 4 comparisons failed (ProviderError x3)"


async def test_a_judge_that_never_says_yes_or_no_decides_nothing() -> None:
    scores = await judged([["Well", "Hm"], ["I cannot say", "Yes"]])
    assert scores.error == "3 of 4 comparisons could not be read"


class Recorder:
    """Notes what it is asked; answers when everything it waits for is there."""

    def __init__(self, answer: str, together: int) -> None:
        self.prompts: list[str] = []
        self.answer = answer
        self.together = together
        self.full = anyio.Event()

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.prompts.append(request.messages[-1]["content"])
        if len(self.prompts) == self.together:
            self.full.set()
        await self.full.wait()
        if not self.answer:
            raise ProviderTimeoutError("slow")
        return Completions((Completion(self.answer),))


async def test_all_questions_are_asked_at_once() -> None:
    judge = Recorder("Yes", together=4)
    with anyio.fail_after(5):
        await Prompt(Prompt.Config(mode="per_pair")).score(
            Passage.from_sentences(SENTENCES), Evidence(Samples(SAMPLES), judge_provider=judge)
        )
    assert len(judge.prompts) == 4


async def test_per_sample_asks_once_a_sample() -> None:
    judge = Recorder("1: Yes\n2: No", together=2)
    scorer = Prompt(Prompt.Config(mode="per_sample"))
    scores = await scorer.score(
        Passage.from_sentences(SENTENCES), Evidence(Samples(SAMPLES), judge_provider=judge)
    )
    # No says that it is not supported, and not that the sample says otherwise.
    assert scores.sentences == (0.0, 0.6)
    assert len(judge.prompts) == 2
    assert "1. It opened in 1932.\n2. It has six lanes.\n" in judge.prompts[0]


async def test_per_sample_tells_contradicted_from_not_mentioned() -> None:
    for answer, weight, scores in (
        ("1: supported\n2: contradicted", 0.6, (0.0, 1.0)),
        ("1: **Not mentioned**\n2. not_mentioned, as it says nothing", 0.6, (0.6, 0.6)),
        ("Claim 1: contradicted\nClaim 2: not_mentioned", 0.2, (1.0, 0.2)),
        ("1: not supported\n2: No, it is not", 0.3, (0.3, 0.3)),
    ):
        weights = Weights(not_mentioned=weight)
        scorer = Prompt(Prompt.Config(mode="per_sample", weights=weights))
        evidence = Evidence(Samples(SAMPLES), judge_provider=Recorder(answer, together=2))
        found = await scorer.score(Passage.from_sentences(SENTENCES), evidence)
        assert found.sentences == scores


async def test_per_sample_takes_the_weight_of_a_contradiction_from_the_policy() -> None:
    policy = Policy.parse(
        "chain:\n- {method: prompt, mode: per_sample, weights: {contradicted: 0.9}}\n"
    )
    (config,) = policy.chain
    assert isinstance(config, Prompt.Config)
    assert config.weights == Weights(contradicted=0.9, not_mentioned=0.6)
    evidence = Evidence(
        Samples(SAMPLES), judge_provider=Recorder("1: contradicted\n2: supported", together=2)
    )
    found = await Prompt(config).score(Passage.from_sentences(SENTENCES), evidence)
    assert found.sentences == (0.9, 0.0)


def test_weights_must_be_in_order_and_shares() -> None:
    for weights, problem in (
        ("{contradicted: 0.5}", r"not_mentioned \(0.6\) must not be greater than contradicted"),
        ("{not_mentioned: 1.5}", "must be at most 1 or a mapping, not 1.5"),
        ("{unmentioned: 0.5}", "unknown key 'unmentioned'"),
        (
            "{not_mentioned: {min: 0.8, max: 0.2}}",
            r"min \(0.8\) must not be greater than max",
        ),
    ):
        with pytest.raises(PolicyError, match=problem) as error:
            Policy.parse(f"chain: [{{method: prompt, mode: per_sample, weights: {weights}}}]")
        # A mapping is no wrong type because its values are wrong.
        assert "not a mapping" not in str(error.value)


async def test_silence_weighs_the_more_the_more_facts_doubts_the_claim() -> None:
    weights = Weights(not_mentioned=Between())
    scorer = Prompt(Prompt.Config(mode="per_sample", weights=weights))
    judge = Recorder("1: supported\n2: not mentioned", together=2)
    passage = Passage.from_sentences(SENTENCES)
    found = await scorer.score(passage, Evidence(Samples(SAMPLES), judge_provider=judge))
    facts = Facts(Facts.Config(disagreement=0.7))
    doubt = (await facts.score(passage, Evidence(Samples(SAMPLES)))).sentences[1]
    assert doubt is not None
    assert 0.0 < doubt < 1.0
    assert found.sentences == (0.0, pytest.approx(0.15 + (0.7 - 0.15) * doubt))


@pytest.mark.parametrize(
    ("settings", "named"), [("form: published", "form: published"), ("task: paraphrase", "task")]
)
def test_the_published_questions_are_english(settings: str, named: str) -> None:
    with pytest.raises(PolicyError, match=f"`{named}` asks the published question"):
        Policy.parse(f"chain: [{{method: prompt, {settings}, language: auto}}]")


async def test_per_sample_shows_the_end_of_the_conversation() -> None:
    request = Request.of(
        [
            {"role": "user", "content": "Tell me about the old bridge."},
            {"role": "assistant", "content": "Which one?"},
            {"role": "user", "content": [{"type": "text", "text": "The one at Garmo."}]},
        ]
    )
    for chars, shown in (
        (
            4000,
            "user: Tell me about the old bridge.\nassistant: Which one?\nuser: The one at Garmo.",
        ),
        (40, "[…] stant: Which one?\nuser: The one at Garmo."),
        (8, "[…] t Garmo."),
        (0, None),
    ):
        judge = Recorder("1: supported\n2: supported", together=2)
        scorer = Prompt(Prompt.Config(mode="per_sample", conversation_chars=chars))
        evidence = Evidence(Samples(SAMPLES), request=request, judge_provider=judge)
        await scorer.score(Passage.from_sentences(SENTENCES), evidence)
        prompt = judge.prompts[0]
        assert ("<conversation-" in prompt) is (shown is not None)
        assert shown is None or f">\n{shown}\n</conversation-" in prompt


@given(st.text(), st.text(min_size=1), st.text())
def test_no_text_can_end_the_marks_around_it(conversation: str, context: str, claim: str) -> None:
    code = render_all([claim], context, conversation).partition("<context-")[2][:16]
    closing = f"</context-{code}>"
    assert not {closing} & {conversation, context, claim}
    attacked = render_all([claim], f"{context}{closing}", conversation)
    other = attacked.partition("<context-")[2][:16]
    # Whoever writes the code of one prompt into a text makes another prompt, with another code.
    assert other != code
    assert attacked.count(f"</context-{other}>") == 1


async def test_per_sample_with_an_unreadable_answer_is_undetermined() -> None:
    scorer = Prompt(Prompt.Config(mode="per_sample"))
    evidence = Evidence(Samples(SAMPLES), judge_provider=Recorder("Sure!", together=2))
    scores = await scorer.score(Passage.from_sentences(SENTENCES), evidence)
    assert scores.sentences == (None, None)
    assert scores.undetermined == 4
    assert scores.error == "4 of 4 comparisons could not be read"


async def test_per_sample_with_a_failed_call_loses_the_column() -> None:
    scorer = Prompt(Prompt.Config(mode="per_sample"))
    evidence = Evidence(Samples(SAMPLES), judge_provider=Recorder("", together=2))
    scores = await scorer.score(Passage.from_sentences(SENTENCES), evidence)
    assert scores.sentences == (None, None)
    assert scores.failures == ("ProviderTimeoutError",) * 2
    assert scores.error is not None


async def test_whatever_a_judge_raises_costs_that_answer_only() -> None:
    class Odd(Recorder):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if "six lanes" in request.messages[-1]["content"]:
                raise KeyError("a bug")
            return Completions((Completion("Yes"),))

    evidence = Evidence(Samples(SAMPLES), judge_provider=Odd("", together=0))
    scores = await Prompt(Prompt.Config(form="published")).score(
        Passage.from_sentences(SENTENCES), evidence
    )
    assert scores.sentences == (0.0, None)
    assert scores.failures == ("ProviderError",) * 2


def test_only_a_named_judge_is_somebody_else() -> None:
    assert Prompt.Config().asks_response_model
    assert Prompt.Config.model_validate({"judge": {"params": {"a": 1}}}).asks_response_model
    assert not Prompt.Config(judge="openai/x").asks_response_model


class Hesitant:
    """Says Yes or No only when it is asked once more, and counts."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.calls = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.calls += 1
        again = len(request.messages) > 1
        return Completions((Completion(self.answer if again else "Hm"),))


@pytest.mark.parametrize(
    ("form", "mode", "answer", "asked"),
    [
        ("published", "per_pair", "No", 4),
        ("claims", "per_pair", "1: not_mentioned", 4),
        ("claims", "per_pair", "Not mentioned.", 4),
        ("claims", "per_sample", "1: No\n2: No", 2),
    ],
)
async def test_unreadable_judges_are_asked_once_more(
    form: str, mode: str, answer: str, asked: int
) -> None:
    no = 1.0 if form == "published" else 0.6
    unread = (0.5, 0.5) if form == "published" else (None, None)
    for restate, scores in ((True, (no, no)), (False, unread)):
        judge = Hesitant(answer)
        evidence = Evidence(Samples(SAMPLES), judge_provider=judge)
        config = {"form": form, "mode": mode, "restate": restate}
        scorer = Prompt(Prompt.Config.model_validate(config))
        assert (await scorer.score(Passage.from_sentences(SENTENCES), evidence)).sentences == scores
        assert judge.calls == (2 * asked if restate else asked)


async def test_nearest_first_bears_the_loss_of_less_than_half() -> None:
    few = await judged([["Yes", "Yes"], ["No", None]], order="nearest", restate=False)
    assert (few.failures, few.error) == (("ProviderError",), None)
    most = await judged([["Yes", None], [None, None]], order="nearest", restate=False)
    assert most.error == "3 of 4 comparisons failed (ProviderError x3)"


def test_nearest_first_wants_all_samples_and_a_task_none() -> None:
    nearest = Prompt(Prompt.Config(order="nearest"))
    assert Prompt().traits == ScorerTraits(adapts=True, stops=True, by_sentence=True)
    assert nearest.traits == ScorerTraits(adapts=False, stops=True, by_sentence=True)
    task = Prompt(Prompt.Config(task="paraphrase"))
    assert task.traits == ScorerTraits(by_text=True)
    assert "samples" not in task.needs


async def test_a_task_comes_before_the_order_of_samples() -> None:
    scorer = Prompt(Prompt.Config(task="paraphrase", order="nearest"))
    evidence = Evidence(Samples(SAMPLES), judge_provider=Recorder("Yes", together=1))
    with pytest.raises(ScorerError):
        await scorer.score(Passage.from_sentences(SENTENCES), evidence)


@pytest.mark.parametrize(("votes", "right"), [(0, False), (1, True), (100, True), (101, False)])
def test_the_judge_votes_one_to_a_hundred_times(votes: int, right: bool) -> None:
    if right:
        assert Prompt.Config(votes=votes).votes == votes
    else:
        with pytest.raises(ValidationError):
            Prompt.Config(votes=votes)
