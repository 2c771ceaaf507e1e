from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.errors import ConfigurationError, ScorerError
from resay.models.remote import tei as remote_tei
from resay.models.remote.batches import cut
from resay.models.remote.tei import (
    TeiClassifier,
    TeiSentenceEmbedder,
    TeiTextClassifier,
    TeiTokenEmbedder,
)
from resay.models.remote.vllm import VllmClassifier, VllmSentenceEmbedder, VllmTextClassifier
from simulation import (
    SimulatedInference,
)
from simulation.inference import words_of
from support.remote_models import (
    ELSE,
    LABELS,
    OTHER,
    PREMISE,
    SAME,
    classifier,
    expected,
    tei,
    vllm,
)

pytestmark = pytest.mark.anyio

LONG = " ".join(f"word{i}" for i in range(100))


@pytest.mark.parametrize("order", list(itertools.permutations(LABELS)))
async def test_labels_go_by_name_in_the_order_of_the_models_outputs(order: tuple[str, ...]) -> None:
    with SimulatedInference(labels=[name.upper() for name in order]) as server:
        model = TeiClassifier(tei(server))
        assert await model.labels() == order
        assert np.allclose(
            await model.classify([SAME, OTHER, ELSE]), expected(SAME, OTHER, ELSE, labels=order)
        )


async def test_classifies_and_counts(server: SimulatedInference) -> None:
    model = classifier(server)
    await model.prepare()

    probabilities = await model.classify([SAME, OTHER, SAME])

    assert probabilities.shape == (3, 3)
    assert probabilities.dtype == np.float64
    assert np.allclose(probabilities, expected(SAME, OTHER, SAME))
    assert await model.labels() == LABELS
    assert await model.lengths(["one two, three", "", "four"]) == [4, 0, 1]
    assert (await model.classify([])).shape == (0, 3)
    assert await model.lengths([]) == []


async def test_a_pair_that_fills_the_room_is_read_and_one_that_does_not_fit_is_refused(
    server: SimulatedInference,
) -> None:
    model = classifier(server)
    room = await model.max_input_tokens()
    half = "w " * (room - 1)

    assert room == 512 - (4 if server.api == "vllm" else 3)
    assert (await model.classify([(half, "w")])).shape == (1, 3)
    with pytest.raises(ScorerError, match="longer than the 512 tokens"):
        await model.classify([(half, "w w")])


def of_texts(server: SimulatedInference, **settings: Any) -> TeiTextClassifier | VllmTextClassifier:
    if server.api == "vllm":
        return VllmTextClassifier(vllm(server, **settings))
    return TeiTextClassifier(tei(server, **settings))


async def test_single_texts_are_classified_and_never_cut(server: SimulatedInference) -> None:
    model = of_texts(server)
    await model.prepare()
    room = await model.max_input_tokens()

    assert room == 512 - 2
    assert await model.labels() == LABELS
    # To the simulated model a text entails itself.
    probabilities = await model.classify([PREMISE, "w " * (room or 0), PREMISE, ""])
    assert probabilities.shape == (4, 3)
    assert np.allclose(probabilities[[0, 2]], expected(SAME, SAME))
    assert (await model.classify([])).shape == (0, 3)
    with pytest.raises(ScorerError, match="longer than the 512 tokens"):
        await model.classify(["w " * ((room or 0) + 1)])


async def test_a_single_text_is_no_pair() -> None:
    with SimulatedInference() as server:
        await TeiTextClassifier(tei(server)).classify([PREMISE])
        (request,) = server.requests_to("/predict")
    assert request.body["inputs"] == [[PREMISE]]


async def test_max_tokens_makes_the_room_smaller(server: SimulatedInference) -> None:
    model = classifier(server, max_tokens=100)
    assert await model.max_input_tokens() == 100 - (4 if server.api == "vllm" else 3)


async def test_one_pair_is_sent_as_a_list_of_pairs_and_never_cut() -> None:
    # A plain list of two texts is one pair to the server, and its answer a plain list of labels.
    with SimulatedInference() as server:
        assert (await TeiClassifier(tei(server)).classify([SAME])).shape == (1, 3)
        (request,) = server.requests_to("/predict")
    assert request.body == {"inputs": [list(SAME)], "raw_scores": True, "truncate": False}


async def test_a_probability_next_to_nothing_keeps_its_digits() -> None:
    tiny = 3.3e-30
    with SimulatedInference(classify=lambda pairs: [[tiny, 1.0 - tiny, 0.0] for _ in pairs]) as s:
        model = TeiClassifier(tei(s))
        probabilities = await model.classify([SAME])
        logits = await model.logits([SAME])
    assert probabilities[0, 0] == pytest.approx(tiny, rel=1e-9)
    assert logits[0, 0] == pytest.approx(np.log(tiny))


async def test_a_model_with_one_label_gives_its_probability() -> None:
    with SimulatedInference(labels=["yes"], classify=lambda pairs: [[0.2] for _ in pairs]) as s:
        assert await TeiClassifier(tei(s)).classify([SAME]) == pytest.approx(0.2)
        assert await TeiClassifier(tei(s)).labels() == ("yes",)
    with SimulatedInference(
        api="vllm", labels=["yes"], classify=lambda pairs: [[0.2] for _ in pairs]
    ) as s:
        assert await VllmClassifier(vllm(s, labels=["yes"])).classify([SAME]) == pytest.approx(0.2)


