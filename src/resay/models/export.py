"""Exports models to ONNX, so that they run without torch, and faster on a CPU."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from resay._internal._version import __version__
from resay.errors import ConfigurationError
from resay.models import onnx_network
from resay.models.config import ModelConfig, config_of
from resay.models.described import kind_of
from resay.models.encoding import Encoded, TextEncoder, pad
from resay.models.files import find
from resay.models.labels import labels_of
from resay.models.network import Kind, Network
from resay.models.onnx_files import FP32_FILE, INT8_FILE, KIND, LAYER, is_ours, size_of
from resay.models.pooling import POOLING_FILE
from resay.models.torch_network import TorchNetwork, cut_off, load_model, tokenizer_of
from resay.models.tracing import quantise, require, trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ExportedFile", "export"]

# Two numbers closer than this are the same, computed in another order; relative above 1.
_SAME = 1e-3


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A model that was exported.

    Attributes:
        path: Its file.
        bytes: How big it is, with the file of its weights where it has one.
        difference: The largest difference between what it gives for a few texts and what torch
            gives: of a logit, relative where that is above 1; for embeddings the distance of two
            vectors of length 1.
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

    The folder appears when all is done and compared with torch, or not at all.

    Args:
        model: A folder or a model on the hub, as transformers reads it, or its settings.
        folder: Where to.
        kind: What it is to give; None = what it was made for.
        layer: For embeddings, after which layer; None = the last.
        int8: Whether to make a file with 8-bit weights too, which backend `onnx` prefers on a CPU.
        overwrite: Whether to replace a model that was exported there before.

    Returns:
        The files, the one in full precision first.

    Raises:
        MissingDependencyError: What exports is not installed.
        ConfigurationError: There is no such model, it cannot be exported, or the folder is taken.
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
    with _built_beside(folder) as partial_folder:
        network = _write(config, kind, layer, partial_folder)
        if int8:
            quantise(partial_folder / FP32_FILE, partial_folder / INT8_FILE)
        measured = _measured(network, kind, layer, partial_folder)
        _check_same(config, measured[FP32_FILE])
    return tuple(
        ExportedFile(folder / name, size_of(folder / name), difference)
        for name, difference in measured.items()
    )


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
def _built_beside(folder: Path) -> Generator[Path]:
    """Give a new folder that takes the place of another when all went well."""
    folder = folder.absolute()
    new, old = (folder.with_name(f".{folder.name}.{w}-{os.getpid()}") for w in ("new", "old"))
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
    described = _described(config, model, kind)
    (folder / "config.json").write_text(
        json.dumps(described, indent=2, sort_keys=True) + "\n", "utf-8"
    )
    pooling = find(config, POOLING_FILE)
    if pooling is not None:
        (folder / POOLING_FILE).parent.mkdir()
        shutil.copyfile(pooling, folder / POOLING_FILE)
    said = {KIND: kind, "resay.version": __version__}
    if layer is not None:
        said[LAYER] = str(layer)
    trace(model, kind, folder / FP32_FILE, said)
    return TorchNetwork(model, kind, config, tokenizer.pad_token_id)


def _described(config: ModelConfig, model: Any, kind: Kind) -> dict[str, Any]:
    """Return the model's configuration, with the names of outputs that only we know."""
    described: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=False))
    if kind == "classification":
        names = labels_of(config, model.config.id2label)
        described["id2label"] = {str(i): name for i, name in enumerate(names)}
        described["label2id"] = {name: i for i, name in enumerate(names)}
    # Where it came from is a path on the machine that exported it.
    described.pop("_name_or_path", None)
    return {**described, "architectures": [type(model).__name__]}


# Of several lengths, and long enough together to reach past the positions a model knows one by one.
_TEXTS = (
    "Yes.",
    "The bridge was opened in 1932, after eight years of work.",
    "She wrote her first novel in Vienna; it was printed in 300 copies, none of which was sold.",
    "A stone arch of 503 metres spans the harbour. It was designed by an engineer from the north of"
    " the country, who had never seen the city, and built by 1,400 workers, sixteen of whom died.",
)


def _measured(expected: Network, kind: Kind, layer: int | None, folder: Path) -> dict[str, float]:
    """Return for each file how far what it gives is from what torch gives."""
    names = [name for name in (FP32_FILE, INT8_FILE) if (folder / name).is_file()]
    found: dict[str, float] = {}
    for name in names:
        config = ModelConfig(name=str(folder), backend="onnx", device="cpu", file=name)
        loaded = onnx_network.load(config, kind, layer)
        batches = _batches(loaded.encoder, alone=loaded.network.traits.alone)
        found[name] = max(_difference(expected, loaded.network, b, kind) for b in batches)
    return found


def _batches(encoder: TextEncoder, *, alone: bool) -> list[list[Encoded]]:
    texts = [*_TEXTS, " ".join(_TEXTS), " ".join(_TEXTS * 4)]
    items = encoder.pairs(list(zip(texts, reversed(texts), strict=True)))
    fitting = [item for item in items if encoder.fits(item)]
    fitting += [part for parts in encoder.texts(texts) for part in parts]
    return [[item] for item in fitting] + ([] if alone else [fitting])


def _difference(expected: Network, found: Network, items: list[Encoded], kind: Kind) -> float:
    batch = pad(items, found.traits.pad_id)
    one = expected.run(batch)
    try:
        other = found.run(batch)
    except Exception:  # onnxruntime's exceptions have no root of their own.
        return float("inf")
    if kind != "embedding":
        return float(np.max(np.abs(one - other) / np.maximum(np.abs(one), 1)))
    there = batch.mask == 1
    return float(np.max(np.linalg.norm(_unit(one[there]) - _unit(other[there]), axis=-1)))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def _check_same(config: ModelConfig, difference: float) -> None:
    if not difference <= _SAME:
        how = f"is off by {difference:.2g}" if difference < np.inf else "fails for some texts"
        raise ConfigurationError(
            f"{config.name!r} cannot be exported to ONNX: what comes out {how}, compared with"
            " torch; use backend 'torch'"
        )
