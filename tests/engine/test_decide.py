"""What is decided by scores: by methods that say what they are told."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Field

from resay import (
    Contradiction,
    Guard,
    Passage,
    Policy,
    ProviderError,
    Request,
    Sentence,
    SentenceVerdict,
    Verdict,
)
from resay.core.scores import UnsupportedSpan
from resay.engine.chain import Chain
from resay.engine.decide import unscored_in
from resay.plugins import (
    Chunk,
    Completion,
    Completions,
    Evidence,
    Need,
    Samples,
    ScorerConfig,
    ScorerTraits,
    Scores,
    registry,
)
from resay.scorers.stopping import Stopping
from resay.scorers.structured import passage_of, rendered

pytestmark = pytest.mark.anyio

A, B, C = "It has one lamp.", "It has two lamps.", "It has six lamps."
SAMPLES = ["It has seven lamps.", "It has eight lamps.", "It has nine lamps."]


class Told:
    """Scores sentences and passage as its settings say."""

    class Config(ScorerConfig):
        method: Literal["told"] = "told"
        says: dict[str, float | None] = Field(default={})
        passage: float | None = None
        columns: dict[str, tuple[float | None, ...]] = Field(default={})
        reasons: bool = False
        lost: tuple[str, ...] = ()
        error: str | None = None
        whole: bool = False
        otherwise: dict[str, str] = Field(default={})
        # The words of a sentence, and those of the contradiction that differ.
        differing: dict[str, tuple[str, str]] = Field(default={})
        denied: tuple[str, ...] | None = None
        unsupported: dict[str, str] = Field(default={})
        corrects: bool = False

    name = "told"

    prepared = 0
    stopping: Stopping | None = None

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs: frozenset[Need] = frozenset({"samples"} if config.columns else ())
        if config.corrects:
            self.needs = frozenset({"scores"})
        self.traits = ScorerTraits(by_sentence=not config.whole, stops=bool(config.columns))

    async def prepare(self) -> None:
        Told.prepared += 1

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        told, texts = self.config, [sentence.text for sentence in passage.sentences]
        if told.columns:
            Told.stopping = evidence.stopping
        return Scores(
            sentences=tuple(told.says.get(text) for text in texts) if told.says else (),
            passage=told.passage,
            columns=tuple(
                tuple(told.columns.get(text, (None,) * len(SAMPLES))[n] for text in texts)
                for n in range(len(SAMPLES) if told.columns else 0)
            ),
            reasons=tuple(f"why {text}" for text in texts) if told.reasons else (),
            lost=tuple(i for i, text in enumerate(texts) if text in told.lost),
            error=told.error,
            denied=() if told.denied is None else tuple(text in told.denied for text in texts),
            spans=tuple(self._spans(sentence) for sentence in passage.sentences),
        )

    def _spans(self, sentence: Sentence) -> tuple[UnsupportedSpan, ...]:
        words = self.config.unsupported.get(sentence.text)
        if words is None:
            return ()
        start = sentence.start + sentence.text.index(words)
        return (UnsupportedSpan(start, start + len(words), 0.9),)

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Any
    ) -> Contradiction | None:
        text = self.config.otherwise.get(sentence)
        if not text:
            return None
        if sentence not in self.config.differing:
            return Contradiction("reference", 7, text)
        words, other = self.config.differing[sentence]
        start, other_start = sentence.index(words), text.index(other)
        return Contradiction(
            source="reference",
            index=7,
            text=text,
            claim_span=(start, start + len(words)),
            evidence_span=(other_start, other_start + len(other)),
        )


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    import resay.policy.step
    import resay.scorers.step

    known = {**registry(), "told": Told}
    for module in (resay.scorers.step, resay.policy.step):
        monkeypatch.setattr(module, "registry", lambda: known)


def step(*scores: float | None, **settings: Any) -> dict[str, Any]:
    """A step that gives these scores to the sentences in order."""
    return {"method": "told", "says": dict(zip((A, B, C), scores, strict=False)), **settings}


def chain_of(*steps: dict[str, Any], **policy: Any) -> Chain:
    return Chain(Policy.of({"chain": list(steps), **policy}))


async def decided(
    *steps: dict[str, Any],
    sentences: tuple[str, ...] = (A, B),
    earlier: dict[int, SentenceVerdict] | None = None,
    references: tuple[str, ...] = (),
    **policy: Any,
) -> Verdict:
    chain = chain_of(*steps, **policy)
    evidence = Evidence(Samples(SAMPLES), Samples(references))
    passage = Passage.from_sentences(sentences)
    return await chain.run(passage, evidence, math.inf, earlier=earlier or {})


def scores(verdict: Verdict) -> list[float | None]:
    return [sentence.score for sentence in verdict.sentences]


async def test_a_score_at_the_threshold_is_not_over_it() -> None:
    at = await decided(step(0.5, 0.5))
    assert (at.decision, at.flagged_sentences) == ("consistent", ())
    over = await decided(step(0.5, 0.51), threshold={"passage": None, "sentence": 0.5})
    assert [s.flagged for s in over.sentences] == [False, True]
    assert over.reason == "1 of 2 sentences > 0.50"
    passage = await decided(step(0.5, 0.52), threshold={"passage": 0.5, "sentence": None})
    assert (passage.decision, passage.reason) == ("flagged", "passage 0.51 > 0.50")
    assert not passage.flagged_sentences
    both = await decided(step(1.0, 0.9))
    assert both.reason == "passage 0.95 > 0.50, 2 of 2 sentences > 0.50"


async def test_consistent_verdicts_name_their_thresholds() -> None:
    for threshold, reason in (
        ({"passage": 0.4, "sentence": 0.6}, "passage 0.20 <= 0.40, every sentence <= 0.60"),
        ({"passage": None, "sentence": 0.6}, "every sentence <= 0.60"),
        ({"passage": 0.4, "sentence": None}, "passage 0.20 <= 0.40"),
    ):
        verdict = await decided(step(0.1, 0.3), threshold=threshold)
        assert (verdict.decision, verdict.reason) == ("consistent", reason)


async def test_scores_between_the_bands_are_doubtful() -> None:
    bands = {"passage": None, "sentence": 0.6, "doubtful": 0.3}
    every = {"sentences": (A, B, C), "threshold": bands}
    verdict = await decided(step(0.3, 0.31, 0.6), **every)
    assert [s.band for s in verdict.sentences] == ["supported", "doubtful", "doubtful"]
    assert [c.band for c in verdict.claims] == ["supported", "doubtful", "doubtful"]
    assert verdict.reason == "every sentence <= 0.60; 2 of 3 sentences doubtful"
    assert not verdict.flagged
    assert Verdict.from_dict(verdict.to_dict(content=False)).sentences[1].band == "doubtful"
    verdict = await decided(step(0.61, 0.5, None), **every)
    assert [s.band for s in verdict.sentences] == ["unsupported", "doubtful", None]
    assert verdict.reason == "1 of 3 sentences > 0.60; not scored: 1 sentence"


async def test_without_a_number_there_are_two_bands_and_without_a_decision_none() -> None:
    verdict = await decided(step(0.5, 0.51))
    assert [s.band for s in verdict.sentences] == ["supported", "contradicted"]
    verdict = await decided(step(0.5, 0.51), threshold={"passage": 0.5, "sentence": None})
    assert [s.band for s in verdict.sentences] == [None, None]
    verdict = await decided(step(0.1, 0.9), step(error="it failed"))
    assert [(s.band, s.flagged) for s in verdict.sentences] == [(None, False)] * 2


async def test_the_score_of_a_step_that_failed_in_the_end_does_not_flag_the_passage() -> None:
    failed = step(error="it failed")
    verdict = await decided(step(1.0, 1.0), failed)
    assert (verdict.decision, verdict.reason) == ("inconclusive", "told: it failed")
    assert verdict.flagged_sentences == ()
    assert scores(verdict) == [1.0, 1.0]


async def test_settled_claims_flag_an_answer_although_a_step_failed() -> None:
    steps = step(1.0, 0.6, settle={"above": 0.9}), step(error="it failed")
    only = {"passage": 0.5, "sentence": None}
    verdict = await decided(*steps, threshold=only)
    # The sentence that was lost counts as supported: 0.5 is not over 0.5.
    assert (verdict.decision, verdict.reason) == ("inconclusive", "told: it failed")
    verdict = await decided(*steps, threshold=only | {"passage": 0.49})
    assert verdict.reason == (
        "passage 0.50 > 0.49; 1 of 2 sentences could not be scored; told: it failed"
    )
    # Beside it, a sentence that is surely right adds nothing.
    verdict = await decided(step(0.0, None, lost=(B,)), threshold={"passage": 0.2})
    assert (verdict.decision, verdict.reason) == (
        "inconclusive",
        "1 of 2 sentences could not be scored",
    )


@pytest.mark.parametrize(
    ("first", "second", "worst"),
    [(0.1, 0.4, 1), (0.4, 0.1, 0), (0.1, 0.9, 1), (0.9, 0.1, 0), (None, 0.0, 1), (0.2, None, 0)],
)
async def test_a_sentence_is_as_bad_as_its_worst_claim(
    first: float | None, second: float | None, worst: int
) -> None:
    claims = "Opened: 1932", "Lamps: 1"
    says = dict(zip(claims, (first, second), strict=True))
    sentence = "\n".join(claims)
    verdict = await decided(
        {"method": "told", "says": says, "reasons": True}, sentences=(sentence,)
    )
    assert [claim.score for claim in verdict.claims] == [first, second]
    (whole,) = verdict.sentences
    assert (whole.score, whole.reason) == (says[claims[worst]], f"why {claims[worst]}")
    assert whole.flagged is (0.9 in {first, second})


async def test_a_lost_sentence_is_in_doubt_unless_an_earlier_step_scored_it() -> None:
    lost = step(0.1, None, lost=(B,))
    reason = "1 of 2 sentences could not be scored"
    assert (await decided(lost)).reason == (await streamed(lost))[1].reason == reason
    verdict = await decided(step(0.2, 0.3), lost)
    assert (verdict.decision, scores(verdict)) == ("consistent", [0.1, 0.3])


async def test_unscored_text_is_in_the_reason_once() -> None:
    threshold = {"passage": 0.5, "sentence": 0.5}
    silent = await decided(step(0.1, None), threshold=threshold)
    limits = "passage 0.10 <= 0.50, every sentence <= 0.50"
    assert (silent.decision, silent.reason) == ("consistent", f"{limits}; not scored: 1 sentence")
    assert [stretch.text for stretch in silent.unscored] == [B]
    # A reason that counts it already does not count it again.
    lost = await decided(step(0.1, None, lost=(B,)), threshold=threshold)
    assert lost.reason == "1 of 2 sentences could not be scored"
    # What another check has said of it is more than nothing.
    kept = SentenceVerdict(B, 17, 34, None, False, "elsewhere", "no document tells")
    assert (await decided(step(0.1), earlier={1: kept}, threshold=threshold)).unscored == ()


def test_unscored_kinds_are_listed_from_a_position() -> None:
    text = "```\na\n```\n\nIt is so. It was so.\n\n```\nb\n```"
    passage = Passage.of(text)
    everything = [stretch.kind for stretch in unscored_in(passage, (0, 1))]
    assert everything == ["code", "sentence", "sentence", "code"]
    last = passage.sentences[1]
    later = unscored_in(passage, (0, 1), start=last.start)
    assert [stretch.kind for stretch in later] == ["sentence", "code"]
    assert later[0].text == last.text


@pytest.mark.parametrize(
    ("added", "threshold", "flagged"),
    [
        ([], {"passage": 0.5}, False),
        ([0.4, 0.6], {"passage": 0.5, "sentence": None}, False),
        ([0.3, 0.4], {"passage": 0.5, "sentence": None}, False),
        ([0.6], {"passage": 0.5, "sentence": None}, True),
        ([0.6, 0.1], {"passage": None, "sentence": 0.5}, True),
        # What a method says nothing of does not count, what is in doubt counts as supported.
        ([0.6, None], {"passage": 0.5, "sentence": None}, True),
        ([0.6, "lost"], {"passage": 0.5, "sentence": None}, False),
        ([None], {"passage": 0.5, "sentence": 0.5}, False),
    ],
)
@pytest.mark.parametrize("corrected", [False, True])
async def test_final_flags_are_predicted(
    added: list[Any], threshold: dict[str, Any], flagged: bool, corrected: bool
) -> None:
    # No scores here add up to more than a theta of 1: the correction leaves all as they are.
    late = [{"method": "snowballing", "theta": 1}] if corrected else []
    given = [None if score == "lost" else score for score in added]
    lost = tuple(text for text, score in zip((A, B, C), added, strict=False) if score == "lost")
    steps = [step(*given, lost=lost), *late]
    ahead = chain_of(*steps, threshold=threshold).verdict_tracker()
    for score in added:
        ahead.add(0.9 if score == "lost" else score, sure=score != "lost")
    assert ahead.flagged is flagged
    if added:
        verdict = await decided(*steps, sentences=(A, B, C)[: len(added)], threshold=threshold)
        assert verdict.flagged is flagged


async def test_a_methods_own_passage_score_speaks_only_for_all_sentences() -> None:
    verdict = await decided(step(0.2, 0.4, passage=0.45))
    assert (verdict.score, verdict.mean_score) == (0.4, 0.45)
    settled = step(0.2, 0.4, settle={"below": 0.3})
    verdict = await decided(settled, step(0.2, 0.6, passage=0.9))
    assert (verdict.score, verdict.mean_score) == (0.6, pytest.approx(0.4))
    # A passage score alone is about the passage, whatever was settled.
    verdict = await decided(settled, step(passage=0.9))
    assert verdict.score == 0.9


@given(
    scores=st.lists(st.none() | st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.6, 1.0]), max_size=3),
    whole=st.none() | st.sampled_from([0.0, 0.4, 0.9]),
    passage=st.none() | st.sampled_from([0.0, 0.3, 0.5, 0.8]),
    sentence=st.none() | st.sampled_from([0.0, 0.3, 0.5, 0.8]),
)
async def test_an_answer_is_flagged_if_and_only_if_its_score_is_above_the_threshold(
    scores: list[float | None], whole: float | None, passage: float | None, sentence: float | None
) -> None:
    assume(passage is not None or sentence is not None)
    limits = {"passage": passage, "sentence": sentence}
    verdict = await decided(
        step(*scores, passage=whole), sentences=(A, B, C)[: len(scores)] or (A,), threshold=limits
    )
    if verdict.score is None or verdict.threshold is None:
        assert not verdict.flagged
    else:
        assert verdict.flagged == (verdict.score > verdict.threshold)
    assert (verdict.score is None) == verdict.inconclusive
    for unit in (*verdict.sentences, *verdict.claims):
        above = unit.score is not None and sentence is not None and unit.score > sentence
        assert unit.flagged == above == (unit.band in {"unsupported", "contradicted"})


async def test_unmentioned_and_denied_claims_have_different_bands() -> None:
    verdict = await decided(step(0.9, 0.9, 0.9, denied=(B,)), sentences=(A, B, C))
    assert [s.band for s in verdict.sentences] == ["unsupported", "contradicted", "unsupported"]
    assert [s.contradicted_by is None for s in verdict.sentences] == [True, False, True]
    # Where the method does not say, the sentence that comes nearest has another number.
    verdict = await decided(step(0.1, 0.9, 0.9), sentences=(A, B, C))
    assert [s.band for s in verdict.sentences] == ["supported", "contradicted", "contradicted"]


async def test_a_correction_gives_its_reason_behind_that_of_what_it_corrects() -> None:
    raised = "raised from 0.20 by what comes before it"
    for reasons, reason in ((False, raised), (True, f"why {B}; {raised}")):
        verdict = await decided(
            step(0.4, 0.2, reasons=reasons), {"method": "snowballing", "theta": 0}
        )
        first, second = verdict.sentences
        assert (second.by, second.reason) == ("snowballing", reason)
        assert second.scores == {"told": 0.2, "snowballing": pytest.approx(0.4)}
        assert (first.by, first.scores) == ("told", {"told": 0.4, "snowballing": 0.4})


async def test_a_step_that_says_nothing_of_a_sentence_leaves_it_to_the_one_before() -> None:
    verdict = await decided(step(0.1, 0.2, reasons=True), step(0.3, None))
    assert [(s.score, s.reason) for s in verdict.sentences] == [(0.3, None), (0.2, f"why {B}")]
    assert (verdict.score, verdict.mean_score) == (0.3, pytest.approx(0.25))
    verdict = await decided(step(0.1, 0.2), step(None, 0.3))
    assert (verdict.score, verdict.mean_score) == (0.3, pytest.approx(0.2))


async def test_only_samples_over_one_half_contradict() -> None:
    for columns, index in (((0.5, None, 0.6), 2), ((0.0, 0.51, 1.0), 1), ((0.5, 0.5, 0.5), None)):
        verdict = await decided(step(0.0, 0.9, columns={B: columns}))
        said = verdict.sentences[1].contradicted_by
        assert (said and said.index) == index


async def test_a_method_may_know_better_what_contradicts_a_flagged_sentence() -> None:
    otherwise = {A: "Not one.", B: "Not two."}
    verdict = await decided(step(0.5, 0.9, 0.9, otherwise=otherwise), sentences=(A, B, C))
    one, two, six = verdict.sentences
    assert one.contradicted_by is None
    # What it compares with is known of the step.
    assert two.contradicted_by == Contradiction(
        "sample", 7, "Not two.", kind="negation", evidence_span=(0, 3)
    )
    assert six.contradicted_by is not None
    assert six.contradicted_by.text in SAMPLES


async def test_words_without_support_are_contradicted_where_their_claim_is_denied() -> None:
    unsupported = {A: "lamp.", B: "lamps."}
    verdict = await decided(step(0.9, 0.9, unsupported=unsupported, denied=(A,)))
    words = [verdict.claims[i].parts[0] for i in range(2)]
    assert [(part.start, part.end - part.start) for part in words] == [(11, 5), (len(A) + 12, 6)]
    assert [part.band for part in words] == ["contradicted", "unsupported"]


@pytest.mark.parametrize(
    ("words", "band"), [("in ", "unsupported"), ("in 19", "contradicted"), (".", "unsupported")]
)
async def test_a_part_is_contradicted_by_words_that_differ_in_it(words: str, band: str) -> None:
    claim, other = "It opened in 1923.", "It opened in 1932."
    told = {
        "method": "told",
        "says": {claim: 0.9},
        "otherwise": {claim: other},
        "differing": {claim: ("1923", "1932")},
        "unsupported": {claim: words},
    }
    verdict = await decided(told, sentences=(claim,))
    assert verdict.claims[0].parts[0].band == band
    said = verdict.claims[0].contradicted_by
    assert said is not None
    assert (said.kind, said.claim_span, said.evidence_span) == ("date", (13, 17), (13, 17))


async def test_contradictions_that_take_time_are_looked_for_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, both = list[str](), anyio.Event()

    async def contradiction(
        self: Told, sentence: str, evidence: Evidence, scores: Any
    ) -> Contradiction:
        asked.append(sentence)
        if len(asked) == 2:
            both.set()
        await both.wait()
        return Contradiction("sample", 0, f"Not so: {sentence}")

    monkeypatch.setattr(Told, "contradiction", contradiction)
    with anyio.fail_after(20):
        verdict = await decided(step(0.9, 0.9))
    found = [sentence.contradicted_by for sentence in verdict.sentences]
    assert [said and said.text for said in found] == [f"Not so: {A}", f"Not so: {B}"]


async def test_corrections_of_a_passage_are_predicted_once_per_sentence() -> None:
    early = step(0.1, 0.9, settle={"below": 0.2})
    compared = step(0.0, 0.5, columns={B: (0.5, 0.5, 0.5)})
    await decided(early, compared, {"method": "snowballing", "theta": 0})
    assert Told.stopping is not None
    outcome = Told.stopping.decisions.correction
    assert outcome is not None
    # First what is compared, then what was settled before it.
    assert outcome([0.5]) == pytest.approx([0.55, 0.1])


async def test_a_correction_that_cannot_be_predicted_needs_all_samples() -> None:
    compared = step(0.0, 0.5, columns={B: (0.5, 0.5, 0.5)})
    await decided(compared, {"method": "leaning"}, step(0.5, 0.5, corrects=True))
    assert Told.stopping is None
    await decided(compared, {"method": "leaning"})
    assert Told.stopping is not None


async def test_without_samples_no_second_model_is_asked() -> None:
    chain = chain_of(step(0.1, 0.1), NGRAM, second_opinion="other/wise").without_samples
    assert chain is not None
    verdict = await chain.run(Passage.from_sentences((A, B)), Evidence(Samples()), math.inf)
    assert [record.method for record in verdict.steps] == ["told"]


async def test_the_last_of_the_steps_that_run_together_settles() -> None:
    steps = step(0.5, 0.5), step(0.1, 0.5, settle={"below": 0.2}), step(0.4, 0.4)
    assert [record.sentences for record in (await decided(*steps)).steps] == [2, 2, 1]


async def test_verdicts_of_an_earlier_check_stay() -> None:
    before = SentenceVerdict(B, 17, 34, 0.9, True, "elsewhere", scores={"elsewhere": 0.9})
    verdict = await decided(step(0.2, 0.0), earlier={1: before}, threshold={"passage": 0.7})
    assert scores(verdict) == [0.2, 0.9]
    assert (verdict.score, verdict.mean_score) == (0.9, pytest.approx(0.55))
    kept = verdict.sentences[1]
    assert (kept.flagged, kept.by, kept.scores) == (True, "elsewhere", {"elsewhere": 0.9})
    assert kept.contradicted_by is not None
    assert kept.contradicted_by.source == "sample"
    assert verdict.steps[0].sentences == 1
    everything = await decided(step(0.0, 0.0), earlier={0: before, 1: before})
    assert (everything.steps, everything.score) == ((), 0.9)


async def test_settled_claims_are_seen_by_corrections_only() -> None:
    verdict = await decided(
        step(0.1, 0.5, 0.9, settle={"below": 0.2, "above": 0.8}),
        step(0.4, 0.4, 0.4, settle={"below": 0.5}),
        step(0.0, 0.0, 0.0),
        {"method": "snowballing"},
        sentences=(A, B, C),
    )
    assert [record.sentences for record in verdict.steps] == [3, 1, 3]
    assert verdict.sentences[0].scores["told"] == 0.1
    assert verdict.sentences[1].scores["told"] == 0.4


class Writer:
    """Writes the sentences; nobody else is asked."""

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions((Completion(f"{A} {B}"),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def pieces() -> AsyncGenerator[Chunk]:
            for text in (f"{A} ", B):
                yield Chunk(text)

        yield pieces()


async def streamed(
    *steps: dict[str, Any], references: Sequence[str] = (), **policy: Any
) -> tuple[list[str], Verdict]:
    guard = Guard({"chain": list(steps), **policy}, provider=Writer())
    async with guard.astream("?", references=references) as stream:
        parts = [part.text async for part in stream]
    return parts, stream.answer.verdict


async def test_claims_settled_in_a_stream_are_not_scored_again() -> None:
    early = step(0.1, 0.5, settle={"below": 0.2})
    parts, verdict = await streamed(early, step(0.9, 0.9, whole=True))
    assert "".join(parts) == f"{A} {B}"
    assert scores(verdict) == [0.1, 0.9]
    assert [record.sentences for record in verdict.steps] == [2, 1]
    # Without a band the last step decides about all.
    _, verdict = await streamed(step(0.1, 0.5), step(0.9, 0.9, whole=True))
    assert scores(verdict) == [0.9, 0.9]


async def test_claims_settled_by_references_in_a_stream_are_not_scored_again() -> None:
    early, late = step(0.9, 0.9, columns={A: (1.0,) * 3}), step(0.9, 0.9, whole=True)
    _, verdict = await streamed(early, late, references=[f"{A} {B}"])
    assert (scores(verdict), len(verdict.steps)) == ([0.0, 0.0], 1)


async def test_a_part_tells_which_of_its_sentences_have_no_score() -> None:
    guard = Guard({"chain": [step(0.1, None)]}, provider=Writer())
    async with guard.astream("?", stream_mode="hold") as stream:
        told = [stretch.text async for part in stream for stretch in part.unscored]
    assert told == [stretch.text for stretch in stream.answer.verdict.unscored] == [B]


async def test_a_step_about_the_whole_passage_ends_what_is_done_early() -> None:
    _, verdict = await streamed(step(0.1, 0.5, whole=True), step(0.3, 0.3))
    assert [record.sentences for record in verdict.steps] == [2, 2]
    assert scores(verdict) == [0.3, 0.3]


NGRAM, PROMPT, OTHER = (
    {"method": "ngram"},
    {"method": "prompt", "form": "published"},
    {"method": "prompt", "form": "published", "judge": "a/b"},
)


def test_a_chain_names_the_first_that_needs_something() -> None:
    chain = chain_of(step(0.1), NGRAM, OTHER, PROMPT)
    needed = [chain.required_by(need) for need in ("samples", "judge", "references")]
    assert needed == ["ngram", "prompt", None]
    assert chain.asking_response_model == "prompt"
    assert chain_of(NGRAM, OTHER).asking_response_model is None


@pytest.mark.parametrize(
    ("steps", "sampling", "wanted"),
    [
        ([PROMPT], {}, 3),
        ([NGRAM], {}, 5),
        ([PROMPT, NGRAM], {}, 5),
        ([PROMPT | {"settle": {"below": 0.1}}, NGRAM], {}, 3),
        ([step(0.1)], {}, 3),
        ([PROMPT], {"confidence": None}, 5),
    ],
)
def test_as_many_samples_are_drawn_at_first_as_the_first_steps_look_at_in_any_case(
    steps: list[dict[str, Any]], sampling: dict[str, Any], wanted: int
) -> None:
    assert chain_of(*steps, sampling={"min": 3, "max": 5, **sampling}).samples_at_first == wanted


async def test_preparing_prepares_every_step() -> None:
    before = Told.prepared
    await chain_of(step(0.1), NGRAM, step(0.2)).prepare()
    assert Told.prepared == before + 2


async def test_a_step_took_no_longer_than_everything() -> None:
    started = time.perf_counter()
    verdict = await decided(step(0.1, 0.2))
    assert 0.0 < verdict.steps[0].elapsed_s <= time.perf_counter() - started


class Agreeing(Writer):
    """Never says the same twice, and says Yes to every sentence."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.drawn = 0

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if request.question.startswith("Context:"):
            return Completions((Completion("Yes"),))
        if self.fails:
            raise ProviderError("not today")
        self.drawn += 1
        return Completions((Completion(f"It has {self.drawn} lamps."),))


