from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from math import fsum, log

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from resay import Contradiction, Guard, Passage, Policy, SentenceVerdict, Verdict
from resay.core.claim_verdict import Part
from resay.core.decision import Band
from resay.engine.contradictions import (
    AnalysisCache,
    ContradictionIndex,
    contradiction_of,
    kind_of_words,
    stretches_in_doubt,
    with_difference,
)
from resay.engine.decide import Decider
from resay.engine.state import RunState
from resay.plugins import Claim, Evidence, Sample, Samples
from support.claims import claims_of

SAMPLES = [
    Sample(0, "The bridge opened in 1932. It has five million rivets."),
    Sample(1, "The bridge opened in 1932. It has nine million rivets."),
    Sample(2, "Kangaroos live in Australia."),
]


def test_the_nearest_other_sentence_is_found() -> None:
    found = ContradictionIndex(SAMPLES).search("It has six million rivets.", [1, 2])
    assert found == Contradiction("sample", 1, "It has nine million rivets.")


def test_a_sentence_that_says_the_same_contradicts_nothing() -> None:
    found = ContradictionIndex(SAMPLES[:1]).search("The bridge opened in 1932.")
    assert found is None or "1932" not in found.text


def test_unrelated_sentences_are_not_quoted() -> None:
    assert ContradictionIndex(SAMPLES).search("Marie Curie won two Nobel prizes.") is None
    assert ContradictionIndex(SAMPLES).search("It has six million rivets.", [2]) is None


def test_without_samples_there_is_nothing() -> None:
    assert ContradictionIndex([]).search("It has six million rivets.") is None


def test_references_say_so() -> None:
    found = ContradictionIndex(SAMPLES[:1], "reference").search("It has six million rivets.")
    assert found is not None
    assert found.source == "reference"


def test_a_search_ends_where_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def abandoned() -> None:
        raise TimeoutError

    text = "It has six million rivets."
    passage = Passage.of(text)
    known = SentenceVerdict(text, 0, len(text), 0.9)
    state = RunState.of(passage, claims_of(passage), {0: known})
    evidence = Evidence(Samples([sample.passage.text for sample in SAMPLES]))
    policy = Policy.of({"chain": [{"method": "ngram"}]})
    decider = Decider(policy, compares=True, refers=False, structured=False)
    assert decider.contradictions(state, evidence, {})
    monkeypatch.setattr("resay.engine.contradictions.stop_if_abandoned", abandoned)
    monkeypatch.setattr("resay.engine.decide.stop_if_abandoned", abandoned)
    with pytest.raises(TimeoutError):
        decider.contradictions(state, evidence, {})
    with pytest.raises(TimeoutError):
        ContradictionIndex(SAMPLES)


def test_a_sentence_that_says_no_more_than_the_claim_does_not_contradict_it() -> None:
    index = ContradictionIndex(SAMPLES)
    assert index.search("The bridge opened in 1932 and is grey.", [0]) is None
    found = index.search("opened in 1931", claim="The bridge opened in 1931 and is grey.")
    assert found is not None
    assert found.text == "The bridge opened in 1932."
    grey = ContradictionIndex([Sample(0, "The grey bridge opened.")])
    assert grey.search("The bridge opened in 1931") is not None
    assert (
        grey.search("The bridge opened in 1931", claim="The bridge opened in 1931, grey.") is None
    )
    # With fewer words, it may say the opposite.
    found = index.search("The bridge never opened in 1932.", [0])
    assert found is not None
    negated = "The grey bridge opened in 1931 and never closed."
    assert grey.search("The grey bridge opened in 1931", claim=negated) is not None


def test_the_words_around_a_part_reach_to_those_around_the_next() -> None:
    text = "It opened in 1932, has 40 lamps and is grey."

    def part(words: str, band: Band) -> Part:
        start = 100 + text.index(words)
        return Part(start=start, end=start + len(words), band=band)

    dates, lamps = part("1932", "supported"), part("40 lamps", "unsupported")
    grey = part("grey", "contradicted")
    spans = stretches_in_doubt(text, 100, [dates, lamps, grey])
    assert [text[slice(*span)] for span in spans] == [
        " has 40 lamps and ",
        "is grey.",
    ]
    assert stretches_in_doubt(text, 100, [dates]) == [(0, len(text))]


