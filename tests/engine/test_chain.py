from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Passage, Policy, PolicyError, Request, Verdict
from resay.adapters.providers import ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import (
    Completion,
    Completions,
    Evidence,
    Need,
    Provider,
    Samples,
    ScorerConfig,
    Scores,
    registry,
)
from resay.scorers import zero_shot
from resay.scorers.prompt import render

pytestmark = pytest.mark.anyio

SENTENCES = ["The bridge opened in 1932.", "Its painter was Harold Finch."]
PASSAGE = Passage.from_sentences(SENTENCES)
SAMPLES = [
    "The bridge opened in 1932. Its painter was Mary Doyle.",
    "The bridge opened in 1932. Its painter was Tom Baker.",
    "The bridge opened in 1932. Its painter was Ann Lee.",
]


def judge(*answers: str | None) -> ReplayProvider:
    """A judge that gives one answer per sentence, the same for each sample."""
    return ReplayProvider(
        {
            render(sentence, sample): [answer]
            for sentence, answer in zip(SENTENCES, answers, strict=True)
            for sample in SAMPLES
        }
    )


async def run(
    *steps: dict[str, object],
    samples: list[str] = SAMPLES,
    references: tuple[str, ...] = (),
    asked: Provider | None = None,
    passage: Passage = PASSAGE,
    **policy: object,
) -> Verdict:
    chain = Chain(Policy.of({"chain": list(steps), **policy}))
    evidence = Evidence(Samples(samples), Samples(references), judge_provider=asked)
    return await chain.run(passage, evidence, math.inf)


async def test_a_made_up_sentence_is_flagged_with_what_contradicts_it() -> None:
    verdict = await run({"method": "ngram"})
    assert verdict.decision == "flagged"
    assert verdict.reason == "1 of 2 sentences > 0.50 with 3 samples"
    kept, made_up = verdict.sentences
    assert (kept.score, kept.flagged, kept.contradicted_by) == (0.0, False, None)
    assert (made_up.score, made_up.flagged, made_up.by) == (1.0, True, "ngram")
    assert made_up.text == PASSAGE.text[made_up.start : made_up.end]
    assert made_up.contradicted_by is not None
    assert made_up.contradicted_by.text.startswith("Its painter was ")
    assert made_up.contradicted_by.text != made_up.text


@pytest.mark.parametrize("first", ["Yes", "Perhaps", None])
async def test_a_contradicting_sample_is_one_the_judge_said_no_to(first: str | None) -> None:
    answers: dict[str, list[str | None]] = {render(SENTENCES[0], s): ["Yes"] for s in SAMPLES} | {
        render(SENTENCES[1], s): [a] for s, a in zip(SAMPLES, [first, "No", "No"], strict=True)
    }
    verdict = await run({"method": "prompt", "form": "published"}, asked=ReplayProvider(answers))
    said = verdict.sentences[1].contradicted_by
    assert said is not None
    assert said.index in (1, 2)


async def test_answers_in_every_sample_are_consistent() -> None:
    verdict = await run({"method": "ngram"}, passage=Passage.of(SENTENCES[0]))
    assert verdict.decision == "consistent"
    assert verdict.reason == "passage 0.00 <= 0.50, every sentence <= 0.50 with 3 samples"


async def test_the_passage_threshold_alone() -> None:
    only_passage = {"passage": 0.4, "sentence": None}
    verdict = await run({"method": "ngram"}, threshold=only_passage)
    assert verdict.reason == "passage 0.50 > 0.40 with 3 samples"
    assert verdict.flagged_sentences == ()
    only_passage["passage"] = 0.5
    assert (await run({"method": "ngram"}, threshold=only_passage)).decision == "consistent"


async def test_later_steps_see_what_earlier_ones_did_not_settle() -> None:
    verdict = await run(
        {"method": "ngram", "settle": {"below": 0.2}},
        {"method": "prompt", "form": "published"},
        asked=judge(None, "Yes"),
    )
    assert [(s.score, s.by) for s in verdict.sentences] == [(0.0, "ngram"), (0.0, "prompt")]
    assert [(s.method, s.sentences, s.usage.calls) for s in verdict.steps] == [
        ("ngram", 2, 0),
        ("prompt", 1, 3),
    ]
    assert verdict.decision == "consistent"


