"""Networks, exported and optionally quantised, that run in onnxruntime without torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from resay._internal.importing import load_optional
from resay.errors import ConfigurationError, ScorerError
from resay.models.config import ModelConfig
from resay.models.encoding import Batch, TextEncoder
from resay.models.files import (
    FIRST_TOKENS,
    KIND,
    LAYER,
    check_reachable,
    find,
    is_quantised_by_batch,
    json_of,
    labels_of,
    model_file,
    most_tokens,
    pooling_of,
    precision_of,
)
from resay.models.network import Kind, Loaded, Traits

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Models that count positions from after the padding token's id.
_COUNT_FROM_PADDING = frozenset(
    {
        "camembert",
        "data2vec-text",
        "esm",
        "ibert",
        "lilt",
        "longformer",
        "luke",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_RANKS: Mapping[str, int] = {
    "classification": 2,
    "multiple_choice": 2,
    "embedding": 3,
    "token_classification": 3,
    "first_token": 2,
}
_OUTPUTS = ("logits", "last_hidden_state", "token_embeddings")
_TYPES: Mapping[str, Any] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_CUDA = "CUDAExecutionProvider"
# What most encoders read. An export without config.json does not say what it reads, and fails on
# more.
_UNKNOWN_LIMIT = 512

_import = partial(load_optional, extra="onnx", purpose="running an exported model")


def load(config: ModelConfig, kind: Kind, layer: int | None = None) -> Loaded:
    """Load an exported network and its tokenizer.

    Args:
        config: The model's settings.
        kind: The required output.
        layer: For token vectors, the layer to take them from; None = the last.

    Returns:
        The network and its tokenizer.

    Raises:
        MissingDependencyError: onnxruntime or tokenizers is not installed.
        ConfigurationError: The model does not exist, or cannot give this output.
    """
    if kind == "causal":
        raise ConfigurationError(
            f"the probabilities of {config.name!r}'s tokens are available only with torch; use"
            " backend 'torch'"
        )
    check_reachable(config)
    model_json = json_of(config, "config.json")
    tokens = json_of(config, "tokenizer_config.json")
    tokenizer = _tokenizer(config)
    on_gpu = _on_gpu(config)
    path = model_file(config, on_gpu=on_gpu)
    by_batch = is_quantised_by_batch(path)
    lanes = 1 if on_gpu or not by_batch else _lanes(_threads())
    session = _open(path, config, on_gpu=on_gpu, lanes=lanes)
    _check_export(session.get_modelmeta().custom_metadata_map, model_json, config, kind, layer)
    network = OnnxNetwork(
        session,
        path,
        config,
        kind,
        model_json,
        _pad_id(model_json, tokens, tokenizer),
        by_batch=by_batch,
        lanes=lanes,
    )
    limit = most_tokens(
        config,
        str(model_json.get("model_type")),
        tokens.get("model_max_length"),
        _positions(model_json),
    )
    if limit is None and find(config, "config.json") is None:
        limit = _UNKNOWN_LIMIT
    fixed = network.fixed_tokens
    if fixed is not None:
        if config.max_tokens is not None and config.max_tokens > fixed:
            raise ConfigurationError(
                f"`max_tokens` of {config.display_name!r} is {config.max_tokens}, but it was"
                f" exported for {fixed} tokens; lower it, or export the model again"
            )
        limit = fixed if limit is None else min(limit, fixed)
    return Loaded(network, TextEncoder(tokenizer, limit))


def _tokenizer(config: ModelConfig) -> Any:
    path = find(config, "tokenizer.json")
    if path is None:
        raise ConfigurationError(
            f"{config.name!r} has no tokenizer.json, which an exported model needs; make one with"
            " `resay models export`, or with transformers:"
            " AutoTokenizer.from_pretrained(...).save_pretrained(...)"
        )
    tokenizers = _import("tokenizers", package="tokenizers")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare `Exception`s.
        raise ConfigurationError(
            f"{str(path)!r} cannot be read as a tokenizer; fetch or export it again"
        ) from error


def _pad_id(model_json: Mapping[str, Any], tokens: Mapping[str, Any], tokenizer: Any) -> int:
    named: str | Mapping[str, str] = tokens.get("pad_token") or ""
    token = named if isinstance(named, str) else named["content"]
    number = tokenizer.token_to_id(token)
    return number if number is not None else model_json.get("pad_token_id") or 0


def _positions(model_json: Mapping[str, Any]) -> int | None:
    positions = model_json.get("max_position_embeddings")
    if positions and model_json.get("model_type") in _COUNT_FROM_PADDING:
        return positions - (model_json.get("pad_token_id") or 0) - 1
    return positions


def _on_gpu(config: ModelConfig) -> bool:
    there = _CUDA in _import("onnxruntime", package="onnxruntime").get_available_providers()
    kind = config.device.split(":")[0]
    if kind == "mps" or (kind == "cuda" and not there):
        raise ConfigurationError(
            f"this onnxruntime cannot use the device {config.device!r}; install onnxruntime-gpu"
            " for CUDA, or use 'auto' or 'cpu'"
        )
    return there and kind != "cpu"


def _number(config: ModelConfig) -> str:
    return config.device.partition(":")[2] or "0"


def _threads() -> int:
    """Return the number of threads to compute with."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads) > 0:
        return int(threads)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _lanes(threads: int) -> int:
    """Return how many texts to compute at the same time.

    One text does not occupy all threads, and a thread for each text leaves most of them idle while
    there are few. Half of them therefore take a text each, and the others help all of these.
    """
    return max(threads // 2, min(threads, 2))


def _open(path: Path, config: ModelConfig, *, on_gpu: bool, lanes: int) -> Any:
    onnxruntime = _import("onnxruntime", package="onnxruntime")
    providers: list[Any] = ["CPUExecutionProvider"]
    if on_gpu:
        providers.insert(0, (_CUDA, {"device_id": _number(config)}))
    try:
        session = onnxruntime.InferenceSession(
            str(path), _options(onnxruntime, lanes), providers=providers
        )
    except Exception as error:  # Its exceptions have no common base class.
        raise ConfigurationError(
            f"onnxruntime {onnxruntime.__version__} cannot read {str(path)!r}"
            f" ({type(error).__name__}); export it again or use a newer onnxruntime"
        ) from error
    if config.device.startswith("cuda") and _CUDA not in session.get_providers():
        raise ConfigurationError(
            f"onnxruntime could not start CUDA for the device {config.device!r}; see that the CUDA"
            " and cuDNN it was built for are installed, or use 'auto' or 'cpu'"
        )
    return session


def _options(onnxruntime: Any, lanes: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # onnxruntime plans memory for each input shape and keeps every plan; texts have all lengths.
    options.enable_mem_pattern = False
    if lanes > 1:
        # Those without work would keep the cores from the others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if lanes > 1 or os.environ.get("OMP_NUM_THREADS", "").isdigit():
        # Those that take a text each count too, but for the one that this number includes.
        options.intra_op_num_threads = _threads() - lanes + 1
    if _may_overflow():
        options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def _may_overflow() -> bool:
    """Return whether sums of products of bytes may overflow on this processor.

    They do on x86 without VNNI. onnxruntime can avoid this at a cost, but takes processors with AMX
    for ones without VNNI.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return True
    return "vnni" not in flags


def _check_export(
    metadata: Mapping[str, str],
    model_json: Mapping[str, Any],
    config: ModelConfig,
    kind: Kind,
    layer: int | None,
) -> None:
    exported_kind = metadata.get(KIND, kind)
    if exported_kind != kind:
        raise ConfigurationError(
            f"{config.name!r} was exported for {exported_kind}, not for {kind}; export it again"
            f" with `resay models export MODEL FOLDER --kind {kind}`"
        )
    last = model_json.get("num_hidden_layers")
    exported_layer = int(metadata.get(LAYER) or last or 0)
    layer = layer or last or 0
    if kind == "embedding" and exported_layer != layer:
        raise ConfigurationError(
            f"{config.name!r} returns the output of layer {exported_layer or 'unknown'}, not of"
            f" {layer}; export it again with `resay models export MODEL FOLDER --layer {layer}`"
        )


@dataclass(frozen=True, slots=True)
class _Output:
    name: str
    width: int | None


class OnnxNetwork:
    """An exported model as a network.

    Args:
        session: The `onnxruntime.InferenceSession` that runs it.
        path: The model's file.
        config: The model's settings.
        kind: The network's output.
        model_json: The model's config.json.
        pad_id: The id of the tokenizer's padding token.
        by_batch: Whether numbers are rounded relative to the largest in a batch.
        lanes: How many batches are computed at the same time.

    Attributes:
        traits: The network's properties.
        precision: The precision of its numbers: fp32, fp16, bf16 or int8.
        fixed_tokens: The number of tokens of every input, if the model was exported for one;
            shorter inputs are padded to it.

    Raises:
        ConfigurationError: The model needs other input than texts, or gives another output.
    """

    def __init__(
        self,
        session: Any,
        path: Path,
        config: ModelConfig,
        kind: Kind,
        model_json: Mapping[str, Any],
        pad_id: int,
        *,
        by_batch: bool,
        lanes: int,
    ) -> None:
        self._session = session
        self._config = config
        self._inputs = _inputs(session, config)
        self._fixed_items, self.fixed_tokens = _fixed_shape(session)
        output = _output(session, config, kind)
        self._output = output.name
        self.precision = precision_of(config, path, by_batch=by_batch)
        self.traits = Traits(
            labels=_labels(config, kind, model_json, output.width),
            pad_id=pad_id,
            device=f"cuda:{_number(config)}" if _CUDA in session.get_providers() else "cpu",
            alone=by_batch,
            lanes=lanes,
            pooling=pooling_of(config) if kind == "embedding" else "mean",
        )

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Compute a batch.

        Raises:
            ScorerError: onnxruntime cannot compute it.
        """
        items, tokens = batch.ids.shape
        at_once = self._fixed_items or items
        outputs: list[NDArray[np.float32]] = []
        for start in range(0, items, at_once):
            part = slice(start, start + at_once)
            output = self._compute(
                Batch(batch.ids[part], batch.mask[part], batch.types[part]), at_once
            )
            outputs.append(output[: min(at_once, items - start)])
        whole = np.concatenate(outputs) if len(outputs) > 1 else outputs[0]
        has_tokens = whole.ndim == _RANKS["token_classification"]
        return whole[:, :tokens] if has_tokens else whole

    def _compute(self, batch: Batch, items: int) -> NDArray[np.float32]:
        """Compute a batch that is padded to the shape for which the model was exported."""
        rows, tokens = batch.ids.shape
        padding = ((0, items - rows), (0, max((self.fixed_tokens or tokens) - tokens, 0)))
        padded = {
            "input_ids": np.pad(batch.ids, padding, constant_values=self.traits.pad_id),
            "attention_mask": np.pad(batch.mask, padding),
            "token_type_ids": np.pad(batch.types, padding),
        }
        feeds = {name: padded[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            (output,) = self._session.run([self._output], feeds)
        except Exception as error:  # Its exceptions have no common base class.
            raise ScorerError(
                f"the exported model {self._config.display_name!r} cannot compute an input of"
                f" {tokens} tokens ({type(error).__name__}); set `max_tokens` to what it reads, or"
                " export it again"
            ) from error
        return output.astype(np.float32, copy=False)


def _fixed_shape(session: Any) -> tuple[int | None, int | None]:
    """Return the numbers of items and of tokens that a model was exported for; None for any."""
    items: int | None = None
    tokens: int | None = None
    for shape in map(attrgetter("shape"), session.get_inputs()):
        # A dimension of any size has a name in place of a number.
        if shape and isinstance(shape[0], int):
            items = shape[0]
        if len(shape) > 1 and isinstance(shape[1], int):
            tokens = shape[1]
    return items, tokens


def _inputs(session: Any, config: ModelConfig) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for model_input in session.get_inputs():
        if model_input.name not in _INPUTS or model_input.type not in _TYPES:
            raise ConfigurationError(
                f"the exported model {config.name!r} needs the input {model_input.name!r}; a model"
                f" that reads texts has {', '.join(_INPUTS)}"
            )
        types[model_input.name] = _TYPES[model_input.type]
    return types


def _output(session: Any, config: ModelConfig, kind: Kind) -> _Output:
    outputs = sorted(session.get_outputs(), key=lambda o: o.name not in _OUTPUTS)
    matches = [output for output in outputs if len(output.shape) == _RANKS[kind]]
    if not matches:
        raise ConfigurationError(
            f"the exported model {config.name!r} is not made for {kind.replace('_', ' ')}: it"
            f" returns {outputs[0].name!r} of shape {outputs[0].shape!r}; use one that is"
        )
    width = matches[0].shape[-1]
    return _Output(matches[0].name, width if isinstance(width, int) else None)


def _labels(
    config: ModelConfig, kind: Kind, model_json: Mapping[str, Any], width: int | None
) -> tuple[str, ...]:
    if kind == "first_token":
        return tuple(FIRST_TOKENS)
    if kind not in ("classification", "token_classification"):
        return ()
    # transformers omits names that it would generate itself.
    names: Mapping[Any, str] = model_json.get("id2label") or {
        number: f"LABEL_{number}" for number in range(width or 2)
    }
    labels = labels_of(config, {int(number): name for number, name in names.items()})
    if width is not None and width != len(labels):
        raise ConfigurationError(
            f"the exported model {config.name!r} has {width} outputs, but its config.json names"
            f" {len(labels)}; export it again"
        )
    return labels
