"""Locates a model's files, original or exported to ONNX, in a folder or on the hub."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Final, cast

from resay._internal.importing import load_optional
from resay._internal.patterns import lazy_pattern
from resay.errors import ConfigurationError
from resay.models.config import ModelConfig
from resay.models.network import Kind, Pooling

# How long the hub may take to respond before the first file of a model is asked for.
_REACH_S: Final = 10


def folder_of(config: ModelConfig) -> Path | None:
    """Return a model's folder, or None if the model is on the hub."""
    path = Path(config.name or "").expanduser()
    return path if config.name and path.is_dir() else None


def find(config: ModelConfig, *names: str) -> Path | None:
    """Return the first of several files that a model has.

    Args:
        config: The model.
        names: Paths inside its folder or repository, in order of preference.

    Returns:
        The file, downloaded from the hub if necessary, or None if the model has none of them.

    Raises:
        ConfigurationError: The model does not exist, or the hub cannot be reached.
    """
    folder = folder_of(config)
    if folder is not None:
        return next((folder / name for name in names if (folder / name).is_file()), None)
    found = (_fetch(config, name) for name in names)
    return next((path for path in found if path is not None), None)


def check_reachable(config: ModelConfig) -> None:
    """Check that a model that is not on this machine can be downloaded from the hub.

    The hub's own library retries each file of a model for half a minute before it gives up.

    Args:
        config: The model.

    Raises:
        ConfigurationError: There is no such folder, or the hub does not respond.
    """
    if folder_of(config) is not None or find_spec("huggingface_hub") is None:
        return
    constants = import_module("huggingface_hub.constants")
    try:
        is_cached = _is_cached(config, import_module("huggingface_hub"))
    except import_module("huggingface_hub.errors").HFValidationError as error:
        raise ConfigurationError(
            f"there is no folder {config.name!r}, and no model on the Hugging Face hub can have"
            " that name"
        ) from error
    if is_cached or constants.HF_HUB_OFFLINE:
        return
    session = import_module("huggingface_hub.utils").get_session()
    try:
        session.head(constants.ENDPOINT, timeout=_REACH_S)
    # Its library uses requests or httpx, depending on its version. A proxy may redirect for ever.
    except (import_module("httpx").RequestError, OSError) as error:
        raise _unreachable(config) from error


def _fetch(config: ModelConfig, name: str) -> Path | None:
    hub = load_optional(
        "huggingface_hub", package="huggingface_hub", extra="onnx", purpose="fetching a model"
    )
    # The package does not import this module by itself.
    errors = import_module("huggingface_hub.errors")
    try:
        return Path(hub.hf_hub_download(config.name, name, revision=config.revision))
    except (errors.RemoteEntryNotFoundError, errors.LocalEntryNotFoundError) as error:
        # Offline, files that do not exist look like files that were never downloaded.
        if isinstance(error, errors.RemoteEntryNotFoundError) or _is_cached(config, hub):
            return None
        raise _unreachable(config) from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        raise ConfigurationError(
            f"there is no folder and no model on the Hugging Face hub called {config.name!r}"
            f" ({type(error).__name__}); check the name, and HF_TOKEN if the model is private"
        ) from error


def _is_cached(config: ModelConfig, hub: Any) -> bool:
    path = hub.try_to_load_from_cache(config.name, "config.json", revision=config.revision)
    return isinstance(path, str)


def _unreachable(config: ModelConfig) -> ConfigurationError:
    offline = import_module("huggingface_hub.constants").HF_HUB_OFFLINE
    remedy = ", or unset HF_HUB_OFFLINE" if offline else ""
    return ConfigurationError(
        f"the model {config.name!r} is not on this machine and the Hugging Face hub cannot be"
        f" reached; download it first where it can, name a folder that holds it{remedy}"
    )


FP32_FILE = "model.onnx"
"""The name of an exported model in full precision."""
INT8_FILE = "model_int8.onnx"
"""The name of an exported model that is quantised."""
KIND = "resay.kind"
"""The metadata key for the kind of an exported model's output."""
LAYER = "resay.layer"
"""The metadata key for the layer of the output, if it is not the last."""
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
"""The suffix of the file with a model's weights, if they are too big for the model's own file."""
_WEIGHTS_ENDINGS = (WEIGHTS_ENDING, ".data")