async def test_each_step_that_settles_ends_a_group() -> None:
    verdict = await run(
        {"method": "ngram"},
        {"method": "prompt", "form": "published", "settle": {"above": 0.9}},
        {"method": "prompt", "mode": "per_sample"},
        asked=judge("No", "No"),
    )
    assert [step.method for step in verdict.steps] == ["ngram", "prompt"]


async def test_a_step_with_nothing_left_is_not_run() -> None:
    verdict = await run(
        {"method": "ngram", "settle": {"below": 0.2, "above": 0.8}},
        {"method": "prompt", "form": "published"},
        asked=judge(None, None),
    )
    assert [s.method for s in verdict.steps] == ["ngram"]
    assert verdict.decision == "flagged"


async def test_without_bands_the_last_step_decides() -> None:
    verdict = await run(
        {"method": "ngram"}, {"method": "prompt", "form": "published"}, asked=judge("Yes", "Yes")
    )
    assert [s.by for s in verdict.sentences] == ["prompt", "prompt"]
    assert verdict.decision == "consistent"


async def test_references_take_the_place_of_samples() -> None:
    verdict = await run(
        {"method": "ngram", "evidence": "references"},
        samples=[],
        references=("The bridge opened in 1932. Its painter was Mary Doyle.",),
    )
    assert verdict.decision == "flagged"
    said = verdict.sentences[1].contradicted_by
    assert said is not None
    assert (said.source, said.text) == ("reference", "Its painter was Mary Doyle.")


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([], "only 0 usable samples; `sampling.min` is 3"),
        (SAMPLES[:2], "only 2 usable samples; `sampling.min` is 3"),
        ([f"{SAMPLES[0]} {SAMPLES[0]}"] * 3, "all 3 samples are identical"),
    ],
)
async def test_too_little_to_go_by_is_inconclusive(samples: list[str], reason: str) -> None:
    verdict = await run({"method": "ngram"}, samples=samples)
    assert verdict.inconclusive
    assert verdict.reason.startswith(reason)
    assert verdict.flagged_sentences == ()
    assert len(verdict.sentences) == 2


async def test_a_failing_judge_is_inconclusive() -> None:
    verdict = await run({"method": "prompt", "form": "published"}, asked=judge(None, None))
    assert verdict.inconclusive
    assert verdict.reason == "prompt: 6 of 6 comparisons failed (ProviderError x6)"
    assert verdict.steps[0].failures == {"ProviderError": 6}


async def test_a_sentence_that_could_not_be_scored_leaves_the_rest_undecided() -> None:
    verdict = await run({"method": "prompt", "form": "published"}, asked=judge("Yes", None))
    assert verdict.inconclusive
    assert verdict.reason == (
        "1 of 2 sentences could not be scored; the judge failed (ProviderError)"
    )
    assert verdict.steps[0].failures == {"ProviderError": 3}


async def test_flagged_claims_stay_flagged_when_calls_fail() -> None:
    verdict = await run({"method": "prompt", "form": "published"}, asked=judge(None, "No"))
    assert verdict.decision == "flagged"
    assert verdict.reason == (
        "1 of 2 sentences > 0.50 with 3 samples; 1 of 2 sentences could not be scored; the judge"
        " failed (ProviderError)"
    )


async def test_settled_claims_stay_flagged_when_a_later_step_fails() -> None:
    steps = [
        {"method": "ngram", "settle": {"above": 0.9}},
        {"method": "prompt", "form": "published"},
    ]
    verdict = await run(*steps, asked=judge(None, None))
    assert verdict.decision == "flagged"
    assert [s.flagged for s in verdict.sentences] == [False, True]
    assert verdict.reason == (
        "1 of 2 sentences > 0.50 with 3 samples; 1 of 2 sentences could not be scored; prompt: 3 of"
        " 3 comparisons failed (ProviderError x3)"
    )
    steps[0]["settle"] = {"below": 0.1}
    verdict = await run(*steps, asked=judge(None, None))
    assert verdict.inconclusive
    assert verdict.reason == "prompt: 3 of 3 comparisons failed (ProviderError x3)"


