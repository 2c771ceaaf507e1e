from __future__ import annotations

import filecmp
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resay.errors import ConfigurationError
from resay.models import export as exporting
from resay.models import pair_classifier, sentence_embedder
from resay.models.export import export
from resay.plugins import ModelConfig
from support.later import LazyImport
from support.tiny_models import make_bert, make_deberta, make_gpt2, make_longformer, make_roberta

onnx: Any = LazyImport("onnx")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]


@pytest.fixture(autouse=True)
def needed() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("torch")


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_holds_all_that_a_model_needs(
    tiny: Tiny, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "deep" / "target"
    full, small = export(str(tiny(make_deberta)), target, int8=True)
    assert names_in(target) == {
        "config.json",
        "model.onnx",
        "model_int8.onnx",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert full.path == target / "model.onnx"
    assert full.bytes == full.path.stat().st_size
    assert full.difference < 2e-4
    assert small.bytes < full.bytes
    assert full.difference < small.difference
    assert names_in(tmp_path) == {"deep"}
    assert names_in(target.parent) == {"target"}
    assert capfd.readouterr().out == ""


def test_files_say_what_they_are(tiny: Tiny, tmp_path: Path) -> None:
    export(str(tiny(make_roberta)), tmp_path / "a", layer=2, int8=True)
    metadata = {
        name: {p.key: p.value for p in onnx.load(str(tmp_path / "a" / name)).metadata_props}
        for name in ("model.onnx", "model_int8.onnx")
    }
    assert (
        metadata["model.onnx"]["resay.kind"]
        == metadata["model_int8.onnx"]["resay.kind"]
        == "embedding"
    )
    assert (
        metadata["model.onnx"]["resay.layer"] == metadata["model_int8.onnx"]["resay.layer"] == "2"
    )
    assert metadata["model_int8.onnx"]["resay.precision"] == "int8"
    for name in metadata:
        used = onnx.load(str(tmp_path / "a" / name)).opset_import
        assert [(o.domain, o.version) for o in used] == [("", 17)]


def test_twice_gives_the_same_files(tiny: Tiny, tmp_path: Path) -> None:
    for name in "ab":
        export(str(tiny(make_roberta, head=True)), tmp_path / name, int8=True)
    names = sorted(names_in(tmp_path / "a"))
    assert filecmp.cmpfiles(tmp_path / "a", tmp_path / "b", names, shallow=False)[0] == names


def test_nothing_is_overwritten_unasked(tiny: Tiny, tmp_path: Path) -> None:
    source, target = str(tiny(make_bert)), tmp_path / "target"
    target.mkdir()
    export(source, target)  # An empty folder is as good as none.
    (target / "mine.txt").write_text("notes")
    with pytest.raises(ConfigurationError, match=r"target' is not empty; .* `overwrite`"):
        export(source, target)
    export(source, target, overwrite=True)
    assert "mine.txt" not in names_in(target)
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.onnx").write_bytes(b"made elsewhere")
    with pytest.raises(ConfigurationError, match="never overwritten"):
        export(source, other, overwrite=True)
    assert names_in(tmp_path) == {"target", "other"}


def test_what_cannot_be_exported_is_refused_and_leaves_nothing(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be exported to ONNX.* backend 'torch'"):
        export(str(tiny(make_longformer, choices=False)), tmp_path / "target")
    assert not names_in(tmp_path)


def test_a_graph_that_computes_something_else_is_refused(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one would whose traced numbers were taken for constants."""
    write = onnx.save_model

    def spoil(model: onnx.ModelProto, *args: object, **kwargs: object) -> None:
        weights = max(model.graph.initializer, key=lambda w: len(w.raw_data))
        values = np.frombuffer(weights.raw_data, np.float32) * 1.01
        weights.raw_data = values.tobytes()
        write(model, *args, **kwargs)

    monkeypatch.setattr("onnx.save_model", spoil)
    with pytest.raises(ConfigurationError, match="compared with torch, the results differ by"):
        export(str(tiny(make_bert)), tmp_path / "target")
    assert not names_in(tmp_path)


def test_kinds_that_do_not_fit_are_refused(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="tokens cannot be exported"):
        export(str(tiny(make_gpt2)), tmp_path / "a", kind="causal")
    with pytest.raises(ConfigurationError, match="`layer` is for kind 'embedding'"):
        export(str(tiny(make_deberta)), tmp_path / "a", layer=1)
    with pytest.raises(ConfigurationError, match="has 3 layers; `layer` cannot be 4"):
        export(str(tiny(make_roberta)), tmp_path / "a", layer=4)
    with pytest.raises(ConfigurationError, match="not made for classification"):
        export(str(tiny(make_roberta)), tmp_path / "a", kind="classification")
    with pytest.raises(ConfigurationError, match=r"no-such-model"):
        export(str(tmp_path / "no-such-model"), tmp_path / "a")
    assert not names_in(tmp_path)


async def test_names_of_outputs_are_kept(tiny: Tiny, tmp_path: Path) -> None:
    config = ModelConfig(name=str(tiny(make_deberta)), labels=("No", "Yes", "Perhaps"))
    export(config, tmp_path / "a")
    assert await pair_classifier(str(tmp_path / "a")).labels() == ("no", "yes", "perhaps")


async def test_weights_too_big_for_one_file_lie_beside_it(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_MAX_BYTES", 100_000)
    source = tiny(make_bert, pooling="cls_token")
    full, small = export(str(source), tmp_path / "a", int8=True)
    assert {"model.onnx", "model.onnx_data", "1_Pooling"} <= names_in(tmp_path / "a")
    assert full.path.stat().st_size < 100_000 < full.bytes
    assert small.path.stat().st_size < small.bytes
    texts = ["The bridge was opened.", "Workers."]
    config = ModelConfig(name=str(tmp_path / "a"), precision="fp32")
    embeddings = await sentence_embedder(config).embed(texts)
    np.testing.assert_allclose(
        embeddings, await sentence_embedder(str(source)).embed(texts), atol=1e-4
    )
