from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import (
    ClaimVerdict,
    ConfigurationError,
    Contradiction,
    Document,
    HallucinationBlocked,
    SentenceVerdict,
    StepRecord,
    Unscored,
    Usage,
    Verdict,
)
from resay.adapters import tally
from resay.adapters.pages import pieces
from resay.core.claim_verdict import Part
from resay.core.regeneration import Attempt, Regeneration
from resay.plugins import Claim, Scores, mean_score, over
from support.claims import claim_verdict

units = st.floats(0, 1)
texts = st.text(max_size=20)
usages = st.builds(
    Usage, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.none() | units
)
sentences = st.builds(
    SentenceVerdict,
    texts,
    st.integers(0, 99),
    st.integers(0, 99),
    st.none() | units,
    st.booleans(),
    st.none() | texts,
    st.none() | texts,
    st.none()
    | st.builds(Contradiction, st.sampled_from(["sample", "reference"]), st.just(1), texts),
)
steps = st.builds(
    StepRecord, texts, st.integers(0, 9), st.none() | units, usages, units, st.just({"E": 2})
)
unscored = st.builds(
    Unscored,
    texts,
    st.integers(0, 99),
    st.integers(0, 99),
    st.sampled_from(["prose", "table", "heading", "code", "html", "sentence", "field"]),
)
verdicts = st.builds(
    Verdict,
    st.sampled_from(["consistent", "flagged", "inconclusive"]),
    st.none() | units,
    texts,
    st.lists(sentences, max_size=3).map(tuple),
    st.integers(0, 9),
    st.lists(steps, max_size=2).map(tuple),
    usages,
    units,
    unscored=st.lists(unscored, max_size=2).map(tuple),
)


@given(verdicts)
def test_json_round_trip(verdict: Verdict) -> None:
    data = verdict.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert Verdict.from_dict(data) == verdict


def test_a_verdict_of_an_older_version_is_read() -> None:
    data = Verdict("flagged", 1.0, "why").to_dict()
    del data["unscored"]
    assert Verdict.from_dict(data).unscored == ()


def test_the_keys_of_an_earlier_version_are_read() -> None:
    attempt = Attempt("passage 0.90 > 0.50", error="nothing was found")
    against = Contradiction(
        "second_opinion", 0, "It was.", claim_span=(3, 5), evidence_span=(3, 6), model="x/other"
    )
    verdict = Verdict(
        "flagged",
        0.9,
        "passage 0.90 > 0.50",
        sentences=(
            SentenceVerdict("It is.", 0, 6, reason="no sample says it", contradicted_by=against),
        ),
        claims=(
            claim_verdict("It is.", 0, 6, reason="no sample says it", contradicted_by=against),
        ),
        steps=(
            StepRecord("nli", 1, error="it failed", reason="2 of 3 say otherwise"),
            StepRecord("prompt", 0, skip_reason="when: long", verdict_reason="2 models disagree"),
        ),
        regeneration=Regeneration("repair", (attempt,)),
    )
    former = verdict.to_dict()
    for unit in (*former["sentences"], *former["claims"]):
        unit["why"] = unit.pop("reason")
        contradiction = unit["contradicted_by"]
        contradiction["source"] = "second"
        contradiction["claimed"] = contradiction.pop("claim_span")
        contradiction["said"] = contradiction.pop("evidence_span")
    for step in former["steps"]:
        step["why"] = step.pop("reason")
        step["note"] = step.pop("error")
        step["skipped"] = step.pop("skip_reason")
        step["remark"] = step.pop("verdict_reason")
    for record in former["regeneration"]["attempts"]:
        record["why"] = record.pop("reason")
        record["note"] = record.pop("error")
    assert Verdict.from_dict(former) == verdict


def test_units_and_kinds_of_an_earlier_version_are_read() -> None:
    data = Verdict("flagged", 1.0, "so", claims=(claim_verdict("It is.", 0, 6),)).to_dict()
    data["claims"][0] |= {"unit": "clause", "kind": "opinion"}
    (claim,) = Verdict.from_dict(data).claims
    assert (claim.unit, claim.kind) == ("clause", "opinion")