async def test_lost_claims_count_as_supported_in_the_passage_score() -> None:
    # The one sentence with a score has 1.0; with the lost one at 0 the passage has 0.5.
    kept = {"passage": 0.5, "sentence": None}
    verdict = await run(
        {"method": "prompt", "form": "published"}, asked=judge(None, "No"), threshold=kept
    )
    assert verdict.inconclusive
    kept["passage"] = 0.4
    verdict = await run(
        {"method": "prompt", "form": "published"}, asked=judge(None, "No"), threshold=kept
    )
    assert verdict.flagged
    assert verdict.reason.startswith("passage 0.50 > 0.40")


async def test_an_undetermined_judge_is_inconclusive() -> None:
    verdict = await run({"method": "prompt", "form": "published"}, asked=judge("Hm", "Hm"))
    # A judge that cannot be read is asked once more, and this one has nothing to add.
    unread = "6 of 6 comparisons could not be read in 12 calls of the judge"
    assert verdict.reason.startswith(f"prompt: {unread}; the judge failed (ProviderError); ")


MARKDOWN = "<!-- 1932 -->\n\nThe bridge opened in 1932.\n\n```\nFinch\n```\n\n$$ x $$\n"


async def test_a_verdict_tells_what_of_the_response_was_not_scored() -> None:
    verdict = await run({"method": "ngram"}, passage=Passage.of(MARKDOWN))
    assert verdict.decision == "consistent"
    assert verdict.reason.endswith(
        "with 3 samples; not scored: 1 HTML block, 1 code block, 1 formula"
    )
    assert [(stretch.kind, stretch.text) for stretch in verdict.unscored] == [
        ("html", "<!-- 1932 -->"),
        ("code", "```\nFinch\n```"),
        ("math", "$$ x $$"),
    ]
    for stretch in verdict.unscored:
        assert MARKDOWN[stretch.start : stretch.end] == stretch.text
    assert (await run({"method": "ngram"})).unscored == ()


async def test_a_sentence_without_a_score_is_told() -> None:
    passage = Passage.of(" ".join(SENTENCES))
    step = {"method": "prompt", "form": "published"}
    verdict = await run(step, asked=judge("Yes", None), passage=passage)
    assert verdict.decision == "inconclusive"
    assert verdict.reason == (
        "1 of 2 sentences could not be scored; the judge failed (ProviderError)"
    )
    assert [(stretch.kind, stretch.text) for stretch in verdict.unscored] == [
        ("sentence", SENTENCES[1])
    ]


async def test_a_method_that_reads_the_whole_text_scores_all_of_it() -> None:
    asked = ReplayProvider({zero_shot.render(MARKDOWN): ["factual"]})
    verdict = await run({"method": "zero_shot"}, asked=asked, passage=Passage.of(MARKDOWN))
    assert verdict.decision == "consistent"
    assert verdict.unscored == ()
    chain = [{"method": "zero_shot"}, {"method": "ngram"}]
    asked = ReplayProvider({zero_shot.render(MARKDOWN): ["factual"]})
    verdict = await run(*chain, asked=asked, passage=Passage.of(MARKDOWN))
    assert [stretch.kind for stretch in verdict.unscored] == ["html", "code", "math"]