async def test_a_decision_says_how_many_samples_it_took() -> None:
    policy = {"chain": [PROMPT], "cache": {"store": "none"}}
    for sampling, basis in (
        ({"max": 9}, "after 5 of 9"),
        ({"max": 9, "ahead": 0}, "after 3 of 9"),
        ({"max": 3}, "with 3"),
    ):
        guard = Guard({**policy, "sampling": sampling}, provider=Agreeing())
        verdict = await guard.acheck(A, question="?")
        assert verdict.reason == f"passage 0.00 <= 0.50, every sentence <= 0.50 {basis} samples"


class Second(Writer):
    """Has an opinion about what another model wrote, or fails."""

    def __init__(self, opinion: str | None) -> None:
        self.opinion = opinion

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if self.opinion is None:
            raise ProviderError("not today")
        return Completions((Completion(self.opinion),))


async def doubted(opinion: str | None, *scores: float, **settings: Any) -> Verdict:
    policy = {
        "chain": [step(*scores, **settings)],
        "second_opinion": "other/wise",
        "limits": {"retries": 0},
    }
    return await Guard(policy, provider=Second(opinion)).acheck(f"{A} {B}", question="?")


async def test_flagged_claims_need_no_second_opinion() -> None:
    missing = "no second opinion: 'other/wise' could not be asked (ProviderError x1)"
    open_ = await doubted(None, 0.2, 0.3)
    assert (open_.decision, open_.reason) == ("inconclusive", missing)
    # So is what nobody else has looked at.
    left_out = await doubted(None, 0.2, 0.3, when={"min_chars": 1000})
    assert (left_out.decision, left_out.reason) == ("inconclusive", missing)
    flagged = await doubted(None, 0.2, 0.7)
    assert [s.band for s in flagged.sentences] == [None, "unsupported"]
    assert flagged.reason == (
        f"1 of 2 sentences > 0.50; 1 of 2 sentences could not be scored; {missing}"
    )


