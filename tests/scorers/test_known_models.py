"""What the neural methods make of what a model says: of models whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Contradiction, Passage
from resay.errors import ConfigurationError
from resay.plugins import Evidence, Samples, Scores
from resay.scorers import bertscore, nli, similarity
from resay.scorers.bertscore import Bertscore
from resay.scorers.common.entailing import Entailing
from resay.scorers.dinco import Dinco
from resay.scorers.nli import Nli
from resay.scorers.probe import Probe
from resay.scorers.semantic import Semantic
from resay.scorers.similarity import Similarity

pytestmark = pytest.mark.anyio


class Reader:
    """Classifies pairs as told; counts words, and reads no more of them than there is room for."""

    def __init__(
        self,
        said: dict[tuple[str, str], tuple[float, float]],
        *,
        room: int | None = None,
        labels: tuple[str, ...] = ("contradiction", "neutral", "entailment"),
    ) -> None:
        self.said = said
        self._room = room
        self._labels = labels
        self.read: list[tuple[str, str]] = []
        self.prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def labels(self) -> tuple[str, ...]:
        return self._labels

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def max_input_tokens(self) -> int | None:
        return self._room

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> Any:
        self.read += pairs
        rows = [self.said.get(pair, (0.0, 0.0)) for pair in pairs]
        # Whatever is said of entailment and contradiction, the rest is neutral.
        return np.array([(c, 1.0 - e - c, e) for e, c in rows]).reshape(-1, 3)


class Embedder:
    """Embeds texts in the plane at the angles whose cosines are told; tokens at right angles."""

    def __init__(self, **cosines: float) -> None:
        self.cosines = cosines

    async def embed(self, texts: Sequence[str]) -> Any:
        cosines = [self.cosines.get(text.strip("#. ").lower(), 1.0) for text in texts]
        return np.array([(c, sqrt(1.0 - c * c)) for c in cosines])

    async def embed_tokens(self, texts: Sequence[str]) -> Any:
        words = sorted({word for text in texts for word in text.strip(".").split()})
        places = np.eye(len(words))
        return [places[[words.index(w) for w in text.strip(".").split()]] for text in texts]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    def use(model: Any) -> Any:
        monkeypatch.setattr(nli, "pair_classifier", lambda _: model)
        monkeypatch.setattr(bertscore, "token_embedder", lambda *_: model)
        monkeypatch.setattr(similarity, "sentence_embedder", lambda _: model)
        return model

    return use


async def scored(scorer: Any, response: list[str], samples: list[str]) -> Scores:
    return await scorer.score(Passage.from_sentences(response), Evidence(Samples(samples)))


def of_nli(**config: Any) -> Nli:
    return Nli(Nli.Config.model_validate({"model": "mine", **config}))


# nli


async def test_nli_takes_the_mean_over_samples_of_contradiction_against_entailment(use) -> None:
    use(Reader({("One.", "A."): (0.1, 0.3), ("Two.", "A."): (0.6, 0.2)}))
    scores = await scored(of_nli(), ["A."], ["One.", "Two.", "Three."])
    assert scores.columns == (
        (pytest.approx(0.75),),
        (pytest.approx(0.25),),
        # Neither of them: no opinion.
        (0.5,),
    )
    assert scores.sentences == (pytest.approx(0.5),)


async def test_nli_takes_the_most_that_any_window_says_of_each_label_by_itself(use) -> None:
    said = {("One two.", "A b."): (0.1, 0.6), ("Three four.", "A b."): (0.4, 0.2)}
    model = use(Reader(said | {("One two.", "C."): (0.9, 0.1)}, room=4))
    scores = await scored(of_nli(), ["A b.", "C."], ["One two. Three four."])
    assert scores.sentences == pytest.approx((0.6 / (0.6 + 0.4), 0.1 / (0.1 + 0.9)))
    assert model.read[:2] == [("One two.", "A b."), ("Three four.", "A b.")]


async def test_nli_divides_only_what_the_model_has_no_room_for(use) -> None:
    model = use(Reader({}, room=4))
    await scored(of_nli(), ["A b."], ["One two."])
    assert model.read == [("One two.", "A b.")]
    model.read.clear()
    # Half of the room is the sentence's, so that the premise always has some.
    await scored(of_nli(), ["A b."], ["One two. Three."])
    assert model.read == [("One two.", "A b."), ("Three.", "A b.")]


async def test_nli_leaves_a_long_sentence_whole_where_it_fits(use) -> None:
    model = use(Reader({}, room=4))
    await scored(of_nli(), ["A b c."], ["One."])
    assert model.read == [("One.", "A b c.")]
    model.read.clear()
    await scored(of_nli(), ["A b c."], ["One two."])
    assert model.read == [("One two.", "A b"), ("One two.", "c.")]


async def test_nli_takes_a_divided_sentence_for_as_contradicted_as_its_worst_part(use) -> None:
    said = {
        ("Few words here.", "one two three"): (0.8, 0.2),
        ("Few words here.", "four five six"): (0.1, 0.9),
        ("Few words here.", "seven."): (0.5, 0.5),
        ("Few words here.", "A."): (0.7, 0.3),
    }
    use(Reader(said, room=6))
    sentence = "one two three four five six seven."
    scores = await scored(of_nli(), [sentence, "A."], ["Few words here."])
    assert scores.sentences == pytest.approx((0.9, 0.3))


async def test_nli_takes_a_divided_text_for_as_entailed_as_its_least_entailed_part(use) -> None:
    premise, text = "Few words here.", "one two three four five six seven."
    said = {
        (premise, "one two three"): (0.8, 0.1),
        (premise, "four five six"): (0.3, 0.2),
        (premise, "seven."): (0.5, 0.4),
        (premise, "A."): (0.7, 0.3),
    }
    use(Reader(said, room=6))
    pairs = [(premise, text), (premise, "A.")]
    divided, whole = [(await of_nli().entailed(pairs)).by_pair[pair] for pair in pairs]
    assert divided is not None
    assert whole is not None
    read = [divided.entails, divided.neutral, divided.contradicts]
    assert read == pytest.approx([0.3, 0.3, 0.4])
    assert [whole.entails, whole.neutral, whole.contradicts] == pytest.approx([0.7, 0.0, 0.3])
    # What two windows say of one text may exceed 1.
    said |= {("One two.", "A b."): (0.9, 0.1), ("Three four.", "A b."): (0.0, 0.9)}
    use(Reader(said, room=4))
    pair = ("One two. Three four.", "A b.")
    both = (await of_nli().entailed([pair])).by_pair[pair]
    assert both is not None
    assert [both.entails, both.neutral, both.contradicts] == pytest.approx([0.5, 0.0, 0.5])
    # Methods that are based on it ask the classifier, too.
    found = await Entailing(Semantic.Config(model="mine")).find([pair], Evidence())
    assert found.by_pair == {pair: both}


async def test_nli_can_read_the_nearest_sentences_alone(use) -> None:
    samples = ["The sky is blue. It has six lamps. Cats sleep."]
    for nearest, premise in ((1, "It has six lamps."), (2, "The sky is blue. It has six lamps.")):
        model = use(Reader({}))
        config = {"premise": "sentences"} | ({"nearest": 2} if nearest == 2 else {})
        await scored(of_nli(**config), ["It has six blue lamps."], samples)
        assert model.read == [(premise, "It has six blue lamps.")]
    model = use(Reader({}))
    await scored(of_nli(premise="sentences"), ["A."], ["$$ x $$"])
    assert model.read == [("$$ x $$", "A.")]


@pytest.mark.parametrize(
    ("config", "first"),
    [
        ({"model": Nli.Config().model}, "sentence"),
        ({}, "premise"),
        ({"order": "sentence_first"}, "sentence"),
        ({"model": Nli.Config().model, "order": "premise_first"}, "premise"),
    ],
)
async def test_nli_reads_first_what_the_model_was_trained_on(
    use, config: dict[str, Any], first: str
) -> None:
    model = use(Reader({}))
    await scored(of_nli(**config), ["A."], ["One."])
    assert model.read == [("A.", "One.") if first == "sentence" else ("One.", "A.")]


@pytest.mark.parametrize("labels", [("contradiction", "no"), ("no", "entailment")])
async def test_nli_needs_both_labels(use, labels: tuple[str, ...]) -> None:
    use(Reader({}, labels=labels))
    with pytest.raises(ConfigurationError, match="`nli` needs entailment and contradiction"):
        await of_nli().prepare()


async def test_nli_shows_what_contradicts_most_in_the_sample_that_contradicts_most(use) -> None:
    said = {
        ("It is red.", "It is blue."): (0.1, 0.7),
        ("It may be red.", "It is blue."): (0.1, 0.5),
        ("It is a boat.", "It is blue."): (0.4, 0.4),
        ("It is so very red.", "It is blue."): (0.0, 0.9),
        ("It is green.", "It is blue."): (0.0, 0.9),
    }
    samples = ["It is blue. It may be red. It is red. It is so very red.", "It is green."]
    evidence = Evidence(Samples(samples))
    await evidence.samples.all()

    async def found(*scores: float | None, room: int | None = None) -> str | None:
        use(Reader(said, room=room))
        shown = await of_nli().contradiction("It is blue.", evidence, scores)
        if shown is None:
            return None
        assert shown == Contradiction("sample", shown.index, shown.text)
        assert shown.text in samples[shown.index]
        return shown.text

    assert await found(0.6, 0.4) == "It is so very red."
    assert await found(0.4, 0.6) == await found(None, 0.1) == "It is green."
    # What the model cannot read beside the sentence is not shown.
    assert await found(0.6, 0.4, room=8) == "It is so very red."
    assert await found(0.6, 0.4, room=7) == await found(0.6, 0.4, room=6) == "It is red."
    assert await found(0.6, 0.4, room=5) is None
    said[("It is red.", "It is blue.")] = (0.7, 0.7)
    assert await found(0.6, 0.4, room=6) is None, "as much entailed as contradicted"


@pytest.mark.parametrize("method", [Nli, Bertscore, Similarity, Semantic, Dinco, Probe])
async def test_preparing_loads_the_model(use, method: Any) -> None:
    model = use(Reader({}))
    await method().prepare()
    assert model.prepared == 1


@pytest.mark.parametrize(
    ("method", "setting", "least", "most", "step"),
    [(Nli, "nearest", 1, 20, 1), (Bertscore, "layer", 1, 99, 1), (Similarity, "delta", -1, 1, 0)],
)
def test_settings_have_limits(
    method: Any, setting: str, least: float, most: float, step: int
) -> None:
    for wrong in (least - step, *([most + step] if most < 99 else [])):
        with pytest.raises(ValidationError):
            method.Config.model_validate({setting: wrong})
    for right in (least, most) if step else (-0.99, 0.99):
        assert getattr(method.Config.model_validate({setting: right}), setting) == right


# bertscore


async def test_bertscore_is_one_minus_the_rescaled_f1_of_the_best_sentence(use) -> None:
    use(Embedder())
    samples = ["red blue green one. black white grey two.", "red black pink three four."]
    scorer = Bertscore(Bertscore.Config(rescale=0.2))
    scores = await scored(scorer, ["red blue green.", "black."], samples)
    # Precision and recall are shares of words in common.
    f1 = [[2 * 1 * 0.75 / 1.75, 2 * (1 / 3) * 0.2 / (1 / 3 + 0.2)], [0.4, 2 * 0.2 / 1.2]]
    expected = [sum(1 - (f - 0.2) / 0.8 for f in of_one) / 2 for of_one in f1]
    assert scores.raw == pytest.approx(expected)
    assert scores.sentences == pytest.approx(expected)


async def test_bertscore_clips_what_is_less_alike_than_unrelated_sentences(use) -> None:
    use(Embedder())
    scores = await scored(Bertscore(Bertscore.Config(rescale=0.2)), ["red."], ["a b c d e."])
    assert (scores.raw, scores.sentences) == (pytest.approx((1.25,)), (1.0,))
    assert scores.error is None
    assert scores.columns == ((1.0,),)
    same = await scored(Bertscore(Bertscore.Config(rescale=0.2)), ["a b c d."], ["a b c d."])
    assert same.sentences == pytest.approx((0.0,))


@pytest.mark.parametrize(("sample", "counts"), [("red blue.", False), ("red blue green.", True)])
async def test_bertscore_leaves_out_sentences_of_three_tokens_and_fewer(
    use, sample: str, counts: bool
) -> None:
    use(Embedder())
    scores = await scored(Bertscore(Bertscore.Config(rescale=False)), ["red."], [sample])
    # As published, the full stop is one of them.
    assert scores.columns == ((pytest.approx(0.5) if counts else None,),)


def test_bertscore_takes_layer_and_baseline_of_the_model_that_was_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers: list[int | None] = []
    monkeypatch.setattr(bertscore, "token_embedder", lambda _, layer: layers.append(layer))

    def baseline(**config: Any) -> float:
        return Bertscore(Bertscore.Config.model_validate(config))._baseline

    assert baseline(model="roberta-base") > 0.0
    assert baseline(model="roberta-base", layer=layers[0]) == baseline(model="roberta-base")
    assert baseline(model="roberta-base", layer=1) == 0.0
    assert baseline(model="roberta-base", rescale=False) == 0.0
    assert baseline(model="mine") == baseline(model="mine", layer=1) == 0.0
    assert layers == [layers[0], layers[0], layers[0], 1, layers[0], None, 1]
    with pytest.raises(ConfigurationError, match=r"must be under 1, not 1\.0"):
        baseline(rescale=1.0)


# similarity


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.9, 0.9))
def test_similarity_falls_with_the_cosine_and_is_half_at_delta(
    a: float, b: float, delta: float
) -> None:
    scorer = Similarity(Similarity.Config(delta=delta))
    low, high = sorted((a, b))
    assert 0.0 <= scorer._score(high) <= scorer._score(low) <= 1.0
    assert scorer._score(delta) == pytest.approx(0.5)
    assert (scorer._score(-1.0), scorer._score(1.0)) == (1.0, 0.0)
    # A straight line on either side.
    for end in (-1.0, 1.0):
        middle = scorer._score((end + delta) / 2)
        assert middle == pytest.approx((0.5 + scorer._score(end)) / 2)


async def test_similarity_compares_whole_texts_and_the_most_alike_sentences(use) -> None:
    use(Embedder(far=0.3, near=0.8, **{"far. near": 0.9}))
    same = await scored(Similarity(), ["Same."], ["Far. Near."])
    # At 0.6, the default, a score is 0.5.
    assert same.sentences == pytest.approx(((1 - 0.8) / (1 - 0.6) / 2,))
    assert same.passage == pytest.approx((1 - 0.9) / (1 - 0.6) / 2)
    assert same.columns == (same.sentences,)


def test_similarity_waits_for_the_end_of_an_answer() -> None:
    # The passage as a whole has a score, too.
    assert not Similarity().traits.by_sentence


async def test_similarity_compares_a_text_without_a_sentence_as_it_stands(use) -> None:
    use(Embedder(far=0.3))
    scores = await scored(Similarity(), ["Same."], ["# Far"])
    assert scores.sentences == pytest.approx((1 - 1.3 / 1.6 / 2,))