FRAGMENTS = [
    *("The bridge opened in 1932. ", "Its painter was Finch. ", "# In 1932\n", "\n---\n", "\n\n"),
    *("| a | b |\n|---|---|\n", "| 1932 | x |\n", "```\n", "<!-- 1932 -->", "<pre>", "7. ", "- "),
    *("\n    x = 1932\n", "$$", "[a]: /b 'c'\n", "[^in-1932]: ", "<details>\n", "12.", " "),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
def test_each_word_is_scored_or_told_and_what_is_only_told_is_not_consistent(text: str) -> None:
    passage = Passage.of(text)
    verdict = anyio.run(partial(run, {"method": "ngram"}, passage=passage))
    scored = [s for s in verdict.sentences if s.score is not None]
    labels = [s for s in verdict.sentences if s.reason == "claims nothing (label)"]
    spans = [(s.start, s.end) for s in (*scored, *labels, *verdict.unscored)]
    left = [i for i, c in enumerate(text) if c.isalpha() and not any(a <= i < b for a, b in spans)]
    assert not left
    if not scored and any(stretch.kind == "sentence" for stretch in verdict.unscored):
        # A sentence that only names sources has nothing to compare.
        assert verdict.reason.startswith("no method of the chain returned a score")
        return
    only_code = {stretch.kind for stretch in verdict.unscored} == {"code"}
    assert scored or verdict.decision == ("skipped" if only_code or labels else "inconclusive")
    assert ("not scored" in verdict.reason) is bool(verdict.unscored)


async def test_nothing_to_score_is_inconclusive() -> None:
    verdict = await run({"method": "ngram"}, passage=Passage.of("$$\n1\n$$\n"))
    assert (verdict.decision, verdict.score, verdict.sentences) == ("inconclusive", None, ())
    assert verdict.reason == "there is no sentence to score in the response; not scored: 1 formula"


async def test_only_code_is_skipped_and_listed() -> None:
    verdict = await run({"method": "ngram"}, passage=Passage.of("```\ncode\n```\n"))
    assert (verdict.decision, verdict.score, verdict.sentences) == ("skipped", None, ())
    assert verdict.reason == "the response is only code; not scored: 1 code block"


async def test_non_claims_have_a_reason_and_no_score() -> None:
    text = "Great question! The bridge opened in 1932. I hope this helps!"
    verdict = await run({"method": "ngram"}, passage=Passage.of(text))
    assert [(s.score is None, s.reason) for s in verdict.sentences[::2]] == [
        (True, "claims nothing (filler)")
    ] * 2
    (claim,) = [s.score for s in verdict.sentences if s.score is not None]
    assert verdict.score == claim
    assert verdict.unscored == ()
    scored = await run({"method": "ngram"}, passage=Passage.of(text), non_claims="score")
    assert all(s.score is not None for s in scored.sentences)


def greets(sentence: str, question: str) -> str | None:
    """Knows greetings that no rule does, and makes mistakes."""
    if "1932" in sentence:
        raise RuntimeError(sentence)
    return {"Ahoy": "filler", "Well": "an opinion"}.get(sentence.partition(" ")[0])


async def test_a_function_of_the_policy_may_know_more_that_claims_nothing() -> None:
    text = "Ahoy sailors of the north. The bridge opened in 1932. Well known is its lamp."
    own = f"{__name__}:greets"
    verdict = await run({"method": "ngram"}, passage=Passage.of(text), non_claims=own)
    assert [c.kind for c in verdict.claims] == ["filler", "fact", "fact"]
    assert [s.score is None for s in verdict.sentences] == [True, False, False]
    with pytest.raises(ConfigurationError, match="cannot import"):
        await run({"method": "ngram"}, passage=Passage.of(text), non_claims="nowhere:greets")
    with pytest.raises(PolicyError, match="non_claims"):
        Policy.of({"chain": [{"method": "ngram"}], "non_claims": "perhaps"})


async def test_a_response_that_claims_nothing_is_skipped_whatever_there_is_to_go_by() -> None:
    passage = Passage.of("I'm sorry. I don't know who built the bridge.")
    for samples in ([], SAMPLES):
        verdict = await run({"method": "ngram"}, passage=passage, samples=samples)
        assert verdict.decision == "skipped"
        assert verdict.reason == "the response claims nothing (filler, refusal)"


async def test_results_before_the_deadline_count() -> None:
    chain = Chain(
        Policy.of({"chain": [{"method": "ngram"}, {"method": "prompt", "form": "published"}]})
    )
    evidence = Evidence(Samples(SAMPLES), judge_provider=judge("Yes", "Yes"))
    verdict = await chain.run(PASSAGE, evidence, -math.inf)
    assert verdict.inconclusive
    assert verdict.reason.startswith("the check did not finish within 120 s")
    assert verdict.steps[-1].error == "it did not finish in time"


async def test_a_judge_who_never_answers_leaves_nothing_to_tell() -> None:
    class Silent(Count):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            await anyio.sleep_forever()
            raise AssertionError

    chain = Chain(Policy.of({"chain": [{"method": "ngram"}, {"method": "zero_shot"}]}))
    evidence = Evidence(Samples(SAMPLES), judge_provider=Silent())
    verdict = await chain.run(PASSAGE, evidence, anyio.current_time() + 0.2)
    assert [step.error for step in verdict.steps] == [None, "it did not finish in time"]
    assert all(sentence.score is not None for sentence in verdict.sentences)


async def test_a_deadline_with_too_few_samples_flags_nothing() -> None:
    chain = Chain(Policy.of({"chain": [{"method": "ngram"}]}))
    verdict = await chain.run(PASSAGE, Evidence(Samples(SAMPLES[:1])), -math.inf)
    assert verdict.inconclusive
    assert verdict.reason == (
        "the check did not finish within 120 s (`limits.deadline_s`); 1 sample had arrived"
    )


class Odd:
    """A third party's scorer; `mood` says what is wrong with it."""

    name: ClassVar[str] = "odd"
    needs: ClassVar[frozenset[Need]] = frozenset()

    class Config(ScorerConfig):
        method: Literal["odd"] = "odd"
        mood: str = "fine"

    def __init__(self, config: Config) -> None:
        self.mood = config.mood

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        if self.mood == "broken":
            raise ZeroDivisionError("secret words of the passage")
        if self.mood == "short":
            return Scores(sentences=(0.1,))
        if self.mood in ("partial", "lossy"):
            lost = (1,) if self.mood == "lossy" else ()
            return Scores(sentences=(0.1, None), failures=("ProviderError",), lost=lost)
        if self.mood == "silent":
            return Scores(sentences=(None, None))
        if self.mood == "talkative":
            return Scores(sentences=(0.1, 0.9))
        return Scores(passage=0.9)

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Any:
        return "no contradiction, but a text" if self.mood == "talkative" else None


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    import resay.policy.step
    import resay.scorers.step

    known = {**registry(), "odd": Odd}
    monkeypatch.setattr(resay.scorers.step, "registry", lambda: known)
    monkeypatch.setattr(resay.policy.step, "registry", lambda: known)


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("broken", "odd: it failed (ZeroDivisionError)"),
        ("short", "odd: it returned the wrong number of scores"),
        ("silent", "no method of the chain returned a score"),
    ],
)
async def test_a_scorer_that_breaks_costs_no_answer(mood: str, reason: str) -> None:
    verdict = await run({"method": "odd", "mood": mood})
    assert (verdict.decision, verdict.reason) == ("inconclusive", reason)


