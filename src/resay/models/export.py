"""Exports models to ONNX, so that they run without torch, and faster on a CPU."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from resay._internal._version import __version__
from resay._internal.importing import load_optional
from resay.errors import ConfigurationError
from resay.models import onnx_network
from resay.models.config import ModelConfig, config_of
from resay.models.encoding import Encoded, TextEncoder, pad
from resay.models.files import (
    FP32_FILE,
    INT8_FILE,
    KIND,
    LAYER,
    POOLING_FILE,
    WEIGHTS_ENDING,
    find,
    is_ours,
    kind_of,
    labels_of,
    size_of,
)
from resay.models.network import Kind, Network
from resay.models.torch_network import (
    TorchNetwork,
    cut_off,
    first_tokens,
    load_model,
    tokenizer_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# ONNX files are protocol buffers, which are limited to 2 GiB.
_MAX_BYTES = 2**31 - 2**20
# Supported by every version of onnxruntime and torch that Resay supports.
_OPSET = 17

_import = partial(load_optional, extra="export", purpose="exporting a model")


def require() -> None:
    """Raise a `MissingDependencyError` unless all packages needed for exporting are installed."""
    for package in ("onnx", "onnxruntime", "torch", "transformers"):
        _import(package, package=package)


def trace(model: Any, kind: Kind, path: Path, metadata: Mapping[str, str]) -> None:
    """Write a model to an ONNX file that accepts any number of texts of any length.

    Args:
        model: The transformers model, on the CPU.
        kind: The model's output.
        path: The file.
        metadata: The file's metadata.

    Raises:
        ConfigurationError: The model uses operations that ONNX does not support.
    """
    onnx = _import("onnx", package="onnx")
    # torch writes each weight of a big model to a file of its own.
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        traced = Path(scratch) / path.name
        try:
            _export(model, kind, traced)
        except Exception as error:  # A model may do anything that cannot be traced.
            raise ConfigurationError(
                f"a model of type {model.config.model_type!r} cannot be exported to ONNX"
                f" ({type(error).__name__}); use backend 'torch'"
            ) from error
        proto = onnx.load(str(traced))
    _save(proto, path, metadata)


def _export(model: Any, kind: Kind, path: Path) -> None:
    torch = _import("torch", package="torch")
    inputs = ["input_ids", "attention_mask"]
    if (getattr(model.config, "type_vocab_size", 0) or 0) > 1:
        inputs.append("token_type_ids")
    # More than one text and some padding, so that the trace assumes neither.
    ids = torch.arange(2 * 8).reshape(2, 8) % model.config.vocab_size
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    text_axes = {0: "batch", 1: "sequence"}
    output, output_axes = "logits", {0: "batch"}
    if kind == "embedding":
        output, output_axes = "last_hidden_state", text_axes
    if kind == "token_classification":
        output_axes = text_axes
    with warnings.catch_warnings(), torch.no_grad():
        # torch warns about each number that it treats as a constant; results are compared later.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _positional(torch, model, kind, inputs),
            (ids, mask, torch.zeros_like(ids))[: len(inputs)],
            str(path),
            input_names=inputs,
            output_names=[output],
            dynamic_axes={**dict.fromkeys(inputs, text_axes), output: output_axes},
            opset_version=_OPSET,
            # The newer exporter is as exact for these models, but takes several times as long.
            dynamo=False,
        )


def _positional(torch: Any, model: Any, kind: Kind, inputs: Sequence[str]) -> Any:
    """Return a module that takes tensors in a fixed order and returns one tensor."""

    class Positional(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            named = dict(zip(inputs, tensors, strict=True))
            if kind == "multiple_choice":
                named = {name: tensor.unsqueeze(1) for name, tensor in named.items()}
            if kind == "first_token":
                return first_tokens(torch, self.model, named)
            return self.model(**named, return_dict=False)[0]

    return Positional().eval()


def quantise(source: Path, target: Path) -> None:
    """Write an ONNX model with 8-bit weights in matrix products.

    The other factors are rounded to 8 bits at run time, relative to a batch's largest number.

    Args:
        source: The file in full precision.
        target: The file to write.
    """
    onnx = _import("onnx", package="onnx")
    quantization = _import("onnxruntime.quantization", package="onnxruntime")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        # Products of weights with weights are precomputed in full precision.
        folded = Path(scratch) / source.name
        big = size_of(source) > _MAX_BYTES
        quantization.quant_pre_process(
            str(source),
            str(folded),
            skip_symbolic_shape=True,
            save_as_external_data=big,
            all_tensors_to_one_file=big,
        )
        quantised = Path(scratch) / target.name
        quantization.quantize_dynamic(
            folded,
            quantised,
            # Embedding tables are looked up, not multiplied: quantising them relative to their
            # largest number would save memory but no time.
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            # On x86, only products of an unsigned and a signed number are fast.
            weight_type=quantization.QuantType.QInt8,
            use_external_data_format=big,
        )
        proto = onnx.load(str(quantised))
        properties = onnx.load(str(source), load_external_data=False).metadata_props
        metadata = {prop.key: prop.value for prop in properties}
    _save(proto, target, {**metadata, "resay.precision": "int8"})


def _save(proto: Any, path: Path, metadata: Mapping[str, str]) -> None:
    onnx = _import("onnx", package="onnx")
    onnx.helper.set_model_props(proto, dict(metadata))
    domains = {node.domain for node in proto.graph.node}
    versions = [opset for opset in proto.opset_import if opset.domain in domains]
    # onnxruntime adds every operator set that it knows, which an older version would refuse.
    del proto.opset_import[:]
    proto.opset_import.extend(versions)
    big = proto.ByteSize() > _MAX_BYTES
    onnx.save_model(
        proto,
        str(path),
        save_as_external_data=big,
        all_tensors_to_one_file=big,
        location=path.name + WEIGHTS_ENDING,
    )


# Results that differ by less are equal up to the order of operations; relative above 1.
_MAX_DIFFERENCE = 1e-3


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """An exported model.

    Attributes:
        path: The model's file.
        bytes: Its size, including the file with its weights if there is one.
        difference: The largest difference from torch's results for a few texts: of a logit,
            relative if that is above 1; for embeddings, the distance of two vectors of length 1.
    """

    path: Path
    bytes: int
    difference: float


def export(
    model: str | ModelConfig,
    folder: Path,
    *,
    kind: Kind | None = None,
    layer: int | None = None,
    int8: bool = False,
    overwrite: bool = False,
) -> tuple[ExportedFile, ...]:
    """Export a model into a folder that backend `onnx` can load.

    The folder appears once everything is written and matches torch's results, or not at all.

    Args:
        model: A folder or a model on the hub, as transformers reads it, or its settings.
        folder: The target folder.
        kind: The output; None = the one that the model was made for.
        layer: For embeddings, the layer to take them from; None = the last.
        int8: Whether to add a file with 8-bit weights, which backend `onnx` prefers on a CPU.
        overwrite: Whether to replace a model that Resay exported to this folder before.

    Returns:
        The files, with the one in full precision first.

    Raises:
        MissingDependencyError: A package needed for exporting is not installed.
        ConfigurationError: The model is missing or not exportable, or the folder is not empty.
    """
    require()
    config = config_of(model).model_copy(
        update={"backend": "torch", "device": "cpu", "precision": "fp32"}
    )
    kind = kind or kind_of(config)
    if kind == "causal":
        raise ConfigurationError(
            f"the probabilities of {config.name!r}'s tokens cannot be exported; use backend 'torch'"
        )
    if layer is not None and kind != "embedding":
        raise ConfigurationError(f"`layer` is for kind 'embedding'; leave it out for {kind!r}")
    _check_free(folder, overwrite=overwrite)
    with _build_beside(folder) as partial_folder:
        network = _write(config, kind, layer, partial_folder)
        if int8:
            quantise(partial_folder / FP32_FILE, partial_folder / INT8_FILE)
        differences = _differences(network, kind, layer, partial_folder)
        _check_same(config, differences[FP32_FILE])
    files: list[ExportedFile] = []
    for name, difference in differences.items():
        files.append(ExportedFile(folder / name, size_of(folder / name), difference))
    return tuple(files)


def _check_free(folder: Path, *, overwrite: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not overwrite:
        raise ConfigurationError(
            f"{str(folder)!r} is not empty; name another folder, or pass `overwrite`"
        )
    if not is_ours(folder / FP32_FILE):
        raise ConfigurationError(
            f"{str(folder)!r} holds something other than a model exported by Resay, which is never"
            " overwritten; name another folder"
        )


@contextmanager
def _build_beside(folder: Path) -> Generator[Path]:
    """Yield a new folder that replaces the given one if no error occurs."""
    folder = folder.absolute()
    new = folder.with_name(f".{folder.name}.new-{os.getpid()}")
    old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
    new.mkdir(parents=True)
    try:
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _write(config: ModelConfig, kind: Kind, layer: int | None, folder: Path) -> TorchNetwork:
    model = load_model(config, kind)
    if layer is not None:
        cut_off(model, layer, config)
    tokenizer = tokenizer_of(config)
    tokenizer.save_pretrained(folder)
    model_json = _model_json(config, model, kind)
    (folder / "config.json").write_text(
        json.dumps(model_json, indent=2, sort_keys=True) + "\n", "utf-8"
    )
    pooling = find(config, POOLING_FILE)
    if pooling is not None:
        (folder / POOLING_FILE).parent.mkdir()
        shutil.copyfile(pooling, folder / POOLING_FILE)
    metadata = {KIND: kind, "resay.version": __version__}
    if layer is not None:
        metadata[LAYER] = str(layer)
    trace(model, kind, folder / FP32_FILE, metadata)
    return TorchNetwork(model, kind, config, tokenizer.pad_token_id)


def _model_json(config: ModelConfig, model: Any, kind: Kind) -> dict[str, Any]:
    """Return the model's configuration, with output names that only Resay knows."""
    model_json: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=False))
    if kind in ("classification", "token_classification"):
        names = labels_of(config, model.config.id2label)
        model_json["id2label"] = {str(i): name for i, name in enumerate(names)}
        model_json["label2id"] = {name: i for i, name in enumerate(names)}
    # The name may be a path on the exporting machine.
    model_json.pop("_name_or_path", None)
    return {**model_json, "architectures": [type(model).__name__]}


