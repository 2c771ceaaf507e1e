from __future__ import annotations

from collections import Counter
from math import log
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage
from resay.core.scores import Scores
from resay.scorers.evidence import Evidence
from resay.scorers.ngram import Ngram
from resay.scorers.samples import Samples

pytestmark = pytest.mark.anyio

RESPONSE = ["The bridge opened in 1932.", "Its painter was Harold Finch."]
SAMPLES = [
    "The bridge opened in 1932. Its painter was Mary Doyle.",
    "The bridge opened in 1932. Its painter was Tom Baker.",
]


POOLS = ("maximum", "average")
PUBLISHED = {"counted": "response"}


async def score(response: list[str], samples: list[str], **config: object) -> Scores:
    scorer = Ngram(Ngram.Config.model_validate(config))
    return await scorer.score(Passage.from_sentences(response), Evidence(Samples(samples)))


def by_the_equations(
    sentences: list[list[str]], texts: list[list[list[str]]], n: int
) -> tuple[list[float], list[float], float]:
    """Equations 7 and 8 over sentences already split into words, written out plainly."""

    def grams(words: list[str]) -> list[tuple[str, ...]]:
        padded = ["<s>"] * (n - 1) + words
        return [tuple(padded[i : i + n]) for i in range(len(words))]

    counts = Counter(g for text in texts for words in text for g in grams(words))
    total = sum(counts.values())
    surprise = [[-log(counts[g] / total) for g in grams(words)] for words in sentences]
    every = [value for values in surprise for value in values]
    return [fmean(s) for s in surprise], [max(s) for s in surprise], fmean(every)


words = st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), min_size=1, max_size=5)
text = st.lists(words, min_size=1, max_size=3)


@given(text, st.lists(text, min_size=1, max_size=3), st.integers(1, 5))
def test_the_raw_values_are_those_of_the_equations(
    response: list[list[str]], samples: list[list[list[str]]], n: int
) -> None:
    import anyio

    def join(sentences: list[list[str]]) -> list[str]:
        return [" ".join(["X", *w]) + "." for w in sentences]

    def tokens(sentences: list[list[str]]) -> list[list[str]]:
        return [["x", *w, "."] for w in sentences]

    async def both() -> tuple[Scores, Scores]:
        given_samples = [" ".join(join(s)) for s in samples]
        return (
            await score(join(response), given_samples, n=n, pool="average", **PUBLISHED),
            await score(join(response), given_samples, n=n, pool="maximum", **PUBLISHED),
        )

    average, maximum = anyio.run(both)
    mean, highest, whole = by_the_equations(
        tokens(response), [tokens(response), *map(tokens, samples)], n
    )
    assert average.raw == pytest.approx(mean)
    assert maximum.raw == pytest.approx(highest)
    assert average.raw_passage == pytest.approx(whole)
    assert maximum.raw_passage == pytest.approx(fmean(highest))
    for scores in (average, maximum):
        ranked = sorted(zip(scores.raw, scores.sentences, strict=True))
        assert [s for _, s in ranked] == sorted(s for s in scores.sentences if s is not None)


async def test_sentences_score_one_if_no_sample_repeats_them_and_zero_if_all_do() -> None:
    scores = await score(RESPONSE, SAMPLES)
    assert scores.sentences == (0.0, 1.0)
    assert scores.passage_score == 0.5


async def test_why_names_the_rarest_word() -> None:
    scores = await score(RESPONSE, SAMPLES)
    assert scores.reasons[1] == "'harold' appears nowhere in 2 texts compared"
    scores = await score(RESPONSE, SAMPLES, **PUBLISHED)
    assert scores.reasons[1] == "'harold' appears nowhere else in the response and 2 texts compared"


async def test_only_the_sentences_asked_for_are_scored() -> None:
    passage = Passage.from_sentences(RESPONSE).only([1])
    for config in ({}, PUBLISHED):
        whole = await score(RESPONSE, SAMPLES, **config)
        scorer = Ngram(Ngram.Config.model_validate(config))
        part = await scorer.score(passage, Evidence(Samples(SAMPLES)))
        assert part.raw == whole.raw[1:]


@pytest.mark.parametrize("config", [{}, PUBLISHED, {"pool": "average"}, {"n": 2}])
@pytest.mark.parametrize("samples", [[], ["", " \n"]])
async def test_without_samples_nothing_has_a_score(
    samples: list[str], config: dict[str, object]
) -> None:
    scores = await score(RESPONSE, samples, **config)
    assert scores.sentences == (None, None)
    assert scores.passage_score is None


async def test_an_average_lies_between_certainty_and_a_token_that_stands_once() -> None:
    scores = await score(RESPONSE, SAMPLES, pool="average", **PUBLISHED)
    # Two sentences of six tokens, in three texts.
    highest = log(3 * 12)
    assert scores.sentences == pytest.approx([value / highest for value in scores.raw])
    assert scores.passage == pytest.approx((scores.raw_passage or 0.0) / highest)
    assert 0.0 < (scores.sentences[0] or 0.0) < (scores.sentences[1] or 0.0) < 1.0


async def test_why_counts_how_often_the_rarest_word_stands_elsewhere() -> None:
    said, samples = ["Its painter was Harold."], ["Its painter was Harold.", "It was."]
    (why,) = (await score(said, samples, **PUBLISHED)).reasons
    assert why == "'its' appears only once elsewhere in the response and 2 texts compared"
    (why,) = (await score(said, samples)).reasons
    assert why == "'its' appears only once in 2 texts compared"