@pytest.mark.usefixtures("odd")
async def test_a_contradiction_that_is_none_costs_no_answer() -> None:
    verdict = await run({"method": "odd", "mood": "talkative"})
    assert [sentence.flagged for sentence in verdict.sentences] == [False, True]
    # Words are compared instead.
    contradiction = verdict.sentences[1].contradicted_by
    assert contradiction is not None
    assert contradiction.text == "Its painter was Mary Doyle."


@pytest.mark.usefixtures("odd")
async def test_a_method_may_score_the_passage_alone() -> None:
    verdict = await run({"method": "odd"})
    assert (verdict.decision, verdict.score, verdict.reason) == (
        "flagged",
        0.9,
        "passage 0.90 > 0.50",
    )
    assert [s.score for s in verdict.sentences] == [None, None]


@pytest.mark.usefixtures("odd")
async def test_a_passage_score_stands_beside_sentence_scores_whatever_was_settled() -> None:
    settled = {"method": "ngram", "settle": {"below": 0.5}}
    verdict = await run(settled, {"method": "odd"})
    assert (verdict.mean_score, [s.score for s in verdict.sentences]) == (0.9, [0.0, 1.0])
    verdict = await run({"method": "odd"}, {"method": "ngram"})
    assert (verdict.score, verdict.mean_score) == (1.0, 0.5)


@pytest.mark.usefixtures("odd")
async def test_a_method_that_says_nothing_takes_nothing_away() -> None:
    verdict = await run({"method": "odd"}, {"method": "odd", "mood": "silent"})
    assert (verdict.decision, verdict.score) == ("flagged", 0.9)
    verdict = await run({"method": "ngram"}, {"method": "odd", "mood": "silent"})
    assert (verdict.decision, verdict.score, verdict.mean_score) == ("flagged", 1.0, 0.5)