# Of several lengths, and together long enough to reach distances that models put into buckets.
_TEXTS = (
    "Yes.",
    "The bridge was opened in 1932, after eight years of work.",
    "She wrote her first novel in Vienna; it was printed in 300 copies, none of which was sold.",
    "A stone arch of 503 metres spans the harbour. It was designed by an engineer from the north of"
    " the country, who had never seen the city, and built by 1,400 workers, sixteen of whom died.",
)


def _differences(
    expected: Network, kind: Kind, layer: int | None, folder: Path
) -> dict[str, float]:
    """Return how far the results of each file are from torch's."""
    differences: dict[str, float] = {}
    for name in (FP32_FILE, INT8_FILE):
        if not (folder / name).is_file():
            continue
        config = ModelConfig(name=str(folder), backend="onnx", device="cpu", file=name)
        loaded = onnx_network.load(config, kind, layer)
        batches = _batches(loaded.encoder, alone=loaded.network.traits.alone)
        difference = partial(_difference, expected, loaded.network, kind)
        differences[name] = max(map(difference, batches))
    return differences


def _batches(encoder: TextEncoder, *, alone: bool) -> list[list[Encoded]]:
    texts = [*_TEXTS, " ".join(_TEXTS), " ".join(_TEXTS * 4)]
    items = encoder.pairs(list(zip(texts, reversed(texts), strict=True)))
    items = list(filter(encoder.fits, items))
    items += chain.from_iterable(encoder.texts(texts))
    batches = [[item] for item in items]
    return batches if alone else [*batches, items]


def _difference(network: Network, exported: Network, kind: Kind, items: list[Encoded]) -> float:
    batch = pad(items, exported.traits.pad_id)
    expected = network.run(batch)
    try:
        actual = exported.run(batch)
    except Exception:  # onnxruntime's exceptions have no common base class.
        return float("inf")
    if kind in ("embedding", "token_classification"):
        is_token = batch.mask == 1
        expected, actual = expected[is_token], actual[is_token]
    if kind == "embedding":
        return float(np.max(np.linalg.norm(_unit(expected) - _unit(actual), axis=-1)))
    return float(np.max(np.abs(expected - actual) / np.maximum(np.abs(expected), 1)))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def _check_same(config: ModelConfig, difference: float) -> None:
    if not difference <= _MAX_DIFFERENCE:
        problem = f"differ by {difference:.2g}"
        if not difference < np.inf:
            problem = "are missing for some texts"
        raise ConfigurationError(
            f"{config.name!r} cannot be exported to ONNX: compared with torch, the results"
            f" {problem}; use backend 'torch'"
        )