@pytest.mark.parametrize(
    ("answer", "doubted", "said"),
    [
        ("The Garmo bridge opened in 1932 and has 6,512,331 rivets.", "6,512,331", "5,000,000"),
        ("The Garmo bridge has 5,000,000 rivets, and opened in 1931.", "1931", "1932"),
    ],
)
def test_the_half_of_a_sentence_that_is_wrong_is_contradicted(
    answer: str, doubted: str, said: str
) -> None:
    samples = [
        "The Garmo bridge opened in 1932. It has 5,000,000 rivets.",
        "The Garmo bridge has 5,000,000 rivets. It opened in 1932.",
        "In 1932 the Garmo bridge opened. There are 5,000,000 rivets in it.",
    ]
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = guard.check(answer, samples=samples, question="Tell me about the Garmo bridge.")
    (claim,) = verdict.claims
    assert claim.band == "contradicted"
    quoted = claim.contradicted_by
    assert quoted is not None
    assert quoted.claim_span is not None
    assert quoted.evidence_span is not None
    assert answer[slice(*quoted.claim_span)] == doubted
    assert quoted.text[slice(*quoted.evidence_span)] == said
    parts = {answer[part.start : part.end].split()[0]: part.band for part in claim.parts}
    assert parts[doubted] == "contradicted"
    assert set(parts.values()) == {"supported", "contradicted"}
    assert [answer[slice(*span)].split()[0] for span in claim.spans_in_doubt] == [doubted]


@pytest.mark.parametrize(
    ("question", "answer", "sample", "words"),
    [
        ("What is it made of?", "It does not contain lead.", "It contains lead.", "not"),
        ("Did he win?", "He did not win.", "He won.", "not"),
        ("Are dogs allowed?", "No.", "Yes.", "No"),
    ],
)
def test_claims_that_samples_deny_are_contradicted(
    question: str, answer: str, sample: str, words: str
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = guard.check(answer, samples=[sample] * 3, question=question)
    (claim,) = verdict.claims
    assert claim.band == "contradicted"
    quoted = claim.contradicted_by
    assert quoted is not None
    assert (quoted.source, quoted.text, quoted.kind) == ("sample", sample, "negation")
    assert quoted.claim_span is not None
    assert answer[slice(*quoted.claim_span)] == words


@pytest.mark.parametrize(
    ("counted", "part"),
    [("rivets", "6,512,331 rivets"), ("hand-driven rivets", "6,512,331")],
)
def test_the_part_of_a_number_ends_with_a_whole_word(counted: str, part: str) -> None:
    answer = f"The Garmo bridge has 6,512,331 {counted}."
    samples = [answer.replace("6,512,331", "5,000,000")] * 3
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = guard.check(answer, samples=samples, question="Tell me about the Garmo bridge.")
    (claim,) = verdict.claims
    assert [answer[slice(*span)] for span in claim.spans_in_doubt] == [part]


def test_a_link_that_nobody_gives_is_a_part() -> None:
    answer = "The manual of the X100 is at https://docs.vorst.example/x100 and has 40 pages."
    other = "https://help.vorst.example/manual"
    samples = [
        f"The manual of the X100 has 40 pages. It is at {other}.",
        f"The X100's manual is at {other} and has 40 pages.",
        f"The manual, 40 pages, is at {other}.",
    ]
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = guard.check(answer, samples=samples, question="Where is the manual of the X100?")
    (claim,) = verdict.claims
    parts = [(answer[part.start : part.end], part.kind, part.flagged) for part in claim.parts]
    assert parts == [
        ("https://docs.vorst.example/x100", "link", True),
        ("40 pages", "number", False),
    ]


def test_words_that_are_not_in_doubt_are_not_contradicted() -> None:
    (claim,) = claims_of(Passage.of("The red crane was built in 1931."))
    index = ContradictionIndex([Sample(0, "The blue crane was built in 1932.")])
    red = Part(start=4, end=7, band="unsupported")
    year = Part(start=27, end=31, band="supported", kind="date")
    analyses = AnalysisCache()
    found = contradiction_of(claim, [red, year], index, None, analyses, of_fields=False)
    assert found is not None
    assert (found.kind, found.claim_span) == ("other", None)
    found = contradiction_of(claim, [], index, None, analyses, of_fields=False)
    assert found is not None
    assert (found.kind, found.claim_span) == ("date", (27, 31))


@pytest.mark.parametrize(
    ("words", "claim", "kind"),
    [
        ("1923", "It opened in 1923.", "date"),
        ("May 3, 1999", "It opened on May 3, 1999.", "date"),
        ("6,512,331 rivets", "It has 6,512,331 rivets.", "number"),
        ("Ada Moor", "It was designed by Ada Moor.", "name"),
        ("King of Spain", "It belongs to the King of Spain.", "name"),
        ("Turm", "Das Haus hat einen Turm.", "other"),
        ("Ada Moor", "Das Haus ist von Ada Moor.", "name"),
        ("never", "It never opened.", "negation"),
        ("https://x.org/a", "See https://x.org/a.", "link"),
        ("the designer", "She is the designer.", "other"),
    ],
)
def test_the_words_of_a_part_have_a_kind(words: str, claim: str, kind: str) -> None:
    assert kind_of_words(words, claim) == kind


WORDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5).map(" ".join)