@pytest.mark.usefixtures("odd")
async def test_a_passage_score_without_a_threshold_for_it_decides_nothing() -> None:
    verdict = await run({"method": "odd"}, threshold={"passage": None, "sentence": 0.5})
    assert verdict.decision == "inconclusive"
    assert verdict.reason == "the chain scored only the passage, and `threshold.passage` is null"


@pytest.mark.usefixtures("odd")
async def test_a_broken_first_step_leaves_its_sentences_to_the_next() -> None:
    verdict = await run({"method": "odd", "mood": "broken"}, {"method": "ngram"})
    assert verdict.decision == "flagged"
    assert verdict.steps[0].error == "it failed (ZeroDivisionError)"


@pytest.mark.usefixtures("odd")
async def test_a_sentence_there_is_nothing_to_say_about_is_no_lost_one() -> None:
    verdict = await run({"method": "odd", "mood": "partial"})
    assert verdict.decision == "consistent"
    assert verdict.steps[0].failures == {"ProviderError": 1}
    verdict = await run({"method": "odd", "mood": "lossy"})
    assert verdict.reason == "1 of 2 sentences could not be scored"


class Rendezvous:
    """A judge that answers one kind of question only once the other kind was asked as well."""

    def __init__(self) -> None:
        self.asked = {"Sentence:": anyio.Event(), "<claims-": anyio.Event()}

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        mine = "<claims-" if "<claims-" in request.question else "Sentence:"
        self.asked[mine].set()
        for event in self.asked.values():
            await event.wait()
        return Completions((Completion("1: Yes\n2: contradicted" if mine == "<claims-" else "No"),))


async def test_steps_that_do_not_depend_on_each_other_run_together() -> None:
    each, once = (
        {"method": "prompt", "form": "published"},
        {"method": "prompt", "mode": "per_sample"},
    )
    with anyio.fail_after(20):
        verdict = await run(each, once, asked=Rendezvous())
    assert [step.error for step in verdict.steps] == [None, None]
    # What they found is written in the chain's order, whoever was first.
    assert [s.score for s in verdict.sentences] == [0.0, 1.0]


async def test_a_step_that_settles_goes_before_those_it_saves_work() -> None:
    each = {"method": "prompt", "form": "published", "settle": {"above": 0.9}}
    once = {"method": "prompt", "mode": "per_sample"}
    provider = Rendezvous()
    provider.asked["<claims-"].set()
    verdict = await run(each, once, asked=provider)
    assert [step.method for step in verdict.steps] == ["prompt"]
    assert [s.score for s in verdict.sentences] == [1.0, 1.0]


class Count:
    """A judge that says No to the sentences it is told to, and counts."""

    def __init__(self, *doubted: str) -> None:
        self.doubted = doubted
        self.asked: Counter[str] = Counter()

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        sentence = request.question.partition("Sentence: ")[2].partition("\n")[0]
        self.asked[sentence] += 1
        return Completions((Completion("No" if sentence in self.doubted else "Yes"),))


MANY = [f"The bridge opened in 1932. Its painter was {name}." for name in "ABCDEFGHIJ"]


async def test_no_more_samples_are_compared_than_the_decisions_need() -> None:
    provider = Count(SENTENCES[1])
    threshold = {"passage": None, "sentence": 0.5}
    verdict = await run(
        {"method": "prompt", "form": "published"}, samples=MANY, asked=provider, threshold=threshold
    )
    assert [s.flagged for s in verdict.sentences] == [False, True]
    assert verdict.steps[0].usage.calls == sum(provider.asked.values()) < 2 * len(MANY)
    # What a second model will say is not known from more samples either.
    both = Count(SENTENCES[1])
    await run(
        {"method": "prompt", "form": "published"},
        samples=MANY,
        asked=both,
        threshold=threshold,
        second_opinion="other/wise",
    )
    assert [both.asked[s] for s in SENTENCES] == [provider.asked[s] for s in SENTENCES]
    everything = Count(SENTENCES[1])
    sampling = {"confidence": None, "max": 10}
    await run(
        {"method": "prompt", "form": "published"}, samples=MANY, asked=everything, sampling=sampling
    )
    assert sum(everything.asked.values()) == 2 * len(MANY)