def test_as_json_the_fields_of_a_claim_are_beside_those_of_its_verdict() -> None:
    verdict = Verdict("flagged", 1.0, "so", claims=(claim_verdict("A: 5 kg", 4, 8, unit="row"),))
    (claim,) = verdict.to_dict()["claims"]
    assert set(claim) == {
        *("text", "start", "end", "unit", "kind", "sentence", "score", "flagged", "by", "reason"),
        *("contradicted_by", "scores", "band", "grounds", "parts"),
    }
    assert (claim["text"], claim["start"], claim["unit"]) == ("A: 5 kg", 4, "row")


@pytest.mark.parametrize("change", [{"start": None}, {"text": 5}, {"sentence": True}])
def test_a_malformed_claim_is_refused(change: dict[str, Any]) -> None:
    data = Verdict("flagged", 1.0, "so", claims=(claim_verdict("It is.", 0, 6),)).to_dict()
    data["claims"][0] |= change
    with pytest.raises(ConfigurationError, match=r"claims\.0"):
        Verdict.from_dict(data)


@pytest.mark.parametrize("text", ["| A | 5 kg |", "- 5 kg: é😀", "5 kg"])
def test_a_claim_keeps_its_own_and_its_completed_words_through_json(text: str) -> None:
    start = text.index("5 kg")
    code = "`f(g)`"
    claims = (
        ClaimVerdict(Claim("5 kg", start, start + 4, "row", completed_text="A: 5 kg")),
        ClaimVerdict(
            Claim("g", 103, 104, "code", completed_text="The code calls g.", sentence=-1),
            score=0.9,
            flagged=True,
        ),
    )
    verdict = Verdict(
        *("flagged", 0.9, "so"),
        sentences=(SentenceVerdict(text, 0, len(text)),),
        unscored=(Unscored(code, 100, 100 + len(code), "code"),),
        claims=claims,
    )
    read = Verdict.from_json(verdict.to_json())
    assert read == verdict
    assert [claim.text for claim in read.claims] == ["A: 5 kg", "The code calls g."]
    bare = Verdict.from_json(verdict.to_json(content=False))
    assert {(claim.text, claim.claim.text) for claim in bare.claims} == {("", "")}
    assert Verdict.from_json(verdict.moved(7).to_json()) == verdict.moved(7)


def test_a_moved_verdict_has_other_offsets_and_the_same_words() -> None:
    sentence = SentenceVerdict("It has 40 lamps.", 0, 16, 0.9, True)
    verdict = Verdict("flagged", 0.9, "1 of 1 > 0.50", (sentence,))
    moved = verdict.moved(7)
    assert [(s.text, s.start, s.end) for s in moved.sentences] == [("It has 40 lamps.", 7, 23)]
    assert moved.moved(-7) == verdict
    assert verdict.moved(0) is verdict
    part = Part(start=7, end=9, band="contradicted", kind="number")
    assert part.moved(7) == replace(part, start=14, end=16)


def test_a_verdict_is_shown_by_its_decision_score_and_counts() -> None:
    sentence = SentenceVerdict("It has 40 lamps.", 0, 16, 0.9, True)
    flagged = Verdict("flagged", 0.9, "1 of 1 > 0.50", (sentence,))
    assert repr(flagged) == "<Verdict flagged 0.90: 1 of 1 sentence>"
    assert repr(Verdict("skipped", None, "no words")) == "<Verdict skipped>"
    assert "secret" not in repr(Regeneration(mode="repair", attempts=(), draft="secret"))


def test_without_content_no_word_is_left() -> None:
    said = Contradiction("sample", 0, "secret two")
    sentence = SentenceVerdict("secret one", 0, 10, 0.9, True, "prompt", "secret three", said)
    table = Unscored("secret four", 11, 22, "table")
    verdict = Verdict("flagged", 0.9, "passage 0.90 > 0.50", (sentence,), unscored=(table,))
    bare = verdict.to_dict(content=False)
    assert "secret" not in json.dumps(bare)
    assert bare["unscored"] == [{"text": "", "start": 11, "end": 22, "kind": "table"}]
    assert bare["sentences"][0]["end"] == 10