def model_file(config: ModelConfig, *, on_gpu: bool) -> Path:
    """Return a model's file, and make sure that the file with its weights is next to it.

    Args:
        config: The model's settings, which may name the file or a precision.
        on_gpu: Whether it will run on a GPU, where quantised models are slow.

    Raises:
        ConfigurationError: There is no such file.
    """
    for name in _file_names(config, on_gpu=on_gpu):
        path = find(config, name)
        if path is not None:
            # Weights too big for the model's file are in a separate one, to be fetched with it.
            find(config, *(name + ending for ending in _WEIGHTS_ENDINGS))
            return path
    raise _no_file(config)


def size_of(path: Path) -> int:
    """Return the size of a model's file in bytes, including the file with its weights."""
    parts = (path, *(path.with_name(path.name + ending) for ending in _WEIGHTS_ENDINGS))
    return sum(part.stat().st_size for part in parts if part.is_file())


def _file_names(config: ModelConfig, *, on_gpu: bool) -> tuple[str, ...]:
    if config.file:
        return (config.file,)
    if config.precision != "auto":
        return _NAMES[config.precision]
    return _NAMES["fp32"] if on_gpu else (*_NAMES["int8"], *_NAMES["fp32"])


def _no_file(config: ModelConfig) -> ConfigurationError:
    command = f"resay models export MODEL {config.name}"
    if config.file:
        missing, hint = f"file {config.file!r}", "check the name"
    elif config.precision == "int8":
        missing, hint = "int8 file", f"make one with `{command} --int8`"
    elif config.precision in ("fp16", "bf16"):
        missing = f"{config.precision} file called {_NAMES[config.precision][0]!r}"
        hint = "name it in `file`, or use precision 'fp32'"
    else:
        missing, hint = "exported model", f"make one with `{command}`, or use backend 'torch'"
    return ConfigurationError(f"{config.name!r} has no {missing}; {hint}")


def is_quantised_by_batch(path: Path) -> bool:
    """Return whether a model rounds numbers relative to the largest in the batch."""
    return _contains(path, b"DynamicQuantize")


def is_ours(path: Path) -> bool:
    """Return whether a file is a model that Resay exported."""
    return path.is_file() and _contains(path, KIND.encode())


def _contains(path: Path, name: bytes) -> bool:
    # An ONNX file contains the names of its operators and its metadata verbatim.
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(name) >= 0


def precision_of(config: ModelConfig, path: Path, *, by_batch: bool) -> str:
    """Return the name of a model file's precision."""
    if by_batch:
        return "int8"
    if config.precision != "auto":
        return config.precision
    return next((name for name in ("fp16", "bf16") if name in path.name), "fp32")


# The model's configuration does not name its labels; the code released with it does.
_UNNAMED: Mapping[str, tuple[str, ...]] = {
    "potsawee/deberta-v3-large-mnli": ("entailment", "contradiction"),
}
_PLACEHOLDER = lazy_pattern(r"label_\d+")


