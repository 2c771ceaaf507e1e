"""Each kind of model against transformers, one text at a time."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resay.errors import ConfigurationError, ScorerError
from resay.models import (
    choice_scorer,
    pair_classifier,
    pair_scorer,
    sentence_embedder,
    text_generator,
    text_model,
    token_embedder,
)
from resay.models.files import check_reachable
from resay.models.torch_network import attention_kernels
from resay.plugins import ModelConfig
from support.later import LazyImport
from support.tiny_models import (
    NLI_LABELS,
    make_bert,
    make_deberta,
    make_gpt2,
    make_longformer,
    make_roberta,
    sentences,
)

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]

TEXTS = sentences(14, longest=14)
PAIRS = [(a, b) for a in TEXTS[:7] for b in TEXTS[7:]]


def fresh(folder: Path, **settings: Any) -> ModelConfig:
    """Settings that nobody else has, so that nothing is cached from other tests."""
    return ModelConfig(name=str(folder), cache_mb=0, **settings)


def alone(folder: Path, model_class: Any, texts: list[Any], output: Callable[[Any], Any]) -> Any:
    """What transformers says of one text, or pair, at a time."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = model_class.from_pretrained(folder).eval()
    with torch.inference_mode():
        return [
            output(model(**tokenizer(*text, return_tensors="pt"))).double().numpy()
            for text in texts
        ]


@pytest.mark.parametrize("maker", [make_deberta, make_roberta])
async def test_pairs_are_classified_as_one_by_one(tiny: Tiny, maker: Any) -> None:
    folder = tiny(maker) if maker is make_deberta else tiny(maker, head=True)
    expected = alone(
        folder,
        transformers.AutoModelForSequenceClassification,
        PAIRS,
        lambda out: out.logits[0].double().softmax(-1),
    )
    model = pair_classifier(fresh(folder))
    assert await model.labels() == tuple(NLI_LABELS.values())
    probabilities = await model.classify(PAIRS)
    assert np.abs(probabilities - np.array(expected)).max() < 1e-5
    assert np.std(probabilities, axis=0).max() > 0.05  # the model does tell pairs apart
    assert (await model.classify([])).shape == (0, 3)