def test_decisions_are_told_apart() -> None:
    assert Verdict("flagged", 1.0, "").flagged
    assert Verdict("inconclusive", None, "").inconclusive
    assert not Verdict("inconclusive", None, "").flagged
    assert not Verdict("consistent", 0.0, "").inconclusive


def test_usage_adds_up_and_an_unknown_price_stays_unknown() -> None:
    assert Usage(1, 2, 3, 0.5) + Usage(1, 1, 1, 0.25) == Usage(2, 3, 4, 0.75)
    assert (Usage(1, 2, 3, None) + Usage(1, 1, 1, 0.25)).cost_usd is None
    assert Usage(1, 2, 3).tokens == 5
    assert Usage(3, 4, 5, 0.75, 2).since(Usage(1, 2, 4, 0.25, 1)) == Usage(2, 2, 1, 0.5, 1)
    assert Usage(1, 2, 3, None).since(Usage(0, 0, 0, 0.25)).cost_usd is None
    assert Usage(1, 2, 3, 0.25).since(Usage(0, 0, 0, None)).cost_usd is None


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"title": "The guide"}, "The guide"),
        ({"title": " "}, "g#1"),
        ({"title": 7}, "g#1"),
        ({}, "g#1"),
    ],
)
def test_a_document_is_called_by_its_title_or_its_id(metadata: dict[str, Any], title: str) -> None:
    document = Document("g#1", "secret words", 0.5, {"by": "secret", **metadata})
    assert document.title == title
    assert "secret" not in repr(document)