async def test_a_second_model_is_quoted_only_with_its_own_words() -> None:
    verdict = await doubted("1: right\n2: wrong", 0.2, 0.3)
    assert [s.flagged for s in verdict.sentences] == [False, True]
    assert verdict.sentences[1].contradicted_by is None
    guard = Guard({"chain": [NGRAM], "second_opinion": "other/wise"}, provider=Second("1: right"))
    verdict = await guard.acheck(B, question="?", samples=SAMPLES)
    said = verdict.sentences[0].contradicted_by
    assert said is not None
    assert (said.text, said.speaker) == (SAMPLES[0], "sample 1")
    # The samples of the first model do not speak for the second.
    guard = Guard({"chain": [NGRAM], "second_opinion": "other/wise"}, provider=Second("1: wrong"))
    verdict = await guard.acheck(B, question="?", samples=[B, B, B, SAMPLES[0]])
    assert verdict.sentences[0].flagged
    assert verdict.sentences[0].contradicted_by is None


MOOR, OPENED = "Ada Moor built the Garmo bridge.", "The Garmo bridge opened in 1932."


@pytest.mark.parametrize("answer", [f"{MOOR} {OPENED}", f"{OPENED} {MOOR}"])
async def test_a_decision_names_references_and_samples_where_both_have_decided(
    answer: str,
) -> None:
    policy = {"chain": [NGRAM], "references": {"unmentioned": "samples"}}
    samples = [MOOR, f"Yes. {MOOR}", f"So it is. {MOOR}"]
    asked: dict[str, Any] = {"question": "What of the Garmo bridge?", "references": [OPENED]}
    verdict = await Guard(policy).acheck(answer, samples=samples, **asked)
    assert {claim.by for claim in verdict.claims} == {"references", "ngram"}
    assert verdict.reason.endswith(" by 1 reference with 3 samples")
    assert [reference.text for reference in verdict.references] == [OPENED]
    # Samples may be too few where no claim is left to them.
    verdict = await Guard(policy).acheck(OPENED, samples=samples[:1], **asked)
    assert verdict.decision == "consistent"
    assert verdict.reason.endswith(" by 1 reference")
    # What the samples decide, they contradict.
    samples = [sample.replace(MOOR, OPENED.replace("1932", "1940")) for sample in samples]
    verdict = await Guard(policy).acheck(OPENED.replace("1932", "1950"), samples=samples, **asked)
    (claim,) = verdict.claims
    assert [(ground.reference, ground.supports) for ground in claim.grounds] == [(0, False)]
    assert claim.contradicted_by is not None
    assert (claim.by, claim.contradicted_by.source) == ("ngram", "sample")