# One whose only neighbour is just too far, and one with two neighbours that are equally near.
@example("c f a e", ["c d"], None)
@example("c b e", ["e d b", "c e", "c"], None)
@given(WORDS, st.lists(WORDS, max_size=8), st.none() | st.sets(st.integers(0, 7)))
def test_quoted_sentences_share_the_most_rare_words(
    sentence: str, texts: list[str], against: set[int] | None
) -> None:
    own, others = set(sentence.split()), [set(text.split()) for text in texts]
    counts = Counter(word for words in others for word in words)

    def weight(words: set[str]) -> float:
        return fsum(log((1 + len(texts)) / counts.get(word, 1)) for word in words)

    likeness = [
        weight(own & words) / weight(own | words)
        if not words <= own and (against is None or i in against)
        else 0.0
        for i, words in enumerate(others)
    ]
    best = max(likeness, default=0.0)
    assume(abs(best - 0.2) > 1e-9)
    samples = [Sample(i, text) for i, text in enumerate(texts)]
    found = ContradictionIndex(samples).search(sentence, against)
    assert (found is None) is (best < 0.2)
    if found is not None:
        first = likeness.index(best)
        assert found == Contradiction("sample", first, texts[first])


_PICK = """
from resay.engine.contradictions import ContradictionIndex
from resay.scorers.samples import Sample
texts = [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]
samples = [Sample(i, text) for i, text in enumerate(texts)]
print(ContradictionIndex(samples).search("It has 31 lamps."))
"""


def test_the_paths_of_fields_are_not_compared() -> None:
    line = 'lamps[9]: "5 red"'
    claim = Claim(text=line, start=3, end=3 + len(line), unit="row", sentence=0)
    other = Contradiction("sample", 0, 'lamps[8]: "7 red"')
    whole = [(0, len(line))]
    found = with_difference(other, claim, whole, AnalysisCache(), of_fields=True)
    assert (found.kind, found.claim_span, found.evidence_span) == ("number", (14, 15), (11, 12))


def test_the_first_of_equally_near_ones_is_quoted_whatever_the_hash_seed() -> None:
    picked = {
        subprocess.run(
            [sys.executable, "-c", _PICK],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # Under these a plain sum of the weights rounds differently.
        for seed in (9, 15)
    }
    assert len(picked) == 1
    assert "It has 11 lamps." in picked.pop()


@pytest.mark.parametrize(
    ("claim", "sample", "kind", "claimed", "said"),
    [
        ("The bridge opened in 1923.", "The bridge opened in 1932.", "date", "1923", "1932"),
        (
            "The bridge opened on 3 May 1923.",
            "The bridge opened on 1932-05-04.",
            "date",
            "3 May 1923",
            "1932-05-04",
        ),
        ("The bridge is 5 km long.", "The bridge is 7,000 m long.", "number", "5 km", "7,000 m"),
        # Said otherwise, it is the same.
        (
            "The bridge is 5 km long and by Ada Moor.",
            "The bridge is 5,000 m long and by Hans Lindner.",
            "name",
            "Ada Moor",
            "Hans Lindner",
        ),
        # The name that both have is not compared.
        (
            "The bridge in Garmo is by Ada Moor.",
            "The bridge in Garmo is by Hans Lindner.",
            "name",
            "Ada Moor",
            "Hans Lindner",
        ),
        ("The bridge has lamps.", "The bridge does not have lamps.", "negation", None, "not"),
        ("The bridge is never red.", "The bridge is red.", "negation", "never", None),
        ("The bridge is red.", "The bridge is blue.", "other", None, None),
        # In German every noun has a capital.
        ("Die Brücke ist ein Haus.", "Die Brücke ist ein Turm.", "other", "Haus", "Turm"),
        (
            "Die Brücke ist von Ada Moor.",
            "Die Brücke ist von Hans Lindner.",
            "name",
            "Ada Moor",
            "Hans Lindner",
        ),
        ("Die Brücke ist von Ada Moor.", "Die Brücke ist von Stahl.", "other", "Ada Moor", "Stahl"),
    ],
)
def test_contradictions_have_the_spans_of_their_words(
    claim: str, sample: str, kind: str, claimed: str | None, said: str | None
) -> None:
    answer = f"It is so. {claim}"
    policy = {"chain": [{"method": "ngram"}], "threshold": {"passage": None, "sentence": 0.1}}
    samples = [f"It is so. {sample}", f"So it is. {sample}", f"Yes, it is so. {sample}"]
    verdict = Guard(policy).check(answer, samples=samples)
    found = verdict.claims[-1].contradicted_by
    assert found is not None
    assert found.kind == kind
    assert (found.claim_span and answer[slice(*found.claim_span)]) == claimed
    assert (found.evidence_span and found.text[slice(*found.evidence_span)]) == said
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_a_name_may_begin_with_a_common_word() -> None:
    names = ("Per Aske", "Jon Vik", "Ulf Brandt", "Nils Rosen")
    answers = [f"The museum has three floors. Its first director was {name}." for name in names]
    verdict = Guard({"chain": ["facts"]}).check(answers[0], samples=answers[1:])
    (claim,) = (claim for claim in verdict.claims if claim.flagged)
    parts = [answers[0][part.start : part.end] for part in claim.parts if part.flagged]
    assert parts == ["Per Aske"]