async def test_a_block_is_settled_by_one_sentence() -> None:
    class Torn(Count):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            answers = await super().complete(request, n=n)
            torn = SENTENCES[0] in request.question.partition("Sentence: ")[2]
            odd = any(f"painter was {name}" in request.question for name in "ACEGI")
            return Completions((Completion("No"),)) if torn and odd else answers

    asked = {"annotate": Torn(SENTENCES[1]), "block": Torn(SENTENCES[1])}
    for action, provider in asked.items():
        await run(
            {"method": "prompt", "form": "published"},
            samples=MANY,
            asked=provider,
            threshold={"passage": None, "sentence": 0.5},
            sampling={"max": 10, "min": 6, "confidence": 1.0},
            action={"do": action},
        )
    # Six No of ten are more than half, whatever follows.
    assert asked["block"].asked == {SENTENCES[0]: 6, SENTENCES[1]: 6}
    assert asked["annotate"].asked == {SENTENCES[0]: 10, SENTENCES[1]: 6}


async def test_a_band_is_settled_at_its_edges() -> None:
    provider = Count(SENTENCES[1])
    verdict = await run(
        {"method": "prompt", "form": "published", "settle": {"below": 0.1, "above": 0.6}},
        {"method": "prompt", "mode": "per_sample"},
        samples=MANY,
        asked=provider,
    )
    assert [step.method for step in verdict.steps] == ["prompt"]
    assert provider.asked[SENTENCES[0]] < len(MANY)


@pytest.mark.parametrize(
    ("steps", "threshold", "asked"),
    [
        # A band of the last step saves no later one any work. Six No of ten are more than half.
        (
            [{"method": "prompt", "form": "published", "settle": {"below": 0.1, "above": 0.9}}],
            {"passage": None},
            6,
        ),
        # A correction leaves the passage to be decided, by what it makes of all scores.
        (
            [{"method": "prompt", "form": "published"}, {"method": "snowballing", "theta": 9}],
            {"passage": 0.5, "sentence": None},
            10,
        ),
    ],
)
async def test_the_last_score_is_settled_at_the_thresholds(
    steps: list[dict[str, object]], threshold: dict[str, float | None], asked: int
) -> None:
    provider = Count(*SENTENCES)
    sampling = {"max": 10, "min": 3, "confidence": 1.0}
    await run(*steps, samples=MANY, asked=provider, threshold=threshold, sampling=sampling)
    assert provider.asked == dict.fromkeys(SENTENCES, asked)


async def test_a_correction_is_foreseen_while_samples_are_compared() -> None:
    provider = Count()
    verdict = await run(
        {"method": "prompt", "form": "published"},
        {"method": "snowballing"},
        samples=MANY,
        asked=provider,
        threshold={"passage": 0.8, "sentence": None},
    )
    assert verdict.decision == "consistent"
    assert sum(provider.asked.values()) == 2 * 3


@pytest.mark.parametrize("deciding", [0.0, math.inf])
async def test_results_before_the_deadline_are_reported(
    deciding: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also where it is written and averaged in another thread, as of a long passage.
    monkeypatch.setattr("resay.engine.chain._DECISION_COST", deciding)
    monkeypatch.setattr("resay.scorers.common.comparing._AVERAGING", deciding)

    class Slow(Count):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if "painter was C" in request.question:
                await anyio.sleep_forever()
            return await super().complete(request, n=n)

    chain = Chain(
        Policy.of(
            {
                "chain": [{"method": "prompt", "form": "published"}],
                "sampling": {"confidence": None, "max": 10},
            }
        )
    )
    evidence = Evidence(Samples(MANY), judge_provider=Slow(SENTENCES[1]))
    verdict = await chain.run(PASSAGE, evidence, anyio.current_time() + 0.5)
    assert verdict.decision == "inconclusive"
    assert "limits.deadline_s" in verdict.reason
    assert [s.score for s in verdict.sentences] == [0.0, 1.0]
    assert not verdict.flagged_sentences


async def test_a_composed_method_looks_at_all_samples() -> None:
    provider = Count(SENTENCES[1])
    part = {"scorer": {"method": "prompt", "form": "published"}, "weight": 1.0}
    verdict = await run({"method": "ensemble", "parts": [part]}, samples=MANY, asked=provider)
    assert sum(provider.asked.values()) == 2 * len(MANY)
    assert [s.score for s in verdict.sentences] == [0.0, 1.0]