def labels_of(config: ModelConfig, id2label: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of a classifier's outputs.

    Args:
        config: The model's settings, whose `labels` take precedence over the model's own.
        id2label: The model's own name for each output.

    Returns:
        The names, in lower case, in the order of the outputs.

    Raises:
        ConfigurationError: The number of `labels` differs from the number of outputs.
    """
    model_labels = tuple(str(id2label[i]).lower() for i in sorted(id2label))
    names = config.labels or ()
    if not names and all(map(_PLACEHOLDER.fullmatch, model_labels)):
        names = _UNNAMED.get(config.name or "", ())
    if names and len(names) != len(model_labels):
        raise ConfigurationError(
            f"`labels` names {len(names)} outputs of {config.display_name!r}, which has"
            f" {len(model_labels)}"
        )
    return tuple(label.lower() for label in names) or model_labels


# Tokenizers express "no limit" by a number that no text reaches.
_ENDLESS = 1_000_000
_HEADS: tuple[tuple[str, Kind], ...] = (
    ("ForSequenceClassification", "classification"),
    ("ForMultipleChoice", "multiple_choice"),
    ("ForTokenClassification", "token_classification"),
    ("T5ForConditionalGeneration", "first_token"),
)
FIRST_TOKENS: Mapping[str, int] = {"unsupported": 3, "supported": 209}
"""The first tokens of a T5 trained to judge, such as MiniCheck-Flan-T5-Large, by answer."""
_T5_TOKENS = 2048
HHEM = "HHEMv2"
"""The model type in HHEM-2.1-Open's configuration."""
_HHEM_BASE = "google/flan-t5-base"


def json_of(config: ModelConfig, name: str) -> dict[str, Any]:
    """Return the object in one of a model's JSON files; empty if the model has no such file.

    Raises:
        ConfigurationError: The model does not exist, or the file holds no JSON object.
    """
    path = find(config, name)
    if path is None:
        return {}
    try:
        content: Any = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{str(path)!r} is not JSON; download it again") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{str(path)!r} is not a JSON object; download it again")
    return cast("dict[str, Any]", content)


def kind_of(config: ModelConfig) -> Kind:
    """Return the kind of output that a model was made for, from its architecture's name."""
    model_json = json_of(config, "config.json")
    if model_json.get("model_type") == HHEM:
        return "token_classification"
    names = model_json.get("architectures") or [""]
    for ending, kind in _HEADS:
        if str(names[0]).endswith(ending):
            return kind
    return "embedding"


def base_of(model_json: Mapping[str, Any]) -> str | None:
    """Return the model whose configuration and tokenizer a model uses; None for its own.

    HHEM-2.1-Open consists of another model's weights and custom loading code. That code is not run,
    because its behaviour is known.

    Args:
        model_json: The model's config.json.
    """
    if model_json.get("model_type") != HHEM:
        return None
    return str(model_json.get("foundation") or _HHEM_BASE)


def separator_of(config: ModelConfig) -> str:
    """Return the token that ends a text, which separates two texts joined into one.

    Raises:
        ConfigurationError: The model does not exist, or its tokenizer names no such token.
    """
    tokenizer = config
    base = base_of(json_of(config, "config.json"))
    if base is not None:
        tokenizer = config.model_copy(update={"name": base, "revision": None})
    files = ("tokenizer_config.json", "special_tokens_map.json")
    # `sep_token` is used if the tokenizer's files leave `eos_token` to its class.
    for token, name in product(("eos_token", "sep_token"), files):
        value: Any = json_of(tokenizer, name).get(token)
        if value:
            return value if isinstance(value, str) else str(value["content"])
    raise ConfigurationError(
        f"the tokenizer of {config.display_name!r} has neither `eos_token` nor `sep_token`, which"
        " separates a document from a claim; use a model that has one"
    )


def most_tokens(config: ModelConfig, model_type: str, *limits: float | None) -> int | None:
    """Return the maximum number of tokens that a model reads at once; None = no limit.

    Args:
        config: The model's settings, which take precedence over its own limits.
        model_type: The model's type. T5 has no fixed positions, and its tokenizers' limit is not
            inherent, so MiniCheck's limit is used.
        limits: The model's own limits, from several sources; None or 0 if unspecified.
    """
    if config.max_tokens is not None:
        return config.max_tokens
    if model_type == "t5":
        return _T5_TOKENS
    max_tokens = min((limit for limit in limits if limit), default=_ENDLESS)
    return int(max_tokens) if max_tokens < _ENDLESS else None


POOLING_FILE = "1_Pooling/config.json"
"""The file in which sentence-transformers stores the pooling."""


def pooling_of(config: ModelConfig) -> Pooling:
    """Return how sentence-transformers pools a model's vectors; the mean if unspecified.

    Raises:
        ConfigurationError: The model does not exist.
    """
    pooling = json_of(config, POOLING_FILE)
    uses_cls = pooling.get("pooling_mode_cls_token") or pooling.get("pooling_mode") == "cls"
    return "cls" if uses_cls else "mean"