async def test_both_servers_give_logits(server: SimulatedInference) -> None:
    model = classifier(server)
    logits = await model.logits([SAME, ELSE])
    powers = np.exp(logits)
    assert np.allclose(powers / powers.sum(axis=1, keepdims=True), expected(SAME, ELSE))
    assert logits.min() < 0


async def test_the_labels_of_the_policy_rename_the_models() -> None:
    with SimulatedInference() as server:
        model = TeiClassifier(tei(server, labels=("No", "Yes", "Maybe")))
        assert await model.labels() == ("no", "yes", "maybe")
        assert np.allclose(await model.classify([OTHER]), expected(OTHER))
        with pytest.raises(ConfigurationError, match="2 outputs"):
            await TeiClassifier(tei(server, labels=("no", "yes"))).classify([OTHER])


async def test_odd_texts_are_classified(server: SimulatedInference) -> None:
    odd = [
        ("", ""),
        ("", "a"),
        ("half \ud83d of a pair", "x"),
        ("naïve \N{GRINNING FACE}", "x\x00"),
    ]
    assert np.isfinite(await classifier(server).classify(odd)).all()


async def test_a_separator_in_a_text_does_not_end_it() -> None:
    with SimulatedInference(api="vllm") as server:
        model = VllmClassifier(vllm(server))
        probabilities = await model.classify(
            [(PREMISE, "Bananas are yellow."), (f"{PREMISE}</s></s>", "x")]
        )
        assert server.requests[-1].body["input"][-1] == f"{PREMISE} </s></s>x"
    assert probabilities.shape == (2, 3)


# Embedding


def token_embedder(server: SimulatedInference, **settings: Any) -> TeiTokenEmbedder:
    return TeiTokenEmbedder(tei(server, **settings))


@pytest.fixture(params=["tei", "vllm"])
def small(request: pytest.FixtureRequest) -> Any:
    with SimulatedInference(api=request.param, serves="embedder", max_tokens=12) as server:
        yield server


def embedder(server: SimulatedInference, **settings: Any) -> Any:
    if server.api == "vllm":
        return VllmSentenceEmbedder(vllm(server, **settings))
    return TeiSentenceEmbedder(tei(server, **settings))


async def test_embeds_texts(small: SimulatedInference) -> None:
    model = embedder(small)
    await model.prepare()

    embeddings = await model.embed(["good day", "good night", "good day", ""])

    assert embeddings.shape == (4, 16)
    assert embeddings.dtype == np.float32
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1.0)
    assert np.array_equal(embeddings[0], embeddings[2])
    assert not np.allclose(embeddings[0], embeddings[1])
    assert (await model.embed([])).shape[0] == 0


async def test_a_long_text_is_read_in_parts_averaged_by_length(small: SimulatedInference) -> None:
    model = embedder(small)
    text = "one two three four five six seven eight nine ten eleven"
    left, right = "one two three four five six", "seven eight nine ten eleven"

    whole, first, second = (await model.embed([text, left, right])).astype(np.float64)

    mean = (6 * first + 5 * second) / 11
    assert np.allclose(whole, mean / np.linalg.norm(mean), atol=1e-6)
    assert np.isclose(np.linalg.norm((await model.embed([LONG]))[0]), 1.0)


async def test_embeds_tokens_without_special_ones() -> None:
    with SimulatedInference(serves="embedder", max_tokens=12) as server:
        model = token_embedder(server)
        await model.prepare()
        good, empty, long, day = await model.embed_tokens(["good day", "", LONG, "Day good"])
    assert good.shape == (2, 16)
    assert good.dtype == np.float32
    assert empty.shape == (0, 16)
    assert long.shape == (100, 16)
    assert np.allclose(np.linalg.norm(long, axis=1), 1.0)
    assert np.allclose(good, day[::-1])


async def test_a_word_without_a_gap_is_cut_inside() -> None:
    with SimulatedInference(serves="embedder", max_tokens=12) as server:
        marks = await token_embedder(server).embed_tokens(["!" * 100])
    assert marks[0].shape == (100, 16)


async def test_a_server_that_reads_more_than_it_is_sent_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with SimulatedInference(serves="embedder") as server:
        model = server._model
        prompted = type(model).embedded

        def embedded(self: Any, text: str, *, truncate: bool) -> Any:
            return prompted(self, f"query: {text}", truncate=truncate)

        monkeypatch.setattr(type(model), "embedded", embedded)
        with pytest.raises(ConfigurationError, match="without a default prompt"):
            await token_embedder(server).prepare()


@given(st.text(max_size=200), st.integers(1, 40))
async def test_parts_fit_and_together_are_the_text(text: str, room: int) -> None:
    async def lengths(texts: Sequence[str]) -> list[int]:
        return [len(words_of(piece)) for piece in texts]

    ((parts),) = await cut([text], room, lengths)

    assert "".join(part.text for part in parts) == text
    assert all(len(words_of(part.text)) <= room for part in parts)


async def test_a_large_answer_is_read_away_from_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []
    read = remote_tei._read_tokens

    def note(*args: Any) -> Any:
        threads.append(threading.current_thread())
        return read(*args)

    monkeypatch.setattr(remote_tei, "_read_tokens", note)
    with SimulatedInference(serves="embedder", dimensions=512) as server:
        await token_embedder(server).embed_tokens([LONG])
        await token_embedder(server).embed_tokens(["good day"])
    large, small = threads
    assert large is not threading.current_thread()
    assert small is threading.current_thread()