async def test_why_does_not_call_a_word_rare_that_every_text_has() -> None:
    said, samples = ["The bridge opened."], ["The bridge opened.", "The bridge is opened."]
    scores = await score(said, samples)
    assert scores.sentences == (0.0,)
    assert scores.reasons == ("every word appears at least 2 times in the 2 texts compared",)


@pytest.mark.parametrize(
    "mark",
    ["[1]", "[1, 2]", "[^1]", "[¹]", "¹", "(Doc. 3)", "[ref. 5]", "【4:0†source】", "(Moor, 2019)"],
)
@pytest.mark.parametrize("answer", ["It opened in 1932 {}.", "It opened in 1932.{}"])
def test_citation_marks_are_no_words(answer: str, mark: str) -> None:
    guard = Guard({"chain": [{"method": "ngram"}], "cache": {"store": "none"}})
    samples = ["It opened in 1932.", "It was opened in 1932.", "In 1932 it opened."]
    assert guard.check(answer.format(mark), samples=samples).decision == "consistent"


async def test_a_sentence_that_begins_inside_another_begins_as_nobody_counted() -> None:
    passage = Passage.from_sentences(["opened in 1932."], text="The bridge opened in 1932.")
    scores = await Ngram(Ngram.Config(n=2, counted="response")).score(
        passage, Evidence(Samples(SAMPLES))
    )
    tokens = sum(len(text.replace(".", " .").split()) for text in (passage.text, *SAMPLES))
    assert scores.raw == pytest.approx([log(tokens)])
    assert scores.sentences == (1.0,)


async def test_in_nothing_there_is_nothing_to_say() -> None:
    nothing = await Ngram().score(Passage.of("---"), Evidence(Samples(SAMPLES)))
    assert (nothing.sentences, nothing.passage_score) == ((), None)
    for config in ({}, {"evidence": "references"}):
        scores = await score(["\u200b"], SAMPLES, **config)
        assert (scores.sentences, scores.passage_score) == ((None,), None)


@pytest.mark.parametrize("counted", ["sentence", "response"])
async def test_one_document_that_has_all_the_words_of_a_sentence_is_enough(counted: str) -> None:
    config = {"evidence": "references", "counted": counted}
    documents = [SAMPLES[0], "He was Harold Finch.", "A tunnel was dug."]
    scores = await score([RESPONSE[0], "Its painter was Harold."], documents, **config)
    # The words of two documents make no support.
    assert scores.sentences == (0.0, 1.0)


@given(text, st.lists(text, min_size=1, max_size=3), st.integers(1, 3), st.sampled_from(POOLS))
def test_nothing_else_in_the_response_changes_the_score_of_a_sentence(
    response: list[list[str]], samples: list[list[list[str]]], n: int, pool: str
) -> None:
    import anyio

    sentences = [" ".join(["X", *words]) + "." for words in response]
    others = [" ".join(" ".join(["X", *words]) + "." for words in sample) for sample in samples]
    alike = Passage.of(f"<!-- {sentences[0]} -->\n\n" + " ".join([*sentences, *sentences]))

    async def scored() -> tuple[Scores, Scores, Scores]:
        scorer = Ngram(Ngram.Config.model_validate({"n": n, "pool": pool}))
        return (
            await score(sentences, others, n=n, pool=pool),
            await score(sentences[:1], others, n=n, pool=pool),
            await scorer.score(alike, Evidence(Samples(others))),
        )

    whole, alone, repeated = anyio.run(scored)
    assert whole.sentences[0] == alone.sentences[0]
    assert repeated.sentences == whole.sentences * 2
    assert repeated.passage_score == pytest.approx(whole.passage_score)
    assert whole.passage_score == pytest.approx(fmean(s for s in whole.sentences if s is not None))


async def test_saying_a_name_again_in_a_sentence_supports_it_no_more() -> None:
    once = await score(["Its painter was Finch."], SAMPLES)
    again = await score(["Its painter was Finch Finch Finch Finch."], SAMPLES)
    assert once.sentences == again.sentences == (1.0,)


async def test_the_published_form_waits_for_the_end_of_an_answer() -> None:
    assert Ngram().traits.by_sentence
    assert not Ngram(Ngram.Config(counted="response")).traits.by_sentence


@pytest.mark.parametrize(
    ("response", "samples", "n"),
    [("---", SAMPLES, 1), ("---", SAMPLES, 2), (RESPONSE[0], ["-"], 1)],
)
async def test_counting_ends_where_nobody_waits_for_it(
    response: str, samples: list[str], n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def abandoned() -> None:
        raise TimeoutError

    monkeypatch.setattr("resay.scorers.ngram.stop_if_abandoned", abandoned)
    with pytest.raises(TimeoutError):
        await Ngram(Ngram.Config(n=n)).score(Passage.of(response), Evidence(Samples(samples)))


@pytest.mark.parametrize(
    "mark", [" [1].", " [doc2].", "【4:0†source】.", " (Document 1).", ".[^1]"]
)
async def test_citation_marks_are_not_counted(mark: str) -> None:
    samples = Samples(["The bridge opened in 1932."] * 4)
    cited = await Ngram().score(Passage.of(f"The bridge opened in 1932{mark}"), Evidence(samples))
    assert cited.sentences == (0.0,)


@pytest.mark.parametrize("pool", ["average", "maximum"])
async def test_a_sentence_without_words_has_no_surprise(pool: str) -> None:
    scores = await score(["It opened in 1932.", "[1]"], ["It opened in 1932."] * 2, pool=pool)
    assert scores.raw[1] == 0.0