async def test_samples_that_failed_are_told_by_kind() -> None:
    policy = {"chain": [NGRAM], "cache": {"store": "none"}, "limits": {"retries": 0}}
    verdict = await Guard(policy, provider=Agreeing(fails=True)).acheck(A, question="?")
    assert verdict.reason == (
        "only 0 usable samples; `sampling.min` is 3; failed: ProviderError x5"
    )


async def test_samples_that_are_too_few_without_a_failure_are_told_as_that() -> None:
    few = Evidence(Samples(SAMPLES[:2]))
    verdict = await chain_of(NGRAM).run(Passage.of(A), few, math.inf)
    assert verdict.reason == "only 2 usable samples; `sampling.min` is 3"


async def test_without_references_nothing_is_compared_with_them() -> None:
    verdict = await decided(NGRAM | {"evidence": "references"})
    assert verdict.inconclusive
    assert verdict.reason == "no references found to compare with"


async def test_where_every_step_is_left_out_the_first_says_why() -> None:
    first, second = ({"min_chars": chars} for chars in (1000, 2000))
    verdict = await decided(step(0.1, when=first), step(0.9, when=second))
    assert verdict.skipped
    assert verdict.reason == verdict.steps[0].skip_reason
    assert verdict.reason != verdict.steps[1].skip_reason
    # One that looks decides.
    assert (await decided(step(0.1, 0.1), step(0.9, when=second))).decision == "consistent"


