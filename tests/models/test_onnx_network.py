from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resay.errors import ConfigurationError, ScorerError
from resay.models import (
    onnx_network,
    pair_classifier,
    sentence_embedder,
    token_embedder,
    torch_network,
)
from resay.models.encoding import Encoded, pad
from resay.models.export import export
from resay.plugins import ModelConfig
from support.tiny_models import make_bert, make_deberta, make_roberta, sentences, with_shape

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True, scope="module")
def needed() -> None:
    for name in ("onnx", "onnxruntime", "torch"):
        pytest.importorskip(name)


Exported = Callable[..., Path]
PAIRS = list(zip(sentences(40, longest=9), sentences(40, seed=1, longest=5), strict=True))


@pytest.fixture(scope="module")
def exported(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Exports a tiny model, once for the same arguments."""
    made: dict[str, Path] = {}

    def make(maker: Any, *, layer: int | None = None, **settings: Any) -> Path:
        settings = {name: value for name, value in settings.items() if value is not None}
        key = repr((maker, layer, settings))
        if key not in made:
            folder = tmp_path_factory.mktemp("exported") / maker.__name__
            export(str(tiny(maker, **settings)), folder, layer=layer)
            made[key] = folder
        return made[key]

    return make


@pytest.fixture(scope="module")
def calm(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DeBERTa that small changes do not throw off, with its 8-bit file."""
    from transformers import AutoModelForSequenceClassification

    folder = tmp_path_factory.mktemp("calm")
    source, target = folder / "source", folder / "exported"
    shutil.copytree(tiny(make_deberta), source)
    model = AutoModelForSequenceClassification.from_pretrained(source)
    for weights in model.deberta.encoder.layer.parameters():
        weights.data *= 0.3 if weights.ndim == 2 else 1
    model.save_pretrained(source)
    export(str(source), target, int8=True)
    return target


def items_of_all_lengths(longest: int) -> list[Encoded]:
    draw = np.random.default_rng(0)
    return [
        Encoded(tuple(map(int, draw.integers(5, 90, n))), (0,) * n, (0,) * n)
        for n in range(3, longest + 1)
    ]


@pytest.mark.parametrize("maker", [make_deberta, make_roberta, make_bert])
def test_every_length_and_every_padding_is_as_in_torch(
    maker: Any, tiny: Callable[..., Path], exported: Exported
) -> None:
    settings = {"head": True} if maker is make_roberta else {}
    kind = "embedding" if maker is make_bert else "classification"
    original = torch_network.load(ModelConfig(name=str(tiny(maker, **settings))), kind)
    other = onnx_network.load(ModelConfig(name=str(exported(maker, **settings))), kind)
    items = items_of_all_lengths(32 if maker is make_bert else 64)
    batches = [[item] for item in items] + [items, items[:2], items[-3:]]
    for batch in (pad(items, original.network.traits.pad_id) for items in batches):
        there = batch.mask[..., None] if kind == "embedding" else 1
        actual, expected = other.network.run(batch), original.network.run(batch)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual * there, expected * there, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("maker", [make_deberta, make_roberta])
async def test_pairs_are_classified_as_in_torch(
    maker: Any, tiny: Callable[..., Path], exported: Exported
) -> None:
    settings = {"head": True} if maker is make_roberta else {}
    original = pair_classifier(str(tiny(maker, **settings)))
    other = pair_classifier(str(exported(maker, **settings)))
    actual = await other.classify(PAIRS)
    np.testing.assert_allclose(actual, await original.classify(PAIRS), atol=1e-4)
    assert np.ptp(actual, axis=0).max() > 0.1  # the model does tell pairs apart
    assert (
        await other.labels()
        == await original.labels()
        == ("contradiction", "entailment", "neutral")
    )
    assert (
        await other.max_input_tokens()
        == await original.max_input_tokens()
        == (61 if maker is make_deberta else 60)
    )
    texts = [a for a, _ in PAIRS]
    assert await other.lengths(texts) == await original.lengths(texts)


@pytest.mark.parametrize("layer", [None, 2])
async def test_tokens_are_embedded_as_in_torch(
    layer: int | None, tiny: Callable[..., Path], exported: Exported
) -> None:
    texts = sentences(20, longest=100)
    original = token_embedder(str(tiny(make_roberta)), layer)
    other = token_embedder(str(exported(make_roberta, layer=layer)), layer)
    pairs = zip(await other.embed_tokens(texts), await original.embed_tokens(texts), strict=True)
    for actual, expected in pairs:
        np.testing.assert_allclose(actual, expected, atol=1e-4)


async def test_layers_differ(exported: Exported) -> None:
    last = token_embedder(str(exported(make_roberta)))
    second = token_embedder(str(exported(make_roberta, layer=2)), 2)
    (a,), (b,) = [await model.embed_tokens(["The bridge."]) for model in (last, second)]
    assert np.abs(a - b).max() > 0.1


@pytest.mark.parametrize("pooling", [None, "cls_token", "mean_tokens"])
async def test_sentences_are_embedded_as_in_torch(
    pooling: str | None, tiny: Callable[..., Path], exported: Exported
) -> None:
    texts = sentences(20, longest=60)
    original = sentence_embedder(str(tiny(make_bert, pooling=pooling)))
    other = sentence_embedder(str(exported(make_bert, pooling=pooling)))
    np.testing.assert_allclose(await other.embed(texts), await original.embed(texts), atol=1e-4)


async def test_pooling_makes_a_difference(exported: Exported) -> None:
    first, mean = [
        sentence_embedder(str(exported(make_bert, pooling=pooling)))
        for pooling in ("cls_token", "mean_tokens")
    ]
    texts = ["The bridge was opened."]
    assert np.abs(await first.embed(texts) - await mean.embed(texts)).max() > 0.1


async def test_eight_bits_are_close_to_full_precision(calm: Path) -> None:
    auto, full = [
        pair_classifier(ModelConfig(name=str(calm), precision=p)) for p in ("auto", "fp32")
    ]
    actual, expected = await auto.classify(PAIRS), await full.classify(PAIRS)
    differences = np.abs(actual - expected)
    # Measured: 0.0089 at most and 0.0019 on average, of probabilities from 0.03 to 0.92.
    assert 1e-4 < differences.max() < 0.02
    assert differences.mean() < 0.005


async def test_eight_bits_do_not_depend_on_what_else_is_computed(calm: Path) -> None:
    """They would if computed in one batch, by whose largest number all are rounded."""
    settings = ModelConfig(name=str(calm), precision="int8", cache_mb=0)
    model = pair_classifier(settings)
    together = await model.classify(PAIRS)
    alone = np.concatenate([await model.classify([pair]) for pair in PAIRS])
    np.testing.assert_array_equal(together, alone)

    loaded = onnx_network.load(settings, "classification")
    items = loaded.encoder.pairs(PAIRS)
    batched = loaded.network.run(pad(items, 0))
    single = np.concatenate([loaded.network.run(pad([item], 0)) for item in items])
    assert np.abs(batched - single).max() > 1e-4


@pytest.mark.parametrize(("threads", "lanes"), [(1, 1), (2, 2), (3, 2), (4, 2), (16, 8)])
async def test_eight_bit_texts_share_the_cores(
    calm: Path, monkeypatch: pytest.MonkeyPatch, threads: int, lanes: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    settings = ModelConfig(name=str(calm), precision="int8", cache_mb=0, window_ms=threads)
    loaded = onnx_network.load(settings, "classification")
    assert loaded.network.traits.lanes == lanes
    model = pair_classifier(settings)
    together = await model.classify(PAIRS)
    alone = np.concatenate([await model.classify([pair]) for pair in PAIRS])
    np.testing.assert_array_equal(together, alone)
    full = settings.model_copy(update={"precision": "fp32"})
    assert onnx_network.load(full, "classification").network.traits.lanes == 1


async def test_eight_bits_may_be_computed_together_where_that_is_asked_for(calm: Path) -> None:
    alone, together = [
        pair_classifier(
            ModelConfig(name=str(calm), precision="int8", cache_mb=0, window_ms=9, alone=value)
        )
        for value in (None, False)
    ]
    actual = await together.classify(PAIRS)
    difference = np.abs(actual - await alone.classify(PAIRS)).max()
    assert 1e-6 < difference < 0.02  # measured: no more than rounding itself changes


def test_the_eight_bit_file_is_for_cpus_unless_another_is_named(calm: Path) -> None:
    def network(**settings: Any) -> Any:
        return onnx_network.load(ModelConfig(name=str(calm), **settings), "classification").network

    assert network().precision == network(precision="int8").precision == "int8"
    assert network(precision="fp32").precision == "fp32"
    assert network(file="model.onnx").precision == "fp32"
    assert network(file="model_int8.onnx", precision="fp32").traits.alone
    assert not network(precision="fp32").traits.alone


def test_neither_torch_nor_transformers_is_imported(calm: Path) -> None:
    code = """
import asyncio, sys
blocked = "torch", "transformers", "onnx", "onnxscript", "huggingface_hub"
sys.modules.update(dict.fromkeys(blocked))
from resay.models import pair_classifier
model = pair_classifier(sys.argv[1])
print(asyncio.run(model.classify([("The bridge.", "A bridge.")])).shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(calm)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "(1, 3)\n", done.stderr
    assert done.stderr == ""


async def test_a_model_that_was_never_downloaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # What the library makes of the variable when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigurationError) as caught:
        await pair_classifier(ModelConfig(name="someone/something", backend="onnx")).prepare()
    assert "'someone/something' is not on this machine" in str(caught.value)
    assert "HF_HUB_OFFLINE" in str(caught.value)


@pytest.fixture
def copy(exported: Exported, tmp_path: Path) -> Path:
    """A model to break."""
    shutil.copytree(exported(make_deberta), tmp_path / "copy")
    return tmp_path / "copy"


def refusal(folder: Path, kind: Any = "classification", layer: Any = None, **settings: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        onnx_network.load(ModelConfig(name=str(folder), **settings), kind, layer)
    return str(refused.value)


def test_what_is_missing_is_named(copy: Path) -> None:
    assert "`resay models export MODEL" in refusal(copy, precision="int8")
    assert "--int8" in refusal(copy, precision="int8")
    assert "no fp16 file called 'model_fp16.onnx'" in refusal(copy, precision="fp16")
    assert "no file 'other.onnx'" in refusal(copy, file="other.onnx")
    (copy / "tokenizer.json").write_text("{}")
    assert "cannot be read as a tokenizer" in refusal(copy)
    (copy / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in refusal(copy)
    assert "save_pretrained" in refusal(copy)


def test_no_model_at_all_is_named(copy: Path) -> None:
    (copy / "model.onnx").write_bytes(b"not a model")
    assert "cannot read" in refusal(copy)
    (copy / "model.onnx").unlink()
    assert "has no exported model; make one with `resay models export" in refusal(copy)


def test_broken_descriptions_are_named(copy: Path) -> None:
    (copy / "config.json").write_text("{")
    assert "is not JSON" in refusal(copy)
    (copy / "config.json").write_text("[]")
    assert "is not a JSON object" in refusal(copy)
    (copy / "config.json").write_text(json.dumps({"id2label": {"0": "yes", "1": "no"}}))
    assert "has 3 outputs, but its config.json names 2" in refusal(copy)


def test_outputs_without_names_are_numbered(copy: Path) -> None:
    (copy / "config.json").write_text("{}")
    config = ModelConfig(name=str(copy))
    loaded = onnx_network.load(config, "classification")
    assert loaded.network.traits.labels == ("label_0", "label_1", "label_2")
    named = config.model_copy(update={"labels": ("No", "Yes", "Perhaps")})
    assert onnx_network.load(named, "classification").network.traits.labels[2] == "perhaps"


def test_what_it_was_not_exported_for_is_refused(copy: Path, exported: Exported) -> None:
    assert "exported for classification, not for embedding" in refusal(copy, "embedding")
    assert "use backend 'torch'" in refusal(copy, "causal")
    second = exported(make_roberta, layer=2)
    assert "of layer 2, not of 3" in refusal(second, "embedding")
    assert "--layer 1" in refusal(second, "embedding", 1)
    assert "of layer 3, not of 2" in refusal(exported(make_roberta), "embedding", 2)
    onnx_network.load(ModelConfig(name=str(exported(make_roberta))), "embedding", 3)


def test_a_file_made_elsewhere_is_judged_by_what_it_gives(copy: Path) -> None:
    forget(copy / "model.onnx", outputs={"logits": "scores"})
    onnx_network.load(ModelConfig(name=str(copy)), "classification")
    assert "returns 'scores' of shape ['batch', 3]" in refusal(copy, "embedding")
    forget(copy / "model.onnx", inputs={"attention_mask": "positions"})
    assert "needs the input 'positions'" in refusal(copy)


def forget(path: Path, **renamed: dict[str, str]) -> None:
    """Take away what a file says of itself, and call its inputs and outputs something else."""
    import onnx

    model = onnx.load(str(path))
    del model.metadata_props[:]
    names = {old: new for pairs in renamed.values() for old, new in pairs.items()}
    for value in (*model.graph.input, *model.graph.output):
        value.name = names.get(value.name, value.name)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    onnx.save(model, str(path))


def test_devices_that_are_not_there_are_refused(copy: Path) -> None:
    assert "cannot use the device 'mps'" in refusal(copy, device="mps")
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        assert "onnxruntime-gpu" in refusal(copy, device="cuda:1")


def test_the_longest_input_is_what_the_settings_or_the_files_say(copy: Path) -> None:
    def room(**settings: Any) -> int | None:
        config = ModelConfig(name=str(copy), **settings)
        return onnx_network.load(config, "classification").encoder.max_pair_tokens

    def write(name: str, **values: Any) -> None:
        (copy / name).write_text(json.dumps(values))

    assert room() == 61
    assert room(max_tokens=20) == 17
    write("tokenizer_config.json", model_max_length=10**30)
    write("config.json", max_position_embeddings=32, model_type="bert", pad_token_id=0)
    assert room() == 29
    write("config.json", max_position_embeddings=34, model_type="roberta", pad_token_id=1)
    assert room() == 29
    write("config.json")
    assert room() is None


def test_padding_is_what_the_tokenizer_says(copy: Path) -> None:
    def pad_id() -> int:
        loaded = onnx_network.load(ModelConfig(name=str(copy)), "classification")
        return loaded.network.traits.pad_id

    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "pad_token_id": 3}))
    assert pad_id() == 0
    (copy / "tokenizer_config.json").write_text(json.dumps({"pad_token": {"content": "[SEP]"}}))
    assert pad_id() == 3
    (copy / "tokenizer_config.json").write_text("{}")
    assert pad_id() == 3


async def test_files_lie_where_the_hub_keeps_them(copy: Path) -> None:
    (copy / "onnx").mkdir()
    (copy / "model.onnx").rename(copy / "onnx" / "model.onnx")
    assert (await pair_classifier(str(copy)).classify(PAIRS[:1])).shape == (1, 3)


@pytest.mark.parametrize(("items", "tokens"), [(None, 24), (1, 24), (3, None), (4, 24)])
async def test_a_model_of_fixed_shape_computes_the_same(
    items: int | None, tokens: int | None, exported: Exported, tmp_path: Path
) -> None:
    pairs = exported(make_deberta)
    fixed = with_shape(pairs, tmp_path / "pairs", items=items, tokens=tokens)
    short = PAIRS[:7]
    model = pair_classifier(str(fixed))
    np.testing.assert_allclose(
        await model.classify(short), await pair_classifier(str(pairs)).classify(short), atol=1e-5
    )
    if tokens is not None:
        assert await model.max_input_tokens() == tokens - 3
    texts = exported(make_bert)
    fixed = with_shape(texts, tmp_path / "texts", items=items, tokens=tokens)
    some = sentences(5, longest=20)
    np.testing.assert_allclose(
        await sentence_embedder(str(fixed)).embed(some),
        await sentence_embedder(str(texts)).embed(some),
        atol=1e-4,
    )


def test_more_tokens_than_a_fixed_shape_are_refused(exported: Exported, tmp_path: Path) -> None:
    fixed = with_shape(exported(make_deberta), tmp_path / "fixed", items=None, tokens=24)
    config = ModelConfig(name=str(fixed), max_tokens=25)
    with pytest.raises(ConfigurationError, match="exported for 24 tokens"):
        onnx_network.load(config, "classification")


async def test_without_a_config_long_texts_are_split(exported: Exported, tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(exported(make_bert), folder)
    for name in ("config.json", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)
    assert onnx_network.load(ModelConfig(name=str(folder)), "embedding").encoder.fits(
        Encoded((1,) * 512, (0,) * 512, (0,) * 512)
    )
    model = sentence_embedder(ModelConfig(name=str(folder)))
    with pytest.raises(ScorerError, match=r"cannot compute an input of \d+ tokens .*max_tokens"):
        await model.embed(["bridge " * 300])
    short = sentence_embedder(ModelConfig(name=str(folder), max_tokens=32))
    assert (await short.embed(["bridge " * 300])).shape[0] == 1
