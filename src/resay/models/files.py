"""Finds a model's files, plain or exported to ONNX, in a folder or on the Hugging Face hub."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from resay._internal.importing import load_optional
from resay.errors import ConfigurationError
from resay.models.config import ModelConfig


def folder_of(config: ModelConfig) -> Path | None:
    """Return the folder a model is in, or None when it is one on the hub."""
    path = Path(config.name or "").expanduser()
    return path if config.name and path.is_dir() else None


def find(config: ModelConfig, *names: str) -> Path | None:
    """Return the first of some files that a model has.

    Args:
        config: The model.
        names: Paths of files inside its folder or repository, the most wanted first.

    Returns:
        The file, fetched from the hub if it was not there; None where the model has none of them.

    Raises:
        ConfigurationError: There is no such model, or the hub cannot be reached.
    """
    folder = folder_of(config)
    if folder is not None:
        return next((folder / name for name in names if (folder / name).is_file()), None)
    found = (_fetch(config, name) for name in names)
    return next((path for path in found if path is not None), None)


def _fetch(config: ModelConfig, name: str) -> Path | None:
    hub = load_optional(
        "huggingface_hub", package="huggingface_hub", extra="onnx", purpose="fetching a model"
    )
    # A module of its own, which the package does not load by itself.
    errors = import_module("huggingface_hub.errors")
    try:
        return Path(hub.hf_hub_download(config.name, name, revision=config.revision))
    except (errors.RemoteEntryNotFoundError, errors.LocalEntryNotFoundError) as error:
        # Offline, a file that was never fetched and one that does not exist look the same.
        if isinstance(error, errors.RemoteEntryNotFoundError) or _offline_or_cached(config, hub):
            return None
        raise _unreachable(config) from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        raise ConfigurationError(
            f"there is no folder and no model on the Hugging Face hub called {config.name!r}"
            f" ({type(error).__name__}); check the name, and HF_TOKEN if the model is private"
        ) from error


def _offline_or_cached(config: ModelConfig, hub: Any) -> bool:
    return isinstance(hub.try_to_load_from_cache(config.name, "config.json"), str)


def _unreachable(config: ModelConfig) -> ConfigurationError:
    return ConfigurationError(
        f"the model {config.name!r} is not on this machine and the Hugging Face hub cannot be"
        " reached; download it first where it can, name a folder that holds it, or unset"
        " HF_HUB_OFFLINE"
    )


FP32_FILE = "model.onnx"
"""What export calls the model in full precision."""
INT8_FILE = "model_int8.onnx"
"""What export calls the quantised model."""
KIND = "resay.kind"
"""The metadata that says what an exported model gives."""
LAYER = "resay.layer"
"""The metadata that says after which layer, where it is not the last."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "int8": (
        INT8_FILE,
        "model_quantized.onnx",
        "onnx/model_int8.onnx",
        "onnx/model_quantized.onnx",
        "onnx/model_uint8.onnx",
    ),
    "fp32": (FP32_FILE, "onnx/model.onnx"),
    "fp16": ("model_fp16.onnx", "onnx/model_fp16.onnx"),
    "bf16": ("model_bf16.onnx", "onnx/model_bf16.onnx"),
}
WEIGHTS_ENDING = "_data"
"""What follows a file's name in that of the file with its weights, where it is too big."""
_WEIGHTS_ENDINGS = (WEIGHTS_ENDING, ".data")


def model_file(config: ModelConfig, *, on_gpu: bool) -> Path:
    """Return a model's file, and see that the one with its weights lies beside it.

    Args:
        config: The model's settings, which may name the file or a precision.
        on_gpu: Whether it is to run on a GPU, where quantised models are slow.

    Raises:
        ConfigurationError: There is no such file.
    """
    for name in _wanted(config, on_gpu=on_gpu):
        path = find(config, name)
        if path is not None:
            # Weights too big for the file itself lie beside it, and must be fetched with it.
            find(config, *(name + ending for ending in _WEIGHTS_ENDINGS))
            return path
    raise _no_file(config)


def size_of(path: Path) -> int:
    """Return how many bytes a model's file has, with the file of its weights."""
    parts = (path, *(path.with_name(path.name + ending) for ending in _WEIGHTS_ENDINGS))
    return sum(part.stat().st_size for part in parts if part.is_file())


def _wanted(config: ModelConfig, *, on_gpu: bool) -> tuple[str, ...]:
    if config.file:
        return (config.file,)
    if config.precision != "auto":
        return _NAMES[config.precision]
    return _NAMES["fp32"] if on_gpu else (*_NAMES["int8"], *_NAMES["fp32"])


def _no_file(config: ModelConfig) -> ConfigurationError:
    command = f"resay models export MODEL {config.name}"
    if config.file:
        wanted, hint = f"file {config.file!r}", "check the name"
    elif config.precision == "int8":
        wanted, hint = "int8 file", f"make one with `{command} --int8`"
    elif config.precision in ("fp16", "bf16"):
        wanted = f"{config.precision} file called {_NAMES[config.precision][0]!r}"
        hint = "name it in `file`, or use precision 'fp32'"
    else:
        wanted, hint = "exported model", f"make one with `{command}`, or use backend 'torch'"
    return ConfigurationError(f"{config.name!r} holds no {wanted}; {hint}")


def is_quantised_by_batch(path: Path) -> bool:
    """Return whether a model rounds its numbers by the largest of the whole batch."""
    return _contains(path, b"DynamicQuantize")


def is_ours(path: Path) -> bool:
    """Return whether a file is a model that was exported here."""
    return path.is_file() and _contains(path, KIND.encode())


def _contains(path: Path, name: bytes) -> bool:
    # The names of its operators and its metadata appear in an ONNX file as they are.
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(name) >= 0


def precision_of(config: ModelConfig, path: Path, *, by_batch: bool) -> str:
    """Return what to call the precision of a model's file."""
    if by_batch:
        return "int8"
    if config.precision != "auto":
        return config.precision
    return next((name for name in ("fp16", "bf16") if name in path.name), "fp32")