async def test_fields_are_called_so_and_may_repeat() -> None:
    chain = Chain.of_fields(Policy.of({"chain": [NGRAM]}))
    same, other = rendered({"lamps": 1}), rendered({"lamps": 2})
    for samples, reason in (
        ([same] * 3, "passage 0.00 <= 0.50, every field <= 0.50 with 3 samples"),
        ([other] * 3, "passage 1.00 > 0.50, 1 of 1 field > 0.50 with 3 samples"),
    ):
        verdict = await chain.run(passage_of({"lamps": 1}), Evidence(Samples(samples)), math.inf)
        assert (verdict.reason, verdict.sentences[0].by) == (reason, "fields")


@pytest.mark.parametrize(
    ("key", "value"), [("note", "It is red, and it opened in 1932."), ("sorry", "I don't know.")]
)
async def test_a_field_is_one_claim_whatever_its_words(key: str, value: str) -> None:
    chain = Chain.of_fields(Policy.of({"chain": [NGRAM]}))
    others = Samples([rendered({key: word}) for word in ("one", "two", "three")])
    verdict = await chain.run(passage_of({key: value}), Evidence(others), math.inf)
    assert (verdict.decision, scores(verdict)) == ("flagged", [1.0])
    assert verdict.steps[0].sentences == 1


async def test_a_field_no_sample_has_is_contradicted_by_words_of_another() -> None:
    chain = Chain.of_fields(Policy.of({"chain": [NGRAM]}))
    samples = [rendered({"text": f"{so}. 7 lamps are red."}) for so in ("It is", "So", "Yes")]
    passage = passage_of({"lamps 9": "5 lamps are red."})
    verdict = await chain.run(passage, Evidence(Samples(samples)), math.inf)
    said = verdict.sentences[0].contradicted_by
    assert said is not None
    assert said.claim_span is not None
    assert said.evidence_span is not None
    assert passage.text[slice(*said.claim_span)] == "5"
    assert said.text[slice(*said.evidence_span)] == "7"


@pytest.mark.parametrize("samples", [[], ["It opened in 1932."]])
def test_an_answer_compared_with_nothing_has_no_score(samples: list[str]) -> None:
    policy = {"chain": [{"method": "facts"}], "sampling": {"min": 2}}
    verdict = Guard(policy).check("It opened in 1932.", samples=samples)

    assert verdict.inconclusive
    assert (verdict.score, verdict.mean_score, verdict.threshold) == (None, None, None)
    assert repr(verdict) == "<Verdict inconclusive: 0 of 1 sentence>"