def test_withheld_answers_have_a_reason_and_a_cost() -> None:
    verdict = Verdict("flagged", 0.9, "passage 0.90 > 0.50", usage=Usage(2))
    blocked = HallucinationBlocked(verdict)
    assert str(blocked) == "the answer was withheld: passage 0.90 > 0.50"
    assert (blocked.verdict, blocked.usage) == (verdict, Usage(2))
    assert HallucinationBlocked(verdict, Usage(3)).usage == Usage(3)
    # The policy asked for it: nothing went wrong.
    assert not blocked.is_failure


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.1])
def test_a_score_outside_its_range_is_a_bug(score: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        Scores(sentences=(score,))
    with pytest.raises(ValueError, match="must lie in"):
        Scores(passage=score)


def test_the_passage_score_is_the_mean_of_the_known_sentence_scores() -> None:
    assert Scores(sentences=(0.0, None, 1.0)).passage_score == 0.5
    assert Scores(sentences=(0.0,), passage=0.7).passage_score == 0.7
    assert Scores(sentences=(None,)).passage_score is None


def test_invalid_verdicts_are_refused_without_quoting_them() -> None:
    data = Verdict("flagged", 1.0, "why").to_dict() | {"score": "secret", "sentences": [{}]}
    with pytest.raises(ConfigurationError, match=r"check score, sentences\.0\.text") as caught:
        Verdict.from_dict(data)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_lost_claims_are_in_doubt() -> None:
    silent = Scores(sentences=(None, 0.1))
    assert silent.undecided == ()
    assert replace(silent, failures=("E",)).undecided == (0,)
    told = Scores(sentences=(None, None), failures=("E",), lost=(1,))
    assert told.undecided == (1,)
    assert replace(told, lost=()).undecided == ()


def test_values_are_the_methods_own_where_it_has_any() -> None:
    scores = Scores(sentences=(0.1, 0.3))
    assert (scores.values, scores.passage_value) == ((0.1, 0.3), pytest.approx(0.2))
    assert (scores.undetermined, scores.failures, scores.columns) == (0, (), ())
    unbounded = replace(scores, raw=(3.0, -1.0), raw_passage=0.0)
    assert (unbounded.values, unbounded.passage_value) == ((3.0, -1.0), 0.0)


@pytest.mark.parametrize(
    ("score", "threshold", "flagged"),
    [(0.51, 0.5, True), (0.5, 0.5, False), (None, 0.5, False), (0.9, None, False)],
)
def test_over_a_threshold_means_more_than_it(
    score: float | None, threshold: float | None, flagged: bool
) -> None:
    assert over(score, threshold) is flagged


def test_kinds_are_counted_the_most_frequent_first() -> None:
    assert tally(["A", "B", "B"]) == "B x2, A x1"


def test_a_verdict_tells_what_it_is_about() -> None:
    plain = Verdict("skipped", None, "why")
    assert plain.skipped
    assert not any((plain.structured, plain.regenerated, Verdict("consistent", 0.0, "").skipped))
    assert (plain.samples, plain.elapsed_s, plain.usage) == (0, 0.0, Usage())
    steps = (StepRecord("prompt", 1), StepRecord("fields", 1))
    assert replace(plain, steps=steps).structured
    assert not replace(plain, steps=steps[:1]).structured
    tried = Regeneration("repair", (Attempt("it was flagged"),))
    assert (tried.attempts[0].elapsed_s, tried.removed) == (0.0, 0.0)
    assert not replace(plain, regeneration=tried).regenerated
    assert replace(plain, regeneration=replace(tried, adopted=0)).regenerated
    fine, flagged = SentenceVerdict("a", 0, 1), SentenceVerdict("b", 1, 2, 0.9, flagged=True)
    assert replace(plain, sentences=(fine, flagged)).flagged_sentences == (flagged,)
    # Sentences can be kept in sets, whatever methods said of them.
    assert len({fine, replace(fine, scores={"ngram": 0.1})}) == 2


def test_without_content_no_word_of_a_draft_is_left() -> None:
    written = Regeneration("repair", (), adopted=0, draft="secret words")
    verdict = Verdict("consistent", 0.0, "", regeneration=written)
    assert "secret" in json.dumps(verdict.to_dict())
    assert "secret" not in repr(verdict)
    assert "secret" not in json.dumps(verdict.to_dict(content=False))


def test_records_of_a_step_are_joined() -> None:
    nothing = StepRecord("prompt", 1)
    assert (nothing.elapsed_s, nothing.undetermined, nothing.failures) == (0.0, 0, {})
    first = StepRecord("prompt", 1, 0.2, Usage(1, 2, 3), 0.5, {"E": 1, "F": 2}, 1, "late")
    second = StepRecord("prompt", 2, 0.6, Usage(2, 2, 2), 0.3, {"E": 1}, 2, "later")
    assert StepRecord.joined([nothing]) == nothing
    left_out = replace(nothing, skip_reason="short")
    assert StepRecord.joined([left_out, first, second]) == StepRecord(
        "prompt", 4, pytest.approx(0.4), Usage(3, 4, 5), 0.5, {"E": 2, "F": 2}, 3, "late"
    )
    again = replace(nothing, skip_reason="shorter")
    assert StepRecord.joined([left_out, again]).skip_reason == "short"
    assert StepRecord.joined([left_out, nothing]).skip_reason is None


def test_unscored_text_is_listed_once() -> None:
    sentence = SentenceVerdict("It is so.", 0, 9, None, False)
    silent, table = Unscored("It is so.", 0, 9, "sentence"), Unscored("| a |", 11, 16, "table")
    verdict = Verdict("inconclusive", None, "", (sentence,), unscored=(silent, table))
    assert verdict.unscored_blocks == (table,)


@given(verdicts)
def test_a_verdict_is_kept_as_a_line(verdict: Verdict) -> None:
    line = verdict.to_json()
    assert "\n" not in line
    assert Verdict.from_json(line) == Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert Verdict.from_json(line.encode()).to_json() == line


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000])
def test_other_lines_are_no_verdict(text: str) -> None:
    with pytest.raises(ConfigurationError, match="not a verdict: must be a JSON object"):
        Verdict.from_json(text)
    with pytest.raises(ConfigurationError, match="not a verdict; check decision"):
        Verdict.from_json('{"decision": 3}')


def test_a_contradiction_names_its_speaker() -> None:
    assert Contradiction("sample", 1, "It is red.").speaker == "sample 2"
    assert (
        Contradiction("second_opinion", 0, "It is red.", model="other/wise").speaker == "other/wise"
    )


