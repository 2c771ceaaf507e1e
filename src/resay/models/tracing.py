"""Writes torch models as ONNX files, and those with 8-bit weights."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from resay._internal.optional import load_optional
from resay.errors import ConfigurationError
from resay.models.network import Kind
from resay.models.onnx_files import WEIGHTS_ENDING, size_of

__all__ = ["quantise", "require", "trace"]

# ONNX files are protocol buffers, which can be no bigger than 2 GiB.
_BIGGEST = 2**31 - 2**20
# Known to every onnxruntime and torch that we take.
_OPSET = 17

_import = partial(load_optional, extra="export", purpose="exporting a model")


def require() -> None:
    """Raise a `MissingDependencyError` unless all that exports is installed."""
    for package in ("onnx", "onnxruntime", "torch", "transformers"):
        _import(package, package=package)


def trace(model: Any, kind: Kind, path: Path, said: Mapping[str, str]) -> None:
    """Write a model to an ONNX file that takes any number of texts of any length.

    Args:
        model: The transformers model, on the CPU.
        kind: What it gives.
        path: The file.
        said: What the file is to say of itself.

    Raises:
        ConfigurationError: It does what ONNX has no words for.
    """
    onnx = _import("onnx", package="onnx")
    # Of a big model torch writes each weight to a file of its own.
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        traced = Path(scratch) / path.name
        try:
            _export(model, kind, traced)
        except Exception as error:  # Whatever a model does that cannot be written down.
            raise ConfigurationError(
                f"a model of type {model.config.model_type!r} cannot be exported to ONNX"
                f" ({type(error).__name__}); use backend 'torch'"
            ) from error
        proto = onnx.load(str(traced))
    _save(proto, path, said)


def _export(model: Any, kind: Kind, path: Path) -> None:
    torch = _import("torch", package="torch")
    inputs = ["input_ids", "attention_mask"]
    if (getattr(model.config, "type_vocab_size", 0) or 0) > 1:
        inputs.append("token_type_ids")
    # More than one text and some padding, so that neither is taken for granted.
    ids = torch.arange(2 * 8).reshape(2, 8) % model.config.vocab_size
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    text_axes = {0: "batch", 1: "sequence"}
    output, output_axes = "logits", {0: "batch"}
    if kind == "embedding":
        output, output_axes = "last_hidden_state", text_axes
    with warnings.catch_warnings(), torch.no_grad():
        # It warns of each number it takes for a constant; whether these are ones is measured after.
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
    """Return a module that takes tensors in a fixed order and gives one tensor."""

    class Positional(torch.nn.Module):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            given = dict(zip(inputs, tensors, strict=True))
            if kind == "multiple_choice":
                given = {name: tensor.unsqueeze(1) for name, tensor in given.items()}
            return self.model(**given, return_dict=False)[0]

    return Positional().eval()


def quantise(source: Path, target: Path) -> None:
    """Write an ONNX model with the weights it multiplies by as 8-bit numbers.

    What it multiplies is rounded to 8 bits as it comes, by the largest number of the whole batch.

    Args:
        source: The file in full precision.
        target: The file to write.
    """
    onnx = _import("onnx", package="onnx")
    quantization = _import("onnxruntime.quantization", package="onnxruntime")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        # Products of weights with weights are computed once, in full precision.
        folded = Path(scratch) / source.name
        big = size_of(source) > _BIGGEST
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
            # Tables of embeddings are looked up, not multiplied by: rounding them by their largest
            # number would save room but no time.
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            # On x86 only products of an unsigned and a signed number are fast.
            weight_type=quantization.QuantType.QInt8,
            use_external_data_format=big,
        )
        proto = onnx.load(str(quantised))
        said = {
            p.key: p.value for p in onnx.load(str(source), load_external_data=False).metadata_props
        }
    _save(proto, target, {**said, "resay.precision": "int8"})


def _save(proto: Any, path: Path, said: Mapping[str, str]) -> None:
    onnx = _import("onnx", package="onnx")
    onnx.helper.set_model_props(proto, dict(said))
    used = {node.domain for node in proto.graph.node}
    versions = [o for o in proto.opset_import if o.domain in used]
    # onnxruntime adds all it knows, which an older one would refuse.
    del proto.opset_import[:]
    proto.opset_import.extend(versions)
    big = proto.ByteSize() > _BIGGEST
    onnx.save_model(
        proto,
        str(path),
        save_as_external_data=big,
        all_tensors_to_one_file=big,
        location=path.name + WEIGHTS_ENDING,
    )