async def test_a_pair_has_the_same_result_in_any_company(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    model = pair_classifier(fresh(folder, batch_tokens=4096))
    together = await model.classify(PAIRS)
    single = [(await model.classify([pair]))[0] for pair in PAIRS]
    assert np.abs(together - np.array(single)).max() < 1e-5


async def test_many_checks_at_once_are_the_same_as_one_by_one(tiny: Tiny) -> None:
    model = pair_classifier(fresh(tiny(make_deberta)))
    requests = [PAIRS[i : i + 5] for i in range(0, 40, 3)]
    single = [await model.classify(request) for request in requests]
    together = await asyncio.gather(*map(model.classify, requests))
    for a, b in zip(single, together, strict=True):
        assert np.abs(a - b).max() < 1e-5


@pytest.mark.parametrize("layer", [None, 2])
async def test_tokens_are_embedded_as_one_by_one(tiny: Tiny, layer: int | None) -> None:
    folder = tiny(make_roberta)
    texts = [(text,) for text in TEXTS]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    embeddings = await token_embedder(fresh(folder), layer).embed_tokens(TEXTS)
    for text, rows in zip(texts, embeddings, strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(*text, return_tensors="pt"), output_hidden_states=True)
        expected = states.hidden_states[3 if layer is None else layer][0, 1:-1]
        expected = torch.nn.functional.normalize(expected, dim=-1).numpy()
        assert np.abs(rows - expected).max() < 1e-5


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", None])
async def test_texts_are_embedded_as_sentence_transformers_does(
    tiny: Tiny, pooling: str | None
) -> None:
    folder = tiny(make_bert, pooling=pooling)
    take = (lambda h: h[0]) if pooling == "cls_token" else (lambda h: h.mean(0))
    expected = alone(
        folder,
        transformers.AutoModel,
        [(text,) for text in TEXTS],
        lambda out: torch.nn.functional.normalize(take(out.last_hidden_state[0]), dim=-1),
    )
    embeddings = await sentence_embedder(fresh(folder)).embed(TEXTS)
    assert np.abs(embeddings - np.array(expected)).max() < 1e-5


async def test_a_long_text_is_embedded_in_parts(tiny: Tiny) -> None:
    long = " ".join(TEXTS)
    rows = (await token_embedder(fresh(tiny(make_roberta))).embed_tokens([long]))[0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny(make_roberta))
    assert len(rows) == len(tokenizer(long, add_special_tokens=False)["input_ids"]) > 64
    embedding = await sentence_embedder(fresh(tiny(make_bert, pooling=None))).embed([long])
    assert np.linalg.norm(embedding) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("choices", [True, False])
async def test_longformers_score_pairs_as_one_by_one(tiny: Tiny, choices: bool) -> None:
    folder = tiny(make_longformer, choices=choices)
    pairs = PAIRS[:12]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    kind = "MultipleChoice" if choices else "SequenceClassification"
    model = getattr(transformers, f"LongformerFor{kind}").from_pretrained(folder).eval()
    expected = []
    for pair in pairs:
        inputs = tokenizer(*pair, return_tensors="pt")
        with torch.inference_mode():
            single = {k: v[None] for k, v in inputs.items()} if choices else inputs
            expected.append(model(**single).logits[0].double().numpy())
    scorer = (choice_scorer if choices else pair_scorer)(fresh(folder))
    assert np.abs(await scorer.logits(pairs) - np.array(expected)).max() < 1e-4


async def test_the_probability_of_each_token_and_the_entropy_of_its_place(tiny: Tiny) -> None:
    folder = tiny(make_gpt2)
    model = text_model(fresh(folder))
    encoder = await model.encoder()
    items = [encoder.texts([text])[0][0] for text in TEXTS[:5]]
    results = await model.rows(items)
    reference = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    for item, rows in zip(items, results, strict=True):
        ids = torch.tensor([item.ids])
        with torch.inference_mode():
            given = reference(input_ids=ids).logits[0].double().log_softmax(-1)
        chosen = given[:-1].gather(-1, ids[0, 1:, None])[:, 0].numpy()
        entropy = -(given[:-1].exp() * given[:-1]).sum(-1).numpy()
        assert np.isnan(rows[0]).all()
        assert np.abs(rows[1:, 0] - chosen).max() < 1e-4
        assert np.abs(rows[1:, 1] - entropy).max() < 1e-4


async def test_a_pair_that_is_too_long_is_refused_not_cut(tiny: Tiny) -> None:
    model = pair_classifier(fresh(tiny(make_deberta)))
    room = await model.max_input_tokens()
    assert room == 64 - 3
    long = " ".join(TEXTS)
    with pytest.raises(ScorerError, match=r"is longer than .* reads; raise `max_tokens`") as caught:
        await model.classify([(long, TEXTS[0])])
    assert TEXTS[0] not in str(caught.value)
    wider = pair_classifier(fresh(tiny(make_deberta), max_tokens=512))
    assert (await wider.classify([(long, TEXTS[0])])).shape == (1, 3)


def test_a_model_is_loaded_once_for_all_threads(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    from resay.models import torch_network

    loads: list[object] = []
    real = torch_network.load_model

    def counted(*args: Any) -> Any:
        loads.append(args)
        return real(*args)

    monkeypatch.setattr(torch_network, "load_model", counted)
    config = ModelConfig(name=str(tiny(make_deberta)), window_ms=1.5)
    barrier = threading.Barrier(6)
    models: list[Any] = []

    def use() -> None:
        barrier.wait(30)
        models.append(asyncio.run(pair_classifier(config).classify(PAIRS[:6])))

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(loads) == 1
    assert len(models) == 6
    assert all(np.array_equal(rows, models[0]) for rows in models)


async def test_a_model_that_could_not_be_loaded_may_be_tried_again(tmp_path: Path) -> None:
    model = pair_classifier(fresh(tmp_path))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="cannot be loaded"):
            await model.prepare()
    await asyncio.to_thread(make_deberta, tmp_path)
    await model.prepare()


async def test_a_model_made_for_something_else_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ConfigurationError, match=r"was not made for classification"):
        await pair_classifier(fresh(tiny(make_bert, pooling=None))).prepare()
    with pytest.raises(ConfigurationError, match="has 3 layers; `layer` cannot be 4"):
        await token_embedder(fresh(tiny(make_roberta)), 4).prepare()
    with pytest.raises(
        ConfigurationError, match="device 'cuda:7' is not available on this machine"
    ):
        await pair_classifier(fresh(tiny(make_deberta), device="cuda:7")).prepare()


async def test_offline_a_model_that_is_not_here_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the library makes of the variable when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigurationError) as caught:
        await pair_classifier("nobody/has-this-model").prepare()
    assert "'nobody/has-this-model' cannot be loaded" in str(caught.value)
    assert "HF_HUB_OFFLINE" in str(caught.value)


@pytest.mark.parametrize("make", [pair_classifier, text_generator])
async def test_where_the_hub_cannot_be_reached_a_model_is_not_asked_for_again_and_again(
    make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    with pytest.raises(ConfigurationError) as caught:
        await make("nobody/has-this-model").prepare()
    assert "'nobody/has-this-model' is not on this machine" in str(caught.value)
    assert "hub cannot be reached" in str(caught.value)
    assert not [record for record in caplog.records if "Retrying" in record.message]


def test_a_revision_that_is_on_this_machine_needs_no_hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    commit = "0123456789abcdef" * 2 + "01234567"
    snapshot = tmp_path / "models--someone--pinned" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    check_reachable(ModelConfig(name="someone/pinned", revision=commit))
    with pytest.raises(ConfigurationError, match="is not on this machine"):
        check_reachable(ModelConfig(name="someone/pinned"))


def test_attention_on_a_gpu_is_not_planned_anew_for_each_length() -> None:
    flags = torch.backends.cuda
    before = flags.cudnn_sdp_enabled(), flags.flash_sdp_enabled(), flags.math_sdp_enabled()
    with attention_kernels("cuda"):
        assert not flags.cudnn_sdp_enabled()
        assert flags.flash_sdp_enabled()
        assert flags.math_sdp_enabled()
    with attention_kernels("cpu"):
        assert flags.cudnn_sdp_enabled() == before[0]
    assert (
        flags.cudnn_sdp_enabled(),
        flags.flash_sdp_enabled(),
        flags.math_sdp_enabled(),
    ) == before