def test_flagged_claims_are_told_apart() -> None:
    claims = (
        claim_verdict("a", 0, 1, score=0.1),
        claim_verdict("b", 2, 3, score=0.9, flagged=True),
        # The only claim of its sentence.
        claim_verdict("c", 4, 5, score=0.9, flagged=True, sentence=1),
        claim_verdict("f()", 6, 9, unit="code", score=1.0, flagged=True, sentence=-1),
        claim_verdict("g()", 9, 12, unit="code", score=1.0, flagged=True, sentence=-1),
    )
    verdict = Verdict("flagged", 0.9, "", claims=claims)
    assert verdict.flagged_claims == claims[1:]
    assert verdict.flagged_names == claims[3:]
    assert verdict.claims_by_sentence == {0: [*claims[:2]], 1: [claims[2]], -1: [*claims[3:]]}
    # As sentences, they can be kept in sets.
    assert len({claims[0], replace(claims[0], scores={"ngram": 0.1})}) == 2


def test_in_doubt_are_the_flagged_parts_or_all_of_a_flagged_claim() -> None:
    parts = (
        Part(start=1, end=3, band="supported"),
        Part(start=4, end=6, band="unsupported"),
        Part(start=7, end=9, band="contradicted"),
    )
    flagged = claim_verdict("a bc de fg", 0, 10, score=0.9, flagged=True, parts=parts)
    assert flagged.flagged_parts == parts[1:]
    assert flagged.spans_in_doubt == ((4, 6), (7, 9))
    assert replace(flagged, parts=parts[:1]).spans_in_doubt == ((0, 10),)
    assert replace(flagged, parts=(), flagged=False).spans_in_doubt == ()


def test_a_notebook_shows_words_and_no_markup() -> None:
    sentence = SentenceVerdict("<script>x</script>", 0, 18, 0.9, True, reason="it & that")
    shown = Verdict("flagged", 0.9, "1 of 1 > 0.50", (sentence,))._repr_html_()
    assert "&lt;script&gt;x&lt;/script&gt;" in shown
    assert "it &amp; that" in shown
    assert "1 of 1 &gt; 0.50" in shown
    assert "<script" not in shown
    assert "<li" not in Verdict("skipped", None, "no words")._repr_html_()


@given(
    text=st.text(max_size=12),
    start=st.integers(0, 5),
    edges=st.lists(st.integers(0, 20), max_size=6).map(sorted),
)
def test_a_text_is_cut_at_its_spans_and_nowhere_else(
    text: str, start: int, edges: list[int]
) -> None:
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    cut = list(pieces(text, start, spans))
    assert "".join(piece for piece, _ in cut) == text
    assert all(piece for piece, _ in cut)
    inside = "".join(piece for piece, is_inside in cut if is_inside)
    offsets = {offset for begin, end in spans for offset in range(begin, end)}
    assert inside == "".join(c for i, c in enumerate(text, start) if i in offsets)


def test_a_notebook_underlines_what_is_in_doubt() -> None:
    text = "It has <40> lamps."
    claim = claim_verdict(
        text=text,
        start=5,
        end=5 + len(text),
        score=0.9,
        flagged=True,
        parts=(Part(start=12, end=16, band="unsupported", kind="number"),),
    )
    sentence = SentenceVerdict(text, 5, 5 + len(text), 0.9, True)
    verdict = Verdict("flagged", 0.9, "so", (sentence,), claims=(claim,))
    # Gradio gives elements without a colour that of its own text, also on a background of ours.
    assert 'It has <u style="color: inherit">&lt;40&gt;</u> lamps.' in verdict._repr_html_()
    bare = Verdict.from_dict(verdict.to_dict(content=False))
    assert "lamps" not in bare._repr_html_()


def test_noise_of_floating_point_exceeds_no_threshold() -> None:
    assert mean_score([0.4, 0.4, 0.4]) == 0.4
    assert not over(0.1 + 0.2, 0.3)
    assert over(0.3001, 0.3)
    assert not over(None, 0.3)
