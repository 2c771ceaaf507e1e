from __future__ import annotations

import operator
from itertools import chain
from math import sqrt
from statistics import fmean

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage, Request
from resay.plugins import Evidence, Samples
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.sample_index import Indexing, SampleIndex
from resay.scorers.common.sentence_items import NamesAndWords
from resay.scorers.common.words import stems_of, words_of
from resay.scorers.facts import Facts


def index_of(samples: list[str], question: str = "") -> SampleIndex:
    return Indexing(question, "")(Samples(samples).arrived)


def disagreement_by_pairs(index: SampleIndex) -> float:
    """What `SampleIndex.disagreement` should be, by comparing each item with each other sample."""
    by_sample: list[float] = []
    for sample in range(min(index.count, 5)):
        others = [other for other in range(index.count) if other != sample]
        scores: list[float] = []
        for sentence in [s for s in index.sentences if s.sample == sample] if others else []:
            spans = [
                (q.start - sentence.start, q.end - sentence.start) for q in sentence.quantities
            ]
            stated = NamesAndWords.of(
                sentence.text,
                spans,
                known=index.question.given_stems,
                nouns=index.language == "de",
            )
            items: list[tuple[float, float]] = []
            for meaning in {q.meaning for q in sentence.quantities}:
                saying = 0
                for other in others:
                    theirs = [s for s in index.sentences if s.sample == other]
                    saying += any(q.meaning == meaning for s in theirs for q in s.quantities)
                items.append((6.0, 1 - saying / len(others)))
            for stem, (_, name) in stated.names.items():
                saying = sum(stem in index.stems[other] for other in others)
                items.append((4 / len(name), 1 - saying / len(others)))
            lengths: dict[str, float] = {}
            for stem, word in stated.words.items():
                lengths[stem] = min(len(word), 6) / 6 * (1.5 if word.lower() == word.upper() else 1)
            for stem, length in lengths.items():
                saying = sum(stem in index.stems[other] for other in others)
                weight = length * min(1, 3 / sum(lengths.values()))
                items.append((weight, 1 - saying / len(others)))
            total = sum(weight * doubt**2 for weight, doubt in items)
            scores.append(sqrt(total / (2 + sum(weight for weight, _ in items))))
        if scores:
            by_sample.append(fmean(scores))
    return fmean(by_sample) if by_sample else 0.0


ENGLISH = ["bridge", "opened", "1932", "in 1932", "5 km", "5,000 m", "Mary Doyle", "Mary", "not"]
OTHER = ["Straße", "Brücke", "der", "die", "мост", "橋は", "1932年", "a.example.org", "`sorted(x)`"]
SHORT = ["red", "half", "19 March", "No. 3", "€5", "B", "[1]", "- item", "555 0199 41", "y = 5"]
WORDS = st.sampled_from(ENGLISH + OTHER + SHORT)
TEXTS = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), st.sampled_from(". |! |\n")),
    min_size=1,
    max_size=4,
).map(lambda sentences: "".join(text + end for text, end in sentences))


@given(st.lists(TEXTS, max_size=8), st.sampled_from(["", "When was the bridge opened?", "Wer?"]))
def test_disagreement_is_that_of_all_pairs(samples: list[str], question: str) -> None:
    index = index_of(samples, question)
    assert index.disagreement == pytest.approx(disagreement_by_pairs(index), abs=1e-9)
    assert 0 <= index.disagreement <= 1


@given(st.lists(TEXTS | st.text(max_size=40), max_size=4))
def test_plain_sentences_have_the_same_words_by_themselves(samples: list[str]) -> None:
    for sentence in index_of(samples).sentences:
        if not sentence.plain:
            continue
        assert list(sentence.words) == words_of(sentence.text).findall(sentence.text.lower())
        parts = [stems_of(sentence.text[start:end]) for start, end in parts_of(sentence.text)]
        assert sentence.stems == frozenset(chain.from_iterable(parts))


def test_the_question_disagrees_with_nobody() -> None:
    samples = ["The Garmo bridge opened in 1932.", "In 1932.", "It was 1932, the Garmo bridge."]
    assert index_of(samples, "When was the Garmo bridge opened?").disagreement < 0.1
    assert index_of(samples).disagreement > 0.2


def test_only_the_first_samples_are_scored_but_all_are_compared_with() -> None:
    samples = [f"Number {n} is {n * 37} m long." for n in range(5)]
    with_others = index_of([*samples, *samples]).disagreement
    assert with_others < index_of(samples).disagreement
    assert index_of([*samples, *samples, "Nothing is known."]).disagreement > with_others


def test_samples_are_scored_once_for_all_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []
    original = NamesAndWords.of.__func__

    def of(cls: type[NamesAndWords], text: str, *args: object, **kwargs: object) -> NamesAndWords:
        scored.append(text)
        return original(cls, text, *args, **kwargs)

    monkeypatch.setattr(NamesAndWords, "of", classmethod(of))
    samples = ["The bridge opened in 1932.", "The bridge opened in 1933."]
    evidence = Evidence(Samples(samples), request=Request.of("When did it open?"))

    async def stream() -> None:
        for sentence in ("It opened in 1932.", "It is red.", "It is long."):
            await Facts().score_arrived(Passage.of(sentence), evidence)

    anyio.run(stream)
    assert [text for text in scored if text in samples] == samples


def test_a_sample_is_read_once_however_many_arrive_after_it() -> None:
    samples = Samples(["The mill was built in 1932.", "It has 90 sails."])
    before = Indexing("When?", "")(samples.arrived)
    samples.add(["It was built in 1941."])
    after = Indexing("Where?", "")(samples.arrived)
    assert all(map(operator.is_, before.sentences, after.sentences))
    assert [sentence.sample for sentence in after.sentences] == [0, 1, 2]
    rivals = [quantity.plain for reading in after.readings for quantity in reading.rivals]
    assert rivals == [1932, 90, 1941]
